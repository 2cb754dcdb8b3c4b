"""`Context.keep` when the server refuses, is behind, or is not there."""

from __future__ import annotations

import asyncio
from typing import Any

import setpoint as sp
from setpoint.client import Request, TransportError
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, lost_answer, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


def generated(prefix: str) -> ConfigMap:
    made = ConfigMap(data={"k": "v"})
    made.metadata.generate_name = prefix
    return made


@virtual_time
async def test_a_live_read_that_fails_is_made_up_for_before_the_cache_is_believed_again() -> None:
    """The answer to a create is lost, and then the server stays away for a while."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-")])

    wires = Wires()
    away_until = 0.0

    def after(request: Request) -> None:
        nonlocal away_until
        if request.method == "PATCH" and "configmaps" in request.path and not away_until:
            away_until = asyncio.get_running_loop().time() + 30
            lost_answer(request)

    def before(request: Request) -> None:
        if away_until > asyncio.get_running_loop().time() and ("watch", "true") not in request.query:
            raise TransportError("connection refused", sent=False)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap), transport=wires) as world:
        wires.wire.delays = {"configmaps": 120.0}
        await world.create(widget())
        wires.wire.after, wires.wire.before = after, before
        clock = asyncio.get_running_loop().time
        for _ in range(100):
            await advance(3)
            assert clock() < away_until or len(await world.list(ConfigMap)) <= 1
        assert away_until
        assert [attempt.result for attempt in world.running("widget").timeline.of("default/a")][-1] == "success"
        assert len(await world.list(ConfigMap)) == 1
