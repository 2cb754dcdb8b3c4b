"""Fork server: a process that has prepared a world, and the processes that it forks for the runs."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import struct
import sys
import threading
import traceback
import warnings
from typing import Any, Final, NoReturn

import msgspec

from setpoint.simulation.execution.in_process import run_world
from setpoint.simulation.execution.warm_up import prepare_decoders
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.simulation.sandbox.log_suppression import suppress_logs
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.result import Finding, Options, Result, encode

PATIENCE: Final = 60
"""The limit of a run in seconds of processor time; ten times as many seconds of real time are the second limit. A run
that exceeds either counts as endless.
"""
MOST_CHECKPOINTS: Final = 12
READY: Final = b"r"
END: Final = b"Q"
"""Sent instead of a job when there are no more jobs."""
Job = tuple[Plan, Options]
_HEAD: Final = struct.Struct(">cI")
_job = msgspec.msgpack.Decoder(tuple[Plan, Options]).decode


class _Checkpoint:
    """The parent's handle on a process that is stopped at a given step of the undisturbed run. Each job makes it fork a
    run that continues from that step.
    """

    def __init__(self, pid: int, jobs: int, ready_pipe: int) -> None:
        self.pid = pid
        self.jobs = jobs
        self.ready_pipe = ready_pipe
        self.ready = os.read(ready_pipe, 1) == READY

    def run(self, raw: bytes) -> bool:
        """Makes the checkpoint fork a process that carries out the run and sends the result. Returns False if that was
        not possible.
        """
        try:
            write(self.jobs, b"J", raw)
        except BrokenPipeError:
            return False
        return os.read(self.ready_pipe, 1) == READY

    def close(self) -> None:
        os.close(self.jobs)
        os.close(self.ready_pipe)
        os.waitpid(self.pid, 0)


class _BecomeCheckpoint(Exception):
    """Raised in a newly forked process that is about to become a checkpoint."""

    def __init__(self, plan: Plan, options: Options) -> None:
        super().__init__()
        self.job = (plan, options)


class ForkServer:
    """The program that runs in a worker's process and in the processes that it forks."""

    def __init__(self, setup: Setup, jobs: int, results: int) -> None:
        self._setup = setup
        self._jobs = jobs
        self._results = results
        self._checkpoints: dict[tuple[int, int], _Checkpoint] = {}
        self._can_branch = True
        self._goal = 0
        """The step at which this process becomes a checkpoint; 0 if it does not."""
        self._ready_fd: int | None = None
        """The file descriptor on which a checkpoint reports that it is ready for a job; None in other processes."""

    def live(self) -> NoReturn:
        code = 1
        gc.freeze()  # what was there before the fork is shared with other processes: no collection looks at it
        try:
            _be_silent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            with suppress_logs():
                prepare_decoders(self._setup)
                result = run_world(self._setup, self._choose, self._branch)
            if self._goal:  # the scenario took another way than the first time
                os._exit(0)
            write(self._results, b"R", encode(result))  # this is a forked process
            code = 0
        except BrokenPipeError:
            pass
        except BaseException:  # noqa: BLE001 - the process that waits for the result has to know
            if self._goal:
                os._exit(code)
            write(self._results, b"E", traceback.format_exc().encode())
        finally:
            os._exit(code)

    def _choose(self) -> Job:
        """The next job; this returns once for every job, each time in a new process."""
        gc.collect()
        gc.freeze()
        gc.disable()
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        while True:
            kind, raw = read(self._jobs)
            if not kind or kind == END:
                for child in self._checkpoints.values():
                    child.close()
                os._exit(0)
            job = _job(raw)
            if job[1].since and self._ready_fd is None:
                try:
                    checkpoint = self._checkpoint(job)
                except _BecomeCheckpoint as grow:
                    return self._begin(grow.job, loop, task)
                if checkpoint is not None and checkpoint.run(raw):
                    continue
            pid = fork()
            if pid == 0:
                return self._begin(job, loop, task)
            _, status = os.waitpid(pid, 0)
            if os.WIFSIGNALED(status):
                signal_number = os.WTERMSIG(status)
                late = signal_number in (signal.SIGALRM, signal.SIGPROF)
                why = f"it took more than {PATIENCE} s of CPU time" if late else f"signal {signal_number}"
                finding = Finding("hang", "process", f"the run was killed: {why}")
                write(self._results, b"R", encode(Result(findings=[finding])))
            if self._ready_fd is not None:
                os.write(self._ready_fd, READY)

    def _begin(self, job: Job, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> Job:
        """Prepares a newly forked process for its own run: gives the loop its own selector and pipe, and the process a
        time limit. ``task`` is the task that forked. Returns ``job``.
        """
        assert isinstance(loop, SimulationLoop)
        asyncio.set_event_loop(loop)  # from Python 3.12 on a forked process has forgotten it
        loop.after_fork(task)
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        _limit(PATIENCE)
        return job

    def _checkpoint(self, job: Job) -> _Checkpoint | None:
        """A checkpoint at the step at which the job's run first differs from the undisturbed one, or at an earlier
        step; None if there can't be one.
        """
        plan, options = job
        step = min(options.since, MOST_CHECKPOINTS)
        existing = self._checkpoints.get((plan.seed, step))
        if existing is not None:
            return existing if existing.ready else None
        if not self._can_branch or len(self._checkpoints) >= MOST_CHECKPOINTS:
            return None
        jobs_in, jobs_out = os.pipe()
        ready_pipe, ready_end = os.pipe()
        pid = fork()
        if pid == 0:
            for other in self._checkpoints.values():
                os.close(other.jobs)
            self._checkpoints = {}
            os.close(jobs_out)
            os.close(ready_pipe)
            self._jobs, self._ready_fd, self._goal = jobs_in, ready_end, step
            raise _BecomeCheckpoint(
                Plan(seed=plan.seed), msgspec.structs.replace(options, since=0, trace=False, patient=False)
            )
        os.close(jobs_in)
        os.close(ready_end)
        checkpoint = self._checkpoints[plan.seed, step] = _Checkpoint(pid, jobs_out, ready_pipe)
        self._can_branch = checkpoint.ready
        return checkpoint if checkpoint.ready else None

    def _branch(self, step: int) -> Job | None:
        """Called at the start of every step: in a checkpoint that has reached its goal it returns once for every job,
        each time in a new process.
        """
        if not self._goal or step < self._goal:
            return None
        if threading.active_count() > 1:  # they would not be there in a process that is forked now
            os._exit(0)
        assert self._ready_fd is not None
        _limit(0)
        self._goal = 0
        os.write(self._ready_fd, READY)
        return self._choose()


def _limit(seconds: int) -> None:
    """Ends this process after ``seconds`` of processor time or ten times as many of real time; 0 cancels both
    limits.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)


def _be_silent() -> None:
    """Discards this process's output, since the output of hundreds of runs is useless."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process


def fork() -> int:
    with warnings.catch_warnings():
        # From Python 3.12 on a process with threads is warned of; no thread of ours holds a lock here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def write(file: int, kind: bytes, raw: bytes) -> None:
    view = memoryview(_HEAD.pack(kind, len(raw)) + raw)
    while view:
        view = view[os.write(file, view) :]


def read(file: int) -> tuple[bytes, bytes]:
    head = _exactly(file, _HEAD.size)
    if len(head) < _HEAD.size:
        return b"", b""
    kind, size = _HEAD.unpack(head)
    return kind, _exactly(file, size)


def _exactly(file: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(file, min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
