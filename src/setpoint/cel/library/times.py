"""Durations and timestamps: parsing, printing, and their parts in any time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from setpoint.cel.declarations import Library, Overload, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.library.arithmetic import timestamp
from setpoint.cel.types import DURATION, INT, STRING, TIMESTAMP
from setpoint.cel.values import MAX_INT, MIN_INT, Duration, Timestamp

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6,
    "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND,
}  # fmt: skip
_LONGEST: Final = 1000
"""The maximum length of a duration, in characters. Go accepts longer ones, but the time to parse a number grows faster
than its length.
"""
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


def parse_duration(text: str) -> Duration | None:
    """Parses a duration such as ``1h30m`` or ``-1.5s``. Returns None if the text is not a duration, is longer than 1000
    characters, or does not fit into 64 bits of nanoseconds.
    """
    sign = -1 if text.startswith("-") else 1
    rest = text.removeprefix("-") if sign < 0 else text.removeprefix("+")
    if rest == "0":
        return Duration(0)
    total, position = 0, 0
    if len(rest) > _LONGEST:
        return None
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            return None
        total += int(Fraction(part[1]) * _UNITS[part[2]])
        position = part.end()
    if not rest or not MIN_INT <= sign * total <= MAX_INT:
        return None
    return Duration(sign * total)


def format_duration(value: Duration) -> str:
    """The duration in seconds, in the shortest form: ``1.5s``."""
    seconds, rest = divmod(abs(value.nanoseconds), _SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' if value.nanoseconds < 0 else ''}{seconds}{fraction}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Parses a timestamp in the form of RFC 3339, to the nanosecond; returns None for any other text. Raises
    EvaluationError outside the years 1 to 9999.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[part]) for part in range(1, 7))
    offset = 0
    if match[8]:
        if int(match[9]) > 24 or int(match[10]) > 59:
            return None
        offset = (int(match[9]) * 3600 + int(match[10]) * 60) * (-1 if match[8] == "-" else 1)
    try:
        moment = datetime(max(year, 1), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    if year == 0:
        raise EvaluationError("timestamp overflow")
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    return timestamp((_epoch(moment) - offset) * _SECOND + nanoseconds)


def format_timestamp(value: Timestamp) -> str:
    """The timestamp in RFC 3339, in UTC, with the shortest fraction."""
    seconds, rest = divmod(value.nanoseconds, _SECOND)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}{fraction}Z"


def _epoch(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86400 + since.seconds


def _zone(name: str) -> tzinfo:
    if ":" in name:
        hours, _, minutes = name.partition(":")
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", hours) or not re.fullmatch(r"[+-]?[0-9]{1,9}", minutes):
            raise EvaluationError(f'strconv.Atoi: parsing "{hours}": invalid syntax')
        offset = int(hours) * 60 + (-int(minutes) if hours.startswith("-") else int(minutes))
        if abs(offset) >= 24 * 60:
            raise EvaluationError(f"unknown time zone {name}")
        return timezone(timedelta(minutes=offset))
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _local(value: Timestamp, zone: tzinfo) -> datetime:
    seconds = value.nanoseconds // _SECOND
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _part(name: str, id_: str, read: Callable[[datetime], int]) -> list[Overload]:
    return [
        method(name, f"timestamp_to_{id_}", (TIMESTAMP,), INT, lambda value: read(_local(value, UTC))),
        method(
            name,
            f"timestamp_to_{id_}_with_tz",
            (TIMESTAMP, STRING),
            INT,
            lambda value, zone: read(_local(value, _zone(zone))),
        ),
    ]


def _milliseconds(value: Timestamp) -> int:
    return value.nanoseconds % _SECOND // 10**6


def _whole(unit: int) -> Callable[[Duration], int]:
    def count(value: Duration) -> int:
        units = abs(value.nanoseconds) // unit
        return units if value.nanoseconds >= 0 else -units

    return count


TIMES: Final = Library(
    (
        *_part("getFullYear", "year", lambda at: at.year),
        *_part("getMonth", "month", lambda at: at.month - 1),
        *_part("getDayOfYear", "day_of_year", lambda at: at.timetuple().tm_yday - 1),
        *_part("getDayOfMonth", "day_of_month", lambda at: at.day - 1),
        *_part("getDate", "day_of_month_1_based", lambda at: at.day),
        *_part("getDayOfWeek", "day_of_week", lambda at: at.isoweekday() % 7),
        *_part("getHours", "hours", lambda at: at.hour),
        *_part("getMinutes", "minutes", lambda at: at.minute),
        *_part("getSeconds", "seconds", lambda at: at.second),
        method("getMilliseconds", "timestamp_to_milliseconds", (TIMESTAMP,), INT, _milliseconds),
        method("getMilliseconds", "timestamp_to_milliseconds_with_tz", (TIMESTAMP, STRING), INT, lambda value, zone: (_zone(zone), _milliseconds(value))[1]),  # noqa: E501
        method("getHours", "duration_to_hours", (DURATION,), INT, _whole(3600 * _SECOND)),
        method("getMinutes", "duration_to_minutes", (DURATION,), INT, _whole(60 * _SECOND)),
        method("getSeconds", "duration_to_seconds", (DURATION,), INT, _whole(_SECOND)),
        method("getMilliseconds", "duration_to_milliseconds", (DURATION,), INT, _whole(10**6)),
    )
)  # fmt: skip
