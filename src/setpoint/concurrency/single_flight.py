"""A single run for all callers that wait for its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from setpoint.concurrency.semaphore import FairSemaphore

T = TypeVar("T")


class Shared(Generic[T]):
    """Calls ``work`` once for all callers that arrive while it runs; they share its result or its exception.

    No result is kept for later callers. The work runs in the first caller's task: when that task is cancelled, the
    next waiting caller starts the work anew.

    *Caveats*: several tasks get the same exception object.
    """

    __slots__ = ("_failure", "_result", "_runs", "_turn", "_work")

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self._work = work
        self._turn = FairSemaphore(1)  # not an asyncio.Lock, which belongs to the first loop that waits for it
        self._runs = 0
        self._result: T | None = None
        self._failure: Exception | None = None

    async def __call__(self) -> T:
        """The result of the current run, or of a new run if none is in progress. Raises the exception of that run."""
        runs = self._runs
        await self._turn.acquire()
        try:
            if self._runs == runs:
                await self._run()
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return self._result  # type: ignore[return-value]
        finally:
            self._turn.release()

    async def _run(self) -> None:
        self._failure = self._result = None
        try:
            self._result = await self._work()
        except Exception as problem:  # noqa: BLE001 - every waiting caller raises it
            self._failure = problem
        self._runs += 1
