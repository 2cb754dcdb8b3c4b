"""Sets: an order that is another one in every process."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, check

pytest.importorskip("cloudpickle")
NAMES = [f"n{number}" for number in range(12)]


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def test_an_order_of_a_set_that_is_written_down_is_found_under_another_hash_seed() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name, data={"names": " ".join(set(NAMES))}))

    with pytest.raises(Counterexample) as caught:
        check(create, lambda: sp.Controller(App, reconcile).owns(ConfigMap))
    assert caught.value.plan.faults[0].kind == "hash-seed"
    assert caught.value.findings[0].subject == "configmaps default/one"


def test_a_set_that_is_sorted_first_is_not_accused() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name, data={"names": " ".join(sorted(set(NAMES)))}))

    report = check(create, lambda: sp.Controller(App, reconcile).owns(ConfigMap), budget=Budget(runs=12))
    assert report.faults["hash-seed"] == 3
    assert not report.notes
