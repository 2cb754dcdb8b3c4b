"""Allocated values: values of which each object gets one, such as addresses. Two states count as equal if objects have
merely got each other's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple

import msgspec

from setpoint.simulation.comparison.differences import Difference, drop_indexes, find_differences
from setpoint.simulation.comparison.renaming import rename
from setpoint.simulation.comparison.snapshot import Snapshot

_TOKEN: Final = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER: Final = re.compile(r"\d+")
_SHORT: Final = 2
"""Numbers of up to so many digits may count something: they are replaced where they are a whole value, and not within
a text.
"""
_MOST: Final = 6
"""The most groups of differences of which all combinations are tried."""
_MOST_OBJECTS: Final = 20
"""The most differing objects of a kind of which each is compared with each."""

Permutation = dict[str, str]
"""The texts of values, and those which have taken their places. It maps a set of texts onto itself."""


class _Group(NamedTuple):
    """An exchange that differences suggest: those in one ``field``, those in a field whose values are ``new`` ones, or
    those in the ``names`` of objects.
    """

    of: Literal["field", "new", "names"]
    words: Permutation


class AllocatedValues:
    """Finds the exchanges that make one state of another. ``rests`` are the states of the undisturbed run at the ends
    of its steps, and ``desired`` has the objects (collection and label) that users ask for in any of them.
    """

    def __init__(self, rests: Sequence[Snapshot], desired: Collection[str] = ()) -> None:
        self._rests = rests
        self._desired = desired

    def of(
        self, expected: Snapshot, actual: Snapshot, differences: list[Difference], *, alike: bool = False
    ) -> Iterator[tuple[Permutation, Snapshot]]:
        """The ways in which values may have been given out otherwise, as ``differences`` suggests (those between
        ``expected`` and ``actual``), and what ``expected`` is then. An exchange applies to the whole state: to values,
        to parts of texts, to keys, and to the names of objects, so that only what is used alike in both states becomes
        equal.

        Names alone are not exchanged: an object of another name may be the wrong one. With ``alike``, those of objects
        that users ask for in the same way are: of two that came at once, either may get the last of a pool or quota. A
        value that was nowhere before has to be reserved by an object that is named after it.
        """
        if hashes := _of_templates(expected, actual, differences):
            yield hashes, permute(expected, hashes)
        groups = self._of_fields(expected, actual, differences)
        if not groups and not alike:
            return
        groups += [_Group("names", words) for words in _of_names(expected, actual, differences)]
        sizes = range(1, len(groups) + 1) if len(groups) <= _MOST else (1, len(groups))
        for size in sizes:
            for several in combinations(groups, size):
                kinds = {group.of for group in several}
                exchange = _merged(group.words for group in several)
                if not exchange or kinds == {"new"} or kinds == {"new", "field"}:
                    continue
                if kinds != {"names"} or (alike and self._are_alike(exchange, expected)):
                    yield exchange, permute(expected, exchange)
        if alike and (state := self._exchange_statuses(expected, differences)):
            yield {}, state

    def _exchange_statuses(self, expected: Snapshot, differences: list[Difference]) -> Snapshot:
        """The state in which two objects that came alike have each other's statuses, if they differ in nothing else:
        users have changed one of them since. Empty if there are no such objects.
        """
        subjects = sorted({difference.subject for difference in differences})
        if len(subjects) != 2 or not all(difference.path.startswith("status.") for difference in differences):
            return {}
        names = _unlike(*subjects)
        both = next((rest for rest in self._rests if all(subject in rest for subject in subjects)), {})
        items = [item for subject in subjects for item in expected.get(subject, ())]
        if len(items) != 2 or not names or not self._are_alike(_completed(names), both):
            return {}
        first, second = items
        exchanged = [{**first, "status": second.get("status")}, {**second, "status": first.get("status")}]
        return {**expected, **{subject: [item] for subject, item in zip(subjects, exchanged, strict=True)}}

    def _are_alike(self, names: Permutation, expected: Snapshot) -> bool:
        """Whether the names are those of objects that users ask for, and what they ask for is the same afterwards."""
        users = {
            subject: [{key: value for key, value in item.items() if key != "status"} for item in items]
            for subject, items in expected.items()
            if subject in self._desired
        }
        words = {word for subject in users for word in _TOKEN.findall(subject.partition(" ")[2])}
        return words.issuperset(names) and permute(users, names) == users

    def _of_fields(self, expected: Snapshot, actual: Snapshot, differences: list[Difference]) -> list[_Group]:
        """A group for each field whose values stand in one another's places. The objects may not have the same owner:
        what each of an object's children gets is up to that object.
        """
        fields: dict[str, dict[str, list[Permutation]]] = {}
        for difference in differences:
            if difference.path:
                field, holder = _place(difference.subject, difference.path)
                fields.setdefault(field, {}).setdefault(holder, []).append(
                    _unlike(difference.expected, difference.actual)
                )
        result = []
        for field, holders in fields.items():
            parts = {holder: _merged(several) or {} for holder, several in holders.items()}
            whole = _merged(parts.values())
            # The same parts in another order within one object have not been exchanged between objects.
            if not whole or not _is_injective(whole) or any(map(_is_onto, parts.values())):
                continue
            if _is_onto(whole):
                if len({_owner(holder, expected, actual) for holder in holders}) == len(holders):
                    result.append(_Group("field", whole))
                continue
            new = [words for holder, words in parts.items() if not self._was_anothers(field, holder, words)]
            if all(self._is_next(field, words) for words in new):
                result.append(_Group("new" if new else "field", _completed(whole)))
        return result

    def _was_anothers(self, field: str, holder: str, words: Permutation) -> bool:
        """Whether objects of other owners had the new values of the field at the ends of steps, and this one and other
        children of its owner never did.
        """
        holders = self._holders.get(field, {})
        mine = _owner(holder, *self._rests)
        others = [{_owner(other, *self._rests) for other in holders.get(new, ())} for new in words.values()]
        return all(owners and mine not in owners for owners in others)

    def _is_next(self, field: str, words: Permutation) -> bool:
        """Whether the field is one whose values are given out, and the new values are of the form of the old ones and
        were nowhere: an object that came while another still held its value gets the next one.
        """
        return field in self._holders and all(
            _NUMBER.sub("#", old) == _NUMBER.sub("#", new) and new not in self._texts for old, new in words.items()
        )

    @cached_property
    def _holders(self) -> dict[str, dict[str, set[str]]]:
        """The fields whose values are given out: several objects had the field at the end of a step, and never two of
        them the same value. For each, the values, and the objects that had them.
        """
        by_field: dict[str, dict[str, set[str]]] = {}
        several: set[str] = set()
        twice: set[str] = set()
        for rest in self._rests:
            here: dict[str, dict[str, str]] = {}
            for subject, items in rest.items():
                for path, value in (leaf for item in items for leaf in _leaves(item, "")):
                    field, holder = _place(subject, path)
                    if here.setdefault(field, {}).setdefault(value, holder) != holder:
                        twice.add(field)
            for field, values in here.items():
                if len(set(values.values())) > 1:
                    several.add(field)
                for value, holder in values.items():
                    for word in _TOKEN.findall(value):
                        by_field.setdefault(field, {}).setdefault(word, set()).add(holder)
        return {field: words for field, words in by_field.items() if field in several - twice}

    @cached_property
    def _texts(self) -> frozenset[str]:
        """All parts of all texts in the undisturbed run."""
        return frozenset(_TOKEN.findall(msgspec.json.encode(self._rests).decode()))


def _of_names(expected: Snapshot, actual: Snapshot, differences: list[Difference]) -> Iterator[Permutation]:
    """One exchange of names for each kind whose objects stand in one another's places."""
    kinds: dict[str, set[str]] = {}
    for difference in differences:
        kinds.setdefault(difference.subject.partition(" ")[0], set()).add(difference.subject)
    for subjects in kinds.values():
        names: Permutation = {}
        if len(subjects) > _MOST_OBJECTS:
            continue
        for subject in sorted(subjects & expected.keys()):
            for other in sorted((subjects - {subject}) & actual.keys()):
                words = _unlike(subject, other)
                if words and not find_differences(permute({subject: expected[subject]}, words), {other: actual[other]}):
                    names |= words
                    break
        if names and _is_injective(names):
            yield _completed(names)


def _of_templates(expected: Snapshot, actual: Snapshot, differences: list[Difference]) -> Permutation:
    """The exchange of the hashes in the names of the ReplicaSets that Deployments have made. A Deployment takes another
    hash of the same template if the ReplicaSet of an earlier Deployment still has the name.
    """
    hashes: list[Permutation] = [{}, {}]
    for difference in differences:
        if difference.subject.startswith("replicasets.apps ") and not difference.path:
            for state, by_name in zip((expected, actual), hashes, strict=True):
                for item in state.get(difference.subject, ()):
                    value = item.get("metadata", {}).get("labels", {}).get("pod-template-hash")
                    if value and difference.subject.endswith(f"-{value}"):
                        by_name[difference.subject.removesuffix(value)] = value
    ours, theirs = hashes
    words = {ours[name]: theirs[name] for name in ours.keys() & theirs.keys()}
    return _completed(words) if _is_injective(words) else {}


def _place(subject: str, path: str) -> tuple[str, str]:
    """The field of a kind, and what has it: an object, or a key in an external system."""
    if subject.startswith("external "):
        return f"{subject} {drop_indexes(path).rpartition('.')[0]}", f"{subject} {path}"
    return f"{subject.partition(' ')[0]} {drop_indexes(path)}", subject


def _owner(holder: str, *states: Snapshot) -> str:
    """The uid of the object that controls this one; otherwise the object itself."""
    for state in states:
        for item in state.get(holder, ()):
            for reference in item.get("metadata", {}).get("ownerReferences", ()):
                if reference.get("controller"):
                    return str(reference.get("uid"))
    return holder


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The texts and numbers in a value, with their paths as `find_differences` has them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            keyed = isinstance(item, dict) and "type" in item
            yield from _leaves(item, f"{path}.{item['type']}" if keyed else f"{path}[]")
    elif isinstance(value, (str, int)):
        yield path, str(value)


def _unlike(left: Any, right: Any) -> Permutation:
    """The parts in which two texts or numbers differ; empty if one of them is empty, or they are of other kinds."""
    if type(left) is not type(right) or not isinstance(left, (str, int)) or "" in (left, right):
        return {}
    ours, theirs = str(left), str(right)
    if _TOKEN.sub("#", ours) != _TOKEN.sub("#", theirs):
        return {ours: theirs}
    pairs = zip(_TOKEN.findall(ours), _TOKEN.findall(theirs), strict=True)
    return {mine: yours for mine, yours in pairs if mine != yours}


def _merged(several: Iterable[Permutation]) -> Permutation | None:
    """All exchanges in one; None if two of them contradict each other, or one says nothing."""
    whole: Permutation = {}
    for exchange in several:
        if not exchange or any(whole.get(old, new) != new for old, new in exchange.items()):
            return None
        whole |= exchange
    return whole


def _is_onto(exchange: Permutation) -> bool:
    return set(exchange) == set(exchange.values())


def _is_injective(exchange: Permutation) -> bool:
    return len(set(exchange.values())) == len(exchange)


def _completed(exchange: Permutation) -> Permutation:
    """The exchange in which the texts that took the places of others are given their places in return."""
    whole = dict(exchange)
    for last in exchange.values():
        if last in whole:
            continue
        first = last
        while (before := next((old for old, new in exchange.items() if new == first), None)) is not None:
            first = before
        whole[last] = first
    return whole


def permute(snapshot: Snapshot, exchange: Permutation) -> Snapshot:
    """The snapshot after the exchange."""

    def number(value: int) -> int:
        new = exchange.get(str(value), "")
        return int(new) if new.isdecimal() else value

    return rename(snapshot, make_replacer(exchange), number)


def make_replacer(exchange: Permutation) -> Callable[[str], str]:
    """A function that carries out the exchange in a text."""
    long = [re.escape(word) for word in exchange if not (word.isdecimal() and len(word) <= _SHORT)]
    long.sort(key=len, reverse=True)
    within = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(long)})(?![A-Za-z0-9])") if long else None

    def text(value: str) -> str:
        if value in exchange or within is None:
            return exchange.get(value, value)
        return within.sub(lambda match: exchange[match[0]], value)

    return text
