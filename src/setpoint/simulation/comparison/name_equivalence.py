"""Names that are interchangeable: words that alternate, such as blue and green, and names that external systems make by
counting. Two states count as equal if they differ only in such names.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.simulation.comparison.differences import Difference, find_differences
from setpoint.simulation.comparison.renaming import rename, rename_value
from setpoint.simulation.comparison.snapshot import Snapshot

_NUMBER: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


def split_words(name: str) -> list[str]:
    """The words of a name: its runs of ASCII letters and digits."""
    return _WORD.findall(name)


def find_alternations(differences: list[Difference]) -> dict[str, str]:
    """The words, such as ``blue`` and ``green``, by which the names of missing objects differ from those of the objects
    in their places: a mapping with each pair of words in both directions. ``differences`` has the differences between
    two states.
    """
    missing = [difference.subject for difference in differences if difference.is_less]
    instead = [difference.subject for difference in differences if not difference.path and difference.is_more]
    words: dict[str, str] = {}
    for subject in missing:
        likes = [unlike for other in instead if (unlike := _unlike(subject, other))]
        for old, new in min(likes, key=len, default=()):
            words.setdefault(old, new)
            words.setdefault(new, old)
    return words


def differences_after_swap(
    expected: Snapshot, actual: Snapshot, words: dict[str, str], masks: frozenset[str]
) -> list[Difference]:
    """The differences between ``expected`` and ``actual`` that remain after each word in ``words`` has been replaced in
    ``expected`` by the word to which it is mapped. A number also counts as equal to the number to which it is mapped.
    """
    return [
        difference
        for difference in find_differences(_swapped(expected, words), actual, masks)
        if not (isinstance(difference.actual, int) and words.get(str(difference.expected)) == str(difference.actual))
    ]


class Renamed(NamedTuple):
    """Two states in which the names that external systems made by counting are replaced by digests of their uses."""

    expected: Snapshot
    actual: Snapshot
    reached: dict[str, tuple[int, int]]
    """For each external system, the largest number that it has counted to in the expected and in the found state."""

    def is_counter(self, difference: Difference) -> bool:
        """Whether the difference may come from the counter with which an external system makes its names. For that, the
        number on each side must be no smaller than the largest number that occurs in such names on that side. A smaller
        number, or a number in a different system, is a finding.
        """
        ours, theirs = self.reached.get(difference.subject, (0, 0))
        return (
            difference.subject in self.reached
            and type(difference.expected) is type(difference.actual) is int
            and difference.expected >= ours
            and difference.actual >= theirs
        )


def rename_counted_names(expected: Snapshot, actual: Snapshot) -> Renamed | None:
    """Both states, with the names that external systems made by counting replaced so that they can be compared; None if
    the states do not differ in such names. The counts differ when a request was repeated or lost, or came in a
    different order.

    Each such name is replaced by a digest of the places where it occurs and of the values there, so only names that are
    used alike in both states become equal. Two names can therefore swap places only if they do so wherever they occur.
    """
    subjects = {*expected, *actual}
    by_system: dict[str, set[str]] = {}
    for subject in subjects:
        if subject.startswith("external "):
            pairs = zip(expected.get(subject, ()), actual.get(subject, ()), strict=False)
            if words := _given_out({word for pair in pairs for word in _counted(*pair)}, subjects):
                by_system[subject] = words
    if not by_system:
        return None
    words = set().union(*by_system.values())
    long = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in sorted(words)))
    reached = {
        subject: (_largest(expected[subject], counted), _largest(actual[subject], counted))
        for subject, counted in by_system.items()
    }
    return Renamed(_by_meaning(expected, words, long), _by_meaning(actual, words, long), reached)


def _largest(value: Any, words: set[str]) -> int:
    """The largest of the last numbers in those ``words`` that are keys in ``value``, at any depth; 0 if none is."""
    if isinstance(value, list):
        return max((_largest(item, words) for item in value), default=0)
    if not isinstance(value, dict):
        return 0
    here = (int(_NUMBER.findall(name)[-1]) for name in value if name in words)
    return max([0, *here, *(_largest(item, words) for item in value.values())])


def _given_out(words: set[str], subjects: set[str]) -> set[str]:
    """Those of ``words`` that an external system may have made by counting. Words without a letter, such as ports and
    dates, are left out, and so are words that a controller made from an object's name, such as ``web1.example.org``.
    """
    own = "|".join(
        re.escape(part)
        for subject in subjects
        if not subject.startswith("external ")
        for part in subject.partition(" ")[2].split("/")
        if _NUMBER.search(part)
    )
    # A word that is the name of an object as a whole may come from outside: the object may be called after it.
    inside = re.compile(rf"(?<![A-Za-z0-9])(?:{own})(?![A-Za-z0-9])")
    return {
        word
        for word in words
        if re.search("[A-Za-z]", word) and not (own and any(match[0] != word for match in inside.finditer(word)))
    }


def _counted(ours: Any, theirs: Any) -> set[str]:
    """The keys, at any depth of the two values, that may have been made by counting: groups of keys that differ only in
    their numbers, if at least one key of the group has different values on the two sides.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return {word for pair in zip(ours, theirs, strict=False) for word in _counted(*pair)}
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return set()
    forms: dict[str, set[str]] = {}
    for name in {*ours, *theirs}:
        if _NUMBER.search(name):
            forms.setdefault(_NUMBER.sub("#", name), set()).add(name)
    words = {
        name
        for names in forms.values()
        if len(names) > 1 and any(ours.get(name) != theirs.get(name) for name in names)
        for name in names
    }
    return words.union(*(_counted(ours[name], theirs[name]) for name in ours if name in theirs))


def _by_meaning(snapshot: Snapshot, words: set[str], long: re.Pattern[str]) -> Snapshot:
    uses: dict[str, list[str]] = {word: [] for word in words}

    def note(text: str, place: str) -> None:
        for word in set(long.findall(text)):
            parts = long.split(text)
            marks = ["@" if match == word else "#" for match in long.findall(text)]
            pairs = zip_longest(parts, marks, fillvalue="")
            uses[word].append(f"{place} {''.join(part for pair in pairs for part in pair)}")

    def walk(value: Any, place: str) -> None:
        if isinstance(value, str):
            note(value, place)
        elif isinstance(value, dict):
            for name, item in value.items():
                below = f"{place}.{long.sub('#', name)}"
                plain = rename_value(item, lambda text: long.sub("#", text))
                note(name, f"{place} {msgspec.json.encode(plain, order='sorted').decode()}")
                walk(item, below)
        elif isinstance(value, list):
            for item in value:
                walk(item, f"{place}[]")

    for subject, items in snapshot.items():
        note(subject, "")
        for item in items:
            walk(item, long.sub("#", subject))
    meanings = {word: "; ".join(sorted(places)) for word, places in uses.items() if places}
    names: dict[str, str] = {}
    alike: Counter[str] = Counter()
    for word in sorted(meanings):
        alike[meaning := meanings[word]] += 1
        names[word] = f"<{blake2b(meaning.encode(), digest_size=8).hexdigest()} {alike[meaning]}>"
    return rename(snapshot, lambda text: long.sub(lambda match: names.get(match[0], match[0]), text))


def _unlike(left: str, right: str) -> list[tuple[str, str]]:
    """The pairs of words in which two names of the same form and kind differ; empty if their forms or kinds differ."""
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    if len(ours) != len(theirs) or _WORD.sub("", left) != _WORD.sub("", right):
        return []
    if left.partition(" ")[0] != right.partition(" ")[0]:
        return []
    return [(mine, yours) for mine, yours in zip(ours, theirs, strict=True) if mine != yours]


def _swapped(snapshot: Snapshot, words: dict[str, str]) -> Snapshot:
    """The snapshot with each word in ``words`` replaced by the one to which it is mapped, wherever it occurs."""
    return rename(snapshot, lambda text: _WORD.sub(lambda match: words.get(match[0], match[0]), text))
