"""Stopwatch: how long ago things began, by the loop's clock, also for what began before this process."""

from __future__ import annotations

import asyncio
from datetime import datetime


class Stopwatch:
    """Remembers when what concerns a pod began. Statuses have whole seconds; the loop's clock is exact.

    A state that began before this process counts from the time in the object, so that a new process goes on where the
    last one was, up to a second earlier.
    """

    def __init__(self) -> None:
        self._began: dict[str, dict[str, float]] = {}

    def begin(self, uid: str, what: str) -> None:
        """It begins now."""
        self._began.setdefault(uid, {})[what] = asyncio.get_running_loop().time()

    def begins(self, uid: str, what: str) -> bool:
        """Whether it has not begun before, as far as this process knows; it begins now."""
        began = self._began.setdefault(uid, {})
        if what in began:
            return False
        began[what] = asyncio.get_running_loop().time()
        return True

    def elapsed(self, uid: str, what: str, since: datetime | None, now: datetime) -> float:
        """Seconds since it began: as this process saw it, else since ``since``, else since this was first asked."""
        time = asyncio.get_running_loop().time()
        began = self._began.setdefault(uid, {})
        if what not in began:
            began[what] = time - (max((now - since).total_seconds(), 0.0) if since is not None else 0.0)
        return time - began[what]

    def forget(self, uid: str) -> None:
        """The pod is gone, or has ended."""
        self._began.pop(uid, None)
