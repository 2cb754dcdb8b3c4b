"""Worker: a process that carries out runs, as seen by the process that requests them."""

from __future__ import annotations

import os

import msgspec

from setpoint.simulation.execution.fork_server import ForkServer, Job, fork, read, write
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.result import Result, decode


class SetupFailed(Exception):
    """The world could not be made, or the simulation itself failed in a run, so the controllers could not be judged.
    The message gives the reason, in most cases as a traceback, and the plan of the run.
    """


class Worker:
    def __init__(self, setup: Setup, others: list[int]) -> None:
        jobs_out, self._outgoing = os.pipe()
        self.incoming, results_in = os.pipe()
        self.busy = False
        self.pid = fork()
        if self.pid == 0:
            os.close(self._outgoing)
            os.close(self.incoming)
            for other in others:
                os.close(other)
            ForkServer(setup, jobs_out, results_in).live()
        os.close(jobs_out)
        os.close(results_in)

    @property
    def ends(self) -> tuple[int, int]:
        """The ends, in this process, of the pipes to the worker. Other processes must not keep them open, because the
        worker would then stay alive.
        """
        return self._outgoing, self.incoming

    def send(self, job: Job) -> None:
        raw = msgspec.msgpack.encode(job)
        self.busy = True
        try:
            write(self._outgoing, b"J", raw)
        except BrokenPipeError:
            self.receive()
            raise

    def receive(self) -> Result:
        kind, raw = read(self.incoming)
        self.busy = False
        if kind == b"R":
            return decode(raw)
        raise SetupFailed(raw.decode(errors="replace") or "a worker process of the simulation died")

    def interrupt(self) -> None:
        """Has no effect, since a run in virtual time is short."""

    def close(self) -> None:
        os.close(self._outgoing)
        os.close(self.incoming)
        os.waitpid(self.pid, 0)
