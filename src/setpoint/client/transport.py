"""Transport: the interface through which a client communicates with an API server.

Every byte to or from a server goes through a `Transport`. This package has two, `HttpTransport` and
`InProcessTransport`; another one may wrap either of them, to count requests or to inject faults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from setpoint.client.line_framer import LineFramer, LineTooLong

DEFAULT_TIMEOUT = 30.0
MAX_BODY = 256 << 20
"""The maximum size of an answer, in bytes; a longer answer counts as endless. A longer list has to be read in pages."""


class TransportError(Exception):
    """There was no answer, or only a part of one: the connection was refused or reset, timed out, or ended early.

    Attributes:
        sent: whether the request may have reached the server. False means that it certainly did not, so a retry can't
            cause it to be carried out twice.
        reset: whether an established connection broke. For reads, an immediate retry is worthwhile.
        timed_out: whether a deadline passed.
    """

    def __init__(self, message: str, *, sent: bool, reset: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.reset = reset
        self.timed_out = timed_out


class Request(Struct, frozen=True):
    """One request to a transport.

    ``path`` and the parts of ``query`` are not yet percent-encoded. Header names are lower-case. ``timeout`` is in
    seconds and covers connecting, the answer's head and its body; it is None for streams. ``idle_timeout`` is in
    seconds, too: a stream that receives no byte for that long ends in a `TransportError`.

    ``allowed`` is called immediately before each attempt to send the request, when the credentials and the connection
    are ready. It may raise a `TransportError` to prevent the sending.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout: float | None = DEFAULT_TIMEOUT
    idle_timeout: float | None = None
    allowed: Callable[[], None] | None = None

    def allowed_by(self, check: Callable[[], None]) -> Request:
        """A copy of the request that calls ``check`` and then, if there is one, the request's own ``allowed``."""
        others = self.allowed

        def both() -> None:
            check()
            assert others is not None
            others()

        return replace(self, allowed=check if others is None else both)

    def __repr__(self) -> str:
        """The request without the parts that may be secret: the values in the query (such as a command), the headers
        and the body.
        """
        names = "&".join(name for name, _ in self.query)
        size = f", {len(self.body)} bytes" if self.body is not None else ""
        return f"Request({self.method} {self.path}{'?' if names else ''}{names}{size})"


class Response(ABC):
    """An answer whose head has been received, from ``async with transport.send(request) as response``."""

    status: int
    headers: Mapping[str, str]
    idle_timeout: float | None = None
    """Seconds of silence after which reading raises a `TransportError`, or None for no limit; initially the request's.
    It may be changed between two reads.
    """

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in parts of any size.

        Raises:
            TransportError: the body broke off, or a deadline passed.
        """

    async def read(self, limit: int = MAX_BODY) -> bytes:
        """The whole body.

        Raises:
            TransportError: the body broke off, a deadline passed, or the body is longer than ``limit`` bytes.
        """
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > limit:
                raise too_long(limit)
            parts.append(chunk)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """The lines of the body, in batches as they arrive. This saves one await per line compared with `lines`.

        Raises:
            TransportError: as for `chunks`, or the stream ended in the middle of a line.
        """
        framer = LineFramer()
        async for chunk in self.chunks():
            try:
                lines = framer.feed(chunk)
            except LineTooLong as problem:
                raise TransportError(str(problem), sent=True) from None
            if lines:
                yield lines
        if rest := framer.rest():
            raise TransportError(
                f"the stream ended within a line, after {len(rest)} bytes of it", sent=True, reset=True
            )

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of the body, without their newlines.

        Raises:
            TransportError: see `batches`.
        """
        async for batch in self.batches():
            for line in batch:
                yield line


class Transport(Protocol):
    """Sends requests. A transport knows nothing about kinds, verbs, retries or error answers."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """A context that sends the request and gives the answer. Leaving it closes the answer at once, even if it was
        not read to the end.

        Raises:
            TransportError: there was no answer.
        """
        ...

    async def close(self) -> None:
        """Closes all connections. Callers that read from a stream get a `TransportError`."""
        ...


def too_long(limit: int) -> TransportError:
    return TransportError(f"the answer is longer than {limit} bytes", sent=True)
