"""Supervisor: starts the processes of one program, replaces those that die, and stops them gracefully."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from setpoint.concurrency import TaskScope
from setpoint.manager.http_server import Answer
from setpoint.manager.leader_election.leadership import Leadership
from setpoint.manager.processes.child_handle import ChildProcess
from setpoint.manager.processes.messages import Lead, Lost, Stop

logger = logging.getLogger("setpoint.processes")
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""The longest pause in seconds before a process that died is replaced. The first replacement starts at once, the second
after 1 s, and each further pause is twice as long.
"""
LIVED: Final = 60.0
"""Seconds after which a process counts as having worked. If it dies later, it is replaced at once."""
RENEWED_EVERY: Final = 0.5
"""Seconds between two messages about the lease."""
ENDED_EVERY: Final = 0.1
"""Seconds between two looks at whether all processes of a term have ended."""


class ChildFailed(Exception):
    """A child process ended with an error during its start, so its replacement would do the same."""


class Supervisor:
    """``count`` processes that share the keys of a program's controllers; a `Runnable` for the supervisor's manager.

    *Guarantees*

    - No key is worked on by two of the processes at once: each process has the keys of one `Partition`, and a new
      process for a partition is started only when the previous one has ended.
    - The processes act only while this process leads. They write nothing from the moment at which another process may
      lead. Each of them works in one term: where the supervisor takes part in the election again, fresh processes are
      its standbys.
    - A process that dies is replaced: at once, or after a growing pause if its predecessors also died soon.
    - `run` ends only when no process is left, even if it fails or is cancelled. If this process dies, the others end.

    Args:
        count: the number of processes.
        launch: function that starts the process with a given index out of ``count``; see
            `setpoint.manager.processes.Launcher`.
    """

    name = "processes"
    leader_only = False

    def __init__(self, count: int, launch: Callable[[int, int], Awaitable[ChildProcess]]) -> None:
        self.count = count
        self.children: dict[int, ChildProcess] = {}
        """The running processes, by the index of their partition."""
        self.leading = Leading(self)
        """The runnable that lets the processes work; it belongs to the group that needs the election."""
        self._launch = launch
        self._leadership: Leadership | None = None
        self._stopping = asyncio.Event()
        self._worked: set[int] = set()
        self._leads = False
        self._may_start = asyncio.Event()
        """Not set while the processes of a term end in order."""
        self._may_start.set()
        self._dismissed: set[ChildProcess] = set()
        """The processes that end because their term ends."""

    # -- life ----------------------------------------------------------------------------------------------------------

    def follow(self, leadership: Leadership) -> None:
        """Makes the processes act only while this process leads in the election ``leadership``. Without an election,
        they act as long as this process runs.
        """
        self._leadership = leadership

    async def run(self) -> None:
        """Keeps all processes running until `stop`, and returns when they have ended.

        Raises:
            ChildFailed: a process ended with an error, and no process with its partition has ever completed its start.
        """
        async with TaskScope() as scope:
            for index in range(self.count):
                scope.start(self._keep(index), name=f"process {index}")
            await scope.all()

    def stop(self) -> None:
        """Asks every process to stop gracefully."""
        self._stopping.set()
        self._may_start.set()
        for child in self.children.values():
            child.send(Stop())

    def kill(self) -> None:
        """Ends all processes at once."""
        self._stopping.set()
        self._may_start.set()
        for child in self.children.values():
            child.kill()

    def dismiss(self) -> None:
        """Asks every process to finish its reconciles and end. Others start when `lose` has ended the term."""
        self._may_start.clear()
        self._dismissed.update(self.children.values())
        for child in self.children.values():
            child.send(Stop())

    def under_way(self) -> list[str]:
        """The running reconciles, according to the last messages from the processes."""
        return [work for child in self.children.values() if child.state is not None for work in child.state.under_way]

    def until(self) -> float:
        """The loop time until which no other process can take over; ``inf`` if there is no election."""
        return float("inf") if self._leadership is None else self._leadership.until

    def lead(self) -> None:
        """Tells the processes that they may act, and until which time."""
        self._leads = True
        for child in self.children.values():
            child.send(Lead(self.until()))

    def lose(self, reason: str) -> None:
        """Ends all work, because the lease is lost or about to be released. Processes that take too long are killed
        before another process may take over. If this process may lead again, fresh ones take their places.
        """
        self._leads = False
        if self._leadership is None or not self._leadership.rejoins:
            self._stopping.set()
        children, is_late = list(self.children.values()), not self._may_start.is_set()
        self._dismissed.update(children)
        for child in children:
            child.send(Lost(reason))
            if is_late:
                child.kill()
            elif self._leadership is not None:
                asyncio.get_running_loop().call_later(0.9 * self._leadership.grace, child.kill)
        self._may_start.set()

    async def _keep(self, index: int) -> None:
        loop = asyncio.get_running_loop()
        pause = 0.0
        while True:
            await self._may_start.wait()
            if self._stopping.is_set():
                return
            started_at = loop.time()
            child = await self._launch(index, self.count)
            self.children[index] = child
            fields = {"process": index, "pid": child.pid}
            logger.info("started a process", extra={"fields": fields})
            if self._stopping.is_set() or not self._may_start.is_set():  # between the start and here
                self._dismissed.add(child)
                child.send(Stop())
            if self._leads:
                child.send(Lead(self.until()))
            try:
                status = await child.run()
            finally:
                self.children.pop(index, None)
            if child.has_started:
                self._worked.add(index)
            if child in self._dismissed:
                self._dismissed.discard(child)
                continue
            if self._stopping.is_set():
                return
            if status > 0 and index not in self._worked:
                raise ChildFailed(
                    f"process {index} ended with status {status} before it had started; its output above has the reason"
                )
            if loop.time() - started_at >= LIVED:
                pause = 0.0
            logger.warning(
                "a process has ended and is replaced",
                extra={"fields": {**fields, "ended": _described(status), "in": pause}},
            )
            try:
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            except TimeoutError:
                pass
            pause = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)

    # -- answers of the processes --------------------------------------------------------------------------------------

    async def ask(
        self, path: str, query: Mapping[str, list[str]], *, within: float, index: int | None = None
    ) -> dict[int, Answer | None]:
        """Requests the page at ``path`` from each process, or only from the one with ``index``, and returns the answers
        by process index; None for a process that is missing or does not answer in time.
        """
        numbers = [number for number in range(self.count) if index is None or number == index]

        async def ask(child: ChildProcess | None) -> Answer | None:
            return None if child is None else await child.ask(path, query, within=within)

        async with asyncio.TaskGroup() as tasks:
            asking = {number: tasks.create_task(ask(self.children.get(number))) for number in numbers}
        return {number: task.result() for number, task in asking.items()}

    def checks(self, *, ready: bool) -> dict[str, Callable[[], str]]:
        """The checks for readiness (if ``ready``) or for health, by name: ``process-INDEX`` for each process."""

        def check(index: int) -> str:
            child = self.children.get(index)
            if child is None:
                return "" if not ready or self._stopping.is_set() else f"process {index} will be replaced"
            return child.unready() if ready else child.unhealthy()

        return {f"process-{index}": lambda index=index: check(index) for index in range(self.count)}  # type: ignore[misc]


class Leading:
    """A runnable that runs while the supervisor leads, and tells the processes how long they may act.

    `stop` lets the processes finish their reconciles; `run` then returns when all of them have ended. They still act
    meanwhile. If `run` is cancelled, their work ends at once. `run` may be called again for the next term.
    """

    name = "lease of the processes"
    leader_only = True

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()
        self._supervisor.dismiss()

    async def run(self) -> None:
        try:
            while self._supervisor.children or not self._stopping.is_set():
                self._supervisor.lead()
                if self._stopping.is_set():
                    await asyncio.sleep(ENDED_EVERY)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(RENEWED_EVERY):
                        await self._stopping.wait()
        finally:
            self._stopping.clear()
            self._supervisor.lose("the supervising process no longer leads")


def _described(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {-status}"
