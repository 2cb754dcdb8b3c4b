"""One admission expression: compiled once, evaluated for every matching request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from setpoint.cel.admission.patches import PatchTypes
from setpoint.cel.declarations import Environment
from setpoint.cel.errors import CompileError, CostExceeded, EvaluationError
from setpoint.cel.expression import compile_expression
from setpoint.cel.program import Program
from setpoint.cel.types import ANY, Type
from setpoint.cel.values import MISSING, MapValue, Value

CALL_LIMIT: Final = 1_000_000
"""The cost limit of one evaluation."""
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class BudgetSpent(Exception):
    """The cost budget for all evaluations together is used up."""

    def __init__(self) -> None:
        super().__init__(_SPENT)


class Expression(msgspec.Struct, frozen=True):
    """The result of compiling an expression: its ``program``, or None and the ``error``."""

    text: str
    program: Program | None
    error: str
    type: Type | None
    internal: bool = False
    """Whether the error came from building the program, not from compiling the text."""


def compile_admission(text: str, environment: Environment, types: Sequence[Type]) -> Expression:
    """Compiles the expression, whose value must have one of ``types`` (ANY allows every type). Errors are not raised;
    the result contains them.
    """
    try:
        checked = compile_expression(text, environment)
    except CompileError as problem:
        return Expression(text, None, f"compilation failed: {problem}", None)
    if ANY not in types and checked.type not in types:
        wanted = str(types[0]) if len(types) == 1 else f"one of [{' '.join(map(_type_text, types))}]"
        return Expression(text, None, f"must evaluate to {wanted} but got {_type_text(checked.type)}", None)
    try:
        program = Program(checked, PatchTypes().make)
    except EvaluationError as problem:
        return Expression(text, None, f"program instantiation failed: {problem}", None, internal=True)
    return Expression(text, program, "", checked.type)


def _type_text(kind: Type) -> str:
    return kind.runtime_name if not kind.parameters else str(kind)


class Evaluation(msgspec.Struct):
    """The state of the evaluations for one request: the variables and the remaining cost budget."""

    values: Mapping[str, Value]
    budget: int
    variables: Variables | None = None

    def evaluate(self, expression: Expression) -> tuple[Value, str]:
        """The value of the expression and ``""``, or None and an error message. Raises BudgetSpent if the evaluation
        costs more than the remaining budget.
        """
        if expression.program is None:
            return None, f"compilation error: {expression.error}"
        values = self.values if self.variables is None else {**self.values, "variables": self.variables}
        result = expression.program.evaluate(values, CALL_LIMIT)
        self._pay(result.cost + (self.variables.cost() if self.variables is not None else 0))
        if result.error is not None:
            return None, f"expression '{expression.text}' resulted in error: {result.error}"
        return result.value, ""

    def _pay(self, cost: int) -> None:
        if cost > self.budget:
            raise BudgetSpent
        self.budget -= cost


@dataclass(slots=True, eq=False)
class Variables(MapValue):
    """The value of ``variables``; each entry is evaluated when it is first read."""

    expressions: Mapping[str, Expression]
    values: Mapping[str, Value]
    _values: dict[str, Value | EvaluationError] = field(default_factory=dict)
    _cost: int = 0

    def cost(self) -> int:
        """The cost of the evaluations since this method was last called."""
        cost, self._cost = self._cost, 0
        return cost

    def __len__(self) -> int:
        return len(self.expressions)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.expressions)

    def find(self, key: Value) -> Value:
        if not isinstance(key, str) or key not in self.expressions:
            return MISSING
        if key not in self._values:
            self._values[key] = self._evaluate(key)
        value = self._values[key]
        if isinstance(value, EvaluationError):
            raise value
        return value

    def _evaluate(self, name: str) -> Any:
        expression = self.expressions[name]
        if expression.program is None:
            return EvaluationError(f'composited variable "{name}" fails to compile: {expression.error}')
        result = expression.program.evaluate({**self.values, "variables": self}, CALL_LIMIT)
        self._cost += result.cost
        if isinstance(result.error, (EvaluationError, CostExceeded)):
            return EvaluationError(f'composited variable "{name}" fails to evaluate: {result.error}')
        return result.value
