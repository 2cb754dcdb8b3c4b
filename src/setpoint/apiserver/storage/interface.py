"""Storage: holds the objects of an API server and their recent history.

A storage does not interpret objects: they are bytes under (resource, namespace, name). Every write is given the next
number of a single counter, the revision, and the recent writes can be read again in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from setpoint.meta.user_error import UserError

Encode = Callable[[int], bytes]
"""A function that encodes an object, given the revision at which it is stored."""

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class StorageError(UserError):
    """The storage can't be used: the data directory is locked, unreadable, damaged, full or in a later format."""


class Conflict(Exception):
    """The object is not at the revision that the writer expected. ``current`` is its record, if there is one."""

    def __init__(self, current: Record | None) -> None:
        super().__init__(f"the object is at revision {current.revision if current else 0}")
        self.current = current


class Compacted(Exception):
    """The history does not reach back far enough. ``oldest`` is the earliest revision from which it can
    still be read.
    """

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is no longer known, the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Record:
    """One object as stored by one write."""

    __slots__ = ("name", "namespace", "revision", "value")

    def __init__(self, namespace: str, name: str, revision: int, value: bytes) -> None:
        self.namespace = namespace
        self.name = name
        self.revision = revision
        self.value = value

    def __repr__(self) -> str:
        return f"<Record {self.namespace}/{self.name} at {self.revision}>"


class Change:
    """One write. ``record`` is the object after the write (for a deletion, its last state). ``previous`` is the object
    before the write; None if the write created the object.
    """

    __slots__ = ("previous", "record", "type")

    def __init__(self, type_: ChangeType, record: Record, previous: Record | None) -> None:
        self.type = type_
        self.record = record
        self.previous = previous

    @property
    def revision(self) -> int:
        return self.record.revision

    def __repr__(self) -> str:
        return f"<Change {self.type} {self.record!r}>"


class Damage:
    """A stored object that can't be used. ``subject`` names the object, ``reason`` tells what is wrong with it."""

    __slots__ = ("reason", "subject")

    def __init__(self, subject: str, reason: str) -> None:
        self.subject = subject
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


class Subscription(Protocol):
    """A reader of one resource's changes. It holds a position in the history, not a queue, so a slow reader costs
    nothing.
    """

    def read(self, limit: int = ...) -> list[Change]:
        """At most ``limit`` of the next changes; empty if there are none yet.

        Raises:
            Compacted: changes that were not read yet have left the history.
        """
        ...

    def close(self) -> None: ...


class Storage(Protocol):
    """The protocol of storages, with these guarantees.

    - Revisions start above 0 and only grow, even across restarts; every write has its own revision.
    - A write happens if and only if the object is at the ``expected`` revision (0: it does not exist).
    - When a write, or the transaction that it is part of, ends, it is as durable as the implementation promises, and
      every subscription can read it.
    - Methods are called from one event loop's thread and don't interleave.
    """

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        ...

    def advance(self, revision: int) -> None:
        """Advances the counter to at least ``revision``, so a server that does not remember its previous run
        never reuses a number from that run.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """A context whose writes become durable and visible together when it ends; if its body raises, none of them
        takes effect.

        Reads in the body see the writes. The body must not await. A transaction inside another one is part of it.

        Raises:
            StorageError: when the context ends, if the writes can't be stored.
        """
        ...

    def then(self, work: Callable[[], None]) -> None:
        """Calls ``work`` after the transaction has been stored and before it is visible, or immediately if there is no
        transaction.

        ``work`` updates data that is derived from the objects. It can't undo the writes, so everything that can fail
        must be done beforehand; if ``work`` raises an exception all the same, the exception is logged.
        """
        ...

    def get(self, resource: str, namespace: str, name: str) -> Record | None: ...

    def put(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        """Stores an object and returns its record. Raises Conflict."""
        ...

    def delete(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        """Removes the object and returns its last state, encoded with the revision of the deletion. Raises Conflict."""
        ...

    def scan(self, resource: str, namespace: str | None = None, *, at: int | None = None) -> list[Record]:
        """All objects, or those of ``namespace``, in etcd's order (by ``namespace/name``), at the revision ``at``, if
        given.

        Raises:
            Compacted: ``at`` is older than the history.
        """
        ...

    def scan_from(
        self, start: str, resource: str, namespace: str | None = None, *, at: int | None = None
    ) -> tuple[Iterator[Record], int]:
        """The objects of `scan` whose key, ``namespace/name``, is not before ``start``, and how many they are. The
        iterator is valid until the next write. The cost is that of the objects that are taken from it, however many
        there are, if a list is read page by page.

        Raises:
            Compacted: ``at`` is older than the history.
        """
        ...

    def changed_since(self, resource: str) -> int:
        """The revision of the last known change to any object of the resource; 0 if no change is known."""
        ...

    def subscribe(self, resource: str, since: int, wake: Callable[[], None]) -> Subscription:
        """A subscription to the changes after ``since``. ``wake`` is called synchronously whenever there are new ones.

        Raises:
            Compacted: ``since`` is older than the history.
        """
        ...

    def compact(self, revision: int) -> None:
        """Forgets the changes up to ``revision``."""
        ...

    def close(self) -> None: ...
