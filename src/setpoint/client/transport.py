"""Transport: the one way to an API server.

Every byte to or from a server goes through a `Transport`. There are two here, `HttpTransport` and
`InProcessTransport`; a third may wrap one of them, to count or to inject faults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from setpoint.client.lines import LineFramer, LineTooLong

__all__ = ["Request", "Response", "Transport", "TransportError"]

DEFAULT_TIMEOUT = 30.0
MAX_BODY = 1 << 30
"""Bytes of an answer after which it counts as endless."""


class TransportError(Exception):
    """No answer, or only a part of one: refused, reset, timed out, truncated.

    Attributes:
        sent: whether the request may have reached the server. False means that it surely did not, so sending it
            again can't do it twice.
        reset: whether an established connection broke. Trying again at once is worth it for reads.
        timed_out: whether a deadline passed.
    """

    def __init__(self, message: str, *, sent: bool, reset: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.reset = reset
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """One request as it goes to a transport.

    ``path`` is not yet percent-encoded; nor are the parts of ``query``. Header names are lower-case. ``timeout`` is
    in seconds and covers connecting, the answer's head and its body; streams have None. ``idle_timeout`` is in
    seconds too: a stream without a byte for so long ends in a `TransportError`.

    ``allowed`` is called at the last moment before the request is sent, each time that it is: when the credentials and
    the connection are there. It refuses by raising a `TransportError`.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float | None = DEFAULT_TIMEOUT
    idle_timeout: float | None = None
    allowed: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        """What is asked for, without what may be secret: values of the query (a command), headers, the body."""
        names = "&".join(name for name, _ in self.query)
        size = f", {len(self.body)} bytes" if self.body is not None else ""
        return f"Request({self.method} {self.path}{'?' if names else ''}{names}{size})"


class Response(ABC):
    """An answer whose head has come. Get it from ``async with transport.send(request) as response``."""

    status: int
    headers: Mapping[str, str]
    idle_timeout: float | None = None
    """Seconds without a byte after which reading ends in a `TransportError`; at first the request's. It may be changed
    between two reads."""

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, in pieces of any size.

        Raises:
            TransportError: the body broke off, or a deadline passed.
        """

    async def read(self, limit: int = MAX_BODY) -> bytes:
        """The whole body.

        Raises:
            TransportError: the body broke off, a deadline passed, or there are more than ``limit`` bytes.
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
        """The lines of the body, all those at once that came at once. Cheaper than `lines` by one await a line.

        Raises:
            TransportError: as for `chunks`; also when the stream ends within a line.
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
            TransportError: as for `batches`.
        """
        async for batch in self.batches():
            for line in batch:
                yield line


class Transport(Protocol):
    """Sends requests. Knows nothing of kinds, verbs, retries or errors that a server answers with."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Leaving the context closes the answer, read or not, without waiting for the rest of it.

        Raises:
            TransportError: there was no answer.
        """
        ...

    async def close(self) -> None:
        """Ends everything that is open: whoever reads from a stream gets a `TransportError`."""
        ...


def too_long(limit: int) -> TransportError:
    return TransportError(f"the answer is longer than {limit} bytes", sent=True)
