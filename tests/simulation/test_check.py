"""The promises of a simulation: bugs that need a fault are found, and correct controllers are not accused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, Plan, Report, check

Reconcile = Callable[[App, sp.Context], Any]
UNTIL_FOUND = Budget()
"""A finding comes within some tens of runs."""
SOME = Budget(runs=150)
"""Of every family of faults some: a run costs some tens of milliseconds."""


async def create_and_resize(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=2, feature=True)))
    await cluster.settle()
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=3, feature=True)))
    await cluster.settle()


def controllers(reconcile: Reconcile, *, finalize: Reconcile | None = None) -> Callable[[], list[sp.Controller[App]]]:
    def make() -> list[sp.Controller[App]]:
        result = sp.Controller(App, reconcile).owns(Secret).owns(ConfigMap)
        return [result.finalize(finalize) if finalize is not None else result]

    return make


def found(reconcile: Reconcile, scenario: Any = create_and_resize, **options: Any) -> Counterexample:
    with pytest.raises(Counterexample) as caught:
        check(scenario, controllers(reconcile), budget=UNTIL_FOUND, **options)
    return caught.value


def test_a_guard_on_the_first_of_two_secrets_is_found_by_a_crash_between_them() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if await ctx.get(Secret, f"{app.name}-a") is None:
            await ctx.create(Secret.named(f"{app.name}-a"))
            await ctx.create(Secret.named(f"{app.name}-b"))

    only_crashes = {name: "this is about crashes" for name in SWITCHES if name != "crash"}
    problem = found(reconcile, off=only_crashes)
    assert problem.findings[0].oracle == "end state"
    assert problem.findings[0].subject == "secrets default/one-b"
    assert [fault.kind for fault in problem.plan.faults] == ["crash-after"]
    assert problem.plan.stop == 1, "the second change of the scenario is not needed"


@pytest.mark.long
def test_each_secret_with_a_guard_of_its_own_is_not_accused() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        for name in ("a", "b"):
            if await ctx.get(Secret, f"{app.name}-{name}") is None:
                try:
                    await ctx.create(Secret.named(f"{app.name}-{name}"))
                except AlreadyExists:
                    return sp.retry("the cache is behind")
        return None

    report = check(create_and_resize, controllers(reconcile), budget=SOME)
    assert isinstance(report, Report)
    assert report.singles > 50


def test_what_only_memory_knows_is_lost_by_a_restart() -> None:
    def factory() -> list[sp.Controller[App]]:
        seen: dict[str, int] = {}

        async def reconcile(app: App, ctx: sp.Context) -> None:
            seen.setdefault(app.name, app.spec.size)
            await ctx.apply(ConfigMap.named(app.name, data={"first": str(seen[app.name])}))

        return [sp.Controller(App, reconcile).owns(ConfigMap)]

    with pytest.raises(Counterexample) as caught:
        check(create_and_resize, factory, budget=UNTIL_FOUND)
    assert caught.value.findings[0].subject == "configmaps default/one"


async def resize_and_back(cluster: sp.testing.Cluster) -> None:
    for size in (2, 4, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size, feature=True)))
        await cluster.settle()


def test_counting_events_is_found_when_two_are_squashed() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        held = await ctx.get(ConfigMap, app.name)
        most = max(app.spec.size, int(held.data["most"]) if held is not None else 0)
        await ctx.apply(ConfigMap.named(app.name, data={"most": str(most)}))

    problem = found(reconcile, resize_and_back, off={"paths": "this one remembers on purpose"})
    assert problem.findings[0].oracle == "end state"


def test_what_depends_on_the_way_there_is_found_without_any_fault() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        held = await ctx.get(ConfigMap, app.name)
        most = max(app.spec.size, int(held.data["most"]) if held is not None else 0)
        await ctx.apply(ConfigMap.named(app.name, data={"most": str(most)}))

    problem = found(reconcile, resize_and_back)
    assert problem.findings[0].oracle == "paths"
    assert not problem.plan.faults


async def turn_off_and_on(cluster: sp.testing.Cluster) -> None:
    for feature in (False, True):
        await cluster.apply(App.named("one", "default", spec=AppSpec(feature=feature)))
        await cluster.settle()


def test_deleting_on_an_old_view_is_found_by_time_travel() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        held = await ctx.get(ConfigMap, app.name)
        if app.spec.feature:
            await ctx.apply(ConfigMap.named(app.name, data={"a": "b"}))
        elif held is not None:
            await ctx.delete(held)

    problem = found(reconcile, turn_off_and_on)
    assert problem.findings[0].oracle == "destroyed"
    assert problem.plan.faults[0].get("behind")
    assert "a server that can't stream them" in str(problem)
    off = {"time-travel": "our servers stream lists, which are consistent reads then"}
    check(turn_off_and_on, controllers(reconcile), budget=SOME, off=off)


@pytest.mark.long
def test_what_keep_deletes_is_not_deleted_on_an_old_view() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [ConfigMap.named(app.name)] if app.spec.feature else [])

    only = {name: "this is about old lists" for name in SWITCHES if name != "time-travel"}
    report = check(turn_off_and_on, controllers(reconcile), budget=SOME, off=only)
    assert report.faults["time-travel"] > 4


@pytest.mark.long
def test_a_live_look_before_deleting_is_not_accused() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        held = await ctx.get(ConfigMap, app.name)
        if app.spec.feature:
            await ctx.apply(ConfigMap.named(app.name, data={"a": "b"}))
        elif held is not None:
            live = await ctx.client.get(App, app.name, namespace=app.namespace)
            if not live.spec.feature:
                await ctx.delete(held)

    check(turn_off_and_on, controllers(reconcile), budget=SOME)


def test_a_time_in_the_status_that_is_always_new_is_a_hot_loop() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        app.status.note = ctx.now().isoformat()

    assert found(reconcile).findings[0].oracle in ("quiet", "hot loop")


@pytest.mark.parametrize(("times", "wrong"), [(40, False), (150, True)])
def test_an_object_with_a_generated_name_that_is_replaced_again_and_again_is_a_hot_loop(
    times: int, wrong: bool
) -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if not app.status.note:
            for _ in range(times):
                meta = sp.ObjectMeta(generate_name="one-", namespace=app.namespace)
                await ctx.delete(await ctx.client.create(ConfigMap(metadata=meta)))
        app.status.note = "done"

    plan = Plan()
    if not wrong:
        check(create_and_resize, controllers(reconcile), replay=plan.token(), workers=0)
        return
    with pytest.raises(Counterexample) as caught:
        check(create_and_resize, controllers(reconcile), replay=plan.token(), workers=0)
    assert "[hot loop] configmaps default/one-* was deleted and created again" in str(caught.value)


def test_a_budget_that_ends_before_the_first_fault_is_told_of() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [ConfigMap.named(app.name)])

    with pytest.warns(UserWarning, match="before the first fault: none of [0-9]+ faults was tried"):
        check(create_and_resize, controllers(reconcile), budget=Budget(runs=1))


def test_the_real_clock_is_named_with_its_line() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if await ctx.get(ConfigMap, app.name) is None:
            await ctx.apply(ConfigMap.named(app.name, data={"at": str(datetime.datetime.now(datetime.UTC))}))

    problem = found(reconcile)
    assert problem.findings[0].oracle == "determinism"
    assert "test_check.py:" in problem.findings[0].message
    assert "reads the real clock (now)" in problem.findings[0].message


async def create_and_delete(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()


def test_going_on_after_the_finalizer_is_gone_leaves_what_nobody_owns() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if app.is_deleting and "test/own" in app.metadata.finalizers:
            app.metadata.finalizers.remove("test/own")
            await ctx.client.update(app)
        elif not app.is_deleting and "test/own" not in app.metadata.finalizers:
            app.metadata.finalizers.append("test/own")
            app = await ctx.client.update(app)
        await ctx.apply(ConfigMap.named(app.name), controlled=False)

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, reconcile, reconcile_deleting=True)]

    async def with_clean_up(cluster: sp.testing.Cluster) -> None:
        await create_and_delete(cluster)
        assert await cluster.find(ConfigMap, "one") is None, "something is left behind"

    with pytest.raises(Counterexample) as caught:
        check(with_clean_up, factory, budget=UNTIL_FOUND)
    assert "something is left behind" in caught.value.findings[0].message
