"""Details of `Context.keep`: messages, names, and writes that are easily left out or made once too often."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

import setpoint as sp
from setpoint.client import PatchType, Request
from setpoint.controller import Cause
from setpoint.controller.writes.children import Children, _common
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, lost_answer, widget

KEY = ObjectKey("default/a")
PATH = "/api/v1/namespaces/default/configmaps"


def generated(prefix: str, **data: str) -> ConfigMap:
    config_map = ConfigMap(data=data)
    config_map.metadata.generate_name = prefix
    return config_map


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


async def again(world: Any, seconds: float = 0.0) -> None:
    world.running("widget").enqueue(KEY, Cause("external"))
    await (advance(seconds) if seconds else world.settle())


def failure(world: Any) -> str:
    return str(world.running("widget").timeline.of("default/a")[-1].detail)


# -- what is said ------------------------------------------------------------------------------------------------------


@virtual_time
async def test_children_that_cant_be_kept_are_named_with_what_to_do() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("there")])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        theirs = await world.create(config("there"))
        await world.create(widget())
        await advance(1)
        assert failure(world).endswith(
            "ConfigMap default/there exists already and has no controller, so Widget default/a does not change it: "
            "delete it, choose another name, or take it over with keep(..., adopt=True)"
        )
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "u", "controller": True}
        await world.client.patch(ConfigMap, theirs.name, {"metadata": {"ownerReferences": [owner]}})
        await again(world, 1.0)
        assert failure(world).endswith(
            "ConfigMap default/there is controlled by Pod other, so Widget default/a can't have a child of that name: "
            "choose another name"
        )


@virtual_time
async def test_unlike_children_under_one_generated_name_are_refused_with_what_to_do() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-", n="1"), generated("g-", n="2")])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await advance(1)
        assert failure(world).endswith(
            "keep(ConfigMap): the wanted objects with generate_name 'g-' differ: give each variant a generate_name "
            "of its own"
        )
        assert await world.list(ConfigMap) == []


@virtual_time
async def test_a_predecessors_child_is_not_written_and_the_wait_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child")])

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        first = await world.create(widget())
        await world.settle()
        assert wires.wire.writes("configmaps") == [f"PATCH {PATH}/child"]
        caplog.set_level(logging.INFO, "setpoint")
        await world.delete(first)
        await world.create(widget())
        await world.settle()
        assert wires.wire.writes("configmaps") == [f"PATCH {PATH}/child"]
        answer = {
            (record.getMessage(), record.fields["child"])  # type: ignore[attr-defined]
            for record in caplog.records
            if "earlier owner" in record.getMessage().lower()
        }
        message = "a child waits until an object of its name, which belongs to an earlier owner, is deleted"
        assert answer == {(message, "ConfigMap default/child")}


# -- generated names ---------------------------------------------------------------------------------------------------


@virtual_time
async def test_each_prefix_has_its_own_number_of_children() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-", n="1"), *(generated("h-", n="2") for _ in range(obj.spec.size))])

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        await world.create(widget(size=2))
        await world.settle()
        before = {child.name for child in await world.list(ConfigMap)}
        assert sorted(name[:2] for name in before) == ["g-", "h-", "h-"]
        await again(world)
        assert {child.name for child in await world.list(ConfigMap)} == before
        assert len(wires.wire.writes("configmaps")) == 3


@virtual_time
async def test_an_unnamed_child_that_is_being_deleted_is_replaced_at_once() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [generated("g-")])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        (old,) = await world.list(ConfigMap)
        await world.client.patch(ConfigMap, old.name, {"metadata": {"finalizers": ["example.com/stay"]}})
        await world.delete(old)
        await world.settle()
        left = {child.name: child.is_deleting for child in await world.list(ConfigMap)}
        assert len(left) == 2
        assert left.pop(old.name)
        assert list(left.values()) == [False]


def drawing(drawn: set[ObjectKey], there: dict[ObjectKey, ConfigMap]) -> Any:
    letters = iter("xxxxxzzzzz")
    result: Any = object.__new__(Children)
    result._writer = SimpleNamespace(random=SimpleNamespace(choice=lambda _: next(letters)))
    result._drawn = drawn
    result._cached = there.get
    return result


def test_each_name_that_was_drawn_is_taken_once() -> None:
    names = [ObjectKey.of("default", f"g-{letter * 5}") for letter in "bc"]
    new_drawing, taken = drawing(set(names), {}), set[ObjectKey]()
    assert [new_drawing._new_name("g-", "default", taken) for _ in range(3)] == ["g-bbbbb", "g-ccccc", "g-xxxxx"]


def test_a_name_that_was_drawn_and_is_somebody_elses_by_now_is_not_taken() -> None:
    key = ObjectKey.of("default", "g-bbbbb")
    assert drawing({key}, {key: config("g-bbbbb")})._new_name("g-", "default", set()) == "g-xxxxx"


# -- what this process knows of a child --------------------------------------------------------------------------------


@virtual_time
async def test_a_child_that_was_made_anew_by_another_client_is_applied_again() -> None:
    paused = False

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if not paused:
            await ctx.keep(ConfigMap, [config("child", n="1")])

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        await world.create(widget())
        await world.settle()
        mine = await world.get(ConfigMap, "child")
        paused = True
        await world.delete(mine)
        copy = config("child", n="1")
        copy.metadata.owner_references = mine.metadata.owner_references
        await world.create(copy)
        await world.settle()
        assert len(wires.wire.writes("configmaps")) == 1
        paused = False
        await again(world)
        assert len(wires.wire.writes("configmaps")) == 2, "its fields belong to the other client until then"


@virtual_time
async def test_the_fields_of_children_are_the_controllers() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child", n="1")])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        (entry,) = (await world.get(ConfigMap, "child")).metadata.managed_fields
        assert entry.manager == "widget.test.example.com"
        assert entry.operation == "Apply"


@virtual_time
async def test_a_child_with_others_changes_is_compared_once_for_each_of_its_versions() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child")])

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        changed = await world.client.patch(ConfigMap, "child", {"data": {"theirs": "x"}}, type=PatchType.MERGE)
        await world.settle()
        (kept,) = world.running("widget").memory.applied._keys[KEY].values()
        assert kept.applied[ObjectKey("default/child")].version == changed.metadata.resource_version


@virtual_time
async def test_a_write_whose_answer_was_lost_is_undone_though_the_cache_shows_what_was_before() -> None:
    wanted, lost = "1", False

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child", n=wanted)])

    def lose(request: Request) -> None:
        nonlocal wanted, lost
        if request.method == "PATCH" and "configmaps" in request.path and wanted == "2":
            wanted, lost = "1", True
            lost_answer(request)

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.after = lose
        await world.create(widget())
        await world.settle()
        wires.wire.delays["configmaps"] = 600.0
        wanted = "2"
        world.running("widget").enqueue(KEY, Cause("external"))
        await advance(60)
        assert lost
        assert (await world.get(ConfigMap, "child")).data == {"n": "1"}


@pytest.mark.parametrize(
    ("wanted", "expected", "common"),
    [
        ({"a": 1, "b": 2}, {"a": 3, "c": 4}, {"a": 3}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": {"b": 2}}, {"a": "b"}, {"a": "b"}),
        ([{"a": 1}], [{"a": 1, "b": 2}], [{"a": 1, "b": 2}]),
    ],
)
def test_of_what_is_there_only_wanted_fields_count_whatever_their_types(
    wanted: Any, expected: Any, common: Any
) -> None:
    assert _common(wanted, expected) == common
