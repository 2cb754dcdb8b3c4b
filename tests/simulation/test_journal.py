"""A journal under crashes, lost answers and restarts at every point: one machine for each object, none left over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.simulation.kinds import App, AppSpec
from tests.simulation.test_check import create_and_delete
from tests.simulation.test_external_systems import create_one

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, External, Setup, call, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.result import Options
from setpoint.testing import advance

SOME = Budget(runs=150)
JOURNAL = sp.Journal("cloud.example.com/machine", visible_within=5.0)


class Cloud(External):
    """Machines by number, each with its tag. Numbers are drawn: a second create makes a second machine."""

    def __init__(self) -> None:
        self.machines: dict[str, str] = {}
        self._last = 0

    @call
    async def create(self, tag: str) -> str:
        self._last += 1
        self.machines[f"m-{self._last}"] = "a machine"
        self._tags = {**getattr(self, "_tags", {}), f"m-{self._last}": tag}
        return f"m-{self._last}"

    @call
    async def find(self, tag: str) -> str | None:
        tags = getattr(self, "_tags", {})
        return next((number for number in self.machines if tags.get(number) == tag), None)

    @call
    async def delete(self, number: str) -> None:
        self.machines.pop(number, None)


def made(cloud: Cloud) -> list[sp.Controller[App]]:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        await JOURNAL.ensure(ctx, create=cloud.create, find=cloud.find)
        app.status.ready = 1

    async def clean_up(app: App, ctx: sp.Context) -> None:
        await JOURNAL.remove(ctx, find=cloud.find, delete=cloud.delete)

    return [sp.Controller(App, reconcile).finalize(clean_up)]


@pytest.mark.parametrize("scenario", [create_one, create_and_delete])
@pytest.mark.long
def test_a_machine_is_made_once_and_never_left_behind_wherever_the_process_dies(scenario: object) -> None:
    cloud = Cloud()
    check(scenario, lambda: made(cloud), externals=[cloud], budget=SOME)  # type: ignore[arg-type]


class Slots(Cloud):
    """Machines in slots, so that a machine that is made again has the id of the one before."""

    @call
    async def create(self, tag: str) -> str:
        slot = f"m-{len(self.machines) + 1}"
        self.machines[slot] = "a machine"
        self._tags = {slot: tag}
        return slot


def deleted_outside() -> Setup:
    """A machine that is deleted in the cloud, and a controller that looks for it at each resync."""
    cloud = Slots()
    journal = sp.Journal("cloud.example.com/machine", visible_within=5.0, recheck=60.0)

    async def reconcile(app: App, ctx: sp.Context) -> None:
        await journal.ensure(ctx, create=cloud.create, find=cloud.find)

    async def clean_up(app: App, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=cloud.find, delete=cloud.delete)

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await create_one(cluster)
        cloud.machines.clear()
        await advance(1400)
        await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, reconcile, resync=1200.0).finalize(clean_up)]

    return Setup(scenario=scenario, factory=factory, externals=[cloud])


def test_a_resync_finds_that_a_machine_was_deleted_outside_and_makes_another() -> None:
    result = run_in_process(deleted_outside(), Plan(()), Options(trace=True, quiet=False))
    assert sum(line.text.startswith("slots.create(") for line in result.trace) == 2


@pytest.mark.long
def test_no_fault_leads_to_two_machines_or_none_after_a_deletion_outside() -> None:
    setup = deleted_outside()
    off = {"quiet": "each time at which the machine is found is written to the object"}
    check(setup.scenario, setup.factory, externals=setup.externals, off=off, budget=Budget(runs=60))


class Machines(Slots):
    """Machines that are started again and again; one that is gone can't be."""

    @call
    async def start(self, number: str) -> None:
        if number not in self.machines:
            raise LookupError(number)


Forget = Callable[[sp.Journal, sp.Context], Awaitable[None]]


async def forget(journal: sp.Journal, ctx: sp.Context) -> None:
    await journal.forget(ctx)


async def erase(journal: sp.Journal, ctx: sp.Context) -> None:
    """A wrong way to forget: the next attempt begins with an empty journal."""
    await ctx.patch(ctx.object, {"metadata": {"annotations": {journal.name: None}}})


def started_again(forget: Forget) -> Setup:
    """A controller that trusts its journal, and forgets a machine when the cloud says that it is gone."""
    cloud = Machines()
    journal = sp.Journal("cloud.example.com/machine", visible_within=5.0, recheck=86400.0)

    async def reconcile(app: App, ctx: sp.Context) -> sp.Outcome | None:
        number = await journal.ensure(ctx, create=cloud.create, find=cloud.find)
        try:
            await cloud.start(number)
        except LookupError:
            await forget(journal, ctx)
            return sp.retry(f"{number} is gone")
        return None

    async def clean_up(app: App, ctx: sp.Context) -> None:
        await journal.remove(ctx, find=cloud.find, delete=cloud.delete)

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await create_one(cluster)
        await advance(60)
        cloud.machines.clear()
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))  # which wakes the controller
        await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        return [sp.Controller(App, reconcile).finalize(clean_up)]

    return Setup(scenario=scenario, factory=factory, externals=[cloud])


@pytest.mark.long
def test_a_machine_that_is_forgotten_because_it_is_gone_is_made_once_more_and_not_twice() -> None:
    setup = started_again(forget)
    report = check(setup.scenario, setup.factory, externals=setup.externals, budget=SOME)
    assert report.singles


def test_a_journal_that_is_erased_in_place_of_forgetting_is_found_out() -> None:
    setup = started_again(erase)
    with pytest.raises(Counterexample) as excinfo:
        check(setup.scenario, setup.factory, externals=setup.externals, budget=Budget())
    assert "m-2" in str(excinfo.value)


def test_the_same_without_looking_again_is_found_out() -> None:
    """That the simulation would see what the journal prevents."""
    cloud = Cloud()

    async def never(tag: str) -> None:
        return None

    async def reconcile(app: App, ctx: sp.Context) -> None:
        await JOURNAL.ensure(ctx, create=cloud.create, find=never)

    async def clean_up(app: App, ctx: sp.Context) -> None:
        await JOURNAL.remove(ctx, find=never, delete=cloud.delete)

    with pytest.raises(Counterexample):
        check(
            create_one,
            lambda: [sp.Controller(App, reconcile).finalize(clean_up)],
            externals=[cloud],
            budget=Budget(),
        )
