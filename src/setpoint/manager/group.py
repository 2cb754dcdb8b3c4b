"""Groups of runnables: what starts together and stops together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Runnable(Protocol):
    """Something that runs for as long as its manager does.

    `run` is cancelled in the end. A runnable with a method ``stop()`` is asked first, so that it can end what is
    under way. One with an attribute ``ready`` (an `asyncio.Event`) is waited for before the next group starts.
    """

    async def run(self) -> None: ...


@runtime_checkable
class Stoppable(Protocol):
    def stop(self) -> None: ...


class RunnableEnded(Exception):
    """A runnable returned although nobody had asked it to."""


class Group:
    """Runnables with their tasks. The group owns the tasks: `stop` or `cancel` awaits every one of them.

    ``on_end`` is called with the error when a runnable fails, or returns without being asked to.
    """

    def __init__(self, name: str, on_end: Callable[[BaseException], None]) -> None:
        self.name = name
        self._on_end = on_end
        self._waiting: list[tuple[Runnable, bool]] = []
        self._tasks: dict[asyncio.Task[None], Runnable] = {}
        self._started = False
        self._stopping = False

    def add(self, runnable: Runnable, *, may_end: bool = False) -> None:
        """Starts it with the group, or at once if the group has been started.

        Raises:
            RuntimeError: the group is stopping.
        """
        if self._stopping:
            raise RuntimeError(f"{runnable!r} can't be added any more: the manager is stopping")
        self._waiting.append((runnable, may_end))
        if self._started:
            self._start_waiting()

    async def start(self) -> None:
        """Starts everything, and waits for those that say when they are ready."""
        self._started = True
        self._start_waiting()
        for task, runnable in list(self._tasks.items()):
            ready = getattr(runnable, "ready", None)
            if isinstance(ready, asyncio.Event):
                waiting = asyncio.ensure_future(ready.wait())
                try:
                    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waiting.cancel()

    async def stop(self, deadline: float | None) -> bool:
        """Asks everything to end, waits until the loop's time ``deadline`` (None: for ever), then cancels the rest.

        Returns whether everything ended by itself.
        """
        self._stopping = True
        tasks = set(self._tasks)
        for task in tasks:
            runnable = self._tasks[task]
            if isinstance(runnable, Stoppable):
                runnable.stop()
            else:
                task.cancel()
        loop = asyncio.get_running_loop()
        late: set[asyncio.Task[None]] = set()
        if tasks:
            timeout = None if deadline is None else max(deadline - loop.time(), 0.0)
            _, late = await asyncio.wait(tasks, timeout=timeout)
        await self.cancel()
        return not late

    async def cancel(self) -> None:
        """Cancels everything and waits for it."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            # A second cancellation of whoever waits here must not leave tasks without an owner.
            await asyncio.wait(set(self._tasks))
            await asyncio.sleep(0)

    def _start_waiting(self) -> None:
        for runnable, may_end in self._waiting:
            name = getattr(runnable, "name", "") or type(runnable).__name__
            task = asyncio.get_running_loop().create_task(runnable.run(), name=f"{self.name}: {name}")
            self._tasks[task] = runnable
            task.add_done_callback(lambda task, may_end=may_end: self._ended(task, may_end))  # type: ignore[misc]
        self._waiting.clear()

    def _ended(self, task: asyncio.Task[None], may_end: bool) -> None:
        runnable = self._tasks.pop(task)
        if task.cancelled():
            problem: BaseException | None = None
        else:
            problem = task.exception()
        if problem is not None:
            self._on_end(_reason(problem))
        elif not self._stopping and not may_end:
            how = "was cancelled" if task.cancelled() else "returned"
            name = getattr(runnable, "name", "") or repr(runnable)
            self._on_end(RunnableEnded(f"{name} {how} although nothing asked it to"))


def _reason(problem: BaseException) -> BaseException:
    """The failure itself, where a TaskGroup's group holds no other."""
    while isinstance(problem, BaseExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    return problem
