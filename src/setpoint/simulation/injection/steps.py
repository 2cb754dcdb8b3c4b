"""Steps: the passing of time in a run, and the ends of faults that last for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.result import Options

_STEP: Final = 0.05
Release = Callable[[], object]


class StepHost(Protocol):
    """The interface of a run that its `Steps` use. The run says whether anything can still happen by itself, and is
    notified when a step ends and when the next one begins.
    """

    resting: bool

    @property
    def plan(self) -> Plan: ...
    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def harness(self) -> Actor: ...
    @property
    def history(self) -> History: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def options(self) -> Options: ...
    def busy(self) -> bool: ...
    def electing(self) -> float: ...
    def retries(self) -> list[float]: ...
    def describe(self) -> str: ...
    def early(self, step: int) -> Fault | None: ...
    async def at_rest(self, step: int, patience: float) -> None: ...
    def record_step(self) -> None: ...
    def begin_step(self, step: int) -> None: ...


class Steps:
    """The user's steps. Every wait of the scenario ends a step, and so does the end of the scenario.

    The effect of a fault either ends after a time (``seconds``), for which `quiesce` waits, or lasts throughout the
    user's next actions, until the end of the step after the one in which it began (``until="step"``).
    """

    def __init__(self, world: StepHost) -> None:
        self._world = world
        self.number = 0
        self._due: dict[int, tuple[float, Release]] = {}
        self._at_end: list[tuple[int, Release]] = []
        self._ids = 0

    # -- what lasts ----------------------------------------------------------------------------------------------------

    def begin(self, fault: Fault, release: Release) -> None:
        """Calls ``release`` when the fault is over."""
        if fault.get("until") == "step":
            self.over(self.number + 1 + int(fault.get("more", 0)), release)
        else:
            self.after(float(fault.get("seconds", 0.0)), release)

    def over(self, step: int, release: Release) -> None:
        """Calls ``release`` at the end of step ``step``, after everything else has settled."""
        self._at_end.append((step, release))

    def after(self, seconds: float, release: Release) -> None:
        """Calls ``release`` after ``seconds``; `quiesce` waits for it."""
        self._ids += 1
        number = self._ids
        loop = self._world.loop

        def due() -> None:
            if self._due.pop(number, None) is not None:
                release()

        self._due[number] = (loop.time() + seconds, release)
        self._world.harness.call(loop.call_later, seconds, due)

    async def pass_by(self, fault: Fault) -> None:
        """Waits until the fault is over."""
        over = self._world.loop.create_future()

        def release() -> None:
            if not over.done():
                over.set_result(None)

        self.begin(fault, release)
        await over

    @property
    def lasting(self) -> bool:
        """Whether the effect of any fault still lasts."""
        return bool(self._due or self._at_end)

    def end_faults(self) -> None:
        """Ends the effects of all faults. Faults that have not struck yet may still strike."""
        releases = [release for _, release in self._due.values()] + [release for _, release in self._at_end]
        self._due.clear()
        self._at_end.clear()
        for release in releases:
            release()

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def quiesce(self, patience: float) -> None:
        """Waits until nothing more is due within ``patience`` seconds, counted from the call and again from the end of
        each fault that lasts for a time, and until a process has taken over from one that died. Faults that outlast the
        step stay in effect.
        """
        world, loop = self._world, self._world.loop
        began = loop.time()
        deadline = began + patience
        while True:
            await loop.settle()
            deadline = self._extended(deadline, patience)
            due = self._next()
            if due is None or due > max(deadline, began + world.electing()):
                return
            await asyncio.sleep(max(due - loop.time(), 0.0))

    def _extended(self, deadline: float, patience: float) -> float:
        """The deadline, or ``patience`` seconds after the end of the last fault that lasts for a time."""
        return max([deadline, *(at + patience for at, _ in self._due.values())])

    def _next(self) -> float | None:
        world = self._world
        now = world.loop.time()
        due = [at for at, _ in self._due.values()]
        due += world.retries()
        if world.busy():
            timer = world.loop.next_timer()
            due.append(max(timer, now) if timer is not None else now + _STEP)
        return min(due, default=None)

    async def end(self, patience: float) -> None:
        """Ends a step: waits for the consequences of the user's actions, unless a fault makes the user go on early."""
        world = self._world
        early = world.early(self.number)
        if early is not None and not world.options.patient:
            await self._hurry(early, patience)
        else:
            await self.quiesce(patience)
            await self.over_steps(patience)
            world.resting = True
            await world.at_rest(self.number, patience)
            world.resting = False
        world.record_step()
        self.number += 1
        world.history.step = self.number
        world.begin_step(self.number)
        await self._release(patience)

    async def _release(self, patience: float) -> None:
        for _ in self._world.plan.faults:  # what goes on when a fault has ended may meet the next one
            if not (self._world.options.patient and self.lasting):
                return
            self.end_faults()
            await self.quiesce(patience)

    async def over_steps(self, patience: float) -> None:
        """Ends the faults that last until the end of this step, and waits until everything has settled again."""
        while due := [lasting for lasting in self._at_end if lasting[0] <= self.number]:
            self._at_end = [lasting for lasting in self._at_end if lasting not in due]
            for _, release in due:
                release()
            await self.quiesce(patience)

    async def _hurry(self, fault: Fault, patience: float) -> None:
        """Waits only until the controllers have made the number of writes after which the fault makes the user go on,
        and no longer than `quiesce` would: what the controllers wait for may come only after the user has gone on.
        """
        world, loop = self._world, self._world.loop
        wanted = world.monitor.writes + int(fault.get("writes", 0))
        deadline = loop.time() + patience
        for _ in range(10_000):
            if world.monitor.writes >= wanted:
                return
            if not world.busy():
                await loop.settle()
                if not world.busy():
                    return
            deadline = self._extended(deadline, patience)
            # While callbacks are ready, the next timer may be far off, such as the end of a watch in 30 years.
            timer = None if loop.has_ready() else loop.next_timer()
            if timer is not None and timer > deadline:
                return
            await asyncio.sleep(0 if timer is None else max(timer - loop.time(), 0.0))

    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None:
        """Waits until the condition holds, and ends the step. If the condition does not hold within ``within`` seconds,
        all faults are ended, and the wait begins once more. The same holds for faults that strike then, but there are
        no more further waits than the plan has faults: a lag of the whole run begins again at every change.

        Raises:
            AssertionError: the condition did not hold after the last wait, either; ``why`` is the message.
        """
        world, is_first = self._world, True
        left = max(len(world.plan.faults), 1)
        while not await self._holds(condition, within):
            if not (left and (is_first or self.lasting)):
                raise AssertionError(
                    why or f"the condition that the scenario waits for did not become true: {world.describe()}"
                )
            self.end_faults()
            is_first, left = False, left - 1
        await self.end(30.0)

    async def _holds(self, condition: Callable[[], Awaitable[bool]], within: float) -> bool:
        loop = self._world.loop
        deadline = loop.time() + within
        pause = _STEP
        while True:
            await loop.settle()
            if await condition():
                return True
            if loop.time() >= deadline:
                return False
            timer = loop.next_timer()
            await asyncio.sleep(min(max((timer or 0.0) - loop.time(), pause), deadline - loop.time()))
            pause = min(pause * 1.5, 30.0)
