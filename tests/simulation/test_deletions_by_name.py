"""Deletions by name may hit an object that the process has never seen, and that was not made for the same owner."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import NotFound
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.simulation import Budget, Counterexample, Plan, check
from setpoint.simulation.faults.plan import fault

MADE = "apply configmaps elsewhere/one #1"
ELSEWHERE = Namespace.named("elsewhere")


async def make_and_remove(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(feature=True)))
    await cluster.settle()
    await cluster.delete(App.named("one", "default"))
    await cluster.settle()


async def reconcile(app: App, ctx: sp.Context) -> None:
    await ctx.client.apply(ConfigMap.named(app.name, "elsewhere"), field_manager="apps")


async def finalize(app: App, ctx: sp.Context) -> None:
    try:
        await ctx.client.delete(ConfigMap, app.name, namespace="elsewhere")
    except NotFound:
        return


def controllers() -> list[sp.Controller[App]]:
    return [sp.Controller(App, reconcile).finalize(finalize)]


def test_an_earlier_process_made_it_for_the_same_owner_so_the_deletion_is_no_mistake() -> None:
    late = Plan((fault("crash-after", MADE, until="step"),))
    replayed = check(make_and_remove, controllers, objects=[ELSEWHERE], budget=Budget(runs=1), replay=late.token())
    assert replayed.runs


def test_users_made_it_so_the_deletion_is_a_mistake() -> None:
    def only_clean_up() -> list[sp.Controller[App]]:
        async def nothing(_app: App, _ctx: sp.Context) -> None:
            pass

        return [sp.Controller(App, nothing).finalize(finalize)]

    objects = [ELSEWHERE, ConfigMap.named("one", "elsewhere")]
    with pytest.raises(Counterexample) as raised:
        check(make_and_remove, only_clean_up, objects=objects, budget=Budget(runs=10))
    assert "blind delete" in {finding.oracle for finding in raised.value.findings}


def test_it_was_made_for_a_predecessor_of_the_same_name_so_the_deletion_is_a_mistake() -> None:
    def without_clean_up() -> list[sp.Controller[App]]:
        async def either(app: App, ctx: sp.Context) -> None:
            await (reconcile if app.spec.feature else finalize)(app, ctx)

        return [sp.Controller(App, either)]

    async def anew(cluster: sp.testing.Cluster) -> None:
        await make_and_remove(cluster)
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    replaced = Plan((fault("restart", "step 2"),))
    with pytest.raises(Counterexample) as raised:
        check(anew, without_clean_up, objects=[ELSEWHERE], replay=replaced.token(), off={"paths": "not asked here"})
    assert "blind delete" in {finding.oracle for finding in raised.value.findings}
