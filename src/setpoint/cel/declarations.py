"""The names that an expression may use: functions with their overloads, variables and types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

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
    FieldProvider,
    Type,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
)
from setpoint.cel.values import LISTS, MapValue, Opaque, Optional, UInt, Value

Implementation = Callable[..., Any]


class Overload(msgspec.Struct, frozen=True):
    """One signature of a function; with ``member``, the first argument is the receiver."""

    function: str
    id: str
    arguments: tuple[Type, ...]
    result: Type
    implementation: Implementation | None
    """The function that computes the result; None if the evaluator implements the function itself."""
    member: bool = False

    @property
    def parameters(self) -> frozenset[Type]:
        kinds: set[Type] = set()
        for kind in (*self.arguments, self.result):
            _collect(kind, kinds)
        return frozenset(kinds)


def _collect(kind: Type, kinds: set[Type]) -> None:
    if kind.kind == "parameter":
        kinds.add(kind)
    for part in kind.parameters:
        _collect(part, kinds)


def function(name: str, id: str, arguments: Iterable[Type], result: Type, implementation: Implementation | None) -> Overload:  # fmt: skip  # noqa: E501
    """The overload of a function: ``name(arguments)``."""
    return Overload(name, id, tuple(arguments), result, implementation)


def method(name: str, id: str, arguments: Iterable[Type], result: Type, implementation: Implementation | None) -> Overload:  # fmt: skip  # noqa: E501
    """The overload of a method: ``first.name(other arguments)``."""
    return Overload(name, id, tuple(arguments), result, implementation, member=True)


class Library(msgspec.Struct, frozen=True):
    """A library: a set of related functions and types."""

    overloads: tuple[Overload, ...]
    types: Mapping[str, Type] = msgspec.field(default_factory=dict)
    """The types that expressions can name."""


class NoFields:
    """A field provider without struct types."""

    def field(self, struct: str, name: str) -> Type | None:
        raise KeyError(struct)

    def named(self, name: str) -> Type | None:
        return None


_A, _B = parameter("A"), parameter("B")
_TYPE_NAMES: Final[dict[str, Type]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(_A),
    "map": map_of(_A, _B),
    "null_type": NULL,
    "optional_type": optional_of(_A),
    "string": STRING,
    "type": TYPE,
    "uint": UINT,
}


class Environment:
    """The declarations against which expressions are checked. It is immutable; `extend` returns a new
    one.
    """

    __slots__ = ("functions", "provider", "types", "variables")

    def __init__(
        self,
        libraries: Iterable[Library] = (),
        variables: Mapping[str, Type] | None = None,
        provider: FieldProvider | None = None,
    ) -> None:
        self.functions: dict[str, list[Overload]] = {}
        self.types: dict[str, Type] = dict(_TYPE_NAMES)
        self.variables: dict[str, Type] = dict(variables or {})
        self.provider: FieldProvider = provider or NoFields()
        for library in libraries:
            self.types |= library.types
            for overload in library.overloads:
                self.functions.setdefault(overload.function, []).append(overload)

    def extend(
        self,
        variables: Mapping[str, Type] | None = None,
        provider: FieldProvider | None = None,
        libraries: Iterable[Library] = (),
    ) -> Environment:
        """The environment with more declarations. A given ``provider`` replaces the old one."""
        environment = Environment(libraries)
        for name, overloads in self.functions.items():
            environment.functions[name] = overloads + environment.functions.get(name, [])
        environment.types |= self.types
        environment.variables = self.variables | dict(variables or {})
        environment.provider = provider or self.provider
        return environment

    def name(self, name: str) -> tuple[Type, bool] | None:
        """The type of ``name`` in an expression, and whether ``name`` stands for a type rather than a variable; None if
        the name is unknown.
        """
        name = name.removeprefix(".")
        if name in self.variables:
            return self.variables[name], False
        kind = self.types.get(name) or self.provider.named(name)
        return None if kind is None else (type_of(kind), True)


_CHECKS: Final[dict[str, Callable[[Value], bool]]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "uint": lambda value: isinstance(value, UInt),
    "double": lambda value: isinstance(value, float),
    "string": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, bytes),
    "null": lambda value: value is None,
    "list": lambda value: isinstance(value, LISTS),
    "map": lambda value: isinstance(value, MapValue),
    "type": lambda value: isinstance(value, Type),
}


def accepts(kind: Type, value: Value) -> bool:
    """Whether a value can be an argument of this type; type parameters and element types are not checked."""
    check = _CHECKS.get(kind.kind)
    if check is not None:
        return check(value)
    if kind.kind in ("parameter", "dyn", "any"):
        return True
    if kind.kind in ("duration", "timestamp"):
        return type(value).__name__.lower() == kind.kind
    if kind.kind == "opaque" and kind.name == "optional_type":
        return isinstance(value, Optional)
    if isinstance(value, Opaque):
        return value.kind.name == kind.name
    return kind.kind == "struct" and isinstance(value, MapValue)
