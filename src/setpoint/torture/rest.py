"""Rest: the state in which nothing is left to do, as seen by the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from setpoint.torture.edge import Edge
from setpoint.torture.lives import TURN, Lives
from setpoint.torture.outcome import Expected
from setpoint.torture.steps import Steps


class Restless(Protocol):
    """The part of a trial's interface that its `Rest` uses."""

    @property
    def expected(self) -> Expected: ...
    @property
    def edge(self) -> Edge: ...
    @property
    def lives(self) -> Lives: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def changed_at(self) -> float: ...
    def is_idle(self) -> bool: ...


class Rest:
    """Waits in real time until nothing is left to do."""

    def __init__(self, trial: Restless) -> None:
        self._trial = trial

    async def within(self, patience: float) -> None:
        """Returns when nothing is left to do, as seen by the server, or after ``patience`` seconds.

        Nothing is left to do when

        - for ``silence`` seconds there was no change, no request, no start of the program, and no end of a fault's
          effect;
        - the control plane is idle;
        - no fault that lasts for a set time is in effect;
        - the program, unless a fault has killed or suspended it, has sent a request since its start, is not waiting for
          any answer except those of watches, and watches all kinds that it watched in the undisturbed runs.

        Requests that only read postpone this to at most three times ``silence`` after the last change or write, since
        some programs poll.
        """
        trial, edge, silence = self._trial, self._trial.edge, self._trial.expected.silence

        def last() -> float:
            busy = max(trial.changed_at, edge.wrote_at, trial.lives.started_at, trial.steps.released_at)
            return max(busy, min(edge.asked_at, busy + 2 * silence))

        await self.since(last, silence, patience)

    async def since(self, last: Callable[[], float], silence: float, patience: float) -> None:
        """Returns when ``last()`` was at least ``silence`` seconds ago and everything is idle, or after ``patience``
        seconds. These seconds are counted from the call, and again from the end of each fault that lasts for a set
        time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        while True:
            self._trial.lives.check()
            now = loop.time()
            if self._trial.steps.due:
                deadline = max(deadline, now + patience)
            elif now - last() >= silence and self._is_ready():
                return
            if now >= deadline:
                return
            await asyncio.sleep(TURN)

    def _is_ready(self) -> bool:
        trial = self._trial
        if not trial.is_idle():
            return False
        if not trial.lives.runs:
            return True
        edge = trial.edge
        return bool(edge.requests) and not edge.under_way and trial.expected.hears <= edge.watched()

    async def holds(self, condition: Callable[[], Awaitable[bool]], within: float) -> bool:
        """Whether the condition comes true within ``within`` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while not await condition():
            self._trial.lives.check()
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.05)
        return True
