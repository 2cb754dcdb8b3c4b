"""A watch that lags over the user's next step catches up within an hour, however long that step is."""

from __future__ import annotations

import asyncio

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.simulation import Plan, Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.trace.result import Options

HOUR = 3600.0


@pytest.mark.parametrize(("waits", "late"), [(1800.0, 1800.0), (86_400.0, HOUR)])
def test_a_lag_over_the_users_step_ends_with_it_or_after_an_hour(waits: float, late: float) -> None:
    reconciles: list[tuple[int, float]] = []

    async def reconcile(app: App, ctx: sp.Context) -> None:
        reconciles.append((app.spec.size, asyncio.get_running_loop().time()))

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for size in (2, 3):
            await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
            await cluster.settle()
        await asyncio.sleep(waits)

    plan = Plan((fault("lag", "MODIFIED apps.test.example.com default/one #2", until="step"),))
    setup = Setup(scenario=scenario, factory=lambda: [sp.Controller(App, reconcile)])
    result = run_in_process(setup, plan, Options(quiet=False))
    assert result.injected == [0]
    seen = dict(reversed(reconciles))
    assert seen[3] - seen[2] == pytest.approx(late, abs=1.0)
