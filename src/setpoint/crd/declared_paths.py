"""Checks the paths of a declaration: columns, scale and selectable fields must name fields of the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

JSONSchema = dict[str, Any]
_SIMPLE = re.compile(r"(\.[A-Za-z_][A-Za-z0-9_-]*)+")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_MOST_SELECTABLE = 8
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[[^\]]*\]")
_METADATA = {"creationTimestamp": "date", "deletionTimestamp": "date", "generation": "integer"}


def field_at(schema: JSONSchema, path: str) -> JSONSchema | None:
    """The schema at a simple path such as ``.spec.replicas``; None if the field does not exist. Fields
    of an object that keeps unknown fields exist, and their schema accepts any value.
    """
    node = schema
    for step in path.split(".")[1:]:
        inner = node.get("properties", {}).get(step) or node.get("additionalProperties")
        if not isinstance(inner, dict):
            return {_PRESERVE: True} if node.get(_PRESERVE) else None
        node = inner
    return node


def column_type(schema: Mapping[str, Any], path: str) -> str:
    """The type of a column that shows the field at ``path``, which may select items of lists. It is ``string`` for
    fields that are not scalars, and for paths that are not made of names and selections.
    """
    name = path.removeprefix(".metadata.")
    if name != path:
        return _METADATA.get(name, "string")
    node: Any = schema
    end = 0
    for step in _STEP.finditer(path):
        if step.start() != end or not isinstance(node, dict):
            return "string"
        end = step.end()
        node = field_at(node, step[0]) if step[1] else node.get("items")
    if end != len(path) or not isinstance(node, dict):
        return "string"
    if node.get("format") == "date-time":
        return "date"
    return str(node["type"]) if node.get("type") in ("integer", "number", "boolean") else "string"


def path_problems(kind: Any, schema: JSONSchema) -> Iterator[str]:
    """The errors in the paths of a custom resource's declaration, each as ``: message``."""
    definition = getattr(kind, "definition", None)
    if definition is None:
        return
    for column in definition.columns:
        prefix = f": column {column.name!r}"
        if column.type is not None and column.type not in _COLUMN_TYPES:
            yield f"{prefix}: type={column.type!r} is not one of {', '.join(_COLUMN_TYPES)}"
        if not column.json_path.startswith("."):
            yield f"{prefix}: json_path={column.json_path!r} must start with a dot: '.status.ready'"
        elif _SIMPLE.fullmatch(column.json_path) and _missing(schema, column.json_path):
            yield f"{prefix} shows {column.json_path}, which the class does not have (use wire names)"
    yield from _scale_problems(definition.scale, schema)
    yield from _selectable_problems(definition.selectable_fields, schema)


def _missing(schema: JSONSchema, path: str) -> bool:
    return not path.startswith(".metadata.") and field_at(schema, path) is None


def _scale_problems(scale: Any, schema: JSONSchema) -> Iterator[str]:
    if scale is None:
        return
    for word, path, below, wanted in (
        ("spec_replicas", scale.spec_replicas, (".spec.",), "integer"),
        ("status_replicas", scale.status_replicas, (".status.",), "integer"),
        ("label_selector", scale.label_selector, (".spec.", ".status."), "string"),
    ):
        if not path and word == "label_selector":
            continue
        prefix = f": scale: {word}={path!r}"
        if not _SIMPLE.fullmatch(path) or not path.startswith(below):
            yield f"{prefix} must be a path of names below {' or '.join(part.strip('.') for part in below)}"
        elif (field := field_at(schema, path)) is None:
            yield f"{prefix} names a field that the class does not have (use wire names)"
        elif field.get("type", wanted) != wanted:
            yield f"{prefix} must name a field of type {wanted}, and this is of type {field['type']}"


def _selectable_problems(paths: tuple[str, ...], schema: JSONSchema) -> Iterator[str]:
    if len(paths) > _MOST_SELECTABLE:
        yield f": selectable_fields= has {len(paths)} fields, and API servers take {_MOST_SELECTABLE} at most"
    for path in paths:
        prefix = f": selectable_fields= names {path!r}"
        if not _SIMPLE.fullmatch(path):
            yield f"{prefix}, which must be a path of names, such as '.spec.color'"
        elif path.startswith(".metadata."):
            yield f"{prefix}; fields of metadata are not allowed (name and namespace are always selectable)"
        elif (field := field_at(schema, path)) is None:
            yield f"{prefix}, which the class does not have (use wire names)"
        elif field.get("type") not in ("string", "integer", "boolean"):
            yield f"{prefix}, which must be a string, an integer or a boolean"
