"""Match conditions, which restrict a webhook or policy to some requests, in addition to its rules and selectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from setpoint.cel.admission import BudgetSpent, Evaluation, Expression, admission_environment, compile_admission
from setpoint.cel.declarations import Environment
from setpoint.cel.types import BOOL

CONDITION_LIMIT: Final = 2_500_000
"""The maximum CEL cost of all conditions of one webhook or policy for one request."""


class ConditionFailed(Exception):
    """A match condition can't be evaluated, and the failure policy does not ignore such failures."""


class MatchConditions:
    """Conditions that must all be true. They are compiled when they are first evaluated."""

    __slots__ = ("_documents", "_environment", "_expressions", "_ignores")

    def __init__(
        self, documents: Iterable[dict[str, Any]], *, ignores_failure: bool, environment: Environment | None = None
    ) -> None:
        self._documents = list(documents)
        self._ignores = ignores_failure
        self._environment = environment
        self._expressions: list[Expression] | None = None

    def __bool__(self) -> bool:
        return bool(self._documents)

    def hold(self, evaluation: Evaluation) -> bool:
        """Whether all conditions are true. False if one is false, or if one can't be evaluated and failures are
        ignored.

        Raises ConditionFailed if a condition can't be evaluated and failures are not ignored.
        """
        problems: list[str] = []
        try:
            for expression in self._compiled():
                value, problem = evaluation.evaluate(expression)
                if problem:
                    problems.append(problem)
                elif value is False:
                    return False
        except BudgetSpent as spent:
            problems = [str(spent)]
        if problems and not self._ignores:
            raise ConditionFailed(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return not problems

    def _compiled(self) -> list[Expression]:
        if self._expressions is None:
            environment = self._environment or admission_environment()
            self._expressions = [
                compile_admission(document["expression"], environment, (BOOL,)) for document in self._documents
            ]
        return self._expressions
