"""Rhythm: the interval of a server's bookmarks, and from it the longest plausible silence."""

from __future__ import annotations

from collections import deque

BEATS = 4
"""The number of remembered gaps between bookmarks; the longest of them counts."""
PATIENCE = 2.5
"""Gaps of silence after which a watch counts as dead."""
LEAST = 60.0
"""Seconds that any watch may be silent."""


class Rhythm:
    """Learns from the bookmarks of one collection's watches.

    API servers send a bookmark a minute, but without a guarantee, and other servers may send none. So a watch may be
    silent for ``most`` seconds (None: for ever) until the first bookmark, and then for two and a half times the longest
    of the last gaps: a network that drops everything is noticed after 150 s instead of 330. A longer silence means that
    the rhythm was misjudged, or that the server has changed: it is learned again.
    """

    __slots__ = ("_gaps", "_last", "_most")

    def __init__(self, most: float | None) -> None:
        self._most = most
        self._gaps: deque[float] = deque(maxlen=BEATS)
        self._last = 0.0

    def begin(self, now: float) -> None:
        """Records the start of a watch."""
        self._last = now

    def bookmark(self, now: float) -> None:
        """Records a periodic bookmark; the one that ends a streamed list does not count."""
        self._gaps.append(now - self._last)
        self._last = now

    def forget(self) -> None:
        """Forgets the rhythm after too long a silence."""
        self._gaps.clear()

    @property
    def silence(self) -> float | None:
        """The seconds for which a watch may be silent."""
        if self._most is None or not self._gaps:
            return self._most
        return min(self._most, max(LEAST, PATIENCE * max(self._gaps)))
