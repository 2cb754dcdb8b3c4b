"""An object that does not fit its class is seen, reported on and cleaned up, whatever the reason why it is stored."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, Literal

import pytest

import setpoint as sp
from setpoint.client import Request, TransportError, dynamic
from setpoint.controller.defaulting_and_validation import Check
from setpoint.crd import crd_for
from setpoint.meta import from_wire, resource_of
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time

from .world import Wires, config

GROUP = "misfits.example.com"


class LooseSpec(sp.Model):
    n: int = 1
    mode: str = "a"
    name: str = ""
    every: str = "1h"
    tiers: list[dict[str, int]] = []
    free: dict[str, Any] = {}


class LooseStatus(sp.ConditionedStatus):
    phase: str = ""
    seen: int = 0


class Loose(sp.CustomResource, group=GROUP, version="v1", kind="Thing"):
    spec: LooseSpec = LooseSpec()
    status: LooseStatus = LooseStatus()


class Tier(sp.Model):
    size: Annotated[int, sp.Field(le=10)] = 1


class ThingSpec(sp.Model):
    n: Annotated[int, sp.Field(le=10)] = 1
    mode: Literal["a", "b"] = "a"
    name: Annotated[str, sp.Field(max_length=5)] = ""
    every: sp.Duration = sp.Duration(hours=1)
    tiers: list[Tier] = []
    free: dict[str, Any] = {}


class ThingStatus(sp.ConditionedStatus):
    phase: Literal["", "Ready"] = ""
    seen: int = 0


class Thing(sp.CustomResource, group=GROUP, version="v1"):
    spec: ThingSpec = ThingSpec()
    status: ThingStatus = ThingStatus()


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "bound": ({"spec": {"n": 50}}, "spec.n: Expected `int` <= 10"),
    "enum": ({"spec": {"mode": "c"}}, "spec.mode: Invalid enum value 'c'"),
    "length": ({"spec": {"name": "x" * 6}}, "spec.name: Expected `str` of length <= 5"),
    "duration": ({"spec": {"every": "1d"}}, "spec.every: '1d' is not a duration"),
    "item": ({"spec": {"tiers": [{"size": 1}, {"size": 11}]}}, "spec.tiers[1].size: Expected `int` <= 10"),
    "status": ({"status": {"phase": "Gone", "seen": 7}}, "status.phase: Invalid enum value 'Gone'"),
}


class Observed:
    """A controller's functions, with what they were given."""

    def __init__(self) -> None:
        self.reconciled: list[str] = []
        self.finalized: dict[str, Thing] = {}

    async def reconcile(self, thing: Thing, ctx: sp.Context) -> None:
        self.reconciled.append(thing.name)
        thing.status.seen = thing.spec.n

    async def finalize(self, thing: Thing, ctx: sp.Context) -> None:
        self.finalized[thing.name] = thing

    def controller(self, **options: Any) -> sp.Controller[Thing]:
        return sp.Controller(Thing, self.reconcile, **options).finalize(self.finalize)


async def define(world: Any, kind: type[sp.CustomResource]) -> None:
    definition = await world.client.get(CustomResourceDefinition, f"things.{GROUP}")
    definition.spec.versions = from_wire(CustomResourceDefinition, crd_for(kind)).spec.versions
    await world.client.update(definition)
    await asyncio.sleep(1)


async def store(world: Any, name: str, content: dict[str, Any]) -> None:
    """Stores an object that has its finalizer already, under the definition of before."""
    await define(world, Loose)
    things = dynamic(resource_of(Thing))
    thing = things.of({"metadata": {"name": name, "namespace": "default"}, "spec": {}})
    await world.create(thing)
    await world.settle()
    await world.client.patch(things, name, content)
    if "status" in content:
        await world.client.patch(things, name, content, subresource="status")
    await define(world, Thing)


@pytest.mark.parametrize(("content", "problem"), MISFITS.values(), ids=MISFITS.keys())
@virtual_time
async def test_a_misfit_is_reported_by_a_condition_and_an_event_once_and_cleaned_up(
    content: dict[str, Any], problem: str
) -> None:
    seen = Observed()
    wires = Wires()
    async with cluster(seen.controller(), control_plane=False, rbac=False).over(wires) as world:
        await store(world, "odd", content)
        await world.create(Thing.named("good"))
        await world.settle(failing=True)
        stored = await world.client.get(dynamic(resource_of(Thing)), "odd")
        condition, stalled = stored["status"]["conditions"]
        assert (stalled["type"], stalled["status"], stalled["message"]) == ("Stalled", "True", condition["message"])
        assert (condition["type"], condition["status"], condition["reason"]) == ("Reconciled", "False", "InvalidObject")
        assert problem in condition["message"]
        assert stored["status"].items() >= content.get("status", {}).items()
        events = [event for event in await world.list(Event) if event.regarding and event.regarding.name == "odd"]
        assert [(event.type, event.reason) for event in events] == [("Warning", "InvalidObject")]
        assert problem in (events[0].note or "")
        calls = len(wires.wire.writes())
        await advance(3 * 24 * 3600)
        assert len(wires.wire.writes("things")) <= calls, "it is not written again as long as it does not change"
        assert "good" in seen.reconciled
        await world.client.delete("things", "odd")
        await world.settle(failing=True)
        assert seen.finalized.keys() == {"odd"}
        assert isinstance(seen.finalized["odd"], Thing)
        assert [thing.name for thing in await world.list(Thing)] == ["good"]


@virtual_time
async def test_the_clean_up_gets_the_values_as_read_and_may_set_the_status() -> None:
    calls: list[Any] = []

    async def finalize(thing: Thing, ctx: sp.Context) -> sp.Outcome | None:
        calls.append((thing.spec.n, thing.spec.every, thing.spec.tiers))
        thing.status.seen = len(calls)
        return sp.retry("not yet", after=60) if len(calls) == 1 else None

    async def reconcile(thing: Thing, ctx: sp.Context) -> None:
        pass

    async with cluster(sp.Controller(Thing, reconcile).finalize(finalize), control_plane=False, rbac=False) as world:
        await store(world, "odd", {"spec": {"n": 50, "every": "1d", "tiers": [{"size": 11}]}})
        await world.client.delete("things", "odd")
        await advance(30)
        stored = await world.client.get(dynamic(resource_of(Thing)), "odd")
        assert stored["status"]["seen"] == 1
        await advance(60)
        assert calls == [(50, "1d", [Tier(size=11)])] * 2
        assert await world.list(Thing) == []


@virtual_time
async def test_the_clean_up_may_change_the_object() -> None:
    states: list[tuple[str, Any]] = []

    async def finalize(thing: Thing, ctx: sp.Context) -> None:
        if "patched" not in thing.labels:
            patched = await ctx.patch(thing, {"metadata": {"labels": {"patched": "yes"}}})
            states.append(("patched", (patched.labels, patched.spec.n)))
        thing = await ctx.patch(thing, {"metadata": {"annotations": {"x": "y"}}})
        if "updated" not in thing.labels:
            states.append(("updated", thing.spec.n))
            thing.labels["updated"] = "yes"
            await ctx.client.update(thing)

    async def reconcile(thing: Thing, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with cluster(sp.Controller(Thing, reconcile).finalize(finalize), control_plane=False, rbac=False) as world:
        await store(world, "odd", {"spec": {"n": 50}})
        await world.client.delete("things", "odd")
        await advance(60)
        assert states == [("patched", ({"patched": "yes"}, 50)), ("updated", 50)]
        assert await world.list(Thing) == []


@virtual_time
async def test_what_a_journal_has_of_a_misfit_is_removed() -> None:
    journal = sp.Journal(f"{GROUP}/bucket")
    buckets: list[str] = []

    async def find(token: str) -> str | None:
        return token if token in buckets else None

    async def create(token: str) -> str:
        buckets.append(token)
        return token

    async def delete(text: str) -> None:
        buckets.remove(text)

    async def reconcile(thing: Thing, ctx: sp.Context) -> None:
        await journal.ensure(ctx, find=find, create=create)

    async def finalize(thing: Thing, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=find, delete=delete)

    async with cluster(sp.Controller(Thing, reconcile).finalize(finalize), control_plane=False, rbac=False) as world:
        await store(world, "odd", {"spec": {"n": 50}})
        assert len(buckets) == 1
        await world.client.delete("things", "odd")
        await advance(60)
        assert (buckets, await world.list(Thing)) == ([], [])


@virtual_time
async def test_defaults_and_checks_are_not_applied_to_a_misfit_that_is_cleaned_up() -> None:
    seen = Observed()

    def default(thing: Thing, check: Check) -> None:
        thing.spec.every = sp.Duration.of(thing.spec.every * 2)

    controller = seen.controller()
    controller.defaults(default)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await store(world, "odd", {"spec": {"every": "1d"}})
        await world.client.delete("things", "odd")
        await world.settle(failing=True)
        assert seen.finalized.keys() == {"odd"}
        assert await world.list(Thing) == []


@virtual_time
async def test_the_report_of_a_misfit_is_written_again_after_the_server_had_trouble() -> None:
    seen = Observed()
    wires = Wires()
    trouble: list[str] = []

    def refuse(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/odd/status") and len(trouble) < 3:
            trouble.append(request.path)
            raise TransportError("refused", sent=False)

    async with cluster(seen.controller(), control_plane=False, rbac=False).over(wires) as world:
        await define(world, Loose)
        things = dynamic(resource_of(Thing))
        wires.wire.before = refuse
        await world.create(things.of({"metadata": {"name": "odd", "namespace": "default"}, "spec": {"n": 50}}))
        await world.settle(failing=True)
        assert len(trouble) == 3
        condition, _ = (await world.client.get(things, "odd"))["status"]["conditions"]
        assert "spec.n" in condition["message"]


@virtual_time
async def test_a_misfit_that_is_mended_is_reconciled_and_its_report_removed() -> None:
    seen = Observed()
    async with cluster(seen.controller(), control_plane=False, rbac=False) as world:
        await store(world, "odd", {"spec": {"n": 50}})
        await world.settle(failing=True)
        await world.client.patch(dynamic(resource_of(Thing)), "odd", {"spec": {"n": 5}})
        await world.settle()
        thing = await world.get(Thing, "odd")
        assert (thing.status.seen, thing.status.conditions) == (5, [])


@virtual_time
async def test_a_misfit_without_the_finalizer_gets_none() -> None:
    seen = Observed()
    async with cluster(seen.controller(), control_plane=False, rbac=False) as world:
        await define(world, Loose)
        things = dynamic(resource_of(Thing))
        await world.create(things.of({"metadata": {"name": "odd", "namespace": "default"}, "spec": {"n": 50}}))
        await world.settle(failing=True)
        assert (await world.client.get(things, "odd")).metadata.finalizers == []
        await world.client.delete("things", "odd")
        assert (await world.client.list(things, namespace="default")).items == []
        assert seen.finalized == {}


@pytest.mark.parametrize("in_thread", [False, True])
@virtual_time
async def test_a_program_that_removes_its_finalizer_by_itself_gets_a_misfit_that_is_deleted(in_thread: bool) -> None:
    calls: list[tuple[bool, Any]] = []

    def default(thing: Thing, check: Check) -> None:
        thing.spec.every = sp.Duration.of(thing.spec.every * 2)

    async def reconcile(thing: Thing, ctx: sp.Context) -> None:
        calls.append((thing.is_deleting, thing.spec.every))
        if thing.is_deleting:
            await ctx.patch(thing, {"metadata": {"finalizers": None}})

    def reconcile_in_thread(thing: Thing, ctx: sp.SyncContext) -> None:
        calls.append((thing.is_deleting, thing.spec.every))
        if thing.is_deleting:
            ctx.patch(thing, {"metadata": {"finalizers": None}})

    function: Any = reconcile_in_thread if in_thread else reconcile
    controller = sp.Controller(Thing, function, reconcile_deleting=True).defaults(default)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await define(world, Loose)
        things = dynamic(resource_of(Thing))
        metadata = {"name": "odd", "namespace": "default", "finalizers": ["example.com/own"]}
        await world.create(things.of({"metadata": metadata, "spec": {"every": "1d"}}))
        await define(world, Thing)
        await world.settle(failing=True)
        assert calls == []
        await world.client.delete("things", "odd")
        await world.settle(failing=True)
        assert calls == [(True, "1d")]
        assert await world.list(Thing) == []


@virtual_time
async def test_a_namespace_with_a_misfit_can_be_deleted() -> None:
    seen = Observed()
    async with cluster(seen.controller(), rbac=False) as world:
        await world.create(Namespace.named("short"))
        await define(world, Loose)
        things = dynamic(resource_of(Thing))
        metadata = {"name": "odd", "namespace": "short", "finalizers": [f"{GROUP}/thing"]}
        await world.create(things.of({"metadata": metadata, "spec": {"n": 50}}))
        await define(world, Thing)
        await world.delete(await world.get(Namespace, "short"))
        await world.settle(failing=True)
        assert await world.find(Namespace, "short") is None
        assert seen.finalized.keys() == {"odd"}


@virtual_time
async def test_a_misfit_is_read_from_the_server_when_its_cache_is_behind(caplog: pytest.LogCaptureFixture) -> None:
    wires = Wires()
    seen = Observed()

    async def reconcile(thing: Thing, ctx: sp.Context) -> None:
        if "later" not in thing.labels:
            await ctx.patch(thing, {"metadata": {"labels": {"later": "yes"}}})
            await define(world, Loose)
            wires.wire.delays["things"] = 60.0
            await ctx.client.patch(dynamic(resource_of(Thing)), thing.name, {"spec": {"n": 50}})
            raise OSError("once more")

    async with cluster(sp.Controller(Thing, reconcile).finalize(seen.finalize), control_plane=False, rbac=False).over(
        wires
    ) as world:
        with caplog.at_level(logging.WARNING, "setpoint.controller"):
            await world.create(Thing.named("odd"))
            await advance(45)
        assert "the cache is behind, reading live" in caplog.text
        condition, _ = (await world.client.get(dynamic(resource_of(Thing)), "odd"))["status"]["conditions"]
        assert "spec.n" in condition["message"]


@virtual_time
async def test_children_that_do_not_fit_their_class_are_kept_or_deleted_like_any_other() -> None:
    wanted = ["a", "b"]

    async def reconcile(parent: ConfigMap, ctx: sp.Context) -> None:
        await ctx.keep(Thing, [Thing.named(name, spec=ThingSpec(n=2)) for name in wanted])

    controller = sp.Controller(ConfigMap, reconcile).owns(Thing)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await world.create(config("parent"))
        await world.settle()
        await define(world, Loose)
        things = dynamic(resource_of(Thing))
        for name in ("a", "b"):
            await world.client.patch(things, name, {"spec": {"n": 50}})
        await define(world, Thing)
        await world.settle()
        assert [thing.spec.n for thing in await world.list(Thing)] == [2, 2]
        await define(world, Loose)
        await world.client.patch(things, "b", {"spec": {"mode": "c"}})
        await define(world, Thing)
        wanted.remove("b")
        await world.client.patch(ConfigMap, "parent", {"data": {"x": "y"}})
        await world.settle()
        assert [thing.name for thing in (await world.client.list(things, namespace="default")).items] == ["a"]
