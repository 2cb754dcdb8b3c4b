"""Steps: the user's steps in a run, in virtual or in real time, and the ends of faults that last for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.result import Options

PATIENCE: Final = 30.0
"""The number of seconds that a step may take if nothing else is said."""
Release = Callable[[], object]


class Waits(Protocol):
    """The waits of a run, in virtual or in real time.

    ``reach`` waits until nothing is left to do, at most the given number of seconds, counted from the call and again
    from the end of each fault that lasts for a time. ``wait_for_writes`` waits no longer than the
    fault allows. ``holds`` says whether a condition comes true within some seconds.
    """

    async def reach(self, patience: float) -> None: ...
    async def wait_for_writes(self, fault: Fault, patience: float) -> None: ...
    async def holds(self, condition: Callable[[], Awaitable[bool]], within: float) -> bool: ...


class StepHost(Protocol):
    """The interface of a run that its `Steps` use. The run is notified when a step ends and when the next one
    begins. ``call_later`` calls a function after some seconds.
    """

    resting: bool

    @property
    def plan(self) -> Plan: ...
    @property
    def history(self) -> History: ...
    @property
    def options(self) -> Options: ...
    @property
    def quiescence(self) -> Waits: ...
    def call_later(self, seconds: float, call: Callable[[], None]) -> object: ...
    def describe(self) -> str: ...
    def early(self, step: int) -> Fault | None: ...
    async def at_rest(self, step: int, patience: float) -> None: ...
    def record_step(self) -> None: ...
    def begin_step(self, step: int) -> None: ...


class Steps:
    """The user's steps. Every wait of the scenario ends a step, and so does the end of the scenario.

    The effect of a fault either ends after a time (``seconds``), which is part of every wait until nothing is left to
    do, or lasts throughout the user's next actions, until the end of the step after the one in which it began
    (``until="step"``).
    """

    def __init__(self, world: StepHost) -> None:
        self._world = world
        self.number = 0
        self.released_at = 0.0
        """The loop time at which the effect of a fault last ended."""
        self._due: dict[int, tuple[float, Release]] = {}
        self._at_end: list[tuple[int, Release]] = []
        self._ids = 0

    # -- lasting faults ------------------------------------------------------------------------------------------------

    def begin(self, fault: Fault, release: Release, *, most: float = 0.0) -> None:
        """Calls ``release`` when the fault is over. One that lasts over steps ends after ``most`` seconds in any case,
        unless that is 0.
        """
        if fault.get("until") == "step":
            step = self.number + 1 + int(fault.get("more", 0))
            self.over(step, release)
            if most:
                self._world.call_later(most, lambda: self._end([(step, release)]))
        else:
            self.after(float(fault.get("seconds", 0.0)), release)

    def over(self, step: int, release: Release) -> None:
        """Calls ``release`` at the end of step ``step``, after everything else has settled."""
        self._at_end.append((step, release))

    def after(self, seconds: float, release: Release) -> None:
        """Calls ``release`` after ``seconds``; a wait until nothing is left to do includes it."""
        self._ids += 1
        number = self._ids

        def due() -> None:
            if self._due.pop(number, None) is not None:
                self._release(release)

        self._due[number] = (asyncio.get_running_loop().time() + seconds, release)
        self._world.call_later(seconds, due)

    async def pass_by(self, fault: Fault) -> None:
        """Waits until the fault is over."""
        over = asyncio.get_running_loop().create_future()

        def release() -> None:
            if not over.done():
                over.set_result(None)

        self.begin(fault, release)
        await over

    def due(self) -> list[float]:
        """The loop times at which the effects of the faults that last for a time end."""
        return [at for at, _ in self._due.values()]

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
            self._release(release)

    def _release(self, release: Release) -> None:
        self.released_at = asyncio.get_running_loop().time()
        release()

    # -- the ends of steps ---------------------------------------------------------------------------------------------

    async def end(self, patience: float) -> None:
        """Ends a step: waits for the consequences of the user's actions, unless a fault makes the user go on early."""
        world = self._world
        early = world.early(self.number)
        if early is not None and not world.options.patient:
            await world.quiescence.wait_for_writes(early, patience)
        else:
            await world.quiescence.reach(patience)
            await self.over_steps(patience)
            world.resting = True
            await world.at_rest(self.number, patience)
            world.resting = False
        world.record_step()
        self.number += 1
        world.history.step = self.number
        world.begin_step(self.number)
        await self._be_patient(patience)

    async def _be_patient(self, patience: float) -> None:
        for _ in self._world.plan.faults:  # what goes on when a fault has ended may meet the next one
            if not (self._world.options.patient and self.lasting):
                return
            self.end_faults()
            await self._world.quiescence.reach(patience)

    async def over_steps(self, patience: float) -> None:
        """Ends the faults that last until the end of this step, and waits until everything has settled again."""
        while due := [lasting for lasting in self._at_end if lasting[0] <= self.number]:
            self._end(due)
            await self._world.quiescence.reach(patience)

    def _end(self, due: list[tuple[int, Release]]) -> None:
        """Ends those of the lasting faults that have not ended yet."""
        ending = [lasting for lasting in self._at_end if lasting in due]
        self._at_end = [lasting for lasting in self._at_end if lasting not in due]
        for _, release in ending:
            self._release(release)

    async def wait_until(self, condition: Callable[[], Awaitable[bool]], within: float, why: str) -> None:
        """Waits until the condition holds, and ends the step. If the condition does not hold within ``within`` seconds,
        all faults are ended, and the wait begins once more. The same holds for faults that strike then, but there are
        no more further waits than the plan has faults: a lag of the whole run begins again at every change.

        Raises:
            AssertionError: the condition did not hold after the last wait, either; ``why`` is the message.
        """
        world, is_first = self._world, True
        remaining = max(len(world.plan.faults), 1)
        while not await world.quiescence.holds(condition, within):
            if not (remaining and (is_first or self.lasting)):
                raise AssertionError(
                    why or f"the condition that the scenario waits for did not become true: {world.describe()}"
                )
            self.end_faults()
            is_first, remaining = False, remaining - 1
        await self.end(PATIENCE)
