"""A scenario that can't be run, or that fails, is told with what is wrong and where."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, check


async def nothing(_app: App, _ctx: sp.Context) -> None:
    """There is nothing to do."""


def controllers() -> list[sp.Controller[App]]:
    return [sp.Controller(App, nothing)]


async def takes_nothing() -> None:
    """A scenario that forgot its cluster."""


def only_a_function(_cluster: sp.testing.Cluster) -> None:
    """A scenario that forgot its ``async``."""


async def raises(_cluster: sp.testing.Cluster) -> None:
    raise ValueError("no such thing")


async def never_true(cluster: sp.testing.Cluster) -> None:
    await cluster.until(lambda: False)


def test_a_scenario_that_takes_no_cluster_is_refused_before_anything_runs() -> None:
    with pytest.raises(TypeError, match=r"takes_nothing is not a scenario .*: write async def scenario\(cluster\)"):
        check(takes_nothing, controllers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (only_a_function, r"the scenario is not a coroutine function: write async def scenario\(cluster\)"),
        (raises, r"the scenario raised ValueError: no such thing \(.*test_scenarios\.py:\d+\)"),
        (never_true, r"the condition that the scenario waits for did not become true: .* \(.*test_scenarios\.py:\d+\)"),
    ],
)
def test_a_scenario_that_fails_is_told_with_the_line_of_the_user(scenario: Any, message: str) -> None:
    with pytest.raises(Counterexample, match=message) as raised:
        check(scenario, controllers, budget=Budget(runs=4), workers=1)
    assert [finding.oracle for finding in raised.value.findings] == ["scenario"]
