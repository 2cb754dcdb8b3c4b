"""Groups of runnables that start and stop together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final, Protocol, runtime_checkable

from setpoint.concurrency import end, stack_of, task_report, until
from setpoint.controller import UnderWay

logger = logging.getLogger("setpoint.manager")
CANCEL_WITHIN: Final = 10.0
"""Seconds that cancelled runnables have for their clean-up."""


class Runnable(Protocol):
    """A component that runs as long as its manager.

    The manager cancels `run` when it stops. If the runnable has a method ``stop()``, that method is called first, so
    that the runnable can finish its work. If the runnable has an attribute ``ready`` (an `asyncio.Event`), the next
    group starts only after that event is set.
    """

    async def run(self) -> None: ...


@runtime_checkable
class Stoppable(Protocol):
    def stop(self) -> None: ...


@runtime_checkable
class Busy(Protocol):
    """A runnable that can list the keys it is working on."""

    name: str

    def under_way(self) -> Iterable[UnderWay]: ...


class RunnableEnded(Exception):
    """A runnable returned although it was not asked to stop."""


class Group:
    """Runnables with their tasks. The group owns the tasks: `stop` and `cancel` wait for all of them, and name those
    that do not end.

    ``on_end`` is called with the error when a runnable fails, or returns without being asked to stop.
    """

    def __init__(self, name: str, on_end: Callable[[BaseException], None]) -> None:
        self.name = name
        self._on_end = on_end
        self._waiting: list[tuple[Runnable, bool]] = []
        self._tasks: dict[asyncio.Task[None], Runnable] = {}
        self._let_go: set[asyncio.Task[None]] = set()
        self.late: list[str] = []
        """The names of the work that `stop` cancelled because it had not ended in time: the keys that were being
        reconciled or, for other runnables, the runnables.
        """
        self.hanging: list[str] = []
        """The runnables that did not end although they were cancelled."""
        self._started = False
        self._stopping = False

    def add(self, runnable: Runnable, *, may_end: bool = False) -> None:
        """Adds a runnable, which starts with the group, or at once if the group has been started. With ``may_end``, it
        may return before it is asked to stop.

        Raises:
            RuntimeError: the group is stopping.
        """
        if self._stopping:
            raise RuntimeError(f"{runnable!r} can't be added: the manager is stopping")
        self._waiting.append((runnable, may_end))
        if self._started:
            self._start_waiting()

    async def start(self) -> None:
        """Starts all runnables, and waits for those that have a ``ready`` event."""
        self._started = True
        self._start_waiting()
        for task, runnable in list(self._tasks.items()):
            ready = getattr(runnable, "ready", None)
            if isinstance(ready, asyncio.Event):
                await until(ready, task)

    async def stop(self, deadline: float | None, *, within: float = CANCEL_WITHIN) -> bool:
        """Stops all runnables, by ``stop()`` or, if they have no such method, by cancelling them. Those that still run
        at the loop time ``deadline`` (None: without limit) are cancelled; for ``within`` see `cancel`.

        Returns whether all runnables ended before the deadline.
        """
        self._stopping = True
        tasks = [task for task in self._tasks if task not in self._let_go]
        loop = asyncio.get_running_loop()
        began = loop.time()
        for task in tasks:
            runnable = self._tasks[task]
            if isinstance(runnable, Stoppable):
                runnable.stop()
            else:
                task.cancel()
        late: list[asyncio.Task[None]] = []
        try:
            timeout = None if deadline is None else max(deadline - began, 0.0)
            if timeout == 0:  # other groups took all the time, so what was cancelled just now is not late
                tasks = [task for task in tasks if isinstance(self._tasks[task], Stoppable)]
            if tasks:
                await asyncio.wait(tasks, timeout=timeout)
            late = [task for task in tasks if not task.done()]
            for task in late:
                problem = f"has not ended within {loop.time() - began:.3g} s and is being cancelled"
                self.late += _log_work(self._tasks[task], task, problem)
        finally:
            await self.cancel(within=within)
        return not late

    async def cancel(self, *, within: float = CANCEL_WITHIN) -> None:
        """Cancels all runnables and waits up to ``within`` seconds for them. Runnables that swallow the cancellation
        are cancelled once more after half of that time.

        Runnables that still run after that are abandoned: they are logged with their stacks and named in `hanging`.
        """
        self._stopping = True
        try:
            await end([task for task in self._tasks if task not in self._let_go], within=within)
        finally:
            for task in self._tasks:
                if task not in self._let_go and not task.done():
                    self._let_go.add(task)
                    self.hanging += log_hanging(self._tasks[task], task, within)

    def _start_waiting(self) -> None:
        while self._waiting:
            runnable, may_end = self._waiting.pop(0)
            task = asyncio.get_running_loop().create_task(runnable.run(), name=f"{self.name}: {_name(runnable)}")
            self._tasks[task] = runnable
            task.add_done_callback(lambda task, may_end=may_end: self._ended(task, may_end))  # type: ignore[misc]

    def _ended(self, task: asyncio.Task[None], may_end: bool) -> None:
        runnable = self._tasks.pop(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            self._on_end(_reason(problem))
        elif not self._stopping and not may_end:
            how = "was cancelled" if task.cancelled() else "returned"
            self._on_end(RunnableEnded(f"{_name(runnable)} {how} without a request to stop"))


def log_hanging(runnable: Runnable, task: asyncio.Task[Any], within: float) -> list[str]:
    """Logs the stacks of a task that does not end. Returns the names of the keys that the runnable is working on; if
    they are not known, the runnable's name.
    """
    return _log_work(runnable, task, f"does not end although it was cancelled {within:g} s ago", level=logging.ERROR)


def _log_work(runnable: Runnable, task: asyncio.Task[Any], problem: str, *, level: int = logging.WARNING) -> list[str]:
    stacks = {}
    if isinstance(runnable, Busy):
        stacks = {f"{runnable.name} {work.key}": work.stack() for work in runnable.under_way()}
    if not stacks:
        stacks = {_name(runnable): [*stack_of(task), *_parts_of(_name(runnable), task)]}
    for name, stack in stacks.items():
        frames = "\n".join(f"  {line}" for line in stack)
        logger.log(level, "%s; it is at\n%s", problem, frames, extra={"fields": {"what": name}})
    return list(stacks)


def _parts_of(name: str, task: asyncio.Task[Any]) -> list[str]:
    """The names and stacks of the sources and handlers of a runnable, which are tasks of their own: the stack of
    ``task``, the runnable's own, ends at the line that waits for them.
    """
    named = sorted(((other.get_name(), other) for other in asyncio.all_tasks() if other is not task), key=itemgetter(0))
    parts = [part for text, part in named if text.startswith(f"{name} ") or text.endswith(f": {name}")]
    return [line for part in parts for line in task_report(part).splitlines()]


def _name(runnable: Runnable) -> str:
    return getattr(runnable, "name", "") or type(runnable).__name__


def _reason(problem: BaseException) -> BaseException:
    """The only exception in a TaskGroup's exception group, or the group itself if it has several."""
    while isinstance(problem, BaseExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    return problem
