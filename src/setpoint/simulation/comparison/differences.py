"""Differences between two snapshots, or between two plain values, and the masks that exclude fields from comparison."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from setpoint.meta.text_escaping import json_line
from setpoint.simulation.comparison.snapshot import JSON, Snapshot


class Difference(NamedTuple):
    """A field whose value differs from that in the undisturbed run. If ``path`` is empty, the whole object differs."""

    subject: str
    path: str
    expected: JSON
    actual: JSON

    @property
    def is_more(self) -> bool:
        """Whether there are more objects with this label, or there is more of an external system's state, than
        expected.
        """
        counts = type(self.expected) is type(self.actual) is int
        if counts and (not self.path or self.subject.startswith("external ")):
            return bool(self.actual > self.expected)
        if self.subject.startswith("external ") and isinstance(self.expected, list):
            return isinstance(self.actual, list) and all(item in self.actual for item in self.expected)
        return self.expected == ABSENT and (not self.path or self.subject.startswith("external "))

    @property
    def is_less(self) -> bool:
        """Whether there are fewer objects with this label than expected."""
        if not self.path and isinstance(self.expected, int):
            return bool(self.actual < self.expected)
        return not self.path and self.actual == ABSENT

    def is_ended(self, ended: Collection[str]) -> bool:
        """Whether only one run has a condition that the control plane had set from True to False (it is in ``ended``).
        In the other run, the control plane came too late to see the passing state.
        """
        present = self.expected if self.actual == ABSENT else self.actual if self.expected == ABSENT else None
        return isinstance(present, dict) and present.get("status") == "False" and f"{self.subject} {self.path}" in ended

    @property
    def mask(self) -> str:
        """The mask that excludes this field from comparison in all objects of the kind or, if the whole object differs,
        the object.
        """
        if not self.path:
            return mask_of_object(self.subject)
        return f"{self.subject.partition(' ')[0]} {drop_indexes(self.path)}"

    @property
    def place(self) -> str:
        """The object, and the field in it."""
        return f"{self.subject}: {self.path}" if self.path else self.subject

    def __str__(self) -> str:
        return f"{self.place} is {format_value(self.actual)}, expected {format_value(self.expected)}"


ABSENT: Final = "<absent>"


def find_differences(expected: Snapshot, actual: Snapshot, masks: frozenset[str] = frozenset()) -> list[Difference]:
    """The differences between ``expected`` and ``actual``, except in masked fields."""
    result: list[Difference] = []
    for subject in sorted({*expected, *actual}):
        ours, theirs = expected.get(subject, []), actual.get(subject, [])
        if len(ours) != len(theirs):
            is_single = len(ours) <= 1 and len(theirs) <= 1
            result.append(
                Difference(
                    subject,
                    "",
                    ("present" if ours else ABSENT) if is_single else len(ours),
                    ("present" if theirs else ABSENT) if is_single else len(theirs),
                )
            )
            continue
        kind = subject.partition(" ")[0]
        for one_of_ours, one_of_theirs in zip(ours, theirs, strict=True):
            for path, wanted, actual_value in diff_values(one_of_ours, one_of_theirs, ""):
                difference = Difference(subject, path, wanted, actual_value)
                if not is_masked(kind, path, masks):
                    result.append(difference)
    return [difference for difference in result if difference.path or not is_masked_whole(difference.subject, masks)]


def mask_of_object(subject: str) -> str:
    """The mask of a whole object, whether or not it exists (or of all objects of a kind, if it is the kind's)."""
    return f"{subject} "


def is_of_object(mask: str) -> bool:
    """Whether it is the mask of a whole object, and not that of a field."""
    return mask.endswith(" ")


def is_masked_whole(subject: str, masks: Collection[str]) -> bool:
    """Whether it does not matter if the object exists: it is masked itself, or its kind is."""
    return mask_of_object(subject) in masks or mask_of_object(subject.partition(" ")[0]) in masks


def is_masked(kind: str, path: str, masks: frozenset[str]) -> bool:
    """Whether the field, or a field or list that contains it, is masked."""
    parts = drop_indexes(path).split(".")
    wholes = [f"{kind} {'.'.join(parts[:length])}" for length in range(1, len(parts) + 1)]
    return any(whole in masks or whole.removesuffix("[]") in masks for whole in wholes)


def drop_indexes(path: str) -> str:
    """The path without the indexes of list items."""
    return re.sub(r"\[\d+\]", "[]", path)


def _says_nothing(path: str, value: JSON) -> bool:
    """Whether readers of a status can't tell the value from a missing one: many controllers write an empty value only
    where there was something before.
    """
    return path.startswith("status.") and value in ("", [], {}, None)


def diff_values(wanted: JSON, actual: JSON, path: str = "") -> Iterator[tuple[str, JSON, JSON]]:
    """The path of each field in which two plain values differ, and both of its values."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key in [*wanted, *(key for key in actual if key not in wanted)]:
            place = f"{path}.{key}" if path else key
            if key not in actual:
                if not _says_nothing(place, wanted[key]):
                    yield place, wanted[key], ABSENT
            elif key not in wanted:
                if not _says_nothing(place, actual[key]):
                    yield place, ABSENT, actual[key]
            else:
                yield from diff_values(wanted[key], actual[key], place)
    elif isinstance(wanted, list) and isinstance(actual, list):
        if all(isinstance(item, dict) and "type" in item for item in (*wanted, *actual)):
            # Conditions and the like: by their key, not their place.
            yield from diff_values(
                {item["type"]: item for item in wanted}, {item["type"]: item for item in actual}, path
            )
        elif len(wanted) != len(actual):
            yield path, wanted, actual
        else:
            for place, left, right in _pairs(wanted, actual, path):
                yield from diff_values(left, right, f"{path}[{place}]")
    elif wanted != actual or type(wanted) is not type(actual):
        yield path, wanted, actual


def _pairs(wanted: list[JSON], actual: list[JSON], path: str) -> Iterator[tuple[int, JSON, JSON]]:
    """The items that are compared with each other, with their places in ``wanted``. In a status, the order of a list
    says nothing: the reconciles of several objects have no order, nor have the events that one reconcile waits for.
    There, an item that both lists have is left out, and another one compared with that from which it differs in the
    fewest fields.
    """
    if not path.startswith("status."):
        for place, (left, right) in enumerate(zip(wanted, actual, strict=True)):
            yield place, left, right
        return
    rest = [*actual]
    unlike = []
    for place, item in enumerate(wanted):
        if item in rest:
            rest.remove(item)
        else:
            unlike.append((place, item))
    for place, item in unlike:
        closest = min(rest, key=lambda other: sum(1 for _ in diff_values(item, other, path)))
        rest.remove(closest)
        yield place, item, closest


def format_value(value: JSON, most: int = 100) -> str:
    """The value as one line of text of at most so many characters. A string with line breaks or escape sequences is
    quoted.
    """
    text = value if isinstance(value, str) and value.isprintable() else json_line(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
