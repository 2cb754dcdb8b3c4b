"""Types of expressions, derived from OpenAPI schemas, with the largest sizes of their values.

A schema is the plain JSON of ``openAPIV3Schema``. Expressions can't access the parts of an object that have no type
(free-form parts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.cel.lexer import RESERVED
from setpoint.cel.names import escaped
from setpoint.cel.span import Span
from setpoint.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)

Definition: TypeAlias = Mapping[str, Any]
MAX_REQUEST: Final = 3 * 1024 * 1024
"""The maximum size of a request in bytes, and therefore of any part of an object."""

_TEXT: Final = {"type": "string"}
_META: Final = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}


class Declared(msgspec.Struct, eq=False):
    """A type, its parts, and the sizes of its values."""

    type: Type
    smallest: int
    """The size of the smallest value in bytes of JSON."""
    largest: int = 0
    """The maximum size of a value: the bytes of a string, the elements of a list or the entries of a map; 0 for types
    without a size.
    """
    fields: dict[str, Declared] = msgspec.field(default_factory=dict)
    """The fields by escaped name. A field whose name is a reserved word can also be found by its unescaped name."""
    item: Declared | None = None
    """The type of the elements of a list or map."""
    is_map: bool = False

    def size(self, path: tuple[str, ...]) -> Span | None:
        """The possible sizes of the part at ``path``, which is relative to this type; None if there is no such part."""
        declared: Declared | None = self
        for step in path:
            assert declared is not None
            if step in ("@items", "@values"):
                declared = declared.item
            elif step == "@keys":
                declared = _KEY if declared.is_map else None
            else:
                declared = declared.fields.get(step)
            if declared is None:
                return None
        assert declared is not None
        return Span(0, declared.largest)


_KEY: Final = Declared(STRING, 2, 0)


class SchemaFields:
    """The struct types that schemas declare."""

    __slots__ = ("_structs",)

    def __init__(self, *roots: Declared) -> None:
        self._structs: dict[str, Declared] = {}
        for root in roots:
            self._add(root)

    def _add(self, declared: Declared) -> None:
        if declared.type.kind == "struct":
            self._structs[declared.type.name] = declared
        for child in declared.fields.values():
            self._add(child)
        if declared.item is not None:
            self._add(declared.item)

    def field(self, struct: str, name: str) -> Type | None:
        child = self._structs[struct].fields.get(name)
        return None if child is None else child.type

    def named(self, name: str) -> Type | None:
        return None


def with_object_meta(definition: Definition) -> Definition:
    """The schema of a whole object, in which expressions see ``apiVersion``, ``kind``, and the ``name`` and
    ``generateName`` of its metadata, even if ``definition`` does not declare them.
    """
    properties = definition.get("properties") or {}
    meta = properties.get("metadata") or {}
    inner = meta.get("properties") or {}
    whole = (
        all((properties.get(name) or {}).get("type") == "string" for name in ("apiVersion", "kind"))
        and meta.get("type") == "object"
        and all((inner.get(name) or {}).get("type") == "string" for name in ("name", "generateName"))
    )
    if whole:
        return definition
    return {**definition, "properties": {**properties, "apiVersion": _TEXT, "kind": _TEXT, "metadata": _META}}


def declare(definition: Definition, name: str, *, root: bool = False) -> Declared | None:
    """The type of a schema's values; None if they have no type. ``name`` is the prefix of the names of the struct
    types. With ``root``, the schema describes a whole object.
    """
    if definition.get("x-kubernetes-int-or-string"):
        return Declared(DYN, 1, _text_size(definition))
    if root:
        definition = with_object_meta(definition)
    match definition.get("type"):
        case "array":
            return _list(definition, name)
        case "object":
            return _object(definition, name)
        case "string":
            return _text(definition)
        case "boolean":
            return Declared(BOOL, 4)
        case "number":
            return Declared(DOUBLE, 1)
        case "integer":
            return Declared(INT, 1)
        case _:
            return None


def _inner(definition: Definition, name: str) -> Declared | None:
    return declare(definition, name, root=bool(definition.get("x-kubernetes-embedded-resource")))


def _list(definition: Definition, name: str) -> Declared | None:
    items = definition.get("items")
    item = _inner(items, f"{name}.@idx") if isinstance(items, Mapping) else None
    if item is None:
        return None
    most = definition.get("maxItems")
    largest = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (item.smallest + 1)
    return Declared(list_of(item.type), 2, largest, item=item)


def _object(definition: Definition, name: str) -> Declared | None:
    additional = definition.get("additionalProperties")
    if isinstance(additional, Mapping):
        item = _inner(additional, f"{name}.@elem")
        if item is None:
            return None
        most = definition.get("maxProperties")
        largest = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (item.smallest + 6)
        return Declared(map_of(STRING, item.type), 2, largest, item=item, is_map=True)
    declared = Declared(struct(name), 2)
    required = definition.get("required") or ()
    for key, child in (definition.get("properties") or {}).items():
        field_name = escaped(key)
        child_declared = _inner(child, f"{name}.{field_name or key}")
        if child_declared is None:
            continue
        if field_name is not None:
            declared.fields[field_name] = child_declared
        if key in RESERVED:  # after a dot they need no escape
            declared.fields[key] = child_declared
        if key in required and child.get("default") is None:
            declared.smallest += len(key.encode()) + child_declared.smallest + 4
    return declared


_FORMATS: Final = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}


def _text(definition: Definition) -> Declared:
    format_ = _FORMATS.get(definition.get("format", ""))
    if format_ is not None:
        return Declared(*format_)
    if definition.get("format") == "byte":
        most = definition.get("maxLength")
        return Declared(BYTES, 2, max(most, 0) if most is not None else MAX_REQUEST - 2)
    most = definition.get("maxLength")
    if most is None and definition.get("enum"):
        texts = [len(item.encode()) for item in definition["enum"] if isinstance(item, str)]
        return Declared(STRING, 2, max(texts, default=0))
    return Declared(STRING, 2, _text_size(definition))


def _text_size(definition: Definition) -> int:
    """The largest size of a string in bytes: a character may take up to four bytes."""
    most = definition.get("maxLength")
    return max(most, 0) * 4 if most is not None else MAX_REQUEST - 2
