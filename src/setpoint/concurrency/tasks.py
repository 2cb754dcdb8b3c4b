"""Tasks that end with the block that started them, and ways to wait for the first, for all, or for their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["TaskScope", "end", "every", "first", "until"]

T = TypeVar("T")


async def end(tasks: Iterable[asyncio.Task[Any]], *, within: float | None = None) -> set[asyncio.Task[Any]]:
    """Cancels the tasks, in their order, and returns when all have ended or ``within`` seconds have passed; returns
    those left.

    A task may take its time to clean up. One that runs on after half of ``within`` is cancelled once more: it may have
    swallowed the first cancellation. With None there is no limit.

    Whoever waits here may be cancelled: the tasks that still run are cancelled once more and waited for all the same,
    so that none is left without an owner; only then `asyncio.CancelledError` is raised. What the tasks failed with is
    theirs to tell.
    """
    loop = asyncio.get_running_loop()
    ordered = [task for task in tasks if not task.done()]
    left = set(ordered)
    _cancel(ordered)
    moments = [] if within is None else [loop.time() + within / 2, loop.time() + within]
    cancelled: asyncio.CancelledError | None = None
    while left:
        try:
            _, left = await asyncio.wait(left, timeout=max(moments[0] - loop.time(), 0.0) if moments else None)
        except asyncio.CancelledError as problem:
            cancelled = problem
            left = {task for task in left if not task.done()}
            _cancel(ordered)
        if left and moments and loop.time() >= moments[0]:
            del moments[0]
            if not moments:
                break
            _cancel(ordered)
    if cancelled is not None:
        try:
            raise cancelled
        finally:
            cancelled = None  # the exception's frame is this one
    return left


def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels those that have not ended. The order of a set is another one in each run of a program."""
    for task in tasks:
        task.cancel()


class TaskScope:
    """``async with TaskScope() as scope:`` tasks that end, at the latest, when the block does.

    Leaving the block cancels those that still run and waits for them, however long their clean-up takes, and also when
    whoever leaves it is cancelled meanwhile. `asyncio.TaskGroup` is for tasks that a block waits for; this is for tasks
    that are of no use without it.

    Raises (on leaving):
        Exception: what the first of the tasks, in the order of their start, failed with, by itself or in its clean-up.
            Where the block itself fails, that is raised, with a note of theirs.
        asyncio.CancelledError: the block was cancelled. What the tasks failed with goes to the loop's exception
            handler then: nothing takes precedence over a cancellation, and nothing is lost.
    """

    __slots__ = ("_tasks", "ending")

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self.ending = False
        """Whether the block is being left: who of the tasks swallowed a cancellation can see that it was meant."""

    def start(self, work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Starts a task.

        Raises:
            RuntimeError: the block is being left.
        """
        if self.ending:
            work.close()
            raise RuntimeError("these tasks are ending; no other can be started beside them")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.append(task)
        return task

    async def first(self) -> None:
        """Waits until one of the tasks has ended, in whatever way."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def all(self) -> None:
        """Waits until all of the tasks have ended, or one has failed."""
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
    """Runs them side by side until one has ended, ends the others, and returns the first ended one's position.

    Raises what one of them failed with, see `TaskScope`.
    """
    async with TaskScope() as scope:
        tasks = [scope.start(work) for work in works]
        await scope.first()
        return next(position for position, task in enumerate(tasks) if task.done())


async def until(event: asyncio.Event, *tasks: asyncio.Future[Any]) -> bool:
    """Waits until the event is set or one of these tasks has ended; returns whether the event is set.

    The tasks stay their owner's: they are neither cancelled nor asked for their result.
    """
    if not event.is_set():
        async with TaskScope() as scope:
            waiting = scope.start(event.wait())
            await asyncio.wait((waiting, *tasks), return_when=asyncio.FIRST_COMPLETED)
    return event.is_set()


async def every(*works: Coroutine[Any, Any, T]) -> list[T]:
    """Runs them side by side, each to its own end; returns what they return, in their order.

    For clean-ups, where the failure of one must not keep the others from being done. Raises the first failure in their
    order, with notes of the others. Whoever waits here may be cancelled: that cancels all of them.
    """
    async with TaskScope() as scope:
        tasks = [scope.start(work) for work in works]
        if tasks:
            await asyncio.wait(tasks)
    return [task.result() for task in tasks]


def _failures(tasks: Iterable[asyncio.Task[Any]]) -> list[BaseException]:
    found: list[BaseException] = []
    for task in tasks:
        if not task.cancelled() and (problem := task.exception()) is not None and problem not in found:
            found.append(problem)
    return found


def _report(tasks: Iterable[asyncio.Task[Any]], error: BaseException | None) -> None:
    """Hands what can't be raised to the loop."""
    for problem in _failures(tasks):
        if problem is not error:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a task failed while the block that owns it was cancelled", "exception": problem}
            )


def _note(problem: BaseException) -> str:
    return f"then also: {type(problem).__name__}: {problem}"
