"""Errors of Go's ``time.Parse`` with the layout of RFC 3339, which users of a kube-apiserver know and search for."""

from __future__ import annotations

import calendar
import re
from typing import Final

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_TWO: Final = re.compile(r"[0-9]{2}")
_STEPS: Final = (
    ("2006", re.compile(r"[0-9]{4}"), "year", 0, 9999),
    ("-", re.compile("-"), "", 0, 0),
    ("01", _TWO, "month", 1, 12),
    ("-", re.compile("-"), "", 0, 0),
    ("02", _TWO, "day", 0, 99),
    ("T", re.compile("T"), "", 0, 0),
    ("15", re.compile(r"[0-9]{1,2}"), "hour", 0, 23),
    (":", re.compile(":"), "", 0, 0),
    ("04", _TWO, "minute", 0, 59),
    (":", re.compile(":"), "", 0, 0),
    ("05", _TWO, "second", 0, 59),
)
_FRACTION: Final = re.compile(r"[.,][0-9]+")
_ZONE: Final = re.compile(r"Z|[+-]([0-9]{2}):([0-9]{2})")


def time_problem(text: str) -> str:
    """The error for ``text``; empty if it is a time. As in Go, positions and escapes are those of its bytes."""
    value = rest = text.encode(errors="replace").decode("latin-1")
    numbers: dict[str, int] = {}
    for element, pattern, name, low, high in _STEPS:
        match = pattern.match(rest)
        if match is None:
            return _unlike(value, rest, element)
        if name:
            numbers[name] = int(match[0])
            if not low <= numbers[name] <= high:
                return f"parsing time {_quoted(value)}: {name} out of range"
        rest = rest[match.end() :]
    if match := _FRACTION.match(rest):
        rest = rest[match.end() :]
    zone = _ZONE.match(rest)
    if zone is None:
        return _unlike(value, rest, "Z07:00")
    for name, number, most in (("minute", zone[2], 60), ("hour", zone[1], 24)):
        if int(number or 0) > most:
            return f"parsing time {_quoted(value)}: time zone offset {name} out of range"
    if extra := rest[zone.end() :]:
        return f"parsing time {_quoted(value)}: extra text: {_quoted(extra)}"
    if not 1 <= numbers["day"] <= calendar.monthrange(numbers["year"], numbers["month"])[1]:
        return f"parsing time {_quoted(value)}: day out of range"
    return ""


def _unlike(value: str, rest: str, element: str) -> str:
    return f'parsing time {_quoted(value)} as "{_LAYOUT}": cannot parse {_quoted(rest)} as "{element}"'


def _quoted(text: str) -> str:
    chars = (f"\\{char}" if char in '"\\' else char if " " <= char < "\x80" else f"\\x{ord(char):02x}" for char in text)
    return f'"{"".join(chars)}"'
