"""An HTTP/1.1 connection, which carries one exchange at a time. httptools (a binding of the C library llhttp) parses
the input.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

READ_BUFFER = 1 << 18
"""The number of body bytes to buffer before the connection stops reading from the socket."""
MAX_HEAD = 1 << 18
"""The maximum number of bytes that may arrive without any byte of a body: a head and the interim heads before it, or
trailers and chunk extensions. The connection is closed if there are more.
"""
MAX_HEADERS = 1000
"""The maximum number of header lines in an answer. The connection is closed if there are more."""
SMALL = 4096
"""Parts of a body that have fewer bytes than this are merged, because a separate object for a chunk of one byte takes
forty bytes.
"""
BIG = 1 << 16
"""Request bodies with more bytes are written separately instead of being appended to the head."""


@lru_cache(maxsize=256)  # a server sends the same names with each answer
def _header_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


class Broken(Exception):
    """The connection can't be used any more. ``is_malformed`` is true if the input was not HTTP."""

    def __init__(self, why: str, *, is_malformed: bool = False) -> None:
        super().__init__(why)
        self.is_malformed = is_malformed


class Late(Exception):
    """A deadline has passed."""


class Connection(asyncio.Protocol):
    """A connection to a server. For each exchange, call `send`, wait for the `head`, and read the body with `chunk` or
    `rest`.

    A wait raises `Broken` if the connection breaks, `Late` at its deadline, and any exception that was passed to `end`.
    After any of these, and after a cancelled wait, the only permitted call is `abort`. ``reusable`` says whether
    another exchange may follow a complete one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[[Connection], None] | None = None) -> None:
        self._loop = loop
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._problem: Exception | None = None
        self._parts: list[bytes | bytearray] = []
        self._buffered = 0
        self._wanted = 0
        self._paused = False
        self._began = True
        self._headless = False
        self._bare_head = False
        self._unparsed_bytes = 0
        self._lines = 0
        self._received = 0
        self._surplus = False
        self._big = False
        self._upgrades = False
        self._after: bytes | None = None
        self.disconnected = loop.create_future()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.has_received = False
        self.complete = True
        self.reusable = True
        self.exchanges = 0
        self.idle_since = 0.0

    # -- for the caller ---------------------------------------------------------------------------------------------

    @property
    def transport(self) -> asyncio.Transport:
        if self._transport is None:
            raise RuntimeError("the connection is not established yet")
        return self._transport

    @property
    def ended(self) -> bool:
        return self._problem is not None

    @property
    def usable(self) -> bool:
        transport = self.transport
        if not (self.reusable and self.complete) or self._problem is not None or transport.is_closing():
            return False
        # The answer came early: the rest of the body would precede the next request.
        return transport.get_write_buffer_size() == 0

    def send(self, head: bytes, body: bytes | None = None, *, bare_head: bool = False, upgrades: bool = False) -> None:
        """Begins an exchange. ``bare_head`` says that this is a HEAD request: its answer has no body, whatever the
        answer's headers declare.

        ``upgrades`` says that the request asks for a different protocol. If the answer is 101, no more HTTP is spoken
        on this connection; see `hand_over`.
        """
        self.status = 0
        self.headers = {}
        self.has_received = self.complete = self._began = False
        self._headless = True
        self._bare_head = bare_head
        self._upgrades = upgrades
        self._unparsed_bytes = self._lines = self._wanted = 0
        if self._parts:  # left from an answer that was not read
            self._take()
        self.exchanges += 1
        self._big = body is not None and len(body) > BIG
        transport = self.transport
        if body and self._big:
            transport.write(head)
            transport.write(body)
        else:
            transport.write(head + body if body else head)

    async def head(self, deadline: float | None, idle: float | None) -> None:
        """Waits until ``status`` and ``headers`` are set. ``deadline`` is a loop time, and ``idle`` is a number of
        seconds.
        """
        while self._headless:
            await self._wait(deadline, idle)

    async def chunk(self, deadline: float | None, idle: float | None) -> bytes:
        """The next part of the body, as received; ``b""`` after the end of the body."""
        self._wanted = 0
        while not self._parts:
            if self.complete:
                return b""
            await self._wait(deadline, idle)
        return self._take()

    async def rest(self, limit: int, deadline: float | None, idle: float | None) -> bytes:
        """The rest of the body. Reading stops when more than ``limit`` bytes have arrived."""
        self._wanted = limit
        self._resume()
        while not self.complete and self._buffered <= limit:
            await self._wait(deadline, idle)
        return self._take()

    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        """Gives the paused transport to the protocol that the server has switched to; returns the bytes that followed
        the head. No further exchange is possible on this connection.
        """
        after, self._after = self._after or b"", None
        transport = self.transport
        transport.set_protocol(protocol)
        self.connection_lost(None)
        return after

    def end(self, problem: Exception) -> None:
        """Aborts the connection. Waits raise ``problem``, unless the connection has failed before."""
        if self._problem is None:
            self._problem = problem
        self.reusable = False
        self._wake()
        if self._transport is not None:
            self._transport.abort()

    def abort(self) -> None:
        self.end(Broken("the client closed it"))

    # -- for the transport ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.has_received = True
        if self._after is not None:
            self._after += data
            return
        received = self._received
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as change:
            if not self._upgrades or self.status != 101:
                self.end(Broken("the server switches to another protocol without a request", is_malformed=True))
                return
            self._after = data[change.args[0] :]
            self.transport.pause_reading()
            self._wake()
        except HttpParserError as problem:
            if self.complete:  # the answer is complete: the error does not matter, but no further exchange may follow
                self.reusable = False
                self._wake()
            else:
                self.end(Broken(str(problem) or type(problem).__name__, is_malformed=True))
        else:
            if received != self._received:
                self._unparsed_bytes = 0
            elif not self.complete:
                self._unparsed_bytes += len(data)
                if self._unparsed_bytes > MAX_HEAD:
                    part = "headers" if self._headless else "trailers or chunk extensions"
                    self.end(Broken(f"{part} of more than {MAX_HEAD} bytes", is_malformed=True))
                if self._headless:
                    return
            if self._surplus:
                self.abort()  # an unsolicited answer
            elif self.complete or not self._wanted or self._buffered > self._wanted:
                self._wake()

    def eof_received(self) -> None:
        if self._cut_off():
            self._over("the server ended it without TLS's close_notify")
        else:
            self._over("the server closed it", properly=True)

    def _cut_off(self) -> bool:
        """Whether the input ended without TLS's ``close_notify``, in which case an intermediary may have cut the
        connection.
        """
        tls = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        if tls is None:
            return False
        try:
            return bool(tls.read(1))  # after a close_notify there is nothing, now and ever
        except ssl.SSLError:
            return True

    def connection_lost(self, exc: Exception | None) -> None:
        # After a reset there was no eof_received.
        self._over(str(exc) or type(exc).__name__ if exc is not None else "the server reset it")
        self.reusable = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.disconnected.done():
            self.disconnected.set_result(None)
        if self._on_lost is not None:
            self._on_lost(self)

    # -- for the parser ---------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._began:
            self._surplus = True
            self.reusable = False
        self._began = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._surplus or not self._headless:  # trailers are ignored
            return
        self._lines += 1
        if self._lines > MAX_HEADERS:
            self.end(Broken(f"more than {MAX_HEADERS} headers", is_malformed=True))
            return
        key, text, headers = _header_name(name), value.decode("utf-8", "replace"), self.headers
        if key in headers:
            text = f"{headers[key]}, {text}"
        headers[key] = text

    def on_headers_complete(self) -> None:
        if self._surplus:
            return
        self.status = self._parser.get_status_code()
        if self.status < 100:
            self.end(Broken(f"the status {self.status:03}", is_malformed=True))
            return
        if 100 <= self.status < 200 and not (self._upgrades and self.status == 101):
            return
        self._headless = False
        if self._bare_head:
            self.complete = True
            self.reusable = False

    def on_body(self, body: bytes) -> None:
        if self._surplus or self._bare_head:
            return
        size = len(body)
        self._received += size
        self._buffered += size
        parts = self._parts
        if size >= SMALL or not parts:  # the first part is never copied: mostly it is the whole body
            parts.append(body)
        elif len(last := parts[-1]) < READ_BUFFER and isinstance(last, bytearray):
            last += body
        else:
            parts.append(bytearray(body))
        if self._buffered > max(self._wanted, READ_BUFFER) and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._surplus:
            return
        if self._headless:  # an interim answer, such as 103: the final one follows
            self.headers = {}
            self._began = False
            return
        self.complete = True
        # The server may not have read all of a refused body. With TLS, asyncio does not tell how much is unsent.
        refused = self._big and self.status >= 400
        self.reusable = self.reusable and self._parser.should_keep_alive() and not refused

    # -- within -----------------------------------------------------------------------------------------------------

    async def _wait(self, deadline: float | None, idle: float | None) -> None:
        if self._problem is not None:
            raise self._problem
        if idle is not None:
            still = self._loop.time() + idle
            deadline = still if deadline is None else min(deadline, still)
        self._deadline = deadline
        # A timer is set again only if it would fire too late: most waits end long before their deadline, so one timer
        # serves many of them.
        if deadline is not None and (self._timer is None or self._timer.when() > deadline):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._look)
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._problem is not None and not self._parts and not self.complete:
            raise self._problem

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None or self._deadline is None:
            return
        if self._loop.time() + 0.001 < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look)
        else:
            self.end(Late())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self) -> bytes:
        parts = self._parts
        data = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        self._parts = []
        self._buffered = 0
        self._resume()
        return data

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self.transport.resume_reading()

    def _over(self, why: str, *, properly: bool = False) -> None:
        """Handles the end of the input, which completes a body without a declared length and breaks any other
        exchange.
        """
        self.reusable = False
        if self._problem is not None:
            return
        headers = self.headers
        if properly and not self.complete and not self._headless and "content-length" not in headers:
            self.complete = "chunked" not in headers.get("transfer-encoding", "").lower()
        self._problem = Broken(why)
        self._wake()
