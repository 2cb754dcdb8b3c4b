"""Explanations of objects that make no progress: every verdict, in its situation."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import setpoint as sp
from setpoint.client import Forbidden, Request
from setpoint.controller import Cause
from setpoint.controller import predicates as p
from setpoint.controller.explain.explanation import Explanation, explain, summary
from setpoint.controller.explain.object_listing import Survey
from setpoint.controller.explain.verdict import STATES, CachedHead, Facts, verdict
from setpoint.controller.history import Attempt, EventHistory
from setpoint.crd import crd_for
from setpoint.manager import LeaderElection
from setpoint.meta import ObjectKey, Status
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import EPOCH, advance, cluster, virtual_time

from .world import Widget, Wires, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


def why(world: Any, key: str = "default/a", name: str = "widget") -> Explanation:
    run = world.running(name)
    explanation = explain(run, key)
    assert Survey().state(run, ObjectKey(key)) == explanation.state, "a listing says the same as an explanation"
    return explanation


@virtual_time
async def test_running_queued_and_idle() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await asyncio.sleep(10)

    async with bare(sp.Controller(Widget, reconcile, workers=1)) as world:
        await world.create(widget("a", size=1))
        await advance(1)
        await world.create(widget("b"))
        await advance(1)
        history = why(world)
        assert (history.state, history.since) == ("running", EPOCH)
        assert history.text == "for 2 s; because of create of Widget default/a"
        history = why(world, "default/b")
        assert (history.state, history.text) == (
            "queued",
            "ready for the next worker; because of create of Widget default/b",
        )
        changed = await world.get(Widget, "a")
        changed.spec.size = 2
        await world.update(changed)
        await advance(1)
        assert why(world).text.endswith("; to be reconciled again at once")
        await advance(60)
        history = why(world)
        assert (history.state, history.generation) == ("idle", 2)
        assert history.text.startswith("nothing to do since generation 2, reconciled ")
        assert [moment.result for moment in history.timeline] == ["success", "success"]
        assert summary(world.running("widget")).results["success"] == 3


@virtual_time
async def test_backing_off_says_after_which_error_and_until_when() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        if obj.name == "soon":
            return sp.after(30, "the lease is checked")
        if obj.name == "later":
            return sp.retry("the volume is not there", after=30)
        raise ValueError("the disk is on fire")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        for name in ("a", "soon", "later"):
            await world.create(widget(name))
        await advance(15)
        history = why(world)
        failures = history.failures
        assert history.state == "backing off"
        assert f"after ValueError: the disk is on fire ({failures} times in a row)" in history.text
        assert history.until is not None
        assert history.until > history.now
        last = history.timeline[-1]
        assert (last.result, last.detail, last.next) == ("error", "ValueError: the disk is on fire", history.until)
        assert len(history.timeline) <= 16
        soon = why(world, "default/soon")
        assert (soon.state, soon.until) == ("waiting", EPOCH + timedelta(seconds=30))
        assert soon.text == "next in 15 s, as its last reconcile asked for: the lease is checked"
        later = why(world, "default/later")
        assert (later.state, later.text) == ("backing off", "next in 15 s, after the volume is not there")


@virtual_time
async def test_a_terminal_error_is_said_and_so_is_that_nothing_will_happen() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        raise sp.TerminalError("size must be even")

    async with bare(sp.Controller(Widget, reconcile, owns_status=False)) as world:
        await world.create(widget("a"))
        await world.settle()
        history = why(world)
        assert history.state == "failed"
        assert history.text == "terminal error, no retry until something changes: TerminalError: size must be even"


@virtual_time
async def test_an_event_that_a_predicate_kept_out_is_named_with_the_predicate() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        """Nothing to do."""

    watched = p.labels_changed & p.in_namespaces("default")
    async with bare(sp.Controller(ConfigMap, reconcile, predicates=[watched, p.is_deleting | p.labels_changed])) as w:
        new_config = await w.create(config("a"))
        await w.settle()
        new_config.data["x"] = "1"
        new_config = await w.update(new_config)
        await w.settle()
        history = why(w, name="configmap")
        assert history.state == "filtered"
        version = history.timeline[0].resource_version
        assert history.text == (
            "the predicate (labels_changed & in_namespaces(default)) filtered out the last change "
            f"(update of ConfigMap default/a); last reconciled at version {version}"
        )
        assert summary(w.running("configmap")).filtered == 1


@virtual_time
async def test_a_filtered_event_of_what_is_up_to_date_is_a_remark() -> None:
    """The usual case: the controller's predicate keeps out the echoes of status writes."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with bare(sp.Controller(Widget, reconcile, predicates=[p.generation_changed])) as world:
        new_widget = await world.create(widget("a"))
        await world.settle()
        await world.client.patch(Widget, "a", {"metadata": {"labels": {"x": "y"}}}, namespace="default")
        await world.settle()
        history = why(world)
        assert history.state == "idle"
        assert "the predicate generation_changed filtered out" in history.text
        assert new_widget.metadata.generation == history.generation


@virtual_time
async def test_a_filtered_event_of_a_child_is_told_with_its_owner() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(config("child", x="1"))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap, predicates=[p.generation_changed])) as world:
        await world.create(widget("a"))
        await world.settle()
        await world.client.patch(ConfigMap, "child", {"data": {"x": "2"}}, namespace="default")
        await world.settle()
        history = why(world)
        assert "the last change (update of ConfigMap default/child)" in history.text
        (write,) = history.timeline[-1].writes
        assert (write.verb, write.kind, write.key) == ("apply", "ConfigMap", "default/child")


@virtual_time
async def test_a_warning_that_was_the_last_word_does_not_look_as_if_all_were_well() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        if obj.spec.size == 1:
            ctx.event("Normal", "Looked", "a look at the till")
            ctx.event("Warning", "TillMissing", "the till does not answer")
            ctx.event("Normal", "Elsewhere", "all well there", about=config("another"))
        if obj.spec.size == 2:
            ctx.event("Warning", "TillSlow", "the till answers late")
            return sp.after(60)
        if obj.spec.size == 3:
            ctx.event("Warning", "TillMissing", "the till does not answer")
            ctx.event("Normal", "TillFound", "it answers now")
        return None

    async with bare(sp.Controller(Widget, reconcile)) as world:
        new_widget = await world.create(widget("a", size=1))
        await world.settle()
        history = why(world)
        assert history.state == "warned"
        assert history.text.startswith(
            "TillMissing: the till does not answer; no retry is planned before something changes"
        )
        listing = await Survey().listing([world.running("widget")])
        assert [(obj.state, obj.text) for obj in listing.objects] == [("warned", history.text)]
        for size, state in ((2, "waiting"), (3, "idle")):
            new_widget = await world.get(Widget, "a")
            new_widget.spec.size = size
            await world.update(new_widget)
            await advance(5)
            history = why(world)
            assert history.state == state
            assert ("its last event was the warning TillSlow: the till answers late" in history.text) == (size == 2)


@virtual_time
async def test_what_is_gone_was_never_there_or_is_held_by_somebody_else() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with bare(sp.Controller(Widget, reconcile, namespace="default", selector="x!=y")) as world:
        held = widget("held")
        held.metadata.finalizers = ["other.example.com/hold"]
        await world.create(held)
        new_widget = await world.create(widget("a"))
        await world.settle()
        await world.delete(new_widget)
        await world.delete(await world.get(Widget, "held"))
        await world.settle()
        assert why(world).state == "deleted"
        history = why(world, "default/nobody")
        assert (history.state, history.text) == (
            "unknown",
            "there is no such object in the cache, which is limited to namespace default, selector x!=y",
        )
        assert why(world, "held").text.endswith("; the key of a Widget is NAMESPACE/NAME")
        history = why(world, "default/held")
        assert (history.state, history.text) == (
            "being deleted",
            "waits for the finalizer other.example.com/hold",
        )
        run = world.running("widget")
        history = explain(run, "default/held", among=[run])
        assert "the finalizer other.example.com/hold, which no controller here is known to remove" in history.text


@virtual_time
async def test_a_controller_of_the_process_that_declares_the_finalizer_is_named() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async def held(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        return sp.after(60)

    other = sp.Controller(Widget, reconcile, name="keeper").finalize(held, name="keep.example.com/it")
    async with bare(sp.Controller(Widget, reconcile), other) as world:
        new_widget = await world.create(widget("a"))
        await world.settle()
        await world.delete(new_widget)
        await advance(5)
        run = world.running("widget")
        explanation = explain(run, "default/a", among=[run, world.running("keeper")])
        assert explanation.state == "being deleted"
        assert explanation.text == "waits for the finalizer keep.example.com/it, which keeper removes"


@virtual_time
async def test_a_cache_that_does_not_sync_is_said_with_the_servers_answer() -> None:
    wires = Wires()

    def forbid(request: Request) -> None:
        if request.path.endswith("/secrets"):
            raise Forbidden(Status(message="secrets is forbidden", code=403, reason="Forbidden"))

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    def transport(inner: Any) -> Any:
        wire = wires(inner)
        wire.before = forbid
        return wire

    world = bare(sp.Controller(Widget, reconcile).reads(Secret)).over(transport)
    await world.__aenter__()
    await advance(5)
    history = why(world)
    assert history.state == "not synced"
    assert "the cache of secrets is not synced: " in history.text
    assert "forbidden" in history.text
    caches = {cache.resource: cache for cache in summary(world.running("widget")).caches}
    assert caches["widgets"].synced
    assert not caches["secrets"].synced
    assert "forbidden" in caches["secrets"].error
    await world.__aexit__(None, None, None)


@virtual_time
async def test_a_cache_that_is_not_refreshed_any_more_is_told_with_every_verdict() -> None:
    """Such as that of a kind whose definition is deleted: the controller goes on when it is back."""
    seen: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.spec.size)

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget("a", size=1))
        await world.settle()
        assert why(world).caches == []
        definition = await world.client.get(CustomResourceDefinition, "widgets.test.example.com")
        await world.delete(definition)
        await advance(60)
        history = why(world)
        assert history.state == "deleted"
        (trouble,) = history.caches
        assert trouble.startswith("the cache of widgets has received nothing for ")
        assert "the server could not find the requested resource" in trouble or "not found" in trouble.lower(), trouble
        await world.client.request(
            "POST", CustomResourceDefinition.resource.path(), body=msgspec.json.encode(crd_for(Widget))
        )
        await advance(5)
        await world.create(widget("a", size=7))
        await advance(60)
        history = why(world)
        assert (seen, history.state, history.caches) == ([1, 7], "idle", [])


@virtual_time
async def test_a_standby_says_so_and_a_controller_that_has_ended_says_why() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with (
        bare(sp.Controller(Widget, reconcile)) as world,
        sp.Manager(
            world.client,
            controllers=[sp.Controller(Widget, reconcile, name="leading")],
            leader_election=LeaderElection(name="x", identity="a"),
            options=sp.ManagerOptions(now=world.now),
        ) as leader,
        sp.Manager(
            world.client,
            controllers=[sp.Controller(Widget, reconcile)],
            leader_election=LeaderElection(name="x", identity="b"),
            options=sp.ManagerOptions(now=world.now),
        ) as standby,
    ):
        await world.create(widget("a"))
        await advance(5)
        assert explain(leader.controllers["leading"], "default/a").state == "idle"
        assert why(world).state == "idle"
        assert explain(standby.controllers["widget"], "default/a").state == "standby"
    stopped = explain(world.running("widget"), "default/a")
    assert (stopped.state, stopped.text) == ("stopped", "the controller has stopped: it was asked to")


@virtual_time
async def test_a_hot_loop_is_named() -> None:
    count = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal count
        count += 1
        await ctx.apply(config("child", x=str(count)))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget("a"))
        await advance(0.5)
        history = why(world)
        assert history.state == "slowed down"
        assert history.text.startswith("it changes ConfigMap default/child again and again; next in ")


@virtual_time
async def test_a_key_that_waits_for_the_cache_to_show_its_own_write_says_so() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(config("child", x=str(obj.spec.size)))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.delays["configmaps"] = 5
        new_widget = await world.create(widget("a"))
        await advance(1)
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 2
        await world.update(new_widget)
        await advance(2)
        history = why(world)
        assert (history.state, history.text) == (
            "running",
            "waits for 2 s until the caches show what its last reconcile wrote",
        )


def test_verdicts_are_tried_in_the_order_of_their_list() -> None:
    """Every state can be reached, and every fact that would lead to a later one does not hide an earlier."""
    attempt = Attempt(0.0, 1.0, (), "5", 1, (), "error", "boom", None)
    steps: list[tuple[dict[str, Any], str]] = [
        ({"cached": CachedHead(1, "5", False, ())}, "idle"),
        ({"unready": "it is not ready (Oil): too dry"}, "not ready"),
        ({"attempts": (replace(attempt, result="success", warning="TillMissing: it does not answer"),)}, "warned"),
        ({"attempts": (attempt,)}, "failed"),
        ({"cached": CachedHead(1, "5", True, ("x",))}, "being deleted"),
        ({"paused": "paused by its annotation"}, "paused"),
        ({"cached": None, "deleted_at": 3.0}, "deleted"),
        ({"deleted_at": None}, "unknown"),
        ({"queue": "delayed", "ready_at": 12.0, "attempts": (replace(attempt, next_in=11.0),)}, "backing off"),
        ({"attempts": (replace(attempt, result="requeue_after", next_in=11.0),)}, "not ready"),
        ({"unready": ""}, "waiting"),
        ({"slowed": "it changes Pod x again and again"}, "slowed down"),
        ({"queue": "ready"}, "queued"),
        ({"elsewhere": "it is b's"}, "not in this shard"),
        ({"phase": "syncing"}, "not synced"),
        ({"phase": "new"}, "standby"),
        ({"phase": "stopped"}, "stopped"),
        ({"running_since": 9.0}, "running"),
        ({"running_since": -50.0}, "running long"),
    ]
    given: dict[str, Any] = {"key": ObjectKey("default/a"), "now": 10.0}
    results = []
    for more, state in steps:
        given |= more
        results.append(verdict(Facts(**given)).state)
        assert results[-1] == state
    assert set(results) | {"filtered"} == set(STATES)
    assert [state for state in STATES if state != "filtered"] == sorted(set(results), key=list(STATES).index)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("it is not ready (Oil): too dry", "Oil: too dry"),
        ("it is not ready (Oil)", "Oil"),
        ("it is not ready: too dry", "too dry"),
        ("it is not ready", "it is not ready"),
        ("its condition Valid is False (Oil)", "its condition Valid is False (Oil)"),
    ],
)
def test_the_reason_for_not_ready_does_not_repeat_the_state(reason: str, text: str) -> None:
    facts = Facts(key=ObjectKey("default/a"), now=10.0, cached=CachedHead(1, "5", False, ()), unready=reason)
    rest = "; nothing to do; its last reconcile is no longer remembered"
    assert verdict(facts) == ("not ready", text + rest, None, None)


@virtual_time
async def test_what_is_remembered_is_bounded() -> None:
    events = EventHistory(max_keys=3)
    for number in range(10):
        events.add_filtered(ObjectKey(f"default/{number}"), "x", Cause("update"))
        events.add_deletion(ObjectKey(f"default/{number}"))
    events.add_filtered(ObjectKey("default/7"), "y", Cause("update"))
    events.add_filtered(ObjectKey("default/10"), "x", Cause("update"))
    remembered = [number for number in range(11) if events.last_filtered(ObjectKey(f"default/{number}"))]
    assert remembered == [7, 9, 10], "the one that was heard of longest ago is forgotten first"
    assert [number for number in range(10) if events.deleted_at(ObjectKey(f"default/{number}")) is not None] == [
        7,
        8,
        9,
    ]


@virtual_time
async def test_an_appointment_is_a_cause_only_of_what_it_led_to() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        if obj.spec.size == 3:
            raise RuntimeError("three is a crowd")
        return sp.after(30)

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(10)
        await world.client.patch(Widget, "a", {"spec": {"size": 2}})
        await advance(31)
        parts = [[cause.split(" ")[0] for cause in moment.causes] for moment in why(world).timeline]
        assert parts == [["create"], ["update"], ["after"]]
        assert why(world).pending == ["after"], "that one is to come"
        await world.client.patch(Widget, "a", {"spec": {"size": 3}})
        await advance(0.001)
        await world.client.patch(Widget, "a", {"spec": {"size": 4}})
        await advance(0.001)
        parts = [[cause.split(" ")[0] for cause in moment.causes] for moment in why(world).timeline]
        assert parts[3:] == [["update"], ["update"]]
