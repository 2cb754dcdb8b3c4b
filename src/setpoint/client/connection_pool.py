"""A pool of idle connections, kept for later requests."""

from __future__ import annotations

import asyncio

from setpoint.client.dialer import Dialer
from setpoint.client.http_connection import Connection
from setpoint.client.tls import ClientCertificate
from setpoint.client.transport import TransportError

KEEP_ALIVE = 50.0
"""Seconds for which an idle connection is kept. The connection is then closed before a load balancer (after 60 seconds)
or an API server (after 90 seconds) drops it. A write over a connection that the server is just closing fails, because
it must not be sent twice.
"""


class Pool:
    """The connections of one dialer. ``certificate`` is the client certificate from the credentials.

    A retired pool keeps no idle connections; a connection that is in use is closed when it is returned.
    """

    def __init__(self, dialer: Dialer, certificate: ClientCertificate | None) -> None:
        self.dialer = dialer
        self.certificate = certificate
        self.connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._dialing = 0
        self._retired = False
        self._sweeper: asyncio.TimerHandle | None = None

    @property
    def in_use(self) -> int:
        """The number of connections with an exchange in progress."""
        return sum(not connection.ended for connection in self.connections) - len(self._idle)

    @property
    def needed(self) -> bool:
        """Whether any connections are open or being opened."""
        return bool(self.connections) or self._dialing > 0

    def take(self) -> Connection | None:
        """The most recently used idle connection that can still be used; None if there is none."""
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    async def dial(self) -> Connection:
        """A new connection.

        Raises:
            TransportError: the connection failed.
        """
        self._dialing += 1
        try:
            connection = await self.dialer.dial(self._discard)
        finally:
            self._dialing -= 1
        if not connection.disconnected.done():
            self.connections.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keeps the connection if it can be used again, and closes it otherwise."""
        if self._retired or not connection.usable:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(KEEP_ALIVE, self._sweep)

    def retire(self) -> None:
        self._retired = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        while self._idle:
            self._idle.pop().abort()

    async def close(self, reason: str) -> None:
        """Closes all connections and returns when they are closed. Callers that wait for an answer get a
        `TransportError`.
        """
        self.retire()
        connections = list(self.connections)
        for connection in connections:
            connection.end(TransportError(reason, sent=True))
        if connections:
            await asyncio.wait([connection.disconnected for connection in connections])

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = None
        fresh = [connection for connection in self._idle if loop.time() - connection.idle_since < KEEP_ALIVE]
        stale = self._idle[: len(self._idle) - len(fresh)]  # the oldest are at the front
        self._idle = fresh
        for connection in stale:
            connection.abort()
        if fresh:
            self._sweeper = loop.call_at(fresh[0].idle_since + KEEP_ALIVE, self._sweep)

    def _discard(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
