"""The report of a search: what it counts."""

from __future__ import annotations

import asyncio

from tests.simulation.apps import controllers
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import SWITCHES, Budget, Plan, Setup, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.trace.result import Options, Result


def test_a_report_without_points_counts_faults_all_the_same() -> None:
    report = Report()
    report.add(Plan((fault("conflict", "write a #1"),)), Result(injected=[0]))
    assert report.faults == {"conflict": 1}
    assert report.disturbed == {}


def test_a_report_says_why_not_all_single_faults_were_tried() -> None:
    assert "the budget ended before all" in str(Report(singles=1, all_singles=2))
    assert "the budget ended before all" in str(Report(singles=1, all_singles=2, ended="the budget ended"))
    assert "before all" not in str(Report(singles=2, all_singles=2))


async def in_a_hurry(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=1)))
    await cluster.settle()
    assert (await cluster.get(App, "one")).status.note == "1 maps"


async def waiting(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=1)))

    async def noted() -> bool:
        return (await cluster.get(App, "one")).status.note == "1 maps"

    await cluster.eventually(noted)


CRASHES = {name: "this is about crashes" for name in SWITCHES if name != "crash"}


def test_a_plan_that_is_run_again_with_patient_users_counts_once() -> None:
    report = check(in_a_hurry, controllers, off=CRASHES, budget=Budget(runs=10))
    assert report.runs > 10, "the last ones are made again"
    assert report.combinations == report.unreached == 0
    assert report.faults == {"crash": report.singles}


def test_patient_users_wait_until_no_fault_lasts_when_the_end_of_one_leads_to_another() -> None:
    plan = Plan(
        (
            fault("crash-after", "apply configmaps default/one-0 #1", until="step"),
            fault("crash-after", "apply secrets default/of-one #1", until="step"),
        )
    )
    check(in_a_hurry, controllers, replay=plan.token(), workers=0)
    check(waiting, controllers, replay=plan.token(), workers=0)


async def beat(app: App, ctx: sp.Context) -> sp.Outcome:
    """Writes forever, as a controller does that renews something."""
    await ctx.apply(ConfigMap.named("beat", "default", data={"at": str(asyncio.get_running_loop().time())}))
    return sp.after(2.5)


async def in_vain(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))

    async def never() -> bool:
        return False

    await cluster.eventually(never, within=5)


def test_a_wait_ends_though_a_fault_of_the_whole_run_begins_again_and_again() -> None:
    setup = Setup(scenario=in_vain, factory=lambda: [sp.Controller(App, beat).owns(ConfigMap)])
    lag = Plan((fault("lag", "run", collection="configmaps", seconds=2.0),))
    result = run_in_process(setup, lag, Options(quiet=False))
    assert [finding.oracle for finding in result.findings][:1] == ["scenario"]
    assert result.virtual < 2000.0
