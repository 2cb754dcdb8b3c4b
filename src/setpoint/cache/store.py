"""Store: the objects of one resource, as compressed bytes.

*Guarantees*

- A read sees one state of the store; nothing changes while no coroutine waits.
- What is asked for twice comes in the same order, which depends on the changes that came and on nothing else: what
  came first is first.
- A change and its index updates happen in one step: no index ever names an object that has not the value.
- What is read is the caller's own: documents are decompressed for each read, so nothing is shared.
- `Store.snapshot` gives a view that later changes don't touch.

*Caveats*

- A read costs a decompression (about 1 microsecond a kilobyte) and whatever the caller decodes.
- ``managedFields`` are not kept unless the `Intake` was told to.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, KeysView
from typing import Any, NamedTuple

from setpoint.cache.compression import PLAIN, Compressor
from setpoint.cache.index import Index, IndexFunction
from setpoint.cache.indexes import Indexes, Values
from setpoint.cache.intake import Intake, Item
from setpoint.cache.record import (
    TRAILER_BYTES,
    Record,
    same_fingerprint,
    scheme_of,
    seal,
    unseal,
    version_number,
    version_of,
)
from setpoint.cache.replacement import Replacement
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.training import SAMPLE_BYTES, SAMPLES, Training
from setpoint.meta import Object, Selector, encode
from setpoint.meta.head import Head


class Change(NamedTuple):
    """One object's step from one record to the next: None is absence. ``same``: nothing happened to it."""

    key: str
    old: Record | None
    new: Record | None
    same: bool = False


class Stale:
    """The type of `STALE`."""


STALE = Stale()
"""What `Store.put` answers to an object that is not newer than what it has."""


class Store:
    """The objects by key. Changed by a reflector only; read through a `Lister`.

    ``last_sync_resource_version`` is the newest resource version that the store is known to be current at: every event
    up to it has been applied. It is ``""`` before the first sync.
    """

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self.last_sync_resource_version = ""
        self.raw_bytes = 0
        self.stored_bytes = 0
        self._compressor = Compressor()
        self._records: dict[str, Record] = {}
        self._namespaces: dict[str, dict[str, None]] = {}
        self._indexes = Indexes(self._read)
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
        """The JSON document of the object, or None."""
        record = self._records.get(key)
        return None if record is None else self.document(record)

    def head(self, key: str) -> Head | None:
        """The metadata of the object, or None."""
        record = self._records.get(key)
        return None if record is None else self.head_of(record)

    def record(self, key: str) -> Record | None:
        """The object as it is kept; see `document` and `head_of`."""
        return self._records.get(key)

    def document(self, record: Record) -> bytes:
        """The JSON in a record of this store, of now or from before."""
        scheme = record[-1]
        if scheme == PLAIN:
            return record[:-TRAILER_BYTES]
        return self._compressor.decompress(scheme, record)

    def head_of(self, record: Record) -> Head:
        """The metadata in a record of this store, of now or from before."""
        return self.intake.head_of(self.document(record), unseal(record)[2])

    def resource_version(self, key: str) -> int | None:
        """The object's resource version as a number (0 where it is none), or None if there is no such object."""
        record = self._records.get(key)
        return None if record is None else version_of(record)

    def same(self, one: Record, other: Record) -> bool:
        """Whether two records of one key are of the same state of the object."""
        if one is other:
            return True
        version = version_of(one)
        if version or version_of(other):
            return version == version_of(other)
        return self.document(one) == self.document(other)

    def namespace(self, namespace: str) -> Iterable[str]:
        """The keys in a namespace."""
        return self._namespaces.get(namespace, ())

    def indexed(self, name: str, value: str) -> Iterable[str]:
        """The keys that the index ``name`` has for ``value``.

        Raises:
            KeyError: there is no such index.
        """
        return self._indexes.named(name).keys(value)

    def index_values(self, name: str) -> list[str]:
        """The values that at least one object has in the index ``name``, sorted."""
        return sorted(self._indexes.named(name).values())

    def labelled(self, selector: Selector) -> Iterable[str] | None:
        """The keys among which all objects are that ``selector`` matches, or None where no index helps.

        A label that is asked for by value is indexed from the first time on.
        """
        return self._indexes.labelled(selector, self._records)

    def index_values_of(self, index: Index, record: Record) -> tuple[str, ...]:
        """What an index has for an object at the state that a record holds."""
        return self._indexes.values_of(index, record)

    def snapshot(self) -> Snapshot:
        """A view of the store as it is now; close it (or drop it) when done."""
        snapshot = Snapshot(self)
        self._snapshots.append(weakref.ref(snapshot))
        return snapshot

    # -- indexes -------------------------------------------------------------------------------------------------------

    def add_index(self, name: str, function: IndexFunction, *, projection: type[Any] | None = None) -> str:
        """Add an index, at any time; the objects that are there are indexed at once.

        Returns the name of the index in this store, which is another one where an index of another function has that
        name. ``function`` must depend on its argument alone: what it once returned for an object, it always returns. An
        object for which it raises is logged, and left out of the index.
        """
        return self._indexes.add(name, function, projection, self._records)

    def index(self, name: str) -> Index:
        """Raises `KeyError` where there is none of that name."""
        return self._indexes.named(name)

    # -- changing ------------------------------------------------------------------------------------------------------

    def put(self, key: str, item: Item) -> Record | Stale | None:
        """Add or replace an object. The answer is the record it replaced, None, or `STALE` if it isn't newer."""
        head, document = item.head, item.document
        version = version_number(head.resource_version)
        old = self._records.get(key)
        if old is not None and version and version <= version_of(old):
            return STALE
        record, small, values = self.seal(item, version)
        length = len(document)
        changed = old is None or not same_fingerprint(old, record)
        self._set(key, head.namespace, old, record, length, values if changed else None)
        if self._training.put(length, small, len(self._records)):
            self._consider_training()
        return old

    def add(self, item: Object) -> None:
        """Adds an object that no server has sent, as if one had: for a cache that is filled before its informer runs.

        The first list corrects it: handlers are told that an object which is not on the server was deleted. An object
        without a resource version replaces any state, and is replaced by any.

        Raises:
            UnexpectedKind: it is of another kind than this store's.
        """
        read = self.intake.read(encode(item))
        self.put(str(item.key), read)

    def seal(self, item: Item, version: int) -> tuple[Record, int, Values]:
        """The record of an object, how long it is without its trailer, and its index values."""
        head, document, end, _ = item
        values = self._indexes.values(head, document)
        fingerprint = self._indexes.fingerprint(head, values)
        scheme, small = self._compressor.compress(document)
        return seal(small, version, fingerprint, end, len(document), scheme), len(small), values

    def remove(self, key: str) -> Record | None:
        """Remove an object; the answer is its last record, or None if it was not there."""
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
        self._indexes.change(key, old, None)
        self.raw_bytes -= unseal(old)[3]
        self.stored_bytes -= len(old)
        return old

    def _set(
        self,
        key: str,
        namespace: str,
        old: Record | None,
        record: Record,
        length: int,
        values: Values | None,
    ) -> None:
        """``values`` may be None where ``old`` is there and every index has the same for it."""
        if self._snapshots:
            self._save(key, old)
        self._records[key] = record
        self.stored_bytes += len(record)
        self.raw_bytes += length
        if old is None:
            assert values is not None
            if namespace:
                keys = self._namespaces.get(namespace)
                if keys is None:
                    keys = self._namespaces[namespace] = {}
                keys[key] = None
            self._indexes.change(key, None, values)
        else:
            old_length = unseal(old)[3]
            self.stored_bytes -= len(old)
            self.raw_bytes -= old_length
            if values is not None:
                self._indexes.change(key, old, values)

    def replacement(self) -> Replacement:
        """Begin to replace everything with a fresh list; the store stays as it is until `Replacement.finish`."""
        return Replacement(self)

    @property
    def index_epoch(self) -> int:
        """Changes when an index comes."""
        return self._indexes.epoch

    def replace(self, fresh: dict[str, Record], epoch: int) -> Iterator[Change]:
        """Hold just these records, in one step; then the differences: first what went, then what came.

        ``epoch`` is the `index_epoch` at which the first of them was sealed. An index that came since has not seen
        them, and equal fingerprints of that time do not speak for it.
        """
        indexed = epoch == self._indexes.epoch
        changes = [Change(key, record, None) for key, record in self._records.items() if key not in fresh]
        for change in changes:
            self.remove(change.key)
        for key, record in fresh.items():
            old = self._records.get(key)
            if old is not None and self.same(old, record):
                changes.append(Change(key, old, old, True))
                continue
            changes.append(Change(key, old, record))
            values = None
            if old is None or not indexed or not same_fingerprint(old, record):
                values = self._indexes.values(*self._read(record))
            namespace = key.partition("/")[0] if "/" in key else ""
            self._set(key, namespace, old, record, unseal(record)[3], values)
        self._consider_training()
        return iter(changes)

    def _read(self, record: Record) -> tuple[Head, bytes]:
        document = self.document(record)
        return self.intake.head_of(document, unseal(record)[2]), document

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
        """Train on objects spread over the whole store; the others follow in `maintain`."""
        step = max(len(self._records) // SAMPLES, 1)
        documents = []
        budget = 16 * SAMPLE_BYTES
        for record in itertools.islice(self._records.values(), 0, None, step):
            length = unseal(record)[3]
            if length <= SAMPLE_BYTES and length <= budget:
                documents.append(self.document(record))
                budget -= length
        if self._training.train(documents):
            self._to_recompress = list(self._records)

    def maintain(self, limit: int = 64) -> bool:
        """Bring up to ``limit`` objects to the newest dictionary; True while there is more to do."""
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
