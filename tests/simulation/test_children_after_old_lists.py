"""Children that are applied or kept by a process whose first lists show the past."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Fault, Plan, check


def box(app: App) -> ConfigMap:
    return ConfigMap.named(f"{app.name}-box", data={"of": app.name})


async def applies(app: App, ctx: sp.Context) -> None:
    await ctx.apply(box(app))


async def keeps(app: App, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [box(app)])


async def made_anew(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


@pytest.mark.parametrize("reconcile", [applies, keeps])
def test_a_child_stays_with_its_owner_where_a_process_sees_an_earlier_owner_without_children(reconcile: object) -> None:
    """Otherwise the child would name an owner that is gone, and the garbage collector delete it."""
    old = (("behind", "ADDED apps.test.example.com default/one #1"), ("kinds", "all"))
    travel = Plan((Fault("restart", "step 4", old),))
    check(made_anew, lambda: sp.Controller(App, reconcile).owns(ConfigMap), replay=travel.token(), workers=0)  # type: ignore[arg-type]


def test_a_later_deletion_of_what_was_made_for_an_object_that_is_gone_breaks_no_quiet() -> None:
    """Objects beside the expected ones do not count where a process sees the past, and may go with any reconcile."""

    async def make_box(app: App, ctx: sp.Context) -> None:
        await ctx.apply(box(app), controlled=False)

    async def sweep(secret: Secret, ctx: sp.Context) -> None:
        names = {app.name for app in (await ctx.client.list(App, namespace=secret.namespace)).items}
        for child in await ctx.list(ConfigMap):
            if child.name.endswith("-box") and child.name.removesuffix("-box") not in names:
                await ctx.delete(child)

    async def users(cluster: sp.testing.Cluster) -> None:
        for name in ("one", "two"):
            await cluster.apply(App.named(name, "default"))
        await cluster.settle()
        await cluster.delete(await cluster.get(App, "one"))
        await cluster.settle()
        await cluster.apply(Secret.named("sweep", "default"))
        await cluster.settle()

    def controllers() -> list[sp.Controller[Any]]:
        swept = sp.Controller(Secret, sweep, owns_status=False).reads(ConfigMap).needs(App, "list")
        return [sp.Controller(App, make_box), swept]

    old = (("behind", "ADDED apps.test.example.com default/one #1"),)
    check(users, controllers, replay=Plan((Fault("restart", "step 4", old),)).token(), workers=0)
