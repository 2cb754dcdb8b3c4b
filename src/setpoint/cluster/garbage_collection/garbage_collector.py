"""The garbage collector: deletes objects whose owners are gone, in the requested order.

Rules: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and KEP-2214. An owner counts as gone only
when the server itself says so (by uid), never because a cache has not seen it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from setpoint.cache import HandlerRegistration, Head, Informer, InformerFactory
from setpoint.cache.informer_scope import Scope
from setpoint.client import ApiError, Client, Propagation, TransportError, dynamic
from setpoint.cluster.first_object_watch import FirstObjects
from setpoint.cluster.garbage_collection.conditional_writes import GarbageWrites
from setpoint.cluster.garbage_collection.owner_graph import Graph, Node
from setpoint.cluster.garbage_collection.owner_lookup import InvalidOwner, OwnerLookup, UnknownOwner
from setpoint.cluster.served_resources import ServedResources, is_collectable
from setpoint.concurrency import TaskScope
from setpoint.controller import LoopMetrics, Outcome, WorkLoop, done, retry
from setpoint.controller.events import EventRecorder
from setpoint.meta import GroupVersionResource, Object, ObjectKey, OwnerReference, Resource
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.workqueue import RateLimitingQueue

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_TURN: Final = 64
_REPORTER: Final = "garbage-collector-controller"
SYNC_PATIENCE: Final = 10.0
"""Seconds to wait for new caches to sync before the work continues without them."""
RESCAN: Final = 30.0
"""Seconds after which discovery is repeated if it failed or its answer was incomplete."""
_AGGREGATION: Final = "apiregistration.k8s.io"
logger = logging.getLogger("setpoint.gc")


class Item(NamedTuple):
    """One object to process."""

    gvr: GroupVersionResource
    key: ObjectKey
    uid: str


class _Monitor:
    """One resource whose metadata is watched."""

    def __init__(self, resource: Resource, kind: type[Object], informer: Informer[Any]) -> None:
        self.resource = resource
        self.kind = kind
        self.informer = informer


class GarbageCollector:
    """Watches the metadata of everything that can be deleted, and deletes objects whose owners are gone.

    *Guarantees*

    - Background: an object whose owners are all gone is deleted; an object with a living owner only loses the
      references to the other owners.
    - Foreground: an owner that waits (``foregroundDeletion``) is deleted after every dependent that blocks it.
    - Orphan: dependents lose their reference before the owner is deleted.
    - Owners are looked up in the dependent's namespace, or without a namespace if their kind is cluster-scoped. An
      owner in a different namespace therefore counts as gone.
    - Custom resources and resources of aggregated servers are watched as long as they are served: a change to a
      CustomResourceDefinition or an APIService makes the collector ask the server again which resources it serves.

    *Caveats*: an owner of a kind that the server does not serve counts neither as living nor as gone: its dependents
    stay until the kind is served again. A cluster-scoped object that names a namespaced owner stays.
    """

    leader_only = False

    def __init__(
        self,
        client: Client,
        factory: InformerFactory,
        resources: ServedResources,
        *,
        recorder: EventRecorder | None = None,
        first_objects: FirstObjects | None = None,
        workers: int = 8,
    ) -> None:
        """``recorder`` takes reports about objects whose owner is in another namespace; None means no reports. With
        ``first_objects``, only resources that have had an object are watched.
        """
        self.name = "garbage-collector"
        self.graph = Graph()
        self._client = client
        self._owners = OwnerLookup(client, resources, self.graph)
        self._writes = GarbageWrites(client)
        self._factory = factory
        self._resources = resources
        self._recorder = recorder
        self._monitors: dict[GroupVersionResource, _Monitor] = {}
        self._first_objects = first_objects
        self._expected: dict[GroupVersionResource, Callable[[], None]] = {}
        self._served: Sequence[Resource] = ()
        self._stale = True
        self._loop: WorkLoop[Item] = WorkLoop(LoopMetrics(self.name, workers), self._look)
        self._rescan = asyncio.Event()
        self._settled = asyncio.Event()
        self.scanned = asyncio.Event()
        """Set once the collector watches every resource that the server serves, apart from those without objects, and
        the caches are synced or `SYNC_PATIENCE` has passed.
        """

    async def run(self) -> None:
        """Collects until `stop` is called or the task is cancelled."""
        definitions = self._factory.informer(CustomResourceDefinition, metadata_only=True)
        definitions.add_event_handler(
            on_add=lambda _head, _initial: self._changed(),
            on_update=lambda _old, _new: self._changed(),
            on_delete=lambda _head, _unknown: self._changed(),
            name=self.name,
        )
        try:
            async with TaskScope() as scope:
                scope.start(self._keep_scanning())
                scope.start(self._loop.run())
                await scope.first()
        finally:
            self._loop.queue.shut_down()
            for end in self._expected.values():
                end()
            for monitor in list(self._monitors.values()):
                await monitor.informer.close()
            await definitions.close()

    def stop(self) -> None:
        self._loop.stop()

    @property
    def queue(self) -> RateLimitingQueue[Item]:
        """The objects to process."""
        return self._loop.queue

    def idle(self) -> bool:
        """Whether there is nothing to process now."""
        depths = self._loop.queue.depths()
        follows = self.scanned.is_set() and self._settled.is_set() and not self._rescan.is_set()
        return follows and not depths.ready and not depths.processing

    # -- watched resources ---------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._resources.forget()
        self._stale = True
        self._rescan.set()

    def _appeared(self, gvr: GroupVersionResource) -> None:
        del self._expected[gvr]
        self._settled.clear()  # the object may have an owner that is being looked at
        self._rescan.set()

    async def _keep_scanning(self) -> None:
        while True:
            self._rescan.clear()
            complete = False
            try:
                if self._stale:
                    self._stale = False
                    served = await self._resources(self._client)
                    self._served = [resource for resource in served if is_collectable(resource)]
                await self._follow(self._served)
                if not self._rescan.is_set():
                    self._settled.set()
                self.scanned.set()
                complete = not self._resources.missing
            except (ApiError, TransportError) as problem:
                self._stale = True
                logger.warning("can't ask the server what it serves", extra={"fields": {"error": str(problem)}})
            try:
                async with asyncio.timeout(None if complete else RESCAN):
                    await self._rescan.wait()
            except TimeoutError:
                self._changed()

    async def _follow(self, served: Iterable[Resource]) -> None:
        """Starts to watch new resources, and stops watching those that are no longer served."""
        wanted = {resource.gvr: resource for resource in served}
        for gvr in [gvr for gvr in self._monitors if gvr not in wanted]:
            monitor = self._monitors.pop(gvr)
            await monitor.informer.close()
            for node in self.graph.forget(gvr):
                self._enqueue_dependents(node.uid)
        for gvr in [gvr for gvr in self._expected if gvr not in wanted]:
            self._expected.pop(gvr)()
        fresh: list[HandlerRegistration] = []
        for gvr, resource in wanted.items():
            if gvr not in self._monitors and not self._is_empty(gvr, resource):
                self._settled.clear()
                kind = dynamic(resource)
                informer = self._informer(resource, kind)
                self._monitors[gvr] = _Monitor(resource, kind, informer)
                fresh.append(self._subscribe(gvr, informer))
        try:
            async with asyncio.timeout(SYNC_PATIENCE):
                for registration in fresh:
                    await registration.wait_synced()
        except TimeoutError:
            behind = [registration.name for registration in fresh if not registration.has_synced]
            logger.warning("some resources can't be watched yet", extra={"fields": {"resources": behind}})

    def _informer(self, resource: Resource, kind: type[Object]) -> Informer[Any]:
        """The metadata of all objects of the resource, from the cache of a controller that has the whole objects."""
        whole = Scope(resource).identity
        has_whole = any(shared.scope.identity == whole for shared in self._factory.informers)
        return self._factory.informer(kind, namespace="", metadata_only=not has_whole)

    def _is_empty(self, gvr: GroupVersionResource, resource: Resource) -> bool:
        """Whether the resource has no objects; its first one leads to its watch."""
        if gvr in self._expected:
            return True
        if self._first_objects is None or gvr.group == _AGGREGATION:  # whose changes matter from the first one on
            return False
        end = self._first_objects.expect(resource, lambda: self._appeared(gvr))
        if end is not None:
            self._expected[gvr] = end
        return end is not None

    def _subscribe(self, gvr: GroupVersionResource, informer: Informer[Any]) -> HandlerRegistration:
        declares = gvr.group == _AGGREGATION  # what other servers serve under this one's address

        def on_add(head: Head, initial: bool) -> None:
            self._put(gvr, head, None)
            if declares and not initial:
                self._changed()

        def on_update(old: Head, new: Head) -> None:
            self._put(gvr, new, old)
            if declares:
                self._changed()

        def on_delete(head: Head, _unknown: bool) -> None:
            if declares:
                self._changed()
            node = self.graph.remove(head.uid)
            owners = node.owners if node is not None else ()
            self._enqueue_dependents(head.uid)
            for owner in owners:  # one that waits for its dependents may wait for fewer now
                waiting = self.graph.get(owner)
                if waiting is not None and waiting.deleting_dependents:
                    self._enqueue(waiting)

        return informer.add_event_handler(
            on_add=on_add, on_update=on_update, on_delete=on_delete, name=f"{self.name} {gvr.resource}"
        )

    def _put(self, gvr: GroupVersionResource, head: Head, old: Head | None) -> None:
        references = head.owner_references
        deleting = head.deletion_timestamp is not None
        node = Node(
            head.uid,
            gvr,
            head.key,
            tuple(reference.uid for reference in references) if references else (),
            frozenset(reference.uid for reference in references if reference.block_owner_deletion)
            if references
            else frozenset(),
            deleting,
            deleting and FOREGROUND in head.finalizers,
        )
        before = self.graph.put(node)
        if deleting and (FOREGROUND in head.finalizers or ORPHAN in head.finalizers):
            self._enqueue(node)
            if node.deleting_dependents and (before is None or not before.deleting_dependents):
                self._enqueue_dependents(node.uid)
        elif references and (
            old is None or old.owner_references != references or any(self.graph.get(uid) is None for uid in node.owners)
        ):
            self._enqueue(node)
        if before is not None and before.blocks != node.blocks:
            for uid in sorted(before.blocks - node.blocks):
                waiting = self.graph.get(uid)
                if waiting is not None and waiting.deleting_dependents:
                    self._enqueue(waiting)

    def _enqueue(self, node: Node) -> None:
        self._loop.queue.add(Item(node.gvr, node.key, node.uid))

    def _enqueue_dependents(self, uid: str) -> None:
        for node in self.graph.dependents(uid):
            self._enqueue(node)

    # -- one object ----------------------------------------------------------------------------------------------------

    async def _look(self, item: Item) -> Outcome:
        # Nothing is decided while a cache is being filled: it may lack dependents.
        await self._settled.wait()
        monitor = self._monitors.get(item.gvr)
        head = monitor.informer.store.head(item.key) if monitor is not None else None
        if monitor is None or head is None or head.uid != item.uid:
            return done()
        if head.deletion_timestamp is not None:
            if ORPHAN in head.finalizers:
                await self._orphan_dependents(monitor, head)
            elif FOREGROUND in head.finalizers:
                await self._finish_foreground(monitor, head)
            return done()
        if head.owner_references:
            try:
                await self._judge(monitor, head)
            except UnknownOwner as problem:
                return retry(str(problem))
            except InvalidOwner as problem:  # which no retry mends, so the object stays
                logger.info(str(problem), extra={"fields": {"kind": monitor.resource.kind, "key": head.key}})
        return done()

    async def _judge(self, monitor: _Monitor, head: Head) -> None:
        """Deletes the object if each of its owners is gone or waits for its dependents (foreground deletion). If any
        other owner is left, only removes the references to the owners that are gone or wait.
        """
        solid: list[OwnerReference] = []
        missing: list[OwnerReference] = []
        waiting: list[OwnerReference] = []
        for number, reference in enumerate(head.owner_references, 1):
            if number % _TURN == 0:
                await asyncio.sleep(0)  # an object may have tens of thousands of owners, and others their turn
            self._report(reference, monitor.kind, head)
            if not await self._owners.exists(reference, monitor.resource, head.namespace):
                missing.append(reference)
                continue
            node = self.graph.get(reference.uid)
            if node is not None and node.deleting_dependents:
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            if missing or waiting:
                await self._writes.drop_owners(
                    monitor.kind, head, {reference.uid for reference in (*missing, *waiting)}
                )
            return
        policy: Propagation
        if waiting and self.graph.has_dependents(head.uid):
            for dependent in self.graph.dependents(head.uid):
                if dependent.deleting_dependents:
                    # A circle of owners that all wait for each other would never end.
                    await self._writes.unblock(monitor.kind, head)
                    break
            policy = "Foreground"
        elif ORPHAN in head.finalizers:
            policy = "Orphan"
        elif FOREGROUND in head.finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        await self._writes.delete(monitor.kind, head, policy)

    def _report(self, reference: OwnerReference, kind: type[Object], head: Head) -> None:
        """Reports that the object names an owner of another namespace, in which owners are not looked for."""
        owner = self.graph.get(reference.uid)
        if self._recorder is None or owner is None or owner.key.namespace in ("", head.namespace):
            return
        dependent = kind.named(head.name, head.namespace)
        dependent.metadata.uid = head.uid
        message = (
            f"ownerRef [{reference.api_version}/{reference.kind}, namespace: {head.namespace}, name: {reference.name}, "
            f'uid: {reference.uid}] does not exist in namespace "{head.namespace}"'
        )
        self._recorder.event(dependent, "Warning", "OwnerRefInvalidNamespace", message, by=_REPORTER)

    async def _orphan_dependents(self, monitor: _Monitor, head: Head) -> None:
        for dependent in self.graph.dependents(head.uid):
            place = self._monitors.get(dependent.gvr)
            cached_head = place.informer.store.head(dependent.key) if place is not None else None
            if place is not None and cached_head is not None and cached_head.uid == dependent.uid:
                await self._writes.drop_owners(place.kind, cached_head, {head.uid})
        await self._writes.remove_finalizer(monitor.kind, head, ORPHAN)

    async def _finish_foreground(self, monitor: _Monitor, head: Head) -> None:
        blocking = [node for node in self.graph.dependents(head.uid) if head.uid in node.blocks]
        if not blocking:
            await self._writes.remove_finalizer(monitor.kind, head, FOREGROUND)
            return
        for node in blocking:
            if not node.deleting_dependents:
                self._enqueue(node)
