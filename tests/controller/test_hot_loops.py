"""Keys in hot loops are slowed down, and the log says why."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.client import WriteRecord
from setpoint.controller import HotLoopLimits, predicates
from setpoint.controller.hotloop import MAX_OBJECTS, HotLoopDetector
from setpoint.controller.telemetry import BoundLogger
from setpoint.manager import LeaderElection
from setpoint.meta import ObjectKey, Resource, resource_of
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, config, widget


def bare(*controllers: sp.Controller[Any]) -> Any:
    return cluster(*controllers, control_plane=False, rbac=False)


async def rival(world: Any, pause: float, data: dict[str, str]) -> None:
    """Another manager that has its own idea of the child, and comes now and then."""
    while True:
        await asyncio.sleep(pause)
        if await world.find(ConfigMap, "child") is not None:
            await world.client.patch(ConfigMap, "child", {"data": data}, field_manager="rival")


async def fought(controller: sp.Controller[Any], *, pause: float, seconds: float) -> Any:
    """The metrics of a controller that has had a `rival` for so long."""
    async with bare(controller) as world:
        await world.create(widget())
        fight = asyncio.ensure_future(rival(world, pause, {"x": "theirs"}))
        await advance(seconds)
        await stop(fight)
        return world.running("widget").metrics


async def by_apply(obj: Widget, ctx: sp.Context) -> None:
    await ctx.apply(config("child", x="ours", y="same"))


async def by_keep(obj: Widget, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [config("child", x="ours", y="same")])


async def by_patch(obj: Widget, ctx: sp.Context) -> None:
    child = await ctx.get(ConfigMap, "child")
    if child is None:
        await ctx.create(config("child", x="ours", y="same"))
    elif child.data["x"] != "ours":
        await ctx.patch(child, {"data": {"x": "ours"}})


@pytest.mark.parametrize("reconcile", [by_apply, by_keep, by_patch])
@virtual_time
async def test_a_field_that_alternates_is_noticed_at_any_pace_and_both_managers_are_named(
    reconcile: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        metrics = await fought(sp.Controller(Widget, reconcile).owns(ConfigMap), pause=20, seconds=590)
    assert metrics.hot_loops == 1
    fields = [record.fields for record in caplog.records if "back and forth" in record.getMessage()]  # type: ignore[attr-defined]
    assert len(fields) == 1
    assert fields[0]["fields"] == ["data.x"]
    assert any(manager.startswith("widget.test.example.com ") for manager in fields[0]["managers"])
    assert "rival (Update)" in fields[0]["managers"]


@virtual_time
async def test_own_write_own_event_equal_write_is_noticed_at_any_pace() -> None:
    calls = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        child = await ctx.apply(config("child"))
        await asyncio.sleep(5)
        for answer in ("no", "yes"):  # both change it, and both are as they were the last time
            child = await ctx.patch(child, {"data": {"sure": answer}})

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await advance(60)
        assert calls < 13
        assert world.running("widget").metrics.hot_loops == 1
        calls = 0
        await advance(600)
        assert calls < 20


@virtual_time
async def test_what_others_lead_to_is_no_circle() -> None:
    """A status that follows something that flickers is written in the same words many times."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        child = await ctx.get(ConfigMap, "sensor")
        obj.status.ready = int(child.data["on"]) if child is not None else 0

    controller = sp.Controller(Widget, reconcile).watches(ConfigMap, lambda head: [f"{head.namespace}/a"])
    async with bare(controller) as world:
        await world.create(widget())
        sensor = await world.create(config("sensor", on="0"))
        for turn in range(100):
            sensor.data["on"] = str(turn % 2)
            sensor = await world.update(sensor)
            await advance(5)
            assert (await world.get(Widget, "a")).status.ready == turn % 2
        assert world.running("widget").metrics.hot_loops == 0


@virtual_time
async def test_the_limits_are_a_controllers_own() -> None:
    calls = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        if calls < 500:
            await ctx.apply(config("child", turn=str(calls)))

    async def made_in(seconds: float, limits: HotLoopLimits | None) -> int:
        nonlocal calls
        calls = 0
        async with bare(sp.Controller(Widget, reconcile, hot_loop=limits).owns(ConfigMap)) as world:
            await world.create(widget())
            await advance(seconds)
        return calls

    assert await made_in(0.5, HotLoopLimits(writes=5)) == 6
    assert await made_in(0.5, HotLoopLimits()) == 31
    assert await made_in(0.5, None) == 500
    sparse = HotLoopLimits(repeats=2)
    assert (
        await fought(sp.Controller(Widget, by_apply, hot_loop=sparse).owns(ConfigMap), pause=20, seconds=90)
    ).hot_loops
    wide = HotLoopLimits(repeats=100)
    controller = sp.Controller(Widget, by_apply, hot_loop=wide).owns(ConfigMap)
    assert not (await fought(controller, pause=20, seconds=590)).hot_loops
    with pytest.raises(ValueError, match=r"HotLoopLimits\(writes=0\): must be more than 0"):
        HotLoopLimits(writes=0)


@virtual_time
async def test_a_hot_loop_is_slowed_down_and_explained(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        await ctx.apply(config("child", turn=str(calls)))

    with caplog.at_level(logging.WARNING):
        async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
            await world.create(widget())
            await advance(600)
            assert world.running("widget").metrics.hot_loops == 1
            assert calls < 60, "without the detector this would be thousands"
    records = [record for record in caplog.records if "back and forth" in record.getMessage()]
    assert records[0].fields["fields"] == ["data.turn"]  # type: ignore[attr-defined]
    assert records[0].fields["managers"] == ["widget.test.example.com (Apply)"]  # type: ignore[attr-defined]


@virtual_time
async def test_a_new_generation_frees_a_hot_key() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        if obj.spec.size == 1:
            await ctx.apply(config("child", turn=str(calls)))

    calls = 0
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await advance(300)
        before = calls
        current_widget = await world.get(Widget, "a")
        current_widget.spec.size = 2
        await world.update(current_widget)
        await advance(1)
        assert calls == before + 1


@virtual_time
async def test_what_is_counted_of_a_key_that_goes_on_making_objects_is_bounded() -> None:
    detector = HotLoopDetector(BoundLogger(logging.getLogger("test"), {}), _unread, HotLoopLimits())
    key, resource = ObjectKey("default/a"), resource_of(ConfigMap)

    def write(numbers: range) -> None:
        for number in numbers:
            write_record = WriteRecord(resource, ObjectKey(f"default/c-{number}"), "", str(number + 1), "create")
            assert not detector.count_write(key, 1, write_record)

    write(range(2 * MAX_OBJECTS))
    assert len(detector._counts[key]) == MAX_OBJECTS
    await advance(HotLoopLimits().within + 1)
    write(range(10))
    assert len(detector._counts[key]) == 10, "what was written so long ago can't make a key hot"


async def _unread(resource: Resource, key: ObjectKey) -> dict[str, Any] | None:
    return None


@pytest.mark.parametrize("elected", [True, False])
@virtual_time
async def test_writes_with_the_managers_own_client_count_as_those_of_the_context(elected: bool) -> None:
    """A leader's contexts write with a client of their own, which the lease fences."""
    election = LeaderElection(name="test", identity="me", namespace="default") if elected else None
    turn = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        nonlocal turn
        turn += 1
        client = manager.client
        assert (client is ctx.client) is not elected
        await client.apply(config("child", turn=str(turn)))
        return sp.after(0.1)

    async with (
        cluster(control_plane=False, rbac=False, crds=[Widget]) as world,
        sp.Manager(
            world.client,
            controllers=[sp.Controller(Widget, reconcile)],
            leader_election=election,
            options=sp.ManagerOptions(now=world.now, random=world.random),
        ) as manager,
    ):
        await world.create(widget())
        await advance(600)
        assert manager.controllers["widget"].metrics.hot_loops == 1
        assert turn < 100


@pytest.mark.parametrize("limits", [HotLoopLimits(), None])
@virtual_time
async def test_a_key_that_fails_and_is_slowed_down_keeps_its_back_off(limits: HotLoopLimits | None) -> None:
    failures: list[int] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        failures.append(ctx.failures)
        for number in range(4):
            await ctx.patch(obj, {"data": {"n": f"{len(failures)}-{number}"}})
        raise OSError("down")

    ignores_updates = [~predicates.updates_where(lambda old, new: True) | predicates.of_types(update=False)]
    controller = sp.Controller(ConfigMap, reconcile, name="fails", predicates=ignores_updates, hot_loop=limits)
    async with bare(controller) as world:
        await world.create(config("child"))
        await advance(6 * 3600)
    assert failures == list(range(len(failures)))
    assert 30 <= len(failures) <= 39
