"""JSON as values of expressions, with or without a schema.

Values are converted when they are read, so a rule on a large object pays only for the parts that it reads.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.times import format_duration, format_timestamp, parse_duration, parse_timestamp
from setpoint.cel.names import escaped, unescaped
from setpoint.cel.schema_types import Definition, with_object_meta
from setpoint.cel.values import (
    LISTS,
    MISSING,
    Duration,
    ListValue,
    MapValue,
    Opaque,
    Timestamp,
    Value,
    equal,
    no_overload,
)
from setpoint.schema import json_equal


def value_without_schema(value: Any) -> Value:
    """JSON as a value, without a schema: objects are maps, and numbers with a fraction or exponent are doubles."""
    if isinstance(value, dict):
        return _FreeMap(value)
    if isinstance(value, list):
        return _FreeList(value)
    return value


def value_of(value: Any, definition: Definition) -> Value:
    """JSON as a value, by its schema. Raises EvaluationError if ``value`` does not match the schema; the contents of an
    object or list are checked only when they are read.
    """
    if value is None:
        if definition.get("nullable"):
            return None
        raise EvaluationError("invalid data, got null for schema with nullable=false")
    if definition.get("x-kubernetes-int-or-string"):
        if isinstance(value, str) or type(value) is int:
            return value
        raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")
    kind = definition.get("type")
    match kind:
        case "object":
            if not isinstance(value, dict):
                raise _unfit("a map for the provided schema with type=object")
            return SchemaMap(value, definition)
        case "array":
            if not isinstance(value, list):
                raise _unfit("an array for the provided schema with type=array")
            return _list(value, definition)
        case "string":
            if not isinstance(value, str):
                raise _unfit("string")
            read = _READ.get(definition.get("format", ""))
            return value if read is None else read(value)
        case "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _unfit("float")
            return float(value)
        case "integer":
            if type(value) is not int:
                raise _unfit("int")
            return value
        case "boolean":
            if not isinstance(value, bool):
                raise _unfit("bool")
            return value
        case _ if definition.get("x-kubernetes-preserve-unknown-fields"):
            return value_without_schema(value)
        case _:
            raise EvaluationError(
                "invalid type, expected object, array, number, integer, boolean or string, or no type with "
                f"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {kind or ''}"
            )


def plain_of(value: Value) -> Any:
    """A value as JSON. Raises EvaluationError if it has no JSON form."""
    if isinstance(value, (SchemaMap, _FreeMap)):
        return value.raw
    if isinstance(value, MapValue):
        return {_plain_key(key): plain_of(value.find(key)) for key in value}
    if isinstance(value, LISTS):
        return [plain_of(item) for item in value]
    if isinstance(value, Opaque):
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if isinstance(value, float) else int(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    raise EvaluationError(f"a value of type {type(value).__name__} can't be part of an object")


def _plain_key(key: Value) -> str:
    if isinstance(key, str):
        return key
    raise EvaluationError("the keys of an object must be strings")


def _unfit(wanted: str) -> EvaluationError:
    return EvaluationError(f"invalid data, expected {wanted}")


def _duration(text: str) -> Duration:
    moment = parse_duration(text)
    if moment is None:
        raise EvaluationError(f"Invalid duration {text}: unable to parse {text} as duration")
    return moment


def _date(text: str) -> Timestamp:
    moment = parse_timestamp(f"{text}T00:00:00Z")
    if moment is None:
        raise EvaluationError(f"Invalid date formatted string {text}")
    return moment


def _date_time(text: str) -> Timestamp:
    moment = parse_timestamp(text.replace("t", "T").replace("z", "Z"))
    if moment is None:
        raise EvaluationError(f"Invalid date-time formatted string {text}")
    return moment


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise EvaluationError(f"Invalid byte formatted string {text}: {problem}") from None


_READ: Final = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}


class _FreeMap(MapValue):
    """A JSON object without a schema."""

    __slots__ = ("raw",)

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    def __len__(self) -> int:
        return len(self.raw)

    def find(self, key: Value) -> Value:
        if isinstance(key, str) and key in self.raw:
            return value_without_schema(self.raw[key])
        return MISSING

    def __iter__(self) -> Iterator[Value]:
        return iter(self.raw)


class _FreeList(ListValue):
    """A JSON list without a schema."""

    __slots__ = ("_raw",)

    def __init__(self, raw: list[Any]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: int) -> Value:
        return value_without_schema(self._raw[index])


class SchemaMap(MapValue):
    """A JSON object with a schema: an object with declared fields, or a map with arbitrary keys."""

    __slots__ = ("_additional", "_properties", "raw")

    def __init__(self, raw: dict[str, Any], definition: Definition) -> None:
        if definition.get("x-kubernetes-embedded-resource"):
            definition = with_object_meta(definition)
        self.raw = raw
        self._properties: Mapping[str, Definition] | None = definition.get("properties")
        additional = definition.get("additionalProperties")
        self._additional: Definition | None = additional if isinstance(additional, Mapping) else None

    def _schema(self, key: str) -> Definition | None:
        if self._properties is not None:
            return self._properties.get(key)
        return self._additional

    def __len__(self) -> int:
        return len(self.raw)

    def find(self, key: Value) -> Value:
        if not isinstance(key, str):
            raise no_overload()
        name: str | None = key
        if self._properties is not None:
            name = unescaped(key)
        if name is None or name not in self.raw:
            return MISSING
        value = self.raw[name]
        if value is None and self._properties is not None:
            return MISSING
        schema = self._schema(name)
        return MISSING if schema is None else value_of(value, schema)

    def __iter__(self) -> Iterator[Value]:
        for key in self.raw:
            if self._schema(key) is not None:
                yield (escaped(key) or key) if self._properties is not None else key

    def equals(self, other: MapValue) -> bool:
        if len(self) != len(other):
            return False
        for key, value in self.raw.items():
            if self._schema(key) is None:
                if not isinstance(other, SchemaMap):
                    raise no_overload()
                if key in other.raw and not json_equal(value, other.raw[key]):
                    return False
                continue
            name = (escaped(key) or key) if self._properties is not None else key
            own, counterpart = self.find(name), other.find(name)
            if (own is MISSING) != (counterpart is MISSING):
                return False
            if own is not MISSING and not equal(own, counterpart):
                return False
        return True


def _list(raw: list[Any], definition: Definition) -> ListValue:
    items = definition.get("items")
    if not isinstance(items, Mapping):
        raise EvaluationError("invalid array type, expected Items with a non-empty Schema")
    match definition.get("x-kubernetes-list-type"):
        case "set":
            return _SetList(_Items(raw, items))
        case "map":
            keys = tuple(escaped(key) or key for key in definition.get("x-kubernetes-list-map-keys") or ())
            return _MapList(_Items(raw, items), keys)
        case _:
            return _Items(raw, items)


class _Items(ListValue):
    """An ordinary list, whose elements are converted when they are read."""

    __slots__ = ("_definition", "_raw")

    def __init__(self, raw: list[Any], definition: Definition) -> None:
        self._raw = raw
        self._definition = definition

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: int) -> Value:
        return value_of(self._raw[index], self._definition)


class _SetList(ListValue):
    """A set: the order does not matter, and adding a value that the set already contains changes nothing."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Value] | ListValue) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> Value:
        return self._items[index]

    def equals(self, other: list[Value] | ListValue) -> bool:
        return len(self) == len(other) and all(any(equal(own, item) for own in self) for item in other)

    def plus(self, other: list[Value] | ListValue) -> Value:
        items = list(self)
        for item in other:
            if not any(equal(own, item) for own in items):
                items.append(item)
        return _SetList(items)


class _MapList(ListValue):
    """A list of objects with keys: the order does not matter, and adding an object replaces the one with the same
    keys.
    """

    __slots__ = ("_items", "_keys")

    def __init__(self, items: list[Value] | ListValue, keys: tuple[str, ...]) -> None:
        self._items = items
        self._keys = keys

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> Value:
        return self._items[index]

    def _key(self, item: Value) -> tuple[Any, ...]:
        if not isinstance(item, MapValue):
            raise no_overload()
        values = (item.find(key) for key in self._keys)
        return tuple((type(value).__name__, None if value is MISSING else value) for value in values)

    def equals(self, other: list[Value] | ListValue) -> bool:
        if len(self) != len(other):
            return False
        own = {self._key(item): item for item in self}
        for item in other:
            element = own.get(self._key(item), MISSING)
            if element is MISSING or not equal(element, item):
                return False
        return True

    def plus(self, other: list[Value] | ListValue) -> Value:
        items = {self._key(item): item for item in self}
        for item in other:
            items[self._key(item)] = item
        return _MapList(list(items.values()), self._keys)
