"""Listener: accepts the connections of one server, over TLS or in plain text."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final, Protocol

from setpoint.serving.connection_limit import ConnectionLimit
from setpoint.serving.http_connection import READ
from setpoint.serving.tls_connection import TlsConnection

_BACKLOG: Final = 1024


class _Service(Protocol):
    @property
    def read_timeout(self) -> float: ...

    @property
    def limit(self) -> ConnectionLimit: ...

    def __call__(self) -> asyncio.Protocol | asyncio.BufferedProtocol: ...


class Listener:
    """Listens at ``host``:``port`` from `open` to `close`, and gives each connection a protocol of the service.

    Args:
        service: what connections share, such as an `HttpService`. Its ``read_timeout`` is also that of TLS handshakes,
            and its ``limit`` counts connections from their first moment.
        name: names the server in messages, such as "the metrics server".
        host: ``""`` means every address.
        port: 0 picks a free one; see ``port`` after `open`.
        context: the TLS context; None for plain text. The certificate that it has at the time of a handshake is
            presented.
    """

    def __init__(
        self, service: _Service, *, name: str, host: str, port: int, context: ssl.SSLContext | None = None
    ) -> None:
        self.port = port
        self._service = service
        self._name = name
        self._host = host
        self._context = context
        self._scratch = memoryview(bytearray(READ))
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listens. Raises `OSError` if the address can't be bound; the message names it. If the caller is cancelled,
        the port is free again.
        """
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection, self._host or None, self.port, backlog=_BACKLOG, start_serving=False
            )
            try:
                await self._server.start_serving()  # a cancelled `create_server` would leave the socket open
            except BaseException:
                self._server.close()
                raise
        except OSError as problem:
            address = f"{self._host}:{self.port}"
            raise OSError(problem.errno, f"{self._name} can't listen on {address}: {problem}") from problem
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Accepts no more connections; those that are open stay open."""
        if self._server is not None:
            self._server.close()

    def _connection(self) -> asyncio.BaseProtocol:
        connection = self._service()
        if self._context is None:
            return connection
        return TlsConnection(self._context, connection, self._service.read_timeout, self._scratch, self._service.limit)
