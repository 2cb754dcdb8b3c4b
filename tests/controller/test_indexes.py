"""Indexes of a controller's caches, and mapping functions that look into them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import setpoint as sp
from setpoint.cache import Head, InformerFactory
from setpoint.client import Client, InProcessTransport
from setpoint.controller import CacheReader, Cause
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret
from setpoint.testing import advance, cluster, virtual_time, wait_all_tasks_blocked

from .world import Widget, Wires, config, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    """A cluster without a control plane."""
    return cluster(*controllers, control_plane=False, rbac=False, **options)


def by_size(obj: Widget) -> list[str]:
    return [str(obj.spec.size)]


def of_the_same_size(head: Head, caches: CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(Widget).keys(index=("size", head.name))


class Seen:
    """A reconcile function that notes the names it was called with."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def __call__(self, obj: Any, ctx: sp.Context) -> None:
        self.names.append(obj.name)


def sized(seen: Any, **options: Any) -> sp.Controller[Widget]:
    return sp.Controller(Widget, seen, **options).index("size", by_size)


# -- mapping functions -------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_mapping_function_finds_by_an_index_the_objects_that_refer_to_what_has_changed() -> None:
    seen = Seen()
    async with bare(sized(seen).watches(ConfigMap, of_the_same_size)) as world:
        for name, size in (("a", 1), ("b", 2), ("c", 2)):
            await world.create(widget(name, size))
        await world.settle()
        seen.names.clear()
        new_config = await world.create(config("2"))
        await world.settle()
        assert sorted(seen.names) == ["b", "c"]
        seen.names.clear()
        await world.delete(new_config)
        await world.settle()
        assert sorted(seen.names) == ["b", "c"]


@virtual_time
async def test_an_index_follows_every_change_of_its_objects() -> None:
    seen = Seen()
    async with bare(sized(seen).watches(ConfigMap, of_the_same_size)) as world:
        one = await world.create(widget("a", 1))
        other = await world.create(widget("b", 2))
        one.spec.size = 2
        await world.update(one)
        await world.delete(other)
        await world.settle()
        seen.names.clear()
        await world.create(config("1"))
        await world.create(config("2"))
        await world.settle()
        assert seen.names == ["a"]


@virtual_time
async def test_a_mapping_function_may_be_a_coroutine_function_and_read_live() -> None:
    seen = Seen()

    async def named_in(head: Head, caches: CacheReader) -> list[str]:
        await asyncio.sleep(1)
        current_secret = await caches.client.get(Secret, head.name, namespace=head.namespace)
        return [f"default/{name}" for name in (current_secret.metadata.annotations or {})]

    async with bare(sp.Controller(Widget, seen).watches(ConfigMap, named_in)) as world:
        await world.create(widget("a"))
        await world.create(widget("b"))
        secret = Secret.named("x", "default")
        secret.metadata.annotations = {"b": ""}
        await world.create(secret)
        await world.settle()
        seen.names.clear()
        new_config = await world.create(config("x"))
        await world.settle()
        assert seen.names == ["b"]
        new_config.data["k"] = "v"
        seen.names.clear()
        await world.update(new_config)
        await world.settle()
        assert seen.names == ["b"]


@virtual_time
async def test_an_event_that_is_still_being_mapped_is_waited_for_by_a_test_that_settles() -> None:
    seen = Seen()

    async def slowly(head: Head) -> list[str]:
        await asyncio.sleep(100)
        return ["default/a"]

    async with bare(sp.Controller(Widget, seen).watches(ConfigMap, slowly)) as world:
        await world.create(widget("a"))
        await world.settle()
        seen.names.clear()
        await world.create(config("x"))
        await world.settle(200)
        assert seen.names == ["a"]


@virtual_time
async def test_a_controller_stops_although_a_mapping_function_waits_for_ever() -> None:
    async def never(head: Head) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with bare(sp.Controller(Widget, Seen()).watches(ConfigMap, never)) as world:
        await world.create(config("x"))
        await advance(1)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < 1


@pytest.mark.parametrize("asynchronous", [False, True])
@virtual_time
async def test_a_mapping_function_that_raises_is_reported_and_the_next_event_is_delivered(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()

    def plain(head: Head, caches: CacheReader) -> list[str]:
        if head.name == "bad":
            raise ZeroDivisionError("by zero")
        return ["default/a"]

    async def coroutine(head: Head, caches: CacheReader) -> list[str]:
        return plain(head, caches)

    map: Any = coroutine if asynchronous else plain
    async with bare(sp.Controller(Widget, seen).watches(ConfigMap, map)) as world:
        await world.create(widget("a"))
        await world.settle()
        seen.names.clear()
        await world.create(config("bad"))
        await world.create(config("good"))
        await world.settle(failing=True)
        assert seen.names == ["a"]
        assert "ZeroDivisionError: by zero" in caplog.text
        assert "default/bad" in caplog.text


class Callable_:
    async def __call__(self, head: Head) -> Iterable[str]:
        return ["default/a"]


async def _with_prefix(prefix: str, head: Head, caches: CacheReader) -> Iterable[str]:
    return [f"{prefix}/a"]


@pytest.mark.parametrize(
    "map",
    [
        lambda head: ["default/a"],
        lambda head, prefix="default": [f"{prefix}/a"],
        lambda head, caches: {"default/a": 1},
        lambda *heads: (item for item in ("default/a",)),
        Callable_(),
        partial(_with_prefix, "default"),
        lambda head: _with_prefix("default", head, None),  # type: ignore[arg-type]
    ],
    ids=["head", "default", "caches", "starred", "callable", "partial", "lambda of a coroutine"],
)
@virtual_time
async def test_mapping_functions_of_any_form_are_called_with_what_they_take(map: Any) -> None:
    seen = Seen()
    async with bare(sp.Controller(Widget, seen).watches(ConfigMap, map)) as world:
        await world.create(widget("a"))
        await world.settle()
        seen.names.clear()
        await world.create(config("x"))
        await world.settle()
        assert seen.names == ["a"]


def test_a_mapping_function_that_takes_something_else_is_refused_where_it_is_declared() -> None:
    def three(head: Any, caches: Any, more: Any) -> list[str]:
        return []

    def nothing() -> list[str]:
        return []

    with pytest.raises(TypeError, match=r"controller 'widget': the mapping function .*three.* has to take the head"):
        sp.Controller(Widget, Seen()).watches(ConfigMap, three)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has to take the head"):
        sp.Controller(Widget, Seen()).watches(ConfigMap, nothing)  # type: ignore[arg-type]


@virtual_time
async def test_a_mapping_function_is_told_which_cache_its_controller_does_not_declare(
    caplog: pytest.LogCaptureFixture,
) -> None:
    controller = sp.Controller(Widget, Seen()).watches(ConfigMap, lambda head, caches: caches.lister(Secret).keys())
    async with bare(controller) as world:
        await world.create(config("x"))
        await world.settle(failing=True)
        assert "declares no cache of Secret: add .owns(Secret), .watches(Secret, ...) or .reads(Secret)" in caplog.text


# -- lists -------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_reconcile_lists_by_index_within_its_namespace_and_in_all() -> None:
    results: list[list[str]] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        here = await ctx.list(Widget, index=("size", "2"))
        everywhere = await ctx.list(Widget, index=("size", "2"), namespace="*")
        results.append([*(item.key for item in here), "|", *(item.key for item in everywhere)])

    objects = [Namespace.named("other"), widget("a", 1), widget("b", 2), widget("c", 2, namespace="other")]
    async with bare(sized(reconcile), objects=objects) as world:
        await world.settle()
        everywhere = ["default/b", "other/c"]
        assert sorted(results) == [
            ["default/b", "|", *everywhere],
            ["default/b", "|", *everywhere],
            ["other/c", "|", *everywhere],
        ]


@virtual_time
async def test_a_function_in_a_thread_lists_by_index_too() -> None:
    results: list[list[str]] = []

    def reconcile(obj: Widget, ctx: sp.SyncContext) -> None:
        results.append([widget.name for widget in ctx.list(Widget, index=("size", "2"))])

    async with bare(sized(reconcile), objects=[widget("a", 1), widget("b", 2)]) as world:
        await world.settle()
        assert results == [["b"], ["b"]]


@pytest.mark.parametrize("argument", [None, Head, "smaller"])
@virtual_time
async def test_a_list_that_is_read_live_is_filtered_as_the_cache_would(argument: Any) -> None:
    class OnlySpec(sp.Model):
        class Spec(sp.Model):
            size: int = 0

        spec: Spec = Spec()

    wires = Wires()
    results: list[list[str]] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready += 1
        if obj.status.ready == 2:
            results.append([widget.name for widget in await ctx.list(Widget, index=("it", "2"))])

    controller = sp.Controller(Widget, reconcile)
    if argument is None:
        controller.index("it", by_size)
    elif argument is Head:
        controller.index("it", lambda head: head.labels.get("size"), as_=Head)
    else:
        controller.index("it", lambda obj: str(obj.spec.size), as_=OnlySpec)
    objects = [widget("a", 1), widget("b", 2)]
    for one_obj in objects:
        one_obj.metadata.labels = {"size": str(one_obj.spec.size)}
    async with bare(controller, objects=objects).over(wires) as world:
        await world.settle()
        results.clear()
        (run,) = world.manager.controllers.values()
        wires.wire.delays["widgets"] = 1e6
        changed = await world.get(Widget, "a")
        changed.status.ready = 1
        await world.client.update_status(changed)
        run.memory.barriers.mark_stale(changed.key, run.controller.resource.gvr)
        run.enqueue(changed.key, Cause("external"))
        await world.eventually(lambda: bool(results), within=60)
        assert results == [["b"]]
        assert run.metrics.stale_reads > 0


@virtual_time
async def test_an_index_that_is_not_declared_is_named_with_those_that_are() -> None:
    problems: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        for kind in (Widget, Secret):
            with pytest.raises(KeyError) as caught:
                await ctx.list(kind, index=("colour", "red"))
            problems.append(str(caught.value))

    async with bare(sized(reconcile), objects=[widget("a", 1)]) as world:
        await world.settle()
        assert "no index 'colour'; available: owner, size" in problems[0]
        assert "no index 'colour' of Secret; available: owner" in problems[1]


# -- declarations ------------------------------------------------------------------------------------------------------


def test_two_indexes_of_one_name_are_refused_for_one_kind_and_not_for_two() -> None:
    controller = sized(Seen()).index("size", lambda obj: obj.name, of=ConfigMap)
    with pytest.raises(ValueError, match="controller 'widget' has two indexes 'size' of ConfigMap"):
        controller.index("size", lambda obj: obj.name, of=ConfigMap)
    with pytest.raises(ValueError, match="the index name 'owner' is reserved"):
        controller.index("owner", lambda obj: obj.name)


@virtual_time
async def test_an_index_of_a_kind_without_a_cache_is_refused_with_what_to_add() -> None:
    async with bare() as world:
        controller = sp.Controller(Widget, Seen()).index("x", lambda obj: obj.name, of=ConfigMap)
        with pytest.raises(ValueError, match=r"an index 'x' of ConfigMap and no cache of it: add \.watches\(ConfigMap"):
            await controller.run(world.client, world.manager.factory)


@virtual_time
async def test_two_controllers_give_one_name_to_different_indexes_of_one_cache() -> None:
    results: dict[str, list[str]] = {}

    def lister_of(name: str) -> Any:
        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            results[name] = [widget.name for widget in await ctx.list(Widget, index=("it", "2"))]

        return reconcile

    one = sp.Controller(Widget, lister_of("one"), name="one").index("it", by_size)
    two = sp.Controller(Widget, lister_of("two"), name="two").index("it", lambda obj: obj.name)
    async with bare(one, two, objects=[widget("a", 2), widget("2", 1)]) as world:
        await world.settle()
        assert results == {"one": ["a"], "two": ["2"]}


@virtual_time
async def test_an_object_that_an_index_function_fails_for_is_reconciled_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = Seen()

    def fussy(obj: Widget) -> str:
        return str(10 // obj.spec.size)

    controller = sp.Controller(Widget, seen).index("it", fussy)
    controller.watches(ConfigMap, lambda head, caches: caches.lister(Widget).keys(index=("it", head.name)))
    async with bare(controller, objects=[widget("a", 0), widget("b", 2)]) as world:
        await world.settle(failing=True)
        assert sorted(seen.names) == ["a", "b"]
        assert "failed for default/a: it is not indexed" in caplog.text
        seen.names.clear()
        mended = await world.get(Widget, "a")
        mended.spec.size = 2
        await world.update(mended)
        await world.settle(failing=True)
        await world.create(config("5"))
        await world.settle()
        assert sorted(seen.names) == ["a", "a", "b"]


@virtual_time
async def test_a_controller_that_starts_again_has_the_index_of_all_that_is_there() -> None:
    seen = Seen()
    controller = sized(seen).watches(ConfigMap, of_the_same_size)
    async with bare(objects=[], crds=[Widget]) as world:
        await world.create(widget("a", 1))
        client = Client(InProcessTransport(world.server.handle), namespace="default")
        async with client, InformerFactory(client) as factory:
            for _ in range(2):
                run = controller.bind(client, factory)
                task = asyncio.get_running_loop().create_task(run.run())
                await wait_all_tasks_blocked()
                seen.names.clear()
                new_config = await world.create(config("1"))
                await wait_all_tasks_blocked()
                assert seen.names == ["a"]
                await world.delete(new_config)
                await wait_all_tasks_blocked()
                run.stop()
                await task
