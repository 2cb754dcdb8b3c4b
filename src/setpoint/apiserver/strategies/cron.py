"""Schedules of cron jobs and their time zones; the errors are worded as in robfig/cron, version 3, and in Go."""

from __future__ import annotations

import re
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

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
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION: Final = re.compile(
    r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*|0"
)


_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}", re.ASCII)
_EXPLICIT: Final = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


def zone_problems(zone: str) -> list[str]:
    """The errors in the name of a time zone. If this machine has no time zone database, only the form of the name is
    checked.
    """
    if not zone:
        return ["timeZone must be nil or non-empty string"]
    if any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        return [f"unknown time zone {zone}"]
    problems = [_EXPLICIT] if zone.lower() == "local" else []
    if zone in ("Local", "UTC") or not _has_zones():
        return problems
    try:
        ZoneInfo(zone)
    except (KeyError, IsADirectoryError):
        problems.append(f"unknown time zone {zone}")
    except (ValueError, OSError):
        problems.append("malformed time zone information")
    return problems


@cache
def _has_zones() -> bool:
    try:
        ZoneInfo("Europe/London")
    except (KeyError, OSError):
        return False
    return True


def schedule_problem(schedule: str) -> str:
    """The error in a schedule; empty if it is valid."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        return _descriptor_problem(schedule)
    words = schedule.split()
    if len(words) != 5:
        return f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]"
    for word, (least, most, names) in zip(words, _FIELDS, strict=True):
        for part in filter(None, word.split(",")):
            try:
                _check(part, least, most, names)
            except ValueError as problem:
                return str(problem)
    return ""


def _descriptor_problem(schedule: str) -> str:
    if schedule in _DESCRIPTORS:
        return ""
    if schedule.startswith("@every "):
        text = schedule.removeprefix("@every ")
        if _DURATION.fullmatch(text):
            return ""
        return f'failed to parse duration {schedule}: time: invalid duration "{text}"'
    return f"unrecognized descriptor: {schedule}"


def _check(part: str, least: int, most: int, names: dict[str, int]) -> None:
    span, *steps = part.split("/")
    low, *high = span.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = _number(low, names)
        if len(high) > 1:
            raise ValueError(f"too many hyphens: {part}")
        end = _number(high[0], names) if high else start
    step = 1
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {part}")
    if steps:
        step = _number(steps[0], {})
        if not high:
            end = most
    if start < least:
        raise ValueError(f"beginning of range ({start}) below minimum ({least}): {part}")
    if end > most:
        raise ValueError(f"end of range ({end}) above maximum ({most}): {part}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {part}")


def _number(text: str, names: dict[str, int]) -> int:
    value = names.get(text.lower())
    if value is not None:
        return value
    if not re.fullmatch("[-+]?[0-9]+", text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
