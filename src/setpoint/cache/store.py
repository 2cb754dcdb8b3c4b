"""Store: the objects of one resource, as compressed bytes.

*Guarantees*

- A read sees one state of the store; nothing changes while no coroutine waits.
- A change and its index updates happen in one step: no index ever names an object that has not the value.
- What is read is the caller's own: documents are decompressed for each read, so nothing is shared.
- `Store.snapshot` gives a view that later changes don't touch.

*Caveats*

- A read costs a decompression (about 1 microsecond a kilobyte) and whatever the caller decodes.
- ``managedFields`` are not kept unless the `Intake` was told to.
"""

from __future__ import annotations

import itertools
import logging
import weakref
from collections.abc import Iterable, Iterator, KeysView
from typing import Any, NamedTuple

from setpoint.cache.compression import PLAIN, UNTRAINED, Compressor, Dictionary
from setpoint.cache.index import Index, IndexFunction, by_label, by_owner
from setpoint.cache.intake import Intake, Item
from setpoint.cache.record import TRAILER_BYTES, Record, scheme_of, seal, unseal, version_number, version_of
from setpoint.cache.snapshot import Snapshot
from setpoint.meta import DecodeError, Selector, decode
from setpoint.meta.head import Head

logger = logging.getLogger("setpoint.cache")

OWNER = "owner"
"""The name of the built-in index from an owner's uid to the objects that it owns."""

_MASK = (1 << 64) - 1
_TRAIN_AT = (128, 2048, 32768)
_SAMPLES = 160
_SAMPLE_BYTES = 64 * 1024
_WINDOW = 1024
_DRIFT = 1.3
_WORTH = 0.85
_LABEL_INDEXES = 32


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
        self._namespaces: dict[str, set[str]] = {}
        self._indexes: dict[str, Index] = {OWNER: Index(by_owner)}
        self._labels: dict[str, Index] = {}
        self._salt = 0
        self._all_indexes: tuple[Index, ...] = tuple(self._indexes.values())
        self._snapshots: list[weakref.ref[Snapshot]] = []
        self._train_at = iter(_TRAIN_AT)
        self._next_training: int | None = next(self._train_at)
        self._window_puts = 0
        self._window_raw = 0
        self._window_small = 0
        self._trained_ratio = 1.0
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
        try:
            return self._indexes[name].keys(value)
        except KeyError:
            raise KeyError(f"no index {name!r}; there are: {', '.join(sorted(self._indexes))}") from None

    def index_values(self, name: str) -> list[str]:
        """The values that at least one object has in the index ``name``, sorted."""
        if name not in self._indexes:
            raise KeyError(f"no index {name!r}; there are: {', '.join(sorted(self._indexes))}")
        return sorted(self._indexes[name].values())

    def labelled(self, selector: Selector) -> Iterable[str] | None:
        """The keys among which all objects are that ``selector`` matches, or None where no index helps.

        A label that is asked for by value is indexed from the first time on.
        """
        best: set[str] | list[str] | None = None
        for requirement in selector.requirements:
            if requirement.operator not in ("=", "in"):
                continue
            index = self._labels.get(requirement.key)
            if index is None:
                if len(self._labels) >= _LABEL_INDEXES:
                    continue
                index = self._labels[requirement.key] = Index(by_label(requirement.key))
                self._build(index)
            keys = [key for value in requirement.values for key in index.keys(value)]
            if best is None or len(keys) < len(best):
                best = keys
        return best

    def index_values_of(self, index: Index, record: Record) -> tuple[str, ...]:
        """What an index has for an object at the state that a record holds."""
        document = self.document(record)
        return self._values(index, self.intake.head_of(document, unseal(record)[2]), document)

    def snapshot(self) -> Snapshot:
        """A view of the store as it is now; close it (or drop it) when done."""
        snapshot = Snapshot(self)
        self._snapshots.append(weakref.ref(snapshot))
        return snapshot

    # -- indexes -------------------------------------------------------------------------------------------------------

    def add_index(self, name: str, function: IndexFunction, *, projection: type[Any] | None = None) -> None:
        """Add an index, at any time; the objects that are there are indexed at once.

        ``function`` must depend on its argument alone: what it once returned for an object, it always returns.

        Raises:
            ValueError: another index has that name.
            Exception: whatever the function raises for an object that is there; the index is not added then.
        """
        if name in self._indexes:
            if self._indexes[name].function is function and self._indexes[name].projection is projection:
                return
            raise ValueError(f"there is another index {name!r} already")
        index = Index(function, projection)
        self._build(index, strict=True)
        self._indexes[name] = index
        self._all_indexes = (*self._indexes.values(), *self._labels.values())

    def index(self, name: str) -> Index:
        return self._indexes[name]

    def _build(self, index: Index, *, strict: bool = False) -> None:
        for key, record in self._records.items():
            document = self.document(record)
            head = self.intake.head_of(document, unseal(record)[2])
            for value in self._values(index, head, document, strict=strict):
                index.add(value, key)
        # What records know of their index values is out of date now: the next change of each looks at the old state.
        self._salt += 1
        self._all_indexes = (*self._indexes.values(), *self._labels.values())

    def _values(self, index: Index, head: Head, document: bytes, *, strict: bool = False) -> tuple[str, ...]:
        try:
            if index.projection is None:
                found = index.function(head)
                return tuple(found) if found else ()
            return tuple(index.function(decode(index.projection, document)))
        except Exception:
            if strict:
                raise
            logger.exception("index function %r failed for %s: it is not indexed", index.function, head.key)
            return ()

    def _fingerprint(self, head: Head, values: tuple[tuple[str, ...], ...]) -> int:
        """What says, without decoding, that nothing changed of who an object is, whose it is, and how it is found."""
        owners = head.owner_references
        if owners:
            refs = tuple([(each.uid, each.controller, each.kind, each.name, each.api_version) for each in owners])
            return hash((self._salt, values, head.uid, refs)) & _MASK
        return hash((self._salt, values, head.uid)) & _MASK

    def _reindex(self, key: str, old: Record | None, values: tuple[tuple[str, ...], ...]) -> None:
        if old is None:
            for index, new_values in zip(self._all_indexes, values, strict=True):
                for value in new_values:
                    index.add(value, key)
            return
        document = self.document(old)
        head = self.intake.head_of(document, unseal(old)[2])
        for index, new_values in zip(self._all_indexes, values, strict=True):
            old_values = self._values(index, head, document)
            if old_values != new_values:
                for value in old_values:
                    if value not in new_values:
                        index.discard(value, key)
                for value in new_values:
                    index.add(value, key)

    # -- changing ------------------------------------------------------------------------------------------------------

    def put(self, key: str, item: Item) -> Record | Stale | None:
        """Add or replace an object. The answer is the record it replaced, None, or `STALE` if it isn't newer."""
        head, document, end = item
        version = version_number(head.resource_version)
        old = self._records.get(key)
        if old is not None and version and version <= version_of(old):
            return STALE
        length = len(document)
        values = tuple([self._values(index, head, document) for index in self._all_indexes])
        fingerprint = self._fingerprint(head, values)
        scheme, small = self._compressor.compress(document)
        record = seal(small, version, fingerprint, end, length, scheme)
        self._set(key, head.namespace, old, record, length, values, fingerprint)
        self._window_puts += 1
        self._window_raw += length
        self._window_small += len(small)
        if self._window_puts >= _WINDOW or len(self._records) == self._next_training:
            self._consider_training()
        return old

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
            keys.discard(key)
            if not keys:
                del self._namespaces[namespace]
        self._reindex(key, old, ((),) * len(self._all_indexes))
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
        values: tuple[tuple[str, ...], ...] | None,
        fingerprint: int,
    ) -> None:
        """``values`` may be None where ``old`` is there and has the same fingerprint."""
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
                    keys = self._namespaces[namespace] = set()
                keys.add(key)
            self._reindex(key, None, values)
        else:
            _, old_fingerprint, _, old_length, _ = unseal(old)
            self.stored_bytes -= len(old)
            self.raw_bytes -= old_length
            if fingerprint != old_fingerprint:
                assert values is not None
                self._reindex(key, old, values)

    def replacement(self) -> Replacement:
        """Begin to replace everything with a fresh list; the store stays as it is until `Replacement.finish`."""
        return Replacement(self)

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
        ratio = self._window_small / max(self._window_raw, 1)
        count = len(self._records)
        drifted = (
            self._window_puts >= _WINDOW
            and count >= _TRAIN_AT[0]
            and self._compressor.scheme != UNTRAINED
            and ratio > self._trained_ratio * _DRIFT
        )
        if self._window_puts >= _WINDOW:
            self._window_puts = self._window_raw = self._window_small = 0
        due = self._next_training is not None and count >= self._next_training
        if due:
            self._next_training = next(self._train_at, None)
        if (due or drifted) and not self._to_recompress:
            self._train()

    def _train(self) -> None:
        """Train on objects spread over the whole store; the others follow in `maintain`."""
        step = max(len(self._records) // _SAMPLES, 1)
        documents = []
        budget = 16 * _SAMPLE_BYTES
        for record in itertools.islice(self._records.values(), 0, None, step):
            length = unseal(record)[3]
            if length <= _SAMPLE_BYTES and length <= budget:
                documents.append(self.document(record))
                budget -= length
        # A quarter is held out to judge by: the samples themselves are in the dictionary.
        judges = documents[3::4]
        candidate = Dictionary.trained_on([each for place, each in enumerate(documents) if place % 4 != 3])
        before = sum(len(self._compressor.compress(document)[1]) for document in judges)
        after = before
        if candidate is not None and judges:
            after = sum(len(candidate.compress(document)) for document in judges)
            if after < before * _WORTH:
                self._compressor.adopt(candidate)
                self._to_recompress = list(self._records)
        self._trained_ratio = min(after, before) / max(sum(map(len, judges)), 1)

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


class Replacement:
    """A list that is coming in. Its objects are compressed as they come, so the whole list is never held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fresh: dict[str, Record] = {}

    def __len__(self) -> int:
        return len(self._fresh)

    def add(self, key: str, item: Item) -> None:
        """An object of the list; the same key again replaces it."""
        store = self._store
        version = version_number(item.head.resource_version)
        known = store.record(key)
        if known is not None and version and version == version_of(known):
            self._fresh[key] = known
            return
        values = tuple([store._values(index, item.head, item.document) for index in store._all_indexes])
        fingerprint = store._fingerprint(item.head, values)
        scheme, small = store._compressor.compress(item.document)
        self._fresh[key] = seal(small, version, fingerprint, item.end, len(item.document), scheme)

    def discard(self, key: str) -> None:
        """The object was deleted while the list was coming in."""
        self._fresh.pop(key, None)

    def finish(self) -> Iterator[Change]:
        """Make the store equal to the list, in one step; then the differences: first what went, then what came."""
        store, fresh = self._store, self._fresh
        changes = [Change(key, record, None) for key, record in store._records.items() if key not in fresh]
        for change in changes:
            store.remove(change.key)
        for key, record in fresh.items():
            old = store.record(key)
            if old is not None and store.same(old, record):
                changes.append(Change(key, old, old, True))
                continue
            changes.append(Change(key, old, record))
            _, fingerprint, end, length, _ = unseal(record)
            values = None
            if old is None or unseal(old)[1] != fingerprint:
                document = store.document(record)
                head = store.intake.head_of(document, end)
                values = tuple([store._values(index, head, document) for index in store._all_indexes])
            namespace = key.partition("/")[0] if "/" in key else ""
            store._set(key, namespace, old, record, length, values, fingerprint)
        self._fresh = {}
        store._consider_training()
        return iter(changes)


__all__ = ["OWNER", "STALE", "Change", "DecodeError", "Replacement", "Stale", "Store"]
