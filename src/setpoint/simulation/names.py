"""Names that are drawn in turns, such as blue and green: two states are the same if those have only changed places."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from setpoint.simulation.state import ABSENT, Difference, Snapshot, differences

_NUMBER: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


def words_of(name: str) -> list[str]:
    """The words of a name."""
    return _WORD.findall(name)


def turns(left: list[Difference]) -> dict[str, str]:
    """The words of names in which objects that are missing differ from those that are there instead, both ways."""
    missing = [each.subject for each in left if each.is_less]
    instead = [each.subject for each in left if not each.path and each.is_more]
    words: dict[str, str] = {}
    for one in missing:
        likes = [unlike for other in instead if (unlike := _unlike(one, other))]
        for old, new in min(likes, key=len, default=()):
            words.setdefault(old, new)
            words.setdefault(new, old)
    return words


def unturned(expected: Snapshot, found: Snapshot, words: dict[str, str], masks: frozenset[str]) -> list[Difference]:
    """The differences that are left when those words have changed places."""
    return [
        each
        for each in differences(_swapped(expected, words), found, masks)
        if not (isinstance(each.found, int) and words.get(str(each.expected)) == str(each.found))
    ]


def given_outside(expected: Snapshot, found: Snapshot, masks: frozenset[str]) -> list[Difference] | None:
    """The differences that are left when the names that external systems gave out by counting have changed places: a
    request that was repeated, or lost, moves the count on. None if there are no such names."""
    left = differences(expected, found, masks)
    outside = [each for each in left if each.subject.startswith("external ") and each.path]
    words: dict[str, str] = {}
    for one in outside:
        for other in outside:
            ours, theirs = one.path, other.path
            counted = _NUMBER.sub("#", ours) == _NUMBER.sub("#", theirs) and ours != theirs
            if counted and one.found == ABSENT and other.expected == ABSENT and one.expected == other.found:
                words.setdefault(ours.rpartition(".")[2], theirs.rpartition(".")[2])
    if not words:
        return None
    long = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words))
    return [
        each
        for each in differences(
            _renamed(expected, lambda text: long.sub(lambda match: words[match[0]], text)), found, masks
        )
        if not (each.subject.startswith("external ") and isinstance(each.found, int) and isinstance(each.expected, int))
    ]


def _unlike(one: str, other: str) -> list[tuple[str, str]]:
    """The words in which two names of one form differ; none if they are not of one form."""
    ours, theirs = _WORD.findall(one), _WORD.findall(other)
    if len(ours) != len(theirs) or _WORD.sub("", one) != _WORD.sub("", other):
        return []
    if one.partition(" ")[0] != other.partition(" ")[0]:
        return []
    return [(mine, yours) for mine, yours in zip(ours, theirs, strict=True) if mine != yours]


def _swapped(snapshot: Snapshot, words: dict[str, str]) -> Snapshot:
    """The same with those words in each other's place, wherever they stand."""
    return _renamed(snapshot, lambda text: _WORD.sub(lambda match: words.get(match[0], match[0]), text))


def _renamed(snapshot: Snapshot, name: Callable[[str], str]) -> Snapshot:
    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return name(value)
        if isinstance(value, dict):
            return {name(key): walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    return {name(subject): walk(items) for subject, items in snapshot.items()}
