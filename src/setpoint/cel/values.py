"""The values of CEL in Python, with their types, equality, order and size.

null, bool, int, double, string, bytes and list are Python's own types; uint is `UInt`. Maps are `MapValue`, times are
`Timestamp` and `Duration`, values that may be missing are `Optional`, and everything else is an `Opaque`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
)

Value: TypeAlias = Any
"""Any value of CEL."""

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1
MIN_SECONDS: Final = -62135596800
MAX_SECONDS: Final = 253402300799


class UInt(int):
    """An unsigned integer, 0 to 2**64-1."""

    __slots__ = ()


class Duration(msgspec.Struct, frozen=True, order=True):
    """A span of time in nanoseconds."""

    nanoseconds: int


class Timestamp(msgspec.Struct, frozen=True, order=True):
    """A moment in the years 1 to 9999, in nanoseconds since 1970 (UTC)."""

    nanoseconds: int


class _Missing:
    __slots__ = ()


MISSING: Final = _Missing()
"""The result of looking up a missing key in a map."""


class Optional(msgspec.Struct, frozen=True, eq=False):
    """A value, or its absence."""

    value: Value = MISSING

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def get(self) -> Value:
        """The value. Raises EvaluationError if there is none."""
        if self.value is MISSING:
            raise EvaluationError("optional.none() dereference")
        return self.value


NONE: Final = Optional()


class ListValue:
    """A list that is not Python's own: its elements are converted when they are read."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Value:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        for index in range(len(self)):
            yield self[index]

    def equals(self, other: list[Value] | ListValue) -> bool:
        """Whether the elements are equal, in the same order."""
        return len(self) == len(other) and all(map(equal, self, other))

    def plus(self, other: list[Value] | ListValue) -> Value:
        """The concatenation of this list and ``other``."""
        return [*self, *other]


LISTS: Final = (list, ListValue)


class MapValue:
    """A map from bool, int, uint or string to values."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def find(self, key: Value) -> Value:
        """The value of the key, or MISSING."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        """The keys, in an unspecified order."""
        raise NotImplementedError

    def equals(self, other: MapValue) -> bool:
        if len(self) != len(other):
            return False
        for key in self:
            value = other.find(key)
            if value is MISSING or not equal(self.find(key), value):
                return False
        return True


class PlainMap(MapValue):
    """A map built by an expression."""

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[Any, tuple[Value, Value]] | None = None) -> None:
        self._entries = {} if entries is None else entries

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Value) -> Value:
        entry = self._entries.get(_plain_key(key))
        return MISSING if entry is None else entry[1]

    def __iter__(self) -> Iterator[Value]:
        return (key for key, _ in self._entries.values())

    def put(self, key: Value, value: Value) -> None:
        """Sets the entry of ``key``, replacing an entry with an equal key. Changes the map in place, so only code that
        is still building the map may call it. Raises EvaluationError for a key of an unsupported type.
        """
        self._entries[_plain_key(key)] = (key, value)

    def drop(self, key: Value) -> None:
        """Removes the entry of ``key``, if there is one. Changes the map in place, so only code that is still building
        the map may call it. Raises EvaluationError for a key of an unsupported type.
        """
        self._entries.pop(_plain_key(key), None)

    def with_entry(self, key: Value, value: Value) -> PlainMap:
        """A map with one more entry. Raises EvaluationError for a duplicate key."""
        plain = _plain_key(key)
        if plain in self._entries:
            raise EvaluationError(f"insert failed: key {show(key)} already exists")
        return PlainMap({**self._entries, plain: (key, value)})


def _plain_key(key: Value) -> Any:
    """The dictionary key for a map's key. Equal numbers of different types have equal dictionary keys; a bool never
    equals a number. Raises EvaluationError for an unsupported type.
    """
    if isinstance(key, bool):
        return ("bool", key)
    if isinstance(key, (int, float, str)):
        return key
    raise EvaluationError(f"unsupported key type: {type_of_value(key).runtime_name}")


class Opaque:
    """A value of a type that a library defines."""

    __slots__ = ()

    @property
    def kind(self) -> Type:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The value's size when costs are counted."""
        return 1

    def equals(self, other: Opaque) -> bool:
        """Whether this value equals another one of the same type."""
        raise NotImplementedError


def type_of_value(value: Value) -> Type:
    """The type at run time, without the types of the elements of lists and maps."""
    if isinstance(value, Opaque):
        return value.kind
    if isinstance(value, LISTS):
        return Type("list")
    if isinstance(value, MapValue):
        return Type("map")
    return _TYPES[type(value)]


_TYPES: Final[dict[type, Type]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    Type: TYPE,
    Optional: Type("opaque", "optional_type"),
}


def no_overload() -> EvaluationError:
    """The error for a call whose operands no overload accepts."""
    return EvaluationError("no such overload")


def _number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(left: float, right: float) -> int | None:
    """The order of two numbers; None if one is NaN. An integer compared with a double counts as the nearest double."""
    if left != left or right != right:
        return None
    if isinstance(left, float) != isinstance(right, float) and abs(left) <= MAX_UINT and abs(right) <= MAX_UINT:
        left, right = float(left), float(right)
    return (left > right) - (left < right)


def equal(left: Value, right: Value) -> bool:
    """Whether ``one == two``. Numbers are compared across types, other values only with values of their own type.
    Raises EvaluationError for types that can't be compared.
    """
    if left is None or right is None:
        return left is right
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if _number(left):
        return _number(right) and _ordered(left, right) == 0
    if isinstance(left, list):
        if isinstance(right, ListValue):
            return len(left) == len(right) and all(map(equal, left, right))
        return isinstance(right, list) and len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, ListValue):
        if not isinstance(right, LISTS):
            raise no_overload()
        return left.equals(right)
    if isinstance(left, PlainMap):
        return isinstance(right, MapValue) and left.equals(right)
    if isinstance(left, MapValue):
        if not isinstance(right, MapValue):
            raise no_overload()
        return left.equals(right)
    if isinstance(left, Opaque):
        if not isinstance(right, Opaque) or left.kind != right.kind:
            raise no_overload()
        return left.equals(right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.present != right.present:
            return False
        return not left.present or equal(left.value, right.value)
    if isinstance(left, Type) and isinstance(right, Type):
        return left.runtime_name == right.runtime_name
    return type(left) is type(right) and bool(left == right)


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1 if ``left`` is less than, equal to or greater than ``right``. Raises EvaluationError for types without
    an order.
    """
    if _number(left) and _number(right):
        order = _ordered(left, right)
        if order is None:
            raise EvaluationError("NaN values cannot be ordered")
        return order
    if type(left) is not type(right) or not isinstance(left, (str, bytes, bool, Duration, Timestamp)):
        raise no_overload()
    return int(left > right) - int(left < right)


def contains(container: Value, item: Value) -> bool:
    """Whether ``item in container``. Raises EvaluationError if the container is neither a list nor a map, or if no
    element equals ``item`` and at least one can't be compared with it.
    """
    if isinstance(container, MapValue):
        return container.find(item) is not MISSING
    if not isinstance(container, LISTS):
        raise no_overload()
    problem: EvaluationError | None = None
    for element in container:
        try:
            if equal(element, item):
                return True
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return False


def size(value: Value) -> int:
    """The number of characters, bytes, elements or entries; for an `Opaque`, its size when costs are counted; 1 for
    types without a size.
    """
    if isinstance(value, (str, bytes, list, ListValue, MapValue)):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size(value.value)
    return value.size if isinstance(value, Opaque) else 1


def show(value: Value) -> str:
    """A value in the form used in messages."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, LISTS):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, MapValue):
        return "{" + ", ".join(f"{show(key)}: {show(value.find(key))}" for key in value) + "}"
    if isinstance(value, Type):
        return value.runtime_name
    if isinstance(value, Optional):
        return f"optional({show(value.value)})" if value.present else "optional.none()"
    return str(value)
