"""The cluster that a scenario gets: a `setpoint.testing.Cluster`, but in real time and with an external program."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NoReturn, Protocol, TypeVar

from setpoint.apiserver import ApiServer
from setpoint.meta import Object, resource_of
from setpoint.simulation.trace.history import History
from setpoint.testing.clusters import PATIENCE, Cluster
from setpoint.torture.setup import Setup

K = TypeVar("K", bound=Object)


class Backstage(Protocol):
    """The part of a trial's interface that its `TorturedCluster` uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def history(self) -> History: ...
    async def end_step(self) -> None: ...
    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None: ...
    async def gone(self, collection: str, namespace: str, name: str) -> None: ...


class TorturedCluster(Cluster):
    """The cluster of a scenario. Each wait (`settle`, `until`, `eventually`) ends a step, as in the simulation. There
    is no ``manager`` and no ``control_plane``, and `describe` returns ``""``, since the controllers are in a different
    process.
    """

    def __init__(self, trial: Backstage) -> None:
        setup = trial.setup
        super().__init__(objects=setup.objects, crds=setup.crds, nodes=setup.nodes)
        self._trial = trial
        self.server = ApiServer(storage=trial.history, webhook_caller=self._local)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def settle(self, patience: float = PATIENCE, *, failing: bool = False) -> None:
        """Waits until the program is silent, and ends the step. ``patience`` and ``failing`` have no effect."""
        await self._trial.end_step()

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 60.0) -> None:
        """Waits until ``condition()`` holds, and ends the step. If the condition does not come true while faults last,
        the faults are ended, and the wait begins once more.

        Raises:
            AssertionError: the condition did not come true in time.
        """
        await self._trial.wait_until(lambda: _held(condition), within, "")

    async def eventually(
        self, condition: Callable[[], bool | Awaitable[bool]], *, within: float = 60.0, why: str = ""
    ) -> None:
        """Waits like `until`; ``why`` is the message of the AssertionError."""
        await self._trial.wait_until(lambda: _held(condition), within, why)

    async def apply(self, obj: K) -> K:
        """Applies an object as in a test. In a run with faults, it first waits while an object of that kind and name is
        being deleted, as a user would.
        """
        await self._gone(obj)
        return await super().apply(obj)

    async def create(self, obj: K) -> K:
        """Creates an object. In a run with faults, it first waits, as `apply` does, while an object of that kind and
        name is being deleted.
        """
        await self._gone(obj)
        return await super().create(obj)

    async def _gone(self, obj: Object) -> None:
        resource = resource_of(type(obj))
        space = (obj.namespace or self._namespace) if resource.namespaced else ""
        await self._trial.gone(str(resource.group_resource), space, obj.name)

    def describe(self) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        if name in ("manager", "control_plane"):
            raise AttributeError(f"a tortured program is a process of its own: its cluster has no .{name}")
        raise AttributeError(name)

    def running(self, name: str) -> NoReturn:
        raise AttributeError(f"a tortured program is a process of its own: controller {name!r} can't be looked at")

    async def install(self, definition: Any) -> None:
        """Creates a CustomResourceDefinition and waits until the server serves it.

        Raises:
            TimeoutError: the server does not serve it after 30 s.
        """
        async with asyncio.timeout(30.0):
            await self._install(definition)


async def _held(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    held = condition()
    return bool(await held if inspect.isawaitable(held) else held)
