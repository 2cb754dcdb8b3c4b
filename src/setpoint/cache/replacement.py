"""Replacement: a list that is coming in, to take the place of a store's objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from setpoint.cache.intake import Item
from setpoint.cache.record import Record, version_number, version_of

if TYPE_CHECKING:
    from setpoint.cache.store import Change, Store


class Replacement:
    """A list that is coming in. Its objects are compressed as they come, so the whole list is never held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fresh: dict[str, Record] = {}
        self._epoch = store.index_epoch

    def __len__(self) -> int:
        return len(self._fresh)

    def add(self, key: str, item: Item) -> None:
        """An object of the list; the same key again replaces it."""
        version = version_number(item.head.resource_version)
        known = self._store.record(key)
        if known is not None and version and version == version_of(known):
            self._fresh[key] = known
            return
        self._fresh[key] = self._store.seal(item, version)[0]

    def discard(self, key: str) -> None:
        """The object was deleted while the list was coming in."""
        self._fresh.pop(key, None)

    def finish(self) -> Iterator[Change]:
        """Make the store equal to the list, in one step; then the differences: first what went, then what came."""
        fresh, self._fresh = self._fresh, {}
        return self._store.replace(fresh, self._epoch)
