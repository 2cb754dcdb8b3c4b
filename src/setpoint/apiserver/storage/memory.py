"""Storage in memory, which is lost when the process ends."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import Final

from setpoint.apiserver.storage.interface import Change, Compacted, Conflict, Encode, Record

_log = logging.getLogger(__name__)
MAX_EVENTS = 50_000
MAX_BYTES = 64 * 1024 * 1024
_TRIM = 1024
_PASTS: Final = 16
"""The number of revisions of a resource whose state is remembered at a time."""
_AFTER_SLASH: Final = chr(ord("/") + 1)
_revision = attrgetter("revision")


class MemoryStorage:
    """A storage that keeps objects in dictionaries, and the history in one list per resource.

    ``max_events`` and ``max_bytes`` limit the history of all resources together (the bytes are those of the objects as
    they were written); the oldest changes are removed first. A read raises `Compacted` only if changes *to its own
    resource* were removed, however often other resources have changed.

    *Caveats*: nothing is durable.
    """

    def __init__(self, *, start: int = 1, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._revision = start
        self._gap = (start, start)  # revisions between the two were never known here
        self._floor = start  # where the history of a resource begins that has none yet
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._collections: dict[str, _Collection] = {}
        self._window: deque[tuple[_Collection, Change]] = deque()
        self._window_bytes = 0
        self._pending: _Transaction | None = None
        """The open transaction; None if there is no transaction."""

    @property
    def revision(self) -> int:
        return self._revision

    def advance(self, revision: int) -> None:
        if revision > self._revision:
            self._gap = (self._revision, revision)
            self._revision = revision

    def transaction(self) -> AbstractContextManager[None]:
        return _JOINED if self._pending is not None else _Transaction(self)

    def then(self, work: Callable[[], None]) -> None:
        if self._pending is None:
            work()
        else:
            self._pending.works.append(work)

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        collection = self._collections.get(resource)
        return None if collection is None else collection.records.get(f"{namespace}/{name}")

    def put(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        collection = self._collection(resource)
        previous = self._check(resource, namespace, name, expected)
        revision = self._revision + 1
        record = Record(namespace, name, revision, encode(revision))
        change = Change("MODIFIED" if previous else "ADDED", record, previous)
        self._add(resource, collection, change)
        return record

    def delete(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        previous = self._check(resource, namespace, name, expected)
        if previous is None:
            raise Conflict(None)
        collection = self._collection(resource)
        revision = self._revision + 1
        record = Record(namespace, name, revision, encode(revision))
        change = Change("DELETED", record, previous)
        self._add(resource, collection, change)
        return record

    def scan(self, resource: str, namespace: str | None = None, *, at: int | None = None) -> list[Record]:
        return list(self.scan_from("", resource, namespace, at=at)[0])

    def scan_from(
        self, start: str, resource: str, namespace: str | None = None, *, at: int | None = None
    ) -> tuple[Iterator[Record], int]:
        collection = self._collections.get(resource)
        if at is not None and self._gap[0] < at < self._gap[1]:
            raise Compacted(at, self._gap[1])
        self._check_age(at, self._floor if collection is None else collection.compacted)
        if collection is None:
            return iter(()), 0
        keys, now = collection.sorted_keys(), collection.records
        replaced: dict[str, Record] = {}
        if at is not None and at < collection.last:
            past = collection.past(at)
            keys, replaced = past.keys, past.replaced
        begin = bisect_left(keys, start if namespace is None else max(start, f"{namespace}/"))
        end = len(keys) if namespace is None else bisect_left(keys, f"{namespace}{_AFTER_SLASH}", lo=begin)
        some = map(keys.__getitem__, range(begin, end))
        if replaced:
            return (replaced.get(key) or now[key] for key in some), end - begin
        return map(now.__getitem__, some), end - begin

    def changed_since(self, resource: str) -> int:
        collection = self._collections.get(resource)
        return 0 if collection is None else collection.last

    def subscribe(self, resource: str, since: int, wake: Callable[[], None]) -> _Reader:
        collection = self._collection(resource)
        if self._gap[0] < since < self._gap[1]:
            raise Compacted(since, self._gap[1])
        self._check_age(since, collection.compacted)
        return _Reader(collection, since, wake)

    def compact(self, revision: int) -> None:
        while self._window and self._window[0][1].revision <= revision:
            self._trim_one()
        self._floor = max(self._floor, min(revision, self._revision))
        for collection in self._collections.values():
            collection.compacted = max(collection.compacted, self._floor)

    def close(self) -> None:
        """Does nothing: stored objects stay readable for the lifetime of the storage."""

    # -- for storages that keep their data elsewhere too -----------------------------------------------------------

    def _write(self, changes: Sequence[tuple[str, Change]]) -> None:
        """Does nothing here. A subclass that also keeps its data elsewhere overrides this method to store the changes
        of one transaction, each with its resource, before they are visible. It stores either all of them or none. If it
        raises an exception, nothing has changed, and the exception reaches the writer.
        """

    def _trimmed(self, change: Change) -> None:
        """Does nothing here. A subclass that also keeps its data elsewhere overrides this method to handle a change
        that leaves the history.
        """

    # -----------------------------------------------------------------------------------------------------------------

    def _collection(self, resource: str) -> _Collection:
        collection = self._collections.get(resource)
        if collection is None:
            collection = self._collections[resource] = _Collection(self._floor)
        return collection

    def _check(self, resource: str, namespace: str, name: str, expected: int) -> Record | None:
        current = self.get(resource, namespace, name)
        if (current.revision if current else 0) != expected:
            raise Conflict(current)
        return current

    def _check_age(self, revision: int | None, compacted: int) -> None:
        if revision is not None and revision < compacted:
            raise Compacted(revision, compacted)

    def _add(self, resource: str, collection: _Collection, change: Change) -> None:
        if self._pending is None:
            with _Transaction(self):
                self._add(resource, collection, change)
            return
        record = change.record
        self._pending.writes.append(_Write(resource, collection, change))
        self._revision = record.revision
        collection.note(change)
        if change.type == "DELETED":
            collection.remove(record.namespace, record.name)
        else:
            collection.set(record)

    def _finish(self, pending: _Transaction, *, stored: bool) -> None:
        self._pending = None
        if not stored:
            self._undo(pending)
            return
        if pending.writes:
            try:
                self._write([(write.resource, write.change) for write in pending.writes])
            except BaseException:
                self._undo(pending)
                raise
        self._publish(pending)

    def _undo(self, pending: _Transaction) -> None:
        for write in reversed(pending.writes):
            collection, change = write.collection, write.change
            collection.log.pop()
            collection.last = write.last
            if change.previous is not None:
                collection.set(change.previous)
            elif change.type == "ADDED":
                collection.remove(change.record.namespace, change.record.name)
            collection.pasts.clear()
        self._revision = pending.revision

    def _publish(self, pending: _Transaction) -> None:
        for work in pending.works:
            try:
                work()
            except Exception:  # noqa: BLE001 - the write is done, and what else follows from it must be, too
                _log.exception("a write was stored, but its hook failed")
        for write in pending.writes:
            self._remember(write.collection, write.change)
        notified: _Collection | None = None
        for write in pending.writes:
            if write.collection is not notified:  # waking twice is harmless
                notified = write.collection
                for wake in tuple(notified.wakes):
                    wake()

    def _remember(self, collection: _Collection, change: Change) -> None:
        """Counts a change that is already in its collection's log, and drops the oldest changes while the history is
        too large.
        """
        self._window.append((collection, change))
        self._window_bytes += len(change.record.value)
        while len(self._window) > self._max_events or self._window_bytes > self._max_bytes:
            self._trim_one()

    def _trim_one(self) -> None:
        collection, change = self._window.popleft()
        self._window_bytes -= len(change.record.value)
        collection.forget_first()
        self._trimmed(change)


class _Transaction:
    """A context that stores all writes inside it, or undoes all of them. ``revision`` is the last one before it."""

    __slots__ = ("_storage", "revision", "works", "writes")

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self.revision = storage._revision
        self.writes: list[_Write] = []
        self.works: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        self._storage._pending = self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._storage._finish(self, stored=kind is None)


_JOINED: Final = nullcontext()


class _Write:
    __slots__ = ("change", "collection", "last", "resource")

    def __init__(self, resource: str, collection: _Collection, change: Change) -> None:
        self.resource = resource
        self.collection = collection
        self.change = change
        self.last = collection.last


class _Past:
    """A collection as it was at a revision: its keys, and those of its records that were replaced or removed later.
    ``position`` is the place in the history up to which changes are known.
    """

    __slots__ = ("keys", "position", "replaced")

    def __init__(self, keys: list[str], replaced: dict[str, Record], position: int) -> None:
        self.keys = keys
        self.replaced = replaced
        self.position = position


class _Collection:
    """One resource: its objects and its part of the history.

    The keys of objects are those of etcd: "namespace/name", so their order is "a-b/x", "a/x". They are sorted when they
    are first needed, and kept sorted from then on.

    Positions in the history are absolute: ``base`` is the position of ``log[0]``; ``log[start]`` is the first valid
    entry. ``pasts`` are by their revisions, the last used one last.
    """

    __slots__ = ("_keys", "base", "compacted", "last", "log", "pasts", "records", "start", "wakes")

    def __init__(self, compacted: int) -> None:
        self.records: dict[str, Record] = {}
        self._keys: list[str] | None = None
        self.pasts: dict[int, _Past] = {}
        self.log: list[Change] = []
        self.base = 0
        self.start = 0
        self.last = 0
        self.compacted = compacted
        self.wakes: dict[Callable[[], None], None] = {}

    def set(self, record: Record) -> None:
        key = _key(record)
        if self._keys is not None and key not in self.records:
            insort(self._keys, key)
        self.records[key] = record

    def remove(self, namespace: str, name: str) -> None:
        key = f"{namespace}/{name}"
        del self.records[key]
        if self._keys is not None:
            del self._keys[bisect_left(self._keys, key)]

    def note(self, change: Change) -> None:
        """Appends a change to the history."""
        self.log.append(change)
        self.last = change.record.revision

    def sorted_keys(self) -> list[str]:
        if self._keys is None:
            self._keys = sorted(self.records)
        return self._keys

    def past(self, revision: int) -> _Past:
        """The state at a revision that is in the history. It is remembered, because lists are read page by page."""
        past = self.pasts.pop(revision, None)
        if past is None:
            past = self._reconstruct(revision)
            for old in [old for old in self.pasts if old < self.compacted]:
                del self.pasts[old]
            if len(self.pasts) == _PASTS:
                del self.pasts[next(iter(self.pasts))]
        for change in self.log[past.position - self.base :]:
            if change.previous is not None:
                past.replaced.setdefault(_key(change.record), change.previous)
        past.position = self.base + len(self.log)
        self.pasts[revision] = past
        return past

    def _reconstruct(self, revision: int) -> _Past:
        first = bisect_right(self.log, revision, lo=min(self.start, len(self.log)), key=_revision)
        before: dict[str, Record | None] = {}
        for change in self.log[first:]:
            before.setdefault(_key(change.record), change.previous)
        replaced = {key: record for key, record in before.items() if record is not None}
        created = before.keys() - replaced.keys()
        keys = [key for key in self.sorted_keys() if key not in created]
        removed = replaced.keys() - self.records.keys()
        if removed:
            keys = sorted([*keys, *removed])
        return _Past(keys, replaced, self.base + len(self.log))

    def forget_first(self) -> None:
        self.compacted = max(self.compacted, self.log[self.start].record.revision)
        self.start += 1
        if self.start >= _TRIM and self.start * 2 >= len(self.log):
            del self.log[: self.start]
            self.base += self.start
            self.start = 0


class _Reader:
    __slots__ = ("_collection", "_position", "_since", "_wake")

    def __init__(self, collection: _Collection, since: int, wake: Callable[[], None]) -> None:
        self._collection = collection
        self._since = since
        self._position = collection.base + bisect_right(
            collection.log, since, lo=min(collection.start, len(collection.log)), key=_revision
        )
        self._wake = wake
        collection.wakes[wake] = None

    def read(self, limit: int = 1000) -> list[Change]:
        collection = self._collection
        log = collection.log
        index = self._position - collection.base
        if index < collection.start:
            if self._since < collection.compacted:
                raise Compacted(self._since, collection.compacted)
            index = collection.start
        if index < len(log) and log[index].revision <= self._since:  # the reader began at a future revision
            index = bisect_right(log, self._since, lo=index, key=_revision)
        changes = log[index : index + limit]
        self._position = collection.base + index + len(changes)
        if changes:
            self._since = changes[-1].record.revision
        return changes

    def close(self) -> None:
        self._collection.wakes.pop(self._wake, None)


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
