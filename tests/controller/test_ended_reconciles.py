"""After the end of a reconcile its context is refused, whether the function is a coroutine function or a plain one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, Request
from setpoint.controller.context_reads import ended
from setpoint.controller.writes.children import AT_ONCE
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget


async def _client(ctx: sp.Context, obj: Widget) -> None:
    await ctx.client.get(Widget, obj.name)


async def _event(ctx: sp.Context, obj: Widget) -> None:
    ctx.event("Normal", "Late", "too late")


async def _owned(ctx: sp.Context, obj: Widget) -> None:
    ctx.owned(ConfigMap)


async def _lister(ctx: sp.Context, obj: Widget) -> None:
    ctx.lister(ConfigMap)


USES: dict[str, Callable[[sp.Context, Widget], Awaitable[Any]]] = {
    "get": lambda ctx, obj: ctx.get(ConfigMap, "x"),
    "get live": lambda ctx, obj: ctx.get(Secret, "x"),
    "list": lambda ctx, obj: ctx.list(ConfigMap),
    "list live": lambda ctx, obj: ctx.list(Secret),
    "ensure_current": lambda ctx, obj: ctx.ensure_current(),
    "apply": lambda ctx, obj: ctx.apply(config("late")),
    "keep": lambda ctx, obj: ctx.keep(ConfigMap, [config("late")]),
    "create": lambda ctx, obj: ctx.create(config("late")),
    "delete": lambda ctx, obj: ctx.delete(obj),
    "patch": lambda ctx, obj: ctx.patch(obj, {"metadata": {"labels": {"late": "yes"}}}),
    "client": _client,
    "event": _event,
    "owned": _owned,
    "lister": _lister,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@virtual_time
async def test_a_task_that_a_reconcile_left_behind_can_neither_read_nor_write_with_its_context(use: Any) -> None:
    go_on = asyncio.Event()
    late: list[asyncio.Task[None]] = []

    async def act(ctx: sp.Context, obj: Widget) -> None:
        await go_on.wait()
        await use(ctx, obj)

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        late.append(asyncio.ensure_future(act(ctx, obj)))

    async with cluster(sp.Controller(Widget, reconcile).owns(ConfigMap), control_plane=False, rbac=False) as world:
        await world.create(widget())
        await world.settle()
        before = await world.get(Widget, "a")
        go_on.set()
        with pytest.raises(RuntimeError, match=r"the reconcile of default/a has ended"):
            await late[0]
        assert await world.list(ConfigMap) == []
        assert await world.get(Widget, "a") == before


@virtual_time
async def test_a_keep_that_was_not_awaited_begins_no_write_after_the_end_of_its_reconcile() -> None:
    late: list[asyncio.Task[Any]] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        late.append(asyncio.ensure_future(ctx.keep(ConfigMap, [config("late")])))

    async with cluster(sp.Controller(Widget, reconcile).owns(ConfigMap), control_plane=False, rbac=False) as world:
        await world.create(widget())
        await advance(60)
        with pytest.raises(RuntimeError, match="has ended"):
            await late[0]
        assert await world.list(ConfigMap) == []


@virtual_time
async def test_a_keep_whose_reconcile_ends_between_two_writes_begins_none_of_the_others() -> None:
    late: list[asyncio.Task[Any]] = []
    has_begun = asyncio.Event()
    wires = Wires()
    wanted = [config(f"c{number}") for number in range(10 * AT_ONCE)]

    def note(request: Request) -> None:
        if request.method != "GET" and "configmaps" in request.path:
            has_begun.set()

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        late.append(asyncio.ensure_future(ctx.keep(ConfigMap, wanted)))
        await has_begun.wait()

    controller = sp.Controller(Widget, reconcile, owns_status=False).owns(ConfigMap)
    async with cluster(controller, control_plane=False, rbac=False).over(wires) as world:
        wires.wire.before = note
        await world.create(widget())
        await advance(60)
        with pytest.raises(ExceptionGroup) as caught:
            await late[0]
        assert {str(problem) for problem in caught.value.exceptions} == {ended(ObjectKey("default/a"))}
        assert AT_ONCE <= len(await world.list(ConfigMap)) < len(wanted)


async def test_a_plain_function_that_fails_after_its_time_is_logged_and_leaves_no_unretrieved_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()
    unhandled: list[dict[str, Any]] = []

    def reconcile(obj: ConfigMap, ctx: Any) -> None:
        go_on.wait(60)
        ctx.get(ConfigMap, "x")

    asyncio.get_running_loop().set_exception_handler(lambda loop, problem: unhandled.append(problem))
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a"))
        controller = sp.Controller(ConfigMap, reconcile, timeout=0.01, workers=4)
        with caplog.at_level(logging.WARNING, "setpoint.controller"):
            async with sp.Manager(client, controllers=[controller]) as manager, asyncio.timeout(60):
                running = manager.controllers["configmap"]
                while running.metrics.timeouts < 1:  # noqa: ASYNC110 - threads know no virtual time
                    await asyncio.sleep(0.01)
                controller_threads = running.threads.identifiers
                go_on.set()
                while controller_threads:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
    assert unhandled == []
    late = [
        record for record in caplog.records if record.getMessage() == "a function failed after its reconcile had ended"
    ]
    assert late
    assert "the reconcile of default/a has ended" in late[0].fields["error"]  # type: ignore[attr-defined]


@virtual_time
async def test_a_context_is_closed_even_if_its_reconcile_was_cancelled() -> None:
    contexts: list[sp.Context] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        contexts.append(ctx)
        await asyncio.sleep(1e6)

    async with cluster(objects=[widget()], crds=[Widget], control_plane=False, rbac=False) as world:
        async with sp.InformerFactory(world.client) as factory:
            running = asyncio.ensure_future(sp.Controller(Widget, reconcile).run(world.client, factory))
            await advance(1)
            await stop(running)
        with pytest.raises(RuntimeError, match="has ended"):
            await contexts[0].apply(config("late"))
