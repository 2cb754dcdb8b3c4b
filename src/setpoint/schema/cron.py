"""Cron schedules as Kubernetes reads them: by the standard parser of robfig/cron, version 3, with its errors."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, NamedTuple

from setpoint.meta.duration import parse_nanoseconds

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# The least and the greatest number of each field, and names for them.
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "


class CronError(ValueError):
    """The schedule can't be parsed; the message is that of robfig/cron."""


class CronField(NamedTuple):
    """The values of a field, and whether one of its parts is ``*`` or ``?``."""

    values: frozenset[int]
    is_any: bool


def parse_cron(schedule: str) -> tuple[CronField, ...] | timedelta:
    """The fields of a schedule (minute, hour, day of the month, month, weekday), which may be given by a nickname such
    as ``@daily``; or the interval of ``@every``.

    Raises:
        CronError: the text is not a schedule.
    """
    if schedule.startswith(_EVERY):
        return _interval(schedule)
    if schedule.startswith("@") and schedule not in _NICKNAMES:
        raise CronError(f"unrecognized descriptor: {schedule}")
    words = _NICKNAMES.get(schedule, schedule).split()
    if len(words) != len(_FIELDS):
        raise CronError(f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]")
    return tuple(_field(word, *bounds) for word, bounds in zip(words, _FIELDS, strict=True))


def _interval(schedule: str) -> timedelta:
    text = schedule.removeprefix(_EVERY)
    try:
        nanoseconds = parse_nanoseconds(text)
    except ValueError:
        raise CronError(f'failed to parse duration {schedule}: time: invalid duration "{text}"') from None
    return timedelta(seconds=max(nanoseconds // 10**9, 1))


def _field(word: str, least: int, most: int, names: dict[str, int]) -> CronField:
    values: set[int] = set()
    is_any = False
    for part in filter(None, word.split(",")):
        numbers = _range(part, least, most, names)
        values.update(numbers)
        is_any |= part[0] in "*?" and numbers.step == 1
    return CronField(frozenset(values), is_any)


def _range(part: str, least: int, most: int, names: dict[str, int]) -> range:
    span, *steps = part.split("/")
    low, *high = span.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = _number(low, names)
        if len(high) > 1:
            raise CronError(f"too many hyphens: {part}")
        end = _number(high[0], names) if high else start
    step = 1
    if len(steps) > 1:
        raise CronError(f"too many slashes: {part}")
    if steps:
        step = _number(steps[0], {})
        if not high:
            end = most
    if start < least:
        raise CronError(f"beginning of range ({start}) below minimum ({least}): {part}")
    if end > most:
        raise CronError(f"end of range ({end}) above maximum ({most}): {part}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {part}")
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    value = names.get(text.lower())
    if value is not None:
        return value
    if not re.fullmatch("[-+]?[0-9]{1,18}", text):
        raise CronError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number
