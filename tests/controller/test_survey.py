"""Listings of objects by state, and the details of one: what a person looks at first, and what is asked next."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from tests.tasks import stop

import setpoint as sp
from setpoint.controller.explain import explain
from setpoint.controller.explain.object_listing import TURN, Detail, Survey, detail, merged
from setpoint.controller.predicates import generation_changed
from setpoint.meta import ObjectKey, OwnerReference
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


async def by_size(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
    if obj.spec.size == 13:
        raise ConnectionError("the mill can't be reached")
    if obj.spec.size == 99:
        raise sp.TerminalError("no widget is so big")
    return sp.after(600, "the guarantee ends") if obj.spec.size == 5 else None


@virtual_time
async def test_objects_that_need_attention_come_first_and_all_are_counted() -> None:
    async with bare(sp.Controller(Widget, by_size, owns_status=False)) as world:
        for name, size in (("a", 1), ("b", 5), ("c", 13), ("d", 99), ("e", 1)):
            await world.create(widget(name, size=size))
        await advance(5)
        runs = [world.running("widget")]
        survey = Survey()
        listing = await survey.listing(runs)
        assert [(obj.key, obj.state) for obj in listing.objects] == [
            ("default/d", "failed"),
            ("default/c", "backing off"),
            ("default/b", "waiting"),
            ("default/a", "idle"),
            ("default/e", "idle"),
        ]
        assert listing.counts == {"idle": 2, "waiting": 1, "backing off": 1, "failed": 1}
        assert listing.matched == 5
        worst = listing.objects[1]
        assert "after ConnectionError: the mill can't be reached" in worst.text
        assert worst.until is not None
        assert worst.failures > 1

        few = await survey.listing(runs, limit=2)
        assert (len(few.objects), few.matched) == (2, 5)
        idle = await survey.listing(runs, states=["idle"])
        assert [obj.key for obj in idle.objects] == ["default/a", "default/e"]
        assert idle.counts == listing.counts, "the counts are of all states, whichever are listed"
        named = await survey.listing(runs, find="DEF b")
        assert [obj.key for obj in named.objects] == ["default/b"]
        assert named.counts == {"waiting": 1}


@virtual_time
async def test_an_object_that_waits_for_others_finalizers_is_found_and_forgotten_when_it_is_gone() -> None:
    async with bare(sp.Controller(Widget, by_size)) as world:
        held = widget("held")
        held.metadata.finalizers = ["billing.example.com/invoices"]
        await world.create(held)
        await world.settle()
        runs = [world.running("widget")]
        survey = Survey()
        assert (await survey.listing(runs)).counts == {"idle": 1}
        await world.delete(await world.get(Widget, "held"))
        await world.settle()
        (one,) = (await survey.listing(runs)).objects
        assert one.state == "being deleted"
        assert one.text.endswith("billing.example.com/invoices")
        live = await world.get(Widget, "held")
        live.metadata.finalizers = []
        await world.update(live)
        await world.settle()
        assert (await survey.listing(runs)).objects == []


@virtual_time
async def test_other_tasks_have_their_turn_while_many_objects_are_listed() -> None:
    async with bare(sp.Controller(Widget, by_size)) as world:
        await world.settle()
        run = world.running("widget")
        store = run.informers[run.controller.resource.gvr].store
        for number in range(3 * TURN):
            store.add(widget(f"w{number}"))
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        listing = await Survey().listing([run], limit=1)
        await stop(counting)
        assert listing.counts == {"idle": 3 * TURN}
        assert turns >= 2


@virtual_time
async def test_listings_of_several_processes_are_one() -> None:
    async with bare(sp.Controller(Widget, by_size, owns_status=False)) as world:
        for name, size in (("a", 1), ("d", 99)):
            await world.create(widget(name, size=size))
        await world.settle()
        runs = [world.running("widget")]
        first = await Survey().listing(runs, find="/a")
        other = await Survey().listing(runs, find="/d")
        both = merged([first, other], limit=10)
        assert [obj.key for obj in both.objects] == ["default/d", "default/a"]
        assert both.counts == {"idle": 1, "failed": 1}
        assert both.matched == 2
        assert len(merged([first, other], limit=1).objects) == 1


@virtual_time
async def test_an_object_is_shown_with_its_conditions_children_and_events() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named("a-settings", "default", data={"size": "1"}))
        ctx.event("Warning", "Squeaks", "it needs oil")
        ctx.set_condition("Ready", False, "Oil", "too dry")

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget("a"))
        await world.create(config("someone-elses"))
        await world.settle()
        run = world.running("widget")

        def shown(key: str) -> Detail:
            caches = [*run.informers.values(), *run.informers.values()]
            return detail(run, ObjectKey(key), caches=caches, recorder=run.env.recorder)

        result = shown("default/a")
        assert result.explanation.state == "warned"
        assert [(item.kind, item.key, item.owns) for item in result.owned] == [("ConfigMap", "default/a-settings", [])]
        (event,) = result.events
        assert (event.type, event.reason, event.note) == ("Warning", "Squeaks", "it needs oil")
        assert event.count == len(result.explanation.timeline)
        (condition,) = result.conditions
        assert (condition.type, condition.status, condition.reason) == ("Ready", "False", "Oil")
        assert condition.message == "too dry"
        nowhere = shown("default/nowhere")
        assert nowhere.explanation.state == "unknown"
        assert not nowhere.conditions
        assert not nowhere.owned


@virtual_time
async def test_an_object_that_says_that_it_is_not_ready_comes_before_those_that_only_wait() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        ready = obj.spec.size < 2
        ctx.set_condition("Ready", ready, "Oiled" if ready else "TooDry", "" if ready else "the mill has no oil")
        if obj.name.startswith("polled"):
            return sp.after(600, "the oil is delivered daily")
        return None

    async with bare(sp.Controller(Widget, reconcile, predicates=[generation_changed])) as world:
        for name, size in (("a", 1), ("dry", 2), ("polled-dry", 2), ("polled-oiled", 1)):
            await world.create(widget(name, size=size))
        await world.settle()
        runs, survey = [world.running("widget")], Survey()
        listing = await survey.listing(runs)
        assert [(listed.key, listed.state) for listed in listing.objects] == [
            ("default/dry", "not ready"),
            ("default/polled-dry", "not ready"),
            ("default/polled-oiled", "waiting"),
            ("default/a", "idle"),
        ]
        dry, polled, *_ = listing.objects
        assert dry.text.startswith("TooDry: the mill has no oil; ")
        assert polled.text.startswith("TooDry: the mill has no oil; next in ")
        assert polled.until is not None
        assert listing.counts == {"not ready": 2, "waiting": 1, "idle": 1}
        for listed in listing.objects:
            assert explain(runs[0], listed.key).state == listed.state
        mended = await world.get(Widget, "dry")
        mended.spec.size = 1
        await world.update(mended)
        await world.settle()
        assert [listed.key for listed in (await survey.listing(runs, states=["not ready"])).objects] == [
            "default/polled-dry"
        ]


@virtual_time
async def test_an_object_stands_between_its_owners_and_what_it_owns() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        """Nothing to do."""

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        top = await world.create(widget("top"))
        middle = widget("middle")
        middle.metadata.owner_references = [
            top.owner_reference(),
            OwnerReference(api_version="v1", kind="Depot", name="north", uid="not-cached"),
        ]
        middle = await world.create(middle)
        lowest = widget("lowest")
        lowest.metadata.owner_references = [middle.owner_reference()]
        await world.create(lowest)
        await world.settle()
        run = world.running("widget")
        description = detail(run, ObjectKey("default/lowest"), caches=run.informers.values())
        assert [[(owner.kind, owner.key, owner.state) for owner in level] for level in description.owners] == [
            [("Widget", "default/middle", "current")],
            [("Widget", "default/top", "current"), ("Depot", "default/north", "")],
        ]
        assert msgspec.json.decode(msgspec.json.encode(description), type=Detail) == description
        (below,) = detail(run, ObjectKey("default/top"), caches=run.informers.values()).owned
        assert (below.key, [node.key for node in below.owns]) == ("default/middle", ["default/lowest"])


@virtual_time
async def test_an_object_of_which_only_metadata_are_cached_has_no_state_unless_it_is_being_deleted() -> None:
    async with bare(sp.Controller(Widget, by_size).reads(Pod, metadata_only=True)) as world:
        top = await world.create(widget("top"))
        pod = Pod.named("crashed", "default", spec=PodSpec(containers=[Container(name="c", image="i")]))
        pod.metadata.owner_references, pod.metadata.finalizers = [top.owner_reference()], ["example.com/f"]
        await world.create(pod)
        await world.client.patch(
            Pod, "crashed", {"status": {"phase": "Failed"}}, namespace="default", subresource="status"
        )
        await world.settle()
        run = world.running("widget")
        (node,) = detail(run, ObjectKey("default/top"), caches=run.informers.values()).owned
        assert (node.resource, node.key, node.state) == ("pods", "default/crashed", "")
        await world.client.delete(Pod, "crashed", namespace="default")
        await world.settle()
        (node,) = detail(run, ObjectKey("default/top"), caches=run.informers.values()).owned
        assert node.state == "being deleted"


@virtual_time
async def test_a_reconcile_that_has_been_running_for_long_comes_before_those_that_wait() -> None:
    gate = asyncio.Event()

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        if obj.name == "slow":
            await gate.wait()
        return sp.after(600)

    async with bare(sp.Controller(Widget, reconcile)) as world:
        for name in ("a", "slow"):
            await world.create(widget(name))
        await advance(59)
        runs, survey = [world.running("widget")], Survey()
        assert [(one.key, one.state) for one in (await survey.listing(runs)).objects] == [
            ("default/slow", "running"),
            ("default/a", "waiting"),
        ]
        await advance(2)
        (slow, _) = (await survey.listing(runs)).objects
        assert (slow.state, slow.text.partition(";")[0]) == ("running long", "for 61 s")
        gate.set()
        await world.settle()
