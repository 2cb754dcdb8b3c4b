"""RunningController: one run of a declared controller, with its caches, its queue, its workers and its memory of the
keys.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from random import Random
from typing import Any, Generic, TypeVar

from setpoint.cache import HandlerRegistration, Informer, InformerFactory
from setpoint.client import Client
from setpoint.concurrency import first
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.cause import Cause
from setpoint.controller.declaration import Declaration
from setpoint.controller.delivery import subscribe
from setpoint.controller.environment import Environment
from setpoint.controller.events import EventRecorder
from setpoint.controller.failures import describe
from setpoint.controller.handlers import key_of
from setpoint.controller.log import BoundLogger
from setpoint.controller.memory import Memory
from setpoint.controller.metrics import ControllerMetrics, LoopMetrics
from setpoint.controller.reconciler import Reconciler
from setpoint.controller.shard import Shard, ShardGuard
from setpoint.controller.sources import Keys
from setpoint.controller.state import ProgramState
from setpoint.controller.syncing import synced_by, why_not
from setpoint.controller.timeline import Timeline
from setpoint.controller.told import Told
from setpoint.controller.work_loop import UnderWay, WorkLoop
from setpoint.meta import GroupVersionResource, Object, ObjectKey, resource_of
from setpoint.workqueue import QueueMetricsProvider

K = TypeVar("K", bound=Object)


class RunningController(Generic[K]):
    """One run of a `Controller`. Managers and other callers get it from `Controller.bind`.

    `prepare` creates the informers, so their caches can sync before this controller may work (warm standby). `run` does
    everything else, and calls `prepare` if it was not called. ``state`` and ``problem`` give the progress of the run.
    """

    def __init__(
        self,
        controller: Declaration[K],
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
        names = {"controller": controller.name, "kind": controller.resource.kind}
        self.log = BoundLogger(
            logger or logging.getLogger("setpoint.controller"), {**names, "cluster": cluster} if cluster else names
        )
        env = self.env = Environment(
            controller=controller.name,
            cluster=cluster,
            resource=controller.resource,
            field_manager=controller.field_manager,
            reporter=controller.reporter,
            indexes=controller.indexes,
            client=client,
            factory=factory,
            now=now,
            random=random,
            recorder=recorder,
            log=self.log,
            program=state or ProgramState(),
            is_guarded=shard is not None,
        )
        self.name = env.name
        """The name that distinguishes this run from all others of its manager."""
        self.memory = Memory(env, controller.hot_loop)
        self.metrics = LoopMetrics(self.name, controller.workers)
        self.told = Told(env, self.memory, self.metrics, reports=controller.reports_failures)
        self.state = "new"
        self.problem = ""
        self._factory = factory
        self._all_metrics = metrics
        self._queue_metrics = queue_metrics
        if metrics is not None:
            metrics.add(self.metrics)
        self.reconciler: Reconciler[K] = Reconciler(controller, env, self.memory, self.told, self._failures)
        self.guard: ShardGuard | None = None
        if shard is not None:
            self.guard = ShardGuard(
                controller, env, shard, self.reconciler.handle, enqueue=self._take_over, forget=self._forget
            )
        self.loop: WorkLoop[ObjectKey] = WorkLoop(
            self.name,
            self.reconciler.handle if self.guard is None else self.guard.handle,
            workers=controller.workers,
            rate_limiter=controller.rate_limiter() if controller.rate_limiter else None,
            metrics=self.metrics,
            queue_metrics=queue_metrics,
            log=self.log,
            on_end=self.told.ended,
        )
        self.queue = self.loop.queue
        self._registrations: list[HandlerRegistration] = []
        self._lost: deque[str] = deque(maxlen=1)
        self._stopping = asyncio.Event()

    @property
    def informers(self) -> dict[GroupVersionResource, Informer[Any]]:
        """The informers of all declared kinds, after `prepare`."""
        return self.env.informers

    @property
    def timeline(self) -> Timeline:
        """The last reconciles of each key."""
        return self.told.timeline

    # -- life ----------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Creates the informers of every declared kind. Their caches sync as soon as the factory runs.

        Raises:
            ValueError: an index is declared for a kind of which the controller declares no cache.
        """
        if self.informers:
            return
        for watch in self.controller.watched:
            gvr = resource_of(watch.kind).gvr
            if gvr not in self.informers:
                self.informers[gvr] = self._factory.informer(
                    watch.kind,
                    namespace=watch.namespace,
                    selector=watch.selector,
                    field_selector=watch.field_selector,
                    metadata_only=watch.metadata_only,
                )
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
        """Works until `stop` is called or the call is cancelled.

        The workers start when every handler has seen all objects that the first lists contained.

        Raises:
            CacheSyncError: a cache did not sync in time; the error has the server's last answer.
            ExceptionGroup: an external source raised an exception.
            RuntimeError: the controller was run before.
            ValueError: as for `prepare`.
        """
        if self.state != "new":
            raise RuntimeError(f"controller {self.name!r} can be run once; bind it again")
        self.state = "syncing"
        self.prepare()
        try:
            with self._hearing_writes():
                wants = self.guard.wants if self.guard is not None else None
                for watch in self.controller.watched:
                    registration = subscribe(
                        watch,
                        self.env,
                        self.memory,
                        self.told,
                        self.queue,
                        self._unless_stopped,
                        self._forget,
                        wants,
                    )
                    if registration is not None:
                        self._registrations.append(registration)
                await self._unless_stopped(self._synced())
                async with asyncio.TaskGroup() as group:
                    beside = [
                        group.create_task(self._drain(source), name=f"{self.name} source {number}")
                        for number, source in enumerate(self.controller.sources)
                    ]
                    if self.guard is not None:
                        beside.append(group.create_task(self.guard.follow(), name=f"{self.name} shard"))
                        await self._unless_stopped(self.guard.caught_up.wait())
                    if not self._stopping.is_set():
                        self.state = "running"
                        self.log.info("controller started", extra={"workers": self.loop.workers})
                        await self.loop.run()
                    for task in beside:
                        task.cancel()
        except BaseException as problem:
            self.problem = describe(problem)
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
        """Takes no more keys; `run` returns when the reconciles under way have ended."""
        self._stopping.set()
        self.loop.stop()
        self.memory.barriers.abandon()

    @contextmanager
    def _hearing_writes(self) -> Iterator[None]:
        """Counts every write within a reconcile as a write of that reconcile. It makes no difference whether the
        write goes through the context's client or the manager's: they are the same client except for fences and
        tracing.
        """
        with ExitStack() as stack:
            for client in self.env.client.lineage:
                stack.callback(client.on_write(self.told.heard))
            yield

    async def _unless_stopped(self, what: Coroutine[Any, Any, Any]) -> None:
        """Waits for the coroutine; returns early if this controller is stopped meanwhile."""
        await first(what, self._stopping.wait())

    async def _synced(self) -> None:
        """Waits until the handlers have seen all existing objects."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.controller.sync_timeout
        for informer in self.informers.values():
            await synced_by(informer, deadline, f"controller {self.name!r}", self.log)
        for registration in self._registrations:
            await registration.wait_synced()

    async def _drain(self, source: Callable[[CacheReader], Keys]) -> None:
        async for key in source(self.env.caches):
            try:
                item = key_of(key, self.env.resource, "a source")
            except (TypeError, ValueError) as problem:  # it may come from outside, which must not end the controller
                self.log.error(str(problem))
                self._lost.append(str(problem))
                continue
            self.enqueue(item, Cause("external", at=asyncio.get_running_loop().time()))

    # -- events --------------------------------------------------------------------------------------------------------

    def enqueue(self, key: ObjectKey, cause: Cause, *, priority: int = 0) -> None:
        """Requests a reconcile of the key at once; does nothing if the key is in another process's share."""
        if self.guard is not None and not self.guard.wants(key):
            return
        self.told.causes.add(key, cause)
        self.queue.add(key, priority=priority)

    def _take_over(self, key: ObjectKey, cause: Cause, priority: int) -> None:
        self.enqueue(key, cause, priority=priority)

    def _forget(self, key: ObjectKey) -> None:
        """Forgets a key whose object is gone, or that belongs to another process."""
        self.queue.forget(key)
        self.told.causes.take(key)
        self.memory.forget(key)

    def _failures(self, key: ObjectKey) -> int:
        return self.queue.num_requeues(key)

    # -- what is known -------------------------------------------------------------------------------------------------

    def idle(self) -> bool:
        """Whether no event waits for a mapping function, and no key is ready or being reconciled. Keys that wait for a
        later reconcile (``after``, ``retry``) do not count.
        """
        depths = self.queue.depths()
        return not depths.ready and not depths.processing and not self.is_mapping()

    def is_mapping(self) -> bool:
        """Whether events wait for a mapping function."""
        return not all(each.is_idle for each in self._registrations)

    def take_lost_events(self) -> list[str]:
        """The events that led to no reconcile because a user's function (a mapping, a predicate, an index) raised an
        exception, or returned or yielded something other than keys, since the last call: the first one of each watch
        and of each cache, as text.
        """
        lost = [*self._lost]
        self._lost.clear()
        for registration in self._registrations:
            if registration.problem is not None:
                key, problem = registration.problem
                registration.problem = None
                lost.append(f"an event of {key} was lost: {describe(problem)}")
        for informer in self.informers.values():
            indexes = informer.store.indexes
            if indexes.problem is not None:
                name, key, problem = indexes.problem
                indexes.problem = None
                lost.append(f"index function {name} failed for {key}, which is not indexed: {describe(problem)}")
        return [f"{self.name}: {text}" for text in lost]

    def under_way(self) -> list[UnderWay]:
        """The reconciles under way, oldest first."""
        threads = self.reconciler.threads
        return [each._replace(thread=threads.get(ObjectKey(each.key))) for each in self.loop.under_way()]

    def readiness(self) -> str:
        """The reason why this controller is not ready; ``""`` if it is."""
        if self.state in ("running", "stopped"):
            return self.problem
        for gvr, informer in self.informers.items():
            if not informer.has_synced:
                error = why_not(informer)
                return f"cache of {gvr.resource} not synced" + (f": {error}" if error else "")
        return self.guard.waits() if self.guard is not None and self.state == "syncing" else ""
