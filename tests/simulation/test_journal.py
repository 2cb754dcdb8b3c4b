"""A journal under crashes, lost answers and restarts at every point: one machine for each object, none left over."""

from __future__ import annotations

import pytest
from tests.simulation.kinds import App
from tests.simulation.test_check import create_and_delete
from tests.simulation.test_external_systems import create_one

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, External, call, check

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
