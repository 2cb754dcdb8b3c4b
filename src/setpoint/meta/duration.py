"""Durations as Go writes them: ``1h30m0s``."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

__all__ = ["Duration"]

_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "μs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
    "m": Fraction(60_000_000),
    "h": Fraction(3_600_000_000),
}
_FORM: Final = re.compile(r"[+-]?(0|((\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_LONGEST: Final = 1000
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


class Duration(timedelta):
    """A timedelta with the wire form of ``metav1.Duration``: ``1h30m0s``.

    ```python
    class BackupSpec(sp.Model):
        every: sp.Duration = sp.Duration(hours=1)
    ```

    Arithmetic returns a plain timedelta; `of` turns it into a Duration again. Go counts nanoseconds and Python
    microseconds, so fractions of a microsecond are rounded.

    >>> Duration.parse("90m") == timedelta(hours=1, minutes=30)
    True
    >>> str(Duration(seconds=1.5))
    '1.5s'
    """

    @classmethod
    def parse(cls, text: str) -> Duration:
        """The Duration that ``text`` stands for, in Go's form: ``1h30m``, ``1.5s``, ``100ms``, ``0``, with or without a
        sign.

        Raises:
            ValueError: ``text`` has a different form, or the duration exceeds Go's maximum of about 290 years.
        """
        if len(text) > _LONGEST or not _FORM.fullmatch(text):
            raise ValueError(f"{text[:100]!r} is not a duration: want numbers with units, such as 1h30m or 1.5s")
        microseconds = sum((Fraction(number) * _UNITS[unit] for number, unit in _PART.findall(text)), Fraction(0))
        if microseconds >= 2**63 // 1000:
            raise ValueError(f"{text!r} is longer than a duration can be")
        return cls(microseconds=round(-microseconds if text.startswith("-") else microseconds))

    @classmethod
    def of(cls, span: timedelta) -> Duration:
        """A Duration equal to ``span``."""
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    def __str__(self) -> str:
        microseconds = self // _MICROSECOND
        sign = "-" if microseconds < 0 else ""
        microseconds = abs(microseconds)
        if 0 < microseconds < 1_000_000:
            unit, size = ("µs", 1) if microseconds < 1000 else ("ms", 1000)
            return f"{sign}{_decimal(microseconds, size)}{unit}"
        hours, rest = divmod(microseconds, 3_600_000_000)
        minutes, rest = divmod(rest, 60_000_000)
        seconds = f"{_decimal(rest, 1_000_000)}s"
        if hours:
            return f"{sign}{hours}h{minutes}m{seconds}"
        return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds

    def __repr__(self) -> str:
        return f"Duration.parse({str(self)!r})"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    fraction = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
