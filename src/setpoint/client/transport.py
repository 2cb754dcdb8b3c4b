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
"""The most bytes of an answer; a longer one counts as endless."""


class TransportError(Exception):
    """No answer, or only a part of one: refused, reset, timed out, truncated.

    Attributes:
        sent: whether the request may have reached the server. False means that it certainly did not, so that a
                    retry can't carry it out twice.
        reset: whether an established connection broke. An immediate retry is worthwhile for reads.
        timed_out: whether a deadline passed.
    """

    def __init__(self, message: str, *, sent: bool, reset: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.reset = reset
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """One request to a transport.

    ``path`` is not yet percent-encoded; nor are the parts of ``query``. Header names are lower-case. ``timeout`` is
    in seconds and covers connecting, the answer's head and its body; streams have None. ``idle_timeout`` is in
    seconds too: a stream without a byte for so long ends in a `TransportError`.

    ``allowed`` is called immediately before each time that the request is sent, when the credentials and
    the connection are ready. It may raise a `TransportError` to prevent it.
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
        """The request without parts that may be secret: values of the query (a command), headers, the body."""
        names = "&".join(name for name, _ in self.query)
        size = f", {len(self.body)} bytes" if self.body is not None else ""
        return f"Request({self.method} {self.path}{'?' if names else ''}{names}{size})"


class Response(ABC):
    """An answer whose head has been received. Get it from ``async with transport.send(request) as response``."""

    status: int
    headers: Mapping[str, str]
    idle_timeout: float | None = None
    """Seconds of silence after which reading raises a `TransportError`; at first the request's. It may be changed
    between two reads."""

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in parts of any size.

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
        """The lines of the body, in batches as they arrive. Cheaper than `lines` by one await per line.

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
    """Sends requests. It handles no kinds, verbs, retries or error answers."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Leaving the context closes the answer, read or not, without waiting for the rest of it.

        Raises:
            TransportError: there was no answer.
        """
        ...

    async def close(self) -> None:
        """Closes everything: callers that read from a stream get a `TransportError`."""
        ...


def too_long(limit: int) -> TransportError:
    return TransportError(f"the answer is longer than {limit} bytes", sent=True)
