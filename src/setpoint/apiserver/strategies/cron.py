"""Schedules of cron jobs and their time zones; the errors in time zones are worded as in Go."""

from __future__ import annotations

import re
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from setpoint.schema.cron import CronError, parse_cron

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
    try:
        parse_cron(schedule)
    except CronError as problem:
        return str(problem)
    return ""
