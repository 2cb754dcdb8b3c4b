"""Circles that a controller can get into without one false write, and how it gets out of them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import setpoint as sp
from setpoint.meta import ObjectMeta
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


async def growing(obj: Widget, ctx: sp.Context) -> None:
    await ctx.patch(obj, {"spec": {"size": obj.spec.size + 1}})


async def growing_by_update(obj: Widget, ctx: sp.Context) -> None:
    obj.spec.size += 1
    await ctx.client.update(obj)


@pytest.mark.parametrize("reconcile", [growing, growing_by_update])
@virtual_time
async def test_a_loop_that_changes_what_its_own_object_asks_for_is_slowed_down(
    reconcile: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with bare(sp.Controller(Widget, reconcile)) as world:
            await world.create(widget())
            await advance(120)
            assert world.running("widget").metrics.hot_loops == 1
            assert (await world.get(Widget, "a")).spec.size < 50
    fields = [record.fields for record in caplog.records if "back and forth" in record.getMessage()]  # type: ignore[attr-defined]
    assert ["spec.size" in field["fields"] for field in fields] == [True]


@virtual_time
async def test_settling_over_a_hot_loop_ends_and_names_it() -> None:
    async with bare(sp.Controller(Widget, growing)) as world:
        await world.create(widget())
        with pytest.raises(sp.testing.NotSettled, match=r"default/a is in a hot loop: .* changes Widget default/a"):
            await world.settle()


@pytest.mark.parametrize("seconds", [0.0, 1e-12, 0.009])
@virtual_time
async def test_a_reconcile_that_asks_for_itself_at_once_for_ever_is_slowed_down_and_named(seconds: float) -> None:
    """Also if it computes the rest of a period, and gets hardly more than nothing."""
    calls = 0

    async def spinning(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        nonlocal calls
        calls += 1
        if calls > 5000:
            raise sp.TerminalError("it was not slowed down")
        return sp.after(seconds)

    async with bare(sp.Controller(Widget, spinning)) as world:
        await world.create(widget())
        await advance(10)
        with pytest.raises(sp.testing.NotSettled, match=r"default/a is in a loop: .* at once, with after\(0\)"):
            await world.settle()
        assert calls < 1100
        assert world.running("widget").metrics.hot_loops == 1


@virtual_time
async def test_work_in_parts_that_changes_something_each_time_is_no_loop() -> None:
    left = 3000

    async def in_parts(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        nonlocal left
        if not left:
            return sp.done()
        left -= 1
        if left % 500 == 0:
            await ctx.patch(obj, {"metadata": {"annotations": {"left": str(left)}}})
        return sp.after(0) if left else sp.done()

    async with bare(sp.Controller(Widget, in_parts)) as world:
        await world.create(widget())
        await world.settle()
        assert left == 0
        assert world.running("widget").metrics.hot_loops == 0


@virtual_time
async def test_two_controllers_that_fight_over_a_spec_are_both_slowed_down() -> None:
    def wants(size: int) -> sp.Controller[Any]:
        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            await asyncio.sleep(15)
            if obj.spec.size != size:
                await ctx.patch(obj, {"spec": {"size": size}})

        return sp.Controller(Widget, reconcile, name=f"wants-{size}")

    async with bare(wants(1), wants(2)) as world:
        await world.create(widget())
        await advance(590)
        assert [world.running(name).metrics.hot_loops for name in ("wants-1", "wants-2")] == [1, 1]


@virtual_time
async def test_a_status_that_follows_many_changes_of_a_spec_is_no_circle() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = obj.spec.size

    async with bare(sp.Controller(Widget, reconcile)) as world:
        new_widget = await world.create(widget())
        for turn in range(100):
            new_widget = await world.client.patch(Widget, "a", {"spec": {"size": turn % 2}})
            await world.settle()
            assert (await world.get(Widget, "a")).status.ready == turn % 2
        assert world.running("widget").metrics.hot_loops == 0
        assert new_widget.metadata.generation > 50


async def one_child(obj: Widget, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [config("child")])


async def one_child_made(obj: Widget, ctx: sp.Context) -> None:
    if not ctx.owned(ConfigMap):
        await ctx.create(ConfigMap(metadata=ObjectMeta(generate_name="child-")))


@pytest.mark.parametrize("reconcile", [one_child, one_child_made])
@pytest.mark.parametrize("age", [1, 3600])
@virtual_time
async def test_nothing_more_is_made_for_an_object_that_is_gone_though_the_cache_shows_it(
    reconcile: Any, age: float
) -> None:
    wires = Wires()
    async with cluster(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        new_widget = await world.create(widget())
        await world.settle()
        await advance(age)
        wires.wire.delays["widgets"] = 20.0
        before = len(wires.wire.writes("configmaps"))
        await world.delete(new_widget)
        await advance(15)
        assert world.running("widget").informers[Widget.resource.gvr].lister.try_get("default/a") is not None
        assert len(wires.wire.writes("configmaps")) - before <= 1
        await advance(60)
        assert not [config_map for config_map in await world.list(ConfigMap) if config_map.metadata.owner_references]


@virtual_time
async def test_an_object_made_anew_gets_its_children_though_the_cache_shows_the_old_one() -> None:
    wires = Wires()
    async with cluster(sp.Controller(Widget, one_child).owns(ConfigMap)).over(wires) as world:
        new_widget = await world.create(widget())
        await world.settle()
        wires.wire.delays["widgets"] = 20.0
        await world.delete(new_widget)
        again = await world.create(widget())
        await advance(15)
        child = await world.get(ConfigMap, "child")
        assert [reference.uid for reference in child.metadata.owner_references] == [again.uid]


@virtual_time
async def test_a_child_that_somebody_deletes_comes_back_at_once() -> None:
    async with cluster(sp.Controller(Widget, one_child).owns(ConfigMap)) as world:
        await world.create(widget())
        for _ in range(5):
            await world.settle()
            await world.delete(await world.get(ConfigMap, "child"))
        await world.settle()
        assert await world.find(ConfigMap, "child") is not None


@virtual_time
async def test_applying_a_secret_with_texts_again_changes_nothing() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(Secret.named("child", data={"raw": b"\x00"}, string_data={"user": "me", "pass": "grün"}))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(Secret)).over(wires) as world:
        await world.create(widget())
        await world.settle()
        secret = await world.get(Secret, "child")
        assert secret.data == {"raw": b"\x00", "user": b"me", "pass": "grün".encode()}
        for turn in range(3):
            await world.client.patch(Widget, "a", {"metadata": {"labels": {"turn": str(turn)}}})
            await world.settle()
        assert (await world.get(Secret, "child")).metadata.resource_version == secret.metadata.resource_version
        bodies = [request.body for request in wires.wire.requests if "/secrets/child" in request.path]
        assert len(bodies) >= 4
        assert not any(b"stringData" in (body or b"") for body in bodies), "which real servers take for a change"
