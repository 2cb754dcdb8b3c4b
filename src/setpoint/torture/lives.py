"""Lives: starts, suspends and kills the program under test, and starts it again when it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from setpoint.simulation.faults.plan import Fault
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.trace.trace import Trace
from setpoint.torture.program import Program, tail
from setpoint.torture.setup import Setup
from setpoint.torture.steps import Steps

TURN: Final = 0.02
"""Seconds between two checks of whether the program runs and everything has settled."""
_EXITS: Final = 3
"""The number of times that the program may end by itself under faults. Each time it is restarted, as by a kubelet."""


class ProgramError(Exception):
    """The program can't be tested: it can't be started, ends by itself, or never sends a request to the server."""


class Guardian(Protocol):
    """The part of a trial's interface that the `Lives` of its program use."""

    @property
    def setup(self) -> Setup: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def steps(self) -> Steps: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def kubeconfig(self) -> Path: ...
    @property
    def url(self) -> str: ...
    @property
    def log(self) -> Path: ...
    @property
    def is_disturbed(self) -> bool: ...
    def heard_from(self) -> bool: ...
    def forget(self) -> None: ...
    def give_up(self, why: str) -> None: ...


class Lives:
    """The successive processes of the program in one trial. ``told`` is called with the id of every process that is
    started.
    """

    def __init__(self, trial: Guardian, *, told: Callable[[int], None]) -> None:
        self._trial = trial
        self._tell_pid = told
        self.actor = Actor("program 1", "controller")
        self.started_at = 0.0
        self.is_away = False
        """Whether a fault has killed or suspended the program for a while."""
        self._program: Program | None = None
        self._number = 0
        self._exits = 0

    @property
    def runs(self) -> bool:
        """Whether the program has been started, and no fault keeps it killed or suspended."""
        return self._program is not None and not self.is_away

    # -- beginnings ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the program.

        Raises:
            ProgramError: the program can't be started.
        """
        trial = self._trial
        self._number += 1
        self.actor = Actor(f"program {self._number}", "controller")
        trial.forget()
        self.is_away = False
        command = trial.setup.command
        try:
            self._program = Program(command, kubeconfig=trial.kubeconfig, server=trial.url, log=trial.log)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise ProgramError(f"{command[0]} can't be started: {why}") from None
        self._tell_pid(self._program.pid)
        self.started_at = asyncio.get_running_loop().time()
        trial.trace.tell("controller", self.actor.name, "starts", "starts with empty memory")

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
        setup = self._trial.setup
        deadline = asyncio.get_running_loop().time() + setup.start_within
        while not self._trial.heard_from():
            self.check()
            if asyncio.get_running_loop().time() > deadline:
                raise ProgramError(
                    f"{setup.command[0]} has asked the server for nothing in {setup.start_within:g} s: does "
                    "it read {kubeconfig}, or the environment variable KUBECONFIG?" + self._said()
                )
            await asyncio.sleep(TURN)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Checks that the program has not ended by itself.

        Raises:
            ProgramError: the program has ended by itself in an undisturbed run.
        """
        program = self._program
        if self._trial.is_disturbed or program is None or program.killed or (status := program.ended()) is None:
            return
        how = f"was ended by signal {-status}" if status < 0 else f"ended by itself with status {status}"
        command = self._trial.setup.command[0]
        raise ProgramError(f"{command} {how}, though nothing went wrong in the world" + self._said())

    def _said(self) -> str:
        said = tail(self._trial.log)
        return "; it said:\n" + "\n".join(f"  {line}" for line in said.splitlines()) if said else "; it said nothing"

    async def mind(self) -> None:
        """Restarts the program when it has ended by itself under faults, until cancelled. If that happens too often,
        reports a finding and ends the trial.
        """
        trial = self._trial
        while True:
            await asyncio.sleep(TURN)
            program = self._program
            if program is None or program.killed or (status := program.ended()) is None or not trial.is_disturbed:
                continue
            program.kill()  # those that it may have left behind
            self._exits += 1
            trial.trace.tell("controller", self.actor.name, "ended", f"ended by itself with status {status}")
            if self._exits > _EXITS:
                told = f"the program ended by itself {self._exits} times, at last with status {status}"
                trial.monitor.report("error", "process", told, actual=tail(trial.log, 5))
                trial.give_up("the program ends by itself")
                return
            trial.steps.after(0.5 * self._exits, self.revive)

    def kill(self, why: str) -> None:
        if self._program is not None and not self._program.killed:
            self._program.kill()
            if why:
                self._trial.trace.tell("controller", self.actor.name, "killed", why)

    def crash(self, fault: Fault) -> None:
        """Kills the program, which is started again when the fault is over."""
        self.is_away = True
        self.kill(f"killed: {fault.kind}")
        self._trial.steps.begin(fault, self.revive)

    def down(self, step: int) -> None:
        """Kills the program, which is started again at the end of step ``step``."""
        self.is_away = True
        self.kill("down while the user goes on")
        self._trial.steps.over(step, self.revive)

    def pause(self, step: int) -> None:
        """Suspends the program until the end of step ``step``."""
        self.is_away = True
        if self._program is not None:
            self._program.pause()
            self._trial.steps.over(step, self._resume)

    def _resume(self) -> None:
        self.is_away = False
        if self._program is not None:
            self._program.resume()
            self.started_at = asyncio.get_running_loop().time()
