"""Pools: values of which each object gets one, such as addresses. Two states count as equal if objects have merely got
each other's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import msgspec

from setpoint.simulation.state import Difference, Snapshot, differences, in_order

_TOKEN: Final = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER: Final = re.compile(r"\d+")
_SHORT: Final = 3
"""Numbers of up to so many digits may count something: they are replaced where they are a whole value, and not within
a text.
"""
_MOST: Final = 6
"""The most groups of differences of which all combinations are tried."""
_MOST_OBJECTS: Final = 50
"""The most differing objects of a kind of which each is compared with each."""

Exchange = dict[str, str]
"""The texts of values, and those which have taken their places. It maps a set of texts onto itself."""


class Pools:
    """Finds the exchanges that make one state of another. ``rests`` are the states of the undisturbed run at the ends
    of its steps.
    """

    def __init__(self, rests: Sequence[Snapshot]) -> None:
        self._rests = rests
        self._held: dict[str, frozenset[str]] = {}

    @cached_property
    def _texts(self) -> frozenset[str]:
        """All parts of all texts in the undisturbed run."""
        return frozenset(_TOKEN.findall(msgspec.json.encode(self._rests).decode()))

    def exchanges(
        self, expected: Snapshot, found: Snapshot, left: list[Difference]
    ) -> Iterator[tuple[Exchange, Snapshot]]:
        """The ways in which values may have been given out otherwise, as ``left`` suggests, the differences between
        ``expected`` and ``found``, and what ``expected`` is then. An exchange applies to the whole state: to values, to
        parts of texts, to keys, and to the names of objects, so that only what is used alike in both states becomes
        equal.
        """
        fields = self._of_fields(left)
        if not fields:
            return  # names alone say nothing: an object of another name may be the wrong one
        groups = [*fields, *self._of_objects(expected, found, left)]
        sizes = range(1, len(groups) + 1) if len(groups) <= _MOST else (1, 2, len(groups))
        for size in sizes:
            for several in combinations(groups, size):
                exchange = _merged(several)
                if exchange and any(each in fields for each in several):
                    yield exchange, exchanged(expected, exchange)

    def _of_fields(self, left: list[Difference]) -> list[Exchange]:
        """One exchange for each field of a kind whose values stand in one another's places."""
        fields: dict[str, dict[str, list[Exchange]]] = {}
        for each in left:
            if each.path:
                words = _unlike(each.expected, each.found)
                fields.setdefault(each.mask, {}).setdefault(each.subject, []).append(words)
        result = []
        for mask, objects in fields.items():
            in_objects = [_merged(several) for several in objects.values()]
            whole = _merged([words or {} for words in in_objects])
            # The same parts in another order within one object have not been exchanged between objects.
            if not whole or any(words and _is_onto(words) for words in in_objects):
                continue
            if _is_onto(whole) or (_is_injective(whole) and self._is_given_out(mask, whole)):
                result.append(_completed(whole))
        return result

    def _is_given_out(self, mask: str, exchange: Exchange) -> bool:
        """Whether each new value of the field was an object's at the end of a step, or is of the old one's form and was
        nowhere: an object that came while another still held its value gets the next one.
        """
        values = self._values(mask)
        return bool(values) and all(
            new in values or (_form(old) == _form(new) and not _is_number(new) and new not in self._texts)
            for old, new in exchange.items()
        )

    def _values(self, mask: str) -> frozenset[str]:
        """The values that the field had at the ends of steps, if several objects had it and never the same: such values
        are given out. Otherwise it is empty.
        """
        if mask not in self._held:
            collection, _, path = mask.partition(" ")
            all_values: set[str] = set()
            several = False
            for rest in self._rests:
                values = [
                    str(value)
                    for subject, items in rest.items()
                    if subject.partition(" ")[0] == collection
                    for item in items
                    if isinstance(value := _at(item, path), (str, int)) and value != ""
                ]
                if len(set(values)) < len(values):
                    all_values.clear()
                    several = False
                    break
                all_values.update(values)
                several = several or len(values) > 1
            self._held[mask] = frozenset(all_values) if several else frozenset()
        return self._held[mask]

    def _of_objects(self, expected: Snapshot, found: Snapshot, left: list[Difference]) -> Iterator[Exchange]:
        """One exchange of names for each kind whose objects stand in one another's places."""
        kinds: dict[str, set[str]] = {}
        for each in left:
            kinds.setdefault(each.subject.partition(" ")[0], set()).add(each.subject)
        for subjects in kinds.values():
            names: Exchange = {}
            if len(subjects) > _MOST_OBJECTS:
                continue
            for one in sorted(each for each in subjects if each in expected):
                for other in sorted(each for each in subjects - {one} if each in found):
                    words = _unlike(one, other)
                    if words and not differences(exchanged({one: expected[one]}, words), {other: found[other]}):
                        names |= words
                        break
            if names and _is_injective(names):
                yield _completed(names)


def _at(item: Any, path: str) -> Any:
    """The value at a path of keys without dots; None if there is none."""
    for part in path.split("."):
        item = item.get(part) if isinstance(item, dict) else None
    return item


def _unlike(one: Any, other: Any) -> Exchange:
    """The parts in which two texts or numbers differ; empty if they are of other kinds."""
    if type(one) is not type(other) or not isinstance(one, (str, int)):
        return {}
    ours, theirs = str(one), str(other)
    if _TOKEN.sub("#", ours) != _TOKEN.sub("#", theirs):
        return {ours: theirs}
    pairs = zip(_TOKEN.findall(ours), _TOKEN.findall(theirs), strict=True)
    return {mine: yours for mine, yours in pairs if mine != yours}


def _merged(several: Iterable[Exchange]) -> Exchange | None:
    """All exchanges in one; None if two of them contradict each other, or one says nothing."""
    whole: Exchange = {}
    for exchange in several:
        if not exchange or any(whole.get(old, new) != new for old, new in exchange.items()):
            return None
        whole |= exchange
    return whole


def _form(text: str) -> str:
    return _NUMBER.sub("#", text)


def _is_number(text: str) -> bool:
    """Whether the text may be the number of something."""
    return text.isdecimal() and len(text) <= _SHORT


def _is_onto(exchange: Exchange) -> bool:
    return set(exchange) == set(exchange.values())


def _is_injective(exchange: Exchange) -> bool:
    return len(set(exchange.values())) == len(exchange)


def _completed(exchange: Exchange) -> Exchange:
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


def exchanged(snapshot: Snapshot, exchange: Exchange) -> Snapshot:
    """The snapshot after the exchange."""
    text = renaming(exchange)

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        if type(value) is int and exchange.get(str(value), "").isdecimal():
            return int(exchange[str(value)])
        return value

    return in_order({text(name): [walk(each) for each in items] for name, items in snapshot.items()})


def renaming(exchange: Exchange) -> Callable[[str], str]:
    """A function that carries out the exchange in a text."""
    long = [re.escape(each) for each in exchange if not _is_number(each)]
    long.sort(key=len, reverse=True)
    within = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(long)})(?![A-Za-z0-9])") if long else None

    def text(value: str) -> str:
        if value in exchange or within is None:
            return exchange.get(value, value)
        return within.sub(lambda match: exchange[match[0]], value)

    return text
