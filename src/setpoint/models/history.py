"""Since which version of Kubernetes the fields and kinds of the models exist, and which a cluster turns off by default.

The table, ``history.json.zst``, is read when a function here first needs it. It has only what is newer, or off by
default in, any version from the oldest on that it knows:

* ``fields``: by definition and field, the stages. ``31- 33a 35b`` means that the field does not exist in 1.31, is alpha
  from 1.33 and beta from 1.35 on. ``-``: does not exist; ``a``: alpha, off by default; ``o``: beta or later, off by
  default; ``b``: beta, on by default; ``s``: stable.
* ``since``: the minor version in which a kind (``apiVersion/Kind``) was added.
* ``until``: the last minor version with a kind that the models don't have.
* ``parts``: for a kind, the definitions in it that ``fields`` lists.

Sources: the published OpenAPI definitions of each version, and for features the gates of the newest kube-apiserver
(``pkg/features/kube_features.go``) with the ``+featureGate`` lines of ``k8s.io/api``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from setpoint.meta import GroupVersion, GroupVersionKind
from setpoint.models._history_table import last_version, name_of, table
from setpoint.models._table import KUBERNETES
from setpoint.models.resources import UnknownKindError, definition_name, schemas

OLDEST: Final = 31
"""The oldest minor version of Kubernetes 1 that the table knows."""
NEWEST: Final = int(KUBERNETES.partition(".")[2])
"""The minor version of the models."""
_CHANGE: Final = re.compile(r"(\d+)([-aobs])")
_OFF: Final = frozenset("-ao")
_IN: Final = {"-": "is not in", "a": "is alpha, and off by default, in", "o": "is beta, and off by default, in"}
_UNSTABLE: Final = re.compile(r"v\d+(alpha|beta)\d+")


class VersionError(ValueError):
    """A version of Kubernetes that the table does not know, or that is not a version; the message says which are."""


def minor_of(version: str) -> int:
    """The minor version in ``version``: 33 for ``1.33`` and ``1.33.4``.

    Raises:
        VersionError: it is not a version from 1.31 to that of the models.
    """
    match = re.fullmatch(r"v?1\.(\d+)(?:\.\d+)?", version)
    if match is None or not OLDEST <= (minor := int(match[1])) <= NEWEST:
        raise VersionError(f"{version!r} is not a version of Kubernetes from 1.{OLDEST} to 1.{NEWEST}, such as 1.33")
    return minor


def is_known_kind(gvk: GroupVersionKind, minor: int) -> bool:
    """Whether the API of that minor version has this built-in kind of the models."""
    return minor >= NEWEST or minor >= table()["since"].get(name_of(gvk), 0)


def missing_kind(gvk: GroupVersionKind, minor: int) -> str:
    """Why a cluster of that minor version does not serve a built-in kind by default: a clause such as ``is not in 1.31
    (since 1.33)``; ``""`` if it serves the kind, or if the kind is not built in.
    """
    if not is_known_kind(gvk, minor):
        return f"is not in 1.{minor} (since 1.{table()['since'][name_of(gvk)]})"
    match = _UNSTABLE.fullmatch(gvk.version)
    if match is None or not _is_built_in(gvk):
        return ""
    return f"is {match[1]}: clusters serve it only if --runtime-config says so"


def missing_fields(document: Mapping[str, Any], minor: int) -> list[str]:
    """The fields of an object that a cluster of that minor version drops by default, each as a clause such as
    ``spec.resources is not in 1.31 (on by default since 1.34)``. Custom objects have none.
    """
    version = GroupVersion.parse(str(document.get("apiVersion", "")))
    gvk = GroupVersionKind(version.group, version.version, str(document.get("kind", "")))
    try:
        root = definition_name(gvk)
    except UnknownKindError:
        return []
    return [f"{path} {_clause(changes, minor)}" for path, changes in _walk({"$ref": root}, document, "", minor)]


def newer_fields(gvk: GroupVersionKind, minor: int) -> list[str]:
    """All fields in a built-in kind that a cluster of that minor version drops by default though the newest keeps
    them, as ``Container.restartPolicyRules``. Nothing but the table is read.
    """
    return [field for definition in table()["parts"].get(name_of(gvk), ()) for field in _newer(definition, minor)]


def newer_fields_of(part: type, minor: int) -> list[str]:
    """As `newer_fields`, for the fields of one class of `setpoint.models`, such as ``PodSpec``; none for other classes."""
    package, _, module = part.__module__.rpartition(".")
    if package != "setpoint.models":
        return []
    end = f".{module.replace('_', '.')}.{part.__name__}"
    return [field for name in table()["fields"] if name.endswith(end) for field in _newer(name, minor)]


def _newer(definition: str, minor: int) -> list[str]:
    return [
        f"{definition.rpartition('.')[2]}.{field}"
        for field, changes in table()["fields"][definition].items()
        if _stage(changes, minor) in _OFF and _stage(changes, NEWEST) not in _OFF
    ]


def schemas_of(minor: int) -> Mapping[str, Mapping[str, Any]]:
    """The definitions of `setpoint.models.schemas`, without the fields that a cluster of that minor version drops by
    default. For the models' own version they are all definitions as they are.
    """
    return schemas() if minor >= NEWEST else _OlderDefinitions(minor)


def older_definition(name: str, definition: Mapping[str, Any], minor: int) -> Mapping[str, Any]:
    """``definition``, which has that name, without the fields that a cluster of that minor version drops by default."""
    changes = {} if minor >= NEWEST else table()["fields"].get(name, {})
    dropped = {field for field, text in changes.items() if _stage(text, minor) in _OFF}
    if not dropped:
        return definition
    kept = {field: node for field, node in definition["properties"].items() if field not in dropped}
    required = [field for field in definition.get("required", ()) if field not in dropped]
    return {**definition, "properties": kept, **({"required": required} if required else {})}


class _OlderDefinitions(Mapping[str, Mapping[str, Any]]):
    def __init__(self, minor: int) -> None:
        self._minor = minor

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return older_definition(name, schemas()[name], self._minor)

    def __contains__(self, name: object) -> bool:
        return name in schemas()

    def __iter__(self) -> Iterator[str]:
        return iter(schemas())

    def __len__(self) -> int:
        return len(schemas())


def _walk(node: Mapping[str, Any], value: Any, path: str, minor: int) -> Iterator[tuple[str, str]]:
    """The fields in ``value`` that are off in that version, with their stages."""
    name = node.get("$ref", "")
    if name:
        node = schemas().get(name) or {}
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _walk(node.get("items", {}), item, f"{path}[{place}]", minor)
    elif isinstance(value, dict):
        properties, changes = node.get("properties", {}), table()["fields"].get(name, {})
        others = node.get("additionalProperties")
        for field, item in value.items():
            below = f"{path}.{field}" if path else field
            if field not in properties:
                if isinstance(others, dict):
                    yield from _walk(others, item, f"{path}[{field}]", minor)
            elif field in changes and _stage(changes[field], minor) in _OFF:
                yield below, changes[field]
            else:
                yield from _walk(properties[field], item, below, minor)


def _stage(changes: str, minor: int) -> str:
    stages: list[str] = [stage for since, stage in _CHANGE.findall(changes) if int(since) <= minor]
    return stages[-1]


def _clause(changes: str, minor: int) -> str:
    later = next((since for since, stage in _CHANGE.findall(changes) if int(since) > minor and stage not in _OFF), "")
    then = f" (on by default since 1.{later})" if later else ""
    return f"{_IN[_stage(changes, minor)]} 1.{minor}{then}"


def _is_built_in(gvk: GroupVersionKind) -> bool:
    try:
        definition_name(gvk)
    except UnknownKindError:
        return False
    return True
