"""Users who make an object anew wait until the one that they have deleted is gone, whatever holds that up."""

from __future__ import annotations

from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Fault, Plan, check


async def create_delete_create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def controllers() -> list[sp.Controller[App]]:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(app.name), controlled=False)

    async def finalize(app: App, ctx: sp.Context) -> None:
        held = await ctx.get(ConfigMap, app.name)
        if held is not None:
            await ctx.delete(held)

    return [sp.Controller(App, reconcile).owns(ConfigMap).finalize(finalize)]


def test_a_finalizer_that_is_held_up_by_a_crash_does_not_take_the_object_that_is_made_anew() -> None:
    crash = Fault("crash-after", "delete configmaps default/one #1", (("until", "step"),))
    report = check(create_delete_create, controllers, budget=Budget(runs=1), replay=Plan((crash,)).token())
    assert report.runs > 0
