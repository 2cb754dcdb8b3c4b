"""Users who go on early do so while the controllers are at work."""

from __future__ import annotations

from tests.simulation.apps import controllers
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.simulation import Plan, Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.trace.result import Options


async def grow(cluster: sp.testing.Cluster) -> None:
    for size in (2, 3):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def test_the_users_next_step_comes_between_two_writes_of_the_controller() -> None:
    plan = Plan((fault("early", "step 1", writes=2),))
    result = run_in_process(Setup(scenario=grow, factory=controllers), plan, Options(trace=True, quiet=False))
    answer = [(line.lane, line.text) for line in result.trace if line.kind in ("writes", "step")]
    ended = answer.index(("user", "step 1 ends"))
    assert [lane for lane, _ in answer[:ended]].count("controller") in (2, 3), "both ConfigMaps are made at once"
    assert "controller" in [lane for lane, _ in answer[ended : answer.index(("user", "step 2 ends"))]]
    assert result.virtual < 7200


class Meter(sp.simulation.External):
    """Counts readings."""

    def __init__(self) -> None:
        self.readings = 0

    @sp.simulation.call
    async def read(self) -> None:
        self.readings += 1


def test_the_user_goes_on_though_the_controller_waits_for_an_answer_that_comes_later() -> None:
    meter = Meter()

    async def reconcile(_app: App, _ctx: sp.Context) -> None:
        await meter.read()

    setup = Setup(scenario=grow, factory=lambda: [sp.Controller(App, reconcile)], externals=[meter])
    points = run_in_process(setup, Plan(), Options(quiet=False)).points
    call = next(point.name for point in points if point.kind == "external")
    plan = Plan((fault("early", "step 1", writes=1), fault("slow-answer", call, until="step")))
    result = run_in_process(setup, plan, Options(trace=True, quiet=False))
    assert result.injected == [0, 1]
    assert [line.text for line in result.trace if line.kind == "step"] == [f"step {number} ends" for number in range(4)]
    assert result.virtual < 7200
