"""HTTP/1.1 for a server whose every request is small and comes whole: one protocol object a connection.

A general web server costs three times what a verdict does. This one does what API servers, probes and proxies need
(RFC 9112: persistent connections, bodies by length and in chunks, 100-continue) and refuses everything else.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final, NamedTuple

__all__ = ["HttpConnection", "HttpReply", "HttpRequest", "HttpService", "Refused"]

logger = logging.getLogger("setpoint.webhook")

MAX_HEAD: Final = 16 * 1024
MAX_HEADERS: Final = 100
_MAX_AHEAD: Final = 64 * 1024
"""Bytes of later requests that are taken while one is being answered."""
_REQUEST: Final = re.compile(r"([A-Z][A-Z-]{0,19}) (/[!-~]{0,2000}) HTTP/1\.([01])")
_VERSION: Final = re.compile(r"\S+ \S+ HTTP/[02-9]\.[0-9]")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(;[^\r\n]*)?")
_SINGLE: Final = ("content-length", "transfer-encoding", "content-type", "host")


class HttpRequest(NamedTuple):
    """``target`` is path and query as they came; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""


class HttpReply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Refused(Exception):
    """A request that is answered before its body is read. The connection ends with the answer."""

    def __init__(self, reply: HttpReply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class HttpService(NamedTuple):
    """What connections share.

    ``admit`` looks at a head and gives the most bytes that its body may have, or raises `Refused`; ``answer`` must not
    raise. Times are in seconds: ``read_timeout`` for a first head, and for the rest of a request that has begun;
    ``idle_timeout`` between two requests. ``complain(status, text)`` makes the answer to what is not HTTP.
    ``deserted`` is set when the last connection goes.
    """

    admit: Callable[[HttpRequest], int]
    answer: Callable[[HttpRequest], Awaitable[HttpReply]]
    complain: Callable[[int, str], HttpReply]
    read_timeout: float
    idle_timeout: float
    connections: set[HttpConnection]
    deserted: asyncio.Event


class _Malformed(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class HttpConnection(asyncio.Protocol):
    """One connection: requests one after the other, each answered before the next is looked at."""

    __slots__ = (
        "_body",
        "_buffer",
        "_closing",
        "_deadline",
        "_last",
        "_left",
        "_limit",
        "_loop",
        "_paused",
        "_request",
        "_scanned",
        "_service",
        "_size",
        "_timer",
        "_transport",
        "task",
    )

    def __init__(self, service: HttpService) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._scanned = 0
        self._request: HttpRequest | None = None
        self._left = 0  # bytes of a body that has a length; -1 for one in chunks
        self._limit = 0
        self._last = False
        self._size = 0
        self._body: list[bytes] = []
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._closing = False
        self._paused = False
        self.task: asyncio.Task[None] | None = None
        """What answers the request at hand."""

    def end(self) -> None:
        """Ends the connection: now if nothing is under way, else with the answer."""
        self._closing = True
        if self.task is None and self._transport is not None:
            self._transport.close()

    # -- called by asyncio ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._service.connections.add(self)
        self._service.deserted.clear()
        self._expire_in(self._service.read_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self.task is None:
            self._gone()
        self._deadline = None
        if self._timer is not None:
            self._timer.cancel()

    def _gone(self) -> None:
        self._service.connections.discard(self)
        if not self._service.connections:
            self._service.deserted.set()

    def pause_writing(self) -> None:
        self._expire_in(self._service.read_timeout)  # whoever doesn't read its answer is slow, too

    def resume_writing(self) -> None:
        self._expire_in(self._service.idle_timeout)

    def data_received(self, data: bytes) -> None:
        if self._closing and self.task is None:
            return
        self._buffer += data
        if self.task is None:
            self._advance()
        elif len(self._buffer) > _MAX_AHEAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    # -- one request ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Goes as far as what has come allows."""
        while self.task is None and not self._closing:
            try:
                if self._request is None and not self._read_head():
                    if self._buffer:
                        self._hurry()
                    return
                body = self._read_body()
            except Refused as refused:
                self._refuse(refused.reply)
                return
            except _Malformed as problem:
                self._refuse(self._service.complain(problem.status, str(problem)))
                return
            if body is None:
                return
            assert self._request is not None
            request = self._request._replace(body=body)
            self._request = None
            self._deadline = None
            task = _started(self._answer(request), self._loop)
            if task.done():
                if not self._buffer:
                    return
            else:
                self.task = task

    async def _answer(self, request: HttpRequest) -> None:
        try:
            reply = await self._service.answer(request)
        except asyncio.CancelledError:
            self._closing = True
            if self._transport is not None:
                self._transport.abort()
            raise
        except Exception:
            logger.exception("a request could not be answered")
            reply = self._service.complain(500, "the server failed")
            self._closing = True
        finally:
            waited = self.task is not None
            self.task = None
            if self._transport is None:
                self._gone()
        if self._last or reply.headers.get("connection") == "close":
            self._closing = True
        self._write(reply, bodiless=request.method == "HEAD")
        if self._transport is None:
            return
        if self._closing:
            self._transport.close()
            return
        self._expire_in(self._service.idle_timeout)
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if waited and self._buffer:
            self._advance()

    def _read_head(self) -> bool:
        """Whether a whole head was there."""
        buffer = self._buffer
        while buffer.startswith(b"\r\n"):  # RFC 9112, 2.2
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        if end > MAX_HEAD or (end < 0 and len(buffer) > MAX_HEAD):
            raise _Malformed(431, f"the head is larger than {MAX_HEAD} bytes")
        if end < 0:
            self._scanned = len(buffer)
            return False
        self._scanned = 0
        lines = buffer[:end].decode("latin-1").split("\r\n")
        del buffer[: end + 4]
        request, last = _parsed(lines)
        self._last = last or request.headers.get("connection", "").lower() == "close"
        self._left = _framing(request.headers)
        self._limit = self._service.admit(request)
        if self._left > self._limit:
            raise _Malformed(413, f"the body is larger than {self._limit} bytes")
        self._size = 0
        self._body = []
        self._request = request
        self._deadline = None
        expectation = request.headers.get("expect", "").lower()
        if expectation:
            if expectation != "100-continue":
                raise _Malformed(417, "only 100-continue can be expected")
            if self._transport is not None and not buffer:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _read_body(self) -> bytes | None:
        buffer = self._buffer
        if self._left >= 0:
            if len(buffer) < self._left:
                self._hurry()
                return None
            body = bytes(buffer[: self._left])
            del buffer[: self._left]
            return body
        while True:
            line = buffer.find(b"\r\n", 0, 256)
            if line < 0:
                if len(buffer) >= 256:
                    raise _Malformed(400, "malformed chunk")
                self._hurry()
                return None
            head = _CHUNK.fullmatch(buffer[:line])
            if head is None:
                raise _Malformed(400, "malformed chunk")
            size = int(head[1], 16)
            if self._size + size > self._limit:
                raise _Malformed(413, f"the body is larger than {self._limit} bytes")
            if size == 0:
                return self._read_trailers(line + 2)
            if len(buffer) < line + 2 + size + 2:
                self._hurry()
                return None
            if buffer[line + 2 + size : line + 4 + size] != b"\r\n":
                raise _Malformed(400, "malformed chunk")
            self._body.append(bytes(buffer[line + 2 : line + 2 + size]))
            self._size += size
            del buffer[: line + 4 + size]

    def _read_trailers(self, start: int) -> bytes | None:
        """The body, when everything after its last chunk has come; trailers mean nothing here."""
        buffer = self._buffer
        end = start if buffer.startswith(b"\r\n", start) else buffer.find(b"\r\n\r\n", start)
        if end < 0:
            if len(buffer) > MAX_HEAD:
                raise _Malformed(431, "the trailers are too large")
            self._hurry()
            return None
        del buffer[: end + (2 if end == start else 4)]
        return b"".join(self._body)

    def _hurry(self) -> None:
        """The rest of a request that has begun has to come in time. Bytes that trickle in don't extend that."""
        soon = self._loop.time() + self._service.read_timeout
        if self._deadline is None or self._deadline > soon:
            self._expire_in(self._service.read_timeout)

    def _refuse(self, reply: HttpReply) -> None:
        self._closing = True
        self._deadline = None
        self._buffer.clear()
        self._write(reply)
        if self._transport is not None:
            self._transport.close()

    def _write(self, reply: HttpReply, *, bodiless: bool = False) -> None:
        if self._transport is None:
            return
        lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        if self._closing and "connection" not in reply.headers:
            lines.append("connection: close")
        lines.append(f"content-length: {len(reply.body)}\r\n\r\n")
        head = "\r\n".join(lines).encode("latin-1")
        self._transport.write(head if bodiless else head + reply.body)

    # -- deadlines: one timer a connection, which a quick request never touches ----------------------------------------

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
        elif self._request is not None:
            text = f"the body did not come within {self._service.read_timeout:g} s"
            self._refuse(self._service.complain(408, text))
        else:
            self._transport.abort()


def _started(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    """A task that has begun, where Python can do that: most answers need no second turn of the loop."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def _parsed(lines: list[str]) -> tuple[HttpRequest, bool]:
    """The request, without its body, and whether the connection ends with it."""
    first = _REQUEST.fullmatch(lines[0])
    if first is None:
        if _VERSION.fullmatch(lines[0]):
            raise _Malformed(505, "HTTP/1.1 is spoken here")
        raise _Malformed(400, "malformed request line")
    if len(lines) > MAX_HEADERS:
        raise _Malformed(431, f"there are more than {MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise _Malformed(400, "malformed header")
        name, value = name.lower(), value.strip(" \t")
        if name in headers:
            if name in _SINGLE:
                raise _Malformed(400, f"{name} is there twice")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return HttpRequest(first[1], first[2], headers), first[3] == "0"


def _framing(headers: dict[str, str]) -> int:
    """How long the body is; -1 if it comes in chunks."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None:
            raise _Malformed(400, "there are both content-length and transfer-encoding")
        if coding.lower() != "chunked":
            raise _Malformed(501, "no transfer-encoding but chunked is understood")
        return -1
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit() and len(length) <= 18):
        raise _Malformed(400, "malformed content-length")
    return int(length)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
