"""Cron schedules, parsed as in Kubernetes (robfig/cron's standard parser), in any time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Self

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|us|µs|ns|m|s)")
_YEARS: Final = 5
"""The number of years to search: a schedule without a matching time in these years counts as one that never matches."""


class CronError(ValueError):
    """The schedule can't be parsed."""


class Cron:
    """One schedule: ``minute hour day month weekday``, a nickname such as ``@daily``, or ``@every 1h30m``.

    If both the day of the month and the weekday are restricted, a day that matches either of them matches. A time that
    does not exist because of a clock change does not match; a time that occurs twice matches twice.
    """

    def __init__(
        self, minutes: set[int], hours: set[int], days: set[int], months: set[int], weekdays: set[int], both: bool
    ) -> None:
        self._minutes, self._hours = sorted(minutes), sorted(hours)
        self._days, self._months, self._weekdays = days, months, weekdays
        self._both = both
        self._every: timedelta | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The schedule in ``text``: five fields, ``@every`` with a duration, or a nickname such as ``@daily``. Raises
        `CronError` if the text is not a schedule.
        """
        text = text.strip()
        if text.startswith("@every "):
            cron = cls(set(), set(), set(), set(), set(), both=True)
            cron._every = max(timedelta(seconds=int(_duration(text[len("@every ") :].strip()))), timedelta(seconds=1))
            return cron
        fields = _NICKNAMES.get(text, text).split()
        if len(fields) != 5 or (text.startswith("@") and text not in _NICKNAMES):
            raise CronError(f"expected five fields or a nickname such as @daily, found {text!r}")
        minutes, _ = _field(fields[0], 0, 59)
        hours, _ = _field(fields[1], 0, 23)
        days, any_day = _field(fields[2], 1, 31)
        months, _ = _field(fields[3], 1, 12, _MONTHS)
        weekdays, any_weekday = _field(fields[4], 0, 6, _DAYS)
        return cls(minutes, hours, days, months, weekdays, both=any_day or any_weekday)

    def after(self, moment: datetime, zone: tzinfo = UTC) -> datetime | None:
        """The next time after ``moment``, as an aware time in UTC; None if there is none within five years. ``@every``
        counts from ``moment``.
        """
        moment = moment.astimezone(UTC)
        if self._every is not None:
            return moment.replace(microsecond=0) + self._every
        first = moment.astimezone(zone).date()
        for number in range(366 * _YEARS + 1):
            day = first + timedelta(days=number)
            if not self._matches(day):
                continue
            next_time = min((time for time in self._times(day, zone) if time > moment), default=None)
            if next_time is not None:
                return next_time
        return None

    def last(self, since: datetime, until: datetime, zone: tzinfo = UTC) -> datetime | None:
        """The latest time that is after ``since`` but not after ``until``; None if there is none. The times of
        ``@every`` count from ``since``.
        """
        if self._every is not None:
            since = since.astimezone(UTC).replace(microsecond=0)
            count = (until - since) // self._every
            return since + count * self._every if count > 0 else None
        span = timedelta(hours=1)
        while True:
            begin = max(since, until - span)
            last_time = None
            time = self.after(begin, zone)
            while time is not None and time <= until:
                last_time, time = time, self.after(time, zone)
            if last_time is not None or begin == since:
                return last_time
            span *= 8

    def missed(self, since: datetime, until: datetime, zone: tzinfo = UTC, *, most: int) -> int:
        """The number of times that are after ``since`` but not after ``until``, or ``most`` if there are more."""
        count, time = 0, self.after(since, zone)
        while time is not None and time <= until and count < most:
            count, time = count + 1, self.after(time, zone)
        return count

    def _matches(self, day: date) -> bool:
        if day.month not in self._months:
            return False
        of_month, of_week = day.day in self._days, (day.weekday() + 1) % 7 in self._weekdays
        return (of_month and of_week) if self._both else (of_month or of_week)

    def _times(self, day: date, zone: tzinfo) -> Iterator[datetime]:
        for hour in self._hours:
            for minute in self._minutes:
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                first = local.astimezone(UTC)
                if first.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
                    continue  # the clocks go over it
                yield first
                again = local.replace(fold=1).astimezone(UTC)
                if again != first:
                    yield again


def _field(text: str, low: int, high: int, names: list[str] | None = None) -> tuple[set[int], bool]:
    """The values of a field, and whether one of its parts is ``*`` or ``?``."""
    values: set[int] = set()
    anything = False
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, part) if slash else 1
        if step < 1:
            raise CronError(f"step of {part!r} must be at least 1")
        if span in ("*", "?"):
            first, last = low, high
            anything |= step == 1
        else:
            begin, dash, end = span.partition("-")
            first = _value(begin, low, names, part)
            last = _value(end, low, names, part) if dash else high if slash else first
        if first < low or last > high or first > last:
            raise CronError(f"{part!r} is not within {low}-{high}")
        values.update(range(first, last + 1, step))
    return values, anything


def _value(text: str, low: int, names: list[str] | None, part: str) -> int:
    if names is not None and text.lower() in names:
        return names.index(text.lower()) + low
    return _number(text, part)


def _number(text: str, part: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise CronError(f"{part!r} does not contain a number where one is expected")
    return int(text)


def _duration(text: str) -> float:
    parts = _DURATION.findall(text)
    if not parts or "".join(parts) != text:
        raise CronError(f"{text!r} is not a duration such as 1h30m")
    total = 0.0
    for part in parts:
        unit = part.lstrip("0123456789.")
        total += float(part.removesuffix(unit)) * _UNITS[unit]
    if total > 1e9:
        raise CronError(f"{text!r} is too long a duration")
    return total
