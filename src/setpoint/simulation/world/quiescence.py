"""Quiescence: waits in virtual time until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.event_loop import SimulationLoop

_STEP: Final = 0.05


class QuiescenceHost(Protocol):
    """The interface of a run that its `Quiescence` uses. The run says whether anything can still happen by itself."""

    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def steps(self) -> Steps: ...
    def busy(self) -> bool: ...
    def electing(self) -> float: ...
    def retries(self) -> list[float]: ...


class Quiescence:
    """Waits in virtual time for the consequences of what users do and of faults."""

    def __init__(self, world: QuiescenceHost) -> None:
        self._world = world

    async def reach(self, patience: float) -> None:
        """Waits until nothing more is due within ``patience`` seconds, counted from the call and again from the end of
        each fault that lasts for a time, and from the moment at which a process has taken over from one that died.
        Faults that outlast the step stay in effect. Beside a former leader that stands still until the next step, the
        wait ends at the take-over, so that both come after the user's next change.
        """
        world, loop = self._world, self._world.loop
        began = loop.time()
        deadline = began + patience
        while True:
            await loop.wait_all_tasks_blocked()
            deadline = self._extended(deadline, patience)
            due = self._next()
            takes_over_by = began + world.electing()
            if due is None or due > max(deadline, takes_over_by):
                return
            if due <= takes_over_by and not world.steps.lasting:  # the new leader has its work still before it
                deadline = max(deadline, due + patience)
            await asyncio.sleep(max(due - loop.time(), 0.0))

    def _extended(self, deadline: float, patience: float) -> float:
        """The deadline, or ``patience`` seconds after the end of the last fault that lasts for a time."""
        return max([deadline, *(at + patience for at in self._world.steps.due())])

    def _next(self) -> float | None:
        world = self._world
        now = world.loop.time()
        due = [*world.steps.due(), *world.retries()]
        if world.busy():
            timer = world.loop.next_timer()
            due.append(max(timer, now) if timer is not None else now + _STEP)
        return min(due, default=None)

    async def wait_for_writes(self, fault: Fault, patience: float) -> None:
        """Waits only until the controllers have made the number of writes after which the fault makes the user go on,
        and no longer than `reach` would: what the controllers wait for may come only after the user has gone on.
        """
        world, loop = self._world, self._world.loop
        wanted = world.monitor.writes + int(fault.get("writes", 0))
        deadline = loop.time() + patience
        for _ in range(10_000):
            if world.monitor.writes >= wanted:
                return
            if not world.busy():
                await loop.wait_all_tasks_blocked()
                if not world.busy():
                    return
            deadline = self._extended(deadline, patience)
            # While callbacks are ready, the next timer may be far off, such as the end of a watch in 30 years.
            timer = None if loop.has_ready() else loop.next_timer()
            if timer is not None and timer > deadline:
                return
            await asyncio.sleep(0 if timer is None else max(timer - loop.time(), 0.0))

    async def holds(self, condition: Callable[[], Awaitable[bool]], within: float) -> bool:
        """Whether the condition comes true within ``within`` seconds."""
        loop = self._world.loop
        deadline = loop.time() + within
        pause = _STEP
        while True:
            await loop.wait_all_tasks_blocked()
            if await condition():
                return True
            if loop.time() >= deadline:
                return False
            timer = loop.next_timer()
            await asyncio.sleep(min(max((timer or 0.0) - loop.time(), pause), deadline - loop.time()))
            pause = min(pause * 1.5, 30.0)
