"""Hot loops: a key that keeps changing the same object although nobody asked for anything new.

Two controllers that fight over a field, a value that the server writes differently from how it was sent, a timestamp
in a status: each looks like honest work, write by write. What gives them away is the rate of *changing* writes to one
object while the generation of the reconciled object stays the same. Such a key is slowed down, not stopped, and the
log says which fields went to and fro and who manages them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from setpoint.controller.changes import changed_fields
from setpoint.controller.log import BoundLogger
from setpoint.meta import ObjectKey, Resource

LIMIT: Final = 30
WINDOW: Final = 30.0
FIRST_DELAY: Final = 1.0
MAX_DELAY: Final = 60.0
MAX_KEYS: Final = 4096

Read = Callable[[Resource, ObjectKey], Awaitable[dict[str, Any] | None]]
"""The object as it is on the server, with managed fields; None if it can't be read."""


class _Count:
    """The changing writes of one key to one object."""

    __slots__ = ("count", "generation", "since", "version")

    def __init__(self, generation: int, since: float) -> None:
        self.generation = generation
        self.since = since
        self.version = ""
        self.count = 0


class _Slow:
    """A key that is slowed down."""

    __slots__ = ("before", "delay", "generation", "resource", "told", "until", "written")

    def __init__(self, resource: Resource, written: ObjectKey, generation: int, until: float) -> None:
        self.resource = resource
        self.written = written
        self.generation = generation
        self.until = until
        self.delay = FIRST_DELAY
        self.before: dict[str, Any] | None = None
        self.told = False


class HotLoopDetector:
    """Counts changing writes per key and written object.

    More than ``limit`` of them in ``window`` seconds, at one generation of the reconciled object, make the key hot: its
    reconciles are then held back, for 1 second first and twice as long after every further change, 60 s at most. A
    new generation, or a ``window`` without a change, ends that.

    Bounded: the 4096 keys that wrote last.
    """

    def __init__(self, log: BoundLogger, read: Read, *, limit: int = LIMIT, window: float = WINDOW) -> None:
        self.slowed: dict[ObjectKey, _Slow] = {}
        self._log = log
        self._read = read
        self._limit = limit
        self._window = window
        self._counts: dict[ObjectKey, dict[tuple[str, ObjectKey], _Count]] = {}

    def wrote(self, key: ObjectKey, generation: int, resource: Resource, written: ObjectKey, version: str) -> bool:
        """Counts a write of ``key`` that led to ``version`` of ``written``; True if that made the key hot."""
        if not version:
            return False
        now = asyncio.get_running_loop().time()
        counts = self._counts.pop(key, None) or {}
        self._counts[key] = counts
        if len(self._counts) > MAX_KEYS:
            del self._counts[next(iter(self._counts))]
        place = (resource.plural, written)
        count = counts.get(place)
        if count is None or count.generation != generation or now - count.since > self._window:
            version_before = count.version if count is not None else ""
            count = counts[place] = _Count(generation, now)
            count.version = version_before
        if count.version == version:
            return False  # a write that changed nothing
        count.version = version
        count.count += 1
        slow = self.slowed.get(key)
        if slow is not None:
            slow.until = now + slow.delay
            slow.delay = min(slow.delay * 2, MAX_DELAY)
            return False
        if count.count <= self._limit:
            return False
        self.slowed[key] = _Slow(resource, written, generation, now + FIRST_DELAY)
        self._log.warning(
            "hot loop: the same object is changed again and again although nothing new was asked for; slowing down",
            extra={"key": key, "changed": f"{resource.kind} {written}", "times": count.count, "seconds": self._window},
        )
        return True

    async def hold(self, key: ObjectKey, generation: int | None = None) -> float:
        """For how many seconds the key must not be reconciled; 0.0 if it may."""
        slow = self.slowed.get(key)
        if slow is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        if now > slow.until + self._window or (generation is not None and generation != slow.generation):
            self.forget(key)
            return 0.0
        if now >= slow.until:
            return 0.0
        if not slow.told:
            await self._investigate(key, slow)
        return max(slow.until - asyncio.get_running_loop().time(), 0.0)

    def forget(self, key: ObjectKey) -> None:
        self.slowed.pop(key, None)
        self._counts.pop(key, None)

    async def _investigate(self, key: ObjectKey, slow: _Slow) -> None:
        """Looks at the object after one round and after the next: what differs goes to and fro."""
        found = await self._read(slow.resource, slow.written)
        if found is None:
            return
        if slow.before is None:
            slow.before = found
            return
        if slow.before["metadata"].get("resourceVersion") == found["metadata"].get("resourceVersion"):
            return
        fields = changed_fields(slow.before, found)
        slow.told = True
        self._log.log(
            logging.WARNING,
            "hot loop: these fields go to and fro",
            extra={
                "key": key,
                "object": f"{slow.resource.kind} {slow.written}",
                "fields": fields or ["(back to the same after every round)"],
                "managers": _managers(found),
            },
        )
        slow.before = None


def _managers(document: dict[str, Any]) -> list[str]:
    entries = document["metadata"].get("managedFields") or []
    return sorted({f"{entry.get('manager', '')} ({entry.get('operation', '')})" for entry in entries})
