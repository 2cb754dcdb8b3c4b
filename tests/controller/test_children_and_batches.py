"""The order and the number of `Context.keep`'s requests after failures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.cache import InformerFactory, WatchOptions
from setpoint.client import Request, Response, Transport, TransportError
from setpoint.controller.outcome import Outdated
from setpoint.controller.writes.ownership import set_controller_reference
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


class _Slow(Transport):
    """Writes of config maps take a second, except the first few, which are refused. Notes the loop times of all."""

    def __init__(self, inner: Transport, refusals: int = 8) -> None:
        self.inner = inner
        self.refusals = refusals
        self.sent_at: list[float] = []

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        if request.method == "PATCH" and "configmaps" in request.path:
            self.sent_at.append(asyncio.get_running_loop().time())
            if len(self.sent_at) <= self.refusals:
                raise TransportError("no way", sent=False)
            await asyncio.sleep(1)
        async with self.inner.send(request) as response:
            yield response

    async def close(self) -> None:
        await self.inner.close()


@virtual_time
async def test_after_a_failure_each_batch_is_twice_as_large_as_the_one_before() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config(f"child-{number}") for number in range(20)])

    transports: list[_Slow] = []

    def transport(inner: Transport) -> Transport:
        transports.append(_Slow(inner))
        return transports[-1]

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(transport) as world:
        await world.create(widget())
        await advance(30)
        assert list(Counter(transports[0].sent_at).values()) == [8, 1, 2, 4, 8, 5]


@virtual_time
async def test_after_a_deletion_that_got_no_answer_nothing_is_created_in_that_reconcile() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("old" if obj.spec.size == 1 else "new")])

    wires = Wires()

    def before(request: Request) -> None:
        if request.method == "DELETE" and "configmaps" in request.path:
            raise TransportError("no way", sent=False)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        await world.create(widget())
        await world.settle()
        wires.wire.before = before
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await advance(5)
        assert [child.name for child in await world.list(ConfigMap)] == ["old"]


@virtual_time
async def test_a_child_that_was_written_after_a_failure_has_its_old_place_in_the_order() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config(name, size=str(obj.spec.size)) for name in "abcdefghijkl"])

    wires = Wires()
    refusals = 1

    def before(request: Request) -> None:
        nonlocal refusals
        if refusals and request.path.endswith("/configmaps/a"):
            refusals -= 1
            raise TransportError("no way", sent=False)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.before = before
        await world.create(widget())
        await world.settle()
        del wires.wire.requests[:]
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await world.settle()
        assert [path[-1] for path in wires.wire.writes("configmaps/")] == list("abcdefghijkl")


@virtual_time
async def test_a_generated_name_that_was_refused_is_not_tried_again() -> None:
    """Unlike a name whose write got no answer, it can't be there; and it may be the name that was refused."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        child = ConfigMap(data={"not a key": "v"})
        child.metadata.generate_name = "g-"
        await ctx.keep(ConfigMap, [child])

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        await world.create(widget())
        await advance(1)
        writes = wires.wire.writes("configmaps")
        assert len(writes) > 3
        assert len(set(writes)) == len(writes)


@virtual_time
async def test_an_object_that_is_wanted_by_its_name_is_not_counted_as_one_with_its_generated_name() -> None:
    names: list[str] = []
    counts: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        drawn = ConfigMap(data={"k": "v"})
        drawn.metadata.generate_name = "g-"
        children = await ctx.keep(ConfigMap, [drawn, *(config(name, k="named") for name in names)])
        counts.append(len({child.name for child in children}))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        assert set(counts) == {1}
        counts.clear()
        names += [child.name for child in await world.list(ConfigMap)]
        await world.update(widget_of_size(await world.get(Widget, "a"), 2))
        await world.settle()
        data = {child.name: child.data for child in await world.list(ConfigMap)}
        assert len(data) == 2
        assert data.pop(names[0]) == {"k": "named"}
        assert list(data.values()) == [{"k": "v"}]
        assert set(counts) == {2}


@virtual_time
async def test_no_batch_begins_after_the_end_of_the_reconcile() -> None:
    late: list[asyncio.Task[Any]] = []
    transports: list[_Slow] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if late:
            return
        late.append(asyncio.ensure_future(ctx.keep(ConfigMap, [config(f"child-{number}") for number in range(20)])))
        await asyncio.sleep(0.5)

    def transport(inner: Transport) -> Transport:
        transports.append(_Slow(inner, refusals=0))
        return transports[-1]

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(transport) as world:
        await world.create(widget())
        await advance(0.75)
        with pytest.raises(ExceptionGroup, match="8 children failed") as failure:
            await late[0]
        assert all("the reconcile of default/a has ended" in str(problem) for problem in failure.value.exceptions)
        assert len(transports[0].sent_at) == 8


@pytest.mark.parametrize("changes", [True, False])
@virtual_time
async def test_no_child_is_deleted_for_an_owner_that_only_an_old_cache_shows(changes: bool) -> None:
    go_on = asyncio.Event()
    problems: list[BaseException] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await go_on.wait()
        try:
            await ctx.keep(ConfigMap, [])
        except Outdated as problem:
            problems.append(problem)

    async with cluster(control_plane=False, rbac=False, crds=[Widget], objects=[widget()]) as world:
        child = config("child")
        child.metadata.namespace = "default"
        set_controller_reference(await world.get(Widget, "a"), child)
        await world.create(child)
        async with InformerFactory(world.client, watch_options=WatchOptions(first_list="any")) as factory:
            controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
            running = asyncio.ensure_future(controller.run(world.client, factory))
            await advance(1)
            if changes:
                await world.update(widget_of_size(await world.get(Widget, "a"), 2))
            go_on.set()
            await advance(0)
            assert len(problems) == changes
            await stop(running)


def widget_of_size(obj: Widget, size: int) -> Widget:
    obj.spec.size = size
    return obj
