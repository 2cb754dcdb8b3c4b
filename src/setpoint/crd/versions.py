"""All versions of one kind, and the conversions between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from setpoint.crd.conversion import Conversion
from setpoint.crd.conversion_coverage import Coverage
from setpoint.crd.conversion_direction import Direction, directions
from setpoint.crd.errors import ConversionError, DefinitionError
from setpoint.crd.field_path import Steps
from setpoint.crd.lost_values import largest, loss, restore
from setpoint.crd.schema import check_fields, schema_of
from setpoint.crd.schema_keywords import JSONSchema
from setpoint.meta import GroupKind, Object, from_wire, resource_of, to_wire
from setpoint.schema import Schema, structural

JSON = Any
K = TypeVar("K", bound=Object)
_TOP = ("apiVersion", "kind", "metadata")
_MAX_ANNOTATIONS = 256 * 1024
"""The bytes that API servers allow for the annotations of an object, also of a converted one."""
_AGREED = ("group", "kind", "plural", "singular", "namespaced")


def family_of(kind: Any) -> tuple[Any, ...]:
    """The class and every class that its conversions lead to, newest first.

    Raises:
        DefinitionError: the classes are not versions of one kind, the conversions lead to one of them twice, or a
            conversion is not from a CustomResource class.
    """
    family = [kind]
    for newer in family:
        for conversion in newer.definition.conversions:
            older = conversion.older
            if older in family:
                raise DefinitionError(
                    f"{newer.__name__}: conversions= leads to {older.__name__} twice; list one conversion"
                )
            if not (isinstance(older, type) and issubclass(older, Object) and hasattr(older, "definition")):
                raise DefinitionError(f"{newer.__name__}: Conversion({older!r}) needs a CustomResource class")
            family.append(older)
    agree(family)
    return tuple(family)


def agree(classes: Iterable[Any]) -> None:
    """Raises `DefinitionError` unless the classes are different versions of one kind."""
    first, *others = classes
    resource = resource_of(first)
    names = [resource.version]
    for kind in others:
        other = resource_of(kind)
        for part in _AGREED:
            if getattr(other, part) != getattr(resource, part):
                raise DefinitionError(
                    f"{kind.__name__} has {part}={getattr(other, part)!r} and {first.__name__} has "
                    f"{getattr(resource, part)!r}: versions of one kind must agree on it"
                )
        if other.version in names:
            raise DefinitionError(f"{kind.__name__}: version {other.version} of {resource} is declared twice")
        names.append(other.version)


def check_conversions(kind: Any) -> None:
    """Finds those errors in a class's conversions that can be detected while the class is being defined.

    Raises:
        DefinitionError: a conversion omits a field, or names an unknown one.
    """
    family_of(kind)
    new = check_fields(kind)
    for conversion in kind.definition.conversions:
        old = check_fields(conversion.older)
        if old is not None and new is not None:
            covered(kind, conversion, old, new)


def covered(newer: Any, conversion: Conversion, old: JSONSchema, new: JSONSchema) -> Coverage:
    """The coverage of the two schemas by the conversion.

    Raises:
        DefinitionError: the conversion does not cover all fields in which the schemas differ.
    """
    coverage = Coverage(conversion, old, new, resource_of(conversion.older).version, resource_of(newer).version)
    if coverage.problems:
        which = f"{newer.__name__}: conversion from {conversion.older.__name__}"
        raise DefinitionError("\n".join(f"{which}: {problem}" for problem in coverage.problems))
    return coverage


class Versions:
    """Converts objects of one kind from any of its versions to any other, through the versions in between.

    ``Versions.of(Mykind)`` takes the class that lists the conversions: the newest version, whichever version is stored.

    *Guarantees*: those of `Conversion`. The methods are pure functions over plain JSON values: they do no I/O and never
    wait. An object that is converted back and forth any number of times does not change. Conversions keep no state, so
    a webhook server may be restarted or replicated at any time.
    """

    def __init__(self, kind: type[Object]) -> None:
        """Raises `DefinitionError` if the classes are not versions of one kind, or if a conversion
        omits a field or names an unknown one.
        """
        self.classes: tuple[Any, ...] = family_of(kind)
        """The class of each version, the newest first."""
        resource = resource_of(kind)
        self.group_kind = GroupKind(resource.group, resource.kind)
        self.annotation = f"{resource.group}/conversion"
        """The annotation for values that an object's version can't hold."""
        self.by_name: Mapping[str, type[Object]] = {resource_of(cls).version: cls for cls in self.classes}
        definitions = {name: schema_of(cls) for name, cls in self.by_name.items()}
        self.schemas: Mapping[str, Schema] = {name: structural.load(schema) for name, schema in definitions.items()}
        self._directions: dict[str, dict[str, Direction]] = {name: {} for name in self.by_name}
        self._alone: dict[tuple[str, str], frozenset[Steps]] = {}
        for newer in self.classes:
            for conversion in cast("Any", newer).definition.conversions:
                self._connect(newer, conversion, definitions)
        self._same = all(
            direction.exact and not direction.sources and not direction.defaults
            for targets in self._directions.values()
            for direction in targets.values()
        )

    @staticmethod
    def of(kind: type[Object]) -> Versions:
        """The versions of a kind, given the class that lists its conversions; built once per class.

        Raises:
            DefinitionError: the classes are not versions of one kind, or a conversion omits a field or names an
                unknown one.
        """
        return _versions(cast("Any", kind))

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions' names, the newest first."""
        return tuple(self.by_name)

    @property
    def need_webhook(self) -> bool:
        """Whether the versions differ in more than their names, in which case an API server needs a conversion
        webhook.
        """
        return not self._same

    def convert(self, document: dict[str, JSON], to_version: str) -> dict[str, JSON]:
        """``document`` in the version ``to_version``. The argument is not changed; the result may share parts with it,
        and is the argument itself if that already has this version.

        Raises:
            ConversionError: ``document`` is not an object of this kind, the version does not exist, or a user's
                function failed.
        """
        group, _, version = str(document.get("apiVersion")).rpartition("/")
        if group != self.group_kind.group or document.get("kind") != self.group_kind.kind:
            source_kind = f"{document.get('kind')} of {document.get('apiVersion')}"
            raise ConversionError(f"{source_kind} is not a {self.group_kind}")
        for name in (version, to_version):
            if name not in self.by_name:
                names = ", ".join(sorted(self.by_name))
                raise ConversionError(f"there is no version {name!r} of {self.group_kind}, only {names}")
        for step in self._route(version, to_version):
            try:
                document = self._hop(document, version, step)
            except ConversionError as problem:
                raise ConversionError(f"{_described(document)}: {version} to {step}: {problem}") from problem.__cause__
            version = step
        return document

    def read(self, kind: type[K], document: dict[str, JSON]) -> K:
        """The document, in whatever version it is, as an instance of ``kind``, the class of one of the versions.

        Raises:
            ConversionError: as `convert`.
            DecodeError: the document does not fit the class.
        """
        return from_wire(kind, self.convert(document, resource_of(kind).version))

    def convert_object(self, obj: Object, kind: type[K]) -> K:
        """``obj``, an instance of one version's class, converted to ``kind``, the class of another version. Fields that
        the classes do not declare are lost.

        Raises:
            ConversionError: as `convert`.
            DecodeError: the converted document does not fit the class.
        """
        return self.read(kind, to_wire(obj))

    def _connect(self, newer: type[Object], conversion: Any, definitions: Mapping[str, Any]) -> None:
        old, new = resource_of(conversion.older).version, resource_of(newer).version
        coverage = covered(newer, conversion, definitions[old], definitions[new])
        group = self.group_kind.group
        up, down = directions(conversion, f"{group}/{old}", f"{group}/{new}", coverage.old_only, coverage.new_only)
        self._directions[old][new], self._directions[new][old] = up, down
        self._alone[old, new] = frozenset(coverage.old_only)
        self._alone[new, old] = frozenset(coverage.new_only)

    def _route(self, start: str, end: str) -> tuple[str, ...]:
        """The versions on the path from ``start`` to ``end``, without ``start``. There is only one path, because
        conversions form a tree.
        """
        routes: dict[str, tuple[str, ...]] = {start: ()}
        waiting = [start]
        for here in waiting:
            for target in self._directions[here]:
                if target not in routes:
                    routes[target] = (*routes[here], target)
                    waiting.append(target)
        return routes[end]

    def _hop(self, document: dict[str, JSON], start: str, end: str) -> dict[str, JSON]:
        direction, back = self._directions[start][end], self._directions[end][start]
        source, preserved = self._without_kept(document)
        document_after = direction.convert(source)
        returning = preserved.pop(end, None)
        if returning is not None:
            content = restore(returning, _content(document_after))
            document_after = {**{key: document_after[key] for key in _TOP if key in document_after}, **content}
        preserved.pop(start, None)
        if not direction.exact:
            content_back = _content(back.convert(document_after))
            tree = loss(_content(source), content_back, self.schemas[start], self._alone[start, end])
            if tree is not None:
                preserved[start] = tree
        return self._with_kept(document_after, preserved) if preserved else document_after

    def _without_kept(self, document: dict[str, JSON]) -> tuple[dict[str, JSON], dict[str, JSON]]:
        metadata = document.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if not isinstance(annotations, dict) or self.annotation not in annotations:
            return document, {}
        others = {key: value for key, value in annotations.items() if key != self.annotation}
        cleaned = {key: value for key, value in metadata.items() if key != "annotations"} if metadata else {}
        if others:
            cleaned["annotations"] = others
        try:
            preserved = msgspec.json.decode(annotations[self.annotation])
        except (TypeError, RecursionError, msgspec.DecodeError):
            preserved = None
        # A hand-edited annotation must not make the object unreadable.
        return {**document, "metadata": cleaned}, dict(preserved) if isinstance(preserved, dict) else {}

    def _with_kept(self, document: dict[str, JSON], preserved: dict[str, JSON]) -> dict[str, JSON]:
        metadata = document.get("metadata") or {}
        text = msgspec.json.encode(preserved, order="deterministic").decode()
        annotations = {**(metadata.get("annotations") or {}), self.annotation: text}
        size = sum(len(f"{key}{value}".encode()) for key, value in annotations.items())
        if size > _MAX_ANNOTATIONS:
            version, tree = max(preserved.items(), key=lambda item: len(msgspec.json.encode(item[1])))
            raise ConversionError(
                f"{largest(tree)} of {version} would be kept in the annotation {self.annotation}, with which all "
                f"annotations would take {size} bytes, and API servers allow {_MAX_ANNOTATIONS}; shorten the field, or "
                f"give {document.get('apiVersion')} a field for it"
            )
        return {**document, "metadata": {**metadata, "annotations": annotations}}


@cache
def _versions(kind: Any) -> Versions:
    return Versions(kind)


def _content(document: dict[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in document.items() if key not in _TOP}


def _described(document: dict[str, JSON]) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return "/".join(filter(None, (metadata.get("namespace"), metadata.get("name")))) or str(document.get("kind"))
