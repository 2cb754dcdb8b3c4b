"""Two processes that compete for a lease: children, statuses and clean-ups survive every change of leaders."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.apps import controllers
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.manager import WriteRefused
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import SWITCHES, Budget, Plan, Setup, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.trace.result import Options

LEADERS = ("crash", "restart", "down", "pause", "clock")
OFF = {name: "this is about changes of leaders" for name in SWITCHES if name not in LEADERS}


async def lifecycle(cluster: sp.testing.Cluster) -> None:
    for size in (2, 1):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=1)))
    await cluster.settle()


def test_children_statuses_and_clean_ups_survive_changes_of_leaders() -> None:
    report = check(lifecycle, controllers, leader_election=True, off=OFF, budget=Budget(runs=12))
    assert report.points["writes"] >= 10


def test_a_write_of_a_leader_that_stood_still_before_it_was_sent_is_refused() -> None:
    """As a real transport does, which asks the fence once more when it sends."""
    refused: list[str] = []

    async def reconcile(app: App, ctx: sp.Context) -> None:
        try:
            await ctx.apply(ConfigMap.named(f"of-{app.name}"))
        except WriteRefused as problem:
            refused.append(str(problem))
            raise

    setup = Setup(scenario=lifecycle, factory=lambda: [sp.Controller(App, reconcile)], leader_election=True)
    frozen = fault("freeze", "apply configmaps default/of-one #1", seconds=1000.0)
    result = run_in_process(setup, Plan((frozen,)), Options(quiet=False))
    assert result.injected == [0]
    assert [answer.partition(": ")[2] for answer in refused] == ["another process may have taken over by now"]
    assert Reference(run_in_process(setup, Plan(), Options(quiet=False)), []).judge(Plan((frozen,)), result) == []


def test_a_step_lasts_until_a_new_leader_has_done_its_work() -> None:
    """The user's next change, such as a pause, would hide the work that the last leader left undone."""
    children: list[int] = []

    async def grow(cluster: sp.testing.Cluster) -> None:
        for size in (1, 3):
            await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
            await cluster.settle()
        children.append(len(await cluster.list(ConfigMap)))

    setup = Setup(scenario=grow, factory=controllers, leader_election=True)
    crash = fault("crash-after", "apply configmaps default/one-1 #1")
    calm, disturbed = (run_in_process(setup, Plan(faults), Options(quiet=False)) for faults in ((), (crash,)))
    assert (calm.injected, disturbed.injected) == ([], [0])
    assert children[0] == children[1]


def test_children_statuses_and_clean_ups_survive_leaders_that_become_standbys() -> None:
    report = check(lifecycle, controllers, leader_election="standby", off=OFF, budget=Budget(runs=12))
    assert report.points["writes"] >= 10


def test_a_process_that_stood_still_beyond_its_lease_is_the_leader_again_when_its_successor_stands_still() -> None:
    setup = Setup(scenario=lifecycle, factory=controllers, leader_election="standby")
    first = fault("freeze", "apply configmaps default/one-0 #1", seconds=1000.0)
    second = fault("freeze", "delete configmaps default/one-1 #1", seconds=5000.0)
    plan = Plan((first, second))
    result = run_in_process(setup, plan, Options(quiet=False, trace=True))
    assert result.injected == [0, 1]
    writers = [line.actor for line in result.trace if line.kind == "writes"]
    assert list(dict.fromkeys(writers)) == ["controller/2", "controller/1"]
    assert writers[-1] == "controller/2"
    assert [line.actor for line in result.trace if line.kind == "starts"] == ["controller/1", "controller/2"]
    assert Reference(run_in_process(setup, Plan(), Options(quiet=False)), []).judge(plan, result) == []


@pytest.mark.long
@pytest.mark.parametrize("election", [True, "standby"])
def test_children_statuses_and_clean_ups_survive_every_single_fault_with_two_processes(election: Any) -> None:
    check(lifecycle, controllers, leader_election=election, budget=Budget(runs=2500))
