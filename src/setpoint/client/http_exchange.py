"""One HTTP request and its answer."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Protocol

from setpoint.client.connection_pool import Pool
from setpoint.client.http_connection import Broken, Connection, Late
from setpoint.client.transport import MAX_BODY, Request, Response, TransportError, too_long

PIECE = 1 << 20
"""The maximum number of bytes to decompress at a time, so that a tiny compressed body can't fill the memory."""
SLICE = 1 << 16
"""The maximum number of compressed bytes to feed to the decompressor at a time, because it copies the input after each
gzip member.
"""
MAX_EMPTY = 100
"""The maximum number of empty members in a compressed body. A few are legal; thousands are an attack."""


class Opener(Protocol):
    """The transport that opens the connection of an exchange and explains its failures."""

    address: str

    async def open(self, request: Request) -> tuple[Pool, Connection, float | None]:
        """A connection that has received the head of the answer, the connection's pool, and the deadline as a loop
        time.
        """
        ...

    def explained(
        self,
        problem: Broken | Late,
        request: Request,
        deadline: float | None,
        *,
        idle: float | None,
        body: bool = False,
    ) -> TransportError: ...


class Exchange:
    """One request and its answer. ``async with`` gives the answer; leaving the block returns the connection to its
    pool, or closes the connection if the answer was not read completely.
    """

    __slots__ = ("_connection", "_pool", "_request", "_transport")

    def __init__(self, transport: Opener, request: Request) -> None:
        self._transport = transport
        self._request = request
        self._pool: Pool | None = None
        self._connection: Connection | None = None

    async def __aenter__(self) -> Response:
        self._pool, self._connection, deadline = await self._transport.open(self._request)
        return HttpResponse(self._transport, self._request, self._connection, deadline)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None and self._connection is not None:
            self._pool.give_back(self._connection)


class HttpResponse(Response):
    """An answer received over a `Connection`. The values of headers with the same name are joined with commas."""

    __slots__ = ("_connection", "_deadline", "_request", "_transport", "headers", "idle_timeout", "status")

    def __init__(self, transport: Opener, request: Request, connection: Connection, deadline: float | None) -> None:
        self._transport = transport
        self._request = request
        self._connection = connection
        self._deadline = deadline
        self.idle_timeout = request.idle_timeout
        self.status = connection.status
        self.headers = connection.headers

    async def read(self, limit: int = MAX_BODY) -> bytes:
        try:
            body = await self._connection.rest(limit, self._deadline, self.idle_timeout)
        except (Broken, Late) as problem:
            raise self._transport.explained(
                problem, self._request, self._deadline, idle=self.idle_timeout, body=True
            ) from None
        if len(body) > limit:
            raise too_long(limit)
        return await self._unpacked(body, limit) if self._encoding else body

    async def _unpacked(self, body: bytes, limit: int) -> bytes:
        parts, size = [], 0
        unpacking = self._unpacking()
        for start in range(0, len(body), SLICE):
            for part in unpacking.feed(body[start : start + SLICE]):
                size += len(part)
                if size > limit:
                    raise too_long(limit)
                parts.append(part)
            await asyncio.sleep(0)  # other tasks need not wait until a gigabyte is unpacked
            if self._deadline is not None and asyncio.get_running_loop().time() > self._deadline:
                raise TransportError(late(self._transport.address, self._request), sent=True, timed_out=True)
        unpacking.end()
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        unpacking = self._unpacking() if self._encoding else None
        while True:
            try:
                chunk = await self._connection.chunk(self._deadline, self.idle_timeout)
            except (Broken, Late) as problem:
                raise self._transport.explained(
                    problem, self._request, self._deadline, idle=self.idle_timeout, body=True
                ) from None
            if unpacking is None:
                if not chunk:
                    return
                yield chunk
                continue
            if not chunk:
                unpacking.end()
                return
            for part in unpacking.feed(chunk):
                yield part

    @property
    def _encoding(self) -> str:
        encoding = self.headers.get("content-encoding", "")
        return "" if encoding == "identity" else encoding

    def _unpacking(self) -> _Unpacking:
        return _Unpacking(self._encoding, f"{self._request.method} {self._request.path}", self._transport.address)


class _Unpacking:
    """Decompresses a body piece by piece."""

    def __init__(self, encoding: str, request: str, address: str) -> None:
        self._prefix = f"{request}: the answer of {address} broke off"
        if encoding.lower() not in ("gzip", "x-gzip"):
            text = f"{request}: {address} answered with the encoding {encoding!r}, which was not requested"
            raise TransportError(text, sent=True)
        self._stream = zlib.decompressobj(wbits=31)
        self._empty = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), SLICE):
            yield from self._feed(data[start : start + SLICE])

    def _feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            try:
                part = self._stream.decompress(data, PIECE)
            except zlib.error as problem:
                raise TransportError(f"{self._prefix}: not gzip: {problem}", sent=True) from None
            if part:
                yield part
                self._empty = 0
            if self._stream.eof:
                self._empty += 1
                if self._empty > MAX_EMPTY:
                    raise TransportError(f"{self._prefix}: its gzip has too many empty members", sent=True)
                data = self._stream.unused_data
                if data:
                    self._stream = zlib.decompressobj(wbits=31)
            else:
                data = self._stream.unconsumed_tail

    def end(self) -> None:
        if not self._stream.eof:
            raise TransportError(f"{self._prefix}: its gzip ends too early", sent=True, reset=True)


def late(address: str, request: Request) -> str:
    return f"{request.method} {request.path}: no complete answer from {address} within {request.timeout or 0:g} s"
