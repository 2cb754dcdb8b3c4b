"""Cron schedules, parsed as in Kubernetes (robfig/cron's standard parser), in any time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Self

from setpoint.schema.cron import CronField, parse_cron

_YEARS: Final = 5
"""The number of years to search: a schedule without a matching time in these years counts as one that never matches."""


class Cron:
    """One schedule: ``minute hour day month weekday``, a nickname such as ``@daily``, or ``@every 1h30m``.

    If both the day of the month and the weekday are restricted, a day that matches either of them matches. A time that
    does not exist because of a clock change does not match; a time that occurs twice matches twice.
    """

    def __init__(self, schedule: tuple[CronField, ...] | timedelta) -> None:
        self._every = schedule if isinstance(schedule, timedelta) else None
        fields = () if isinstance(schedule, timedelta) else schedule
        minutes, hours, days, months, weekdays = fields or [CronField(frozenset(), True)] * 5
        self._minutes, self._hours = sorted(minutes.values), sorted(hours.values)
        self._days, self._months, self._weekdays = days.values, months.values, weekdays.values
        self._both = days.is_any or weekdays.is_any

    @classmethod
    def parse(cls, text: str) -> Self:
        """The schedule in ``text``: five fields, ``@every`` with a duration, or a nickname such as ``@daily``. Raises
        `CronError` if the text is not a schedule.
        """
        return cls(parse_cron(text))

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
