"""Bounds of deletions under faults: a list that is empty by mistake deletes no more children than allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, check, never
from setpoint.simulation.scenario.temporal_properties import Objects

OFF = {
    "user": "this is about the controller's own deletions",
    "paths": "the status remembers how many children there were",
    "end state": "it does",
}


async def empty_by_mistake(cluster: sp.testing.Cluster) -> None:
    for size in (3, 0, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle(5, failing=True)


def several_were_deleted(objects: Objects) -> bool:
    """Fewer than two children are left of those that were there."""
    return any(app.status.ready == 3 for app in objects.list(App)) and len(objects.list(ConfigMap)) < 2


def keeps(at_most: int | None) -> Callable[[], list[sp.Controller[App]]]:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        maps = [ConfigMap.named(f"{app.name}-{number}") for number in range(app.spec.size)]
        await ctx.keep(ConfigMap, maps, at_most_deletions=at_most)
        app.status.ready = max(app.status.ready, len(maps))

    return lambda: [sp.Controller(App, reconcile).owns(ConfigMap)]


def test_no_fault_leads_to_more_deletions_than_are_allowed() -> None:
    predicates = [never(several_were_deleted)]
    check(empty_by_mistake, keeps(1), predicates=predicates, off=OFF, control_plane=False, budget=Budget(runs=12))


def test_without_a_bound_the_children_are_lost() -> None:
    predicates = [never(several_were_deleted)]
    with pytest.raises(Counterexample, match="Fewer than two children are left"):
        check(empty_by_mistake, keeps(None), predicates=predicates, off=OFF, control_plane=False, budget=Budget(runs=1))
