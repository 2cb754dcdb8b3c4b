"""Evaluation of a checked expression, which is turned into nested Python functions that count their costs.

Costs are counted as in API servers: one for each name and field that is read, and for each call an amount that depends
on the sizes of its arguments (see `runtime_cost`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from setpoint.cel.access import field_of, has_field
from setpoint.cel.calls import SPECIAL, dispatched, is_known, known_call, otherwise, otherwise_value
from setpoint.cel.checker import Checked
from setpoint.cel.errors import CostExceeded, EvaluationError
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
from setpoint.cel.state import State, Step, constant, local, value_or_error, variable
from setpoint.cel.types import Type
from setpoint.cel.values import LISTS, MISSING, MapValue, Optional, PlainMap, Value, no_overload, show, type_of_value
from setpoint.regexp import PatternError, compile_pattern

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_PATTERNS: Final = frozenset({"find", "findAll", "matches"})
StructMaker = Callable[[str, dict[str, Value]], Value]


class Result:
    """The result of an evaluation: a value or an error, and the cost."""

    __slots__ = ("cost", "error", "value")

    def __init__(self, value: Value, error: EvaluationError | CostExceeded | None, cost: int) -> None:
        self.value = value
        self.error = error
        self.cost = cost


class Program:
    """A checked expression that can be evaluated any number of times.

    ``structs`` makes the values of struct literals (``Type{field: value}``). Raises EvaluationError if the expression
    has such a literal but ``structs`` is None, if the conversion of a constant fails, as in ``int("x")``, or if a
    constant pattern is invalid.
    """

    def __init__(self, checked: Checked, structs: StructMaker | None = None) -> None:
        builder = _Builder(checked, structs)
        self._run = builder.step(checked.root)
        self._slots = builder.slots
        self._variables = builder.variables

    def evaluate(self, variables: Mapping[str, Value], limit: int) -> Result:
        """The result with these variables (values or `Lazy`). An evaluation that costs more than ``limit`` is stopped,
        and the error of its result is a CostExceeded.
        """
        state = State(self._slots, limit)
        try:
            return Result(self.run(variables, state), None, state.cost)
        except (EvaluationError, CostExceeded) as error:
            return Result(None, error, state.cost)
        except RecursionError:
            return Result(None, EvaluationError("evaluation is nested too deeply"), state.cost)

    def within(self, variables: Mapping[str, Value], state: State) -> Value:
        """Evaluates the expression as part of another evaluation and returns the value. The cost is added to ``state``,
        which belongs to the other evaluation. Raises EvaluationError or CostExceeded.
        """
        inner = State(self._slots, state.limit)
        inner.cost = state.cost
        try:
            return self.run(variables, inner)
        finally:
            state.cost = inner.cost

    def run(self, variables: Mapping[str, Value], state: State) -> Value:
        """Evaluates the expression, adds its cost to ``state`` and returns the value; for this package only."""
        slots = state.slots
        for name, slot in self._variables.items():
            slots[slot] = variables.get(name, MISSING)
        return self._run(state)


class _Builder:
    def __init__(self, checked: Checked, structs: StructMaker | None) -> None:
        self._checked = checked
        self._structs = structs
        self._scopes: list[dict[str, int]] = []
        self.variables: dict[str, int] = {}
        self.slots = 0

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def step(self, node: Node) -> Step:
        match node:
            case Literal():
                return constant(node.value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case StructLiteral():
                return self._struct(node)
            case Comprehension():
                return self._binding(node) if node.is_binding else self._comprehension(node)

    # -- names and fields ---------------------------------------------------------------------------------------------

    def _ident(self, node: Ident) -> Step:
        kind = self._checked.names.get(node.id)
        if kind is not None:
            return constant(Type(kind.kind, kind.name))
        for scope in reversed(self._scopes):
            if node.name in scope:
                return local(scope[node.name])
        name = node.name.removeprefix(".")
        slot = self.variables.get(name)
        if slot is None:
            slot = self.variables[name] = self._slot()
        return variable(slot, name)

    def _select(self, node: Select) -> Step:
        operand = self.step(node.operand)
        name = node.field
        if node.test:
            return lambda state: has_field(operand(state), name)

        def select(state: State) -> Value:
            value = operand(state)
            state.cost += 1
            return field_of(value, name)

        return select

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Step:
        nodes = node.arguments if node.target is None else [node.target, *node.arguments]
        steps = [self.step(argument) for argument in nodes]
        special = SPECIAL.get(node.function)
        if special is not None:
            return special(steps)
        overloads = self._checked.overloads[node.id]
        if node.function in ("or", "orValue") and overloads[0].implementation is None:
            return otherwise_value(steps) if node.function == "orValue" else otherwise(steps)
        is_known_overload = len(overloads) == 1 and all(
            is_known(self._checked.types[argument.id]) for argument in nodes
        )
        call = known_call(overloads[0], steps) if is_known_overload else dispatched(overloads, steps)
        if node.function in _PATTERNS and isinstance(nodes[1], Literal) and isinstance(nodes[1].value, str):
            _check_pattern(nodes[1].value)
        if node.function in _CONVERSIONS and isinstance(nodes[0], Literal) and len(nodes) == 1:
            return constant(call(State(0, sys.maxsize)))  # free, as on API servers, which convert it when they compile
        return call

    # -- literals -----------------------------------------------------------------------------------------------------

    def _list(self, node: ListLiteral) -> Step:
        if all(isinstance(item, Literal) for item in node.items) and not node.optional:
            return constant([item.value for item in node.items if isinstance(item, Literal)])
        steps = [(self.step(item), index in node.optional) for index, item in enumerate(node.items)]

        def make(state: State) -> Value:
            items: list[Value] = []
            for step, optional in steps:
                value = step(state)
                if optional:
                    if not isinstance(value, Optional):
                        text = f"cannot initialize optional list element from non-optional value {show(value)}"
                        raise EvaluationError(text)
                    if value.present:
                        items.append(value.value)
                else:
                    items.append(value)
            state.spend(LIST_COST)
            return items

        return make

    def _map(self, node: MapLiteral) -> Step:
        steps = [(self.step(entry.key), self.step(entry.value), entry.optional) for entry in node.entries]
        simple = all(isinstance(entry.key, Literal) and isinstance(entry.value, Literal) for entry in node.entries)

        def make(state: State) -> Value:
            plain_map = PlainMap()
            for key_step, value_step, optional in steps:
                key, value = key_step(state), value_step(state)
                if optional:
                    if not isinstance(value, Optional):
                        text = f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}"
                        raise EvaluationError(text)
                    if not value.present:
                        plain_map.drop(key)
                        continue
                    value = value.value
                plain_map.put(key, value)
            if not simple:
                state.spend(MAP_COST)
            return plain_map

        return make

    def _struct(self, node: StructLiteral) -> Step:
        steps = [(entry.key, self.step(entry.value), entry.optional) for entry in node.entries]
        structs, name = self._structs, node.name
        if structs is None:
            raise EvaluationError(f"unknown type: {name}")

        def make(state: State) -> Value:
            fields: dict[str, Value] = {}
            for key, step, optional in steps:
                value = step(state)
                if optional:
                    if not isinstance(value, Optional):
                        text = f"cannot initialize optional entry '{key}' from non-optional value {show(value)}"
                        raise EvaluationError(text)
                    if not value.present:
                        continue
                    value = value.value
                fields[key] = value
            state.spend(STRUCT_COST)
            return structs(name, fields)

        return make

    # -- comprehensions -----------------------------------------------------------------------------------------------

    def _binding(self, node: Comprehension) -> Step:
        start = self.step(node.start)
        slot = self._slot()
        self._scopes.append({node.accumulator: slot})
        result = self.step(node.result)
        self._scopes.pop()

        def bind(state: State) -> Value:
            state.slots[slot] = value_or_error(start, state)
            return result(state)

        return bind

    def _comprehension(self, node: Comprehension) -> Step:
        range_, start = self.step(node.range), self.step(node.start)
        collected, first = self._slot(), self._slot()
        second = self._slot() if node.variable2 else None
        self._scopes.append({node.accumulator: collected})
        self._scopes.append({node.variable: first} | ({node.variable2: second} if second is not None else {}))
        condition = None if isinstance(node.condition, Literal) else self.step(node.condition)
        appended = self._appended(node)
        step = self.step(node.step) if appended is None else None
        self._scopes.pop()
        result = self.step(node.result)
        self._scopes.pop()

        def loop(state: State) -> Value:
            pairs = _pairs(range_(state), two=second is not None)
            slots = state.slots
            slots[collected] = [] if appended is not None else start(state)
            for key, value in pairs:
                slots[first] = key
                if second is not None:
                    slots[second] = value
                if appended is not None:
                    appended(state, slots[collected])
                    continue
                assert step is not None
                if condition is None:
                    slots[collected] = step(state)
                elif not condition(state):
                    break
                else:
                    slots[collected] = value_or_error(step, state)
            return result(state)

        return loop

    def _appended(self, node: Comprehension) -> Callable[[State, list[Value]], None] | None:
        """A function that appends the item of one round of a loop to the list that the loop builds, so the list is not
        copied in each round; None for a loop that does not build a list.
        """
        if not isinstance(node.start, ListLiteral) or node.start.items or not isinstance(node.condition, Literal):
            return None
        more, wanted = node.step, None
        if isinstance(more, Call) and more.function == "_?_:_":
            wanted = self.step(more.arguments[0])
            more = more.arguments[1]
        match more:
            case Call(function="_+_", arguments=[Ident(name=name), ListLiteral(items=[item])]) if name == ACCUMULATOR:
                append_step = self.step(item)
            case _:
                return None

        def append(state: State, result: list[Value]) -> None:
            if wanted is not None:
                keep = wanted(state)
                if not isinstance(keep, bool):
                    raise no_overload()
                if not keep:
                    state.spend(1)
                    return
            result.append(append_step(state))
            state.spend(LIST_COST + 2)

        return append


def _check_pattern(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as problem:
        raise EvaluationError(str(problem)) from None


def _pairs(value: Value, *, two: bool) -> Iterator[tuple[Value, Value]]:
    if isinstance(value, LISTS):
        return enumerate(value) if two else ((item, None) for item in value)
    if isinstance(value, MapValue):
        return ((key, value.find(key)) for key in value) if two else ((key, None) for key in value)
    raise EvaluationError(f"got '{type_of_value(value).runtime_name}', expected iterable type")
