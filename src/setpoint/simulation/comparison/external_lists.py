"""External lists: what the lists of external systems contain, and the object for which each entry was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from setpoint.controller.context import current
from setpoint.simulation.comparison.snapshot import JSON, to_plain


class ExternalLists:
    """Remembers for which object a reconcile added an entry to a list of an external system. Work on several objects
    goes on side by side, and no fault is needed for another order between them; only the order of the entries for
    one object says something.
    """

    def __init__(self) -> None:
        self._made_for: dict[str, str] = {}

    def called(self, name: str, before: JSON, after: JSON) -> None:
        """Notes what a call has changed in a system. ``before`` and ``after`` are its plain states."""
        context = current.get()
        if context is None or before == after:
            return
        lists_before = dict(_lists(before, name))
        for place, items in _lists(after, name):
            for text in Counter(_texts(items)) - Counter(_texts(lists_before.get(place, []))):
                self._made_for[f"{place} {text}"] = f"{type(context.object).__name__} {context.object.key}"

    def in_order(self, name: str, state: Any) -> JSON:
        """The state of the system as plain values, with the entries of each list ordered by the objects for which they
        were made. ExternalLists for the same object, and entries that were not made for an object, keep their order.
        """
        return self._ordered(to_plain(state), name)

    def _ordered(self, value: JSON, place: str) -> JSON:
        if isinstance(value, dict):
            return {key: self._ordered(item, f"{place}.{key}") for key, item in value.items()}
        if not isinstance(value, list) or not self._made_for:
            return value
        keys = [self._made_for.get(f"{place} {text}", "") for text in _texts(value)]
        return [value[index] for index in sorted(range(len(value)), key=keys.__getitem__)]


def _lists(value: JSON, place: str) -> Iterator[tuple[str, list[JSON]]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lists(item, f"{place}.{key}")
    elif isinstance(value, list):
        yield place, value


def _texts(items: list[JSON]) -> list[str]:
    return [msgspec.json.encode(item, order="sorted").decode() for item in items]
