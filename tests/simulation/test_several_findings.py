"""One finding hides no other: children of an owner that is gone, hot loops that are switched off, weak findings."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.meta import OwnerReference
from setpoint.models.coordination_v1 import Lease
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


def test_a_hot_loop_of_two_controllers_names_both() -> None:
    async def sets_one(app: App, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named("shared", data={"size": "1"}), controlled=False)

    async def sets_three(app: App, ctx: sp.Context) -> None:
        shared = await ctx.get(ConfigMap, "shared")
        if shared is not None and shared.data["size"] != "3":
            await ctx.patch(shared, {"data": {"size": "3"}})

    def factory() -> list[sp.Controller[App]]:
        def every(head: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
            return [app.key for app in caches.lister(App).list()]

        return [
            sp.Controller(App, sets_one, name="first").watches(ConfigMap, every),
            sp.Controller(App, sets_three, name="second").watches(ConfigMap, every),
        ]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    message = run(Setup(scenario=scenario, factory=factory), Plan()).findings[0].message
    assert message.startswith("configmaps default/shared kept returning to the same states")
    assert "controller first for App default/one at test_several_findings.py:" in message
    assert "controller second for App default/one at test_several_findings.py:" in message


def test_a_difference_in_what_is_wrong_without_faults_comes_after_it() -> None:
    async def never_again(app: App, ctx: sp.Context) -> None:
        """Deletes the child of another size, and does not see when it is gone."""
        child = await ctx.get(ConfigMap, app.name)
        if child is not None and child.data["size"] != str(app.spec.size):
            await ctx.delete(child)
        elif child is None:
            await ctx.apply(ConfigMap.named(app.name, data={"size": str(app.spec.size)}))

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, never_again).owns(ConfigMap, predicates=[lambda old, new: new is not None])]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for size in (1, 2):
            await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
            await cluster.settle()

    with pytest.raises(Counterexample) as caught:
        check(scenario, factory, budget=Budget(runs=40))
    assert caught.value.findings[0].oracle == "quiet"
    assert not caught.value.plan.faults
    assert [item.findings[0].oracle for item in caught.value.others] == ["end state"]


def test_a_lease_that_a_controller_uses_as_a_lock_is_like_any_other_object() -> None:
    async def locked_once(app: App, ctx: sp.Context) -> None:
        if "done" not in app.annotations:
            try:
                await ctx.create(Lease.named("lock"), controlled=False)
            except AlreadyExists:
                return
            await ctx.apply(ConfigMap.named(app.name))
            await ctx.client.delete(Lease, "lock", namespace="default")
            await ctx.patch(app, {"metadata": {"annotations": {"done": ""}}})

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, locked_once)]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    with pytest.raises(Counterexample) as caught:
        check(scenario, factory, budget=Budget(runs=60))
    assert caught.value.plan.faults[0].at.startswith("create leases.coordination.k8s.io default/lock")
    assert "create leases.coordination.k8s.io default/lock" in "\n".join(line.text for line in caught.value.trace)


def test_controllers_of_a_process_start_in_another_order_after_a_restart() -> None:
    def factory() -> list[sp.Controller[App]]:
        sizes: dict[str, int] = {}

        async def notes(app: App, ctx: sp.Context) -> None:
            sizes[app.name] = app.spec.size

        async def uses(app: App, ctx: sp.Context) -> None:
            await ctx.apply(ConfigMap.named(app.name, data={"size": str(sizes.get(app.name, 0))}))

        return [sp.Controller(App, notes, name="notes"), sp.Controller(App, uses, name="uses")]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
        await cluster.settle()

    findings = run(Setup(scenario=scenario, factory=factory), Plan()).findings
    assert [finding.message for finding in findings if "size: 2 → 0" in finding.message]
    assert run(Setup(scenario=scenario, factory=factory, off={"order": "one after the other"}), Plan()).findings == []


def test_lists_come_in_another_order_after_a_restart() -> None:
    def factory() -> list[sp.Controller[App]]:
        names: list[str] = []

        async def notes_the_first(app: App, ctx: sp.Context) -> None:
            names.append(app.name)
            await ctx.apply(ConfigMap.named("first", data={"is": names[0]}), controlled=False)

        return [sp.Controller(App, notes_the_first, workers=1)]

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for name in "abc":
            await cluster.apply(App.named(name, "default"))
        await cluster.settle()

    def first(**off: str) -> str:
        setup = Setup(scenario=scenario, factory=factory, off=off)
        return str(run(setup, Plan((fault("restart", "step 1"),))).end["configmaps default/first"][0]["data"]["is"])

    assert first(order="one after the other") == "a"
    assert first() == "c"
