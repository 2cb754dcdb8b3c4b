"""Thread jobs: the jobs that a loop has given to executors, and the number of those that compute."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadJobs:
    """Counts the jobs of executors that compute: those that neither wait for a free thread of their executor nor for
    the loop. All methods but those of `marked` are called in the loop's thread.
    """

    def __init__(self) -> None:
        self._unended: dict[Executor, int] = {}
        self._waiting = 0
        self._threads = threading.local()

    @property
    def computing(self) -> int:
        """The number of jobs that compute."""
        return sum(min(count, size_of(pool)) for pool, count in self._unended.items()) - self._waiting

    def begin(self, pool: Executor) -> None:
        self._unended[pool] = self._unended.get(pool, 0) + 1

    def end(self, pool: Executor) -> None:
        self._unended[pool] -= 1
        if not self._unended[pool]:
            del self._unended[pool]

    def marked(self, function: Callable[..., T]) -> Callable[..., T]:
        """The function that a thread runs instead of ``function``, so that `is_own_thread` is true in it."""

        def run(*args: Any) -> T:
            self._threads.is_own = True
            try:
                return function(*args)
            finally:
                self._threads.is_own = False

        return run

    def is_own_thread(self) -> bool:
        """Whether the calling thread runs one of the jobs."""
        return getattr(self._threads, "is_own", False)

    def wait(self, future: Future[Any]) -> None:
        """Counts one job as waiting until ``future``, which the loop sets, is done."""
        self._waiting += 1
        future.add_done_callback(self._go_on)

    def _go_on(self, _: Future[Any]) -> None:
        self._waiting -= 1


def size_of(pool: Executor) -> int:
    """The maximum number of jobs that the executor runs at the same time; ``sys.maxsize`` if it is not known."""
    size: int = getattr(pool, "_max_workers", sys.maxsize)
    return size


def awaited_future(callback: Callable[..., Any]) -> Future[Any] | None:
    """The future of the call of ``asyncio.run_coroutine_threadsafe`` that scheduled ``callback``; None if another
    function scheduled it.
    """
    if not getattr(callback, "__qualname__", "").startswith("run_coroutine_threadsafe"):
        return None
    names = dict(zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=True))
    future = names["future"].cell_contents
    return future if isinstance(future, Future) else None
