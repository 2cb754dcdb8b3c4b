"""`Context.keep` with a list that may be wrong: it deletes nothing, or not more than its caller allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import TooManyDeletions
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.events_v1 import Event

from .world import Widget, Wires, config, widget


class Source:
    """Stands for a system that says which children are wanted."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def wanted(self) -> list[ConfigMap]:
        return [config(name) for name in self.names]


def keeping(source: Source, **options: Any) -> sp.Controller[Widget]:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        obj.status.ready = len(await ctx.keep(ConfigMap, source.wanted(), **options))

    return sp.Controller(Widget, reconcile).owns(ConfigMap)


async def again(world: sp.testing.clusters.Cluster, **options: Any) -> list[str]:
    """The names of the children after another reconcile."""
    world.running("widget").enqueue(ObjectKey("default/a"), sp.controller.Cause("external"))
    await world.settle(**options)
    return [child.name for child in await world.list(ConfigMap)]


@sp.testing.virtual_time
async def test_without_pruning_an_empty_list_deletes_nothing_and_the_rest_is_kept() -> None:
    source, wires = Source(["x", "y"]), Wires()
    async with sp.testing.cluster(keeping(source, prune=False), control_plane=False).over(wires) as world:
        await world.create(widget())
        await world.settle()
        source.names = ()
        assert await again(world) == ["x", "y"]
        assert (await world.get(Widget, "a")).status.ready == 0, "only wanted children are returned"
        source.names = ("z",)
        assert await again(world) == ["x", "y", "z"]
        source.names = ("x", "y")
        before = len(wires.wire.writes("configmaps"))
        await again(world)
        assert len(wires.wire.writes("configmaps")) == before, "what was not wanted meanwhile is not sent again"


@sp.testing.virtual_time
async def test_more_deletions_than_allowed_are_none_and_the_reason_is_in_condition_and_event() -> None:
    source = Source(f"c{number}" for number in range(7))
    async with sp.testing.cluster(keeping(source, at_most_deletions=2), control_plane=False) as world:
        await world.create(widget())
        await world.settle()
        source.names = ("new",)
        assert await again(world, failing=True) == [f"c{number}" for number in range(7)], "nothing is created either"
        conditions = (await world.get(Widget, "a")).status.conditions
        expected = (
            "keep(ConfigMap) would delete 7 of 7 children, but at_most_deletions is 2, so nothing was written. "
            "Correct the list, delete the children (c0, c1, c2, c3, c4 and 2 more) yourself, or raise the bound"
        )
        assert [(condition.type, condition.reason) for condition in conditions] == [
            ("Reconciled", "TooManyDeletions"),
            ("Reconciling", "ReconcileFailed"),
        ]
        assert expected in conditions[0].message
        assert any(expected in event.note for event in await world.list(Event))
        source.names = tuple(f"c{number}" for number in range(5))
        await world.settle(patience=2000)
        assert [child.name for child in await world.list(ConfigMap)] == list(source.names), "it is tried again"
        assert not (await world.get(Widget, "a")).status.conditions


@sp.testing.virtual_time
async def test_a_bound_counts_deletions_and_not_children_that_are_replaced_by_other_ends() -> None:
    source = Source(["x", "y", "z"])
    async with sp.testing.cluster(keeping(source, at_most_deletions=1), control_plane=False) as world:
        await world.create(widget())
        await world.settle()
        source.names = ("y", "z", "new")
        assert await again(world) == ["new", "y", "z"]
        source.names = ("z", "new")
        assert await again(world) == ["new", "z"], "each call has a bound of its own"


@sp.testing.virtual_time
async def test_a_bound_of_no_deletion_is_an_error_for_the_first_one() -> None:
    source = Source(["x"])
    async with sp.testing.cluster(keeping(source, at_most_deletions=0), control_plane=False) as world:
        await world.create(widget())
        await world.settle()
        source.names = ()
        assert await again(world, failing=True) == ["x"]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@sp.testing.virtual_time
async def test_two_calls_without_pruning_may_share_a_kind_and_one_that_prunes_may_not(
    first: bool, second: bool
) -> None:
    problems: list[Exception] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        try:
            await ctx.keep(ConfigMap, [config("x")], prune=first)
            await ctx.keep(ConfigMap, [config("y")], prune=second)
        except ValueError as problem:
            problems.append(problem)

    controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
    async with sp.testing.cluster(controller, control_plane=False) as world:
        await world.create(widget())
        await world.settle()
        assert [child.name for child in await world.list(ConfigMap)] == (["x"] if first or second else ["x", "y"])
    assert bool(problems) == (first or second)


@sp.testing.virtual_time
async def test_a_negative_bound_is_an_error_and_a_plain_function_has_the_same_options() -> None:
    problems: list[Exception] = []

    def reconcile(obj: Widget, ctx: sp.SyncContext) -> None:
        ctx.keep(ConfigMap, [config("x"), config("y")], prune=False)
        for bound in (-1, 1):
            try:
                ctx.keep(ConfigMap, [], selector="app=other", at_most_deletions=bound)
                ctx.keep(ConfigMap, [config("x")], at_most_deletions=bound)
            except (ValueError, TooManyDeletions) as problem:
                problems.append(problem)

    controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
    async with sp.testing.cluster(controller, control_plane=False) as world:
        await world.create(widget())
        await world.settle()
    assert str(problems[0]) == "keep(ConfigMap): at_most_deletions must be 0 or more, not -1"
