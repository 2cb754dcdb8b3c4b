"""Reads of a context whose cache has a selector: what the cache does not show may exist."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import Cause
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, widget


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    """A cluster without a control plane."""
    return cluster(*controllers, control_plane=False, rbac=False, **options)


def maps() -> list[ConfigMap]:
    return [
        ConfigMap.named("in", "default", {"app": "web", "size": "1"}),
        ConfigMap.named("out", "default", {"app": "db", "size": "1"}),
    ]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({"selector": "app=web"}, ["out", "none"]),
        ({"field_selector": {"metadata.name": "in"}}, ["out", "none"]),
        ({"field_selector": {"metadata.name": "none"}}, ["in", "out"]),
        ({}, []),
    ],
    ids=["labels", "name", "another name", "no selector"],
)
def test_an_object_that_a_selector_excludes_is_read_from_the_server(
    selectors: dict[str, Any], expected: list[str]
) -> None:
    @virtual_time
    async def check() -> None:
        results: list[str] = []
        wires = Wires()

        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            results.extend([name for name in ("in", "out", "none") if await ctx.get(ConfigMap, name) is not None])

        controller = sp.Controller(Widget, reconcile).watches(ConfigMap, lambda head: [], **selectors)
        async with bare(controller, objects=maps()).over(wires) as world:
            await world.create(widget())
            await world.settle()
        assert results == ["in", "out"]
        before = "/api/v1/namespaces/default/configmaps/"
        paths = [request.path for request in wires.wire.requests]
        assert [path.removeprefix(before) for path in paths if path.startswith(before)] == expected

    check()


@pytest.mark.parametrize("selectors", [{"selector": "app=web"}, {"field_selector": {"metadata.name": "in"}}])
def test_a_list_finds_what_the_cache_selects_also_when_the_cache_is_behind(selectors: dict[str, Any]) -> None:
    @virtual_time
    async def check() -> None:
        results: list[tuple[list[str], list[str]]] = []
        wires = Wires()

        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            everything, alike = await ctx.list(ConfigMap), await ctx.list(ConfigMap, selector="size=1")
            results.append(([item.name for item in everything], [item.name for item in alike]))

        controller = sp.Controller(Widget, reconcile).watches(ConfigMap, lambda head: [], **selectors)
        async with bare(controller, objects=maps()).over(wires) as world:
            new_widget = await world.create(widget())
            await world.settle()
            (run,) = world.manager.controllers.values()
            run.memory.barriers.mark_stale(new_widget.key, ConfigMap.resource.gvr)
            run.enqueue(new_widget.key, Cause("external"))
            await world.settle()
            assert run.metrics.stale_reads == 1
        assert results == [(["in"], ["in"])] * 2

    check()


@virtual_time
async def test_an_object_that_a_write_takes_out_of_the_selection_is_not_read_from_an_old_cache() -> None:
    seen: list[tuple[str, list[str]]] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        config_map = await ctx.get(ConfigMap, "in")
        assert config_map is not None
        seen.append((config_map.labels["app"], [config_map.name for config_map in await ctx.list(ConfigMap)]))
        if len(seen) > 1:
            return sp.done()
        await ctx.client.patch(ConfigMap, "in", {"metadata": {"labels": {"app": "db"}}}, namespace="default")
        return sp.after(0)

    controller = sp.Controller(Widget, reconcile).watches(ConfigMap, lambda head: [], selector="app=web")
    async with bare(controller, objects=maps()) as world:
        with world.faults.hold(ConfigMap):
            await world.create(widget())
            await advance(2)
        await world.settle()
    assert seen == [("web", ["in"]), ("db", [])]
