"""Pool: runs in processes of their own, forked from a world that has been warmed up once."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

import msgspec

from setpoint.simulation.plan import Plan
from setpoint.simulation.rehearsal import prepare, rehearse
from setpoint.simulation.result import Finding, Options, Result, decode, encode
from setpoint.simulation.setup import Setup
from setpoint.simulation.single import run_here, silent, story

PATIENCE: Final = 60
"""Seconds of real time after which a run counts as one that never ends."""
MOST_TRUNKS: Final = 12
READY: Final = b"r"
_HEAD: Final = struct.Struct(">cI")
_Job = tuple[Plan, Options]
_job = msgspec.msgpack.Decoder(tuple[Plan, Options]).decode


class SetupFailed(Exception):
    """The world could not be made, so that nothing can be said of the controllers. The message has the traceback."""


class Pool:
    """So many workers, each of which warms a world up and then forks one process for every run.

    A forked process is the same in every byte each time, so that a run depends on its plan alone. With no workers, or
    without ``os.fork``, runs are made one after the other in this process, where a debugger can follow them.
    """

    def __init__(self, setup: Setup, workers: int | None = None) -> None:
        self._setup = setup
        self._workers: list[_Worker] = []
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._size = cores if workers is None else workers
        self.runs = 0

    def __enter__(self) -> Pool:
        if hasattr(os, "fork"):
            if self._size:
                rehearse()
            for _ in range(self._size):
                self._workers.append(_Worker(self._setup, [end for each in self._workers for end in each.ends]))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def one(self, plan: Plan, options: Options) -> Result:
        """The result of one run."""
        return next(iter(self.each([(plan, options)])))[2]

    def each(self, jobs: Iterable[_Job]) -> Iterator[tuple[int, Plan, Result]]:
        """The results in the order of the jobs, each with its number.

        Raises:
            SetupFailed: no world could be made.
        """
        if not self._workers:
            for number, (plan, options) in enumerate(jobs):
                self.runs += 1
                yield number, plan, run_here(self._setup, plan, options)
            return
        waiting = enumerate(jobs)
        done: dict[int, tuple[Plan, Result]] = {}
        due = 0
        busy: dict[_Worker, tuple[int, Plan]] = {}
        free = [worker for worker in self._workers if not worker.busy]
        more = True
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.incoming, selectors.EVENT_READ, worker)
            try:
                while True:
                    while free and more:
                        number, job = next(waiting, (-1, None))
                        if job is None:
                            more = False
                            break
                        worker = free.pop()
                        worker.send(job)
                        busy[worker] = (number, job[0])
                        self.runs += 1
                    while due in done:
                        plan, result = done.pop(due)
                        yield due, plan, result
                        due += 1
                    if not busy:
                        if not more and not done:
                            return
                        continue
                    for key, _ in selector.select():
                        worker = key.data
                        number, plan = busy.pop(worker)
                        done[number] = (plan, worker.receive())
                        free.append(worker)
            finally:
                for worker in busy:  # nobody wants to know any more
                    worker.receive()


class _Worker:
    def __init__(self, setup: Setup, others: list[int]) -> None:
        jobs_out, self._outgoing = os.pipe()
        self.incoming, results_in = os.pipe()
        self.busy = False
        self.pid = _fork()
        if self.pid == 0:
            os.close(self._outgoing)
            os.close(self.incoming)
            for other in others:
                os.close(other)
            _Zygote(setup, jobs_out, results_in).live()
        os.close(jobs_out)
        os.close(results_in)

    @property
    def ends(self) -> tuple[int, int]:
        """This process's ends of the pipes; another that held one would keep the worker alive."""
        return self._outgoing, self.incoming

    def send(self, job: _Job) -> None:
        raw = msgspec.msgpack.encode(job)
        self.busy = True
        try:
            _write(self._outgoing, b"J", raw)
        except BrokenPipeError:
            self.receive()
            raise

    def receive(self) -> Result:
        kind, raw = _read(self.incoming)
        self.busy = False
        if kind == b"R":
            return decode(raw)
        raise SetupFailed(raw.decode(errors="replace") or "a worker of the simulation has died")

    def close(self) -> None:
        os.close(self._outgoing)
        os.close(self.incoming)
        os.waitpid(self.pid, 0)


class _Trunk:
    """A process that has made the undisturbed run up to a step, as those see it that have it fork from there."""

    def __init__(self, pid: int, jobs: int, told: int) -> None:
        self.pid = pid
        self.jobs = jobs
        self.told = told
        self.ready = os.read(told, 1) == READY

    def run(self, raw: bytes) -> bool:
        """Has it make a run, and send the result. False if it could not."""
        try:
            _write(self.jobs, b"J", raw)
        except BrokenPipeError:
            return False
        return os.read(self.told, 1) == READY

    def close(self) -> None:
        os.close(self.jobs)
        os.close(self.told)
        os.waitpid(self.pid, 0)


class _Grow(Exception):
    """Raised in a process that has just been forked and is to become a trunk."""

    def __init__(self, plan: Plan, options: Options) -> None:
        super().__init__()
        self.job = (plan, options)


class _Zygote:
    """The process of a worker, and those that it forks."""

    def __init__(self, setup: Setup, jobs: int, results: int) -> None:
        self._setup = setup
        self._jobs = jobs
        self._results = results
        self._trunks: dict[tuple[int, int], _Trunk] = {}
        self._can_branch = True
        self._goal = 0
        """The step at which this process becomes a trunk; 0 if it does not."""
        self._teller: int | None = None
        """Where a trunk says that it is ready for a job."""

    def live(self) -> NoReturn:
        code = 1
        try:
            _be_silent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            with silent():
                prepare(self._setup)
                result = story(self._setup, self._choose, self._branch)
            if self._goal:  # the scenario took another way than the first time
                os._exit(0)
            _write(self._results, b"R", encode(result))  # this is a forked process
            code = 0
        except BrokenPipeError:
            pass
        except BaseException:  # noqa: BLE001 - the process that waits for the result has to know
            if self._goal:
                os._exit(code)
            _write(self._results, b"E", traceback.format_exc().encode())
        finally:
            os._exit(code)

    def _choose(self) -> _Job:
        """Returns in a new process for every job."""
        gc.collect()
        gc.freeze()
        gc.disable()
        while True:
            kind, raw = _read(self._jobs)
            if not kind:
                for each in self._trunks.values():
                    each.close()
                os._exit(0)
            job = _job(raw)
            if job[1].since and self._teller is None:
                try:
                    trunk = self._trunk(job)
                except _Grow as grow:
                    return self._begin(grow.job)
                if trunk is not None and trunk.run(raw):
                    continue
            pid = _fork()
            if pid == 0:
                return self._begin(job)
            _, status = os.waitpid(pid, 0)
            if os.WIFSIGNALED(status):
                died = os.WTERMSIG(status)
                why = f"it did not end within {PATIENCE} s" if died == signal.SIGALRM else f"killed by signal {died}"
                finding = Finding("hang", "process", f"the run was ended from outside: {why}")
                _write(self._results, b"R", encode(Result(findings=[finding])))
            if self._teller is not None:
                os.write(self._teller, READY)

    def _begin(self, job: _Job) -> _Job:
        """In a process that has just been forked: makes it one of its own."""
        asyncio.get_event_loop().after_fork()  # type: ignore[attr-defined]
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        return job

    def _trunk(self, job: _Job) -> _Trunk | None:
        """A process that has made the undisturbed run up to where the job's own begins. None if there can be none."""
        plan, options = job
        step = min(options.since, MOST_TRUNKS)
        known = self._trunks.get((plan.seed, step))
        if known is not None:
            return known if known.ready else None
        if not self._can_branch or len(self._trunks) >= MOST_TRUNKS:
            return None
        jobs_in, jobs_out = os.pipe()
        told, teller = os.pipe()
        pid = _fork()
        if pid == 0:
            for each in self._trunks.values():
                os.close(each.jobs)
            self._trunks = {}
            os.close(jobs_out)
            os.close(told)
            self._jobs, self._teller, self._goal = jobs_in, teller, step
            raise _Grow(Plan(seed=plan.seed), msgspec.structs.replace(options, since=0, trace=False, patient=False))
        os.close(jobs_in)
        os.close(teller)
        made = self._trunks[plan.seed, step] = _Trunk(pid, jobs_out, told)
        self._can_branch = made.ready
        return made if made.ready else None

    def _branch(self, step: int) -> _Job | None:
        """Called at the start of every step: in a trunk that has come to its goal it returns once for every job, in a
        new process."""
        if not self._goal or step < self._goal:
            return None
        if threading.active_count() > 1:  # they would not be there in a process that is forked now
            os._exit(0)
        assert self._teller is not None
        signal.alarm(0)
        self._goal = 0
        os.write(self._teller, READY)
        return self._choose()


def _be_silent() -> None:
    """What hundreds of runs print is of no use to anybody."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process


def _fork() -> int:
    with warnings.catch_warnings():
        # From Python 3.12 on a process with threads is warned of; no thread of ours holds a lock here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _write(file: int, kind: bytes, raw: bytes) -> None:
    view = memoryview(_HEAD.pack(kind, len(raw)) + raw)
    while view:
        view = view[os.write(file, view) :]


def _read(file: int) -> tuple[bytes, bytes]:
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
