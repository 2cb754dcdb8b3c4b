"""Two processes that compete for a lease: children, statuses and clean-ups survive every change of leaders."""

from __future__ import annotations

import pytest
from tests.simulation.apps import controllers
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.simulation import SWITCHES, Budget, check

LEADERS = ("crash", "restart", "down", "pause", "clock")
OFF = {name: "this is about changes of leaders" for name in SWITCHES if name not in LEADERS}


async def life(cluster: sp.testing.Cluster) -> None:
    for size in (2, 1):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=1)))
    await cluster.settle()


def test_children_statuses_and_clean_ups_survive_changes_of_leaders() -> None:
    report = check(life, controllers, leader_election=True, off=OFF, budget=Budget(runs=12))
    assert report.points["writes"] >= 10


@pytest.mark.long
def test_children_statuses_and_clean_ups_survive_every_single_fault_with_two_processes() -> None:
    check(life, controllers, leader_election=True, budget=Budget(runs=2500))
