"""The wire forms of times."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime


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
    with ``Z`` or an offset such as ``+01:00``. A fraction of a second may have any number of digits; those after the
    sixth are ignored.

    Raises:
        ValueError: ``text`` has a different form, or is before the year 1 or after 9999 in UTC.
    """
    moment = datetime.fromisoformat(text)
    # Other forms of ISO 8601 have other characters there, or none. Python 3.14 reads 24:00 as the next day's 00:00.
    has_date_and_time = text[7:17:3] == "-T::" and (moment.hour or text[11] == "0")
    if has_date_and_time and text[-1] == "Z" and text[-2] not in ".,":
        return moment
    if not has_date_and_time or text[-3] != ":" or text[-6] not in "+-" or text[-7] in ".," or text[-2:] > "60":
        raise ValueError(f"{text!r} is not an RFC 3339 time with an offset, like 2026-01-31T12:00:00Z")
    if not MINYEAR < moment.year < MAXYEAR:
        try:
            moment.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{text!r} is not in the years {MINYEAR} to {MAXYEAR} of UTC") from None
    return moment


def _utc(moment: datetime, precision: str) -> str:
    # not strftime: its %Y writes year 1, Go's zero time, without the zeros in front
    return _aware(moment).astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
