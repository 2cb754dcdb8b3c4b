"""Store: the objects of one resource, as compressed bytes.

*Guarantees*

- Each read sees a single state of the store, which does not change until the reading coroutine awaits.
- Repeated reads return objects in the same order (oldest first). The order depends only on the changes received.
- An object and its index entries change in one step, so an index never lists an object that lacks the value.
- The results of reads belong to the caller: documents are decompressed for each read, so nothing is shared.
- `Store.snapshot` returns a view that later changes don't affect.

*Caveats*

- A read costs a decompression (about 1 microsecond per kilobyte) and the caller's decoding.
- ``managedFields`` are not kept unless the `ObjectParser` keeps them.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, KeysView
from random import Random
from typing import Any

from setpoint.cache.compression import PLAIN, Compressor
from setpoint.cache.dictionary_training import SAMPLE_BYTES, SAMPLES, Training
from setpoint.cache.index import Index, IndexFunction
from setpoint.cache.indexes import Indexes, Values
from setpoint.cache.list_replacement import Replacement
from setpoint.cache.object_parser import Item, ObjectParser
from setpoint.cache.object_record import (
    TRAILER_BYTES,
    Record,
    same_fingerprint,
    scheme_of,
    seal,
    unseal,
    version_of,
)
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.store_change import Change
from setpoint.meta import Object, Selector, encode
from setpoint.meta.object_head import Head

_ABSENT = (-1, 0, 0, 0, 0)
"""Stands for the parts of the record of an object that is not in the store."""


class Store:
    """The objects of one resource, by key. Only a reflector changes a store; a `Lister` reads it.

    ``last_sync_resource_version`` is the newest resource version at which the store is known to be current: every event
    up to that version has been applied. It is ``""`` before the first sync.
    """

    def __init__(self, parser: ObjectParser) -> None:
        self.parser = parser
        self.last_sync_resource_version = ""
        self.raw_bytes = 0
        self.stored_bytes = 0
        self._compressor = Compressor()
        self._records: dict[str, Record] = {}
        self._namespaces: dict[str, dict[str, None]] = {}
        self.indexes = Indexes(self._read, parser.decode)
        self._snapshots: list[weakref.ref[Snapshot]] = []
        self._training = Training(self._compressor)
        self._to_recompress: list[str] = []

    # -- reading -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def keys(self) -> KeysView[str]:
        """A live view of the keys."""
        return self._records.keys()

    def get(self, key: str) -> bytes | None:
        """The JSON document of an object, or None if the object is missing."""
        record = self._records.get(key)
        return None if record is None else self.document(record)

    def head(self, key: str) -> Head | None:
        """The metadata of an object, or None if the object is missing."""
        record = self._records.get(key)
        return None if record is None else self.head_of(record)

    def record(self, key: str) -> Record | None:
        """The stored form of an object, or None if the object is missing; see `document` and `head_of`."""
        return self._records.get(key)

    def document(self, record: Record) -> bytes:
        """The JSON document in a current or earlier record of this store."""
        scheme = record[-1]
        if scheme == PLAIN:
            return record[:-TRAILER_BYTES]
        return self._compressor.decompress(scheme, record)

    def head_of(self, record: Record) -> Head:
        """The metadata in ``record``, which is a current or earlier record of this store."""
        _, _, end, _, scheme = unseal(record)
        document = record if scheme == PLAIN else self._compressor.decompress(scheme, record)
        return self.parser.head_of(document, end)

    def resource_version(self, key: str) -> int | None:
        """The object's resource version as an integer (0 if it is not an integer), or None if the object is missing."""
        record = self._records.get(key)
        return None if record is None else version_of(record)

    def same(self, left: Record, right: Record) -> bool:
        """Whether two records with the same key hold the same state of the object."""
        if left is right:
            return True
        version = version_of(left)
        if version or version_of(right):
            return version == version_of(right)
        return self.document(left) == self.document(right)

    def namespace(self, namespace: str) -> Iterable[str]:
        """The keys of the objects in a namespace."""
        return self._namespaces.get(namespace, ())

    def indexed(self, name: str, value: str) -> Iterable[str]:
        """The keys of the objects that have ``value`` in the index ``name``.

        Raises:
            KeyError: the index does not exist.
        """
        return self.indexes.named(name).keys(value)

    def index_values(self, name: str) -> list[str]:
        """The values that at least one object has in the index ``name``, sorted."""
        return sorted(self.indexes.named(name).values())

    def labelled(self, selector: Selector) -> Iterable[str] | None:
        """A superset of the keys of the objects that ``selector`` matches, or None if no index helps.

        A label that is selected by value is indexed from then on, up to 32 labels.
        """
        return self.indexes.labelled(selector, self._records)

    def index_values_of(self, index: Index, record: Record) -> tuple[str, ...]:
        """The values that an object has in an index, in the state that a record holds."""
        return self.indexes.values_of(index, record)

    def snapshot(self) -> Snapshot:
        """A snapshot of the current state; close it (or drop it) when done."""
        snapshot = Snapshot(self)
        self._snapshots.append(weakref.ref(snapshot))
        return snapshot

    # -- indexes -------------------------------------------------------------------------------------------------------

    def add_index(self, name: str, function: IndexFunction, *, projection: type[Any] | None = None) -> str:
        """Adds an index. This may be called at any time; existing objects are indexed at once.

        Returns the name of the index in this store, which differs from ``name`` if an index of a different function has
        that name. ``function`` must depend only on its argument and always return the same result for it. If it raises
        for an object, the error is logged and the object is left out of the index.
        """
        return self.indexes.add(name, function, projection, self._records)

    def index(self, name: str) -> Index:
        """The index with this ``name``. Raises `KeyError` if there is none."""
        return self.indexes.named(name)

    # -- changing ------------------------------------------------------------------------------------------------------

    def put(self, key: str, item: Item) -> tuple[Record | None, Record] | None:
        """Adds or replaces an object. Returns the replaced record, which is None if there was none, and the new one; or
        None if the object isn't newer.
        """
        old = self._records.get(key)
        version, fingerprint, _, old_length, _ = unseal(old) if old is not None else _ABSENT
        if item.version and item.version <= version:
            return None
        record, small, new_fingerprint, values = self.seal(item)
        length = len(item.document)
        if old is None:
            self._insert(key, item.head.namespace, record, length, values)
        else:
            changed = fingerprint != new_fingerprint
            self._update(key, old, record, length - old_length, values if changed else None)
        if self._training.put(length, small, len(self._records)):
            self._consider_training()
        return old, record

    def add(self, item: Object) -> None:
        """Adds an object that did not come from a server, to fill a cache before its informer runs.

        The first list corrects the store: if the object is not on the server, handlers are told that it was deleted. An
        object without a resource version replaces any state, and any state replaces it.

        Raises:
            UnexpectedKind: the object is not of this store's kind.
            DecodeError: the object has no name, or the transform failed for it.
        """
        read = self.parser.read(encode(item))
        self.put(str(item.key), read)

    def seal(self, item: Item) -> tuple[Record, int, int, Values]:
        """The record of an object, the record's length without the trailer, its fingerprint, and the object's index
        values.
        """
        head, document, indexes = item.head, item.document, self.indexes
        values = indexes.values(head, document)
        fingerprint = indexes.fingerprint(head, values)
        scheme, small = self._compressor.compress(document)
        record = seal(small, item.version, fingerprint, item.end, len(document), scheme)
        return record, len(small), fingerprint, values

    def remove(self, key: str) -> Record | None:
        """Removes an object; returns its last record, or None if it was missing."""
        old = self._records.pop(key, None)
        if old is None:
            return None
        if self._snapshots:
            self._save(key, old)
        namespace, slash, _ = key.partition("/")
        if slash:
            keys = self._namespaces[namespace]
            keys.pop(key, None)
            if not keys:
                del self._namespaces[namespace]
        self.indexes.change(key, old, None)
        self.raw_bytes -= unseal(old)[3]
        self.stored_bytes -= len(old)
        return old

    def _insert(self, key: str, namespace: str, record: Record, length: int, values: Values) -> None:
        """Stores the record of a new object, and adds the object to the indexes."""
        if self._snapshots:
            self._save(key, None)
        self._records[key] = record
        self.stored_bytes += len(record)
        self.raw_bytes += length
        if namespace:
            keys = self._namespaces.get(namespace)
            if keys is None:
                keys = self._namespaces[namespace] = {}
            keys[key] = None
        self.indexes.change(key, None, values)

    def _update(self, key: str, old: Record, record: Record, growth: int, values: Values | None) -> None:
        """Replaces the record of an object, whose document has grown by ``growth`` bytes. ``values`` is None if its
        index values are unchanged.
        """
        if self._snapshots:
            self._save(key, old)
        self._records[key] = record
        self.stored_bytes += len(record) - len(old)
        self.raw_bytes += growth
        if values is not None:
            self.indexes.change(key, old, values)

    def replacement(self) -> Replacement:
        """Begins the replacement of all objects by a new list; the store does not change until `Replacement.finish`."""
        return Replacement(self)

    @property
    def index_epoch(self) -> int:
        """A number that changes when an index is added."""
        return self.indexes.epoch

    def replace(self, fresh: dict[str, Record], epoch: int) -> Iterator[Change]:
        """Replaces all records with ``fresh`` in one step; returns the differences, deletions first.

        ``epoch`` is the `index_epoch` at which the first of the fresh records was sealed. If an index was added since
        then, equal fingerprints do not show that an object has the same values in that index as before.
        """
        indexed = epoch == self.indexes.epoch
        changes = [Change(key, record, None) for key, record in self._records.items() if key not in fresh]
        for change in changes:
            self.remove(change.key)
        for key, record in fresh.items():
            old = self._records.get(key)
            if old is not None and self.same(old, record):
                changes.append(Change(key, old, old, True))
                continue
            changes.append(Change(key, old, record))
            length = unseal(record)[3]
            if old is None:
                namespace = key.partition("/")[0] if "/" in key else ""
                self._insert(key, namespace, record, length, self.indexes.values(*self._read(record)))
            else:
                changed = not indexed or not same_fingerprint(old, record)
                values = self.indexes.values(*self._read(record)) if changed else None
                self._update(key, old, record, length - unseal(old)[3], values)
        self._consider_training()
        return iter(changes)

    def _read(self, record: Record) -> tuple[Head, bytes]:
        document = self.document(record)
        return self.parser.head_of(document, unseal(record)[2]), document

    def _save(self, key: str, old: Record | None) -> None:
        alive = []
        for reference in self._snapshots:
            snapshot = reference()
            if snapshot is not None and not snapshot.closed:
                snapshot.saved.setdefault(key, old)
                alive.append(reference)
        self._snapshots = alive

    # -- dictionaries --------------------------------------------------------------------------------------------------

    def _consider_training(self) -> None:
        if self._training.is_due(len(self._records)) and not self._to_recompress:
            self._train()

    def _train(self) -> None:
        """Trains a dictionary on objects from all parts of the store. If it is adopted, `maintain` recompresses the
        objects.
        """
        count = len(self._records)
        # A fixed step could meet the same few groups of objects again and again, if these come in turns.
        places = sorted(Random(count).sample(range(count), min(SAMPLES, count)))
        records = iter(self._records.values())
        documents = []
        budget = 16 * SAMPLE_BYTES
        for before, place in zip([-1, *places], places, strict=False):
            record = next(itertools.islice(records, place - before - 1, None))
            length = unseal(record)[3]
            if length <= SAMPLE_BYTES and length <= budget:
                documents.append(self.document(record))
                budget -= length
        if self._training.train(documents, count):
            self._to_recompress = list(self._records)

    def maintain(self, limit: int = 64) -> bool:
        """Recompresses up to ``limit`` objects with the newest dictionary; returns whether any are left."""
        pending = self._to_recompress
        if not pending:
            return False
        newest = self._compressor.scheme
        for key in itertools.islice(iter(pending[-limit:]), limit):
            record = self._records.get(key)
            if record is not None and scheme_of(record) != newest:
                version, fingerprint, end, length, _ = unseal(record)
                scheme, small = self._compressor.compress(self.document(record))
                fresh = seal(small, version, fingerprint, end, length, scheme)
                self.stored_bytes += len(fresh) - len(record)
                self._records[key] = fresh
        del pending[-limit:]
        return bool(pending)
