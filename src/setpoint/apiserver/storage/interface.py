"""Storage: where an API server keeps its objects and their recent history.

A storage knows nothing of Kubernetes but this: objects are bytes under (resource, namespace, name), every write gets
the next number of one counter, the revision, and the recent writes can be read again in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

__all__ = [
    "Change",
    "Compacted",
    "Conflict",
    "Damage",
    "Encode",
    "Record",
    "Storage",
    "StorageError",
    "Subscription",
]

Encode = Callable[[int], bytes]
"""Makes the bytes of an object, given the revision that it is stored at."""

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class StorageError(Exception):
    """The storage can't be used: the data directory is locked, unreadable, full or of a later format."""


class Conflict(Exception):
    """The object is not at the revision that the writer expected. ``current`` is its record, if there is one."""

    def __init__(self, current: Record | None) -> None:
        super().__init__(f"the object is at revision {current.revision if current else 0}")
        self.current = current


class Compacted(Exception):
    """History does not go back so far. ``oldest`` is the earliest revision that can still be read from."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is no longer known, the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Record:
    """One object as it was stored by one write."""

    __slots__ = ("name", "namespace", "revision", "value")

    def __init__(self, namespace: str, name: str, revision: int, value: bytes) -> None:
        self.namespace = namespace
        self.name = name
        self.revision = revision
        self.value = value

    def __repr__(self) -> str:
        return f"<Record {self.namespace}/{self.name} at {self.revision}>"


class Change:
    """One write: ``record`` is what it left (for a deletion: the last state), ``previous`` what it found."""

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
    """Something that was stored and can't be read: ``what`` names it, ``why`` says what is wrong and where its bytes
    are kept."""

    __slots__ = ("what", "why")

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class Subscription(Protocol):
    """A reader of one resource's changes. It holds a place in the history, no queue: a slow reader costs nothing."""

    def read(self, limit: int = ...) -> list[Change]:
        """The next changes, none if there are none yet.

        Raises:
            Compacted: the history that was not read yet is gone.
        """
        ...

    def close(self) -> None: ...


class Storage(Protocol):
    """The promises:

    - Revisions start above 0 and only grow, over restarts too; every write has its own.
    - A write happens if and only if the object is at the ``expected`` revision (0: it does not exist).
    - When a write, or the transaction that it is part of, ends, it is as durable as the implementation says, and
      every subscription can read it.
    - Methods are called from one event loop's thread and don't interleave.
    """

    @property
    def damage(self) -> Sequence[Damage]:
        """The rows that could not be read when the storage was opened. The rest is served as usual."""
        ...

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        ...

    def advance(self, revision: int) -> None:
        """Makes the counter go on from at least ``revision``, so that a server without memory of its former life
        never gives a number again that it gave then."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All writes inside become durable and visible together when it ends; if anything is raised, none of them
        happened. Reads inside see them. Nothing may be awaited inside; one inside another is part of it.

        Raises:
            StorageError: on its end, if the writes can't be stored.
        """
        ...

    def then(self, work: Callable[[], None]) -> None:
        """Does ``work`` when the transaction has been stored, before it is visible; at once outside of a transaction.

        ``work`` brings what is derived from the objects in step with them. It can't undo the writes any more, so it
        must be prepared such that it can't fail; what it raises all the same is logged.
        """
        ...

    def get(self, resource: str, namespace: str, name: str) -> Record | None: ...

    def put(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        """Raises Conflict."""
        ...

    def delete(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        """Removes the object and gives its last state, encoded with the revision of the deletion. Raises Conflict."""
        ...

    def scan(self, resource: str, namespace: str | None = None, *, at: int | None = None) -> list[Record]:
        """All objects, of one namespace if one is given, ordered as etcd orders them (by ``namespace/name``); as they
        were at the revision ``at``.

        Raises:
            Compacted: ``at`` is before the history.
        """
        ...

    def changed_since(self, resource: str) -> int:
        """The revision of the last change of any object of that resource that is still in the history, else 0."""
        ...

    def subscribe(self, resource: str, since: int, wake: Callable[[], None]) -> Subscription:
        """Changes after ``since``. ``wake`` is called synchronously whenever there are new ones.

        Raises:
            Compacted: ``since`` is before the history.
        """
        ...

    def compact(self, revision: int) -> None:
        """Forgets the changes up to ``revision``."""
        ...

    def close(self) -> None: ...
