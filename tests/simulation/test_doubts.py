"""A mistake that a deletion in the last step wipes out is found."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, Plan, check
from setpoint.simulation.doubts import Doubts
from setpoint.simulation.plan import fault
from setpoint.simulation.result import Result
from setpoint.simulation.verdict import Reference


async def life(cluster: sp.testing.Cluster) -> None:
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
        check(life, made(notes_first))
    problem = raised.value
    assert problem.findings[0].subject == "configmaps default/one"
    assert problem.plan.stop
    with pytest.raises(Counterexample):
        check(life, made(notes_first), replay=problem.plan.token())


def test_a_controller_that_is_right_is_not_accused() -> None:
    assert check(life, made(notes_last), budget=Budget(runs=60)).runs


# -- the doubts themselves ---------------------------------------------------------------------------------------------

HERE = {"configmaps default/one": [{"data": {"feature": "on"}}]}
OTHER = {"configmaps default/one": [{"data": {"feature": "off"}}]}
CRASH = Plan((fault("crash-after", "apply configmaps default/one #1"),))


def reference(*wished_at: list[str]) -> Reference:
    rests = [HERE for _ in wished_at]
    return Reference(Result(wished_at=[*wished_at], rests=rests, there=[{} for _ in wished_at]), [])


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
    assert Doubts(reference(*wished_at)).steps == steps


def test_a_difference_is_decided_once_for_faults_of_the_same_kinds() -> None:
    doubts = Doubts(reference([], ["a"], []))
    late = Plan((fault("late-write", "apply configmaps default/one #1"),))
    run = Result(looks={1: OTHER}, there=[{}, {}, {}])
    assert doubts.about(CRASH, Result(looks={1: HERE}, there=[{}, {}, {}])) is None
    shorter = doubts.about(CRASH, run)
    assert shorter is not None
    assert shorter.stop == 1
    assert shorter.faults == CRASH.faults
    assert doubts.about(CRASH, run) is None
    assert doubts.about(late, run) is not None
