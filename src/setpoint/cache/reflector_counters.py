"""Counters of a reflector's work."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Cause = Literal["closed", "idle", "broken", "expired", "throttled", "refused", "very-short", "error"]
"""The reasons for the end of a watch."""


class Counters(Struct):
    """Counts and durations of a reflector's work, for metrics. Durations are in seconds."""

    lists: int = 0
    streamed_lists: int = 0
    list_seconds: float = 0.0
    listed_items: int = 0
    watches: int = 0
    short_watches: int = 0
    watch_seconds: float = 0.0
    watched_events: int = 0
    bookmarks: int = 0
    bytes: int = 0
    skipped: int = 0
    ends: dict[str, int] = {}
    relists: dict[str, int] = {}
    last_byte_at: float | None = None
    """The loop time at which the last bytes of a watch arrived; None before the first bytes."""
    last_received_at: float | None = None
    """The loop time of the server's last message (in a watch, or a complete list); None before the first message."""

    def count_end(self, cause: Cause) -> None:
        self.ends[cause] = self.ends.get(cause, 0) + 1
