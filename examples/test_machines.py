"""The test of machines.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from machines import Cloud, Machine, controller

import setpoint as sp


@sp.testing.virtual_time
async def test_a_machine_comes_and_goes_with_its_object_once() -> None:
    cloud = Cloud()

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Cloud]:
        yield cloud

    async with sp.testing.cluster(controller, lifespan=lifespan) as cluster:
        made = await cluster.apply(Machine.named("a", "default"))
        await cluster.settle()
        assert (await cluster.get(Machine, "a")).status.number == "m-1"
        await cluster.delete(made)
        await cluster.settle()
        assert not cloud.machines
