"""Watches: the changes that the program sees, and the times at which it sees them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from setpoint.apiserver.http_types import HungUp, Response
from setpoint.cache.watch_frames import INITIAL_EVENTS_END
from setpoint.concurrency import end
from setpoint.simulation.injection.watch_stream import WatchGate
from setpoint.simulation.trace.history import label_of
from setpoint.torture.watch_formats import Event, Format


class GatedWatch(AsyncIterator[bytes]):
    """The body of the answer to a watch, as the program receives it. ``on_event`` is called for every delivered event
    except bookmarks, with the event's type, collection and label as one text.
    """

    def __init__(
        self, gate: WatchGate, collection: str, answer: Response, *, initial: bool, on_event: Callable[[str], None]
    ) -> None:
        self._gate = gate
        self._collection = collection
        self._body: Any = answer.body
        self._format = Format.of(answer.headers["content-type"])
        self._initial = initial
        self._on_event = on_event
        self._ready: deque[tuple[bytes, str]] = deque()
        self.delayed: list[tuple[bytes, str]] = []
        self._wake = asyncio.Event()
        self._over = False
        self._broken = False
        gate.streams.append(self)
        self._pump = asyncio.get_running_loop().create_task(self._read(), name=f"watch {collection}")

    async def _read(self) -> None:
        try:
            async for chunk in self._body:
                for event in self._format.split(chunk):
                    self._feed(event)
        finally:
            self._over = True
            self._wake.set()

    def _feed(self, event: Event) -> None:
        meta = event.head.metadata
        name = f"{event.type} {self._collection} {label_of(meta.namespace, meta.name, meta.generate_name)}"
        if event.type == "BOOKMARK":
            name = ""
            if self._initial and (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                self._initial = False
                self._give(event.raw, name)
                return
        revision = int(meta.resource_version) if meta.resource_version.isdecimal() else 0
        since = self._gate.since
        if since is not None and revision >= since and not self._initial:
            if event.type != "BOOKMARK":
                self.delayed.append((event.raw, name))
            return
        self._give(event.raw, name)

    def _give(self, raw: bytes, name: str) -> None:
        self._ready.append((raw, name))
        self._wake.set()

    def release(self, *, expired: bool) -> None:
        if expired:
            self.delayed = []
            self.fail()
            return
        for raw, name in self.delayed:
            self._give(raw, name)
        self.delayed = []

    def fail(self) -> None:
        """Ends the watch with 410, like a server that no longer has the watch's revision."""
        self._give(self._format.expired, "")
        self._over = True

    def hang_up(self) -> None:
        """Breaks the connection; data in transit are lost."""
        self._broken = True
        self._wake.set()

    async def __anext__(self) -> bytes:
        while True:
            if self._broken:
                raise HungUp("the watch's connection is broken")
            if self._ready:
                frames = list(self._ready)
                self._ready.clear()
                for _, name in frames:
                    if name:
                        self._on_event(name)
                return b"".join(raw for raw, _ in frames)
            if self._over:
                if self._pump.done():
                    self._pump.result()
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()

    async def aclose(self) -> None:
        if self in self._gate.streams:
            self._gate.streams.remove(self)
        await end([self._pump])
        await self._body.aclose()
        if not self._pump.cancelled() and (problem := self._pump.exception()) is not None:
            raise problem
