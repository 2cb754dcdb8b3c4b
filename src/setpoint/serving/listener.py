"""Listener: accepts the connections of one server, over TLS or in plain text, and ends them in order."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Final

from setpoint.concurrency import end
from setpoint.serving.connection import READ, HttpConnection, HttpService
from setpoint.serving.tls_connection import TlsConnection

__all__ = ["Listener"]

_BACKLOG: Final = 1024
_FLUSH: Final = 1.5
"""Seconds for the last answers to be sent, and for TLS connections to exchange close_notify."""


class Listener:
    """Listens at ``host``:``port`` from `open` to `close`, and hands each connection to an `HttpConnection`.

    Args:
        service: what connections share. Its ``read_timeout`` is also that of TLS handshakes.
        name: names the server in messages, such as "the metrics server".
        host: ``""`` means every address.
        port: 0 picks a free one; see ``port`` after `open`.
        context: the TLS context; None for plain text. The certificate that it has at the time of a handshake is
            presented.
    """

    def __init__(
        self, service: HttpService, *, name: str, host: str, port: int, context: ssl.SSLContext | None = None
    ) -> None:
        self.port = port
        self._service = service
        self._name = name
        self._host = host
        self._context = context
        self._scratch = memoryview(bytearray(READ))
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listens. Raises `OSError` if the address can't be bound; the message names it."""
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection, self._host or None, self.port, backlog=_BACKLOG
            )
        except OSError as problem:
            where = f"{self._host}:{self.port}"
            raise OSError(problem.errno, f"{self._name} can't listen on {where}: {problem}") from problem
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Accepts no more connections; those that are open stay open."""
        if self._server is not None:
            self._server.close()

    async def drain(self, grace: float) -> int:
        """Ends every connection after its current answer, within ``grace`` seconds. Returns the number of requests that
        have no answer by then.
        """
        connections = self._service.connections
        for connection in list(connections):
            connection.end()
        tasks = [connection.task for connection in connections if connection.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            if late:
                return len(late)
        if connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH):
                    await self._service.deserted.wait()
        return 0

    async def cut(self) -> None:
        """Accepts no more connections, ends those that remain, and cancels the requests that are being answered."""
        self.close()
        tasks = [connection.task for connection in self._service.connections if connection.task is not None]
        for connection in list(self._service.connections):
            connection.end()
        await end(tasks)

    def _connection(self) -> asyncio.BufferedProtocol:
        connection = HttpConnection(self._service)
        if self._context is None:
            return connection
        return TlsConnection(self._context, connection, self._service.read_timeout, self._scratch)
