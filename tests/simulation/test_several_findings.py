"""One finding hides no other: children of an owner that is gone, hot loops that are switched off, weak findings."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.meta import OwnerReference
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Budget, Counterexample, Setup, check
from setpoint.simulation.execution.worker_pool import WorkerPool
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.trace.result import Options, Result

UNSEEN = Plan((fault("lag", "DELETED apps.test.example.com default/one #1", until="step"),))


async def made_and_gone(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(App.named("two", "default"))
    await cluster.settle()


async def with_a_child(app: App, ctx: sp.Context) -> None:
    """Makes a child as programs do that have no framework: with the client, and an owner reference of their own."""
    if await ctx.get(Secret, app.name) is None:
        owner = OwnerReference(api_version="test.example.com/v1", kind="App", name=app.name, uid=app.uid)
        meta = sp.ObjectMeta(name=app.name, namespace=app.namespace, owner_references=[owner])
        await ctx.client.create(Secret(metadata=meta))


def children() -> sp.Controller[App]:
    return sp.Controller(App, with_a_child).watches(Secret, lambda head: [sp.ObjectKey(head.key)])


def run(setup: Setup, plan: Plan) -> Result:
    with WorkerPool(setup, 1) as pool:
        return pool.run(plan, Options())


def test_children_of_an_owner_whose_end_is_not_seen_are_no_hot_loop() -> None:
    def factory() -> list[sp.Controller[App]]:
        return [children()]

    result = run(Setup(scenario=made_and_gone, factory=factory), UNSEEN)
    assert result.injected == [0]
    assert result.findings == []
    assert result.cut == ""
    assert "secrets default/two" in result.end
    assert "secrets default/one" not in result.end


def test_a_run_goes_on_if_hot_loops_are_switched_off() -> None:
    def factory() -> list[sp.Controller[App]]:
        async def counts_down(app: App, ctx: sp.Context) -> None:
            """Writes the same two states in turns, and comes to an end."""
            left = int(app.annotations.get("left", "30"))
            if left:
                data = {"is": str(left % 2)}
                await ctx.apply(ConfigMap.named(app.name, data=data))
                await ctx.patch(app, {"metadata": {"annotations": {"left": str(left - 1)}}})
            else:
                await ctx.apply(ConfigMap.named(app.name, data={"is": "done"}))

        return [sp.Controller(App, counts_down).owns(ConfigMap)]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    off = {"hot loop": "it counts"}
    result = run(Setup(scenario=scenario, factory=factory, off=off), Plan())
    assert result.cut == ""
    assert result.end["configmaps default/one"][0]["data"] == {"is": "done"}
    on = run(Setup(scenario=scenario, factory=factory), Plan())
    assert on.cut == "a hot loop"


def test_a_weak_finding_does_not_hide_a_strong_one() -> None:
    async def guarded_and_restless(app: App, ctx: sp.Context) -> None:
        if await ctx.get(Secret, f"{app.name}-a") is None:
            await ctx.create(Secret.named(f"{app.name}-a"))
            await ctx.create(Secret.named(f"{app.name}-b"))
        hour = str(int(ctx.now().timestamp()) // 600)
        await ctx.apply(ConfigMap.named(f"{app.name}-log", data={"hour": hour}))

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
        await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, guarded_and_restless).owns(Secret).owns(ConfigMap)]

    with pytest.raises(Counterexample) as caught:
        check(scenario, factory, budget=Budget(runs=100))
    assert caught.value.findings[0].subject == "secrets default/one-b"
    assert [item.findings[0].oracle for item in caught.value.others] == ["quiet"]
    assert "also found: [quiet] configmaps default/one-log was written" in str(caught.value)
