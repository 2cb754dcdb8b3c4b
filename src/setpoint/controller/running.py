"""RunningController: one run of a declared controller: its caches, queue, workers and what is known about its keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from uuid import UUID

import msgspec

from setpoint.cache import Informer, InformerFactory
from setpoint.client import ApiError, Client, PatchType, Sent, TransportError
from setpoint.concurrency import first
from setpoint.controller.applied import AppliedChildren
from setpoint.controller.barriers import Barriers
from setpoint.controller.caches import Caches
from setpoint.controller.cause import Cause, CauseLog, waited
from setpoint.controller.changes import changed_fields, sent_fields
from setpoint.controller.context import Context, current
from setpoint.controller.controller import Controller, Source
from setpoint.controller.delivery import subscribe
from setpoint.controller.exactly import KnownChildren
from setpoint.controller.hotloop import HotLoopDetector
from setpoint.controller.log import BoundLogger
from setpoint.controller.metrics import ControllerMetrics, LoopMetrics
from setpoint.controller.orphans import Orphans
from setpoint.controller.reconciler import Reconciler
from setpoint.controller.seen import Seen
from setpoint.controller.shard import Shard, ShardGuard
from setpoint.controller.state import ProgramState
from setpoint.controller.syncing import synced_by, why_not
from setpoint.controller.timeline import MAX_WRITES, Attempt, Timeline, Write
from setpoint.controller.work_loop import End, UnderWay, WorkLoop
from setpoint.meta import GroupVersionResource, Object, ObjectKey, Resource, raw_of, resource_of
from setpoint.workqueue import QueueMetricsProvider

if TYPE_CHECKING:
    from setpoint.controller.events import EventRecorder

K = TypeVar("K", bound=Object)
_NOTHING: Final = Sent()


class RunningController(Generic[K]):
    """One run of a `Controller`. Made by `Controller.bind`; managers make theirs so.

    `prepare` creates the informers, so that their caches can sync before this controller may work (warm standby);
    `run` does everything else, and `prepare` too if nobody has. ``state`` and ``problem`` say how far it has come.
    """

    def __init__(
        self,
        controller: Controller[K],
        client: Client,
        factory: InformerFactory,
        *,
        now: Callable[[], datetime],
        random: Random,
        recorder: EventRecorder | None = None,
        metrics: ControllerMetrics | None = None,
        queue_metrics: QueueMetricsProvider | None = None,
        logger: logging.Logger | None = None,
        shard: Shard | None = None,
        cluster: str = "",
        state: ProgramState | None = None,
    ) -> None:
        self.controller = controller
        self.cluster = cluster
        """The name of the cluster in a fleet; ``""`` is the manager's own."""
        self.name = f"{controller.name}@{cluster}" if cluster else controller.name
        """Tells this run from all others of its manager."""
        self.field_manager = controller.field_manager
        self.client = client
        self.factory = factory
        self.now = now
        self.random = random
        self.recorder = recorder
        self.program = state or ProgramState()
        self.state = "new"
        self.problem = ""
        self.log = BoundLogger(
            logger or logging.getLogger("setpoint.controller"),
            {
                "controller": controller.name,
                "kind": controller.resource.kind,
                **({"cluster": cluster} if cluster else {}),
            },
        )
        self.informers: dict[GroupVersionResource, Informer[Any]] = {}
        self.scopes: dict[GroupVersionResource, str] = {}
        self.caches = Caches(self.informers, self.name, client, cluster)
        self.causes = CauseLog()
        self.timeline = Timeline()
        self.seen = Seen()
        self.barriers = Barriers(self.informers)
        self.applied = AppliedChildren()
        self.children = KnownChildren()
        self.orphans = Orphans()
        self.hot = HotLoopDetector(self.log, self._read_document, controller.hot_loop)
        self.echoes: dict[ObjectKey, tuple[str, ...]] = {}
        self.running: dict[ObjectKey, Context] = {}
        self.metrics = LoopMetrics(self.name, controller.workers)
        self._all_metrics = metrics
        self._queue_metrics = queue_metrics
        if metrics is not None:
            metrics.add(self.metrics)
        self.reconciler: Reconciler[K] = Reconciler(self)
        self.guard = ShardGuard(self, shard, self.reconciler.handle) if shard is not None else None
        self.loop: WorkLoop[ObjectKey] = WorkLoop(
            self.name,
            self.reconciler.handle if self.guard is None else self.guard.handle,
            workers=controller.workers,
            rate_limiter=controller.rate_limiter() if controller.rate_limiter else None,
            metrics=self.metrics,
            queue_metrics=queue_metrics,
            log=self.log,
            on_end=self._ended,
        )
        self.queue = self.loop.queue
        self._registrations: list[Any] = []
        self._stopping = asyncio.Event()

    # -- life ----------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Creates the informers of every declared kind. Their caches sync as soon as the factory runs."""
        if self.informers:
            return
        for watch in self.controller.watched:
            gvr = resource_of(watch.kind).gvr
            if gvr not in self.informers:
                self.informers[gvr] = self.factory.informer(
                    watch.kind,
                    namespace=watch.namespace,
                    selector=watch.selector,
                    field_selector=watch.field_selector,
                    metadata_only=watch.metadata_only,
                )
                self.scopes[gvr] = self.informers[gvr].shared.scope.namespace
        for index in self.controller.indexes:
            informer = self.informers.get(resource_of(index.kind).gvr)
            if informer is None:
                name = index.kind.__name__
                raise ValueError(
                    f"controller {self.controller.name!r} declares an index {index.name!r} of {name} and no cache of "
                    f"it: add .watches({name}, ...), .owns({name}) or .reads({name})"
                )
            informer.add_index(index.name, index.function, projection=index.projection)

    async def run(self) -> None:
        """Works until `stop` or until it is cancelled.

        The workers start when every handler has seen all that was there at the start.

        Raises:
            CacheSyncError: a cache did not sync in time; it carries the server's last answer.
            RuntimeError: it was run before.
        """
        if self.state != "new":
            raise RuntimeError(f"controller {self.name!r} can be run once; bind it again")
        self.state = "syncing"
        self.prepare()
        try:
            with self._watching_writes():
                for watch in self.controller.watched:
                    if (registration := subscribe(self, watch)) is not None:
                        self._registrations.append(registration)
                await self.unless_stopped(self._synced())
                async with asyncio.TaskGroup() as group:
                    beside = [
                        group.create_task(self._drain(source), name=f"{self.name} source {number}")
                        for number, source in enumerate(self.controller.sources)
                    ]
                    if self.guard is not None:
                        beside.append(group.create_task(self.guard.follow(), name=f"{self.name} shard"))
                        await self.unless_stopped(self.guard.caught_up.wait())
                    if not self._stopping.is_set():
                        self.state = "running"
                        self.log.info("controller started", extra={"workers": self.loop.workers})
                        await self.loop.run()
                    for task in beside:
                        task.cancel()
        except BaseException as problem:
            self.problem = f"{type(problem).__name__}: {problem}"
            raise
        finally:
            self.state = "stopped"
            self._stopping.set()
            self.queue.shut_down()
            self.reconciler.close()
            for informer in self.informers.values():
                await informer.close()
            if self._all_metrics is not None:
                self._all_metrics.remove(self.name)
            remove = getattr(self._queue_metrics, "remove", None)
            if remove is not None:
                remove(self.name)

    def stop(self) -> None:
        """Take no more keys; `run` returns when the reconciles under way have ended."""
        self._stopping.set()
        self.loop.stop()
        self.barriers.abandon()

    async def unless_stopped(self, what: Coroutine[Any, Any, Any]) -> None:
        """Waits for it; returns early when this is stopped meanwhile."""
        await first(what, self._stopping.wait())

    async def _synced(self) -> None:
        """Until the handlers have seen what is there."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.controller.sync_timeout
        for informer in self.informers.values():
            await synced_by(informer, deadline, f"controller {self.name!r}", self.log)
        for registration in self._registrations:
            await registration.wait_synced()

    async def _drain(self, source: Source) -> None:
        async for key in source():
            self.enqueue(ObjectKey(key), Cause("external", at=asyncio.get_running_loop().time()))

    # -- events --------------------------------------------------------------------------------------------------------

    def enqueue(self, key: ObjectKey, cause: Cause, *, priority: int = 0) -> None:
        """Asks for a reconcile of the key, now."""
        self.causes.add(key, cause)
        self.queue.add(key, priority=priority)

    # -- writes --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _watching_writes(self) -> Iterator[None]:
        """Every write that is made within a reconcile counts as that reconcile's, with the context's client or with the
        manager's, which is the same one but for fences and tracing."""
        with ExitStack() as stack:
            for client in self.client.lineage:
                stack.callback(client.on_write(self._on_write))
            yield

    def _on_write(
        self, resource: Resource, key: ObjectKey, uid: str, resource_version: str, verb: str, sent: Sent
    ) -> None:
        context = current.get()
        if context is not None and self.running.get(context.key) is context:
            fields = sent_fields(*sent) if verb == "patch" and len(context.writes) < MAX_WRITES else ()
            told = "apply" if sent.content_type == PatchType.APPLY.value else verb
            self.wrote(context, resource, key, uid, resource_version, told, fields, sent)

    def wrote(
        self,
        context: Context,
        resource: Resource,
        key: ObjectKey,
        uid: str,
        resource_version: str,
        verb: str,
        fields: tuple[str, ...] = (),
        sent: Sent = _NOTHING,
    ) -> None:
        """A reconcile wrote an object."""
        context.writes.append(Write(verb, resource.kind, key, resource_version, fields))
        if self.covers(resource, key, None):
            self.barriers.wrote(context.key, resource, key, uid, resource_version, deletion=verb == "delete")
        kind, generation = resource.kind, context.object.metadata.generation
        answering = any(
            cause.change == "update" and cause.key == key and cause.kind == kind for cause in context.causes
        )
        own = key == context.key and resource.gvr == self.controller.resource.gvr
        if not own and resource.gvr in self.informers:
            self.orphans.wrote(uid, deleted=verb == "delete")
        if self.hot.wrote(context.key, generation, resource, key, resource_version, sent, answering=answering, own=own):
            self.metrics.hot_loops += 1

    def answered(self, context: Context, answer: Object, *, before: bytes | None = None) -> None:
        """What `wrote` could not know: the labels, by which a cache with a selector holds the object or does not, and
        what has changed of the document ``before``; None if there was none, or it is not known."""
        resource = resource_of(type(answer))
        self._tell_effect(context, resource, answer, before)
        if self.covers(resource, answer.key, answer.labels):
            self.barriers.wrote(
                context.key, resource, answer.key, answer.uid, answer.metadata.resource_version, deletion=False
            )

    def known(self, resource: Resource, key: ObjectKey) -> bytes | None:
        """The document that the declared cache has of an object."""
        informer = self.informers.get(resource.gvr)
        return informer.store.get(key) if informer is not None else None

    def _tell_effect(self, context: Context, resource: Resource, answer: Object, before: bytes | None) -> None:
        """Completes what was noted of the write that was answered so."""
        writes, key, version = context.writes, answer.key, answer.metadata.resource_version
        for place in range(min(len(writes), MAX_WRITES) - 1, -1, -1):
            write = writes[place]
            if write.key == key and write.resource_version == version and write.kind == resource.kind:
                if before is None:
                    if write.verb == "apply" and self.covers(resource, key, answer.labels):
                        writes[place] = write._replace(effect="created")
                elif f'"resourceVersion":"{version}"'.encode() in before:
                    writes[place] = write._replace(fields=(), effect="no change")
                elif write.verb == "apply" and (raw := raw_of(answer)) is not None:
                    fields = changed_fields(msgspec.json.decode(before), msgspec.json.decode(raw))
                    writes[place] = write._replace(fields=tuple(fields))
                return

    def covers(self, resource: Resource, key: ObjectKey, labels: dict[str, str] | None) -> bool:
        """Whether the declared cache will show the object. Without ``labels``, one with a selector is taken to show
        what it shows already."""
        informer = self.informers.get(resource.gvr)
        if informer is None:
            return False
        scope = informer.shared.scope
        if scope.namespace and key.namespace != scope.namespace:
            return False
        if not scope.selector and not scope.field_selector:
            return True
        fields = {"metadata.name": key.name, "metadata.namespace": key.namespace}
        if any(requirement.field not in fields for requirement in scope.field_selector.requirements):
            return key in informer.store
        if not scope.field_selector.matches(fields):
            return False
        if scope.selector and labels is None:
            return key in informer.store
        return scope.selector.matches(labels)

    async def _read_document(self, resource: Resource, key: ObjectKey) -> dict[str, Any] | None:
        try:
            body = await self.client.request("GET", resource.path(namespace=key.namespace, name=key.name))
        except (ApiError, TransportError):
            return None
        document: dict[str, Any] = msgspec.json.decode(body)
        return document

    def event(
        self, obj: Object, type: str, reason: str, message: str, *, action: str = "", related: Object | None = None
    ) -> None:
        """See `Context.event`. Without a recorder the event is only logged."""
        if self.recorder is not None:
            self.recorder.event(
                obj, type, reason, message, action=action or reason, related=related, by=self.controller.reporter
            )
        else:
            self.log.info(message, extra={"key": obj.key, "event": type, "reason": reason})

    # -- what is known -------------------------------------------------------------------------------------------------

    def new_id(self) -> str:
        """An id for one reconcile."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def idle(self) -> bool:
        """Whether no event waits to be mapped, and no key is ready or being worked on; keys with an appointment don't
        count."""
        depths = self.queue.depths()
        return not depths.ready and not depths.processing and all(each.is_idle for each in self._registrations)

    def under_way(self) -> list[UnderWay]:
        """The reconciles under way, those that began first at the front."""
        threads = self.reconciler.threads
        return [each._replace(thread=threads.get(ObjectKey(each.key))) for each in self.loop.under_way()]

    def readiness(self) -> str:
        """Why this controller is not ready, ``""`` if it is."""
        if self.state in ("running", "stopped"):
            return self.problem
        for gvr, informer in self.informers.items():
            if not informer.has_synced:
                error = why_not(informer)
                return f"cache of {gvr.resource} not synced" + (f": {error}" if error else "")
        return self.guard.waits() if self.guard is not None and self.state == "syncing" else ""

    def _ended(self, key: ObjectKey, end: End) -> None:
        context = self.running.pop(key, None)
        if context is not None:
            at = context.object.metadata
            writes = tuple(context.writes[:MAX_WRITES])
            attempt = Attempt(
                end.started,
                end.duration,
                context.causes,
                at.resource_version,
                at.generation,
                writes,
                end.result,
                end.detail,
                end.next_in,
                waited(context.causes, end.started),
                context.settled,
                context.age,
                tuple(context.reads.values()) if context.reads else (),
                len(context.writes) - len(writes),
            )
            self.timeline.add(key, attempt)
        elif end.result == "error":  # it failed before there was an object to look at
            self.timeline.add(
                key, Attempt(end.started, end.duration, (), "", 0, (), end.result, end.detail, end.next_in)
            )
        else:
            return
        if end.next_in is not None:
            due = end.started + end.duration + end.next_in
            self.causes.add(key, Cause("after" if end.result == "requeue_after" else "retry", at=due))
