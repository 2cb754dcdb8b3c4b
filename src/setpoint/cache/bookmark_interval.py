"""BookmarkInterval: the interval between a server's bookmarks, from which the longest plausible silence is derived."""

from __future__ import annotations

from collections import deque

BEATS = 4
"""The number of remembered gaps between bookmarks; the longest of them counts."""
PATIENCE = 2.5
"""The silence after which a watch counts as dead, as a multiple of the longest remembered gap."""
LEAST = 60.0
"""The silence that every watch is allowed, in seconds, however short the gaps are."""


class BookmarkInterval:
    """Learns the interval between bookmarks from the watches of one collection.

    API servers send a bookmark every minute, but do not guarantee it, and other servers may send none. A watch may
    therefore be silent for ``most`` seconds until the first bookmark, and after that for two and a half times the
    longest of the recent gaps (at least `LEAST` and at most ``most`` seconds). With the default of 330 s and a bookmark
    every minute, a network that drops everything is thus noticed after 150 s. If ``most`` is None, there is no limit. A
    longer silence means that the interval was misjudged or that the server has changed, so it is learned again.
    """

    __slots__ = ("_gaps", "_last", "_most")

    def __init__(self, most: float | None) -> None:
        self._most = most
        self._gaps: deque[float] = deque(maxlen=BEATS)
        self._last = 0.0

    def begin(self, now: float) -> None:
        """Notes the start of a watch."""
        self._last = now

    def bookmark(self, now: float) -> None:
        """Notes a periodic bookmark. The bookmark that ends a streamed list is not periodic and does not count."""
        self._gaps.append(now - self._last)
        self._last = now

    def forget(self) -> None:
        """Forgets the interval, after a silence that was too long."""
        self._gaps.clear()

    @property
    def silence(self) -> float | None:
        """The seconds for which a watch may be silent; None if there is no limit."""
        if self._most is None or not self._gaps:
            return self._most
        return min(self._most, max(LEAST, PATIENCE * max(self._gaps)))
