"""A reconcile's writes hit the object that it means, never an earlier or later one of the same name."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.client import PatchType
from setpoint.controller.outcome import Outdated
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, lost_answer, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, rbac=False, **options)


async def by_apply(obj: Widget, ctx: sp.Context) -> None:
    await ctx.apply(config("child", of=obj.uid))


def by_sync_apply(obj: Widget, ctx: sp.SyncContext) -> None:
    ctx.apply(config("child", of=obj.uid))


async def by_keep(obj: Widget, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [config("child", of=obj.uid)])


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("reconcile", [by_apply, by_sync_apply, by_keep])
@virtual_time
async def test_a_child_of_an_earlier_object_of_the_same_name_is_not_taken_over(reconcile: Any, declared: bool) -> None:
    controller: sp.Controller[Any] = sp.Controller(Widget, reconcile)
    if declared:
        controller.owns(ConfigMap)
    elif reconcile is by_keep:
        return
    async with bare(controller) as world:
        first = await world.create(widget())
        await advance(1)
        child = await world.get(ConfigMap, "child")
        await world.delete(first)
        second = await world.create(widget())
        await advance(60)
        left = await world.get(ConfigMap, "child")
        assert (left.uid, left.data) == (child.uid, {"of": first.uid})
        assert [reference.uid for reference in left.metadata.owner_references] == [first.uid]
        await world.delete(left)  # as the garbage collector does
        await advance(600)
        config_map = await world.get(ConfigMap, "child")
        assert config_map.data == {"of": second.uid}
        assert world.running("widget").metrics.errors == 0


@virtual_time
async def test_a_child_of_somebody_else_is_not_applied_to() -> None:
    async with bare(sp.Controller(Widget, by_apply).owns(ConfigMap)) as world:
        other = await world.create(ConfigMap.named("other"))
        theirs = config("child", of="other")
        theirs.metadata.owner_references = [other.owner_reference(controller=True)]
        await world.create(theirs)
        await world.create(widget())
        await advance(1)
        assert (await world.get(ConfigMap, "child")).data == {"of": "other"}
        last = world.running("widget").timeline.of("default/a")[-1]
        assert last.detail.startswith("AdoptionError: ConfigMap default/child is controlled by ConfigMap other")


@pytest.mark.parametrize("declared", [True, False])
@virtual_time
async def test_a_child_that_was_deleted_and_made_again_by_hand_is_applied_to(declared: bool) -> None:
    controller = sp.Controller(Widget, by_apply)
    if declared:
        controller.owns(ConfigMap)
    async with bare(controller) as world:
        new_widget = await world.create(widget())
        await advance(1)
        await world.delete(await world.get(ConfigMap, "child"))
        await world.create(config("child", of="nobody"))
        await world.client.patch(Widget, "a", {"metadata": {"labels": {"again": "1"}}})
        await advance(60)
        child = await world.get(ConfigMap, "child")
        assert child.data == {"of": new_widget.uid}
        assert [reference.uid for reference in child.metadata.owner_references] == [new_widget.uid]
        assert world.running("widget").metrics.errors == 0


@virtual_time
async def test_applying_without_a_cache_looks_once_and_not_each_time() -> None:
    wires = Wires()
    async with bare(sp.Controller(Widget, by_apply)).over(wires) as world:
        await world.create(widget())
        for turn in range(5):
            await advance(1)
            await world.client.patch(Widget, "a", {"metadata": {"labels": {"turn": str(turn)}}})
        await advance(1)
        methods = [request.method for request in wires.wire.requests if "/configmaps/child" in request.path]
        assert methods == ["GET", *["PATCH"] * 6]


PATCHES: list[tuple[PatchType, Any, str]] = [
    (PatchType.MERGE, {"metadata": {"labels": {"hit": "yes"}}}, ""),
    (PatchType.JSON, [{"op": "add", "path": "/metadata/labels", "value": {"hit": "yes"}}], ""),
    (PatchType.MERGE, {"status": {"ready": 9}}, "status"),
    (PatchType.JSON, [{"op": "add", "path": "/status", "value": {"ready": 9}}], "status"),
]


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize(("type", "patch", "subresource"), PATCHES)
@virtual_time
async def test_a_patch_does_not_hit_a_namesake_created_since(
    type: PatchType, patch: Any, subresource: str, sync: bool
) -> None:
    problems: list[BaseException] = []
    first: Widget

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        try:
            await ctx.patch(first, patch, type=type, subresource=subresource)
        except Exception as problem:  # noqa: BLE001 - looked at below
            problems.append(problem)

    def in_thread(obj: Widget, ctx: sp.SyncContext) -> None:
        try:
            ctx.patch(first, patch, type=type, subresource=subresource)
        except Exception as problem:  # noqa: BLE001 - looked at below
            problems.append(problem)

    controller: sp.Controller[Any] = sp.Controller(Widget, in_thread if sync else reconcile, owns_status=False)
    async with bare(controller, objects=[]) as world:
        first = await world.create(widget("other"))
        await world.delete(first)
        await world.create(widget("other"))
        await advance(1)
        current_widget = await world.get(Widget, "other")
        assert (current_widget.labels, current_widget.status.ready) == ({}, 0)
        assert problems
        assert all(isinstance(problem, Outdated) for problem in problems)


@pytest.mark.parametrize(("type", "patch", "subresource"), PATCHES)
@virtual_time
async def test_a_patch_holds_for_any_version_of_its_object(type: PatchType, patch: Any, subresource: str) -> None:
    done: list[Any] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if not done:
            await world.client.patch(Widget, obj.name, {"metadata": {"annotations": {"x": "y"}}})
            done.append(await ctx.patch(obj, patch, type=type, subresource=subresource))

    async with bare(sp.Controller(Widget, reconcile, owns_status=False)) as world:
        await world.create(widget())
        await advance(1)
        assert world.running("widget").metrics.results["success"] >= 1
        (answer,) = done
        assert answer.labels == {"hit": "yes"} or answer.status.ready == 9
        assert answer.metadata.annotations == {"x": "y"}


@pytest.mark.parametrize("sync", [False, True])
@virtual_time
async def test_a_reconcile_may_patch_with_a_list_of_operations_without_saying_so(sync: bool) -> None:
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"hit": "yes"}}]

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.patch(obj, operations)

    def in_thread(obj: Widget, ctx: sp.SyncContext) -> None:
        ctx.patch(obj, operations)

    controller: sp.Controller[Any] = sp.Controller(Widget, in_thread if sync else reconcile)
    async with bare(controller) as world:
        await world.create(widget())
        await advance(1)
        assert (await world.get(Widget, "a")).labels == {"hit": "yes"}


@virtual_time
async def test_an_applied_child_whose_answer_was_lost_is_found_again() -> None:
    wires = Wires()
    lost: list[str] = []

    def lose(request: Any) -> None:
        if request.method == "PATCH" and "/configmaps/" in request.path and not lost:
            lost.append(request.path)
            lost_answer(request)

    async with bare(sp.Controller(Widget, by_apply)).over(wires) as world:
        wires.wire.after = lose
        new_widget = await world.create(widget())
        await advance(60)
        assert lost
        assert (await world.get(ConfigMap, "child")).data == {"of": new_widget.uid}
