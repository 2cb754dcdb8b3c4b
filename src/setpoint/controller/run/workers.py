"""The work loop: workers that take keys from a queue, make an attempt for each, and carry out its outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import Struct

from setpoint.concurrency import TaskScope, stack_of, stack_of_thread
from setpoint.controller.outcome import (
    AWAITED_CANCELLED,
    BUGS,
    After,
    Done,
    HandedOver,
    Held,
    Outcome,
    Paused,
    ReconcileTimeout,
    TerminalError,
    classify,
    describe,
    is_conflict,
    trace_of,
)
from setpoint.controller.telemetry import BoundLogger, LoopMetrics
from setpoint.workqueue import (
    ItemExponentialFailureRateLimiter,
    QueueMetricsProvider,
    RateLimiter,
    RateLimitingQueue,
    ShutDown,
)

Key = TypeVar("Key", bound=Hashable)
_TURNS: Final = 32
"""The number of keys after which a worker yields to the event loop; otherwise a function that never waits would block
the loop.
"""
TRACEBACK_EVERY: Final = 3600.0
"""Seconds for which a traceback is left out of the log after it was there: an outage makes every key fail alike."""
_MAX_TRACES: Final = 64
PAUSED_RESULT: Final = "paused"
"""The result of an attempt that only reported a pause. It does not count as a reconcile."""


class End(Struct, frozen=True):
    """The end of an attempt. ``started`` is a time on the loop's clock; ``duration`` and ``next_in`` are numbers of
    seconds; ``problem`` is the exception of a failed attempt. See `Attempt`.
    """

    started: float
    duration: float
    result: str
    detail: str
    next_in: float | None
    problem: Exception | None = None


async def _is_to_end(worker: asyncio.Task[Any], scope: TaskScope) -> bool:
    """Whether the worker was cancelled because its loop was cancelled. Any other cancellation of the worker is
    undone.
    """
    await asyncio.sleep(0)  # code that cancels every task comes to the loop in the same turn
    if not scope.ending:
        while worker.cancelling():
            worker.uncancel()
    return scope.ending


class UnderWay(NamedTuple):
    """An attempt that is under way: its key, its duration so far in seconds, its task, and its thread if it has one."""

    key: str
    seconds: float
    task: asyncio.Task[Any]
    thread: int | None = None

    def stack(self) -> list[str]:
        """The lines of code at which the attempt waits, outermost first."""
        return stack_of(self.task) if self.thread is None else stack_of_thread(self.thread)

    def __str__(self) -> str:
        return f"{self.key} (for {self.seconds:.1f} s)"


class WorkLoop(Generic[Key]):
    """Calls ``handle(key)`` for every key in its queue, and carries out the outcome. ``metrics`` has the name of the
    loop and the number of its workers, which are tasks.

    *Guarantees*

    - A key is never handled twice at the same time.
    - An exception ends one attempt, never a worker; so does the cancellation of a task that ``handle`` awaits. The
      cancellation of a worker itself, KeyboardInterrupt and SystemExit are never swallowed: they end the loop. When
      ``handle`` swallows a cancellation of the worker, the worker ends after that attempt.
    - The back-off of one key does not delay other keys. `Done`, `After` and `TerminalError` reset it; `Retry` and every
      other failure keep it. An event makes a key that waits for a retry ready at once; if that attempt fails, too, it
      does not count, and the retry keeps its time. So a stream of events does not make the back-off long.
    - A key keeps its priority when it is retried.

    *Caveats*: the queue is not saved anywhere. After a crash the sources deliver everything again.
    """

    def __init__(
        self,
        metrics: LoopMetrics,
        handle: Callable[[Key], Awaitable[Outcome | None]],
        *,
        rate_limiter: RateLimiter[Key] | None = None,
        queue_metrics: QueueMetricsProvider | None = None,
        log: BoundLogger | None = None,
        on_end: Callable[[Key, End], None] | None = None,
    ) -> None:
        self.metrics = metrics
        self.name = name = metrics.name
        self.workers = workers = metrics.max_concurrent
        if workers < 1:
            raise ValueError(f"controller {name!r}: workers must be at least 1, not {workers}")
        self.log = log or BoundLogger(logging.getLogger("setpoint.controller"), {"controller": name})
        self.rate_limiter: RateLimiter[Key] = rate_limiter or ItemExponentialFailureRateLimiter()
        self.queue: RateLimitingQueue[Key] = RateLimitingQueue(self.rate_limiter, name=name, metrics=queue_metrics)
        self.started: dict[Key, float] = {}
        """The keys whose attempts are under way, and the loop times at which the attempts began."""
        self.at_work: dict[asyncio.Task[Any], Key] = {}
        """The tasks whose attempts are under way, and their keys."""
        self._handle = handle
        self._on_end = on_end
        self._retries: dict[Key, float] = {}
        """The loop times at which the back-offs of failing keys end, until the next attempts."""
        self._traces: dict[Hashable, float] = {}
        """The tracebacks in the log, and the loop times at which they were written."""
        self._stopping = False

    async def run(self) -> None:
        """Works until `stop` is called, and returns when the attempts under way have ended. If the call is cancelled,
        the attempts under way are cancelled as well.
        """
        try:
            async with TaskScope() as scope:
                for number in range(self.workers):
                    scope.start(self._work(scope), name=f"{self.name} worker {number}")
                await scope.all()
        finally:
            self._stopping = True
            self.queue.shut_down()

    def under_way(self) -> list[UnderWay]:
        """The attempts under way, oldest first."""
        now = asyncio.get_running_loop().time()
        return [UnderWay(str(key), now - self.started.get(key, now), task) for task, key in self.at_work.items()]

    def stop(self) -> None:
        """Takes no more keys; `run` returns when the attempts under way have ended."""
        self._stopping = True
        self.queue.shut_down()

    async def _work(self, scope: TaskScope) -> None:
        queue = self.queue
        turns = 0
        me = asyncio.current_task()
        assert me is not None
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            try:
                if self._stopping:
                    continue
                self.metrics.active_workers += 1
                self.at_work[me] = key
                try:
                    await self._attempt(key, me, scope)
                finally:
                    del self.at_work[me]
                    self.started.pop(key, None)
                    self.metrics.active_workers -= 1
            finally:
                queue.done(key)
            if me.cancelling() and await _is_to_end(me, scope):
                raise asyncio.CancelledError  # what the attempt swallowed
            turns += 1
            if turns >= _TURNS:
                turns = 0
                await asyncio.sleep(0)

    async def _attempt(self, key: Key, me: asyncio.Task[Any], scope: TaskScope) -> None:
        clock = asyncio.get_running_loop().time
        started = self.started[key] = clock()
        due = self._retries.pop(key, started)
        outcome: Outcome | None
        next_in: float | None = None
        detail = ""
        failed: Exception | None = None
        try:
            outcome = await self._handle(key)
        except asyncio.CancelledError:
            if me.cancelling() and await _is_to_end(me, scope):
                raise
            failed = RuntimeError(AWAITED_CANCELLED)  # the end of a worker would not be noticed
            result, detail, next_in = self._failed(key, failed, due)
        except HandedOver as problem:
            if self._on_end is not None:
                self._on_end(key, End(started, clock() - started, "handed over", str(problem), None))
            return
        except Exception as problem:  # noqa: BLE001 - whatever the function raises is an outcome of this key
            failed = problem
            result, detail, next_in = self._failed(key, failed, due)
        else:
            if outcome is None or isinstance(outcome, Done):
                self.queue.forget(key)
                result, detail = (PAUSED_RESULT, outcome.reason) if isinstance(outcome, Paused) else ("success", "")
            elif isinstance(outcome, After):
                if not isinstance(outcome, Held):
                    self.queue.forget(key)
                self.queue.add_after(key, outcome.seconds, priority=self.queue.priority(key) or 0)
                result, detail, next_in = "requeue_after", outcome.reason, outcome.seconds
            else:
                next_in = self._back_off(key, outcome.after or 0.0, due)
                result, detail = "requeue", outcome.reason
                self.log.info("retry requested", extra={"key": key, "reason": outcome.reason, "retry_in": next_in})
        duration = clock() - started
        if result != PAUSED_RESULT:
            self.metrics.observe(result, duration)
        if self._on_end is not None:
            self._on_end(key, End(started, duration, result, detail, next_in, failed))

    def _back_off(self, key: Key, at_least: float, due: float) -> float:
        """Plans a retry and returns the number of seconds until then; ``due`` is the end of the present back-off."""
        now = asyncio.get_running_loop().time()
        is_early = due > now and self.queue.num_requeues(key) > 0  # 0 if the failures were forgotten meanwhile
        back_off = due - now if is_early else self.rate_limiter.when(key)
        self._retries[key] = now + back_off
        delay = max(back_off, at_least)
        self.queue.add_after(key, delay, priority=self.queue.priority(key) or 0)
        return delay

    def _failed(self, key: Key, problem: Exception, due: float) -> tuple[str, str, float | None]:
        failure = classify(problem)
        metrics = self.metrics
        if is_conflict(problem):
            metrics.conflicts += 1
        if failure.result == "error":
            metrics.errors += 1
        if isinstance(problem, TerminalError):
            metrics.terminal_errors += 1
        elif isinstance(problem, ReconcileTimeout):
            metrics.timeouts += 1
        elif isinstance(problem, BUGS):
            metrics.panics += 1
        detail = describe(problem)
        if failure.retry:
            next_in = self._back_off(key, failure.after, due)
        else:
            self.queue.forget(key)
            next_in = None
        extra = {"key": key, "error": detail, "retry_in": next_in, "failures": self.queue.num_requeues(key)}
        is_shown = failure.traceback and self._is_new(trace_of(problem))
        if failure.traceback and not is_shown:
            extra["traceback"] = "as before"
        self.log.log(
            failure.level,
            "reconcile failed" if failure.result == "error" else "reconcile postponed",
            exc_info=problem if is_shown else None,
            extra=extra,
        )
        return failure.result, detail, next_in

    def _is_new(self, trace: Hashable) -> bool:
        """Whether the log has not had this traceback within `TRACEBACK_EVERY` seconds."""
        now = asyncio.get_running_loop().time()
        since = self._traces.get(trace)
        if since is not None and now - since < TRACEBACK_EVERY:
            return False
        self._traces.pop(trace, None)
        self._traces[trace] = now
        if len(self._traces) > _MAX_TRACES:
            del self._traces[next(iter(self._traces))]
        return True
