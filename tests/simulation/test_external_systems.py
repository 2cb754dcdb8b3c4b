"""External systems: what a crash, a lost answer and an empty one do to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from tests.simulation.kinds import App
from tests.simulation.test_check import create_and_delete

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, External, Setup, call, check
from setpoint.simulation.comparison.snapshot import to_plain
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.search.plan_generator import PlanGenerator
from setpoint.simulation.trace.result import Options, Point, Result

UNTIL_FOUND = Budget()
"""A finding comes within some tens of runs."""
SOME = Budget(runs=150)
"""Of every family of faults some: a run costs some tens of milliseconds."""


class Cloud(External):
    """Machines by number, each with the name of its owner."""

    def __init__(self) -> None:
        self.machines: dict[str, str] = {}

    @call
    async def create(self, owner: str) -> str:
        number = f"m-{len(self.machines) + 1}"
        self.machines[number] = owner
        return number

    @call
    async def create_named(self, name: str, owner: str) -> None:
        self.machines[name] = owner

    @call(nothing=[])
    async def of(self, owner: str) -> list[str]:
        return [number for number, machine in self.machines.items() if machine == owner]

    @call
    async def delete(self, number: str) -> None:
        self.machines.pop(number, None)


async def create_one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def factory(reconcile: Any, finalize: Any = None) -> Callable[[], list[sp.Controller[App]]]:
    def make() -> list[sp.Controller[App]]:
        controller = sp.Controller(App, reconcile)
        return [controller.finalize(finalize) if finalize else controller]

    return make


def test_a_create_that_is_not_idempotent_makes_two_of_it_after_a_crash() -> None:
    cloud = Cloud()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        if not app.status.note:
            app.status.note = await cloud.create(app.name)

    with pytest.raises(Counterexample) as caught:
        check(create_one, factory(reconcile), externals=[cloud], budget=UNTIL_FOUND)
    assert caught.value.findings[0].subject == "external cloud"
    assert cloud.machines == {}, "every run begins with the state that was given"


@pytest.mark.long
def test_a_create_under_a_name_of_its_own_is_not_accused() -> None:
    cloud = Cloud()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        await cloud.create_named(app.name, app.name)

    async def finalize(app: App, ctx: sp.Context) -> None:
        await cloud.delete(app.name)

    check(create_and_delete, factory(reconcile, finalize), externals=[cloud], budget=SOME)


def test_an_empty_answer_that_is_taken_for_the_truth_leaks_a_machine() -> None:
    cloud = Cloud()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        if not await cloud.of(app.name):
            await cloud.create(app.name)

    async def finalize(app: App, ctx: sp.Context) -> None:
        for number in await cloud.of(app.name):
            await cloud.delete(number)

    with pytest.raises(Counterexample) as caught:
        check(
            create_and_delete, factory(reconcile, finalize), externals=[cloud], budget=UNTIL_FOUND,
            off={"crash": "this is about answers", "lost": "so it is", "user": "and it", "down": "and it"},
        )  # fmt: skip
    assert caught.value.findings[0].subject == "external cloud"


def test_only_calls_that_say_so_answer_that_there_is_nothing() -> None:
    points = [Point("call cloud.list() #1", "external", empty=True), Point("call cloud.create('a') #1", "external")]
    explorer = PlanGenerator(Result(points=points), off=frozenset(), seed=0, kinds=[], primaries=frozenset())
    assert [item.at for item in explorer.singles() if item.kind == "external-empty"] == ["call cloud.list() #1"]


def test_faults_that_delay_a_call_are_planned_for_asynchronous_calls_only() -> None:
    def kinds(*, waits: bool) -> set[str]:
        points = [Point("call x #1", "external", 1, waits=waits), Point("call y #1", "external", 1, waits=waits)]
        plan_generator = PlanGenerator(
            Result(points=points, steps=2), off=frozenset(), seed=0, kinds=[], primaries=frozenset(), several=True
        )
        return {item.kind for item in plan_generator.singles() if item.at.startswith("call")}

    assert kinds(waits=True) - kinds(waits=False) == {"slow-request", "slow-answer", "freeze"}
    assert "external-lost" in kinds(waits=False)


def test_the_report_counts_the_faults_that_struck_and_no_others() -> None:
    report = Report()
    report.covers([Point("write a #1", "write"), Point("write b #1", "write")])
    plan = Plan((fault("conflict", "write a #1"), fault("lost-answer", "write b #1")))
    report.add(plan, Result(injected=[1]))
    assert report.faults == {"lost": 1}
    assert report.unreached == 1
    assert "1 of 2 disturbed" in str(report)


class Vault(External):
    """A value behind a lock."""

    def __init__(self) -> None:
        self.held = False
        self.value = ""

    @call
    def lock(self) -> None:
        self.held = True

    @call
    def put(self, value: str) -> None:
        self.value = value

    @call
    def unlock(self) -> None:
        self.held = False


def plainly(app: App, ctx: sp.SyncContext) -> None:
    vault.lock()
    try:
        vault.put(app.name)
    finally:
        vault.unlock()


async def in_the_loop(app: App, ctx: sp.Context) -> None:
    vault.lock()
    try:
        vault.put(app.name)
    finally:
        vault.unlock()


vault = Vault()


@pytest.mark.parametrize("reconcile", [plainly, in_the_loop])
@pytest.mark.parametrize("kind", ["crash-before", "crash-after"])
def test_a_finally_block_of_a_killed_process_does_not_reach_an_external_system(reconcile: Any, kind: str) -> None:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        await create_one(cluster)
        await cluster.settle()

    setup = Setup(scenario=scenario, factory=factory(reconcile), externals=[vault])
    plan = Plan((fault(kind, "call vault.put('one') #1", until="step"),))
    result = run_in_process(setup, plan, Options(trace=True, quiet=False))
    assert result.injected == [0]
    told = [f"{line.kind} {line.text}" for line in result.trace]
    killed = next(place for place, text in enumerate(told) if text.startswith("killed"))
    started = next((place for place, text in enumerate(told[killed:], killed) if text.startswith("start")), len(told))
    assert not [text for text in told[killed:started] if "unlock" in text]
    assert not [text for text in told if "unhandled" in text]


class Bare:
    __slots__ = ()


@dataclass(slots=True)
class Price:
    amount: Decimal


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("1.50"), "1.50"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Price(Decimal(2)), {"amount": "2"}),
        ({"a": {b"x"}, 1: (None, 2)}, {"a": ["x"], "1": [None, 2]}),
        (Bare(), "Bare"),
    ],
)
def test_the_state_of_a_system_is_compared_by_its_values(value: Any, plain: Any) -> None:
    assert to_plain(value) == plain
