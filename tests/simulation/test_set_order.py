"""Sets: an order that is another one in every process."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, External, call, check

pytest.importorskip("cloudpickle")
NAMES = [f"n{number}" for number in range(12)]


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def test_an_order_of_a_set_that_is_written_down_is_found_under_another_hash_seed() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name, data={"names": " ".join(set(NAMES))}))

    for _ in range(2):  # the second check finds the interpreters of the first
        with pytest.raises(Counterexample) as caught:
            check(create, lambda: sp.Controller(App, reconcile).owns(ConfigMap))
    assert caught.value.plan.faults[0].kind == "hash-seed"
    assert caught.value.findings[0].subject == "configmaps default/one"


@pytest.mark.long
def test_a_set_that_is_sorted_first_is_not_accused() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name, data={"names": " ".join(sorted(set(NAMES)))}))

    report = check(create, lambda: sp.Controller(App, reconcile).owns(ConfigMap), budget=Budget(runs=12))
    assert report.faults["hash-seed"] == 3
    assert not report.notes


def test_a_class_that_another_process_cant_import_is_said_and_accuses_nobody() -> None:
    """Made from its parts it would have no fields there."""

    class Data(sp.Model):
        data: dict[str, str] | None = None

    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name, data={"names": " ".join(sorted(set(NAMES)))}))
        read = ctx.lister(ConfigMap).try_get(app.name, "default", as_=Data)
        assert read is not None
        assert read.data

    report = check(create, lambda: sp.Controller(App, reconcile).owns(ConfigMap), budget=Budget(runs=6))
    (note,) = report.notes
    assert "another process can't import the class test_a_class_that_another_process_cant_import" in note


class Names(External):
    def __init__(self) -> None:
        self.names: list[str] = []

    @call
    async def write(self, names: list[str]) -> None:
        self.names = names


outside = Names()


async def tells_the_outside(app: App, ctx: sp.Context) -> None:
    await outside.write(sorted(set(NAMES)))


@pytest.mark.long
def test_an_external_system_that_a_module_has_is_the_same_one_in_every_process() -> None:
    report = check(create, lambda: sp.Controller(App, tells_the_outside), externals=[outside], budget=Budget(runs=12))
    assert report.faults["hash-seed"] == 3
    assert not report.notes
