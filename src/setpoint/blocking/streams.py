"""Streams for code that can't await."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from setpoint import client as _asynchronous
from setpoint.blocking.portal import Portal
from setpoint.client import WatchEvent
from setpoint.meta import Object

K = TypeVar("K", bound=Object)


class Watch(Generic[K]):
    """The events of one watch: an iterator, and a context manager that closes the connection on leaving."""

    def __init__(self, watch: _asynchronous.Watch[K], portal: Portal) -> None:
        self._events = portal.iterate(watch)

    def __iter__(self) -> Iterator[WatchEvent[K]]:
        return self._events

    def __next__(self) -> WatchEvent[K]:
        return next(self._events)

    def close(self) -> None:
        self._events.close()  # type: ignore[attr-defined]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Response:
    """A streamed answer; see `setpoint.client.Response`."""

    def __init__(self, response: _asynchronous.Response, portal: Portal) -> None:
        self._response = response
        self._portal = portal
        self.status = response.status
        self.headers = response.headers

    def read(self) -> bytes:
        return self._portal.run(self._response.read())

    def chunks(self) -> Iterator[bytes]:
        return self._portal.iterate(self._response.chunks())

    def lines(self) -> Iterator[bytes]:
        return self._portal.iterate(self._response.lines())


class CommandStream:
    """A command that runs in a container; see `setpoint.client.CommandStream`.

    Iterate over its output, ``("stdout" | "stderr", bytes)``; another thread may write to it meanwhile.
    """

    def __init__(self, command: _asynchronous.CommandStream, portal: Portal) -> None:
        self._command = command
        self._portal = portal

    @property
    def exit_code(self) -> int | None:
        """The exit code, set when the iteration has ended."""
        return self._command.exit_code

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return self._portal.iterate(aiter(self._command))

    def write(self, data: bytes) -> None:
        self._portal.run(self._command.write(data))

    def close_stdin(self) -> None:
        self._portal.run(self._command.close_stdin())

    def resize(self, columns: int, rows: int) -> None:
        self._portal.run(self._command.resize(columns, rows))


class PortStream:
    """A connection to a port in a pod; see `setpoint.client.PortStream`."""

    def __init__(self, stream: _asynchronous.PortStream, portal: Portal) -> None:
        self._stream = stream
        self._portal = portal

    def read(self) -> bytes:
        """The next bytes that arrive, or ``b""`` at the end."""
        return self._portal.run(self._stream.read())

    def write(self, data: bytes) -> None:
        self._portal.run(self._stream.write(data))
