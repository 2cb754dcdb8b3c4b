"""The reads of a reconcile: from a declared cache if it holds the answer, otherwise from the server."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from setpoint.cache import Informer, Lister
from setpoint.cache.barriers import Barrier
from setpoint.cache.informer_scope import Scope
from setpoint.cache.overlay import Overlay
from setpoint.client import Client, NotFound, WriteRecord
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.cache_reader import CacheReader, DeclaredInformers, having
from setpoint.controller.history import AttemptStart, Read, Write
from setpoint.controller.memory import KeepCall
from setpoint.controller.outcome import Outdated
from setpoint.controller.telemetry import BoundLogger
from setpoint.meta import GroupVersionResource, LabelSelector, Object, ObjectKey, Resource, Selector, resource_of

T = TypeVar("T", bound=Object)
AnySelector = str | Mapping[str, str] | LabelSelector | Selector | None


class ContextReads:
    """The state and the read methods of `setpoint.controller.Context`."""

    __slots__ = (
        "_caches",
        "_informers",
        "_is_open",
        "_keep_calls",
        "_live",
        "_log",
        "_overlays",
        "_parent_log",
        "_random",
        "_reads",
        "_trace",
        "_warning",
        "_writes",
        "age",
        "cache_wait",
        "causes",
        "failures",
        "key",
        "object",
    )

    def __init__(
        self,
        informers: DeclaredInformers,
        caches: CacheReader,
        obj: Object,
        start: AttemptStart,
        *,
        log: BoundLogger,
        random: Random,
    ) -> None:
        self._informers = informers
        self._caches = caches
        self._parent_log = log
        self._random = random
        self._log: BoundLogger | None = None
        self._is_open = True
        self._overlays: dict[GroupVersionResource, Overlay] | None = None
        """The caches of the kinds that this reconcile has written, with its writes."""
        self.object = obj
        """The object being reconciled, which is also the first argument of the reconcile function."""
        self.key: ObjectKey = obj.key
        self.causes = start.causes
        """The causes of this reconcile (see `Cause`), oldest first, at most 16."""
        self.failures = start.failures
        """The number of times this key has failed, or asked for a retry, since its last success."""
        self.age = start.age
        """The age of the cache when ``object`` was read from it: the number of seconds since the server's last message
        to the cache. None if ``object`` was read from the server.
        """
        self.cache_wait = start.cache_wait
        """Seconds that the caches took to show what the last reconcile wrote."""
        self._live: dict[GroupVersionResource, builtins.list[Any]] | None = None
        """The objects of each kind whose cache is behind, read from the server by the reconciler; None if no cache is
        behind.
        """
        self._keep_calls: builtins.list[KeepCall] = []
        """The calls to `Context.keep` so far."""
        self._reads: dict[tuple[str, bool], Read] | None = None
        """The reads so far, by kind and by whether they were from a cache; None before the first read."""
        self._writes: builtins.list[Write] = []
        """The writes of this reconcile so far."""
        self._trace: Mapping[str, str] = {}
        """The ids of the span that records this reconcile; see `sampled_trace`."""
        self._warning = ""
        """The last event of this reconcile about ``object``, if its type was ``Warning``: reason and message."""

    def _close(self) -> None:
        """Ends the reconcile: every later read, write or event raises a RuntimeError."""
        self._is_open = False

    def _check_open(self) -> None:
        """Raises RuntimeError if the reconcile has ended: it must not read, write or report any more."""
        if not self._is_open:
            raise RuntimeError(ended(self.key))

    @property
    def log(self) -> BoundLogger:
        """A logger that adds controller, kind, key and reconcile id to every record."""
        if self._log is None:
            reconcile_id = str(UUID(int=self._random.getrandbits(128), version=4))
            self._log = self._parent_log.bind(key=self.key, reconcile_id=reconcile_id)
        return self._log

    @property
    def client(self) -> Client:
        """The client, for requests that a context has no method for. Writes through it count as writes of this
        reconcile: the next reconcile of the key sees them. Ask for it each time: a client that a task keeps beyond the
        end of the reconcile is not refused.
        """
        self._check_open()
        return self._caches.client

    def lister(self, kind: type[T]) -> Lister[T]:
        """The cache of a declared kind, with the writes of this reconcile. Where a cache did not show the writes of the
        key's last reconcile in time, `get`, `list` and `owned` read from the server, but a lister does not.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
        """
        self._check_open()
        self._caches.lister(kind)  # raises
        gvr = resource_of(kind).gvr
        lister: Lister[T] = self._informers[gvr].lister_of(self._overlay(gvr))
        return lister

    async def caught_up(self, *kinds: type[Object], timeout: float = 10.0) -> None:
        """Waits until the caches of these kinds show every write that this process has been answered so far, whichever
        key, controller or task made it, but no longer than ``timeout`` seconds.

            await ctx.caught_up(Pod)
            pods = await ctx.list(Pod, namespace="*")

        So a count over all objects of a kind is not behind its own process. It may be behind other processes, such as
        other shards, those of ``--processes``, and the last leader in the first moments: see
        docs/howto/counting.md.

        Raises:
            Outdated: a cache is still behind after ``timeout`` seconds, or has stopped; the reconcile is tried again.
            UndeclaredRead: the controller declares no cache of one of the kinds.
        """
        self._check_open()
        try:
            async with asyncio.timeout(timeout):
                for kind in kinds:
                    self._caches.lister(kind)  # raises
                    if not await self._informers[resource_of(kind).gvr].shared.barriers.wait_all():
                        raise Outdated(f"the cache of {resource_of(kind).plural} has stopped")
        except TimeoutError:
            plurals = ", ".join(resource_of(kind).plural for kind in kinds)
            raise Outdated(
                f"the caches ({plurals}) do not show the writes of this process after {timeout:g} s"
            ) from None

    def _show_write(self, record: WriteRecord, barrier: Barrier) -> None:
        """Makes the reads of this reconcile show a write, until the cache of the kind has seen it as ``barrier``."""
        gvr = record.resource.gvr
        self._overlay(gvr).add(record, barrier)
        if self._live is not None and gvr in self._live:
            visible = self._informers[gvr].lister_of(self._overlay(gvr)).try_get(record.key)
            others = [obj for obj in self._live[gvr] if obj.key != record.key]
            self._live[gvr] = others if visible is None else [*others, visible]

    def _overlay(self, gvr: GroupVersionResource) -> Overlay:
        if self._overlays is None:
            self._overlays = {}
        overlay = self._overlays.get(gvr)
        if overlay is None:
            informer = self._informers[gvr]
            overlay = self._overlays[gvr] = Overlay(informer.store, informer.shared.barriers)
        return overlay

    def _lister_of(self, gvr: GroupVersionResource) -> Lister[Any]:
        """The cache of a declared resource, with the writes of this reconcile if there are any."""
        overlay = self._overlays.get(gvr) if self._overlays is not None else None
        informer = self._informers[gvr]
        return informer.lister_of(overlay) if overlay else informer.lister

    def _is_cached(self, resource: Resource, key: ObjectKey) -> bool:
        """Whether a declared cache, with the writes of this reconcile, can say whether the object exists. A cache with
        a selector can't if it does not have the object.
        """
        overlay = self._overlays.get(resource.gvr) if self._overlays is not None else None
        if overlay is None or not overlay.shows_write_to(key):
            return self._informers.covers(resource, key, None)
        has_selector = self._informers[resource.gvr].shared.has_selector
        return key in overlay or not (has_selector or self._informers.is_divided(resource.gvr))

    def _document_of(self, gvr: GroupVersionResource, key: ObjectKey) -> bytes | None:
        """The JSON of an object in the cache of a declared resource, with the writes of this reconcile."""
        overlay = self._overlays.get(gvr) if self._overlays is not None else None
        return self._informers[gvr].store.get(key) if overlay is None else overlay.get(key)

    def _read(self, kind: str, objects: int, informer: Informer[Any] | None = None) -> None:
        """Notes a read from the informer's cache, or from the server if there is no informer."""
        age = None if informer is None else informer.age()
        reads = self._reads
        if reads is None:
            reads = self._reads = {}
        place = (kind, informer is not None)
        total = reads.get(place)
        if total is None:
            reads[place] = Read(kind, 1, objects, age)
        else:
            oldest = age if total.age is None or age is None else max(age, total.age)
            reads[place] = Read(kind, total.reads + 1, total.objects + objects, oldest)

    async def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """The object with that name, or None if it does not exist. ``namespace`` defaults to that of the reconciled
        object.

        If the cache has a selector, or only the objects that concern this process's keys (``--divide-caches``), the
        server is asked for an object that the cache does not show. Each such call is a
        request, and returns the whole object even if the cache holds metadata only; ``lister(kind).try_get`` asks the
        cache alone.

        Raises:
            ValueError: ``kind`` is namespaced, the reconciled object is not, and ``namespace`` is missing.
            ApiError: the server refused a request.
        """
        resource = resource_of(kind)
        space = self._namespace(resource, namespace)
        key = ObjectKey.of(space, name)
        live = self._live
        obj: T | None
        if (live is None or resource.gvr not in live) and self._is_cached(resource, key):
            self._check_open()
            informer = self._informers[resource.gvr]
            obj = self._lister_of(resource.gvr).try_get(key)
            self._read(resource.kind, 0 if obj is None else 1, informer)
            return obj
        try:
            obj = await self.client.get(kind, name, namespace=space or None)
        except NotFound:
            obj = None
        self._read(resource.kind, 0 if obj is None else 1)
        return obj

    async def ensure_current(self) -> None:
        """Checks that the object on the server still has the version that this reconcile got.

        Call this method before an action that the object asks for and that no API server guards: an action in an
        external system, or one that depends on a count in the status. A cache may be behind the server, and the cache
        of a process that has just started may begin with any state of the past: it may show an object that is gone, or
        a status that does not yet record an earlier action. Writes that name a version (`Client.update`, or a patch
        with a version) and `keep` do not need this call.

        The call costs one read from the server. Make it before the reconcile writes to its own object, because such a
        write makes a new version of the object. A later change leads to another reconcile, and so does a deletion,
        because an object with a finalizer exists until its clean-up is done.

        Raises:
            Outdated: the server has another version of the object, a different object with that name, or none. The
                reconcile is tried again with back-off, so the cache has time to catch up; no error is logged.
            ApiError: the server refused the read.
        """
        mine = self.object
        try:
            live = await self.client.get(metadata_only(type(mine)), mine.name, namespace=mine.namespace or None)
        except NotFound:
            live = None
        self._read(type(mine).__name__ if live is None else live.kind, 0 if live is None else 1)
        expected = (mine.uid, mine.metadata.resource_version)
        if live is None or (live.uid, live.metadata.resource_version) != expected:
            raise Outdated(f"{mine.kind} {mine.key} has been changed or deleted since the cache saw it")

    async def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[T]:
        """The objects whose labels match. ``namespace`` defaults to that of the reconciled object; ``"*"`` means all
        namespaces. If the controller declares a cache with a selector for these namespaces, only objects that this
        selector selects are listed. If caches have only the objects that concern their process's keys
        (``--divide-caches``), the server is asked for every list.

        ``index`` is a pair: the name of an index that the controller declares (`Controller.index`), and the value to
        look up.

        Raises:
            KeyError: the controller declares no index of that kind with this name.
            ValueError: ``kind`` is namespaced, the reconciled object is not, and ``namespace`` is missing.
        """
        resource = resource_of(kind)
        space = "" if namespace == "*" else self._namespace(resource, namespace)
        live = self._live
        scope = self._scope(resource, space)
        is_divided = self._informers.is_divided(resource.gvr)  # then the cache can't answer lists
        if scope is not None and not is_divided and (live is None or resource.gvr not in live):
            self._check_open()
            objects = self._lister_of(resource.gvr).list(namespace=space or None, selector=selector, index=index)
            self._read(resource.kind, len(objects), self._informers[resource.gvr])
            return objects
        within = scope or Scope(resource)  # the answer must not depend on whether the cache is behind
        answer = await self.client.list(
            kind,
            namespace=space or None,
            selector=Selector((*within.selector.requirements, *Selector.of(selector).requirements)),
            field_selector=within.field_selector,
        )
        self._read(resource.kind, len(answer.items))
        return answer.items if index is None else having(answer.items, self._informers.indexes, index, kind)

    def owned(self, kind: type[T]) -> builtins.list[T]:
        """The objects of a declared kind that have the reconciled object among their owners, ordered by key.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
        """
        resource = resource_of(kind)
        gvr = resource.gvr
        uid = self.object.uid
        if self._live is not None and gvr in self._live:
            children: builtins.list[T] = [
                item
                for item in self._live[gvr]
                if any(reference.uid == uid for reference in item.metadata.owner_references)
            ]
            self._read(resource.kind, len(children))
        else:
            self._check_open()
            self._caches.lister(kind)  # raises
            children = self._lister_of(gvr).by_owner(uid)
            self._read(resource.kind, len(children), self._informers[gvr])
        children.sort(key=_key)
        return children

    # -- inside --------------------------------------------------------------------------------------------------------

    def _namespace(self, resource: Resource, namespace: str | None) -> str:
        if not resource.namespaced:
            return ""
        space = self.object.namespace if namespace is None else namespace
        if not space:
            raise ValueError(f"{resource.kind} is namespaced and {self.object.kind} {self.key} is not: pass namespace=")
        return space

    def _scope(self, resource: Resource, namespace: str) -> Scope | None:
        """The scope of the declared cache that answers lists of that namespace ("" means all namespaces); None if no
        cache covers it.
        """
        informer = self._informers.get(resource.gvr)
        if informer is None or not informer.shared.covers(namespace):
            return None
        return informer.shared.scope


def ended(key: ObjectKey) -> str:
    """The message for a use of the context after the end of its reconcile."""
    return (
        f"the reconcile of {key} has ended, so its context can't be used any more: a reconcile has to await the "
        "tasks that it starts before it ends"
    )


def _key(obj: Object) -> str:
    return obj.key
