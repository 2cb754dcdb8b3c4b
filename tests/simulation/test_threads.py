"""Reconcile functions that are ordinary functions: they run in threads, and the runs are the same all the same."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, Setup, check
from setpoint.simulation.plan import Plan
from setpoint.simulation.pool import Pool
from setpoint.simulation.result import Options

ONLY_CRASHES = {name: "this is about crashes" for name in SWITCHES if name != "crash"}


def reconcile(app: App, ctx: sp.SyncContext) -> None:
    if ctx.get(Secret, f"{app.name}-a") is None:
        ctx.create(Secret.named(f"{app.name}-a"))
        ctx.create(Secret.named(f"{app.name}-b"))
    ctx.event("Normal", "Secrets", "both are there")
    ctx.apply(ConfigMap.named(app.name, data={"size": str(app.spec.size)}))


def factory() -> list[sp.Controller[App]]:
    return [sp.Controller(App, reconcile).owns(Secret).owns(ConfigMap)]


async def three(cluster: sp.testing.Cluster) -> None:
    for name in ("one", "two", "three"):
        await cluster.apply(App.named(name, "default", spec=AppSpec(size=2)))
    await cluster.settle()


def test_threads_take_turns_in_the_same_order_each_time() -> None:
    with Pool(Setup(scenario=three, factory=factory), 2) as pool:
        digests = {result.digest for _, _, result in pool.each([(Plan(), Options())] * 4)}
    assert len(digests) == 1


def test_a_thread_dies_with_its_process() -> None:
    with pytest.raises(Counterexample) as caught:
        check(three, factory, budget=Budget(runs=100), off=ONLY_CRASHES)
    assert caught.value.findings[0].subject.startswith("secrets default/")
    assert caught.value.plan.faults[0].kind.startswith("crash")
