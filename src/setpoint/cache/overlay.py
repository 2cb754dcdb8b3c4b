"""Overlay: a view of a store in which some objects are as the server answered to writes that the store lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from setpoint.cache.barriers import Barrier, Barriers
from setpoint.cache.object_parser import UnexpectedKind
from setpoint.cache.object_record import Record
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.store import Store
from setpoint.client.write_record import WriteRecord
from setpoint.meta import DecodeError, Selector


class Overlay(Snapshot):
    """A view of a store that follows the store's changes and also shows written objects, each until the store has seen
    the write. It has the read methods that a `Lister` needs.

    *Guarantees*: a read shows each write that was added, or a newer state. No read waits or makes a request.

    *Caveats*: an answer that is not the object (of the scale subresource) is not shown. An answer that is only the
    object's metadata is shown together with the rest of the object as it was.
    """

    def __init__(self, store: Store, barriers: Barriers) -> None:
        super().__init__(store)
        self._full_store = store
        self._barriers = barriers
        self._expected: dict[str, Barrier] = {}
        self._unread: list[tuple[WriteRecord, Barrier]] = []
        """Writes whose answers are parsed only when something is read: most reconciles read nothing afterwards."""

    def add(self, record: WriteRecord, barrier: Barrier) -> None:
        """Shows a write until the store has seen it as ``barrier``. A write by which the object leaves the store has a
        barrier for a deletion.
        """
        self._unread.append((record, barrier))

    def _show_writes(self) -> None:
        writes, self._unread = self._unread, []
        for record, barrier in writes:
            self._show(record, barrier)

    def _show(self, record: WriteRecord, barrier: Barrier) -> None:
        key = str(record.key)
        if self._barriers.seen(key, barrier):
            return
        if barrier.deleted and record.verb != "delete":
            document = None
        else:
            document = _document_after(record, self.get(key))
            if document is None and not barrier.deleted:
                return
        if not document:
            self.saved[key] = None
        else:
            store = self._full_store
            try:
                item = store.parser.read(document)
            except (DecodeError, UnexpectedKind):
                return  # the store will leave it out, too
            self.saved[key] = store.seal(item)[0]
        self._expected[key] = barrier

    def record(self, key: str) -> Record | None:
        if self._unread:
            self._show_writes()
        barrier = self._expected.get(key)
        if barrier is not None and self._barriers.seen(key, barrier):
            del self._expected[key]
            del self.saved[key]
        return self.saved[key] if key in self.saved else self._full_store.record(key)

    def shows_write_to(self, key: str) -> bool:
        """Whether the object with this key is shown as it was written, because the store has not seen the write."""
        self.record(key)
        return key in self.saved

    def __bool__(self) -> bool:
        self._check_open()
        return bool(self.saved)

    def _check_open(self) -> None:
        if self._unread:
            self._show_writes()
        for key, barrier in list(self._expected.items()):
            if self._barriers.seen(key, barrier):
                del self._expected[key]
                del self.saved[key]

    def __iter__(self) -> Iterator[str]:
        return super().__iter__() if self else iter(self._full_store)

    def __len__(self) -> int:
        return super().__len__() if self else len(self._full_store)

    def namespace(self, namespace: str) -> Iterable[str]:
        return super().namespace(namespace) if self else self._full_store.namespace(namespace)

    def indexed(self, name: str, value: str) -> Iterable[str]:
        return super().indexed(name, value) if self else self._full_store.indexed(name, value)

    def labelled(self, selector: Selector) -> Iterable[str] | None:
        return super().labelled(selector) if self else self._full_store.labelled(selector)


def _document_after(record: WriteRecord, body: bytes | None) -> bytes | None:
    """The object after the write as JSON: empty if it is gone, None if the answer does not show it."""
    if record.after is None:
        return None
    if record.is_gone:
        return b""
    answer: dict[str, Any] = msgspec.json.decode(record.after)
    if answer.get("kind") != "PartialObjectMetadata":
        return record.after
    if body is None:
        return None
    return msgspec.json.encode({**msgspec.json.decode(body), "metadata": answer["metadata"]})
