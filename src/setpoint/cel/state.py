"""The state of one evaluation: variables in slots, and the cost so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from setpoint.cel.errors import CostExceeded, EvaluationError
from setpoint.cel.values import MISSING, Value

Step: TypeAlias = Callable[["State"], Value]
"""One node of an expression, ready to be evaluated."""


class Lazy:
    """A variable whose value is computed, and its cost counted, when it is first read."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[State], Value]) -> None:
        self._make = make
        self._value: Value = MISSING

    def get(self, state: State) -> Value:
        """The value, which the first call computes. If that fails, this call and all later ones raise the same
        EvaluationError.
        """
        if self._value is MISSING:
            try:
                self._value = self._make(state)
            except EvaluationError as error:
                self._value = error
        if isinstance(self._value, EvaluationError):
            raise self._value
        return self._value


class State:
    """The state of one evaluation: slots for variables, the cost and its limit."""

    __slots__ = ("cost", "limit", "slots")

    def __init__(self, slots: int, limit: int) -> None:
        self.slots: list[Any] = [MISSING] * slots
        self.cost = 0
        self.limit = limit

    def spend(self, cost: int) -> None:
        """Adds a cost. Raises CostExceeded if the total exceeds the limit."""
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


def constant(value: Value) -> Step:
    return lambda _: value


def local(slot: int) -> Step:
    """A step that reads a variable of a comprehension."""

    def read(state: State) -> Value:
        state.spend(1)
        value = state.slots[slot]
        if isinstance(value, EvaluationError):
            raise value
        return value

    return read


def variable(slot: int, name: str) -> Step:
    def read(state: State) -> Value:
        state.spend(1)
        value = state.slots[slot]
        if isinstance(value, Lazy):
            return value.get(state)
        if isinstance(value, EvaluationError):
            raise value
        if value is MISSING:
            raise EvaluationError(f"no such attribute(s): {name}")
        return value

    return read


def value_or_error(step: Step, state: State) -> Value:
    """The value of a step, or its EvaluationError, which is raised when the slot that holds it is read."""
    try:
        return step(state)
    except EvaluationError as error:
        return error
