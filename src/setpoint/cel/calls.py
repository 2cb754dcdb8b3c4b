"""Evaluates calls of functions and operators. A function receives the values of its arguments; an operator such as
``&&`` evaluates its arguments itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.cel.access import field_of_optional, index_of, index_of_optional
from setpoint.cel.declarations import Overload, accepts
from setpoint.cel.errors import EvaluationError
from setpoint.cel.runtime_cost import call_cost
from setpoint.cel.state import State, Step
from setpoint.cel.types import Type
from setpoint.cel.values import Optional, Value, equal, no_overload, type_of_value


def _all_of(steps: list[Step]) -> Step:
    def check(state: State) -> Value:
        problem: EvaluationError | None = None
        for step in steps:
            try:
                value = step(state)
                if value is False:
                    return False
                if value is not True:
                    raise no_overload()
            except EvaluationError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return True

    return check


def _any_of(steps: list[Step]) -> Step:
    def check(state: State) -> Value:
        problem: EvaluationError | None = None
        for step in steps:
            try:
                value = step(state)
                if value is True:
                    return True
                if value is not False:
                    raise no_overload()
            except EvaluationError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return False

    return check


def _negated(steps: list[Step]) -> Step:
    (operand,) = steps

    def negate(state: State) -> Value:
        value = operand(state)
        state.spend(1)
        if not isinstance(value, bool):
            raise no_overload()
        return not value

    return negate


def _not_strictly_false(steps: list[Step]) -> Step:
    (operand,) = steps

    def check(state: State) -> Value:
        state.spend(1)
        try:
            return operand(state) is not False
        except EvaluationError:
            return True

    return check


def _conditional(steps: list[Step]) -> Step:
    condition, yes, no = steps

    def choose(state: State) -> Value:
        value = condition(state)
        if not isinstance(value, bool):
            raise no_overload()
        return yes(state) if value else no(state)

    return choose


def _equality(wanted: bool) -> Callable[[list[Step]], Step]:
    def build(steps: list[Step]) -> Step:
        left, right = steps

        def compare(state: State) -> Value:
            first, second = left(state), right(state)
            state.spend(call_cost("_==_" if wanted else "_!=_", "equals", (first, second), wanted))
            return equal(first, second) is wanted

        return compare

    return build


def _pairwise(read: Callable[[Value, Value], Value]) -> Callable[[list[Step]], Step]:
    def build(steps: list[Step]) -> Step:
        operand, key = steps

        def get(state: State) -> Value:
            value = operand(state)
            state.spend(1)
            return read(value, key(state))

        return get

    return build


def otherwise(steps: list[Step]) -> Step:
    """A step that evaluates ``one.or(two)``."""
    left, right = steps

    def choose(state: State) -> Value:
        value = left(state)
        if not isinstance(value, Optional):
            raise no_overload()
        return value if value.present else right(state)

    return choose


def otherwise_value(steps: list[Step]) -> Step:
    """A step that evaluates ``one.orValue(two)``."""
    left, right = steps

    def choose(state: State) -> Value:
        value = left(state)
        if not isinstance(value, Optional):
            raise no_overload()
        return value.value if value.present else right(state)

    return choose


SPECIAL: Final[dict[str, Callable[[list[Step]], Step]]] = {
    "!_": _negated,
    "@not_strictly_false": _not_strictly_false,
    "_!=_": _equality(wanted=False),
    "_&&_": _all_of,
    "_==_": _equality(wanted=True),
    "_?._": _pairwise(field_of_optional),
    "_?_:_": _conditional,
    "_[?_]": _pairwise(index_of_optional),
    "_[_]": _pairwise(index_of),
    "_||_": _any_of,
}


# -- functions --------------------------------------------------------------------------------------------------------


def is_known(kind: Type) -> bool:
    """Whether a type is fully known before evaluation."""
    return kind.kind not in ("dyn", "any", "parameter") and all(map(is_known, kind.parameters))


def known_call(overload: Overload, steps: list[Step]) -> Step:
    function, id_, implementation = overload.function, overload.id, overload.implementation
    assert implementation is not None

    def call(state: State) -> Value:
        arguments = [step(state) for step in steps]
        result = implementation(*arguments)
        state.spend(call_cost(function, id_, arguments, result))
        return result

    return call


def dispatched(overloads: list[Overload], steps: list[Step]) -> Step:
    """A step that makes a call whose overload depends on the values."""
    function = overloads[0].function

    def call(state: State) -> Value:
        arguments = [step(state) for step in steps]
        for overload in overloads:
            if all(map(accepts, overload.arguments, arguments)):
                assert overload.implementation is not None
                result = overload.implementation(*arguments)
                state.spend(call_cost(function, overload.id, arguments, result))
                return result
        if function[0] == "_" or function in ("-_", "@in"):
            raise no_overload()
        names = ", ".join(type_of_value(argument).runtime_name for argument in arguments)
        raise EvaluationError(f"no such overload: {function}({names})")

    return call
