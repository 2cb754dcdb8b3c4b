"""Watches: the changes to a collection as they happen. Most programs should use an informer instead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Generic, Literal, TypeVar, cast

import msgspec
from msgspec import Struct

from setpoint.client.errors import ApiError, error_from_status
from setpoint.client.response_checks import check_kind
from setpoint.client.transport import Response, TransportError
from setpoint.meta import DecodeError, Head, Object, Resource, Status, decode, head_of, members, resource_of
from setpoint.meta.json_document import excerpt

K = TypeVar("K", bound=Object)
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class _Type(Struct):
    type: EventType


class _Frame(_Type):
    object: msgspec.Raw


_frames = msgspec.json.Decoder(_Frame)


def _split_event(line: bytes) -> tuple[EventType, bytes]:
    """The type and the object of an event, whatever the depth of the object."""
    try:
        frame = _frames.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        try:
            parts = members(line)
            return decode(_Type, b'{"type":%b}' % parts["type"]).type, parts["object"]
        except (DecodeError, KeyError):
            raise TransportError(f"not a watch event: {problem}: {excerpt(line)}", sent=True) from None
    return frame.type, bytes(frame.object)


class WatchEvent(Generic[K]):
    """An event of a watch. ``raw`` is the JSON of the object, or of the `Status` in an ``ERROR`` event."""

    __slots__ = ("_kind", "_metadata", "_object", "_resource", "raw", "type")

    def __init__(self, type: EventType, raw: bytes, kind: type[K], resource: str = "") -> None:
        self.type: EventType = type
        self.raw = raw
        self._kind = kind
        self._resource = resource
        self._object: K | Status | None = None
        self._metadata: Head | None = None

    @property
    def object(self) -> K | Status:
        """The object, decoded on first access, or the `Status` of an ``ERROR`` event.

        The object of a bookmark has only a resource version.

        Raises:
            DecodeError: the object does not fit its model, or is of another kind.
        """
        if self._object is None:
            if self.type == "ERROR":
                self._object = decode(Status, self.raw)
            else:
                check_kind(self.raw, resource_of(self._kind))
                self._object = decode(self._kind, self.raw)
        return self._object

    @property
    def metadata(self) -> Head:
        """The object's metadata, without decoding the rest."""
        if self._metadata is None:
            self._metadata = head_of(self.raw)
        return self._metadata

    @property
    def resource_version(self) -> str:
        """The version from which a watch may continue; ``""`` for an ``ERROR`` event."""
        return "" if self.type == "ERROR" else self.metadata.resource_version

    @property
    def error(self) -> ApiError | None:
        """The error of an ``ERROR`` event as an exception to raise; None for any other event."""
        if self.type != "ERROR":
            return None
        return error_from_status(cast("Status", self.object), verb="watch", resource=self._resource)

    def __repr__(self) -> str:
        return f"WatchEvent({self.type}, {self._kind.__name__}, {self.resource_version or self.object!r})"


class Watch(Generic[K]):
    """The events of one watch: an async iterator, and a context manager that closes the connection on leaving.

        async with client.watch(Pod, namespace="default") as events:
            async for event in events: ...

    Iterating without ``async with`` works, too: the connection is closed when the iteration ends, or when an exception
    or a cancellation interrupts it. After a ``break``, call `aclose`; otherwise the connection stays open until the
    watch is garbage-collected.

    Raises (while iterating):
        ApiError: the server refused the watch.
        TransportError: the stream broke, or was silent for its idle timeout. If the server ends the watch normally,
            only the iteration ends.
    """

    def __init__(self, open: AbstractAsyncContextManager[Response], kind: type[K], resource: Resource) -> None:
        self._open = open
        self._kind = kind
        self._resource = str(resource)
        self._events: AsyncIterator[WatchEvent[K]] | None = None

    def __aiter__(self) -> Watch[K]:
        return self

    async def __anext__(self) -> WatchEvent[K]:
        if self._events is None:
            self._events = self._run()
        return await anext(self._events)

    async def _run(self) -> AsyncIterator[WatchEvent[K]]:
        kind, resource = self._kind, self._resource
        async with self._open as response:
            async for batch in response.batches():
                for line in batch:
                    yield WatchEvent(*_split_event(line), kind, resource)

    async def aclose(self) -> None:
        """Closes the connection."""
        events = self._events
        if events is None:
            events = self._events = self._run()
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Watch[K]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
