"""Threads that alternate with the loop: while a thread computes, the loop stands still, and vice versa."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Job:
    """One function in a thread: a reconcile function that is not a coroutine function."""

    __slots__ = ("waits_for",)

    def __init__(self) -> None:
        self.waits_for: Future[Any] | None = None


class Turns:
    """Decides whether the loop or a thread runs. Otherwise the operating system would decide on the order of their
    actions.
    """

    def __init__(self) -> None:
        self.jobs: set[Job] = set()
        self._changed = threading.Condition()
        self._running = 0
        self._over = False
        self._local = threading.local()

    def begin(self, job: Job, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function to run in the thread instead of ``function``."""
        self.jobs.add(job)
        self._running += 1

        def run(*args: Any) -> Any:
            self._local.job = job
            return function(*args)

        return run

    def waits(self, callback: Callable[..., Any]) -> None:
        """Lets the loop run, if the thread waits; called in a thread that has asked the loop for something."""
        job: Job | None = getattr(self._local, "job", None)
        future = _awaited(callback)
        if job is None or future is None:
            return
        job.waits_for = future
        future.add_done_callback(lambda _: self._go_on(job))
        self._leave()

    def ended(self) -> None:
        """Notes that the job of the calling thread has ended."""
        self._leave()

    def stand_still(self) -> None:
        """Blocks the loop, which calls this, until every thread waits for it or has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)

    def end(self) -> None:
        """Ends the world's threads: those that wait for it, including those of killed processes, end with the answer
        that they get now.
        """
        self._over = True
        for job in self.jobs:
            if job.waits_for is not None:
                job.waits_for.cancel()

    def _go_on(self, job: Job) -> None:
        """Lets the thread run, since the loop has done what the thread asked for."""
        if self._over:
            return
        job.waits_for = None
        with self._changed:
            self._running += 1
        self.stand_still()

    def _leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()


def _awaited(callback: Callable[..., Any]) -> Future[Any] | None:
    """The future of the thread that has called ``asyncio.run_coroutine_threadsafe``."""
    if not getattr(callback, "__qualname__", "").startswith("run_coroutine_threadsafe"):
        return None
    names = dict(zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=True))
    found = names["future"].cell_contents
    return found if isinstance(found, Future) else None
