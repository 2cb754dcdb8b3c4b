"""Index: the keys of objects, by the values that a function computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from setpoint.meta.object_head import Head

IndexFunction = Callable[[Any], Iterable[str] | str | None]
"""A function that returns the index values of a `Head` (or of an instance of the declared projection): a string, any
number of strings, or None for no value.
"""

_FEW = 8


class Index:
    """The keys of the objects for each value, in the order in which they were added.

    The keys for a value are stored in little memory: one key as itself, up to eight as a tuple, and more as a dict,
    which keeps the order and takes half the memory of a set.

    ``function`` must depend only on its argument: an instance of ``projection`` decoded from the object or, without a
    projection, the object's `Head`. ``values_of`` is ``function`` with its result converted to a tuple.
    """

    __slots__ = ("_postings", "function", "projection", "values_of")

    def __init__(self, function: IndexFunction, projection: type[Any] | None = None) -> None:
        self.function = function
        self.projection = projection
        self.values_of = answers(function)
        self._postings: dict[str, str | tuple[str, ...] | dict[str, None]] = {}

    def add(self, value: str, key: str) -> None:
        posting = self._postings.get(value)
        if posting is None:
            self._postings[value] = key
        elif isinstance(posting, dict):
            posting[key] = None
        else:
            keys = (posting,) if isinstance(posting, str) else posting
            if key in keys:
                return
            keys = (*keys, key)
            self._postings[value] = keys if len(keys) <= _FEW else dict.fromkeys(keys)

    def discard(self, value: str, key: str) -> None:
        posting = self._postings.get(value)
        if posting is None:
            return
        if isinstance(posting, dict):
            posting.pop(key, None)
            if not posting:
                del self._postings[value]
        elif isinstance(posting, str):
            if posting == key:
                del self._postings[value]
        else:
            keys = tuple(other for other in posting if other != key)
            # A tuple has at least two keys, so one is left.
            self._postings[value] = keys if len(keys) > 1 else "".join(keys)

    def keys(self, value: str) -> Iterable[str]:
        """The keys of the objects that have ``value``. Don't keep the result across a change of the store."""
        posting = self._postings.get(value)
        if posting is None:
            return ()
        return (posting,) if isinstance(posting, str) else posting

    def values(self) -> Iterator[str]:
        """The values that at least one object has."""
        return iter(self._postings)


def answers(function: IndexFunction) -> Callable[[Any], tuple[str, ...]]:
    """A function that converts the result of ``function`` to a tuple of strings: empty for None, with one item for a
    string. It raises a TypeError if an item is not a string.
    """
    if function is by_owner:
        return by_owner

    def values_of(argument: Any) -> tuple[str, ...]:
        result = function(argument)
        if result is None:
            return ()
        if isinstance(result, str):  # which is iterable, too: its letters are never meant
            return (result,)
        values = tuple(result)
        for value in values:
            if not isinstance(value, str):
                raise TypeError(f"an index function returns strings, not {value!r}")
        return values

    return values_of


def by_owner(head: Head) -> tuple[str, ...]:
    """The uids of the object's owners."""
    references = head.owner_references
    if len(references) == 1:
        return (references[0].uid,)
    return tuple([owner.uid for owner in references])


def by_label(label: str) -> IndexFunction:
    def function(head: Head) -> Iterable[str]:
        value = head.labels.get(label)
        return () if value is None else (value,)

    return function
