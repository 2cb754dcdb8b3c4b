"""Finds unknown fields, or removes them as structural pruning does (KEP-2335; KEP-2885 for the modes of field
validation).
"""

from __future__ import annotations

from typing import Final

from setpoint.meta.json_values import JSON

from .errors import LONGEST_PATH, shortened
from .schema_node import Schema

_ROOM: Final = 1 << 20
"""The length of all paths together, in characters. Only paths below very long keys can be longer than a body."""
_META: Final = frozenset({"apiVersion", "kind", "metadata"})


def prune(schema: Schema, value: JSON) -> list[str]:
    """Removes every field of ``value`` (in place) that is not in ``schema``, and returns the paths of these fields in
    the order in which they stand there.

    Fields under ``preserve_unknown`` are kept, except unknown fields inside known properties; ``apiVersion``, ``kind``
    and ``metadata`` of embedded resources are kept, too. Paths look like ``spec.containers[0].foo``; a removed field is
    listed once, without the fields in it.
    """
    paths = _walk(schema, value, True)
    return [path.removeprefix(".") for path in paths] if paths else []


def unknown_fields(schema: Schema, value: JSON) -> list[str]:
    """The paths of the fields that `prune` would remove, sorted; ``value`` is not changed."""
    return sorted(path.removeprefix(".") for path in _walk(schema, value, False) or ())


def _walk(schema: Schema | None, value: JSON, remove: bool, preserve: bool = False) -> list[str] | None:
    # Paths are built only on the way up from an unknown field, so that a clean document needs no strings.
    paths: list[str] | None = None
    if isinstance(value, dict):
        if schema is None:
            paths = [f".{key}" for key in value]
            if remove:
                value.clear()
            return paths
        properties, additional = schema.properties, schema.additional
        preserve = preserve or schema.preserve_unknown
        unknown: list[str] | None = None
        for key, item in value.items():
            child = properties.get(key)
            if child is None:
                child = additional
                if schema.embedded_resource and key in _META:
                    continue
                if child is None:
                    if not preserve:
                        if unknown is None:
                            unknown = []
                        unknown.append(key)
                        paths = paths or []
                        paths.append(f".{key}")
                    continue
            if isinstance(item, (dict, list)):
                inner = _walk(child, item, remove)
                if inner:
                    paths = paths or []
                    paths += _inside(f".{key}", inner)
        if unknown and remove:
            for key in unknown:
                del value[key]
    elif isinstance(value, list):
        preserve = preserve or (schema is not None and schema.preserve_unknown)
        items = None if schema is None else schema.items
        if items is None and preserve:
            return None
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                inner = _walk(items, item, remove, preserve)
                if inner:
                    paths = paths or []
                    paths += _inside(f"[{index}]", inner)
    return paths


def _inside(step: str, inner: list[str]) -> list[str]:
    """The paths ``inner`` in the field or item ``step``. If they are very long, only the first of them."""
    if len(step) > LONGEST_PATH:
        step = shortened(step)
    size = sum(map(len, inner)) + len(step) * len(inner)
    if size > _ROOM:
        inner = inner[: max(len(inner) * _ROOM // size, 1)]
    return [f"{step}{path}" for path in inner]
