"""ShardRanges: a part of a collection, as ranges of the hash of a field (KEP-5866)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

Field = Literal["uid", "namespace"]
HASHES: Final = 1 << 64
"""The number of hash values, which is also the end of the last range."""
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3


def hash_of(value: str) -> int:
    """The hash of a field's value: FNV-1a with 64 bits, of its UTF-8 bytes."""
    result = _OFFSET
    for byte in value.encode(errors="surrogatepass"):
        result = (result ^ byte) * _PRIME % HASHES
    return result


class ShardRanges(NamedTuple):
    """The objects of a collection for which the hash of ``metadata.uid`` or ``metadata.namespace`` is in a range.

    ``ranges`` are pairs of a start, which is in the range, and an end, which is not: ``0 <= start < end <= 2**64``.
    Without ranges there are no objects. ``str()`` is the shard selector of API servers (``shardSelector``). A selector
    can't say "no objects"; without ranges, it is the smallest range, which may have objects on rare occasions.

    The uid and the namespace of an object never change, so an object never enters or leaves.
    """

    field: Field
    ranges: Sequence[tuple[int, int]]

    def has(self, value: str) -> bool:
        """Whether an object belongs to this part; ``value`` is its uid or namespace."""
        hashed = hash_of(value)
        return any(start <= hashed < end for start, end in self.ranges)

    def __str__(self) -> str:
        ranges = self.ranges or [(0, 1)]
        return " || ".join(
            f"shardRange(object.metadata.{self.field}, '{start:#018x}', '{end:#018x}')" for start, end in ranges
        )
