"""Durations as Go writes them: ``1h30m0s``."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

_MICROSECOND: Final = timedelta(microseconds=1)
_MOST: Final = (2**63 - 1) // 1000
"""The microseconds of the longest duration that Go reads."""
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_FORM: Final = re.compile(r"([+-]?)(0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_LONGEST: Final = 1000
_PART: Final = re.compile(r"(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


DURATION_PATTERN: Final = r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"
"""The form of `parse_nanoseconds`, for schemas: the format ``duration`` also takes ``1d`` and ``PT1H``."""


def nearest_duration(text: str) -> str:
    """``text``, or the greatest duration if ``text`` is in Go's form and exceeds it: schemas can't refuse that."""
    try:
        parse_nanoseconds(text)
    except ValueError:
        if re.fullmatch(DURATION_PATTERN, text):
            return f"{'-' if text.startswith('-') else ''}{_MOST}us"
    return text


def parse_nanoseconds(text: str) -> int:
    """The nanoseconds of a duration in Go's form; as in Go, what is left of a nanosecond is dropped from each part.

    Raises:
        ValueError: ``text`` has a different form, or the duration exceeds 64 bits.
    """
    match = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{text[:100]!r} is not a duration: want numbers with units, such as 1h30m or 1.5s")
    nanoseconds = 0
    for whole, fraction, unit in _PART.findall(match[2]):
        nanoseconds += int(whole or 0) * _UNITS[unit] + int(fraction or 0) * _UNITS[unit] // 10 ** len(fraction)
    if nanoseconds >= (1 << 63) + (match[1] == "-"):
        raise ValueError(f"{text!r} is longer than a duration can be")
    return -nanoseconds if match[1] == "-" else nanoseconds


class Duration(timedelta):
    """A timedelta with the wire form of ``metav1.Duration``: ``1h30m0s``.

    ```python
    class BackupSpec(sp.Model):
        every: sp.Duration = sp.Duration(hours=1)
    ```

    Arithmetic returns a plain timedelta; `of` turns it into a Duration again. Go counts nanoseconds and Python
    microseconds, so fractions of a microsecond are rounded (but never beyond what Go can read).

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
        microseconds = round(Fraction(parse_nanoseconds(text), 1000))
        return cls(microseconds=max(-_MOST, min(microseconds, _MOST)))

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
