"""Random changes of valid objects: most of them make the object wrong in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from setpoint.models import definition_name, schemas

JsonObject = dict[str, Any]
Path = tuple[str | int, ...]
Mutation = tuple[str, Path, Any]
"""The operation (``set`` or ``drop``), the path, the new value."""

_NUMBERS: Final = (-1, 0, 1, 2, 7, 100, 101, 65535, 65536, 2**31 - 1, 86401)
_WORDS: Final = (
    "", "x", "Bad_Name", "-a", "a.b", "a/b", "a b", "x" * 64, "x" * 254, "10.0.0.300", "fe80::1", "1", "0", "-1",
    "1.5", "150%", "10%", "-5%", "1Gi", "-1Gi", "500m", "*", "/abs", "../x", "Example.COM", "example.com/x", "http",
    "010.1.1.1", "::ffff:1.2.3.4", "10.2.0.1/24",
)  # fmt: skip
_DEPTH: Final = 3
_OF_METADATA: Final = 0.1
"""The share of changes in writes of statuses that are about metadata, which some kinds take and others do not."""
_METADATA: Final[tuple[Mutation, ...]] = (
    ("set", ("metadata", "labels"), {"a": "b"}),
    ("set", ("metadata", "labels"), {"-": "b"}),
    ("drop", ("metadata", "labels"), None),
    ("set", ("metadata", "annotations"), {"a": "b"}),
    ("set", ("metadata", "finalizers"), ["example.com/f"]),
    ("set", ("metadata", "ownerReferences"), [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}]),
)
_LEFT_ALONE: Final = frozenset({"managedFields", "apiVersion", "kind", "name", "namespace", "generateName", "status"})


def mutations(random: Random, obj: JsonObject, kind: Any, count: int) -> list[Mutation]:
    """``count`` changes of ``obj``, an object of ``kind``."""
    node = schemas()[definition_name(kind)]
    places = [place for place in _walk(obj, node, ()) if place[0]]
    return [_mutation(random, *random.choice(places)) for _ in range(count)]


def status_mutations(random: Random, obj: JsonObject, kind: Any, count: int) -> list[Mutation]:
    """``count`` changes of the status of ``obj``, some of them of its metadata."""
    node = _resolved(schemas()[definition_name(kind)])["properties"]["status"]
    places = [place for place in _walk(obj.get("status") or {}, node, ("status",)) if len(place[0]) > 1]
    return [
        random.choice(_METADATA) if random.random() < _OF_METADATA else _mutation(random, *random.choice(places))
        for _ in range(count)
    ]


def odd_name(random: Random) -> str:
    """A name that some kinds take and others do not."""
    return random.choice(_WORDS[1:])


def applied(obj: JsonObject, changes: list[Mutation]) -> JsonObject:
    """``obj``, changed in place; changes of what it has not are left out. The changes stay as they are: a later one may
    be within the value that an earlier one sets.
    """
    for what, path, value in copy.deepcopy(changes):
        parent: Any = obj
        for step in path[:-1]:
            try:
                parent = parent[step]
            except (KeyError, IndexError, TypeError):
                parent = None
                break
        last = path[-1]
        if isinstance(parent, dict):
            if what == "drop":
                parent.pop(last, None)
            else:
                parent[last] = value
        elif isinstance(parent, list) and isinstance(last, int):
            if what == "drop" and last < len(parent):
                del parent[last]
            elif what == "set":
                parent[last : last + 1] = [value]
    return obj


def _resolved(node: JsonObject) -> JsonObject:
    for item in (node, *node.get("allOf", ())):
        if "$ref" in item:
            return _resolved(schemas()[item["$ref"].rpartition("/")[2]])
    return node


def _walk(value: Any, node: JsonObject, path: Path) -> Iterator[tuple[Path, Any, JsonObject]]:
    node = _resolved(node)
    yield path, value, node
    if isinstance(value, dict):
        for key, item in value.items():
            if len(path) < 2 and key in _LEFT_ALONE:
                continue
            below = node.get("properties", {}).get(key) or node.get("additionalProperties")
            if isinstance(below, dict):
                yield from _walk(item, below, (*path, key))
        if path[:1] != ("metadata",):
            for key, below in node.get("properties", {}).items():
                if key not in value and not (len(path) < 2 and key in _LEFT_ALONE | {"metadata"}):
                    yield (*path, key), None, _resolved(below)
    elif isinstance(value, list) and isinstance(node.get("items"), dict):
        for index, item in enumerate(value):
            yield from _walk(item, node["items"], (*path, index))


def _mutation(random: Random, path: Path, value: Any, node: JsonObject) -> Mutation:
    if value is None:
        return "set", path, _made(random, node, 0)
    chance = random.random()
    if chance < 0.25:
        return "drop", path, None
    if chance < 0.32:
        return "set", path, random.choice([None, "text", 5, True, [], {}, [{}], {"a": "b"}])
    if isinstance(value, list) and chance < 0.6:
        return "set", path, random.choice([[], value * 2, [*value, _made(random, node.get("items", {}), 1)]])
    if isinstance(value, dict) and chance < 0.5:
        key = random.choice(_WORDS)
        extra = node.get("additionalProperties")
        return "set", path, {**value, key: _made(random, extra, 1)} if isinstance(extra, dict) else {}
    return "set", path, _made(random, node, 1)


def _made(random: Random, node: JsonObject, depth: int) -> Any:
    """Some value of the schema's type, right or wrong."""
    node = _resolved(node)
    kind, form = node.get("type"), node.get("format")
    if form == "int-or-string":
        return random.choice([*_NUMBERS, *_WORDS])
    if "enum" in node and random.random() < 0.7:
        return random.choice(node["enum"])
    match kind:
        case "string":
            if form in ("date-time", "micro-time"):
                return random.choice(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z", "never"])
            return random.choice(_WORDS)
        case "integer" | "number":
            return random.choice(_NUMBERS)
        case "boolean":
            return random.choice([True, False])
        case "array":
            return [_made(random, node.get("items", {}), depth + 1) for _ in range(random.choice([0, 1, 1, 2]))]
    if isinstance(node.get("additionalProperties"), dict):
        extra = node["additionalProperties"]
        return {random.choice(_WORDS): _made(random, extra, depth + 1) for _ in range(random.choice([0, 1, 2]))}
    properties = node.get("properties")
    if not properties:
        return random.choice([{}, {"a": "b"}, random.choice(_WORDS)])
    required = set(node.get("required", ()))
    share = 0.3 if depth < _DEPTH else 0
    return {
        key: _made(random, below, depth + 1)
        for key, below in properties.items()
        if random.random() < (0.85 if key in required else share) and key not in ("managedFields", "status")
    }
