"""Remembers the reads of one request, to detect whether another request has changed their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from setpoint.apiserver.storage import Record, Storage
from setpoint.apiserver.storage.interface import Encode, Subscription

__all__ = ["Reads"]


class Reads:
    """A storage that also remembers what was read from it."""

    __slots__ = ("_begun", "_find", "_got", "_scanned", "_served", "_storage")

    def __init__(self, storage: Storage, find: Callable[[str, str, str], object]) -> None:
        """``find`` returns the resource that is served under a group, version and plural."""
        self._storage = storage
        self._find = find
        self._got: dict[tuple[str, str, str], Record | None] = {}
        self._scanned: dict[str, int] = {}
        self._served: dict[tuple[str, str, str], object] = {}
        self._begun = 0

    @contextmanager
    def slice(self) -> Iterator[None]:
        """A context for each slice of the work; other requests see the writes of a slice when it ends."""
        with self._storage.transaction():
            self._begun = self._storage.revision
            yield

    def may_pause(self) -> bool:
        """Whether the work may be interrupted. Interruptions are not allowed after the slice's first write, because
        other requests must not see only some of its writes.
        """
        return self._storage.revision == self._begun

    def seal(self) -> None:
        """Forbids interruptions of the work until `release`."""
        self._begun = -1

    def release(self) -> None:
        """Allows interruptions again. The objects read so far are no longer checked for changes; the writes so far are
        stored when the slice ends, even if a later slice fails.
        """
        self._got.clear()
        self._scanned.clear()
        self._begun = self._storage.revision

    def holds(self) -> bool:
        """Whether a request that begins now would read the same data."""
        return (
            all(self._storage.get(*key) is record for key, record in self._got.items())
            and all(self._storage.changed_since(name) == last for name, last in self._scanned.items())
            and all(self._find(*key) is served for key, served in self._served.items())
        )

    def note_served(self, group: str, version: str, plural: str, served: object) -> None:
        """Remembers which resource was served, because definitions can change too."""
        self._served[group, version, plural] = served

    # -- a storage ----------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self._storage.revision

    def advance(self, revision: int) -> None:
        self._storage.advance(revision)

    def transaction(self) -> AbstractContextManager[None]:
        return self._storage.transaction()

    def then(self, work: Callable[[], None]) -> None:
        self._storage.then(work)

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        record = self._storage.get(resource, namespace, name)
        self._got.setdefault((resource, namespace, name), record)
        return record

    def put(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        self.seal()  # while the bytes are made, their revision must stay the next one
        return self._storage.put(resource, namespace, name, encode, expected=expected)

    def delete(self, resource: str, namespace: str, name: str, encode: Encode, *, expected: int) -> Record:
        self.seal()
        return self._storage.delete(resource, namespace, name, encode, expected=expected)

    def scan(self, resource: str, namespace: str | None = None, *, at: int | None = None) -> list[Record]:
        self._scanned.setdefault(resource, self._storage.changed_since(resource))
        return self._storage.scan(resource, namespace, at=at)

    def changed_since(self, resource: str) -> int:
        return self._storage.changed_since(resource)

    def subscribe(self, resource: str, since: int, wake: Callable[[], None]) -> Subscription:
        return self._storage.subscribe(resource, since, wake)

    def compact(self, revision: int) -> None:
        self._storage.compact(revision)

    def close(self) -> None:
        self._storage.close()
