"""Indexes: all the indexes of one store, and their updates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from traceback import clear_frames
from typing import Any

from msgspec.structs import astuple

from setpoint.cache.function_names import name_of, place_of
from setpoint.cache.index import Index, IndexFunction, by_label, by_owner
from setpoint.cache.object_record import Record
from setpoint.meta import Selector
from setpoint.meta.object_head import Head

logger = logging.getLogger("setpoint.cache")

OWNER = "owner"
"""The name of the built-in index from an owner's uid to the objects that it owns."""

Values = tuple[tuple[str, ...], ...]
"""The values of one object in each index."""

_MASK = (1 << 64) - 1
_LABEL_INDEXES = 32


class Indexes:
    """The named indexes of a store, and the indexes of labels, which are built on first use.

    ``read`` returns the head and the document of a record, and ``decode`` an object of a class from a document. If a
    function raises for an object, the error is logged and the object is left out of that index.
    """

    __slots__ = ("_all", "_decode", "_labels", "_named", "_read", "epoch", "problem")

    def __init__(self, read: Callable[[Record], tuple[Head, bytes]], decode: Callable[[type[Any], bytes], Any]) -> None:
        self._read = read
        self._decode = decode
        self._named: dict[str, Index] = {OWNER: Index(by_owner)}
        self._labels: dict[str, Index] = {}
        self._all: tuple[Index, ...] = tuple(self._named.values())
        self.epoch = 0
        """A number that grows when an index is added. Fingerprints from different epochs can't be compared."""
        self.problem: tuple[str, str, Exception] | None = None
        """The name of the first index function that raised an exception, the key of the object, and the exception. A
        reader may set it to None.
        """

    # -- looking up ----------------------------------------------------------------------------------------------------

    def named(self, name: str) -> Index:
        """The index with this ``name``. Raises `KeyError` if there is none."""
        try:
            return self._named[name]
        except KeyError:
            raise KeyError(f"there is no index {name!r}; available: {', '.join(sorted(self._named))}") from None

    def labelled(self, selector: Selector, records: Mapping[str, Record]) -> Iterable[str] | None:
        """See `Store.labelled`."""
        best: list[str] | None = None
        for requirement in selector.requirements:
            if requirement.operator not in ("=", "in"):
                continue
            index = self._labels.get(requirement.key)
            if index is None:
                if len(self._labels) >= _LABEL_INDEXES:
                    continue
                index = self._labels[requirement.key] = Index(by_label(requirement.key))
                self._build(index, records)
            keys = [key for value in sorted(requirement.values) for key in index.keys(value)]
            if best is None or len(keys) < len(best):
                best = keys
        return best

    # -- adding --------------------------------------------------------------------------------------------------------

    def add(
        self, name: str, function: IndexFunction, projection: type[Any] | None, records: Mapping[str, Record]
    ) -> str:
        number, free = 1, name
        while (registered := self._named.get(free)) is not None:
            if registered.function == function and registered.projection is projection:
                return free
            number += 1
            free = f"{name}#{number}"
        index = Index(function, projection)
        self._build(index, records)
        self._named[free] = index
        self._all = (*self._named.values(), *self._labels.values())
        return free

    def _build(self, index: Index, records: Mapping[str, Record]) -> None:
        for key, record in records.items():
            for value in self._values(index, *self._read(record), {}):
                index.add(value, key)
        # The fingerprints of records are out of date now: the next change of each compares with the old state.
        self.epoch += 1
        self._all = (*self._named.values(), *self._labels.values())

    # -- changes -------------------------------------------------------------------------------------------------------

    def values(self, head: Head, document: bytes) -> Values:
        if not self.epoch:  # only the index of owners, whose function raises nothing
            return (by_owner(head),)
        decoded: dict[type[Any], Any] = {}
        return tuple([self._values(index, head, document, decoded) for index in self._all])

    def values_of(self, index: Index, record: Record) -> tuple[str, ...]:
        """The values that an object has in one index, in the state that ``record`` holds."""
        return self._values(index, *self._read(record), {})

    def fingerprint(self, head: Head, values: Values) -> int:
        """A hash that shows, without decoding, whether an object's identity, owners or index values have changed."""
        owners = head.owner_references
        if owners:
            return hash((self.epoch, values, head.uid, *map(astuple, owners))) & _MASK
        return hash((self.epoch, values, head.uid)) & _MASK

    def change(self, key: str, old: Record | None, values: Values | None) -> None:
        """Updates the indexes after a change of the object at ``key``. ``old`` is its record before the change, None if
        the object did not exist. ``values`` are its values after the change, None if the object no longer exists.
        """
        if old is None:
            for index, new_values in zip(self._all, values or (), strict=values is not None):
                for value in new_values:
                    index.add(value, key)
            return
        head, document = self._read(old)
        decoded: dict[type[Any], Any] = {}
        for place, index in enumerate(self._all):
            old_values = self._values(index, head, document, decoded)
            new_values = values[place] if values is not None else ()
            if old_values != new_values:
                for value in old_values:
                    if value not in new_values:
                        index.discard(value, key)
                for value in new_values:
                    index.add(value, key)

    def _values(self, index: Index, head: Head, document: bytes, decoded: dict[type[Any], Any]) -> tuple[str, ...]:
        """The object's values in one index. ``decoded`` keeps what was decoded for other indexes, by class."""
        projection = index.projection
        try:
            if projection is None:
                return index.values_of(head)
            if projection not in decoded:
                decoded[projection] = self._decode(projection, document)
            return index.values_of(decoded[projection])
        except Exception as problem:  # one object that a function can't read must not end the watch
            name = name_of(index.function)
            logger.exception("index function %s failed for %s: it is not indexed", name, head.key)
            clear_frames(problem.__traceback__)  # their variables may be large
            if self.problem is None:
                self.problem = (f"{name} {place_of(index.function)}".rstrip(), head.key, problem)
            return ()
