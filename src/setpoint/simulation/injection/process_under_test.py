"""Process control: one process of the program under test, as seen by the parts of the simulation that carry its
messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Never, Protocol

from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop


class Killed(BaseException):
    """Ends the synchronous code of a process that has just been killed."""


class ProcessHost(Protocol):
    """The interface of a run that the lives of its processes use to crash, to freeze and to continue."""

    @property
    def loop(self) -> SimulationLoop: ...
    @property
    def steps(self) -> Steps: ...
    def crash(self, process: ProcessControl, fault: Fault) -> None: ...


class ProcessControl:
    """The life of a process, from its start until it is killed. ``number`` distinguishes it from the other lives of the
    run.
    """

    def __init__(self, host: ProcessHost, number: int) -> None:
        self._host = host
        self.number = number
        self.actor = Actor(f"controller/{number}", "controller")
        self.seen_uids: set[str] = set()
        """The uids of all objects that this process has ever seen."""
        self._calls = 0

    @property
    def waits(self) -> bool:
        """Whether the process waits for an answer, from the server or from an external system."""
        return self._calls > 0

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Notes that the process waits for an answer within the block."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def kill(self) -> None:
        """Kills the process as SIGKILL does: none of its code runs any more."""
        self._host.loop.kill(self.actor)

    async def die(self, fault: Fault) -> Never:
        """Kills this process. The process's own code calls this method, which never returns."""
        self._host.crash(self, fault)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("a dead process went on")

    async def freeze(self, fault: Fault) -> None:
        """Stops all tasks of this process for a while, as SIGSTOP and a later SIGCONT do. The process's own code calls
        this method.
        """
        loop = self._host.loop
        loop.pause(self.actor)
        self._host.steps.begin(fault, lambda: loop.resume(self.actor))
        await asyncio.sleep(0)
