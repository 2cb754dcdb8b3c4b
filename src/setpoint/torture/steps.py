"""Steps: the user's steps in real time, and the effects of faults that last for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from setpoint.simulation.faults.plan import Fault

Release = Callable[[], object]


class Steps:
    """The user's steps, and the effects of faults that last for a while.

    The effect of a fault ends after some seconds or, with ``until="step"``, at the end of the step after the one in
    which the effect began. ``number`` is the number of the current step; ``released_at`` is the loop time at which an
    effect last ended.
    """

    def __init__(self) -> None:
        self.number = 0
        self.released_at = 0.0
        self._due: dict[asyncio.TimerHandle, Release] = {}
        self._at_end: list[tuple[int, Release]] = []

    def begin(self, fault: Fault, release: Release, *, seconds: float = 0.0) -> None:
        """Calls ``release`` when the fault is over; ``seconds`` is the duration if the fault does not set one."""
        if fault.get("until") == "step":
            self.over(self.number + 1, release)
        else:
            self.after(float(fault.get("seconds", seconds)), release)

    def over(self, step: int, release: Release) -> None:
        """Calls ``release`` at the end of step ``step``, after everything else has settled."""
        self._at_end.append((step, release))

    def after(self, seconds: float, release: Release) -> None:
        """Calls ``release`` after ``seconds``. A wait until nothing is left to do also waits for this call."""

        def due() -> None:
            if self._due.pop(timer, None) is not None:
                self._release(release)

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._due[timer] = release

    @property
    def due(self) -> bool:
        """Whether a fault that lasts for a set time is in effect."""
        return bool(self._due)

    @property
    def lasting(self) -> bool:
        """Whether any fault is still in effect."""
        return bool(self._due or self._at_end)

    def end_effects(self) -> bool:
        """Ends the effects that last until the end of the current step. Returns whether there were any."""
        found = [each for each in self._at_end if each[0] <= self.number]
        self._at_end = [each for each in self._at_end if each not in found]
        for _, release in found:
            self._release(release)
        return bool(found)

    def end_faults(self) -> None:
        """Ends the effects of all faults. Faults that have not struck yet may still strike."""
        releases = [*self._due.values(), *(release for _, release in self._at_end)]
        for timer in self._due:
            timer.cancel()
        self._due.clear()
        self._at_end.clear()
        for release in releases:
            self._release(release)

    def _release(self, release: Release) -> None:
        self.released_at = asyncio.get_running_loop().time()
        release()
