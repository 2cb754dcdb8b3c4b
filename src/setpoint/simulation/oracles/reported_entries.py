"""Reported entries: what users add to the lists of a status in place of another controller, and its removals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from setpoint.simulation.comparison.differences import format_value
from setpoint.simulation.oracles.monitor import Monitor, describe_author
from setpoint.simulation.trace.history import Entry


class ReportedEntries:
    """Reports a finding when a controller removes an entry that a user has added to a list of a status, before the user
    acts again: no user has asked for that, and a real cluster's other controller would lose it in the same way.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._added: dict[str, list[tuple[str, Any, int]]] = {}
        """By the uid of the object: the path of the list, the entry, and the length of the list with it."""

    def changed(self, entry: Entry) -> None:
        """Notes the entries that a user adds, and judges a change that a controller makes."""
        if entry.lane == "user":
            self._added = {entry.uid: [*_added(_lists(entry.previous), _lists(entry.value))]}
        elif entry.lane == "controller" and entry.type == "MODIFIED":
            lists = _lists(entry.value) if self._added.get(entry.uid) else {}
            for path, item, length in self._added.pop(entry.uid, ()):
                now = lists.get(path, [])
                if len(now) < length and item not in now:
                    subject = f"{entry.collection} {entry.label}"
                    self._monitor.report(
                        "destroyed",
                        subject,
                        f"{subject}: {format_value(item)} was removed from {path} by {describe_author(entry)}, "
                        "although the user had added it, in place of another controller; write your own entries, and "
                        "keep those of others",
                        point=entry.point,
                    )
                else:
                    self._added.setdefault(entry.uid, []).append((path, item, length))


def _lists(value: bytes | None) -> dict[str, list[Any]]:
    status = msgspec.json.decode(value).get("status") if value else None
    return dict(_find_lists(status, "status")) if isinstance(status, dict) else {}


def _find_lists(value: dict[str, Any], path: str) -> Iterator[tuple[str, list[Any]]]:
    for name, part in value.items():
        if isinstance(part, list):
            yield f"{path}.{name}", part
        elif isinstance(part, dict):
            yield from _find_lists(part, f"{path}.{name}")


def _added(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> Iterator[tuple[str, Any, int]]:
    for path, items in after.items():
        for item in items:
            if item not in before.get(path, []):
                yield path, item, len(items)
