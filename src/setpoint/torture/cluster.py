"""The cluster that a scenario gets: its waits divide a run in real time into steps; the program is an external one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NoReturn, Protocol

from setpoint.apiserver import ApiServer
from setpoint.simulation.trace.history import History
from setpoint.simulation.world.scenario_cluster import StepHost, SteppedCluster
from setpoint.torture.setup import Setup


class ProgramHost(StepHost, Protocol):
    """The interface of a run that its `ProgramCluster` uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def history(self) -> History: ...


class ProgramCluster(SteppedCluster):
    """The cluster of a scenario. Each wait (`settle`, `until`, `eventually`) ends a step, as in the simulation. There
    is no ``manager`` and no ``control_plane``, and `describe` returns ``""``, since the controllers are in a different
    process.
    """

    def __init__(self, world: ProgramHost) -> None:
        setup = world.setup
        super().__init__(world, objects=setup.objects, crds=setup.crds, nodes=setup.nodes)
        self.server = ApiServer(storage=world.history, webhook_caller=self._local)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 60.0) -> None:
        """Waits until ``condition()`` holds, and ends the step. If it does not hold within ``within`` seconds, all
        faults are ended, and the wait begins once more.

        Raises:
            AssertionError: the condition did not hold after the second wait, either.
        """
        await super().until(condition, within=within)

    def describe(self) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        if name in ("manager", "control_plane"):
            raise AttributeError(
                f"the tortured program is another process, so the cluster has no .{name}: look at the objects in the "
                "cluster instead"
            )
        raise AttributeError(name)

    def running(self, name: str) -> NoReturn:
        raise AttributeError(
            f"the tortured program is another process, so controller {name!r} can't be inspected: look at the objects "
            "in the cluster instead"
        )

    async def install(self, definition: Any) -> None:
        """Creates a CustomResourceDefinition and waits until the server serves it.

        Raises:
            TimeoutError: the server does not serve it after 30 s.
        """
        async with asyncio.timeout(30.0):
            await self._install(definition)
