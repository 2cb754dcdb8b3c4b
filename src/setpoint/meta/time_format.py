"""The wire forms of times."""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, timezone
from typing import Final

_FORM: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([01]?[0-9]|2[0-3])(:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]+)?)"
    r"(?:Z|([+-])([01][0-9]|2[0-4]):([0-5][0-9]|60))"
)
_LOOSE: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})t([0-9]{2}:[0-9]{2}:[0-9]{2})(?:.([0-9]+))?(?:z|([+-])([0-9]{2}):([0-9]{2}))(?:t.*)?",
    re.IGNORECASE | re.DOTALL,
)
_DAY: Final = timedelta(days=1)


class MicroTime(datetime):
    """A datetime that has exactly six fractional digits on the wire (``metav1.MicroTime``, used in leases and events).

    The API server's parser requires six digits, even if they are zeros, which `datetime` would leave out.
    """

    @classmethod
    def of(cls, moment: datetime) -> MicroTime:
        """``moment`` as a MicroTime. A naive ``moment`` is taken to be in UTC."""
        utc = _aware(moment).astimezone(UTC)
        return cls.combine(utc.date(), utc.timetz())


def format_time(moment: datetime) -> str:
    """The wire form of ``metav1.Time``: RFC 3339 in UTC, whole seconds. A naive ``moment`` is taken to be in UTC."""
    return _utc(moment, "seconds")


def format_micro_time(moment: datetime) -> str:
    """The wire form of ``metav1.MicroTime``: RFC 3339 in UTC with six fractional digits. A naive ``moment`` is taken to
    be in UTC.
    """
    return _utc(moment, "microseconds")


def parse_time(text: str) -> datetime:
    """The aware datetime that ``text`` stands for, in the form of RFC 3339 that Go reads: with ``T``, with seconds, and
    with ``Z`` or an offset such as ``+01:00``. As for Go, the hour may have one digit, and an offset may be a day. A
    fraction of a second may have any number of digits; those after the sixth are ignored.

    Raises:
        ValueError: ``text`` has a different form, or is before the year 1 or after 9999 in UTC.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:100]!r} is not an RFC 3339 time with an offset, like 2026-01-31T12:00:00Z")
    day, hour, rest, sign, hours, minutes = match.groups()
    if sign is None and len(hour) == 2:
        return datetime.fromisoformat(text)
    moment = datetime.fromisoformat(f"{day}T{hour:0>2}{rest}+00:00")
    if sign is None:
        return moment
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        utc = moment + offset if sign == "-" else moment - offset
    except OverflowError:
        raise ValueError(f"{text!r} is not in the years {MINYEAR} to {MAXYEAR} of UTC") from None
    zone = -offset if sign == "-" else offset
    return utc.astimezone(timezone(zone)) if offset < _DAY else utc


def nearest_time(text: str) -> str:
    """The RFC 3339 form of the moment that is closest to ``text``, which has any form that API servers accept for the
    format ``date-time``: they take any offset, the year 0, and some characters that no reader of times takes. Any other
    text is returned unchanged.
    """
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    day, time, fraction, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zeroth = day.startswith("0000")
    try:  # the year 0, which Python lacks, has the days of the year 2000
        moment = datetime.fromisoformat(f"{'2000' + day[4:] if zeroth else day}T{time}.{fraction or 0}+00:00")
        utc = moment + offset if sign == "-" else moment - offset
    except ValueError:
        return text
    except OverflowError:
        utc = datetime.max if sign == "-" else datetime.min
    return format_micro_time(datetime.min if zeroth else utc)


def _utc(moment: datetime, precision: str) -> str:
    # not strftime: its %Y writes year 1, Go's zero time, without the zeros in front
    return _aware(moment).astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
