"""The least and the most of a size or a cost; the most may be unbounded."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from setpoint.cel.values import MAX_UINT

__all__ = ["FREE", "ONE", "UNBOUNDED", "Span"]


def _capped(value: float) -> int:
    """An amount of 64 bits; larger ones saturate."""
    return MAX_UINT if value >= MAX_UINT else math.ceil(value)


class Span(NamedTuple):
    """``least`` to ``most``; `MAX_UINT` stands for any amount."""

    least: int
    most: int

    def plus(self, other: Span) -> Span:
        """The sum."""
        return Span(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Span) -> Span:
        """The product."""
        return Span(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> Span:
        """Multiplied by a factor, rounded up."""
        return Span(_capped(float(self.least) * factor), _capped(float(self.most) * factor))

    def either(self, other: Span) -> Span:
        """The smallest span that contains both."""
        return Span(min(self.least, other.least), max(self.most, other.most))


FREE: Final = Span(0, 0)
ONE: Final = Span(1, 1)
UNBOUNDED: Final = Span(0, MAX_UINT)
