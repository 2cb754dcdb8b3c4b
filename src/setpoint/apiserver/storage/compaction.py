"""Compaction: limits the revisions at which lists can be read, following the rules of a kube-apiserver with etcd."""

from __future__ import annotations

from typing import Final

_PERIOD: Final = 300.0
"""The time between two compactions, in seconds (kube-apiserver's ``--etcd-compaction-interval``)."""


class Compaction:
    """Keeps track of the oldest revision at which a list can be read; all pages of a list are read at the revision of
    the first page.

    Every five minutes, the revisions that are older than the previous compaction become unreadable, so a list can be
    read at a revision for five to ten minutes. No timer is needed: on each request, the server compares the loop time
    with ``due``, and calls `tick` once ``due`` is reached. Watches are not affected, because a kube-apiserver serves
    them from a separate cache; the storage limits their history.
    """

    __slots__ = ("_mark", "due", "floor")

    def __init__(self) -> None:
        self.due = 0.0
        """The loop time from which a compaction is due."""
        self.floor = 0
        """The oldest revision that can be read."""
        self._mark = 0

    def begin(self, now: float) -> None:
        """Begins the first period."""
        self.due = now + _PERIOD

    def tick(self, now: float, revision: int) -> None:
        """Performs the compactions that are due by ``now``, in loop time. ``revision`` is the newest revision. It is
        used for all these compactions, because no request has begun since the first one was due.
        """
        missed = int((now - self.due) // _PERIOD) + 1
        self.floor = self._mark if missed == 1 else revision
        self._mark = revision
        self.due += missed * _PERIOD
