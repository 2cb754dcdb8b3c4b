"""Stopwatch: the time, by the loop's clock, since a pod's states began, even if they began in an earlier process."""

from __future__ import annotations

import asyncio
from datetime import datetime


class Stopwatch:
    """Remembers when the states of a pod began. Statuses have whole seconds only; the loop's clock is exact.

    A state that began before this process is timed from the time in the object, so a new process continues where the
    last one stopped, or up to a second earlier.
    """

    def __init__(self) -> None:
        self._began: dict[str, dict[str, float]] = {}

    def begin(self, uid: str, phase: str) -> None:
        self._began.setdefault(uid, {})[phase] = asyncio.get_running_loop().time()

    def begins(self, uid: str, phase: str) -> bool:
        """Records that ``phase`` begins now, unless this process has recorded it before. Returns whether it was new."""
        began = self._began.setdefault(uid, {})
        if phase in began:
            return False
        began[phase] = asyncio.get_running_loop().time()
        return True

    def elapsed(self, uid: str, phase: str, since: datetime | None, now: datetime) -> float:
        """The seconds since ``phase`` began according to this process. If this process has not seen the beginning, the
        seconds since ``since`` or, without that, since the first call.
        """
        time = asyncio.get_running_loop().time()
        began = self._began.setdefault(uid, {})
        if phase not in began:
            began[phase] = time - (max((now - since).total_seconds(), 0.0) if since is not None else 0.0)
        return time - began[phase]

    def between(self, uid: str, first: str, second: str) -> float | None:
        """The seconds from the beginning of ``first`` to that of ``second``; None unless this process knows both."""
        began = self._began.get(uid, {})
        return began[second] - began[first] if first in began and second in began else None

    def forget(self, uid: str) -> None:
        self._began.pop(uid, None)
