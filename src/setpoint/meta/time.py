"""Times on the wire."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime


class MicroTime(datetime):
    """A time with exactly six fractional digits on the wire (``metav1.MicroTime``: leases and events).

    The API server's parser requires six digits, even if they are zeros; `datetime` would drop them.
    """

    @classmethod
    def of(cls, moment: datetime) -> MicroTime:
        """The same moment as a MicroTime. A naive ``moment`` is taken for UTC."""
        return cls.fromtimestamp(_aware(moment).timestamp(), UTC)


def format_time(moment: datetime) -> str:
    """``metav1.Time`` on the wire: RFC 3339 in UTC, whole seconds. A naive ``moment`` is taken for UTC."""
    return _utc(moment, "seconds")


def format_micro_time(moment: datetime) -> str:
    """``metav1.MicroTime`` on the wire: RFC 3339 in UTC with six fractional digits."""
    return _utc(moment, "microseconds")


def parse_time(text: str) -> datetime:
    """An aware datetime from RFC 3339.

    Raises:
        ValueError: ``text`` is not RFC 3339, it has no offset, or it is before the year 1 or after 9999 in UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or "T" not in text.upper():
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
