"""Deletions by users: what they wipe out is found, and so is what they meet in the middle of something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, External, Plan, call, check
from setpoint.simulation.faults.descriptions import describe_fault
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.pre_deletion_states import PreDeletionCheck
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.trace.result import Point, Result


async def lifecycle(cluster: sp.testing.Cluster) -> None:
    for feature in (False, True):
        await cluster.apply(App.named("one", "default", spec=AppSpec(feature=feature)))
        await cluster.settle()
    await cluster.delete(App.named("one", "default"))
    await cluster.settle()


def text(app: App) -> str:
    return "on" if app.spec.feature else "off"


async def notes_first(app: App, ctx: sp.Context) -> None:
    if app.status.note != text(app):
        note = {"status": {"note": text(app)}}
        await ctx.client.patch(App, app.name, note, namespace=app.namespace, subresource="status")
        await ctx.apply(ConfigMap.named(app.name, data={"feature": text(app)}))


async def notes_last(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(app.name, data={"feature": text(app)}))
    app.status.note = text(app)


def made(reconcile: Any) -> Any:
    return lambda: [sp.Controller(App, reconcile).owns(ConfigMap)]


def test_a_state_that_was_wrong_before_the_deletion_is_found_in_a_shorter_scenario() -> None:
    with pytest.raises(Counterexample) as raised:
        check(lifecycle, made(notes_first))
    problem = raised.value
    assert problem.findings[0].subject == "configmaps default/one"
    assert problem.plan.stop
    with pytest.raises(Counterexample):
        check(lifecycle, made(notes_first), replay=problem.plan.token())


def test_a_controller_that_is_right_is_not_accused() -> None:
    assert check(lifecycle, made(notes_last), budget=Budget(runs=60)).runs


# -- deletions that a process does not see coming ----------------------------------------------------------------------


class Machines(External):
    def __init__(self) -> None:
        self.names: set[str] = set()

    @call
    async def create(self, name: str) -> None:
        self.names.add(name)

    @call
    async def remove(self, name: str) -> None:
        self.names.discard(name)


machines = Machines()


async def create_machine(app: App, _ctx: sp.Context) -> None:
    if not app.status.note:
        await machines.create(app.uid)
        app.status.note = app.uid


async def remove_noted(app: App, _ctx: sp.Context) -> None:
    if app.status.note:  # a process that died before it noted the machine never comes back to note it
        await machines.remove(app.status.note)


async def remove_always(app: App, _ctx: sp.Context) -> None:
    await machines.remove(app.uid)


def cleans_up(finalize: Any) -> Any:
    return lambda: [sp.Controller(App, create_machine).finalize(finalize)]


DOWN = Plan(
    (
        fault(
            "crash-after", "call machines.create('<uid of apps.test.example.com default/one>') #1", until="step", more=1
        ),
    )
)


def test_a_process_may_be_down_until_users_delete_its_object() -> None:
    with pytest.raises(Counterexample) as raised:
        check(lifecycle, cleans_up(remove_noted), externals=[machines], replay=DOWN.token())
    assert raised.value.findings[0].subject == "external machines"
    assert "after the user's next 2 steps" in describe_fault(DOWN.faults[0])
    check(lifecycle, cleans_up(remove_always), externals=[machines], replay=DOWN.token())


def test_it_is_down_that_long_after_each_change_before_the_step_that_comes_before_the_deletion() -> None:
    points = [
        Point("create a #1", "write", 1, changed=True, revision=1),
        Point("apply a #1", "write", 1, changed=False, revision=1),
        Point("patch a #1", "write", 2, changed=True, revision=2),
        Point("patch a #2", "write", 3, changed=True, revision=3),
    ]
    baseline = Result(points=points, steps=5, desired_paths=[[], ["a"], ["a"], ["a"], [], ["b"]])
    singles = PlanGenerator(baseline, off=frozenset(), seed=0, kinds=[], primaries=frozenset()).singles()
    long = {item.at: item.get("more") for item in singles if item.kind == "crash-after" and item.get("more")}
    assert long == {"create a #1": 2, "patch a #1": 1}


# -- objects of users that controllers delete --------------------------------------------------------------------------


async def with_parts(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(ConfigMap.named("part", data={"feature": "on"}))
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()
    await cluster.delete(App.named("one", "default"))
    await cluster.settle()


async def keep_parts(_app: App, _ctx: sp.Context) -> None:
    """The parts are made by users."""


async def delete_parts(_app: App, ctx: sp.Context) -> None:
    for part in await ctx.client.list(ConfigMap, namespace="default"):
        await ctx.client.delete(ConfigMap, part.name, namespace="default", uid=part.uid)


def test_what_a_controller_deletes_because_users_have_deleted_something_else_is_no_trace() -> None:
    result = sp.Controller(App, keep_parts).finalize(delete_parts)
    assert check(with_parts, lambda: [result], budget=Budget(runs=10)).runs


# -- the doubts themselves ---------------------------------------------------------------------------------------------

HERE = {"configmaps default/one": [{"data": {"feature": "on"}}]}
OTHER = {"configmaps default/one": [{"data": {"feature": "off"}}]}
CRASH = Plan((fault("crash-after", "apply configmaps default/one #1"),))


def reference(*wished_at: list[str]) -> Reference:
    rests = [HERE for _ in wished_at]
    return Reference(Result(desired_paths=[*wished_at], rest_states=rests, object_counts=[{} for _ in wished_at]), [])


@pytest.mark.parametrize(
    ("wished_at", "steps"),
    [
        ([[], ["a"], ["a"]], ()),
        ([[], ["a"], []], (1,)),
        ([[], ["a"], ["a", "b"], ["b"], []], (2, 3)),
        ([[], ["a"], ["b"]], (1,)),
    ],
)
def test_states_before_deletions_are_looked_at(wished_at: list[list[str]], steps: tuple[int, ...]) -> None:
    assert PreDeletionCheck(reference(*wished_at)).steps == steps


def test_a_difference_is_decided_once_for_faults_of_the_same_kinds() -> None:
    doubts = PreDeletionCheck(reference([], ["a"], []))
    late = Plan((fault("late-write", "apply configmaps default/one #1"),))
    run = Result(looks={1: OTHER}, object_counts=[{}, {}, {}])
    assert doubts.about(CRASH, Result(looks={1: HERE}, object_counts=[{}, {}, {}])) is None
    shorter = doubts.about(CRASH, run)
    assert shorter is not None
    assert shorter.stop == 1
    assert shorter.faults == CRASH.faults
    assert doubts.about(CRASH, run) is None
    assert doubts.about(late, run) is not None


def test_a_fault_that_hides_a_change_raises_no_doubt() -> None:
    run = Result(looks={1: OTHER}, object_counts=[{}, {}, {}])
    for hides in (fault("down", "step 1"), fault("crash-after", CRASH.faults[0].at, until="step")):
        assert PreDeletionCheck(reference([], ["a"], [])).about(Plan((hides,)), run) is None
