"""Virtual time: an event loop whose clock moves only when nothing is left to do.

A test that waits for a thousand seconds takes a millisecond, and two runs of the same program take the same steps in
the same order. The code under test is the production code: it takes the time from the running loop.

*Guarantees*

- ``loop.time()`` starts at 0.0 and moves only when no callback is ready; then it jumps to the next timer, exactly.
- A program in which no event can occur any more raises `Deadlock`, naming every waiting task and its position.
- A program that never waits (a hot loop) raises `Livelock` instead of running forever.
- While a job of `run_in_executor` or `asyncio.to_thread` computes, the clock stands still; the loop waits in real
  time. A job that waits for a coroutine of this loop (`asyncio.run_coroutine_threadsafe`, the blocking clients), or
  for a free thread of its executor, lets the clock move.

*Caveats*

- No sockets, pipes or subprocesses: their events happen in real time. Opening one raises `RuntimeError`.
- A job that waits for anything else of this loop, such as a lock that a task is to release after a sleep, waits
  forever.
- The order in which several threads finish is not deterministic.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import selectors
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar, overload

from setpoint.concurrency import task_report
from setpoint.testing.thread_jobs import ThreadJobs, awaited_future

P = ParamSpec("P")
T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall-clock time at loop time 0."""

DEFAULT_LIMIT = 366 * 24 * 3600.0
"""The default limit of `run` and `virtual_time`, in virtual seconds: a year."""

MAX_TURNS = 5_000_000
"""The number of iterations of the loop at one virtual time after which a program counts as a hot loop."""

CLEANUP_GRACE = 3600.0
"""Virtual seconds for the clean-up of cancelled tasks after the limit was exceeded."""


class VirtualTimeError(Exception):
    """The base class of the failures of a program in virtual time."""


class Deadlock(VirtualTimeError):
    """Nothing is ready, no timer is set and no thread is working: the program would hang forever."""


class Livelock(VirtualTimeError):
    """The loop kept iterating without ever waiting, so the clock could not move."""


class TimeLimitExceeded(VirtualTimeError):
    """The program would run past its limit of virtual time."""


class LeakedTasks(VirtualTimeError):
    """Tasks were still running when the main coroutine returned."""


class UnhandledErrors(VirtualTimeError):
    """Callbacks or forgotten tasks raised exceptions that no task retrieved; the first one is the ``__cause__``."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; see the module's guarantees.

    ``limit`` is the last moment (in seconds of loop time) that the clock may reach, or None for no limit; the running
    loop raises `TimeLimitExceeded` when the next timer is beyond it. ``max_turns`` is the number of iterations at one
    virtual time after which the loop raises `Livelock`.
    """

    # asyncio's own, of every supported version; the type stubs don't show them.
    _scheduled: list[asyncio.TimerHandle]
    _default_executor: Executor | None
    _clock_resolution: float

    def __init__(self, *, limit: float | None = None, max_turns: int = MAX_TURNS) -> None:
        self._now = 0.0
        self._limit = limit
        self._max_turns = max_turns
        self._turns = 0
        self._jobs = ThreadJobs()
        self._stand_ins = 0
        self._blocked_waiters: deque[asyncio.Future[None]] = deque()
        super().__init__(_Selector(self))
        self._move_to(0.0)

    def time(self) -> float:
        """The seconds of virtual time since the loop was made."""
        return self._now

    async def wait_all_tasks_blocked(self) -> None:
        """Waits until no callback is ready and no thread is working, without moving the clock. See the function
        `wait_all_tasks_blocked` of this module.
        """
        waiter = self.create_future()
        self._blocked_waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._blocked_waiters:
                self._blocked_waiters.remove(waiter)

    def next_timer(self) -> float | None:
        """The loop time of the next timer; None if there is none. Nothing can change before this time unless a callback
        is ready or a thread is working.
        """
        return min((timer.when() for timer in self._scheduled if not timer.cancelled()), default=None)

    # Threads: while one works for this loop, its end is the next event, before any timer.

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Runs ``func`` as asyncio's method does. The clock stands still while the job computes."""
        if executor is None:
            if self._default_executor is None:
                self.set_default_executor(ThreadPoolExecutor(thread_name_prefix="virtual-time"))
            executor = self._default_executor
            assert executor is not None
        tap = _Tap(executor)
        job = self._jobs.marked(func) if isinstance(executor, ThreadPoolExecutor) else func
        result = super().run_in_executor(tap, job, *args)
        self._jobs.begin(executor)
        # Added after asyncio's own callback: the job's result is on its way before the job stops counting.
        tap.job.add_done_callback(functools.partial(self._on_job_done, executor))
        return result

    def _on_job_done(self, executor: Executor, _job: Future[Any]) -> None:
        if not self.is_closed():
            self.call_soon_threadsafe(self._jobs.end, executor)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        future = awaited_future(callback) if self._jobs.is_own_thread() else None
        if future is not None:
            super().call_soon_threadsafe(self._jobs.wait, future)  # no sooner: the loop has something to do until then
        return handle

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        """Shuts the executor down as asyncio's method does. That method joins the pool in a separate thread, which
        counts as a job.
        """
        self._stand_ins += 1
        try:
            await super().shutdown_default_executor(*args, **kwargs)
        finally:
            self._stand_ins -= 1

    # Called by asyncio once per iteration, where a real loop would poll its sockets.

    def _poll(self, timeout: float | None, really_wait: Callable[[float | None], Any]) -> Any:
        if timeout is not None and timeout <= 0:
            self._turns += 1
            if self._turns > self._max_turns:
                self._turns = 0
                raise Livelock(
                    f"the loop iterated {self._max_turns} times at {self._now} s without ever waiting; "
                    f"tasks:\n{_describe(self)}"
                )
            # A wake-up from a thread has put its callback into the ready list already; nothing to poll for.
            return []
        self._turns = 0
        if self._stand_ins or self._jobs.computing:
            return really_wait(None)
        if self._blocked_waiters:
            waiter = self._blocked_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
            return []
        if timeout is None:
            raise Deadlock(
                f"at {self._now} s of virtual time no callback is ready, no timer is set and no thread is working, "
                f"so no event can occur any more; waiting tasks:\n{_describe(self)}"
            )
        next_time = self._scheduled[0].when()
        if self._limit is not None and next_time > self._limit:
            limit, self._limit = self._limit, max(self._now, self._limit) + CLEANUP_GRACE
            raise TimeLimitExceeded(
                f"the next timer is at {next_time} s, past the limit of {limit} s of virtual time; "
                f"tasks:\n{_describe(self)}"
            )
        self._move_to(max(self._now, next_time))
        return []

    def _move_to(self, time: float) -> None:
        self._now = time
        # asyncio runs timers that are due within the clock's resolution, a nanosecond. Here none runs before its time.
        self._clock_resolution = math.ulp(time)

    # An error at the call is better than a hang; `_Selector.register` refuses all other ways.

    def _refused(self, call: str) -> RuntimeError:
        return RuntimeError(
            f"{call}: sockets, pipes and subprocesses run in real time and are not supported on a VirtualTimeLoop; "
            "use an in-process transport, or an ordinary event loop"
        )

    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("create_connection")

    async def create_server(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("create_server")

    async def create_unix_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("create_unix_connection")

    async def create_unix_server(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("create_unix_server")

    async def create_datagram_endpoint(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("create_datagram_endpoint")

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("subprocess_exec")

    async def subprocess_shell(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: raises `RuntimeError`."""
        raise self._refused("subprocess_shell")


class _Selector(selectors.BaseSelector):
    """Supports one file descriptor, asyncio's self-pipe, through which threads and signals wake the loop."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self._real.get_map():
            raise self._loop._refused("waiting for a file descriptor")
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events: list[tuple[selectors.SelectorKey, int]] = self._loop._poll(timeout, self._real.select)
        return events

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()


class _Tap(Executor):
    """Passes one job on and remembers its future, which asyncio does not expose."""

    job: Future[Any]

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.job = self._executor.submit(fn, *args, **kwargs)
        return self.job


def _describe(loop: asyncio.AbstractEventLoop, *but: asyncio.Task[Any] | None) -> str:
    tasks = [task for task in asyncio.all_tasks(loop) if task not in but]
    tasks.sort(key=lambda task: (len(task.get_name()), task.get_name()))
    return "\n".join(task_report(task) for task in tasks) or "  (none)"


def run(
    coro: Coroutine[Any, Any, T],
    *,
    limit: float | None = DEFAULT_LIMIT,
    loop_factory: Callable[..., VirtualTimeLoop] = VirtualTimeLoop,
) -> T:
    """Runs a coroutine to completion on a fresh `VirtualTimeLoop`; returns its result.

    ``limit`` is the maximum number of virtual seconds that the program may take (default: a year; None for no limit).

    Raises the coroutine's exception; `Deadlock`, `Livelock` or `TimeLimitExceeded` if the coroutine can't continue;
    `LeakedTasks` if it returns while other tasks are still running after all ready callbacks have run;
    `UnhandledErrors` if a callback, or a task that was never awaited, raised an exception.
    """
    unhandled: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=lambda: loop_factory(limit=limit)) as runner:
        runner.get_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
        result = runner.run(_main(coro))
    if unhandled:
        error = UnhandledErrors(
            "unhandled errors:\n"
            + "\n".join(f"  {context['message']}: {context.get('exception')!r}" for context in unhandled)
        )
        raise error from next((c["exception"] for c in unhandled if c.get("exception") is not None), None)
    return result


async def _main(coro: Awaitable[T]) -> T:
    result = await coro
    me = asyncio.current_task()
    if asyncio.all_tasks() != {me}:
        await wait_all_tasks_blocked()  # tasks that are about to end may do so
        if asyncio.all_tasks() != {me}:
            raise LeakedTasks(
                f"tasks left running at the end (cancel them and await them):\n"
                f"{_describe(asyncio.get_running_loop(), me)}"
            )
    return result


@overload
def virtual_time(function: Callable[P, Coroutine[Any, Any, T]], /) -> Callable[P, T]: ...


@overload
def virtual_time(
    *, limit: float | None = DEFAULT_LIMIT
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, T]]: ...


def virtual_time(function: Any = None, /, *, limit: float | None = DEFAULT_LIMIT) -> Any:
    """Turns an ``async def`` test into a plain function that runs in virtual time, as `run` does.

    Use it as ``@virtual_time`` or ``@virtual_time(limit=3600)``. The signature is preserved, so pytest's (synchronous)
    fixtures and parameters work, and so does hypothesis' ``@given`` above it.

    Raises:
        TypeError: the function is not a coroutine function.
    """
    if function is None:
        return functools.partial(virtual_time, limit=limit)
    if not inspect.iscoroutinefunction(function):
        raise TypeError(
            f"@virtual_time needs an `async def` function, not {function!r}; "
            "with hypothesis, put @given above @virtual_time"
        )

    @functools.wraps(function)
    def in_virtual_time(*args: Any, **kwargs: Any) -> Any:
        return run(function(*args, **kwargs), limit=limit)

    return in_virtual_time


def now() -> datetime:
    """The wall-clock time (UTC) that corresponds to the running loop's time; `EPOCH` when the loop's time is 0."""
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


async def wait_all_tasks_blocked() -> None:
    """Runs all ready callbacks, and those that follow from them, until every other task waits; the clock stands still.

    It also waits for jobs in threads. If several tasks wait here, they are woken one at a time, in order, and each
    finds all others idle. (Trio and AnyIO have functions of this name.) Raises `RuntimeError` on another kind of loop.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        raise RuntimeError(f"wait_all_tasks_blocked() needs a VirtualTimeLoop, the running loop is {loop!r}")
    await loop.wait_all_tasks_blocked()


async def advance(seconds: float) -> None:
    """Waits for ``seconds`` of virtual time, then calls `wait_all_tasks_blocked`: everything that is due by then is
    done, including its consequences. Raises `ValueError` if ``seconds`` is negative.
    """
    if seconds < 0:
        raise ValueError(f"time can't go backwards: advance({seconds})")
    await asyncio.sleep(seconds)
    await wait_all_tasks_blocked()
