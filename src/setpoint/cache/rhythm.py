"""Rhythm: how often a server sends bookmarks, and so how long its silence may be."""

from __future__ import annotations

from collections import deque

BEATS = 4
"""How many gaps between bookmarks are remembered; the longest of them counts."""
PATIENCE = 2.5
"""Gaps of silence after which a watch is taken for dead."""
LEAST = 60.0
"""Seconds that any watch may be silent."""


class Rhythm:
    """Learns from the bookmarks of one collection's watches.

    API servers send a bookmark a minute, but don't promise it, and others may send none. So a watch may be silent for
    ``most`` seconds (None: for ever) until there was a bookmark, and then for two and a half times the longest of the
    last gaps: a network that swallows everything is noticed after 150 s instead of 330. A silence that was too long
    says that the rhythm was misunderstood, or that there is another server now: it is learned anew.
    """

    __slots__ = ("_gaps", "_last", "_most")

    def __init__(self, most: float | None) -> None:
        self._most = most
        self._gaps: deque[float] = deque(maxlen=BEATS)
        self._last = 0.0

    def begin(self, now: float) -> None:
        """A watch begins."""
        self._last = now

    def bookmark(self, now: float) -> None:
        """There was one, within the order of events; that which ends a streamed list is none of these."""
        self._gaps.append(now - self._last)
        self._last = now

    def forget(self) -> None:
        """The silence was too long."""
        self._gaps.clear()

    @property
    def silence(self) -> float | None:
        """Seconds for which a watch may say nothing."""
        if self._most is None or not self._gaps:
            return self._most
        return min(self._most, max(LEAST, PATIENCE * max(self._gaps)))
