"""Thread scheduler: threads that alternate with the loop: while a thread computes, the loop stands still, and vice
versa.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from setpoint.testing.thread_jobs import awaited_future, size_of


class Job:
    """A function that runs in a thread, such as a reconcile function that is not a coroutine function."""

    __slots__ = ("waits_for",)

    def __init__(self) -> None:
        self.waits_for: Future[Any] | None = None


class ThreadScheduler:
    """Makes the loop stand still while a thread computes. Otherwise the operating system would decide in which order
    they act.
    """

    def __init__(self) -> None:
        self.jobs: set[Job] = set()
        self._changed = threading.Condition()
        self._running = 0
        self._unended: dict[Executor, int] = {}
        self._stands = False
        self._over = False
        self._local = threading.local()

    def waiting_function(self, job: Job, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function that the thread has to run instead of ``function``. It begins when the loop stands still: from
        Python 3.14 on, asyncio sets the result of a job that has ended already at once, and of others by a callback.
        """

        def run(*args: Any) -> Any:
            self._local.job = job
            with self._changed:
                self._changed.wait_for(lambda: self._stands)
            return function(*args)

        return run

    def begin(self, job: Job, pool: Executor) -> None:
        """Counts the job as running, if a thread of its executor is free."""
        self.jobs.add(job)
        with self._changed:
            self._unended[pool] = count = self._unended.get(pool, 0) + 1
            self._running += count <= size_of(pool)

    def waits(self, callback: Callable[..., Any]) -> None:
        """If the calling thread waits for the result of ``callback``, counts its job as waiting so that the loop can
        run. The loop calls this in the thread that has scheduled ``callback``.
        """
        job: Job | None = getattr(self._local, "job", None)
        future = awaited_future(callback)
        if job is None or future is None:
            return
        job.waits_for = future
        future.add_done_callback(lambda _: self._go_on(job))
        self._leave()

    def ended(self, pool: Executor) -> None:
        """Notes that a job has ended. If another one waits for a thread of the executor, that one runs now."""
        with self._changed:
            self._unended[pool] = count = self._unended[pool] - 1
            self._running -= count < size_of(pool)
            self._changed.notify_all()

    def stand_still(self) -> None:
        """Blocks its caller, the loop, until every thread waits for the loop or has ended."""
        with self._changed:
            self._stands = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._running == 0)
            self._stands = False

    def end(self) -> None:
        """Cancels the futures for which threads wait, so that all threads end, including those of killed processes."""
        self._over = True
        for job in self.jobs:
            if job.waits_for is not None:
                job.waits_for.cancel()

    def _go_on(self, job: Job) -> None:
        """Blocks the loop until the job's thread, which now has the result that it waited for, waits again or has
        ended.
        """
        if self._over:
            return
        with self._changed:
            self._running += 1
        self.stand_still()

    def _leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()
