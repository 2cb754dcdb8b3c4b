"""Restarts on old lists, as torture makes them and judges what comes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Plan, Predicate, never
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.scenario.temporal_properties import Objects
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.trace.result import Point, Result
from setpoint.testing import Cluster, virtual_time
from setpoint.torture.expectations import Expectations
from setpoint.torture.real_time import RealTimeWorld
from setpoint.torture.setup import Setup


def test_the_state_that_a_kind_has_at_the_end_of_a_step_is_not_an_older_one() -> None:
    def change(name: str, step: int, revision: int) -> Point:
        return Point(name, "change", step, "configmaps", "MODIFIED", True, revision)

    points = [change("one #1", 1, 11), change("one #2", 1, 12), change("one #3", 2, 13)]
    generator = PlanGenerator(
        Result(points=points, steps=3), off=frozenset(), seed=0, kinds=["configmaps"], primaries=frozenset()
    )
    travels = [(item.at, item.get("behind")) for item in generator.singles() if item.get("behind")]
    assert sorted(travels) == [("step 1", "one #1"), ("step 2", "one #1"), ("step 2", "one #2")]


def more_than_one(objects: Objects) -> bool:
    return len(objects.list(ConfigMap)) > 1


async def no_users(_cluster: Cluster) -> None:
    """The users do nothing."""


def world_of(predicate: Predicate, behind: str, folder: Path) -> RealTimeWorld:
    setup = Setup(command=["program"], scenario=no_users, name="", source=folder, predicates=[predicate])
    plan = Plan((fault("restart", "step 1", behind=behind),))
    return RealTimeWorld(setup, plan, Expectations(quiet_period=0.5), folder, started=print)


@pytest.mark.parametrize(("behind", "broken"), [("MODIFIED configmaps default/one #1", []), ("", ["more than one"])])
@virtual_time
async def test_what_a_program_adds_on_an_old_view_breaks_no_predicate(
    tmp_path: Path, behind: str, broken: list[str]
) -> None:
    world = world_of(never(more_than_one), behind, tmp_path)
    world.history.watchers.append(world.monitor.changed)
    async with world.server, Client(InProcessTransport(world.server.handle), namespace="default") as client:
        world.history.restart(world._clock)
        for text in "abc":
            await client.apply(ConfigMap.named("one", data={"text": text}), field_manager="user")

        async def program() -> None:
            world.edge.requests = 1
            await client.create(ConfigMap.named("two"))
            await client.delete(ConfigMap, "two")

        supervisor = cast("Any", world.supervisor)
        supervisor.kill_all, supervisor.start = (lambda why: None), (lambda: world.harness.start(program()))
        await world.at_rest(1, 30.0)
    assert [finding.subject for finding in world.monitor.findings] == broken
