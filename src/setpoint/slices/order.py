"""Sorting in slices."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Final

from setpoint.slices.slicer import spend

__all__ = ["in_order"]

_PART: Final = 1 << 12
_COST: Final = 1 << 5
"""The cost of one comparison of two texts: the number of bytes that C code could read in the same time."""


def in_order(texts: Collection[str]) -> list[str]:
    """The texts, sorted. A large collection is sorted in parts, which are then merged in pairs; inside a `Slicer`, the
    work may pause after each part and before each merge.
    """
    if len(texts) <= _PART:
        return sorted(texts)
    rest = iter(texts)
    parts: list[list[str]] = []
    while part := sorted(islice(rest, _PART)):
        spend(len(part) * 8 * _COST)
        parts.append(part)
    while len(parts) > 1:
        merged: list[list[str]] = []
        for index in range(0, len(parts), 2):
            pair = [text for part in parts[index : index + 2] for text in part]
            spend(len(pair) * _COST)
            pair.sort()  # which finds the two sorted runs and merges them
            merged.append(pair)
        parts = merged
    return parts[0]
