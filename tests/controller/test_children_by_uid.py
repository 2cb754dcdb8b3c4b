"""A child is written by its uid: never another object that has its name by now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import Cause
from setpoint.meta import ObjectKey, OwnerReference
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget

KEY = ObjectKey("default/a")
Write = Callable[[sp.Context, ConfigMap], Awaitable[Any]]


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


async def _keep(ctx: sp.Context, child: ConfigMap) -> None:
    await ctx.keep(ConfigMap, [child])


async def _apply(ctx: sp.Context, child: ConfigMap) -> None:
    await ctx.apply(child)


WRITES = [pytest.param(_keep, id="keep"), pytest.param(_apply, id="apply")]


def again(world: Any) -> None:
    world.running("widget").enqueue(KEY, Cause("external"))


@virtual_time
async def test_an_object_that_took_a_childs_name_unseen_by_the_cache_is_not_changed() -> None:
    value = "1"

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child", value=value)])

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        await world.create(widget())
        await world.settle()
        wires.wire.delays = {"configmaps": 5.0}
        await world.delete(await world.get(ConfigMap, "child"))
        theirs = await world.create(config("child", whose="theirs"))
        value = "2"
        again(world)
        await advance(4)
        assert wires.wire.writes("configmaps")[-1].startswith("PATCH")
        assert await world.get(ConfigMap, "child") == theirs
        results = {attempt.result for attempt in world.running("widget").timeline.of("default/a")}
        assert results == {"success", "requeue"}, "it is tried again, which is not an error"


@pytest.mark.parametrize("write", WRITES)
@virtual_time
async def test_the_refusal_of_a_childs_content_is_an_error_and_not_taken_for_another_object(write: Write) -> None:
    key = "fine"

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await write(ctx, config("child", **{key: "v"}))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        key = "not a key"
        again(world)
        await advance(1)
        attempt = world.running("widget").timeline.of("default/a")[-1]
        assert attempt.result == "error"
        assert attempt.detail.startswith("Invalid: ")


@virtual_time
async def test_a_reconcile_that_reads_live_judges_the_owner_of_a_child_by_what_is_live() -> None:
    names = ["own"]

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        for name in names:
            await ctx.apply(config(name, by="controller"))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.delays = {"configmaps": 120.0}
        await world.create(widget())
        await advance(1)
        theirs = config("theirs")
        theirs.metadata.owner_references = [
            OwnerReference(api_version="v1", kind="Pod", name="other", uid="u", controller=True)
        ]
        theirs = await world.create(theirs)
        names.append("theirs")
        again(world)
        await advance(15)
        attempt = world.running("widget").timeline.of("default/a")[-1]
        assert attempt.detail.startswith("AdoptionError: ConfigMap default/theirs is controlled by Pod other")
        assert await world.get(ConfigMap, "theirs") == theirs
