"""Estimates the lowest and the highest cost of an expression from its text and the largest sizes of its
inputs.

The rules are those of API servers, which reject an expression whose highest cost is above a limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from setpoint.cel.call_estimates import ESTIMATES, Operand
from setpoint.cel.checker import Checked
from setpoint.cel.declarations import Overload
from setpoint.cel.nodes import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from setpoint.cel.runtime_cost import LIST_COST, MAP_COST, STRUCT_COST
from setpoint.cel.span import FREE, ONE, UNBOUNDED, Span
from setpoint.cel.types import Type, unwrapped
from setpoint.cel.values import size

Path = tuple[str, ...]
"""The origin of a value: a variable and its fields. ``@items`` and ``@indices`` stand for all items and indexes of a
list, ``@keys`` and ``@values`` for all keys and values of a map.
"""
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def estimate_cost(checked: Checked, sizes: Callable[[Path], Span | None]) -> Span:
    """The lowest and the highest cost of an evaluation. ``sizes`` returns the possible sizes of the value at a path, or
    None if they are not known.
    """
    return _Estimator(checked, sizes).cost(checked.root)


class _Inside(msgspec.Struct):
    """The sizes of the elements of a list or map."""

    container: str
    key: Span
    value: Span

    def either(self, other: _Inside | None) -> _Inside | None:
        if other is None:
            return None
        return _Inside(self.container, self.key.either(other.key), self.value.either(other.value))


class _Local(msgspec.Struct):
    path: Path
    size: Span | None
    inside: _Inside | None = None


class _Estimator:
    def __init__(self, checked: Checked, sizes: Callable[[Path], Span | None]) -> None:
        self._checked = checked
        self._sizes_of = sizes
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Span] = {}
        self._insides: dict[int, _Inside] = {}
        self._locals: dict[str, list[_Local]] = {}

    # -- sizes and origins of nodes -----------------------------------------------------------------------------------

    def _local(self, node: Node) -> _Local | None:
        path = self._locals.get(node.name) if isinstance(node, Ident) else None
        return path[-1] if path else None

    def _path(self, node: Node) -> Path:
        local = self._local(node)
        return local.path if local is not None else self._paths.get(node.id, ())

    def _type(self, node: Node) -> Type:
        return self._checked.types[node.id]

    def _inside(self, node: Node) -> _Inside | None:
        if node.id in self._insides:
            return self._insides[node.id]
        local = self._local(node)
        return local.inside if local is not None else None

    def _size(self, node: Node) -> Span | None:
        if node.id in self._sizes:
            return self._sizes[node.id]
        match node:
            case Literal():
                return Span(size(node.value), size(node.value))
            case ListLiteral():
                return Span(len(node.items), len(node.items))
            case MapLiteral():
                return Span(len(node.entries), len(node.entries))
        path = self._path(node)
        declared_size = self._sizes_of(path) if path else None
        if declared_size is not None:
            self._sizes[node.id] = declared_size
            return declared_size
        if unwrapped(self._type(node))[0].kind in _SCALARS:
            return ONE
        local = self._local(node)
        return local.size if local is not None else None

    def _any_size(self, node: Node) -> Span:
        size = self._size(node)
        return UNBOUNDED if size is None else size

    def _set_size(self, node: Node, size: Span | None) -> None:
        if size is not None:
            self._sizes[node.id] = size

    def _set_inside(self, node: Node, inside: _Inside | None) -> None:
        if inside is not None:
            self._insides[node.id] = inside

    # -- costs --------------------------------------------------------------------------------------------------------

    def cost(self, node: Node) -> Span:
        match node:
            case Literal():
                return FREE
            case Ident():
                local = self._local(node)
                self._paths[node.id] = (node.name,) if local is None else local.path
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case StructLiteral():
                total = Span(STRUCT_COST, STRUCT_COST)
                for entry in node.entries:
                    total = total.plus(self.cost(entry.value))
                return total
            case Comprehension():
                return self._binding(node) if node.is_binding else self._loop(node)

    def _select(self, node: Select) -> Span:
        total = self.cost(node.operand)
        if node.test:
            return total
        self._paths[node.id] = (*self._path(node.operand), node.field)
        kind = self._type(node.operand).kind
        return total.plus(ONE) if kind in ("map", "struct", "parameter") else total

    def _list(self, node: ListLiteral) -> Span:
        total = Span(LIST_COST, LIST_COST)
        item = None
        for part in node.items:
            total = total.plus(self.cost(part))
            size = self._any_size(part)
            item = size if item is None else item.either(size)
        self._insides[node.id] = _Inside("list", ONE, item or FREE)
        return total

    def _map(self, node: MapLiteral) -> Span:
        total = Span(MAP_COST, MAP_COST)
        key = value = None
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            sizes = self._any_size(entry.key), self._any_size(entry.value)
            key = sizes[0] if key is None else key.either(sizes[0])
            value = sizes[1] if value is None else value.either(sizes[1])
        self._insides[node.id] = _Inside("map", key or FREE, value or FREE)
        return total

    def _binding(self, node: Comprehension) -> Span:
        total = self.cost(node.range).plus(self.cost(node.start))
        local = _Local(self._path(node.start), self._size(node.start), self._inside(node.start))
        self._locals.setdefault(node.accumulator, []).append(local)
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        self._set_size(node, self._size(node.result))
        self._set_inside(node, self._inside(node.result))
        return total

    def _loop(self, node: Comprehension) -> Span:
        total = self.cost(node.range).plus(self.cost(node.start))
        collected = _Local(self._path(node.start), self._size(node.start), self._inside(node.start))
        self._locals.setdefault(node.accumulator, []).append(collected)
        variables = self._variables(node)
        for name, local in variables.items():
            self._locals.setdefault(name, []).append(local)
        iteration = self.cost(node.condition).plus(self.cost(node.step))
        for name in variables:
            self._locals[name].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        times = self._any_size(node.range)
        if isinstance(node.start, Literal):
            self._set_size(node, self._size(node.start))
        elif isinstance(node.start, (ListLiteral, MapLiteral)):
            self._sizes[node.id] = times
            self._set_inside(node, self._inside(node.step))
        return total.plus(times.times(iteration))

    def _variables(self, node: Comprehension) -> dict[str, _Local]:
        inside = self._inside(node.range)
        path = self._path(node.range)
        container = inside.container if inside is not None else self._type(node.range).kind
        key = inside.key if inside is not None else None
        value = inside.value if inside is not None else None
        if node.variable2:
            return {
                node.variable: _Local((*path, "@indices" if container == "list" else "@keys"), key),
                node.variable2: _Local((*path, "@items" if container == "list" else "@values"), value),
            }
        if container == "list":
            return {node.variable: _Local((*path, "@items"), value)}
        return {node.variable: _Local((*path, "@keys"), key)}

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Span:
        if node.function == "dyn":
            (argument,) = node.arguments
            total = self.cost(argument).plus(ONE)
            self._set_size(node, self._size(argument))
            self._set_inside(node, self._inside(argument))
            return total
        costs = [self.cost(argument) for argument in node.arguments]
        operands = [self._operand(argument) for argument in node.arguments]
        total = FREE
        target = None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._operand(node.target)
        cost_range: Span | None = None
        result: Span | None = None
        for overload in self._checked.overloads.get(node.id, ()):
            cost, estimated = self._overload(node, overload, target, operands, costs)
            cost_range = cost if cost_range is None else cost_range.either(cost)
            if estimated is not None:
                result = estimated if result is None else result.either(estimated)
            if overload.id in ("index_list", "index_map"):
                inside = self._inside(node.arguments[0])
                result = inside.value if inside is not None else None
                step = "@items" if overload.id == "index_list" else "@values"
                self._paths[node.id] = (*self._path(node.arguments[0]), step)
            if result is None:
                result = self._size(node)
        self._set_size(node, result)
        return total if cost_range is None else total.plus(cost_range)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        return Operand(node, self._type(node), path, self._size(node), self._sizes_of)

    def _overload(
        self, node: Call, overload: Overload, target: Operand | None, operands: list[Operand], costs: list[Span]
    ) -> tuple[Span, Span | None]:
        before = FREE
        for cost in costs:
            before = before.plus(cost)
        estimate = ESTIMATES.get(overload.id) or ESTIMATES.get(f"{node.function}()")
        if estimate is not None:
            estimated = estimate(overload.id, target, operands)
            if estimated is not None:
                return estimated[0].plus(before), estimated[1]
        match overload.id:
            case "logical_or" | "logical_and":
                return Span(costs[0].least, before.most), None
            case "conditional":
                sizes = self._any_size(node.arguments[1]).either(self._any_size(node.arguments[2]))
                inside = self._inside(node.arguments[1])
                self._set_inside(node, inside.either(self._inside(node.arguments[2])) if inside is not None else None)
                return costs[0].plus(costs[1].either(costs[2])), sizes
            case "add_string" | "add_bytes" | "add_list":
                total = operands[0].any_size.plus(operands[1].any_size)
                inside = self._inside(node.arguments[0])
                self._set_inside(node, inside.either(self._inside(node.arguments[1])) if inside is not None else None)
                cost = ONE if overload.id == "add_list" else total.scaled(0.1)
                return cost.plus(before), total
            case _:
                return before.plus(ONE), None
