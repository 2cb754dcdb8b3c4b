"""The cluster that a scenario gets: a `setpoint.testing.Cluster` whose waits divide the simulation into steps."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol, TypeVar

from setpoint.apiserver import ApiServer
from setpoint.controller import Controller
from setpoint.manager import Manager
from setpoint.meta import Object
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.history import History
from setpoint.testing.clusters import PATIENCE, Cluster
from setpoint.testing.failure_reports import NotSettled, unsettled_keys

K = TypeVar("K", bound=Object)
FOREVER: Final = 1e9
"""The time in seconds between two bookmarks; it is longer than any run. Regular bookmarks would make every virtual hour
cost as much as the whole scenario.
"""


class StepHost(Protocol):
    """The interface of a run, in virtual or in real time, that the waits of its `SteppedCluster` use."""

    async def end_step(self, patience: float) -> None: ...
    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None: ...
    async def wait_for_deletion(self, obj: Object) -> None: ...


class SteppedCluster(Cluster):
    """A cluster whose waits (`settle`, `until`, `eventually`) divide the run into steps. Faults that last throughout
    the user's next actions begin and end at these waits.
    """

    def __init__(self, world: StepHost, *controllers: Controller[Any], **options: Any) -> None:
        super().__init__(*controllers, **options)
        self._steps = world

    async def settle(self, patience: float = PATIENCE, *, failing: bool = False) -> None:
        """Waits until nothing is left to do, and ends the step."""
        await self._steps.end_step(patience)

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 3600.0) -> None:
        """Waits until ``condition()`` holds, and ends the step. If it does not hold within ``within`` seconds, all
        faults are ended, and the wait begins once more.

        Raises:
            AssertionError: the condition did not hold after the second wait, either.
        """
        await self._steps.wait_until(lambda: _is_true(condition), within, "")

    async def eventually(
        self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 60.0, why: str = ""
    ) -> None:
        """Waits like `until`; ``why`` is the message of the AssertionError."""
        await self._steps.wait_until(lambda: _is_true(condition), within, why)

    async def apply(self, obj: K) -> K:
        """Applies the object as in a test, but first waits while an object of that kind and name is being deleted, as
        users and ``kubectl delete`` do.
        """
        await self._steps.wait_for_deletion(obj)
        return await super().apply(obj)

    async def create(self, obj: K) -> K:
        """Creates the object. It first waits, as `apply` does, while an object of that name is being deleted."""
        await self._steps.wait_for_deletion(obj)
        return await super().create(obj)


class ScenarioHost(StepHost, Protocol):
    """The interface of a run that its `SimulatedCluster` uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def history(self) -> History: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def manager(self) -> Manager | None: ...
    def now(self) -> datetime: ...


class SimulatedCluster(SteppedCluster):
    """The cluster of a scenario, with the verbs and waits of `setpoint.testing.Cluster`. It does not have ``faults``,
    and permissions are not checked.

    Each wait (`settle`, `until`, `eventually`) ends a step. Faults that last throughout the user's next actions begin
    and end at these waits.
    """

    def __init__(self, world: ScenarioHost, **options: Any) -> None:
        super().__init__(world, *world.setup.controllers(), rbac=False, **options)
        self._world = world
        self.server = ApiServer(
            storage=world.history,
            now=world.now,
            random=Random(1),
            webhook_caller=self._local,
        )
        self.server.state.bookmark_period = FOREVER

    @property
    def manager(self) -> Manager:  # type: ignore[override]
        """The manager of the process that was started last, whether that process still runs or not."""
        manager = self._world.manager
        assert manager is not None, "no process has a manager yet"
        return manager

    def now(self) -> datetime:
        return self._world.now()

    async def settle(self, patience: float = PATIENCE, *, failing: bool = False) -> None:
        """Waits until nothing is left to do, as in a test, and ends the step. Raises `NotSettled` only in a run without
        faults, and not if ``failing`` is true.
        """
        await self._steps.end_step(patience)
        if not failing and not self._world.plan.faults:
            unsettled = [line for running in self._running() for line in unsettled_keys(running)]
            if unsettled:
                raise NotSettled(f"not settled after {patience:g} s:\n  " + "\n  ".join(unsettled))


async def _is_true(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    result = condition()
    return bool(await result if inspect.isawaitable(result) else result)
