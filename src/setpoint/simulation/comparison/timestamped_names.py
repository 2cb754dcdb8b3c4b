"""Timestamped names: the names that programs derive from the time, as they differ between runs without faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from setpoint.simulation.comparison.name_equivalence import split_words
from setpoint.simulation.trace.result import Result

NamePattern = tuple[str, str]
"""A pattern for the names of one form, and the text for all of them, with ``*`` for each part that varies."""
_PART: Final = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")
_LONG: Final = 6
"""The fewest characters of a name without any fixed word that are taken for a part that varies."""


def find_name_patterns(runs: Sequence[Result]) -> tuple[NamePattern, ...]:
    """The forms of the names by which objects of the first run differ from those in their places in the others. An
    object that has the same name in all runs has none of these forms.
    """
    named = [
        {subject for state in (run.end, *run.rest_states) for subject in state if not _is_outside(subject)}
        for run in runs
    ]
    first, *others = named
    fixed = {_name(subject) for subject in first.intersection(*others)}
    forms: dict[str, str] = {}
    for other in others:
        extra = other - first
        for subject in sorted(first - other):
            likes = [words for candidate in sorted(extra) if (words := _unlike(subject, candidate))]
            for parts in likes[:1]:
                pattern, text = _form(parts)
                if pattern:
                    spared = "|".join(sorted(re.escape(name) for name in fixed if re.fullmatch(pattern, name)))
                    but = rf"(?!(?:{spared})(?![A-Za-z0-9*-]))" if spared else ""
                    forms[rf"(?<![A-Za-z0-9.-]){but}{pattern}(?![A-Za-z0-9*-])"] = text
    return tuple(forms.items())


def make_name_replacer(forms: Iterable[NamePattern]) -> Callable[[str], str]:
    """A function that replaces all names of these forms in a text."""
    compiled = [(re.compile(pattern), text) for pattern, text in forms]

    def starred(value: str) -> str:
        for pattern, text in compiled:
            value = pattern.sub(text, value)
        return value

    return starred


def _is_outside(subject: str) -> bool:
    return subject.startswith("external ")


def _name(subject: str) -> str:
    return subject.rpartition("/")[2] if "/" in subject.partition(" ")[2] else subject.partition(" ")[2]


def _unlike(left: str, right: str) -> list[tuple[str, str]]:
    """The parts of two names that are made alike, in pairs; empty if the objects are not in the same place."""
    ours, theirs = _name(left), _name(right)
    if left.removesuffix(ours) != right.removesuffix(theirs):
        return []
    parts, others = _PART.findall(ours), _PART.findall(theirs)
    if len(parts) != len(others) or any(
        mine != yours and not (mine.isalnum() and yours.isalnum()) for mine, yours in zip(parts, others, strict=True)
    ):
        return []
    return list(zip(parts, others, strict=True))


def _form(parts: Sequence[tuple[str, str]]) -> NamePattern:
    """The form of names of which two have these parts: from the first part that differs on, a part varies if it
    differs or has a digit, since it may be of the same time. ``("", "")`` if that could be any name.
    """
    start = next(place for place, (left, right) in enumerate(parts) if left != right)
    pattern = text = ""
    for place, (left, right) in enumerate(parts):
        if left == right and (place < start or not any(map(str.isdigit, left))):
            pattern, text = pattern + re.escape(left), text + left
        else:
            pattern += r"\d+" if left.isdecimal() and right.isdecimal() else "[A-Za-z0-9]+"
            text += "*"
    if split_words(text):
        return pattern, text
    if any(len(left) < _LONG for left, right in parts if left != right):
        return "", ""
    return pattern, text
