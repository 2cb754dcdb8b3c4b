"""Rendezvous hashing: every key belongs to the member that has the highest score for it.

When a member leaves, only its keys move, and they are spread over the other members. When a member joins, it takes keys
from all other members, and no other key moves. The score depends on the identity of the member, not on its life.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

_MASK: Final = (1 << 64) - 1


class Members:
    """An immutable set of members, by id: ``IDENTITY@LIFE``.

    Equal sets assign every key to the same member, in every process and version of Python.
    """

    __slots__ = ("_seeds", "ids")

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = frozenset(ids)
        self._seeds = [(point(id.rpartition("@")[0]), id) for id in sorted(self.ids)]

    def owner(self, controller: str, key: str) -> str:
        """The id of the member that has the key; ``""`` if there are no members."""
        place = point(f"{controller}/{key}")
        best, owner = -1, ""
        for seed, id in self._seeds:
            score = ((place ^ seed) * 0xBF58476D1CE4E5B9) & _MASK
            score = ((score ^ (score >> 31)) * 0x94D049BB133111EB) & _MASK
            score ^= score >> 29
            if score > best:
                best, owner = score, id
        return owner

    def __contains__(self, id: object) -> bool:
        return id in self.ids

    def __str__(self) -> str:
        return ",".join(sorted(self.ids))

    @classmethod
    def parse(cls, text: str) -> Members:
        """The members whose ``str`` is ``text``."""
        return cls(filter(None, text.split(",")))


def point(text: str) -> int:
    """A 64-bit hash of the text, the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
