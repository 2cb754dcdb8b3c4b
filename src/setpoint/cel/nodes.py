"""The syntax tree of an expression. The checker and the cost estimate store their results by the ``id``
of each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

ACCUMULATOR = "@result"
"""The variable that collects a comprehension's result; the text of an expression can't contain it."""


@dataclass(slots=True, eq=False)
class _Base:
    id: int
    offset: int


@dataclass(slots=True, eq=False)
class Literal(_Base):
    """A constant."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(_Base):
    """An identifier."""

    name: str


@dataclass(slots=True, eq=False)
class Select(_Base):
    """A field selection, ``operand.field``; with ``test``, ``has(operand.field)``."""

    operand: Node
    field: str
    test: bool = False


@dataclass(slots=True, eq=False)
class Call(_Base):
    """A call of a function or operator (``_+_``); ``target`` is the receiver before the dot."""

    function: str
    target: Node | None
    arguments: list[Node]


@dataclass(slots=True, eq=False)
class ListLiteral(_Base):
    """A list literal, ``[a, ?b]``; ``optional`` contains the indexes of the elements with a question mark."""

    items: list[Node]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class Entry(_Base):
    """One entry of a map (``key`` is a node) or a struct (``key`` is a field's name)."""

    key: Any
    value: Node
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral(_Base):
    """A map literal, ``{k: v, ?k: v}``."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class StructLiteral(_Base):
    """A struct literal, ``Type{field: value}``."""

    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Comprehension(_Base):
    """A loop made by a macro: for each ``variable`` (and ``variable2``) in ``range``, while ``condition`` holds,
    ``step`` is the new value of ``accumulator``, which begins as ``start``; the value of the loop is ``result``.
    """

    range: Node
    variable: str
    variable2: str
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node

    @property
    def is_binding(self) -> bool:
        """Whether the comprehension only binds a name to a value and does not loop."""
        return (
            isinstance(self.range, ListLiteral)
            and not self.range.items
            and isinstance(self.condition, Literal)
            and self.condition.value is False
            and self.accumulator != ACCUMULATOR
        )


Node: TypeAlias = Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension


def children(node: Node) -> list[Node]:
    """The direct children of a node."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return ([node.target] if node.target is not None else []) + node.arguments
        case ListLiteral():
            return node.items
        case MapLiteral():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case StructLiteral():
            return [entry.value for entry in node.entries]
        case Comprehension():
            return [node.range, node.start, node.condition, node.step, node.result]
        case _:
            return []


def walk(node: Node) -> list[Node]:
    """The node and all its descendants, parents first."""
    nodes = [node]
    for child in children(node):
        nodes += walk(child)
    return nodes
