"""The syntax tree of an expression. The checker and the cost estimate store their results by the ``id``
of each node.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

ACCUMULATOR = "@result"
"""The variable that collects a comprehension's result; the text of an expression can't contain it."""


class _Base(msgspec.Struct, eq=False):
    id: int
    offset: int


class Literal(_Base, eq=False):
    """A constant."""

    value: Any


class Ident(_Base, eq=False):
    """An identifier."""

    name: str


class Select(_Base, eq=False):
    """A field selection, ``operand.field``; with ``test``, ``has(operand.field)``."""

    operand: Node
    field: str
    test: bool = False


class Call(_Base, eq=False):
    """A call of a function or operator (``_+_``); ``target`` is the receiver before the dot."""

    function: str
    target: Node | None
    arguments: list[Node]


class ListLiteral(_Base, eq=False):
    """A list literal, ``[a, ?b]``; ``optional`` contains the indexes of the elements with a question mark."""

    items: list[Node]
    optional: frozenset[int]


class Entry(_Base, eq=False):
    """One entry of a map (``key`` is a node) or a struct (``key`` is a field's name)."""

    key: Any
    value: Node
    optional: bool


class MapLiteral(_Base, eq=False):
    """A map literal, ``{k: v, ?k: v}``."""

    entries: list[Entry]


class StructLiteral(_Base, eq=False):
    """A struct literal, ``Type{field: value}``."""

    name: str
    entries: list[Entry]


class Comprehension(_Base, eq=False):
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
