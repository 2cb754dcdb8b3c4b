"""The lower and upper bound of a size or a cost; the upper bound may be infinite."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from setpoint.cel.values import MAX_UINT


def _capped(value: float) -> int:
    """The amount, rounded up and limited to `MAX_UINT`."""
    return MAX_UINT if value >= MAX_UINT else math.ceil(value)


class Span(NamedTuple):
    """The range from ``least`` to ``most``; a ``most`` of `MAX_UINT` means that there is no upper bound."""

    least: int
    most: int

    def plus(self, other: Span) -> Span:
        return Span(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Span) -> Span:
        return Span(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> Span:
        """The span multiplied by a factor, rounded up."""
        return Span(_capped(float(self.least) * factor), _capped(float(self.most) * factor))

    def either(self, other: Span) -> Span:
        """The smallest span that contains this span and ``other``."""
        return Span(min(self.least, other.least), max(self.most, other.most))


FREE: Final = Span(0, 0)
ONE: Final = Span(1, 1)
UNBOUNDED: Final = Span(0, MAX_UINT)
