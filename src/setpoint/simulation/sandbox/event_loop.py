"""Event loop: virtual time in which one actor can be stopped or killed while all others continue."""

from __future__ import annotations

import asyncio
import heapq
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from setpoint.controller.context import current
from setpoint.simulation.sandbox.actor import ACTOR, Actor
from setpoint.simulation.sandbox.side_effect_guard import Isolation
from setpoint.simulation.sandbox.thread_scheduler import Job, ThreadScheduler
from setpoint.testing.thread_jobs import ThreadJobs
from setpoint.testing.user_code import find_awaiting_line, find_user_line, is_users_file
from setpoint.testing.virtual_clock import VirtualTimeLoop

T = TypeVar("T")
NEVER_TURNS = 400_000
"""The maximum number of iterations of the loop at one virtual time; more count as a hot loop. A normal run takes a few
thousand.
"""


class SimulationLoop(VirtualTimeLoop):
    """A `VirtualTimeLoop` that knows to which actor each callback belongs.

    *Guarantees*

    - After `kill`, no line of the actor's code runs any more: no ``finally``, no ``__aexit__``, no callback. Its
      coroutines stay suspended forever, as after SIGKILL.
    - After `pause`, none of the actor's code runs until `resume`. Then all of it continues, and overdue callbacks run
      immediately.

    *Caveats*: synchronous code that is running when its actor is killed continues until its next await.
    """

    _closed: bool
    _ready: deque[asyncio.Handle]
    _thread_id: int | None

    def __init__(self) -> None:
        super().__init__(max_turns=NEVER_TURNS)
        self._retained: list[Any] = []
        self._turns_of_threads = ThreadScheduler()
        self.started_tasks: list[tuple[asyncio.Task[Any], Actor | None, str]] = []
        """The tasks that the user's code started in reconciles, each with its actor and its line of code."""
        self.parents: WeakKeyDictionary[asyncio.Task[Any], asyncio.Task[Any]] = WeakKeyDictionary()
        """For each task that a reconcile started, the task that started it."""
        self.isolation: Isolation | None = None
        """The isolation of the run under way, which is told of what asyncio would open."""

    def _refused(self, call: str) -> RuntimeError:
        refused = super()._refused(call)
        return refused if self.isolation is None else self.isolation.refuse(f"opens a connection or a pipe ({call})")

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        actor = ACTOR.get() if context is None else context.get(ACTOR)
        if self._closed:
            return super().call_soon(callback, *args, context=context)  # raises
        handle = asyncio.Handle(callback, args, self, context)
        if actor is None or actor.state == "running":
            self._ready.append(handle)  # as asyncio does, by way of two more methods
        else:
            (actor.parked if actor.state == "paused" else self._retained).append(handle)
        return handle

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Creates a task as asyncio does, and notes the tasks that a reconcile starts."""
        task: asyncio.Task[T] = super().create_task(coro, name=name, context=context)
        code = getattr(coro, "cr_code", None)
        if current.get() is not None and (parent := asyncio.current_task(self)) is not None:
            self.parents[task] = parent
        if code is not None and current.get() is not None and is_users_file(code.co_filename):
            self.started_tasks.append((task, ACTOR.get(), f"{code.co_filename}:{code.co_firstlineno}"))
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Runs ``func`` in a thread as asyncio does. The loop and its threads run one at a time, so their order is the
        same in every run.
        """
        turns = self._turns_of_threads
        job = Job()
        result = super().run_in_executor(executor, turns.waiting_function(job, func), *args)
        pool = executor or self._default_executor
        assert pool is not None
        turns.begin(job, pool)
        result.add_done_callback(lambda _: turns.jobs.discard(job))
        turns.stand_still()
        return result

    def _poll(self, timeout: float | None, really_wait: Callable[[float | None], Any]) -> Any:
        # No thread computes now. Those that wait for the loop may wait for time to pass.
        jobs, self._jobs = self._jobs, ThreadJobs()
        try:
            return super()._poll(timeout, really_wait)
        finally:
            self._jobs = jobs

    def _on_job_done(self, executor: Executor, job: Future[Any]) -> None:
        super()._on_job_done(executor, job)
        self._turns_of_threads.ended(executor)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._turns_of_threads.waits(callback)
        return handle

    def close(self) -> None:
        self._turns_of_threads.end()
        super().close()

    def has_ready(self) -> bool:
        """Whether callbacks are waiting to run before time passes."""
        return bool(self._ready)

    def kill(self, actor: Actor) -> None:
        """Ends the actor as SIGKILL ends a process."""
        actor.state = "dead"
        # Tasks without references are closed by Python, and closing runs their finally blocks.
        self._retained.extend(asyncio.all_tasks(self))
        self._retained.extend(actor.parked)
        self._retained.extend(actor.timers)
        for handle in [*self._ready, *self._scheduled]:
            if _belongs(handle, actor):
                self._retained.append((handle._callback, handle._args))  # type: ignore[attr-defined]
                handle.cancel()

    def pause(self, actor: Actor) -> None:
        """Stops the actor as SIGSTOP stops a process."""
        if actor.state != "running":
            return
        actor.state = "paused"
        for place, handle in enumerate(self._ready):
            if _belongs(handle, actor):
                actor.parked.append(handle)
                self._ready[place] = _nothing(self)
        stopped = [handle for handle in self._scheduled if _belongs(handle, actor)]
        if stopped:
            actor.timers.extend(stopped)
            self._scheduled[:] = [handle for handle in self._scheduled if not _belongs(handle, actor)]
            heapq.heapify(self._scheduled)

    def resume(self, actor: Actor) -> None:
        """Makes a paused actor continue."""
        if actor.state != "paused":
            return
        actor.state = "running"
        for timer in actor.timers:
            heapq.heappush(self._scheduled, timer)
        self._ready.extend(actor.parked)
        actor.timers.clear()
        actor.parked.clear()

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Makes this the running loop of the calling thread, too. The loop stands still while one of its threads
        computes, so the thread may act in its place.
        """
        before, owner = asyncio._get_running_loop(), self._thread_id
        asyncio._set_running_loop(self)
        self._thread_id = threading.get_ident()  # asyncio's debug mode compares it with the calling thread
        try:
            yield
        finally:
            self._thread_id = owner
            asyncio._set_running_loop(before)

    def after_fork(self, task: asyncio.Task[Any] | None) -> None:
        """Gives the loop a selector and a self-pipe of its own, in a process that ``task`` has just forked. Otherwise
        it would share them with its parent process.
        """
        asyncio._set_running_loop(self)  # a running loop is known by its process, too
        if task is not None and asyncio.current_task(self) is not task:  # forgotten by forked processes of Python 3.15
            asyncio._enter_task(self, task)
        selector: Any = self._selector  # type: ignore[attr-defined]
        selector._real = selectors.DefaultSelector()
        self._internal_fds = 0
        self._make_self_pipe()  # type: ignore[attr-defined]


def _belongs(handle: asyncio.Handle, actor: Actor) -> bool:
    context: Context | None = handle._context  # type: ignore[attr-defined]
    return context is not None and context.get(ACTOR) is actor


def _nothing(loop: asyncio.AbstractEventLoop) -> asyncio.Handle:
    handle = asyncio.Handle(lambda: None, (), loop)
    handle.cancel()
    return handle


def find_line_of_call() -> str:
    """``file:line`` of the innermost call in the user's code that leads here; ``""`` if there is none. In a task that a
    reconcile started by a call such as `Context.keep`, it is the line that awaits the call.
    """
    place, loop = find_user_line(), asyncio._get_running_loop()
    task = asyncio.current_task() if isinstance(loop, SimulationLoop) else None
    while not place and task is not None and isinstance(loop, SimulationLoop):
        task = loop.parents.get(task)
        place = find_awaiting_line(task) if task is not None else ""
    return place
