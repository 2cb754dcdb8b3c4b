"""Streams for code that can't await."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from setpoint import client as _asynchronous
from setpoint.blocking.portal import Portal
from setpoint.client import WatchEvent
from setpoint.meta import Object

__all__ = ["Response", "Watch"]

K = TypeVar("K", bound=Object)


class Watch(Generic[K]):
    """The events of one watch: an iterator, and a context manager that closes the connection when left."""

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
    """An answer that is read as it comes; see `setpoint.client.Response`."""

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
