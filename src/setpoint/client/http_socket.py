"""WebSockets over HTTP/1.1, with aiohttp underneath. It is imported when the first one is opened."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from setpoint.client.config import ClientConfig, redacted
from setpoint.client.dial import basic_of, line_of, os_reason
from setpoint.client.errors import ConfigError
from setpoint.client.transport import Request, TransportError
from setpoint.client.waits import Waits

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HttpSocket", "Rejected", "open_socket"]

HEARTBEAT = 30.0
"""Seconds between pings; one without a pong has the connection closed."""
MAX_MESSAGE = 16 << 20
"""Bytes of one message; API servers send what a container writes in pieces of 32 KiB."""


class Rejected(Exception):
    """The server answered with an error and no WebSocket."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def open_socket(
    config: ClientConfig,
    context: ssl.SSLContext | None,
    url: str,
    request: Request,
    headers: list[tuple[str, str]],
    protocols: Sequence[str],
    waits: Waits,
) -> HttpSocket:
    """A WebSocket on a connection of its own.

    Raises:
        Rejected: the server refused.
        TransportError: there was no answer.
    """
    import aiohttp
    from yarl import URL

    options: dict[str, Any] = {}
    if config.tls_server_name:
        options["server_hostname"] = config.tls_server_name
    if config.proxy_url:
        options["proxy"] = URL(config.proxy_url).with_user(None)
        if basic := basic_of(urlsplit(config.proxy_url)):
            if urlsplit(url).scheme in ("https", "wss"):
                options["proxy_headers"] = {"Proxy-Authorization": basic}  # of the CONNECT before it
            else:
                headers = [*headers, ("Proxy-Authorization", basic)]
    stack = AsyncExitStack()
    try:
        connector = _connector(request.allowed)(ssl=True if context is None else context)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        await stack.enter_async_context(session)
        socket = await session.ws_connect(
            URL(url, encoded=True),
            protocols=protocols,
            headers=headers,
            heartbeat=HEARTBEAT,
            max_msg_size=MAX_MESSAGE,
            **options,
        )
    except BaseException as problem:
        await stack.aclose()
        if isinstance(problem, aiohttp.WSServerHandshakeError):
            raise Rejected(problem.status, problem.message) from None
        if isinstance(problem, Exception) and not isinstance(problem, TransportError):
            raise _explained(problem, request, config) from problem
        raise
    stack.push_async_callback(socket.close)
    return HttpSocket(socket, request, config, waits, stack)


def _connector(allowed: Callable[[], None] | None) -> type[aiohttp.TCPConnector]:
    """What makes connections; asks ``allowed`` when there is one, before the first byte goes over it."""
    import aiohttp

    if allowed is None:
        return aiohttp.TCPConnector
    asked = allowed

    class Asking(aiohttp.TCPConnector):
        async def connect(self, *args: Any, **options: Any) -> Any:
            connection = await super().connect(*args, **options)
            try:
                asked()
            except BaseException:
                connection.close()
                raise
            return connection

    return Asking


class HttpSocket:
    """An open WebSocket; see `setpoint.client.websocket.WebSocket`."""

    __slots__ = ("_config", "_request", "_socket", "_stack", "_waits", "protocol")

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        request: Request,
        config: ClientConfig,
        waits: Waits,
        stack: AsyncExitStack,
    ) -> None:
        self._socket = socket
        self._request = request
        self._config = config
        self._waits = waits
        self._stack = stack
        self.protocol = socket.protocol or ""

    async def send(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except Exception as problem:
            raise _explained(problem, self._request, self._config) from problem

    async def receive(self) -> bytes | None:
        import aiohttp

        asked = f"{self._request.method} {self._request.path}"
        async with self._waits.until(None, asked):
            message = await self._socket.receive()
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                data: bytes = message.data
                return data
            case aiohttp.WSMsgType.TEXT:
                return str(message.data).encode()
            case aiohttp.WSMsgType.ERROR:
                raise TransportError(f"{asked}: the connection broke: {message.data}", sent=True, reset=True)
            case _:
                return None

    async def close(self) -> None:
        await self._stack.aclose()


def _explained(problem: Exception, request: Request, config: ClientConfig) -> Exception:
    """``problem`` in this package's words."""
    import aiohttp

    server = redacted(config.server)
    asked = f"{request.method} {request.path}"
    match problem:
        case TransportError() | ConfigError():
            return problem
        case aiohttp.ClientConnectorCertificateError():
            reason = str(getattr(problem, "certificate_error", problem))
            return TransportError(f"{server}: the server's certificate is not trusted: {reason}", sent=False)
        case aiohttp.ClientProxyConnectionError():
            why = os_reason(getattr(problem, "os_error", problem))
            return TransportError(f"proxy {redacted(config.proxy_url)} can't be reached: {why}", sent=False)
        case aiohttp.ClientHttpProxyError():
            text = f"proxy {redacted(config.proxy_url)} refused: {problem.status} {problem.message}"
            return TransportError(text, sent=False)
        case aiohttp.ClientConnectorError():
            why = os_reason(getattr(problem, "os_error", problem))
            return TransportError(f"{server} can't be reached: {why}", sent=False)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
            return TransportError(
                f"{asked}: the connection to {server} broke: {line_of(problem)}", sent=True, reset=True
            )
        case aiohttp.ClientError() | OSError():
            return TransportError(f"{asked}: {server}: {line_of(problem)}", sent=True)
        case _:
            return problem
