"""The parts of a finding: files, a page, a replay, and the command line."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import yaml
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, Plan, check, never
from setpoint.simulation.faults.descriptions import describe_fault
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.report.counterexample_page import render_page

ONLY_CRASHES = {name: "this is about crashes" for name in SWITCHES if name != "crash"}


async def create_one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


async def guarded(app: App, ctx: sp.Context) -> None:
    if await ctx.get(Secret, f"{app.name}-a") is None:
        await ctx.create(Secret.named(f"{app.name}-a"))
        await ctx.create(Secret.named(f"{app.name}-b"))


async def repeated(app: App, ctx: sp.Context) -> None:
    await ctx.keep(Secret, [Secret.named(f"{app.name}-{letter}") for letter in "ab"])


def test_a_finding_is_replayed_from_its_file_and_its_token(tmp_path: Path) -> None:
    def broken() -> list[sp.Controller[App]]:
        return [sp.Controller(App, guarded).owns(Secret)]

    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, budget=Budget(runs=60), off=ONLY_CRASHES, directory=tmp_path)
    problem = caught.value
    recorded, page = sorted(problem.files, key=lambda file: file.suffix, reverse=True)
    document = yaml.safe_load(recorded.read_text())
    assert document["plan"]["faults"][0]["kind"] == problem.plan.faults[0].kind
    assert document["token"] == problem.token
    text = page.read_text()
    assert "secrets default/one-b" in text
    assert "The controller&#x27;s process was killed right after “create secrets default/one-a”" in text
    assert "only in that run" in text
    assert "http" not in text.replace("https://", "http://").split("<style>")[0], "a page needs nothing else"
    for source in (problem.token, recorded):
        with pytest.raises(Counterexample) as again:
            check(create_one, broken, replay=source)
        assert again.value.findings == problem.findings
        assert again.value.trace == problem.trace

    def mended() -> list[sp.Controller[App]]:
        return [sp.Controller(App, repeated).owns(Secret)]

    check(create_one, mended, replay=problem.token)


def test_a_replay_of_faults_tells_what_is_wrong_without_them_too() -> None:
    def broken() -> list[sp.Controller[App]]:
        return [sp.Controller(App, guarded).owns(Secret)]

    unwanted = never(lambda objects: bool(objects.list(Secret)), "there are Secrets")
    crash = Plan((fault("crash-after", "create secrets default/one-a #1"),))
    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, predicates=[unwanted], replay=crash.token(), workers=0)
    assert {finding.oracle for finding in caught.value.findings} == {"end state"}
    assert {baseline_finding.oracle for baseline_finding in caught.value.baseline_findings} == {"predicate"}
    assert "and without any fault:\n  [predicate]" in str(caught.value)
    assert "without the fault, too: [predicate]" in render_page(caught.value)
    harmless = Plan((fault("restart", "step 1"),))
    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, predicates=[unwanted], replay=harmless.token(), workers=0)
    assert caught.value.findings[0].oracle == "predicate"
    assert not caught.value.plan.faults


def test_a_replay_of_a_run_that_a_hot_loop_cuts_off_tells_of_the_hot_loop_alone() -> None:
    async def writes_the_time_of_day(app: App, ctx: sp.Context) -> None:
        await guarded(app, ctx)
        await ctx.patch(app, {"status": {"note": ctx.now().isoformat()}}, subresource="status")

    def broken() -> list[sp.Controller[App]]:
        return [sp.Controller(App, writes_the_time_of_day).owns(Secret)]

    crash = Plan((fault("crash-after", "create secrets default/one-a #1"),))
    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, replay=crash.token(), workers=0)
    assert {finding.oracle for finding in caught.value.findings} == {"hot loop"}
    assert not caught.value.plan.faults


def test_what_is_switched_off_says_why_in_the_report() -> None:
    def mended() -> list[sp.Controller[App]]:
        return [sp.Controller(App, repeated).owns(Secret)]

    report = str(check(create_one, mended, budget=Budget(runs=12), off={"lag": "we have no caches"}))
    assert "off: lag (we have no caches)" in report
    with pytest.raises(ValueError, match="no fault and no oracle has the name 'lags'"):
        check(create_one, mended, off={"lags": ""})


async def test_a_coroutine_is_told_to_call_it_from_a_function() -> None:
    with pytest.raises(RuntimeError, match="call it from an ordinary function"):
        check(create_one, lambda: [sp.Controller(App, repeated)])


PROGRAM = """
import setpoint as sp
from setpoint.models.core_v1 import Secret

class Thing(sp.CustomResource, group="test.example.com", version="v1"):
    pass

async def reconcile(thing: Thing, ctx: sp.Context) -> None:
    if await ctx.get(Secret, f"{thing.name}-a") is None:
        await ctx.create(Secret.named(f"{thing.name}-a"))
        await ctx.create(Secret.named(f"{thing.name}-b"))

async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Thing.named("sample", "default"))
    await cluster.settle()

if __name__ == "__main__":
    sp.main(sp.Controller(Thing, reconcile).owns(Secret))
"""


def test_the_command_line_ends_with_1_on_a_finding_and_replays_it(tmp_path: Path) -> None:
    program = tmp_path / "thing.py"
    program.write_text(PROGRAM)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), "simulate", "--scenario", "thing.py:scenario", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    result = run("--faults", "crash", "--budget", "100runs")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "[end state]" in result.stdout
    (file,) = (tmp_path / "counterexamples").glob("*.yaml")
    again = run("--replay", str(file))
    assert again.returncode == 1, again.stdout + again.stderr
    wrong = run("--faults", "crush")
    assert wrong.returncode == 2
    assert "there is no fault 'crush'" in wrong.stderr


def test_a_replay_stops_in_a_debugger_where_the_fault_strikes(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[sp.Controller[App]]:
        return [sp.Controller(App, guarded).owns(Secret)]

    stops: list[list[str]] = []

    def stop() -> None:
        stops.append([frame.name for frame in traceback.extract_stack()])

    monkeypatch.setattr(sys, "breakpointhook", stop)
    plan = Plan((fault("crash-after", "create secrets default/one-a #1"),))
    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, replay=plan.token(), debug=True)
    assert "guarded" in stops[0], "the stop is below the line that is hit"
    assert "App default/one" in caught.value.explanation
    assert "nothing to do since generation 1" in caught.value.explanation


def test_a_fault_is_told_behind_the_write_that_it_follows() -> None:
    def broken() -> list[sp.Controller[App]]:
        return [sp.Controller(App, guarded).owns(Secret)]

    plan = Plan((fault("crash-after", "create secrets default/one-a #1"),))
    with pytest.raises(Counterexample) as caught:
        check(create_one, broken, replay=plan.token())
    text = render_page(caught.value).partition("What happened")[2]
    places = [text.index(answer) for answer in ("create secrets default/one-a<", "fault:</b> crash-after", "killed:")]
    assert places == sorted(places)


def test_every_kind_of_fault_has_words() -> None:
    told_by_details = {"time-travel": "restart", "squash": "lag"}  # what those are called in plans
    for kinds in SWITCHES.values():
        for kind in kinds.faults:
            name = told_by_details.get(kind, "pause" if kind.startswith("pause-") else kind)
            assert describe_fault(fault(name, "step 1", seconds=1)).endswith("."), kind
