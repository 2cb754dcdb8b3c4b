"""Pool: runs in processes of their own, forked from a world that has been warmed up once."""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator

import msgspec

from setpoint.simulation.plan import Plan
from setpoint.simulation.rehearsal import rehearse
from setpoint.simulation.result import Options, Result, decode
from setpoint.simulation.setup import Setup
from setpoint.simulation.single import run_here
from setpoint.simulation.zygote import Job, Zygote, fork, read, write


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
        self._others: dict[int, _Worker] = {}
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
        for worker in (*self._workers, *self._others.values()):
            worker.close()
        self._workers.clear()
        self._others.clear()

    def one(self, plan: Plan, options: Options) -> Result:
        """The result of one run."""
        seed = plan.hash_seed
        if seed is not None and self._workers:
            self.runs += 1
            worker = self._seeded(seed)
            worker.send((plan, options))
            return worker.receive()
        return next(iter(self.each([(plan, options)])))[2]

    def _seeded(self, seed: int) -> _Worker:
        """A worker in which strings have other hashes. Raises SetupFailed where the setup can't be brought there."""
        known = self._others.get(seed)
        if known is None:
            known = self._others[seed] = _Stranger(self._setup, seed)
        return known

    def each(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Plan, Result]]:
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
        self.pid = fork()
        if self.pid == 0:
            os.close(self._outgoing)
            os.close(self.incoming)
            for other in others:
                os.close(other)
            Zygote(setup, jobs_out, results_in).live()
        os.close(jobs_out)
        os.close(results_in)

    @property
    def ends(self) -> tuple[int, int]:
        """This process's ends of the pipes; another that held one would keep the worker alive."""
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
        raise SetupFailed(raw.decode(errors="replace") or "a worker of the simulation has died")

    def close(self) -> None:
        os.close(self._outgoing)
        os.close(self.incoming)
        os.waitpid(self.pid, 0)


class _Stranger(_Worker):
    """A worker in an interpreter of its own, in which the order of sets is another one."""

    def __init__(self, setup: Setup, seed: int) -> None:
        try:
            import cloudpickle
        except ImportError:
            raise SetupFailed("cloudpickle is not installed") from None
        try:
            packed = cloudpickle.dumps((sys.path, setup))
        except Exception as problem:  # noqa: BLE001 - what can't be taken along may say so in any way
            raise SetupFailed(f"it can't be pickled: {type(problem).__name__}: {problem}") from None
        jobs_out, self._outgoing = os.pipe()
        self.incoming, results_in = os.pipe()
        self.busy = False
        code = "import sys; from setpoint.simulation.pool import serve; serve(*map(int, sys.argv[1:]))"
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-c", code, str(jobs_out), str(results_in)],
            pass_fds=(jobs_out, results_in),
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        os.close(jobs_out)
        os.close(results_in)
        write(self._outgoing, b"S", packed)

    def close(self) -> None:
        os.close(self._outgoing)
        os.close(self.incoming)
        self._process.wait()


def serve(jobs: int, results: int) -> None:
    """The life of a `_Stranger`."""
    try:
        _, packed = read(jobs)
        path, setup = pickle.loads(packed)  # noqa: S301 - from the process that started this one
        sys.path[:] = path
    except Exception:  # noqa: BLE001 - the process that waits for the result has to know
        write(results, b"E", traceback.format_exc(limit=-1).encode())
        return
    rehearse()
    Zygote(setup, jobs, results).live()
