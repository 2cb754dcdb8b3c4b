"""The tests of machines.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from machines import Cloud, Machine, controller

import setpoint as sp


@sp.testing.virtual_time
async def test_a_machine_comes_and_goes_with_its_object_once() -> None:
    cloud = Cloud()

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Cloud]:
        yield cloud

    async with sp.testing.cluster(controller, lifespan=lifespan) as cluster:
        machine = await cluster.apply(Machine.named("a", "default"))
        await cluster.settle()
        assert (await cluster.get(Machine, "a")).status.number == "m-1"
        await cluster.delete(machine)
        await cluster.settle()
        assert not cloud.machines


class DistantCloud(sp.simulation.External, Cloud):
    """The cloud, behind a network."""

    @sp.simulation.call
    async def create(self, tag: str) -> str:
        return await Cloud.create(self, tag)

    @sp.simulation.call
    async def find(self, tag: str) -> str | None:
        return await Cloud.find(self, tag)

    @sp.simulation.call
    async def delete(self, number: str) -> None:
        await Cloud.delete(self, number)


async def scenario(cluster: sp.testing.Cluster) -> None:
    for name in ("a", "b"):
        await cluster.apply(Machine.named(name, "default"))
        await cluster.settle()
    await cluster.delete(await cluster.get(Machine, "a"))
    await cluster.settle()
    await cluster.apply(Machine.named("a", "default"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    cloud = DistantCloud()

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Cloud]:
        yield cloud

    return sp.simulation.check(
        scenario, lambda: [controller], externals=[cloud], lifespan=lifespan, budget=budget, **options
    )
