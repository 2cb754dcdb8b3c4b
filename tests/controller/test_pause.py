"""Paused objects and controllers: no reconcile, no clean-up, and a reason where people look."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import setpoint as sp
from setpoint.cache import CacheSyncError
from setpoint.client import TransportError
from setpoint.controller.explain.explanation import explain, summary
from setpoint.controller.explain.object_listing import Survey
from setpoint.manager import Manager, ManagerOptions
from setpoint.manager.pause_switch import PAUSE_SWITCH
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wire, Wires, config, widget

PAUSE = "test.example.com/paused"


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


class Calls:
    """A reconcile function and a clean-up that note what they were called for."""

    def __init__(self) -> None:
        self.reconciled: list[tuple[str, int]] = []
        self.cleaned: list[str] = []

    async def reconcile(self, obj: Widget, ctx: sp.Context) -> None:
        self.reconciled.append((obj.name, obj.spec.size))
        obj.status.ready = obj.spec.size

    async def clean_up(self, obj: Widget, ctx: sp.Context) -> None:
        self.cleaned.append(obj.name)


def condition(obj: Widget) -> tuple[str, str, str] | None:
    return next(
        (
            (condition.status, condition.reason, condition.message)
            for condition in obj.status.conditions
            if condition.type == "Paused"
        ),
        None,
    )


async def annotated(world: Any, name: str, **values: str | None) -> Widget:
    patch = {"metadata": {"annotations": {PAUSE if key == "pause" else key: value for key, value in values.items()}}}
    obj: Widget = await world.client.patch(Widget, name, patch, namespace="default")
    return obj


@virtual_time
async def test_a_paused_object_is_left_alone_until_it_is_resumed() -> None:
    calls = Calls()
    async with bare(sp.Controller(Widget, calls.reconcile).finalize(calls.clean_up)) as world:
        await world.create(widget(size=1))
        await world.settle()
        await annotated(world, "a", pause="moving the storage")
        await world.settle()
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await advance(3600)
        assert calls.reconciled == [("a", 1)]
        obj = await world.get(Widget, "a")
        assert obj.status.ready == 1
        assert condition(obj) == (
            "True", "PausedByAnnotation",
            "no reconcile before the annotation test.example.com/paused is removed: moving the storage",
        )  # fmt: skip

        run = world.running("widget")
        explanation = explain(run, obj.key)
        assert (explanation.state, "moving the storage" in explanation.text) == ("paused", True)
        assert (await Survey().listing([run])).counts == {"paused": 1}
        assert run.metrics.paused == 1

        await annotated(world, "a", pause=None)
        await world.settle()
        assert calls.reconciled == [("a", 1), ("a", 2)]
        obj = await world.get(Widget, "a")
        assert condition(obj) is None
        assert obj.status.ready == 2
        assert run.metrics.paused == 0
        assert (await Survey().listing([run])).counts == {"idle": 1}


@virtual_time
async def test_a_deletion_of_a_paused_object_waits_and_says_so() -> None:
    calls = Calls()
    async with bare(sp.Controller(Widget, calls.reconcile).finalize(calls.clean_up)) as world:
        await world.create(widget())
        await world.settle()
        await annotated(world, "a", pause="true")
        await world.delete(await world.get(Widget, "a"))
        await advance(600)
        obj = await world.get(Widget, "a")
        assert obj.metadata.finalizers == ["test.example.com/widget"]
        assert calls.cleaned == []
        text = "the deletion waits until the annotation test.example.com/paused is removed"
        assert condition(obj) == ("True", "PausedByAnnotation", text)
        assert explain(world.running("widget"), obj.key).text == text
        assert ("DeletionPaused", text) in [(event.reason, event.note) for event in await world.list(Event)]

        await annotated(world, "a", pause=None)
        await world.settle()
        assert calls.cleaned == ["a"]
        assert await world.find(Widget, "a") is None


@virtual_time
async def test_an_object_that_is_created_paused_gets_no_finalizer() -> None:
    calls = Calls()
    async with bare(sp.Controller(Widget, calls.reconcile).finalize(calls.clean_up)) as world:
        obj = widget()
        obj.metadata.annotations = {PAUSE: "true"}
        await world.create(obj)
        await world.settle()
        assert (await world.get(Widget, "a")).metadata.finalizers == []
        await world.delete(await world.get(Widget, "a"))
        await world.settle()
        assert await world.find(Widget, "a") is None, "no clean-up was promised, so none is waited for"
        assert (calls.reconciled, calls.cleaned) == ([], [])


@virtual_time
@pytest.mark.parametrize(("value", "is_paused"), [("", True), ("true", True), ("True", True), ("false", False)])
async def test_every_value_but_false_pauses(value: str, is_paused: bool) -> None:
    calls = Calls()
    async with bare(sp.Controller(Widget, calls.reconcile)) as world:
        obj = widget()
        obj.metadata.annotations = {PAUSE: value}
        await world.create(obj)
        await world.settle()
        assert calls.reconciled == ([] if is_paused else [("a", 1)])


@virtual_time
async def test_predicates_of_changes_let_a_pause_and_its_end_through_and_those_of_objects_do_not() -> None:
    calls = Calls()
    predicates = [sp.controller.predicates.generation_changed, sp.controller.predicates.in_namespaces("default")]
    async with bare(sp.Controller(Widget, calls.reconcile, predicates=predicates)) as world:
        await world.create(Namespace.named("elsewhere"))
        for space in ("default", "elsewhere"):
            await world.create(widget("a", namespace=space))
        await world.settle()
        assert calls.reconciled == [("a", 1)]
        await annotated(world, "a", pause="true")
        await world.settle()
        assert condition(await world.get(Widget, "a")) is not None
        for value in ("true", None):
            await annotated(world, "a", pause=value)
            patch = {"metadata": {"annotations": {PAUSE: value}}}
            await world.client.patch(Widget, "a", patch, namespace="elsewhere")
            await world.settle()
        assert calls.reconciled == [("a", 1), ("a", 1)]


@virtual_time
async def test_a_pause_ends_the_back_off_and_the_calls_that_were_asked_for() -> None:
    tries = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal tries
        tries += 1
        raise ConnectionError("the mill can't be reached")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(60)
        await annotated(world, "a", pause="true")
        await world.settle()
        before = tries
        await advance(7200)
        assert tries == before
        assert world.running("widget").queue.state("default/a") is None


@virtual_time
async def test_a_pause_costs_one_write_however_many_events_follow() -> None:
    wires = Wires()
    calls = Calls()

    async def of_map(head: Any) -> list[sp.ObjectKey]:
        return [sp.ObjectKey.of("default", "a")]

    controller = sp.Controller(Widget, calls.reconcile).watches(ConfigMap, of_map)
    async with bare(controller).over(wires) as world:
        obj = widget()
        obj.metadata.annotations = {PAUSE: "true"}
        await world.create(obj)
        await world.settle()
        for number in range(20):
            await world.create(config(f"map-{number}"))
            await world.settle()
        assert calls.reconciled == []
        assert len(wires.wire.writes("/status")) == 1
        assert len(world.running("widget").timeline.of(sp.ObjectKey("default/a"))) == 1


@virtual_time
async def test_the_annotation_can_be_named_and_switched_off() -> None:
    named, off = Calls(), Calls()
    async with bare(
        sp.Controller(Widget, named.reconcile, name="named", pause_annotation="ops.example.org/hold"),
        sp.Controller(Widget, off.reconcile, name="off", pause_annotation="", owns_status=False),
    ) as world:
        obj = widget()
        obj.metadata.annotations = {"ops.example.org/hold": "true", PAUSE: "true"}
        await world.create(obj)
        await world.settle()
        assert (named.reconciled, set(off.reconciled)) == ([], {("a", 1)})
    with pytest.raises(ValueError, match="annotation 'a/b/c'"):
        sp.Controller(Widget, named.reconcile, pause_annotation="a/b/c")


@virtual_time
async def test_two_annotations_of_two_controllers_do_not_fight_about_the_condition() -> None:
    one, two = Calls(), Calls()
    wires = Wires()
    async with bare(
        sp.Controller(Widget, one.reconcile, name="one"),
        sp.Controller(Widget, two.reconcile, name="two", pause_annotation="ops.example.org/hold"),
    ).over(wires) as world:
        obj = widget()
        obj.metadata.annotations = {"ops.example.org/hold": "true", PAUSE: "true"}
        await world.create(obj)
        await advance(60)
        writes = len(wires.wire.writes("/status"))
        await annotated(world, "a", pause=None)
        await advance(60)
        assert (one.reconciled[:1], two.reconciled) == ([("a", 1)], [])
        shown = condition(await world.get(Widget, "a"))
        assert shown is not None
        assert "ops.example.org/hold" in shown[2]
        assert writes <= 2
        assert len(wires.wire.writes("/status")) <= writes + 3


@virtual_time
async def test_a_condition_paused_of_the_users_own_function_stays() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.spec.size == 1:
            ctx.set_condition("Paused", True, "Weekend", "nothing is milled on Sundays")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        created = await world.create(widget())
        await world.settle()
        created = await world.get(Widget, "a")
        created.spec.size = 2
        await world.update(created)
        await world.settle()
        assert condition(await world.get(Widget, "a")) == ("True", "Weekend", "nothing is milled on Sundays")


@virtual_time
async def test_built_in_kinds_have_no_annotation_unless_it_is_named() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.name)

    assert sp.Controller(ConfigMap, reconcile).controls.pause == ""
    async with bare(sp.Controller(ConfigMap, reconcile, pause_annotation="example.org/paused")) as world:
        held = config("held")
        held.metadata.annotations = {"example.org/paused": "true"}
        await world.create(held)
        await world.create(config("free"))
        await world.settle()
        assert seen == ["free"]


@virtual_time
async def test_a_paused_controller_does_nothing_writes_nothing_and_goes_on_where_it_stopped() -> None:
    calls = Calls()
    async with bare(crds=[Widget]) as world:
        manager = Manager(
            world.client,
            controllers=[sp.Controller(Widget, calls.reconcile)],
            options=ManagerOptions(pause_switch=PAUSE_SWITCH),
        )
        await world.create(ConfigMap.named(PAUSE_SWITCH, "default", data={"widget": "the mill burns"}))
        await world.create(widget("a"))
        running = asyncio.get_running_loop().create_task(manager.run())
        await advance(60)
        run = manager.controllers["widget"]
        assert calls.reconciled == [], "a process that starts during the incident does not begin"
        assert explain(run, "default/a").text == "the controller is paused: the mill burns"
        assert summary(run).problem == "the controller is paused: the mill burns"
        assert (await world.get(Widget, "a")).status.conditions == []
        await world.create(widget("b"))
        await advance(60)
        await world.client.patch(ConfigMap, PAUSE_SWITCH, {"data": {"widget": None}}, namespace="default")
        await advance(1)
        assert sorted(calls.reconciled) == [("a", 1), ("b", 1)]
        assert run.metrics.paused == 0
        await world.client.patch(
            ConfigMap, PAUSE_SWITCH, {"data": {"widget.test.example.com": ""}}, namespace="default"
        )
        await advance(1)
        await world.create(widget("c"))
        await advance(60)
        assert explain(run, "default/c").text == "the controller is paused: no reason is given"
        await world.client.delete(ConfigMap, PAUSE_SWITCH, namespace="default")
        await advance(1)
        assert ("c", 1) in calls.reconciled
        manager.stop()
        await running


@virtual_time
async def test_a_switch_that_cannot_be_read_ends_the_start_and_says_why() -> None:
    async with bare(crds=[Widget]) as world:
        wire = Wire(world.client.transport)

        def refuse(request: Any) -> None:
            if request.path.endswith("/configmaps"):
                raise TransportError("the network is down", sent=False)

        wire.before = refuse
        options = ManagerOptions(pause_switch=PAUSE_SWITCH)
        controller = sp.Controller(Widget, Calls().reconcile)
        async with asyncio.timeout(600):
            with pytest.raises(CacheSyncError, match=r"pause switch default/setpoint-paused.*the network is down"):
                await Manager(world.client.over(wire), controllers=[controller], options=options).run()


@virtual_time
async def test_an_object_that_was_paused_while_it_failed_begins_without_failures() -> None:
    """People have changed something since: the first retries come soon again."""
    failures: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        failures.append(ctx.failures)
        raise ConnectionError("away")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(60)
        assert failures[-1] > 5
        await annotated(world, "a", pause="yes")
        await advance(1000)
        failures.clear()
        await annotated(world, "a", pause=None)
        await advance(0)
        assert failures[0] == 0
