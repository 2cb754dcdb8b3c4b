"""Tasks that end with the block that started them, and functions that end tasks, or wait until one or all of them have
ended.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, Final, TypeVar

T = TypeVar("T")
_BETWEEN: Final = 0.5
"""Seconds between two cancellations of a caller that are both passed on."""


async def end(tasks: Iterable[asyncio.Task[Any]], *, within: float | None = None) -> set[asyncio.Task[Any]]:
    """Cancels the tasks in the given order and waits at most ``within`` seconds until they have ended (None: for as
    long as that takes); returns the tasks that are still running.

    A task may take time to clean up. A task that still runs after half of ``within`` is cancelled once more, because it
    may have swallowed the first cancellation.

    If the caller is cancelled, this function cancels the tasks that still run once more, and goes on waiting; it raises
    `asyncio.CancelledError` only after the wait, so that no task is left without an owner. Cancellations of the caller
    that follow each other within half a second are passed on once: if one of the tasks waits for the caller, each
    cancellation leads to the next. The exceptions of the tasks are left to their owners.

    Raises:
        RuntimeError: the current task is one of the tasks; a task can't wait for its own end.
    """
    loop = asyncio.get_running_loop()
    ordered = [task for task in tasks if not task.done()]
    if asyncio.current_task() in ordered:
        raise RuntimeError("a task can't wait for its own end")
    running = set(ordered)
    _cancel(ordered)
    moments = [] if within is None else [loop.time() + within / 2, loop.time() + within]
    cancelled: asyncio.CancelledError | None = None
    passed_on = -math.inf
    while running:
        try:
            _, running = await asyncio.wait(running, timeout=max(moments[0] - loop.time(), 0.0) if moments else None)
        except asyncio.CancelledError as problem:
            running = {task for task in running if not task.done()}
            cancelled = problem
            if loop.time() - passed_on >= _BETWEEN:
                passed_on = loop.time()
                _cancel(ordered)
        if running and moments and loop.time() >= moments[0]:
            del moments[0]
            if not moments:
                break
            _cancel(ordered)
    if cancelled is not None:
        try:
            raise cancelled
        finally:
            cancelled = None  # the exception's frame is this one
    return running


def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels the tasks that have not ended, in the given order; not in the order of a set, which differs between runs
    of a program.
    """
    for task in tasks:
        task.cancel()


class TaskScope:
    """``async with TaskScope() as scope:`` owns tasks that end, at the latest, with the block.

    Leaving the block cancels the tasks that are still running and waits for them, however long their clean-up takes,
    even if the block's own task is cancelled meanwhile. `asyncio.TaskGroup` is for tasks that a block waits for; a
    `TaskScope` is for tasks that serve only the block.

    Raises (on leaving):
        Exception: a task failed, in its work or its clean-up. If several tasks failed, the exception of the task that
            was started first is raised, with notes of the others. If the block itself fails, the block's exception is
            raised, with the exceptions of the tasks as notes.
        asyncio.CancelledError: the block was cancelled. The exceptions of the tasks then go to the loop's exception
            handler: no exception takes precedence over a cancellation, and none is lost.
    """

    __slots__ = ("_tasks", "ending")

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self.ending = False
        """Whether the block is being left: a task that swallowed a cancellation can see that it must end."""

    def start(self, work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Starts a task.

        Raises:
            RuntimeError: the block is being left.
        """
        if self.ending:
            work.close()
            raise RuntimeError("this TaskScope is closing; no other task can be started in it")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.append(task)
        return task

    async def first(self) -> None:
        """Waits until one of the tasks has ended, for any reason. Raises `ValueError` if no task was started."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def all(self) -> None:
        """Waits until all tasks have ended, or one has failed."""
        while self._tasks:
            count = len(self._tasks)
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
            if len(self._tasks) == count:  # none was started meanwhile
                return

    async def __aenter__(self) -> TaskScope:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ending = True
        tasks = self._tasks
        try:
            await end(tasks)
        except asyncio.CancelledError:
            _report(tasks, error)
            raise
        if error is None:
            problems = _failures(tasks)
            if problems:
                for other in problems[1:]:
                    problems[0].add_note(_note(other))
                raise problems[0]
        elif isinstance(error, Exception):
            for other in _failures(tasks):
                if other is not error:
                    error.add_note(_note(other))
        else:
            _report(tasks, error)


async def first(*works: Coroutine[Any, Any, Any]) -> int:
    """Runs the coroutines concurrently until one has ended, ends the others, and returns the index of the first that
    ended.

    Raises the exception of a failed coroutine; see `TaskScope`.
    """
    async with TaskScope() as scope:
        tasks = [scope.start(work) for work in works]
        await scope.first()
        return next(position for position, task in enumerate(tasks) if task.done())


async def until(event: asyncio.Event, *tasks: asyncio.Future[Any]) -> bool:
    """Waits until the event is set or one of these tasks has ended; returns whether the event is set.

    The tasks still belong to their owner: this function neither cancels them nor retrieves their results.
    """
    if not event.is_set():
        async with TaskScope() as scope:
            waiting = scope.start(event.wait())
            await asyncio.wait((waiting, *tasks), return_when=asyncio.FIRST_COMPLETED)
    return event.is_set()


async def every(*works: Coroutine[Any, Any, T]) -> list[T]:
    """Runs the coroutines concurrently until all have ended, even if some fail; returns their results in the same
    order.

    This function is for clean-ups, in which one failure must not keep the others from running. It raises the exception
    of the first failed coroutine in the given order, with notes of the others. If the caller is cancelled, all
    coroutines are cancelled.
    """
    async with TaskScope() as scope:
        tasks = [scope.start(work) for work in works]
        if tasks:
            await asyncio.wait(tasks)
    return [task.result() for task in tasks]


def _failures(tasks: Iterable[asyncio.Task[Any]]) -> list[BaseException]:
    problems: list[BaseException] = []
    for task in tasks:
        if not task.cancelled() and (problem := task.exception()) is not None and problem not in problems:
            problems.append(problem)
    return problems


def _report(tasks: Iterable[asyncio.Task[Any]], error: BaseException | None) -> None:
    """Passes the exceptions of failed tasks to the loop's exception handler, except ``error``, which is raised."""
    for problem in _failures(tasks):
        if problem is not error:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a task failed while the block that owns it was cancelled", "exception": problem}
            )


def _note(problem: BaseException) -> str:
    return f"and afterwards {type(problem).__name__}: {problem}"
