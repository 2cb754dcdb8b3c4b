"""WebSockets over HTTP/1.1 (RFC 6455). wsproto reads and writes the frames; it is imported when a socket is first
opened.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from wsproto.connection import CLIENT, ConnectionState
from wsproto.connection import Connection as Frames
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import generate_accept_token, generate_nonce

from setpoint.client.deadline_waits import Waits
from setpoint.client.dialer import line_of
from setpoint.client.http_connection import Connection
from setpoint.client.transport import Request, TransportError

HEARTBEAT: Final = 30.0
"""Seconds between pings; if a pong does not arrive within half that time, the connection is closed."""
MAX_MESSAGE: Final = 16 << 20
"""The maximum size of a message, in bytes; API servers send a container's output in parts of 32 KiB."""
READ_BUFFER: Final = 1 << 18
"""The number of message bytes to buffer before the connection stops reading from the socket."""
GOODBYE: Final = 5.0
"""Seconds that the server has to read the messages that were sent, and to answer a close frame."""


class Handshake:
    """The opening handshake of a WebSocket (RFC 6455, 4.1): the headers of its request, and the validation of the
    answer.
    """

    def __init__(self, protocols: Sequence[str]) -> None:
        nonce = generate_nonce()
        self._protocols = protocols
        self._accept = generate_accept_token(nonce).decode()
        self.headers = {
            "upgrade": "websocket",
            "connection": "Upgrade",
            "sec-websocket-key": nonce.decode(),
            "sec-websocket-version": "13",
        }
        if protocols:
            self.headers["sec-websocket-protocol"] = ", ".join(protocols)

    def accepted(self, headers: Mapping[str, str], prefix: str) -> str:
        """The subprotocol that the server chose; ``headers`` are those of the 101 answer.

        Raises:
            TransportError: the answer is not from a WebSocket server, is the answer to a different request, or chooses
                a protocol that was not offered. The message begins with ``prefix``.
        """
        protocol = headers.get("sec-websocket-protocol", "")
        if headers.get("upgrade", "").lower() != "websocket" or headers.get("sec-websocket-accept") != self._accept:
            raise TransportError(f"{prefix} switched to a protocol other than the requested WebSocket", sent=True)
        if protocol and protocol not in self._protocols:
            raise TransportError(f"{prefix} chose the protocol {protocol!r}, which was not offered", sent=True)
        return protocol


class HttpSocket(asyncio.Protocol):
    """An open WebSocket; see `setpoint.client.websocket.WebSocket`. It takes over the transport of ``connection``."""

    def __init__(self, connection: Connection, protocol: str, request: Request, address: str, waits: Waits) -> None:
        self.protocol = protocol
        self._request = f"{request.method} {request.path}"
        self._address = address
        self._waits = waits
        self._loop = asyncio.get_running_loop()
        self._frames = Frames(CLIENT)
        self._messages: deque[bytes] = deque()
        self._part = bytearray()
        self._size = 0
        self._over = False
        self._closing = False
        self._problem: TransportError | None = None
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Event = asyncio.Event()
        self._writable.set()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._disconnected: asyncio.Future[None] = self._loop.create_future()
        self._timer = self._loop.call_later(HEARTBEAT, self._ping)
        self._transport = connection.transport
        if after := connection.hand_over(self):
            self.data_received(after)
        if self._size <= READ_BUFFER:
            self._transport.resume_reading()

    async def send(self, data: bytes) -> None:
        """Sends a message, once the peer has read enough of the earlier ones.

        Raises:
            TransportError: the connection broke or is closed.
        """
        async with self._waits.until(None, self._request):
            await self._writable.wait()
        if self._problem is not None:
            raise self._problem
        if self._frames.state is not ConnectionState.OPEN or self._transport.is_closing():
            raise TransportError(f"{self._request}: the connection to {self._address} is closed", sent=True, reset=True)
        self._write(BytesMessage(data))

    async def receive(self) -> bytes | None:
        """The next message, or None after the peer has closed the socket.

        Raises:
            TransportError: the connection broke.
        """
        async with self._waits.until(None, self._request):
            while not self._messages:
                if self._problem is not None:
                    raise self._problem
                if self._over:
                    return None
                self._readable = self._loop.create_future()
                try:
                    await self._readable
                finally:
                    self._readable = None
        message = self._messages.popleft()
        self._size -= len(message)
        if self._size <= READ_BUFFER and not self._transport.is_closing():
            self._transport.resume_reading()
        return message

    async def close(self) -> None:
        """Sends a close frame, waits a few seconds for the peer's close frame, and closes the connection."""
        self._timer.cancel()
        self._closing = True
        self._messages.clear()
        try:
            if not self._over and self._problem is None:
                self._transport.resume_reading()
                self._write(CloseConnection(CloseReason.NORMAL_CLOSURE))
                async with asyncio.timeout(GOODBYE):
                    await self._ended
        except TimeoutError:
            pass  # it does not read, or does not answer
        finally:
            self._transport.abort()
        await self._disconnected

    # -- for the transport ------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._over or self._problem is not None:
            return
        self._frames.receive_data(data)
        for event in self._frames.events():
            self._take(event)
            if self._over or self._problem is not None:
                break
        if self._size > READ_BUFFER and not self._closing:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self._over and self._problem is None and not self._closing:
            why = f"the connection to {self._address} broke: {line_of(exc)}"
            self._problem = TransportError(f"{self._request}: {why}", sent=True, reset=True)
        self._end()
        if not self._disconnected.done():
            self._disconnected.set_result(None)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- within -----------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        match event:
            case BytesMessage() | TextMessage():
                self._part += event.data.encode() if isinstance(event.data, str) else event.data
                if len(self._part) > MAX_MESSAGE:
                    self._refuse(CloseReason.MESSAGE_TOO_BIG, f"a message of more than {MAX_MESSAGE} bytes")
                elif event.message_finished:
                    message, self._part = bytes(self._part), bytearray()
                    if not self._closing:
                        self._messages.append(message)
                        self._size += len(message)
                        self._wake()
            case Ping():
                self._write(event.response())
            case Pong():
                self._timer.cancel()
                self._timer = self._loop.call_later(HEARTBEAT, self._ping)
            case CloseConnection():
                if self._frames.state is ConnectionState.OPEN:  # the other side did not close, its frames are wrong
                    self._refuse(event.code, f"its data is not that of a WebSocket: {line_of(event.reason or '')}")
                    return
                if self._frames.state is ConnectionState.REMOTE_CLOSING:
                    self._write(event.response())
                self._end()
            case _:
                raise AssertionError(event)

    def _write(self, event: Event) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._frames.send(event))

    def _refuse(self, code: int, why: str) -> None:
        self._write(CloseConnection(code))
        text = f"{self._request}: the connection to {self._address} broke: {why}"
        self._problem = TransportError(text, sent=True, reset=True)
        self._end()

    def _ping(self) -> None:
        if self._frames.state is ConnectionState.OPEN:
            self._write(Ping())
            self._timer = self._loop.call_later(HEARTBEAT / 2, self._on_ping_timeout)

    def _on_ping_timeout(self) -> None:
        text = f"{self._request}: {self._address} did not answer a ping within {HEARTBEAT / 2:g} s"
        self._problem = TransportError(text, sent=True, timed_out=True)
        self._transport.abort()
        self._end()

    def _end(self) -> None:
        """Notes that no more messages will come."""
        self._over = True
        self._timer.cancel()
        self._writable.set()
        if not self._ended.done():
            self._ended.set_result(None)
        self._wake()

    def _wake(self) -> None:
        if self._readable is not None and not self._readable.done():
            self._readable.set_result(None)
