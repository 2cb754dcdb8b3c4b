"""Replacement: a list being received, which will replace the objects of a store."""

from __future__ import annotations

from collections.abc import Iterator

from setpoint.cache.object_parser import Item
from setpoint.cache.object_record import Record, version_of
from setpoint.cache.record_map import Records
from setpoint.cache.store_change import Change


class Replacement:
    """A list being received. Its objects are compressed as they arrive, so the uncompressed list is never in memory."""

    def __init__(self, store: Records) -> None:
        self._store = store
        self._fresh: dict[str, Record] = {}
        self._epoch = store.index_epoch

    def __len__(self) -> int:
        return len(self._fresh)

    def add(self, key: str, item: Item) -> None:
        """Adds an object of the list; if the key is repeated, the later object replaces the earlier one."""
        record = self._store.record(key)
        if record is not None and item.version and item.version == version_of(record):
            self._fresh[key] = record
            return
        self._fresh[key] = self._store.seal(item)[0]

    def discard(self, key: str) -> None:
        """Removes an object that was deleted while the list was being received."""
        self._fresh.pop(key, None)

    def finish(self) -> Iterator[Change]:
        """Makes the store equal to the list in one step; returns the differences, deletions first."""
        fresh, self._fresh = self._fresh, {}
        return self._store.replace(fresh, self._epoch)
