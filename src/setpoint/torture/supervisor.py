"""Supervisor: starts, suspends and kills the program under test, and starts it again when it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from setpoint.simulation.execution.worker_handle import SetupFailed
from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.trace.trace import Trace
from setpoint.torture.edge import Edge
from setpoint.torture.program import Program, tail
from setpoint.torture.setup import Setup

TURN: Final = 0.02
"""Seconds between two checks of whether the program runs and everything has settled."""
_EXITS: Final = 3
"""The number of times that the program may end by itself under faults. Each time it is restarted, as by a kubelet."""


class ProgramError(SetupFailed):
    """The program can't be tested: it can't be started, ends by itself, or never sends a request to the server."""


class SupervisorHost(Protocol):
    """The interface of a run that the `Supervisor` of its program uses. ``started`` is called with the id of every
    process that is started.
    """

    @property
    def setup(self) -> Setup: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def edge(self) -> Edge: ...
    @property
    def kubeconfig(self) -> Path: ...
    @property
    def url(self) -> str: ...
    @property
    def log(self) -> Path: ...
    @property
    def is_disturbed(self) -> bool: ...
    def started(self, pid: int, /) -> None: ...
    def give_up(self, why: str) -> None: ...


class Supervisor:
    """The successive processes of the program in one run. ``number`` is that of the current one."""

    def __init__(self, world: SupervisorHost) -> None:
        self._world = world
        self.actor = Actor("program 1", "controller")
        self.number = 0
        self.seen_uids: frozenset[str] = frozenset()
        """Always empty: what an external program has seen is not known."""
        self.started_at = 0.0
        self.is_away = False
        """Whether a fault has killed or suspended the program for a while."""
        self._program: Program | None = None
        self._exits = 0

    @property
    def runs(self) -> bool:
        """Whether the program has been started, and no fault keeps it killed or suspended."""
        return self._program is not None and not self.is_away

    def collections(self) -> list[str]:
        """The kinds that the program watches."""
        return sorted(self._world.edge.watched())

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def start_all(self, behind: dict[str, int]) -> None:
        """Starts the program. It first sees the state of these kinds at a revision, until `catch_up`."""
        edge = self._world.edge
        for collection, revision in behind.items():
            edge.gate(collection).shut(revision + 1)
            edge.streams_lists = False
        self.start()

    def catch_up(self, collections: Iterable[str]) -> None:
        for collection in collections:
            self._world.edge.gate(collection).open()

    def start(self) -> None:
        """Starts the program.

        Raises:
            ProgramError: the program can't be started.
        """
        world = self._world
        self.number += 1
        self.actor = Actor(f"program {self.number}", "controller")
        world.edge.forget()
        self.is_away = False
        command = world.setup.command
        try:
            self._program = Program(command, kubeconfig=world.kubeconfig, server=world.url, log=world.log)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise ProgramError(f"{command[0]} can't be started: {why}") from None
        world.started(self._program.pid)
        self.started_at = asyncio.get_running_loop().time()
        world.trace.add("controller", self.actor.name, "starts", "starts with empty memory")

    def revive(self) -> None:
        """Starts the program again if it was killed."""
        if self._program is None or self._program.killed:
            self.start()

    async def contact(self) -> None:
        """Waits until the program has sent a request.

        Raises:
            ProgramError: the program ended in an undisturbed run, or did not send a request within ``start_within``
                seconds (see `Setup`).
        """
        setup = self._world.setup
        deadline = asyncio.get_running_loop().time() + setup.start_within
        while not self._world.edge.requests:
            self.check()
            if asyncio.get_running_loop().time() > deadline:
                raise ProgramError(
                    f"{setup.command[0]} has sent no request to the server within {setup.start_within:g} s: does "
                    "it read {kubeconfig}, or the environment variable KUBECONFIG?" + self._output()
                )
            await asyncio.sleep(TURN)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Checks that the program has not ended by itself.

        Raises:
            ProgramError: the program has ended by itself in an undisturbed run.
        """
        program = self._program
        if self._world.is_disturbed or program is None or program.killed or (status := program.ended()) is None:
            return
        how = f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"
        command = self._world.setup.command[0]
        raise ProgramError(f"{command} {how}, although there was no fault" + self._output())

    def _output(self) -> str:
        output = tail(self._world.log)
        if not output:
            return "; it printed nothing"
        return "; it printed:\n" + "\n".join(f"  {line}" for line in output.splitlines())

    async def restart_on_exit(self) -> None:
        """Restarts the program when it has ended by itself under faults, until cancelled. If that happens too often,
        reports a finding and ends the run.
        """
        world = self._world
        while True:
            await asyncio.sleep(TURN)
            program = self._program
            if program is None or program.killed or (status := program.ended()) is None or not world.is_disturbed:
                continue
            program.kill()  # those that it may have left behind
            self._exits += 1
            world.trace.add("controller", self.actor.name, "ended", f"exited with status {status}")
            if self._exits > _EXITS:
                message = f"the program exited {self._exits} times, the last time with status {status}"
                world.monitor.report("error", "process", message, actual=tail(world.log, 5))
                world.give_up("the program keeps exiting by itself")
                return
            world.steps.after(0.5 * self._exits, self.revive)

    def kill_all(self, why: str = "") -> None:
        self.is_away = True
        if self._program is not None and not self._program.killed:
            self._program.kill()
            if why:
                self._world.trace.add("controller", self.actor.name, "killed", why)

    def crash(self, fault: Fault) -> None:
        """Kills the program, which is started again when the fault is over."""
        self.kill_all(f"killed: {fault.kind}")
        self._world.steps.begin(fault, self.revive)

    def pause(self, _actor_name: str) -> Callable[[], None]:
        """Suspends the program. Returns a function that resumes it."""
        program = self._program
        self.is_away = True
        if program is not None:
            program.pause()

        def resume() -> None:
            if program is not None and program is self._program:
                self.is_away = False
                program.resume()
                self.started_at = asyncio.get_running_loop().time()

        return resume

    def strike(self, fault: Fault) -> None:
        """Carries out a fault at rest that does not restart the program: all its watches are ended with 410."""
        if fault.kind == "expire-all":
            self._world.edge.expire_watches()
