"""NamespaceShard: the namespaces whose objects the caches of one process hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from setpoint.meta.object_head import Head
from setpoint.meta.shard_ranges import HASHES, ShardRanges


class Namespaces:
    """An immutable set of namespaces: those whose hash is in one of the ``ranges``, whether they exist or not. ``""``,
    which stands for all namespaces, is in it if one range has all hashes.
    """

    __slots__ = ("_members", "ranges")

    is_whole = True
    """All objects of a namespace are in it, or none is."""

    def __init__(self, ranges: Sequence[tuple[int, int]] = ()) -> None:
        self.ranges = ShardRanges("namespace", tuple(ranges))
        self._members = {"": self.ranges.ranges == ((0, HASHES),)}

    def __contains__(self, namespace: str) -> bool:
        is_member = self._members.get(namespace)
        if is_member is None:
            is_member = self._members[namespace] = self.ranges.has(namespace)
        return is_member

    @property
    def selector(self) -> str:
        """The ``shardSelector`` for this part of a collection."""
        return str(self.ranges)

    def has(self, head: Head) -> bool:
        return head.namespace in self

    def covers(self, namespace: str) -> bool:
        return namespace in self


class NamespaceShard:
    """The namespaces whose objects the caches of one process hold: none at first, others whenever they are assigned.

    A cache with a shard asks the server for these namespaces only (``shardSelector``, KEP-5866), and drops the objects
    of all others itself. So it need not know whether the server obeys: if not, the cache is as small, but the events of
    all namespaces arrive. (A list without ``shardInfo`` would not tell: in Kubernetes 1.36 and 1.37, lists of custom
    resources and of metadata never have it.) After an assignment the cache lists again.
    """

    def __init__(self) -> None:
        self.part = Namespaces()
        self.changed = asyncio.Event()
        """Set at the next assignment; then another event replaces it."""

    def assign(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Makes these ranges of hash values those of the shard."""
        if tuple(ranges) != self.part.ranges.ranges:
            self.part = Namespaces(ranges)
            self.changed.set()
            self.changed = asyncio.Event()
