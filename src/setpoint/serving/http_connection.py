"""HTTP/1.1 for a server whose requests are small and complete: one protocol object per connection.

The overhead of a general-purpose web server would be three times the cost of the decision on a request. This one
implements only what API servers, probes and proxies need.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec

from setpoint.concurrency import end
from setpoint.serving.body_memory import BodyMemory
from setpoint.serving.connection_limit import ConnectionLimit
from setpoint.serving.http_response import Reply
from setpoint.serving.request_head import MAX_HEAD, HttpRequest, Malformed, framing, parsed

logger = logging.getLogger("setpoint.serving")

READ: Final = 64 * 1024
"""The size of a read buffer, in bytes."""
_MAX_AHEAD: Final = 64 * 1024
"""The maximum number of bytes of later requests that are read while a request is being answered."""
_FLUSH: Final = 1.5
"""Seconds for the last answers to be sent, and for TLS connections to exchange close_notify."""
_CLOSE: Final = re.compile(r"(?:^|,)[ \t]*close[ \t]*(?:,|$)", re.IGNORECASE)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(;[^\r\n]*)?")


class Refused(Exception):
    """Raised to answer a request before its body is read. The connection is closed after the answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class HttpService(msgspec.Struct):
    """The settings and callbacks that connections share.

    ``admit`` checks the head of a request and returns the maximum size of the body in bytes, or raises `Refused`.
    ``answer`` takes the request and its body and returns the reply, or an awaitable that results in the reply.
    ``complain(status, text)`` makes the reply to a request that is malformed, too large, too slow or not supported, and
    the reply with status 500 if ``answer`` has raised an exception.

    Times are in seconds: ``read_timeout`` for a connection's first head and for the rest of a request that has begun,
    ``idle_timeout`` between two requests. ``all_closed`` is set when the last connection closes. ``scratch`` is the
    buffer into which all connections read; its size is the most that one read returns. ``memory`` bounds the memory of
    bodies, ``limit`` the number of connections.
    """

    admit: Callable[[HttpRequest], int]
    answer: Callable[[HttpRequest, bytes], Reply | Awaitable[Reply]]
    complain: Callable[[int, str], Reply]
    read_timeout: float = 10.0
    idle_timeout: float = 120.0
    connections: set[HttpConnection] = msgspec.field(default_factory=set)
    all_closed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    scratch: memoryview = msgspec.field(default_factory=lambda: memoryview(bytearray(READ)))
    memory: BodyMemory = msgspec.field(default_factory=BodyMemory)
    limit: ConnectionLimit = msgspec.field(default_factory=ConnectionLimit)

    def __call__(self) -> HttpConnection:
        """The protocol of a new connection."""
        return HttpConnection(self)

    async def drain(self, grace: float) -> int:
        """Ends every connection after its current answer, within ``grace`` seconds. Returns the number of requests that
        have no answer by then.
        """
        for connection in list(self.connections):
            connection.end()
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            if late:
                return len(late)
        if self.connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH):
                    await self.all_closed.wait()
        return 0

    async def cut(self) -> None:
        """Ends the connections that remain, and cancels the requests that are being answered."""
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        for connection in list(self.connections):
            connection.end()
        await end(tasks)


class HttpConnection(asyncio.BufferedProtocol):
    """One connection, whose requests are handled one after the other: each is answered before the next is read."""

    __slots__ = (
        "_accounted",
        "_body",
        "_buffer",
        "_certificate",
        "_closing",
        "_deadline",
        "_last",
        "_limit",
        "_loop",
        "_paused",
        "_peer",
        "_remaining",
        "_request",
        "_scanned",
        "_service",
        "_size",
        "_timer",
        "_transport",
        "_waits_for_memory",
        "_writing_paused",
        "task",
    )

    def __init__(self, service: HttpService) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._scanned = 0
        self._request: HttpRequest | None = None
        self._remaining = 0  # bytes of a body that has a length; -1 for one in chunks
        self._limit = 0
        self._last = False
        self._size = 0
        self._accounted = 0  # bytes of the body that count in the memory
        self._waits_for_memory = False
        self._body = bytearray()  # the data of its chunks: as objects of their own, small ones would take much more
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._certificate: Mapping[str, Any] | None = None
        self._closing = False
        self._paused = False
        self._writing_paused = False
        self.task: asyncio.Task[None] | None = None
        """The task that answers the current request."""

    def end(self) -> None:
        """Ends the connection: immediately if it is idle, otherwise after the current answer."""
        self._closing = True
        if self.task is None and self._transport is not None:
            self._transport.close()

    # -- called by asyncio ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has the methods but not the base class
        address = transport.get_extra_info("peername")
        self._peer = address[0] if isinstance(address, tuple) else ""
        tls = transport.get_extra_info("ssl_object")
        self._certificate = (tls.getpeercert() or None) if tls is not None else None
        self._service.connections.add(self)
        self._service.all_closed.clear()
        self._service.limit.open(self._transport)
        self._expire_in(self._service.read_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._service.limit.close(self._transport)
        self._transport = None
        if self.task is None:
            self._end()
        self._deadline = None
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self._give_back()
        self._service.connections.discard(self)
        if not self._service.connections:
            self._service.all_closed.set()

    def pause_writing(self) -> None:
        self._writing_paused = True
        self._expire_in(self._service.read_timeout)  # a client that doesn't read its answer is slow, too

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._expire_in(self._service.idle_timeout)
        self._advance()

    def get_buffer(self, sizehint: int) -> memoryview:
        # The loop calls buffer_updated immediately after filling it, so all connections can share one.
        return self._service.scratch

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing and self.task is None:
            return
        self._buffer += self._service.scratch[:nbytes]
        if self.task is None and not self._writing_paused:
            self._advance()
            if self._request is not None:
                self._take_memory()
        elif len(self._buffer) > _MAX_AHEAD:
            self._pause()

    def read_on(self) -> None:
        """Reads the rest of a body that had to wait for memory."""
        self._waits_for_memory = False
        self._resume()

    def _pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._paused and not self._waits_for_memory and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def _take_memory(self) -> None:
        """Has the bytes of a body counted, unless they are few, and waits while there are too many."""
        size = self._size + len(self._buffer)
        if size > READ and not self._closing:
            previous, self._accounted = self._accounted, size
            if not self._service.memory.take(self, size - previous):
                self._waits_for_memory = True
                self._pause()

    def _give_back(self) -> None:
        if self._accounted:
            self._accounted = 0
            self._waits_for_memory = False
            self._service.memory.give_back(self)

    # -- one request ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Handles requests until more input is needed, an answer must be awaited, or the client is slow to read its
        answers.
        """
        while self.task is None and not self._closing and not self._writing_paused:
            try:
                if self._request is None:
                    if not self._buffer:
                        break
                    if not self._read_head():
                        if self._buffer:
                            self._start_read_deadline()
                        break
                body = self._read_body()
            except Refused as refused:
                self._refuse(refused.reply)
                return
            except Malformed as problem:
                self._refuse(self._service.complain(problem.status, str(problem)))
                return
            if body is None:
                break
            assert self._request is not None
            request, self._request = self._request, None
            method = request.method
            self._deadline = None
            try:
                answer = self._service.answer(request, body)
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001 - logged, and answered
                self._reply(self._failed(), method)
                return
            if isinstance(answer, Reply):
                self._reply(answer, method)
            else:
                self.task = self._loop.create_task(self._wait_for(answer, method))
        if self.task is None and not self._writing_paused:
            self._resume()
            if self._request is None and self._transport is not None:
                self._service.limit.rest(self._transport)

    async def _wait_for(self, answer: Awaitable[Reply], method: str) -> None:
        try:
            reply = await answer
        except BaseException as problem:
            task = asyncio.current_task()
            if isinstance(problem, KeyboardInterrupt | GeneratorExit) or (task is not None and task.cancelling()):
                self._closing = True
                if self._transport is not None:
                    self._transport.abort()
                raise
            reply = self._failed()
        finally:
            self.task = None
            self._give_back()
            if self._transport is None:
                self._end()
        self._reply(reply, method)
        self._advance()

    def _failed(self) -> Reply:
        logger.exception("a request could not be answered")
        self._closing = True
        return self._service.complain(500, "the server failed")

    def _reply(self, reply: Reply, method: str) -> None:
        self._give_back()
        if self._last or reply.headers.get("connection") == "close":
            self._closing = True
        self._write(reply, bodiless=method == "HEAD")
        if self._transport is None:
            return
        if self._closing:
            self._transport.close()
        elif not self._writing_paused:
            self._expire_in(self._service.idle_timeout)

    def _read_head(self) -> bool:
        """Reads a head if it is complete; returns whether it was."""
        buffer = self._buffer
        while buffer.startswith(b"\r\n"):  # RFC 9112, 2.2
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        if end > MAX_HEAD or (end < 0 and len(buffer) > MAX_HEAD):
            raise Malformed(431, f"the head is larger than {MAX_HEAD} bytes")
        if end < 0:
            self._scanned = len(buffer)
            return False
        self._scanned = 0
        head = buffer[: end + 2].decode("latin-1")
        del buffer[: end + 4]
        request, last = parsed(head, self._peer, self._certificate)
        options = request.headers.get("connection")
        self._last = last or (options is not None and _CLOSE.search(options) is not None)
        self._remaining = framing(request.headers)
        self._limit = self._service.admit(request)
        if self._remaining > self._limit:
            raise Malformed(413, f"the body is larger than {self._limit} bytes")
        self._size = 0
        self._body = bytearray()
        self._request = request
        self._deadline = None
        if self._transport is not None:
            self._service.limit.activate(self._transport)
        expectation = request.headers.get("expect", "").lower()
        if expectation:
            if expectation != "100-continue":
                raise Malformed(417, "the only expectation supported is 100-continue")
            if self._transport is not None and not buffer:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _read_body(self) -> bytes | None:
        buffer = self._buffer
        if self._remaining >= 0:
            if len(buffer) == self._remaining:  # the common case: nothing is sent before an answer
                body = bytes(buffer)
                buffer.clear()
                return body
            if len(buffer) < self._remaining:
                self._start_read_deadline()
                return None
            with memoryview(buffer) as view:
                body = bytes(view[: self._remaining])
            del buffer[: self._remaining]
            return body
        while True:
            line = buffer.find(b"\r\n", 0, 256)
            if line < 0:
                if len(buffer) >= 256:
                    raise Malformed(400, "malformed chunk")
                self._start_read_deadline()
                return None
            head = _CHUNK.fullmatch(buffer[:line])
            if head is None:
                raise Malformed(400, "malformed chunk")
            size = int(head[1], 16)
            if self._size + size > self._limit:
                raise Malformed(413, f"the body is larger than {self._limit} bytes")
            if size == 0:
                return self._read_trailers(line + 2)
            if len(buffer) < line + 2 + size + 2:
                self._start_read_deadline()
                return None
            if buffer[line + 2 + size : line + 4 + size] != b"\r\n":
                raise Malformed(400, "malformed chunk")
            self._body += buffer[line + 2 : line + 2 + size]
            self._size += size
            del buffer[: line + 4 + size]

    def _read_trailers(self, start: int) -> bytes | None:
        """The complete body once the trailers have arrived, None before that. The trailers, which are ignored, begin at
        ``start``.
        """
        buffer = self._buffer
        end = start if buffer.startswith(b"\r\n", start) else buffer.find(b"\r\n\r\n", start)
        if end < 0:
            if len(buffer) > MAX_HEAD:
                raise Malformed(431, "the trailers are too large")
            self._start_read_deadline()
            return None
        del buffer[: end + (2 if end == start else 4)]
        return bytes(self._body)

    def _start_read_deadline(self) -> None:
        """Sets the deadline for the rest of a request that has begun. More input does not extend the deadline."""
        soon = self._loop.time() + self._service.read_timeout
        if self._deadline is None or self._deadline > soon:
            self._expire_in(self._service.read_timeout)

    def _refuse(self, reply: Reply) -> None:
        self._give_back()
        self._closing = True
        self._deadline = None
        self._buffer.clear()
        self._write(reply)
        if self._transport is not None:
            self._transport.close()

    def _write(self, reply: Reply, *, bodiless: bool = False) -> None:
        if self._transport is None:
            return
        status, headers, body = reply
        begin = _begin(status, self._closing and "connection" not in headers, *headers.items())
        self._transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (begin, len(body), b"" if bodiless else body))

    # -- deadlines: one timer per connection, which a fast request never touches ---------------------------------------

    def _expire_in(self, seconds: float) -> None:
        self._deadline = deadline = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._deadline is None or self._transport is None:
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._expire)
        elif self._waits_for_memory:
            text = f"the memory for bodies was used by other requests for {self._service.read_timeout:g} s"
            self._refuse(self._service.complain(503, text))
        elif self._request is not None:
            text = f"the body did not arrive within {self._service.read_timeout:g} s"
            self._refuse(self._service.complain(408, text))
        else:
            self._transport.abort()


@lru_cache(maxsize=128)
def _begin(status: int, closes: bool, *headers: tuple[str, str]) -> bytes:
    """The beginning of an answer, up to its ``content-length``. It is cached, because most answers begin in the same
    way.
    """
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if closes:
        lines.append("connection: close")
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")
