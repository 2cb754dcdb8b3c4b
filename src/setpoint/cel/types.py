"""The types of CEL, and the resolution of type parameters.

Types are immutable values compared with ``==``. A schema's objects have struct types, whose fields a `FieldProvider`
returns by the type's name.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec


class Type(msgspec.Struct, frozen=True):
    """A type. ``kind`` is ``int``, ``list``, ``struct`` and so on; ``name`` distinguishes structs, opaque types and
    type parameters; ``parameters`` are the types of the contents.
    """

    kind: str
    name: str = ""
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind in ("struct", "opaque", "parameter"):
            text = self.name
        else:
            text = {"null": "null", "error": "!error!"}.get(self.kind, self.kind)
        return f"{text}({', '.join(map(str, self.parameters))})" if self.parameters else text

    @property
    def runtime_name(self) -> str:
        return _RUNTIME_NAMES.get(self.kind, self.name or self.kind)


BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null")
DURATION: Final = Type("duration")
TIMESTAMP: Final = Type("timestamp")
DYN: Final = Type("dyn")
ANY: Final = Type("any")
ERROR: Final = Type("error")
TYPE: Final = Type("type")

_RUNTIME_NAMES: Final = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_LOOSE: Final = frozenset({"dyn", "any", "error"})
_NULLABLE: Final = frozenset({"opaque", "struct", "any", "duration", "timestamp"})


def list_of(item: Type) -> Type:
    return Type("list", "", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", "", (value,))


def struct(name: str) -> Type:
    """The type of objects with declared fields."""
    return Type("struct", name)


def parameter(name: str) -> Type:
    return Type("parameter", name)


def is_dyn(kind: Type) -> bool:
    """Whether the type is known only when the expression is evaluated."""
    return kind.kind in ("dyn", "any")


def unwrapped(kind: Type) -> tuple[Type, bool]:
    """The type inside an optional and True; for any other type, the type itself and False."""
    if kind.kind == "opaque" and kind.name == "optional_type":
        return kind.parameters[0], True
    return kind, False


class FieldProvider(Protocol):
    """A source of struct types and their fields."""

    def field(self, struct: str, name: str) -> Type | None:
        """The field's type; None if there is no such field. Raises KeyError for an unknown struct."""
        ...

    def named(self, name: str) -> Type | None:
        """The type that has this name in expressions; None if there is none."""
        ...


class Solution:
    """The known values of type parameters. A failed `assignable` leaves them unchanged."""

    __slots__ = ("_bindings",)

    def __init__(self) -> None:
        self._bindings: dict[Type, Type] = {}

    def add(self, unknown: Type, kind: Type) -> None:
        self._bindings[unknown] = kind

    def assignable(self, targets: tuple[Type, ...], values: tuple[Type, ...]) -> bool:
        """Whether each type in ``values`` is assignable to its counterpart in ``targets``. If so, type parameters stay
        bound to the types that make this possible.
        """
        before = dict(self._bindings)
        if len(targets) == len(values) and all(map(self._fits, targets, values)):
            return True
        self._bindings = before
        return False

    def substitute(self, kind: Type, *, free_to_dyn: bool = False) -> Type:
        """``kind`` with known parameters substituted; unknown parameters stay, or become dyn with ``free_to_dyn``."""
        binding = self._bindings.get(kind)
        if binding is not None:
            return self.substitute(binding, free_to_dyn=free_to_dyn)
        if kind.kind == "parameter":
            return DYN if free_to_dyn else kind
        if not kind.parameters:
            return kind
        inner = tuple(self.substitute(part, free_to_dyn=free_to_dyn) for part in kind.parameters)
        return kind if inner == kind.parameters else Type(kind.kind, kind.name, inner)

    def _fits(self, left: Type, right: Type) -> bool:
        if right.kind == "parameter":
            valid, was_bound = self._try(left, right)
            if valid or was_bound:
                return valid
        if left.kind == "parameter":
            return self._try(right, left)[0]
        if left.kind in _LOOSE or right.kind in _LOOSE:
            return True
        if left.kind == "null" or right.kind == "null":
            other = right if left.kind == "null" else left
            return other.kind in _NULLABLE or other.kind == "null"
        if left.kind != right.kind:
            return False
        if left.kind == "type":
            return True
        if left.name != right.name or len(left.parameters) != len(right.parameters):
            return False
        return all(map(self._fits, left.parameters, right.parameters))

    def _try(self, kind: Type, unknown: Type) -> tuple[bool, bool]:
        """Whether ``unknown`` can be bound to ``kind``, and whether it was already bound."""
        if kind == unknown:
            return True, True
        binding = self._bindings.get(unknown)
        if binding is not None:
            if kind == binding:
                return True, True
            if self._fits(kind, binding):
                general = more_general(kind, binding)
                if not self._refers(unknown, general):
                    self._bindings[unknown] = general
                return True, True
            return False, True
        if not self._refers(unknown, kind):
            self._bindings[unknown] = kind
            return True, False
        return False, False

    def _refers(self, unknown: Type, within: Type) -> bool:
        if unknown == within:
            return True
        if within.kind == "parameter":
            binding = self._bindings.get(within)
            return binding is not None and self._refers(unknown, binding)
        return any(self._refers(unknown, part) for part in within.parameters)


def more_general(left: Type, right: Type) -> Type:
    return left if _less_specific(left, right) else right


def _less_specific(left: Type, right: Type) -> bool:
    if is_dyn(left) or left.kind == "parameter":
        return True
    if is_dyn(right) or right.kind == "parameter" or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.parameters:
        same = left.name == right.name and len(left.parameters) == len(right.parameters)
        return same and all(map(_less_specific, left.parameters, right.parameters))
    return left == right
