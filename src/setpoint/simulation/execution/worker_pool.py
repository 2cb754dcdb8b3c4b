"""Worker pool: carries out runs in separate processes, forked from a world that is prepared only once."""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from setpoint.simulation.execution.fork_server import Job
from setpoint.simulation.execution.hash_seed_worker_handle import InterpreterWorker
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.execution.warm_up import warm_up
from setpoint.simulation.execution.worker_handle import SetupFailed, Worker
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.result import Options, Result

J = TypeVar("J", bound=tuple[Plan, Options])
J_contra = TypeVar("J_contra", bound=tuple[Plan, Options], contravariant=True)


class Carrier(Protocol[J_contra]):
    """A process that carries out one run at a time. ``incoming`` is the file descriptor on which it sends the result.
    ``interrupt`` ends the run, if that would otherwise take long.
    """

    busy: bool
    incoming: int

    def send(self, job: J_contra) -> None: ...
    def receive(self) -> Result: ...
    def interrupt(self) -> None: ...


class WorkerPool:
    """Workers, each of which prepares a world once and then forks one process for every run.

    All forked processes begin with the same memory, so a run depends on its plan alone. Without workers, or without
    ``os.fork``, runs take place one after the other in this process, where a debugger can follow them.
    """

    def __init__(self, setup: Setup, workers: int | None = None) -> None:
        self._setup = setup
        self._workers: list[Worker] = []
        self._others: dict[int, Worker] = {}
        self._size = default_workers() if workers is None else workers
        self.runs = 0

    def __enter__(self) -> WorkerPool:
        if hasattr(os, "fork"):
            if self._size:
                warm_up()
            for _ in range(self._size):
                self._workers.append(Worker(self._setup, [end for other in self._workers for end in other.ends]))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self._workers, *self._others.values()):
            worker.close()
        self._workers.clear()
        self._others.clear()

    def run(self, plan: Plan, options: Options) -> Result:
        seed = plan.hash_seed
        if seed is not None and self._workers:
            self.runs += 1
            worker = self._seeded(seed)
            worker.send((plan, options))
            return worker.receive()
        return next(iter(self.results([(plan, options)])))[2]

    def _seeded(self, seed: int) -> Worker:
        """A worker whose process has that hash seed. Raises SetupFailed if the setup can't be moved to a different
        process.
        """
        worker = self._others.get(seed)
        if worker is None:
            worker = self._others[seed] = InterpreterWorker(self._setup, seed)
        return worker

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Plan, Result]]:
        """The results in the order of the jobs, each with the number and the plan of its job.

        Raises:
            SetupFailed: a world could not be made.
            RuntimeError: all workers are busy with the jobs of an earlier call, whose results have not all been taken.
        """
        if not self._workers:
            for number, (plan, options) in enumerate(jobs):
                self.runs += 1
                yield number, plan, run_in_process(self._setup, plan, options)
            return
        yield from carry_out(self._workers, jobs, on_start=self._count)

    def _count(self) -> None:
        self.runs += 1


def default_workers() -> int:
    """One process for each core; under pytest-xdist, for each core of this worker's share, but at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(cores // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")), 1)


def carry_out(
    workers: Sequence[Carrier[J]],
    jobs: Iterable[J],
    *,
    on_start: Callable[[], None],
    tick: Callable[[], None] | None = None,
) -> Iterator[tuple[int, Plan, Result]]:  # fmt: skip
    """The results of jobs that the workers carry out, in the order of the jobs, each with the number and the plan of
    its job. A job is a tuple whose first item is the plan. ``on_start`` is called for every job that is begun, and
    ``tick`` about once a second.

    Raises:
        SetupFailed: a run could not be made.
        RuntimeError: all workers are busy with the jobs of an earlier call, whose results have not all been taken.
    """
    waiting = enumerate(jobs)
    done: dict[int, tuple[Plan, Result]] = {}
    due = 0
    busy: dict[Carrier[J], tuple[int, Plan]] = {}
    free = [worker for worker in workers if not worker.busy]
    more = True
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                while free and more:
                    number, job = next(waiting, (-1, None))
                    if job is None:
                        more = False
                        break
                    worker = free.pop()
                    worker.send(job)
                    selector.register(worker.incoming, selectors.EVENT_READ, worker)
                    busy[worker] = (number, job[0])
                    on_start()
                while due in done:
                    plan, result = done.pop(due)
                    yield due, plan, result
                    due += 1
                if not busy:
                    if not more and not done:
                        return
                    if more and not free:
                        raise RuntimeError("all workers are busy with the jobs of an earlier call")
                    continue
                for key, _ in selector.select(None if tick is None else 1.0):
                    worker = key.data
                    selector.unregister(key.fd)
                    number, plan = busy.pop(worker)
                    done[number] = (plan, _result(worker, plan))
                    free.append(worker)
                if tick is not None:
                    tick()
        finally:  # the results are not wanted any more
            for worker in busy:
                worker.interrupt()
            for worker in busy:
                with suppress(SetupFailed):  # nor are failures: Ctrl-C ends the workers, too
                    worker.receive()


def _result(worker: Carrier[J], plan: Plan) -> Result:
    """The result of the worker's run. An error of the simulation itself is told together with the plan."""
    try:
        return worker.receive()
    except SetupFailed as problem:
        if not plan.faults:
            raise
        raise SetupFailed(f"{problem}\nThis was the plan {plan.token()}: {plan}") from None
