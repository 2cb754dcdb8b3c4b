"""InformerFactory: the informers of one client, and their tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from random import Random
from types import TracebackType
from typing import Any, Protocol, TypeVar

from setpoint.cache.barriers import Barrier
from setpoint.cache.errors import CacheError, CacheSyncError, InformerStopped
from setpoint.cache.handler_registration import is_within_handler
from setpoint.cache.informer import Informer
from setpoint.cache.informer_scope import Scope
from setpoint.cache.key_shard import KeyShard
from setpoint.cache.lister import AnySelector
from setpoint.cache.lister_watcher import ListerWatcher
from setpoint.cache.metrics import InformerMetrics
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.cache.object_parser import Transform
from setpoint.cache.object_record import version_number
from setpoint.cache.shared_informer import SharedInformer
from setpoint.cache.watch_options import WatchOptions
from setpoint.client.errors import Forbidden, MethodNotAllowed, NotFound, Unauthorized
from setpoint.client.write_record import WriteObserver, WriteRecord
from setpoint.concurrency import TaskScope, end
from setpoint.meta import FieldSelector, GroupVersionResource, Object, ObjectKey, Resource, Selector, resource_of

logger = logging.getLogger("setpoint.cache")

K = TypeVar("K", bound=Object)

_DEFINITE = (Forbidden, NotFound, Unauthorized, MethodNotAllowed)
_DEFINITE_TRIES = 3
DEFAULT_SYNC_TIMEOUT = 120.0


class Writer(Protocol):
    """A client with observers of its writes; `setpoint.client.Client` is one."""

    def on_write(self, observer: WriteObserver) -> Callable[[], None]: ...


class InformerFactory:
    """Creates informers and owns their tasks, which have all ended when ``async with factory`` is left.

    An informer starts when it is created, or when the factory is entered if that is later.

    ``namespace`` and ``selector`` are the defaults of all informers; ``resync`` (seconds, 0 for never) is the default
    of all handlers. ``sync_timeout`` (seconds, default 120) limits `wait_for_cache_sync`. ``random`` draws the jitter.
    ``metrics`` is an `InformerMetrics` for a Prometheus registry. If the client has observers of writes, its writes are
    recorded, so that `caught_up` can wait for them. ``watch_options`` are those of all informers.
    """

    def __init__(
        self,
        client: ListerWatcher,
        *,
        resync: float = 0.0,
        namespace: str | None = None,
        selector: AnySelector = None,
        sync_timeout: float | None = DEFAULT_SYNC_TIMEOUT,
        random: Random | None = None,
        metrics: InformerMetrics | None = None,
        watch_options: WatchOptions | None = None,
    ) -> None:
        self._client = client
        self._resync = resync
        self._namespace = namespace
        self._selector = Selector.of(selector)
        self._sync_timeout = sync_timeout
        self._random = random if random is not None else Random()
        self._watch_options = watch_options
        self._shared: dict[Hashable, SharedInformer] = {}
        self._followed: dict[GroupVersionResource, list[SharedInformer]] = {}
        self._running: dict[SharedInformer, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._closed = False
        self._unsubscribe: Callable[[], None] | None = None
        if metrics is not None:
            metrics.follow(self)

    @property
    def informers(self) -> list[SharedInformer]:
        """The current informers, one for each scope in use."""
        return list(self._shared.values())

    def informer(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: str | Mapping[str, str] | FieldSelector | None = None,
        metadata_only: bool = False,
        projection: type[Any] | None = None,
        transform: Transform | None = None,
        keep_managed_fields: bool = False,
        shard: NamespaceShard | KeyShard | None = None,
    ) -> Informer[K]:
        """A handle to the informer of this scope; all handles with the same scope share one informer.

        ``namespace``: None means the factory's default, ``""`` all namespaces. ``metadata_only`` requests and keeps
        only metadata. With a ``projection``, only the metadata and the fields of that class are kept. ``transform``
        receives each object as plain JSON values before it is stored, and returns the object to keep. ``managedFields``
        are dropped unless ``keep_managed_fields`` is set. With a ``shard`` the informer holds the shard's objects, and
        lists again whenever the shard has changed. Only namespaced kinds may have a `NamespaceShard`.

        Raises:
            InformerStopped: the factory has been closed.
            SelectorError: a selector is not valid.
            TypeError: ``kind`` has no resource.
            ValueError: ``namespace`` is ``"*"``.
        """
        if self._closed:
            raise InformerStopped("the factory has been closed; its informers can't be started again")
        resource = resource_of(kind)
        if namespace is None:
            namespace = self._namespace or ""
        if namespace == "*":
            raise ValueError(f'informer of {resource.kind}: namespace="*" watches nothing; all namespaces are ""')
        scope = Scope(
            resource,
            namespace if resource.namespaced else "",
            Selector.of(selector) if selector is not None else self._selector,
            FieldSelector.of(field_selector),
            metadata_only,
            projection,
            transform,
            keep_managed_fields,
            shard,
        )
        shared = self._shared.get(scope.identity)
        if shared is None:
            shared = SharedInformer(self._client, scope, random=self._random, options=self._watch_options)
            self._shared[scope.identity] = shared
            self._followed.setdefault(resource.gvr, []).append(shared)
            if self._tasks is not None:
                self._start(shared)
        shared.handles += 1
        return Informer(shared, kind, self._release, resync=self._resync)

    async def wait_for_cache_sync(self, timeout: float | None = None) -> None:
        """Waits until all current informers have synced and all their handlers have received the initial objects.

        ``timeout`` is in seconds; None means the factory's ``sync_timeout``.

        Raises:
            CacheSyncError: the deadline passed, or a server refused the same list three times in a row (Forbidden,
                Unauthorized, MethodNotAllowed, or NotFound, as for a missing CustomResourceDefinition). The message
                names every informer that has not synced or, if all have, every handler that is behind; the cause is
                the error of the last attempt.
            InformerStopped: an informer was stopped before it had synced.
        """
        deadline = asyncio.timeout(self._sync_timeout if timeout is None else timeout)
        try:
            async with deadline, TaskScope() as scope:
                for shared in self.informers:
                    scope.start(self._synced(shared))
                await scope.all()
        except TimeoutError:
            if not deadline.expired():
                raise
            waited = self._sync_timeout if timeout is None else timeout
            raise self._sync_error(f"not synced within {waited:g} s") from self._last_error()

    async def _synced(self, shared: SharedInformer) -> None:
        while not shared.has_synced:
            if shared.consecutive_errors >= _DEFINITE_TRIES and isinstance(shared.last_error, _DEFINITE):
                raise self._sync_error("the server refuses the list or watch") from shared.last_error
            if shared.stopped:
                raise InformerStopped(f"the informer of {shared.scope.resource} was stopped before it synced")
            await shared.wait_changed()
        for registration in list(shared.registrations):
            try:
                await registration.wait_synced()
            except InformerStopped:
                if shared.stopped:
                    raise

    def _last_error(self) -> Exception | None:
        unsynced = (informer for informer in self._shared.values() if not informer.has_synced)
        return next((informer.last_error for informer in unsynced if informer.last_error), None)

    def _sync_error(self, why: str) -> CacheSyncError:
        unsynced = [informer for informer in self._shared.values() if not informer.has_synced]
        if not unsynced:
            behind = [
                f"{informer.scope.resource} ({registration.name}: {registration.queued} waiting)"
                for informer in self._shared.values()
                for registration in informer.registrations
                if not registration.has_synced
            ]
            resource = next(iter(self._shared.values())).scope.resource
            return CacheSyncError(
                f"{why}: handlers are behind: {', '.join(behind)}", resource=resource, last_error=None
            )
        lines = [f"{informer.scope.describe()}: {informer.last_error or 'no answer yet'}" for informer in unsynced]
        failing = next((informer for informer in unsynced if informer.last_error is not None), unsynced[0])
        return CacheSyncError(
            f"{why}: " + "; ".join(lines), resource=failing.scope.resource, last_error=failing.last_error
        )

    # -- read-your-writes ----------------------------------------------------------------------------------------------

    async def observed(
        self,
        kind: type[Object] | Resource,
        key: str,
        resource_version: str = "",
        *,
        uid: str = "",
        deleted: bool = False,
        timeout: float | None = 10.0,
    ) -> bool:
        """Waits until every cache that may hold the object has seen a write to it; returns False if that takes longer
        than ``timeout`` seconds, or if a cache stops first.

        A write is identified by the ``resource_version`` in its answer: a cache has seen the write when the object, or
        the whole cache, is at that version or a later one. A deletion that was answered without a version is identified
        by ``deleted`` and ``uid``: a cache has seen the deletion when the object is gone, is being deleted, or has been
        replaced by a different one.

        Returns True at once if no informer follows that collection. Versions are compared as numbers (KEP-5504). A
        version that is not a number has been seen only when the object has exactly that version.
        """
        barrier = Barrier(version_number(resource_version), resource_version, uid, deleted)
        return await self._wait(self._covering(kind, key), key, lambda _shared: barrier, timeout)

    async def caught_up(self, kind: type[Object] | Resource, key: str, *, timeout: float | None = 10.0) -> bool:
        """Like `observed`, for the newest write to ``key`` by this factory's client.

        If it returns False, later calls do not wait for that write again: read the object from the server instead.
        """
        covering = [shared for shared in self._covering(kind, key) if shared.barriers.unseen(key) is not None]
        is_covered = await self._wait(covering, key, lambda shared: shared.barriers.unseen(key), timeout)
        if not is_covered:
            for shared in covering:
                shared.barriers.give_up(key)
        return is_covered

    @staticmethod
    async def _wait(
        covering: list[SharedInformer],
        key: str,
        barrier_of: Callable[[SharedInformer], Barrier | None],
        timeout: float | None,
    ) -> bool:
        try:
            async with asyncio.timeout(timeout):
                for shared in covering:
                    barrier = barrier_of(shared)
                    if barrier is not None and not await shared.barriers.wait(key, barrier, None):
                        return False
        except TimeoutError:
            return False
        return True

    def _covering(self, kind: type[Object] | Resource, key: str) -> list[SharedInformer]:
        resource = kind if isinstance(kind, Resource) else resource_of(kind)
        namespace = ObjectKey(key).namespace
        return [shared for shared in self._followed.get(resource.gvr, ()) if shared.scope.covers(namespace)]

    def _on_write(self, record: WriteRecord) -> None:
        for shared in self._followed.get(record.resource.gvr, ()):
            if (barrier := shared.barrier_of(record)) is not None:
                shared.barriers.note(record.key, barrier)

    # -- lifecycle -----------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> InformerFactory:
        if self._closed or self._tasks is not None:
            raise CacheError("a factory can only be entered once")
        self._tasks = await asyncio.TaskGroup().__aenter__()
        on_write = getattr(self._client, "on_write", None)
        if on_write is not None:
            self._unsubscribe = on_write(self._on_write)
        for shared in self._shared.values():
            self._start(shared)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        if any(is_within_handler(shared.store) for shared in self._running):
            raise CacheError(
                "an event handler can't end the factory that calls it, because the factory waits for its handlers: "
                "leave that to the task that has entered the factory"
            )
        self._closed = True
        if self._unsubscribe is not None:
            self._unsubscribe()
        for task in self._running.values():
            task.cancel()
        try:
            if isinstance(error, asyncio.CancelledError):
                await self._tasks.__aexit__(kind, error, trace)
            else:
                # Another error is the block's own: it is raised unchanged, not in a group.
                await self._tasks.__aexit__(None, None, None)
        finally:
            for shared in self._shared.values():
                shared.ended()  # it may never have started

    def _start(self, shared: SharedInformer) -> None:
        assert self._tasks is not None
        task = self._tasks.create_task(shared.run(), name=f"informer {shared.scope.resource}")
        self._running[shared] = task
        task.add_done_callback(lambda _: self._running.pop(shared))

    async def _release(self, shared: SharedInformer) -> None:
        """Releases one handle, and stops the informer if it was the last one."""
        shared.handles -= 1
        if shared.handles or self._shared.get(shared.scope.identity) is not shared:
            return
        del self._shared[shared.scope.identity]
        self._followed[shared.scope.resource.gvr].remove(shared)
        shared.stop()
        if not is_within_handler(shared.store) and (task := self._running.get(shared)) is not None:
            await end([task])
