"""Informer: a collection that is watched once for any number of consumers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from setpoint.cache.barriers import Barrier
from setpoint.cache.errors import InformerStopped
from setpoint.cache.handler_registration import HandlerRegistration, OnAdd, OnChange, OnDelete, OnUpdate
from setpoint.cache.index import IndexFunction
from setpoint.cache.indexes import OWNER
from setpoint.cache.lister import Lister
from setpoint.cache.object_record import version_number
from setpoint.cache.record_map import Readable
from setpoint.cache.shared_informer import SharedInformer
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.store import Store
from setpoint.meta import Object, Resource
from setpoint.meta.object_head import Head

K = TypeVar("K", bound=Object)


class Informer(Generic[K]):
    """A handle to a shared informer, with typed reads, handlers and indexes.

    `InformerFactory.informer` returns it. Handles with the same scope share one stream and one store. When the last
    handle is closed (`close`, or leaving ``async with``), the stream ends and the store is dropped.

    For the guarantees that handlers have, see `HandlerRegistration`. A handler that is added later first receives the
    existing objects.
    """

    def __init__(
        self,
        shared: SharedInformer,
        kind: type[K],
        release: Callable[[SharedInformer], Awaitable[None]],
        *,
        resync: float = 0.0,
    ) -> None:
        self._resync = resync
        self._shared = shared
        self._kind = kind
        self._release = release
        self._registrations: list[HandlerRegistration] = []
        self._closed = False
        self._indexes: dict[str, str] = {}
        self._lister = self.lister_of(shared.store)

    @property
    def resource(self) -> Resource:
        return self._shared.scope.resource

    @property
    def lister(self) -> Lister[K]:
        """Typed reads of the newest state."""
        return self._lister

    @property
    def store(self) -> Store:
        """The store of the shared informer."""
        return self._shared.store

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete and in the store."""
        return self._shared.has_synced

    @property
    def is_stopped(self) -> bool:
        return self._closed or self._shared.stopped

    @property
    def last_sync_resource_version(self) -> str:
        """The newest version at which the store is known to be current; ``""`` before the first sync."""
        return self._shared.store.last_sync_resource_version

    @property
    def may_begin_old(self) -> bool:
        """Whether the first list may show an older state than this program saw in an earlier run."""
        return self._shared.options.first_list == "any"

    @property
    def last_error(self) -> Exception | None:
        """The error of the last attempt to list or watch; None after an attempt that succeeded."""
        return self._shared.last_error

    def age(self) -> float | None:
        """The seconds since the server's last message about this resource (a bookmark counts), or None before the first
        message. Reads from the cache may miss the changes of this period.
        """
        last_received_at = self._shared.reflector.counters.last_received_at
        return None if last_received_at is None else asyncio.get_running_loop().time() - last_received_at

    @property
    def shared(self) -> SharedInformer:
        """The shared informer of this handle; for metrics and tests."""
        return self._shared

    async def wait_synced(self) -> None:
        """Waits until `has_synced`, without a deadline; see also `InformerFactory.wait_for_cache_sync`."""
        await self._shared.wait_synced()

    def add_event_handler(
        self,
        *,
        on_add: OnAdd | None = None,
        on_update: OnUpdate | None = None,
        on_delete: OnDelete | None = None,
        on_change: OnChange | None = None,
        filter: Callable[[Head], bool] | None = None,
        resync: float | None = None,
        name: str = "",
    ) -> HandlerRegistration:
        """Registers handlers for changes.

        ``on_add(head, initial)``, ``on_update(old, new)`` and ``on_delete(head, final_state_unknown)`` receive heads
        and flags; they may be functions or coroutine functions. ``on_change(heads)`` replaces ``on_update`` in handlers
        that rarely need the old head: the heads of `HeadUpdate` are decoded on access, and decoding the old one costs
        as much as the rest of a delivery. The handlers see only the objects for which ``filter`` returns true: an
        update that makes it true is delivered as an add, an update that makes it false as a delete. Every ``resync``
        seconds (at least 1; 0 for never; default: the factory's) all objects are delivered again as updates. ``name``
        is for logs.

        Raises:
            InformerStopped: this handle or its factory has been closed.
            TypeError: both ``on_update`` and ``on_change`` are given.
        """
        if self._closed:
            raise InformerStopped(f"this handle to the informer of {self.resource} has been closed")
        if on_update is not None and on_change is not None:
            raise TypeError("add_event_handler() takes on_update or on_change, not both: both receive the same changes")
        registration = HandlerRegistration(
            self._shared.store,
            on_add=on_add,
            on_update=on_update,
            on_delete=on_delete,
            on_change=on_change,
            filter=filter,
            resync=self._resync if resync is None else resync,
            name=name,
        )
        self._shared.add(registration)
        self._registrations = [registration for registration in self._registrations if not registration.is_removed]
        self._registrations.append(registration)
        return registration

    def add_index(self, name: str, function: IndexFunction, *, projection: type[Any] | None = None) -> None:
        """Adds an index of the values that ``function`` returns for the `Head` or the ``projection`` of each object.

        This may be called at any time; adding the same index again does nothing. Look objects up with
        ``lister.list(index=(name, value))``. If a different handle gives the same name to a different function, each
        handle finds its own index. If the function raises for an object, the error is logged and the object is left out
        of the index.

        Raises:
            ValueError: this handle has a different index with this ``name``.
            InformerStopped: this handle or its factory has been closed.
        """
        if self.is_stopped:
            raise InformerStopped(f"the informer of {self.resource} has been stopped")
        store = self._shared.store
        if name in self._indexes or name == OWNER:
            existing = store.index(self._indexes.get(name, name))
            if existing.function != function or existing.projection is not projection:
                raise ValueError(
                    f"the informer of {self.resource} has a different index {name!r} already: choose another name"
                )
            return
        self._indexes[name] = store.add_index(name, function, projection=projection)

    def snapshot(self) -> Snapshot:
        """A snapshot of the store as it is now; read it with `lister_of`, and close it when done."""
        return self._shared.store.snapshot()

    def lister_of(self, snapshot: Readable) -> Lister[K]:
        """Typed reads of a snapshot, or of the store."""
        decode = self._shared.store.parser.decode
        return Lister(snapshot, self._kind, self.resource, indexes=self._indexes, decode=decode)

    async def observed(
        self,
        key: str,
        resource_version: str = "",
        *,
        uid: str = "",
        deleted: bool = False,
        timeout: float | None = 10.0,
    ) -> bool:
        """Waits until this cache has seen a write; returns False if that takes longer than ``timeout`` seconds, or if
        the cache stops first.

        See `InformerFactory.observed`.
        """
        barrier = Barrier(version_number(resource_version), resource_version, uid, deleted)
        return await self._shared.barriers.wait(key, barrier, timeout)

    async def close(self) -> None:
        """Removes this handle's handlers and releases the informer. Closing the handle again does nothing.

        The call waits for the running calls of the handlers. If one of them calls this method, or a task that it has
        started, the method does not wait for that call, which is the last.
        """
        if self._closed:
            return
        self._closed = True
        try:
            for registration in self._registrations:
                await registration.remove()
        finally:
            await self._release(self._shared)

    async def __aenter__(self) -> Informer[K]:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
