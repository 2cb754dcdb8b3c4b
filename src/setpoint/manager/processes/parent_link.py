"""The child process's side of the link to the supervisor: the supervisor's lease, and the connection. Over the
connection, the supervisor requests pages and tells the child whether the child may act, and the child reports its
state.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from setpoint.manager.http_server import Answer, Handler
from setpoint.manager.key_partition import Partition
from setpoint.manager.leader_election.leadership import Leadership, LeadershipLost
from setpoint.manager.processes.messages import Answered, Ask, Channel, Lead, Lost, State, Stop
from setpoint.models.coordination_v1 import Lease

logger = logging.getLogger("setpoint.processes")

VARIABLE: Final = "SETPOINT_CHILD_PROCESS"
"""The environment variable in which a supervisor passes the `Seat` to a child process."""
BEAT: Final = 1.0
"""Seconds between two messages about a child's state."""
GRACE: Final = 4.0
"""Seconds that cancelled work has for its clean-up after the supervisor has lost its lease or ended."""


class SupervisorLost(Exception):
    """The supervisor has ended without stopping this process."""


class Seat(msgspec.Struct):
    """The assignment that a supervisor gives to a child process: the child's partition, its end of the channel, and the
    server to use.
    """

    index: int
    count: int
    channel: int
    kubeconfig: str = ""

    @classmethod
    def from_environment(cls) -> Seat | None:
        """Takes this process's seat from the environment, so that its own child processes do not inherit it. None if no
        supervisor started this process, or if the seat has been taken before.
        """
        text = os.environ.pop(VARIABLE, None)
        return None if text is None else msgspec.json.decode(text, type=cls)

    @property
    def partition(self) -> Partition:
        return Partition(self.index, self.count)


class ParentLease(Leadership):
    """The leadership of a child process, which leads its partition while its supervisor leads.

    Both processes read the same monotonic clock, so the supervisor's lease ends at the same moment in this process,
    even if this process was suspended and does not know yet.
    """

    def __init__(self, partition: Partition, *, divides_caches: bool = False) -> None:
        self.partition = partition
        self.key_shards = {} if divides_caches else None
        self._until = float("-inf")
        self._leading = asyncio.Event()
        self._reason = ""
        self._lease_ended = asyncio.Event()

    @property
    def identity(self) -> str:
        return ""

    @property
    def lease(self) -> Lease | None:
        """Always None: the supervisor reports the events about the Lease."""
        return None

    @property
    def until(self) -> float:
        return self._until

    @property
    def grace(self) -> float:
        return GRACE

    @property
    def release_on_cancel(self) -> bool:
        return False

    @property
    def is_leader(self) -> bool:
        return self._leading.is_set() and not self._reason

    def check(self, tolerance: float) -> str:
        """Always ``""``: the supervisor has the health check of its lease."""
        return ""

    def lead(self, until: float) -> None:
        if not self._reason:
            self._until = until
        self._leading.set()

    def lose(self, reason: str) -> None:
        """Notes that the supervisor does not lead any more, or has ended."""
        self._reason = self._reason or reason
        self._until = float("-inf")
        self._lease_ended.set()

    async def acquire(self) -> None:
        """Waits until the supervisor leads."""
        await self._leading.wait()

    async def renew(self) -> None:
        """Waits until the supervisor does not lead any more.

        Raises:
            LeadershipLost: always, when the wait ends.
        """
        await self._lease_ended.wait()
        raise LeadershipLost(self._reason)

    async def release(self) -> None:
        """Does nothing: the supervisor releases its lease when its last child process has ended."""


class Parent:
    """The link to the supervisor; a `Runnable` that starts first and ends last.

    It follows the supervisor's messages, sends `State` to the supervisor every second, and answers requests for
    ``pages``. When the supervisor has ended, all work is cancelled.
    """

    name = "link to the supervisor"
    leader_only = False
    group = "servers"

    def __init__(
        self,
        seat: Seat,
        lease: ParentLease,
        *,
        state: Callable[[], State],
        stop: Callable[[], None],
        pages: Mapping[str, Handler],
    ) -> None:
        self._seat = seat
        self._lease = lease
        self._state = state
        self._stop = stop
        self._pages = dict(pages)

    async def run(self) -> None:
        """Serves the supervisor until the call is cancelled.

        Raises:
            ExceptionGroup: the supervisor has ended. The only exception in the group is a `SupervisorLost`.
        """
        channel = await Channel.over(socket.socket(fileno=self._seat.channel))
        try:
            async with asyncio.TaskGroup() as tasks:
                heartbeat = tasks.create_task(self._send_heartbeats(channel))
                try:
                    await self._handle_messages(channel, tasks)
                finally:
                    heartbeat.cancel()
        finally:
            channel.close()

    async def _handle_messages(self, channel: Channel, tasks: asyncio.TaskGroup) -> None:
        while (message := await channel.receive()) is not None:
            if isinstance(message, Lead):
                self._lease.lead(message.until)
            elif isinstance(message, Lost):
                self._lease.lose(message.reason)
            elif isinstance(message, Stop):
                self._stop()
            elif isinstance(message, Ask):
                tasks.create_task(self._answer(channel, message))
        self._lease.lose("the supervising process has ended")
        raise SupervisorLost("the supervising process has ended")

    async def _send_heartbeats(self, channel: Channel) -> None:
        while True:
            channel.send(self._state())
            await asyncio.sleep(BEAT)

    async def _answer(self, channel: Channel, ask: Ask) -> None:
        handler, rest = self._pages.get(ask.path), ""
        for prefix in self._pages:
            if ask.path.startswith(f"{prefix}/"):
                handler, rest = self._pages[prefix], ask.path[len(prefix) :].strip("/")
        answer = Answer(404, b"not found\n")
        if handler is not None:
            try:
                pending: Answer | Awaitable[Answer] = handler(rest, ask.query, {})
                answer = pending if isinstance(pending, Answer) else await pending
            except Exception as problem:
                logger.exception("the page %s failed", ask.path)
                answer = Answer(500, f"{type(problem).__name__}\n".encode())
        with suppress(ConnectionError):
            channel.send(Answered(ask.id, answer.status, answer.body, answer.content_type))
