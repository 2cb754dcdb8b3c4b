"""Reconciles that people request by an annotation: at once, before others, and acknowledged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import predicates
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget

REQUEST = "test.example.com/reconcile-at"
DONE = "test.example.com/reconciled-at"


class GearStatus(sp.ConditionedStatus):
    last_handled_reconcile_at: str = ""


class Gear(sp.CustomResource, group="test.example.com", version="v1"):
    status: GearStatus = GearStatus()


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


async def request(world: Any, kind: type[Any], name: str, value: str, annotation: str = REQUEST) -> None:
    patch = {"metadata": {"annotations": {annotation: value}}}
    await world.client.patch(kind, name, patch, namespace="default")


@virtual_time
async def test_a_request_ends_the_back_off_and_forgets_the_failures() -> None:
    tries: list[int] = []
    works = False

    async def reconcile(obj: Gear, ctx: sp.Context) -> None:
        tries.append(ctx.failures)
        if not works:
            raise ConnectionError("the mill can't be reached")

    async with bare(sp.Controller(Gear, reconcile)) as world:
        await world.create(Gear.named("a", "default"))
        await advance(300)
        before = len(tries)
        assert tries[-1] > 10
        works = True
        await request(world, Gear, "a", "now")
        await advance(0.01)
        assert tries[before:] == [0]
        assert (await world.get(Gear, "a")).status.last_handled_reconcile_at == "now"
        assert REQUEST in (await world.get(Gear, "a")).metadata.annotations
        (cause,) = world.running("gear").timeline.last("default/a").causes
        assert str(cause) == "request of Gear default/a"
        await advance(3600)
        assert len(tries) == before + 1, "the acknowledgement leads to no further reconcile"


@virtual_time
async def test_a_failed_reconcile_is_acknowledged_with_its_failure() -> None:
    async def reconcile(obj: Gear, ctx: sp.Context) -> None:
        raise ConnectionError("the mill can't be reached")

    async with bare(sp.Controller(Gear, reconcile)) as world:
        await world.create(Gear.named("a", "default"))
        await advance(60)
        await request(world, Gear, "a", "1")
        await advance(0.001)
        gear = await world.get(Gear, "a")
        assert gear.status.last_handled_reconcile_at == "1"
        assert gear.status.conditions[0].message == "ConnectionError: the mill can't be reached"


@virtual_time
async def test_without_a_field_in_the_status_an_annotation_acknowledges() -> None:
    calls: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        calls.append(obj.name)

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile, predicates=[predicates.generation_changed])).over(wires) as world:
        await world.create(widget())
        await world.settle()
        for value in ("1", "2"):
            await request(world, Widget, "a", value)
            await world.settle()
            assert (await world.get(Widget, "a")).metadata.annotations[DONE] == value
        assert calls == ["a", "a", "a"]
        await request(world, Widget, "a", "2")
        await world.settle()
        assert calls == ["a", "a", "a"], "the same value is not another request"
        assert len([write for write in wires.wire.writes("/widgets/a") if not write.endswith("/status")]) == 2


@virtual_time
async def test_a_requested_object_is_the_next_one() -> None:
    order: list[str] = []
    gate = asyncio.Event()

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        order.append(obj.name)
        await gate.wait()

    async with bare(sp.Controller(Widget, reconcile, workers=1)) as world:
        for number in range(20):
            await world.create(widget(f"w{number:02}"))
        await advance(1)
        await request(world, Widget, "w17", "now")
        await advance(1)
        gate.set()
        await world.settle()
        assert order[:3] == ["w00", "w17", "w01"]


@virtual_time
async def test_a_request_waits_for_the_end_of_a_pause() -> None:
    calls: list[str] = []

    async def reconcile(obj: Gear, ctx: sp.Context) -> None:
        calls.append(obj.name)

    async with bare(sp.Controller(Gear, reconcile)) as world:
        gear = Gear.named("a", "default")
        gear.metadata.annotations = {"test.example.com/paused": "true"}
        await world.create(gear)
        await request(world, Gear, "a", "now")
        await world.settle()
        assert (calls, (await world.get(Gear, "a")).status.last_handled_reconcile_at) == ([], "")
        await request(world, Gear, "a", "false", "test.example.com/paused")
        await world.settle()
        assert (set(calls), (await world.get(Gear, "a")).status.last_handled_reconcile_at) == ({"a"}, "now")


@virtual_time
async def test_a_request_is_for_objects_of_the_controller_alone() -> None:
    calls: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        calls.append(obj.name)

    mine = predicates.named("mine")
    async with bare(sp.Controller(Widget, reconcile, predicates=[mine])) as world:
        for name in ("mine", "other"):
            await world.create(widget(name))
        await world.settle()
        for name in ("mine", "other"):
            await request(world, Widget, name, "now")
        await world.settle()
        assert set(calls) == {"mine"}


@virtual_time
async def test_a_request_ends_the_slow_down_of_a_hot_loop() -> None:
    count = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal count
        count += 1
        await ctx.apply(config("echo", number=str(count)))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await advance(60)
        run = world.running("widget")
        assert run.activity.hot_loops.slowed
        before = count
        await request(world, Widget, "a", "now")
        await advance(0.01)
        assert count > before


@virtual_time
@pytest.mark.parametrize(("chosen", "answer"), [("ops.example.org/sync", "ops.example.org/reconciled-at"), ("", None)])
async def test_the_annotation_can_be_named_and_switched_off(chosen: str, answer: str | None) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with bare(sp.Controller(Widget, reconcile, request_annotation=chosen)) as world:
        await world.create(widget())
        await world.settle()
        await request(world, Widget, "a", "now", chosen or REQUEST)
        await world.settle()
        keys = {key for key in (await world.get(Widget, "a")).metadata.annotations if key.endswith("reconciled-at")}
        assert keys == ({answer} if answer else set())
