"""An entry that users add to a list of a status, in place of another controller, stays until they remove it."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.simulation import Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.result import Options

MINE = "mine.example.com"


class RouteStatus(sp.ConditionedStatus):
    parents: list[dict[str, str]] = []


class Route(sp.CustomResource, group="test.example.com", version="v1"):
    status: RouteStatus = RouteStatus()


async def another_reports(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Route.named("one", "default"))
    await cluster.settle()
    route = await cluster.get(Route, "one")
    route.status.parents.append({"controller": "other.example.com"})
    await cluster.client.update_status(route)
    await cluster.settle()


async def another_takes_it_back(cluster: sp.testing.Cluster) -> None:
    await another_reports(cluster)
    route = await cluster.get(Route, "one")
    route.status.parents = [parent for parent in route.status.parents if parent["controller"] == MINE]
    await cluster.client.update_status(route)
    await cluster.settle()


async def writes_the_whole_list(route: Route, ctx: sp.Context) -> None:
    route.status.parents = [{"controller": MINE}]


async def keeps_those_of_others(route: Route, ctx: sp.Context) -> None:
    others = [parent for parent in route.status.parents if parent["controller"] != MINE]
    route.status.parents = [{"controller": MINE}, *others]


def findings(scenario: Any, reconcile: Any) -> list[str]:
    setup = Setup(scenario=scenario, factory=lambda: [sp.Controller(Route, reconcile)])
    result = run_in_process(setup, Plan(), Options(quiet=False))
    return [finding.message for finding in result.findings if finding.oracle == "destroyed"]


def test_an_entry_of_another_controller_that_is_removed_is_found_with_the_writer() -> None:
    (message,) = findings(another_reports, writes_the_whole_list)
    assert message.startswith(
        'routes.test.example.com default/one: {"controller":"other.example.com"} was removed from status.parents by '
        "controller route"
    )


@pytest.mark.parametrize("scenario", [another_reports, another_takes_it_back])
def test_an_entry_that_stays_or_that_its_author_removes_is_no_finding(scenario: Any) -> None:
    assert findings(scenario, keeps_those_of_others) == []
