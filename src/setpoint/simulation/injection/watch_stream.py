"""Watch stream: the changes that a controller's process sees, and the times at which it sees them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from setpoint.cache.watch_frames import INITIAL_EVENTS_END, split_event
from setpoint.client.transport import Request, Response, TransportError
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.trace.history import UIDS

EXPIRED: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


class _Versioned(msgspec.Struct):
    class Metadata(msgspec.Struct, rename="camel"):
        resource_version: str = ""
        annotations: dict[str, str] | None = None

    metadata: Metadata = msgspec.field(default_factory=Metadata)


_versioned = msgspec.json.Decoder(_Versioned).decode


class WatchReader(Protocol):
    """The interface of a transport that the watches of its process use. ``note_reads`` is called with everything that
    is shown to the process, and ``inject_at`` with each change that arrives at a gate; ``ordered`` chooses the order of
    the initial events.
    """

    def note_reads(self, raw: bytes) -> None: ...
    def inject_at(self, gate: WatchGate, revision: int) -> None: ...
    def ordered(self, lines: list[bytes]) -> Iterable[bytes]: ...


class GatedStream(Protocol):
    """One watch whose events pass a gate. ``delayed`` are the events that the gate holds back; ``fail`` ends the watch
    with 410, and ``hang_up`` breaks its connection.
    """

    @property
    def delayed(self) -> Sequence[object]: ...
    def release(self, *, expired: bool) -> None: ...
    def fail(self) -> None: ...
    def hang_up(self) -> None: ...


class WatchGate:
    """Decides whether a process sees changes to the objects of one kind. A shut gate holds back all changes from a
    certain revision on and keeps their order, like a watch cache that lags behind.
    """

    def __init__(self) -> None:
        self.since: int | None = None
        """The first revision that is held back; None if none is."""
        self.streams: list[GatedStream] = []
        self.missing = 0
        """The number of streams that the server or the network has ended and the process has not opened again yet."""

    def shut(self, revision: int) -> None:
        if self.since is None or revision < self.since:
            self.since = revision

    def open(self, *, expired: bool = False) -> None:
        """Delivers the changes that were held back. If ``expired``, drops them instead and ends the watches with 410,
        so that their readers list again and never see the states in between.
        """
        self.since = None
        for stream in list(self.streams):
            stream.release(expired=expired)


class WatchStream(Response):
    """One watch of a process. A task of the server reads the server's side, as over a network: events that the process
    has not read yet are in transit.
    """

    status = 200

    def __init__(
        self, transport: WatchReader, server: Actor, request: Request, gate: WatchGate, body: AsyncIterator[bytes]
    ) -> None:
        self.headers: Mapping[str, str] = {"content-type": "application/json"}
        self._reader = transport
        self._server = server
        self._gate = gate
        self._body = body
        self._idle = request.idle_timeout
        self._initial = ("sendInitialEvents", "true") in request.query
        self._first: list[bytes] = []
        self._ready: deque[bytes] = deque()
        self.delayed: list[bytes] = []
        self._wake = asyncio.Event()
        self._ended: Exception | None = None
        self._over = False
        gate.streams.append(self)
        gate.missing = max(gate.missing - 1, 0)
        self._pump: asyncio.Task[None] | None = server.start(self._read(), name="watch")

    async def _read(self) -> None:
        async for chunk in self._body:
            for line in chunk.splitlines(keepends=True):
                self._feed(line)
        self._over = True
        self._wake.set()

    def _feed(self, line: bytes) -> None:
        kind, raw = split_event(line.rstrip(b"\n"))
        meta = _versioned(raw).metadata
        if self._initial:
            self._first.append(line)
            if kind == b"BOOKMARK" and (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                self._initial = False
                for event in self._reader.ordered(self._first):
                    self._give(event)
                self._first = []
            return
        revision = int(meta.resource_version) if meta.resource_version.isdecimal() else 0
        if kind in (b"ADDED", b"MODIFIED", b"DELETED"):
            self._reader.inject_at(self._gate, revision)
        since = self._gate.since
        if since is not None and revision >= since:
            if kind != b"BOOKMARK":
                self.delayed.append(line)
            return
        self._give(line)

    def _give(self, line: bytes) -> None:
        self._ready.append(line)
        self._wake.set()

    def release(self, *, expired: bool) -> None:
        if expired:
            self.delayed = []
            self.fail()
            return
        for line in self.delayed:
            self._give(line)
        self.delayed = []

    def fail(self) -> None:
        """Ends the watch with 410, like a server that no longer has the watch's revision."""
        self._ready.append(EXPIRED)
        self._lose()
        self._over = True
        self._wake.set()

    def _lose(self) -> None:
        if not self._over and self._ended is None:
            self._gate.missing += 1

    def hang_up(self) -> None:
        """Breaks the connection: events in transit are lost, and the process notices immediately."""
        self._lose()
        self._ended = TransportError("connection reset by peer", sent=True, reset=True)
        self._ready.clear()
        self._wake.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        transport = self._reader
        while True:
            if self._ended is not None:
                raise self._ended
            if self._ready:
                chunk = b"".join(self._ready)
                self._ready.clear()
                transport.note_reads(chunk)
                yield chunk
                continue
            if self._over:
                return
            self._wake.clear()
            try:
                async with asyncio.timeout(self._idle):
                    await self._wake.wait()
            except TimeoutError:
                raise TransportError(
                    f"the watch sent no event for {self._idle:g} s", sent=True, timed_out=True
                ) from None

    async def aclose(self) -> None:
        self.cut()

    def cut(self) -> None:
        """Closes the server's side of the watch."""
        if self in self._gate.streams:
            self._gate.streams.remove(self)
        if self._pump is not None:
            pump, self._pump = self._pump, None
            pump.cancel()
            self._server.start(_close(pump, self._body), name="close watch")


async def _close(pump: asyncio.Task[None], body: Any) -> None:
    await asyncio.wait((pump,))
    close = getattr(body, "aclose", None)
    if close is not None:
        await close()


def uids_in(raw: bytes) -> set[str]:
    """All uids in ``raw``, which are events or objects, including the uids of owners."""
    return {uid.decode() for uid in UIDS.findall(raw)}
