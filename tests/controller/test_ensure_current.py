"""`Context.ensure_current`: nothing is done outside of the cluster for an object that is not what the cache shows."""

from __future__ import annotations

import setpoint as sp
from setpoint.controller import Outdated
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time

from .world import Widget, config, widget


class Outside:
    """A system that no API server guards: what was done for which size."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.refused: list[str] = []

    async def reconcile(self, obj: Widget, ctx: sp.Context) -> None:
        try:
            await ctx.ensure_current()
        except Outdated as problem:
            self.refused.append(str(problem))
            raise
        self.done.append(obj.spec.size)


@virtual_time
async def test_an_object_as_the_server_has_it_passes() -> None:
    outside = Outside()
    async with cluster(sp.Controller(Widget, outside.reconcile)) as world:
        await world.create(widget(size=3))
        await world.settle()
    assert (outside.done, outside.refused) == ([3], [])


def controller(outside: Outside) -> sp.Controller[Widget]:
    """A change of any ConfigMap leads to the Widget ``a``."""
    one = sp.Controller(Widget, outside.reconcile)
    return one.watches(ConfigMap, lambda head: [sp.ObjectKey("default/a")])


@virtual_time
async def test_a_newer_version_than_the_cache_shows_puts_the_reconcile_off_until_it_is_there() -> None:
    outside = Outside()
    async with cluster(controller(outside)) as world:
        await world.create(widget(size=1))
        await world.settle()
        with world.faults.hold(Widget):
            current_widget = await world.get(Widget, "a")
            current_widget.spec.size = 2
            await world.update(current_widget)
            await world.create(config("poke"))
            await sp.testing.advance(1)
            assert {*outside.refused} == {"Widget default/a has been changed or deleted since the cache saw it"}
            assert outside.done == [1]
        await world.settle()
        assert outside.done == [1, 2]


@virtual_time
async def test_an_object_that_is_gone_or_another_one_by_now_is_not_what_the_cache_shows() -> None:
    outside = Outside()
    async with cluster(controller(outside)) as world:
        first = await world.create(widget(size=1))
        await world.settle()
        with world.faults.hold(Widget):
            await world.delete(first)
            await world.create(config("poke"))
            await sp.testing.advance(1)
            gone = len(outside.refused)
            await world.create(widget(size=1))
            await sp.testing.advance(1)
            assert 0 < gone < len(outside.refused)
            assert outside.done == [1]
        await world.settle()
        assert outside.done == [1, 1]


@virtual_time
async def test_a_plain_function_in_a_thread_asks_as_well() -> None:
    done: list[int] = []

    def reconcile(obj: Widget, ctx: sp.SyncContext) -> None:
        ctx.ensure_current()
        done.append(obj.spec.size)

    async with cluster(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget(size=3))
        await world.settle()
    assert done == [3]
