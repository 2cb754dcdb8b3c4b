"""Objects that are named by the time, or that come and go by themselves, hide nothing of the others of their kind."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, check
from setpoint.simulation.comparison.timestamped_names import find_name_patterns, make_name_replacer
from setpoint.simulation.trace.result import Result

MAPS = "configmaps default/"


def named(*names: str) -> Result:
    return Result(end={f"{MAPS}{name}": [{}] for name in names})


def starred(one: list[str], other: list[str], *texts: str) -> list[str]:
    """The texts, after names of the forms in which two runs differ have been replaced."""
    return [*map(make_name_replacer(find_name_patterns([named(*one), named(*other)])), texts)]


@pytest.mark.parametrize(
    ("one", "other", "form"),
    [
        ("backup-1767225600", "backup-1767324365", "backup-*"),
        ("run-2026-01-05-main", "run-2026-02-05-main", "run-2026-*-*-main"),
        ("trace-5c573780", "trace-b8b4d1e0", "trace-*"),
        ("1767225600", "1767324365", "*"),
        ("main-1767225600-*", "main-1767324365-*", "main-*-*"),
    ],
)
def test_a_name_of_the_time_becomes_a_form(one: str, other: str, form: str) -> None:
    assert starred([one], [other], f"{MAPS}{one}", f"see {other}.") == [f"{MAPS}{form}", f"see {form}."]


def test_names_that_are_the_same_in_all_runs_have_no_form() -> None:
    assert starred(["a-1", "a-x"], ["a-2", "a-x"], "a-x", "a-1", "a-x1") == ["a-x", "a-*", "a-x1"]
    assert find_name_patterns([named("a", "b"), named("a", "b")]) == ()


def test_what_is_there_in_one_run_only_has_no_form() -> None:
    assert find_name_patterns([named("a-1"), named()]) == ()
    assert find_name_patterns([named("blue"), named("green")]) == (), "such a form would be that of all names"
    assert find_name_patterns([named("a-1"), Result(end={"secrets default/a-2": [{}]})]) == (), "another kind"


def test_an_object_that_goes_by_itself_is_named_in_a_warning() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> sp.Outcome:
        created = app.metadata.creation_timestamp
        assert created is not None
        left = (created + timedelta(minutes=1) - ctx.now()).total_seconds()
        await ctx.keep(ConfigMap, [ConfigMap.named("ticket")] if left > 0 else [])
        return sp.after(left, "the end of the ticket") if left > 0 else sp.done()

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for size in (1, 2):
            await cluster.apply(App.named("one", "default", labels={"size": str(size)}))
            await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, reconcile).owns(ConfigMap)]

    with pytest.warns(UserWarning, match="it was not compared whether configmaps default/ticket exists"):
        report = check(scenario, factory, budget=Budget(runs=10))
    assert "NOT COMPARED: configmaps default/ticket" in str(report)
    report = check(scenario, factory, budget=Budget(runs=10), ignore={"configmaps default/ticket": "for a minute"})
    assert "NOT COMPARED" not in str(report)
