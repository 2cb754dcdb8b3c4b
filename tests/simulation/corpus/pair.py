"""Pair: a controller with a bug that was seen in production, and its twin, which does the same without the bug."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import setpoint as sp
from setpoint.simulation import Budget, Report, check

Scenario = Callable[[sp.testing.Cluster], Any]
Factory = Callable[[], list[sp.Controller[Any]]]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """``root`` is the root cause's number in the catalogue of published bugs, ``source`` where the bug was reported,
    ``options`` are `check`'s."""

    name: str
    root: str
    source: str
    scenario: Scenario
    buggy: Factory
    correct: Factory
    options: Mapping[str, Any] = field(default_factory=dict)

    def check_buggy(self, budget: Budget, **options: Any) -> Report:
        """Raises `Counterexample` if the simulation is worth its money."""
        return check(self.scenario, self.buggy, budget=budget, **{**self.options, **options})

    def check_correct(self, budget: Budget, **options: Any) -> Report:
        """Raises `Counterexample` if the simulation accuses what is right."""
        return check(self.scenario, self.correct, budget=budget, **{**self.options, **options})
