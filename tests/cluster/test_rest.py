"""The check after every test of this package finds a control plane that is not at rest."""

from __future__ import annotations

import pytest
from tests.cluster.rest import Moved, Rest
from tests.cluster.scheduling.pods import pod

from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time


@virtual_time
async def test_a_controller_that_writes_again_and_again_is_found_also_where_nothing_changes(rest: Rest) -> None:
    is_restless = True

    async def write(settings: ConfigMap, ctx: Context) -> Outcome:
        await ctx.patch(settings, {"data": {"a": "b"}})
        return after(300.0) if is_restless else done()

    async with cluster() as world:
        assert world.control_plane is not None
        world.control_plane.manager.add(Controller(ConfigMap, write, name="restless", leader_only=False))
        await world.create(ConfigMap.named("settings", "default"))
        with pytest.raises(Moved, match="PATCH /api/v1/namespaces/default/configmaps/settings"):
            await rest.check(world)
        is_restless = False


@virtual_time
async def test_what_fails_for_ever_may_say_so_and_do_nothing_else(rest: Rest) -> None:
    is_broken = True

    async def fail(settings: ConfigMap, ctx: Context) -> Outcome:
        if is_broken:
            ctx.event("Warning", "Broken", "it does not work")
            raise RuntimeError("broken")
        return done()

    async with cluster() as world:
        assert world.control_plane is not None
        world.control_plane.manager.add(Controller(ConfigMap, fail, name="failing", leader_only=False))
        await world.create(ConfigMap.named("settings", "default"))
        await rest.check(world)
        is_broken = False


@virtual_time
async def test_between_the_runs_of_a_container_that_crashes_for_ever_a_write_is_found(rest: Rest) -> None:
    is_restless = True

    async def write(settings: ConfigMap, ctx: Context) -> Outcome:
        await ctx.patch(settings, {"data": {"a": "b"}})
        return after(77.0) if is_restless else done()

    async with cluster(nodes=1) as world:
        assert world.control_plane is not None
        crashing = pod("a")
        crashing.metadata.annotations = {"hollow.setpoint.io/exit-code": "1"}
        await world.create(crashing)
        await rest.check(world)
        world.control_plane.manager.add(Controller(ConfigMap, write, name="restless", leader_only=False))
        await world.create(ConfigMap.named("settings", "default"))
        with pytest.raises(Moved, match="PATCH /api/v1/namespaces/default/configmaps/settings"):
            await rest.check(world)
        is_restless = False
