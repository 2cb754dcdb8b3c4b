"""Least and most of a size or a cost, where most may be without bound."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from setpoint.cel.values import MAX_UINT

__all__ = ["FREE", "ONE", "UNBOUNDED", "Span"]


def _capped(value: float) -> int:
    """An amount of 64 bits: beyond them it stays at the largest."""
    return MAX_UINT if value >= MAX_UINT else math.ceil(value)


class Span(NamedTuple):
    """``least`` to ``most``; `MAX_UINT` stands for any amount."""

    least: int
    most: int

    def plus(self, other: Span) -> Span:
        """Both together."""
        return Span(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Span) -> Span:
        """One as often as the other."""
        return Span(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> Span:
        """Multiplied, rounded up."""
        return Span(_capped(float(self.least) * factor), _capped(float(self.most) * factor))

    def either(self, other: Span) -> Span:
        """What holds of both."""
        return Span(min(self.least, other.least), max(self.most, other.most))


FREE: Final = Span(0, 0)
ONE: Final = Span(1, 1)
UNBOUNDED: Final = Span(0, MAX_UINT)
