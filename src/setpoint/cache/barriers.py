"""Lets callers wait until a cache has seen a write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from setpoint.cache.object_record import version_number, version_of
from setpoint.cache.store import Store


class Barrier(NamedTuple):
    """A write that a cache is expected to see; see `InformerFactory.observed`. After one that is ``deleted``, the cache
    shows the object as being deleted or does not show it; after one that is ``gone``, it does not show it.
    """

    version: int
    resource_version: str
    uid: str = ""
    deleted: bool = False
    gone: bool = False


class Barriers:
    """The writes that a cache has not yet seen, and the callers that wait for them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, list[tuple[Barrier, asyncio.Future[bool]]]] = {}
        self._unseen: dict[str, Barrier] = {}
        self._unshown: set[str] = set()
        """Those of ``_unseen`` whose object the cache did not have at the write, and has not had since."""
        self.observers: list[Callable[[str], None]] = []
        """Called with the key of a written object that was gone before the cache showed it: there is no event."""

    def __bool__(self) -> bool:
        return bool(self._waiting or self._unseen)

    def note(self, key: str, barrier: Barrier) -> None:
        """Records a write; `unseen` returns it until the cache has seen it. The barrier of a deletion also covers
        earlier writes to the object that the cache has not yet seen.
        """
        last = self._unseen.get(key)
        if barrier.deleted and last is not None and last.version > barrier.version:
            barrier = barrier._replace(version=last.version, resource_version=last.resource_version)
        if (last is None or last.version <= barrier.version or not barrier.version) and not self.seen(key, barrier):
            self._unseen[key] = barrier
            if key not in self._store:
                self._unshown.add(key)

    def unseen(self, key: str) -> Barrier | None:
        """The newest write to ``key`` that the cache has not yet seen, or None."""
        return self._unseen.get(key)

    def give_up(self, key: str) -> None:
        self._unseen.pop(key, None)
        self._unshown.discard(key)

    def seen(self, key: str, barrier: Barrier) -> bool:
        store = self._store
        record = store.record(key)
        version = barrier.version
        if barrier.deleted:
            if record is None:
                return version_number(store.last_sync_resource_version) >= version
            head = store.head_of(record)
            is_shown = not barrier.gone and head.is_deleting and version_of(record) >= version
            return is_shown or bool(barrier.uid and head.uid != barrier.uid)
        if version and version_number(store.last_sync_resource_version) >= version:
            return True
        if version or record is None:
            return record is not None and version_of(record) >= version
        return store.head_of(record).resource_version == barrier.resource_version

    async def wait(self, key: str, barrier: Barrier, timeout: float | None) -> bool:
        if self.seen(key, barrier):
            return True
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append((barrier, future))
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            return False
        finally:
            self._drop(key, future)

    async def wait_all(self) -> bool:
        """Waits until the cache has seen every write recorded so far; returns False if the cache stops first."""
        for key, barrier in list(self._unseen.items()):
            if not await self.wait(key, barrier, None):
                return False
        return True

    def check(self, key: str) -> None:
        """Wakes the callers that wait for a write to ``key`` if the cache has now seen it; called after each change
        of the object.
        """
        barrier = self._unseen.get(key)
        if key in self._store:
            self._unshown.discard(key)
        if barrier is not None and self.seen(key, barrier):
            del self._unseen[key]
            if key in self._unshown:
                self._unshown.remove(key)
                for observer in [*self.observers]:
                    observer(key)
        for barrier, future in self._waiting.get(key, ()):
            if not future.done() and self.seen(key, barrier):
                future.set_result(True)

    def check_all(self) -> None:
        for key in [*self._unseen, *self._waiting]:
            self.check(key)

    def close(self) -> None:
        """Ends all waits with the result False, because the cache has stopped."""
        self._unseen.clear()
        self._unshown.clear()
        for waiting in self._waiting.values():
            for _, future in waiting:
                if not future.done():
                    future.set_result(False)

    def _drop(self, key: str, future: asyncio.Future[bool]) -> None:
        rest = [waiter for waiter in self._waiting[key] if waiter[1] is not future]
        if rest:
            self._waiting[key] = rest
        else:
            del self._waiting[key]
