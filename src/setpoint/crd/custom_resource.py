"""CustomResource: the base class of Python classes that are served as Kubernetes kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack, cast

from msgspec import Struct

from setpoint.crd.cel_rule import ValidationRule, rules_of
from setpoint.crd.conversion import Conversion
from setpoint.crd.errors import DefinitionError
from setpoint.crd.schema import check_fields
from setpoint.crd.versions import check_conversions
from setpoint.meta import GroupVersionKind, Object, Resource
from setpoint.meta.model import ModelMeta, made_by
from setpoint.meta.names import dns1035_label, dns1123_subdomain

Scope = Literal["Namespaced", "Cluster"]
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?")


class Column(Struct, frozen=True):
    """An additional column of ``kubectl get``. ``json_path`` starts with a dot: ``.status.ready``.

    ``type`` is integer, number, string, boolean or date; by default that of the field, and string for a field of
    another type. A date is shown as an age, and a time in the future as ``<invalid>``: make that a string. Columns with
    a ``priority`` above 0 are shown only with ``-o wide``.
    """

    name: str
    json_path: str
    type: Literal["integer", "number", "string", "boolean", "date"] | None = None
    description: str = ""
    priority: int = 0
    format: str = ""


class ScaleSubresource(Struct, frozen=True, kw_only=True):
    """The paths of the fields behind the scale subresource, which ``kubectl scale`` and autoscalers use. A path starts
    with a dot: ``.spec.replicas``.
    """

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


class Definition(Struct, frozen=True, kw_only=True):
    """Everything that a class declares about its CustomResourceDefinition, except its fields."""

    served: bool = True
    storage: bool = True
    columns: tuple[Column, ...] = ()
    scale: ScaleSubresource | None = None
    rules: tuple[ValidationRule, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    deprecated: str | bool = False
    has_status: bool = False
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    conversions: tuple[Conversion, ...] = ()
    installed_by: str = ""


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "columns": tuple,
    "rules": rules_of,
    "selectable_fields": tuple,
    "labels": dict,
    "annotations": dict,
    "conversions": tuple,
}
"""Functions that turn the values of class keywords into fields of a `Definition`; other values are not changed."""


class Keywords(TypedDict, total=False):
    """The class keywords of a `CustomResource`. Keywords that are also fields of `Definition` have the defaults given
    there.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    scope: Scope
    short_names: Sequence[str]
    categories: Sequence[str]
    served: bool
    storage: bool
    columns: Sequence[Column]
    scale: ScaleSubresource | None
    rules: Sequence[ValidationRule | str]
    selectable_fields: Sequence[str]
    deprecated: str | bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    conversions: Sequence[Conversion]
    installed_by: str
    preserve_unknown_fields: bool
    status_subresource: bool


class CustomResourceMeta(ModelMeta):
    """Reads the class keywords of a `CustomResource`."""

    if TYPE_CHECKING:
        # So that type checkers find misspelt class keywords. mypy does not look at those of classes with a metaclass.
        def __new__(
            cls,
            name: str,
            bases: tuple[type, ...],
            namespace: dict[str, Any],
            /,
            **keywords: Unpack[Keywords],
        ) -> Any: ...

    else:

        def __new__(cls, name, bases, namespace, **options):
            return _create(cls, name, bases, namespace, options)


def _create(
    metaclass: type[CustomResourceMeta],
    name: str,
    bases: tuple[type, ...],
    namespace: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    words = Keywords.__annotations__
    keywords = cast("Keywords", {word: options.pop(word) for word in list(options) if word in words})
    cls = made_by(metaclass, name, bases, namespace, options, also=words)
    if "group" not in keywords:
        if keywords:
            raise DefinitionError(f"class {name}: {', '.join(sorted(keywords))}= without group=")
        return cls
    cls.resource = _resource(cls, keywords["group"], keywords)
    cls.definition = _definition(cls, keywords)
    cls.__keeps_unknown__ = keywords.get("preserve_unknown_fields", False)
    if cls.definition.installed_by:
        cls.__of_others__ = True  # so an object is read, and written as it was read, whatever it lacks
    else:
        check_fields(cls)
        check_conversions(cls)
    return cls


class CustomResource(Object, metaclass=CustomResourceMeta):
    """The base class of your own kinds.

    ```python
    class Mykind(CustomResource, group="grp.example.com", version="v1alpha1", short_names=("mk",)):
        spec: MykindSpec
        status: MykindStatus = MykindStatus()
    ```

    Class keywords: ``group`` and ``version`` are required; ``kind`` defaults to the class's name, ``plural`` to its
    lower-case plural, ``scope`` to ``Namespaced``. ``deprecated`` is the warning that users of this version receive, or
    True for the server's default message. ``labels`` and ``annotations`` are the CustomResourceDefinition's.
    ``conversions`` converts objects of older versions to this one and back (see `Conversion`); one version of a kind is
    stored, the others have ``storage=False``.

    ``installed_by`` is for a kind of another project (``installed_by="cert-manager"``): the class may have a part of
    its fields, and the program that has the class never writes the kind's definition. Manifests, charts and bundles
    leave it out and keep the permissions. See `docs/howto/other-projects.md`.

    With ``preserve_unknown_fields``, the server stores fields of the object that the class does not have, beside
    ``spec`` and ``status``, and an object that was read is written with them.

    A field ``status`` becomes a subresource, unless ``status_subresource`` is False. The types of ``spec`` and
    ``status`` may also be dataclasses or pydantic models.

    Raises:
        DefinitionError: a name is invalid, a keyword is missing, a field's type or default is invalid, or a column
            shows an unknown field. `crd_for` checks types that are defined later.
    """

    definition: ClassVar[Definition]


def plural_of(kind: str) -> str:
    """The lower-case plural by the usual rules of English: ``mykinds`` for ``Mykind``, ``policies`` for ``Policy``."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _resource(cls: type[CustomResource], group: str, keywords: Keywords) -> Resource:
    prefix = f"class {cls.__name__}"
    version = keywords.get("version")
    scope = keywords.get("scope", "Namespaced")
    short_names, categories = keywords.get("short_names", ()), keywords.get("categories", ())
    if version is None:
        raise DefinitionError(f"{prefix}: version= is missing, such as version='v1alpha1'")
    if not _VERSION.fullmatch(version) and (not keywords.get("installed_by") or dns1035_label(version)):
        raise DefinitionError(f"{prefix}: version={version!r} is not of the form v1, v1beta1 or v1alpha1")
    if "." not in group or dns1123_subdomain(group):
        raise DefinitionError(f"{prefix}: group={group!r} must be a DNS name with a dot, such as 'grp.example.com'")
    if scope not in ("Namespaced", "Cluster"):
        raise DefinitionError(f"{prefix}: scope={scope!r} must be 'Namespaced' or 'Cluster'")
    if isinstance(short_names, str) or isinstance(categories, str):
        raise DefinitionError(f"{prefix}: short_names= and categories= must be tuples of strings, such as ('mk',)")
    kind = keywords.get("kind") or cls.__name__
    plural = keywords.get("plural") or plural_of(kind)
    singular = keywords.get("singular") or kind.lower()
    for word in (plural, singular, *short_names):
        if problems := dns1035_label(word):
            raise DefinitionError(f"{prefix}: name {word!r}: {problems[0]}")
    gvk = GroupVersionKind(group, version, kind)
    subresources = {}
    if _has_status(cls, keywords):
        subresources["status"] = gvk
    if keywords.get("scale"):
        subresources["scale"] = GroupVersionKind("autoscaling", "v1", "Scale")
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=singular,
        list_kind=keywords.get("list_kind") or f"{kind}List",
        namespaced=scope == "Namespaced",
        short_names=tuple(short_names),
        categories=tuple(categories),
        subresources=subresources,
    )


def _definition(cls: type[CustomResource], keywords: Keywords) -> Definition:
    prefix = f"class {cls.__name__}"
    project = keywords.get("installed_by", "")
    if "installed_by" in keywords and (not isinstance(project, str) or not project.strip()):
        raise DefinitionError(f"{prefix}: installed_by={project!r} must be the name of the project that has the kind")
    if project and keywords.get("conversions"):
        raise DefinitionError(
            f"{prefix}: conversions= with installed_by=: {project} converts the versions of its kinds"
        )
    options: dict[str, Any] = {
        word: _CONVERTED[word](value or ()) if word in _CONVERTED else value
        for word, value in keywords.items()
        if word in Definition.__struct_fields__
    }
    return Definition(has_status=_has_status(cls, keywords), **options)


def _has_status(cls: type[CustomResource], keywords: Keywords) -> bool:
    """Whether the kind has a status subresource."""
    return "status" in cls.__struct_fields__ and keywords.get("status_subresource", True)
