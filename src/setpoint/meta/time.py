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
        return cls.fromtimestamp(_aware(moment).timestamp(), UTC)


def format_time(moment: datetime) -> str:
    """The wire form of ``metav1.Time``: RFC 3339 in UTC, whole seconds. A naive ``moment`` is taken to be in UTC."""
    return _utc(moment, "seconds")


def format_micro_time(moment: datetime) -> str:
    """The wire form of ``metav1.MicroTime``: RFC 3339 in UTC with six fractional digits. A naive ``moment`` is taken to
    be in UTC.
    """
    return _utc(moment, "microseconds")


def parse_time(text: str) -> datetime:
    """The aware datetime that ``text`` stands for, in the form of RFC 3339 or in another form of ISO 8601 that has a
    time with an offset.

    Raises:
        ValueError: ``text`` has a different form or no offset, or is before the year 1 or after 9999 in UTC.
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
