"""`Context.keep` on a cache that may begin with a state from before the program's start."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.cache import InformerFactory, WatchOptions
from setpoint.controller.context import Context
from setpoint.controller.history import AttemptStart
from setpoint.controller.outcome import Outdated
from setpoint.controller.writes.children import Children
from setpoint.controller.writes.ownership import ObjectWriter
from setpoint.crd import crd_for
from setpoint.meta import resource_of
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, config, widget


def looking(world: Any, owner: Widget, *, age: float | None = 1.0, old: bool = True, declared: bool = True) -> Any:
    """As much of a `Children` as looks at its owner."""
    resource = resource_of(Widget)
    result: Any = object.__new__(Children)
    informers: Any = {resource.gvr: SimpleNamespace(may_begin_old=old)} if declared else {}
    memory, random = SimpleNamespace(), Random(0)
    result._writer = ObjectWriter(world.client, informers, memory, resource, "", random)  # type: ignore[arg-type]
    caches = SimpleNamespace(client=world.client)
    env: Any = SimpleNamespace(informers=informers, caches=caches, log=None, random=random)
    result._context = Context(env, result._writer, owner, AttemptStart(age=age))
    return result


@virtual_time
async def test_an_owner_that_is_not_what_the_cache_shows_deletes_nothing() -> None:
    async with cluster(control_plane=False, crds=[crd_for(Widget)]) as world:
        await world.create(Namespace.named("other"))
        seen = await world.create(widget(namespace="other"))
        await looking(world, seen)._look_again()
        newer = await world.get(Widget, "a", namespace="other")
        newer.spec.size = 9
        newer = await world.update(newer)
        with pytest.raises(Outdated, match="Widget other/a has been changed or deleted since the cache saw it"):
            await looking(world, seen)._look_again()
        await looking(world, newer)._look_again()
        await world.delete(newer)
        with pytest.raises(Outdated):
            await looking(world, newer)._look_again()


@pytest.mark.parametrize("how", [{"age": None}, {"old": False}, {"declared": False}])
@virtual_time
async def test_what_was_read_live_or_listed_anew_is_not_asked_for_once_more(how: dict[str, Any]) -> None:
    async with cluster(control_plane=False, crds=[crd_for(Widget)]) as world:
        seen = await world.create(widget())
        await world.delete(seen)
        await looking(world, seen, **how)._look_again()


async def _keep(ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [config("child")])


async def _apply(ctx: sp.Context) -> None:
    await ctx.apply(config("child"))


@pytest.mark.parametrize("write", [_keep, _apply])
@pytest.mark.parametrize("gone", [True, False])
@virtual_time
async def test_no_child_is_made_for_an_owner_that_only_an_old_cache_shows(write: Any, gone: bool) -> None:
    go_on = asyncio.Event()
    problems: list[BaseException] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await go_on.wait()
        try:
            await write(ctx)
        except Outdated as problem:
            problems.append(problem)

    async with (
        cluster(control_plane=False, rbac=False, crds=[Widget], objects=[widget()]) as world,
        InformerFactory(world.client, watch_options=WatchOptions(first_list="any")) as factory,
    ):
        controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
        running = asyncio.ensure_future(controller.run(world.client, factory))
        await advance(1)
        if gone:
            await world.delete(await world.get(Widget, "a"))
        go_on.set()
        await advance(1)
        assert len(problems) == gone
        assert [child.name for child in await world.list(ConfigMap)] == ([] if gone else ["child"])
        await stop(running)


@pytest.mark.parametrize("changed", [True, False])
@virtual_time
async def test_no_child_is_deleted_for_a_state_of_its_owner_that_only_an_old_cache_shows(changed: bool) -> None:
    go_on = asyncio.Event()
    problems: list[BaseException] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.spec.size == 1:
            await go_on.wait()
        try:
            await ctx.keep(ConfigMap, [config("child")] if obj.spec.size == 9 else [])
        except Outdated as problem:
            problems.append(problem)

    async def resize(size: int) -> None:
        owner = await world.get(Widget, "a")
        owner.spec.size = size
        await world.update(owner)
        await advance(1)

    async with (
        cluster(control_plane=False, rbac=False, crds=[Widget], objects=[widget(size=9)]) as world,
        InformerFactory(world.client, watch_options=WatchOptions(first_list="any")) as factory,
    ):
        controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
        running = asyncio.ensure_future(controller.run(world.client, factory))
        await advance(1)
        (child,) = await world.list(ConfigMap)
        await resize(1)
        if changed:
            await resize(9)
        go_on.set()
        await advance(1)
        assert len(problems) == changed
        assert [child.uid for child in await world.list(ConfigMap)] == ([child.uid] if changed else [])
        await stop(running)
