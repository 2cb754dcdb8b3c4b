"""Connections of the HTTP front. A client that is too slow or does not send HTTP is sent a `Status` or disconnected."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from aiohttp import ClientConnectionResetError, web
from aiohttp.http_exceptions import LineTooLong

from setpoint.apiserver.errors import ApiStatusError, bad_request, internal_error
from setpoint.apiserver.http_types import HungUp, Peer
from setpoint.apiserver.identity.certificates import certified
from setpoint.apiserver.responses.representation import respond
from setpoint.serving.body_memory import BodyMemory
from setpoint.serving.connection_limit import ConnectionLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_MAX_LINE: Final = 128 * 1024
_MAX_FIELD: Final = 64 * 1024
_MAX_FIELDS: Final = 128
_MAX_HEAD: Final = 1 << 20
"""The maximum size of a head in bytes, as in Go."""
_SMALL_HEAD: Final = 64 * 1024
_TOO_LARGE: Final = b"HTTP/1.1 431 \r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LINGERING: Final = 10.0
_IDLE: Final = 90.0
"""The time after which an idle connection is closed, in seconds, as in upstream."""


class Connections(web.Server):
    """The connections of the HTTP front, as a service of a `Listener`. ``handler`` answers requests. A connection on
    which the TLS handshake or the head of the first request is not complete after ``head_timeout`` seconds is closed.
    Heads of more than 64 KiB take ``memory``. After an answer, the rest of a body that was not read is waited for at
    most ``body_timeout`` seconds, and never for more than 10.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        *,
        head_timeout: float,
        body_timeout: float = _LINGERING,
        memory: BodyMemory | None = None,
    ) -> None:
        super().__init__(self._handle, handler_cancellation=True)
        self._answer = handler
        self.read_timeout = head_timeout
        self.limit = ConnectionLimit()
        self.memory = BodyMemory() if memory is None else memory
        self._settings: dict[str, Any] = {
            "access_log": None,
            "auto_decompress": False,
            "keepalive_timeout": _IDLE,
            "lingering_time": min(_LINGERING, body_timeout),
            "max_field_size": _MAX_FIELD,
            "max_headers": _MAX_FIELDS,
            "max_line_size": _MAX_LINE,
        }

    def __call__(self) -> web.RequestHandler:
        """The protocol of a new connection."""
        return _Connection(self, loop=asyncio.get_running_loop(), **self._settings)

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(http)
        finally:
            connection = http.protocol
            assert isinstance(connection, _Connection)
            connection.rest()


class _Connection(web.RequestHandler):
    __slots__ = ("_head_size", "_head_timer", "_limit", "_memory", "_to", "peer")

    def __init__(self, connections: Connections, **settings: Any) -> None:
        super().__init__(connections, **settings)
        self._limit = connections.limit
        self._memory = connections.memory
        self._head_timer = self._loop.call_later(connections.read_timeout, self.force_close)
        self._head_size = 0
        self._to: Any = None
        self.peer = Peer()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._to = transport
        self._limit.open(self._to)
        self.peer = _peer(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._head_timer.cancel()
        self._limit.close(self._to)
        self._memory.give_back(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        count, waiting = self._request_count, self._waiter is not None
        super().data_received(data)
        if self._request_count != count:
            self._handle_head()
        elif waiting:
            self._take_head(len(data))

    def read_on(self) -> None:
        """Called by the `BodyMemory`."""
        self._to.resume_reading()

    def _handle_head(self) -> None:
        if self._head_size:
            self._head_size = 0
            self._memory.give_back(self)
        self._head_timer.cancel()
        self._limit.activate(self._to)

    def rest(self) -> None:
        """Notes that a request has been answered: until the head of another has come, the connection is idle."""
        if not self._messages:
            self._limit.rest(self._to)

    def _take_head(self, size: int) -> None:
        """Counts a part of a head that is not complete."""
        before, self._head_size = self._head_size, self._head_size + size
        if self._head_size > _MAX_HEAD:
            self._to.write(_TOO_LARGE)
            self.force_close()
        elif self._head_size > _SMALL_HEAD:
            reserved = before if before > _SMALL_HEAD else 0
            if not self._memory.take(self, self._head_size - reserved):
                self._to.pause_reading()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The response to a request that failed or is not well-formed HTTP; the connection is closed afterwards. Only
        unexpected errors are logged. Raises ``exc`` if the client has disconnected or the connection must be broken,
        and ConnectionError if part of a response has already been sent.
        """
        if isinstance(exc, ClientConnectionResetError | HungUp):
            raise exc
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("a request could not be answered", exc_info=exc)
            error = internal_error(type(exc).__name__)
        elif isinstance(exc, LineTooLong):
            text = f"the URL may have {_MAX_LINE} bytes, a header {_MAX_FIELD}"
            error = ApiStatusError(431, "RequestEntityTooLarge", f"the head of the request is too large: {text}")
        else:
            error = bad_request("the request can't be read: it is not well-formed HTTP/1.1")
        if request.writer.output_size > 0:
            raise ConnectionError("a response has already been started")
        answer = _answer_of(error)
        answer.force_close()
        return answer


def _peer(transport: asyncio.BaseTransport) -> Peer:
    """The address of the client and the user of its certificate. With a certificate that can't be verified, the
    handshake has already failed.
    """
    address = transport.get_extra_info("peername")
    host = address[0] if isinstance(address, tuple) else ""
    session = transport.get_extra_info("ssl_object")
    user = None if session is None else certified(session.getpeercert(), session.getpeercert(True))
    return Peer(host, user)


def _answer_of(error: ApiStatusError) -> web.Response:
    response = respond(error.status, error.code)
    assert isinstance(response.body, bytes)
    return web.Response(status=response.status, headers=response.headers | {"server": "setpoint"}, body=response.body)
