"""Rendezvous hashing: every key belongs to the member that has the highest score for it.

When a member leaves, only its keys move, and they are spread over the other members. When a member joins, it takes keys
from all other members, and no other key moves. The score depends on the identity of the member, not on its life.

A member that shares keys *by namespace* has the same score for all keys of a *slot*: of all namespaces whose hash is in
the same of 64 equal ranges. So the keys of such members are whole ranges of namespaces, for which it can ask an API
server (KEP-5866).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from setpoint.meta.shard_ranges import HASHES, hash_of

BY_NAMESPACE: Final = "n"
"""The beginning of the life in the id of a member that shares keys by namespace; other lives begin with a digit or a
letter from a to f.
"""
SLOTS: Final = 64
_MAX_NAMESPACES: Final = 10_000
"""The number of namespaces whose slots are remembered; then they are computed again."""
_MASK: Final = (1 << 64) - 1


class Members:
    """An immutable set of members, by id: ``IDENTITY@LIFE``.

    Equal sets assign every key to the same member, in every process and version of Python. In sets that both have two
    members, no key belongs to one of them in the one set and to the other in the other set, whatever other members
    there are, and whether these two share keys by namespace or not.
    """

    __slots__ = ("_places", "_seeds", "ids")

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = frozenset(ids)
        self._seeds: list[tuple[int, str, bool]] = []
        for id in sorted(self.ids):
            identity, _, life = id.rpartition("@")
            self._seeds.append((point(identity), id, life.startswith(BY_NAMESPACE)))
        self._places: dict[str, int] | None = {} if any(by_slot for _, _, by_slot in self._seeds) else None
        """The place of the slot of each namespace, if a member shares keys by namespace."""

    def owner(self, controller: str, key: str) -> str:
        """The id of the member that has the key; ``""`` if there are no members."""
        place = slot_place = point(f"{controller}/{key}")
        if self._places is not None and (namespace := key.partition("/")[0]) != key:
            slot_place = self._places.get(namespace, -1)
            if slot_place < 0:
                if len(self._places) >= _MAX_NAMESPACES:
                    self._places.clear()
                slot_place = self._places[namespace] = _place_of(hash_of(namespace) * SLOTS // HASHES)
        return self._best(place, slot_place)

    def _best(self, place: int, slot_place: int) -> str:
        best, owner = -1, ""
        for seed, id, by_slot in self._seeds:
            score = (((slot_place if by_slot else place) ^ seed) * 0xBF58476D1CE4E5B9) & _MASK
            score = ((score ^ (score >> 31)) * 0x94D049BB133111EB) & _MASK
            score ^= score >> 29
            if score > best:
                best, owner = score, id
        return owner

    def slots(self, id: str) -> list[int]:
        """The numbers of the slots in which the member may have keys. Members that share single keys may have others of
        the same slots.
        """
        others = Members(member for _, member, by_slot in self._seeds if by_slot)
        return [slot for slot in range(SLOTS) if others._best(0, _place_of(slot)) == id]

    def __contains__(self, id: object) -> bool:
        return id in self.ids

    def __str__(self) -> str:
        return ",".join(sorted(self.ids))

    @classmethod
    def parse(cls, text: str) -> Members:
        """The members whose ``str`` is ``text``."""
        return cls(filter(None, text.split(",")))


def ranges_of(slots: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges of hash values of these slots, ordered; ranges that touch are one range."""
    width = HASHES // SLOTS
    ranges: list[tuple[int, int]] = []
    for slot in sorted(set(slots)):
        start = slot * width
        if ranges and ranges[-1][1] == start:
            start = ranges.pop()[0]
        ranges.append((start, (slot + 1) * width))
    return ranges


def point(text: str) -> int:
    """A 64-bit hash of the text, the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _place_of(slot: int) -> int:
    return point(f"slot {slot}")
