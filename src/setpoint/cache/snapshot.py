"""Snapshot: a view of a store as it was at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from setpoint.cache.object_record import Record
from setpoint.cache.record_map import Records
from setpoint.meta import Selector
from setpoint.meta.object_head import Head

_Belongs: TypeAlias = Callable[[str, Record], bool]


class Snapshot:
    """A view of a `Store` that later changes don't affect. It has the read methods that a `Lister` needs.

    It keeps only the old states of the objects that have changed since it was made, so a snapshot of a quiet store
    costs nothing, whatever its size. Use it in a ``with`` statement, or drop it.
    """

    def __init__(self, store: Records) -> None:
        self._store = store
        self.saved: dict[str, Record | None] = {}
        self.closed = False
        self.last_sync_resource_version = store.last_sync_resource_version

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops recording changes. Reading objects or keys from a closed snapshot raises `ValueError`."""
        self.closed = True
        self.saved = {}

    def record(self, key: str) -> Record | None:
        self._check_open()
        return self.saved[key] if key in self.saved else self._store.record(key)

    def document(self, record: Record) -> bytes:
        return self._store.document(record)

    def head_of(self, record: Record) -> Head:
        return self._store.head_of(record)

    def get(self, key: str) -> bytes | None:
        record = self.record(key)
        return None if record is None else self._store.document(record)

    def head(self, key: str) -> Head | None:
        record = self.record(key)
        return None if record is None else self._store.head_of(record)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.record(key) is not None

    def __iter__(self) -> Iterator[str]:
        return self._corrected(self._store.keys(), lambda _key, _record: True)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def namespace(self, namespace: str) -> Iterable[str]:
        prefix = f"{namespace}/"
        return self._corrected(self._store.namespace(namespace), lambda key, _record: key.startswith(prefix))

    def indexed(self, name: str, value: str) -> Iterable[str]:
        keys = self._store.indexed(name, value)
        index = self._store.index(name)
        return self._corrected(keys, lambda _key, record: value in self._store.index_values_of(index, record))

    def labelled(self, selector: Selector) -> Iterable[str] | None:
        keys = self._store.labelled(selector)
        if keys is None:
            return None
        return self._corrected(keys, lambda _key, record: selector.matches(self._store.head_of(record).labels))

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("this snapshot is closed")

    def _corrected(self, keys: Iterable[str], belongs: _Belongs) -> Iterator[str]:
        """Those of ``keys`` whose objects have not changed, and the keys of changed objects that ``belongs``
        accepts.
        """
        self._check_open()
        saved = self.saved
        if not saved:
            return iter(list(keys))
        keys_left = [key for key in keys if key not in saved]
        keys_left += [key for key, record in saved.items() if record is not None and belongs(key, record)]
        return iter(keys_left)
