"""Quiescence: waits in real time until nothing is left to do, as far as the server can see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.user_steps import PATIENCE, Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.torture.edge import Edge
from setpoint.torture.expectations import Expectations
from setpoint.torture.setup import Setup
from setpoint.torture.supervisor import TURN, Supervisor


class QuiescenceHost(Protocol):
    """The interface of a run that its `Quiescence` uses."""

    @property
    def setup(self) -> Setup: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def options(self) -> Expectations: ...
    @property
    def edge(self) -> Edge: ...
    @property
    def supervisor(self) -> Supervisor: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def changed_at(self) -> float: ...
    def is_idle(self) -> bool: ...
    def snapshot(self) -> Snapshot: ...


class Quiescence:
    """Waits in real time for the consequences of what users do and of faults."""

    def __init__(self, world: QuiescenceHost) -> None:
        self._world = world
        self._has_waited = False

    async def reach(self, patience: float) -> None:
        """Waits until the program is silent. If a fault has struck, and no fault is still in effect, it then waits for
        a limited time, once in a run, until the state is that of the undisturbed run at the end of this step.
        """
        world = self._world
        await self.settle(patience)
        rests, number = world.options.expected_rests, world.steps.number
        over = world.injector.injected and not world.steps.lasting and not world.edge.is_held_back
        if number < len(rests) and over and not self._has_waited:
            self._has_waited = not await self.equality(rests[number], world.setup.converge / 3)

    async def wait_for_writes(self, fault: Fault, patience: float) -> None:
        """Waits until the program has made the number of writes after which the fault makes the user go on, and no
        longer than `settle` would.
        """
        world = self._world
        wanted = world.monitor.writes + int(fault.get("writes", 0))
        await asyncio.sleep(TURN)
        await self._since(self._last, patience, enough=lambda: world.monitor.writes >= wanted)

    async def holds(self, condition: Callable[[], Awaitable[bool]], within: float) -> bool:
        """Whether the condition comes true within ``within`` seconds or, in a run with faults, within
        `Setup.converge`, if that is less.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (min(within, self._world.setup.converge) if self._world.plan.faults else within)
        while not await condition():
            self._world.supervisor.check()
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.05)
        return True

    async def equality(self, expected: Snapshot | None, within: float) -> bool:
        """Whether the state becomes the expected one within ``within`` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while self.differs(expected):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.1)
            await self.settle(max(deadline - loop.time(), 0.0))
        return True

    def differs(self, expected: Snapshot | None) -> bool:
        world = self._world
        return expected is not None and bool(find_differences(expected, world.snapshot(), world.options.masks))

    async def settle(self, patience: float = PATIENCE) -> None:
        """Returns when nothing is left to do, as seen by the server, or after ``patience`` seconds, counted from the
        call and again from the end of each fault that lasts for a set time.

        Nothing is left to do when

        - for ``quiet_period`` seconds (see `Expectations`) there was no change, no request, no start of the program,
          and no end of a fault's effect;
        - the control plane is idle;
        - no fault that lasts for a set time is in effect;
        - the program, unless a fault has killed or suspended it, has sent a request since its start, is not waiting for
          any answer except those of watches, and watches all kinds that it watched in the undisturbed runs.

        Requests that only read postpone this to at most three times ``quiet_period`` after the last change or write,
        since some programs poll.
        """
        await self._since(self._last, patience)

    async def settle_for(self, seconds: float, patience: float) -> None:
        """Returns when for ``seconds`` there was no change and everything is idle, or after ``patience`` seconds."""
        world = self._world
        await self._since(lambda: world.changed_at + seconds - world.options.quiet_period, patience)

    def _last(self) -> float:
        world, edge = self._world, self._world.edge
        busy = max(world.changed_at, edge.wrote_at, world.supervisor.started_at, world.steps.released_at)
        return max(busy, min(edge.requested_at, busy + 2 * world.options.quiet_period))

    async def _since(
        self, last: Callable[[], float], patience: float, enough: Callable[[], bool] = lambda: False
    ) -> None:
        world, loop = self._world, asyncio.get_running_loop()
        deadline = loop.time() + patience
        while not enough():
            world.supervisor.check()
            now = loop.time()
            if due := world.steps.due():
                deadline = max(due) + patience
            elif now - last() >= world.options.quiet_period and self._is_ready():
                return
            if now >= deadline:
                return
            await asyncio.sleep(TURN)

    def _is_ready(self) -> bool:
        world = self._world
        if not world.is_idle():
            return False
        if not world.supervisor.runs:
            return True
        edge = world.edge
        return bool(edge.requests) and not edge.under_way and world.options.watched <= edge.watched()
