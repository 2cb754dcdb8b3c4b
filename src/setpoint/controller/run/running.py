"""RunningController: one run of a declared controller, with its caches, its queue, its workers and its memory of the
keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, Generic, TypeVar

from setpoint.cache import HandlerRegistration, Head, Informer
from setpoint.cache.key_shard import KeyShard
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.client import WriteRecord
from setpoint.concurrency import first
from setpoint.controller.cache_reader import CacheReader, KeyStream, synced_by, why_not
from setpoint.controller.context import current
from setpoint.controller.declaration import Declaration
from setpoint.controller.environment import Environment, Host
from setpoint.controller.history import Cause, Timeline
from setpoint.controller.memory import Memory
from setpoint.controller.outcome import describe
from setpoint.controller.run.activity_records import (
    JUDGED_AFTER,
    Activity,
    AttemptLogger,
    reads_all_secrets,
    unneeded_secrets,
    unread_secrets,
)
from setpoint.controller.run.delivery import key_of, owner, subscribe
from setpoint.controller.run.reconciler import Functions, Reconciler
from setpoint.controller.run.shard import ShardGuard
from setpoint.controller.run.workers import UnderWay, WorkLoop
from setpoint.controller.sync_context import FunctionThreads
from setpoint.controller.telemetry import LoopMetrics
from setpoint.controller.writes.ownership import ObjectWriter
from setpoint.meta import GroupVersionResource, Object, ObjectKey, resource_of
from setpoint.workqueue import LOW_PRIORITY

K = TypeVar("K", bound=Object)
_TURN: Final = 500
"""The number of keys that are requested before other tasks may run."""


class RunningController(Generic[K]):
    """One run of a `Controller`. Managers and other callers get it from `Controller.bind`.

    `prepare` creates the informers, so their caches can sync before this controller may work (warm standby). `run` does
    everything else, and calls `prepare` if it was not called. ``state`` and ``problem`` give the progress of the run.
    """

    def __init__(self, controller: Declaration[K], host: Host) -> None:
        self.controller = controller
        env = self.env = Environment(controller, host)
        self.log = env.log
        self.name = env.name
        """The name that distinguishes this run from all others of its manager."""
        self.memory = Memory(env.informers)
        self.metrics = LoopMetrics(self.name, controller.workers)
        metrics = self._process_metrics = host.process.metrics
        if metrics is not None:
            metrics.add(self.metrics)
        self.activity = Activity(
            env,
            self.memory,
            self.metrics,
            controller.hot_loop,
            self._add_write,
            reports=controller.reports_failures,
        )
        self.state = "new"
        self.problem = ""
        self._factory = host.factory
        self._shard = host.shard
        self.writer = ObjectWriter(env.client, env.informers, self.memory, env.resource, env.field_manager, env.random)
        self.threads = FunctionThreads(env.name, controller.name, controller.workers)
        functions: Functions[K] = _functions_of(controller, self.threads)
        self.reconciler: Reconciler[K] = Reconciler(
            controller, env, self.writer, self.activity, functions, self._failures
        )
        self.guard: ShardGuard | None = None
        if host.shard is not None:
            self.guard = ShardGuard(
                controller, env, host.shard, self.reconciler.handle, enqueue=self._take_over, forget=self._forget
            )
        self.loop: WorkLoop[ObjectKey] = WorkLoop(
            self.metrics,
            self.reconciler.handle if self.guard is None else self.guard.handle,
            rate_limiter=controller.rate_limiter() if controller.rate_limiter else None,
            queue_metrics=metrics.queues if metrics is not None else None,
            log=AttemptLogger(self.log, self.activity.running),
            on_end=self.activity.add_end,
        )
        self.queue = self.loop.queue
        self._registrations: list[HandlerRegistration] = []
        self._lost_events: deque[str] = deque(maxlen=1)
        self._stopping = asyncio.Event()

    @property
    def informers(self) -> dict[GroupVersionResource, Informer[Any]]:
        """The informers of all declared kinds, after `prepare`."""
        return self.env.informers

    @property
    def timeline(self) -> Timeline:
        """The last reconciles of each key."""
        return self.activity.timeline

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
                    shard=self._shard_of(watch.kind),
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

    def _shard_of(self, kind: type[Object]) -> NamespaceShard | KeyShard | None:
        """The shard of the cache of a declared kind; None if the cache has all objects."""
        if self._shard is None:
            return None
        if self._shard.namespaces is not None:
            return self._shard.namespaces if _is_local(self.controller, kind) else None
        if self._shard.key_shards is None:
            return None
        shard = self._shard.key_shards.setdefault((self.env.cluster, resource_of(kind).gvr), KeyShard())
        shard.claim(self.name, concerns(self.controller, kind, partial(self._shard.share.owns, self.name)))
        return shard

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
            with ExitStack() as stack:
                stack.callback(self.activity.close)
                stack.callback(self.env.on_controller_pause(self._reconsider_paused))
                wants = self.guard.wants if self.guard is not None else None
                for watch in self.controller.watched:
                    registration = subscribe(
                        watch,
                        self.env,
                        self.memory,
                        self.activity,
                        self.queue,
                        self._unless_stopped,
                        self._forget,
                        wants,
                    )
                    if registration is not None:
                        self._registrations.append(registration)
                for gvr, informer in self.informers.items():
                    observe = partial(self._reconsider_writers, gvr)
                    observers = informer.shared.barriers.observers
                    observers.append(observe)
                    stack.callback(observers.remove, observe)
                await self._unless_stopped(self._synced())
                for sentence in unneeded_secrets(self.controller, self.informers):
                    self.log.warning(sentence)
                async with asyncio.TaskGroup() as group:
                    beside = [
                        group.create_task(self._drain(source), name=f"{self.name} source {number}")
                        for number, source in enumerate(self.controller.sources)
                    ]
                    if self.guard is not None:
                        beside.append(group.create_task(self.guard.follow(), name=f"{self.name} shard"))
                        await self._unless_stopped(self.guard.caught_up.wait())
                    if reads_all_secrets(self.controller):
                        beside.append(group.create_task(self._judge_secrets(), name=f"{self.name} secrets"))
                    if self.env.resync:
                        beside.append(group.create_task(self._resync(self.env.resync), name=f"{self.name} resync"))
                    if not self._stopping.is_set():
                        self.state = "running"
                        self.metrics.started_at = self.env.now().timestamp()
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
            self.threads.close()
            for informer in self.informers.values():
                await informer.close()
            if self._process_metrics is not None:
                self._process_metrics.remove(self.name)

    def stop(self) -> None:
        """Takes no more keys; `run` returns when the reconciles under way have ended."""
        self._stopping.set()
        self.loop.stop()
        self.memory.barriers.abandon()

    def _reconsider_writers(self, gvr: GroupVersionResource, target: str) -> None:
        """Looks again at the keys that wrote an object which was gone before its cache showed it, since no event tells
        of that.
        """
        kind, now = self.informers[gvr].shared.scope.resource.kind, asyncio.get_running_loop().time()
        for key in self.memory.barriers.writers_of(gvr, ObjectKey(target)):
            self.activity.causes.add(key, Cause("delete", kind, ObjectKey(target), "", now))
            self.queue.add(key)

    def _add_write(self, record: WriteRecord) -> None:
        """Notes a write of the reconcile that the current task belongs to. It makes no difference whether the write
        goes through the context's client or the manager's: all copies of a client have the same observers.
        """
        activity = self.activity
        if not activity.running:
            activity.close()
            return
        context = current.get()
        if context is not None and activity.is_running(context):
            activity.add_write(context, record)

    async def _unless_stopped(self, work: Coroutine[Any, Any, Any]) -> None:
        """Waits for the coroutine; returns early if this controller is stopped meanwhile."""
        await first(work, self._stopping.wait())

    async def _synced(self) -> None:
        """Waits until the handlers have seen all existing objects."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.controller.sync_timeout
        for informer in self.informers.values():
            await synced_by(informer, deadline, f"controller {self.name!r}", self.log)
        for registration in self._registrations:
            await registration.wait_synced()

    async def _drain(self, source: Callable[[CacheReader], KeyStream]) -> None:
        async for key in source(self.env.caches):
            try:
                item = key_of(key, self.env.resource, "a source")
            except (TypeError, ValueError) as problem:  # it may come from outside, which must not end the controller
                self.log.error(str(problem))
                self._lost_events.append(str(problem))
                continue
            self.enqueue(item, Cause("external", at=asyncio.get_running_loop().time()))

    # -- events --------------------------------------------------------------------------------------------------------

    def enqueue(self, key: ObjectKey, cause: Cause, *, priority: int = 0) -> None:
        """Requests a reconcile of the key at once; does nothing if the key is in another process's share."""
        if self.guard is not None and not self.guard.wants(key):
            return
        self.activity.causes.add(key, cause)
        self.queue.add(key, priority=priority)

    async def _resync(self, period: float) -> None:
        """Requests a reconcile of every object again and again, except of those that wait for one."""
        predicates = self.controller.watched[0].predicates
        store = self.informers[self.env.resource.gvr].store
        while True:
            await asyncio.sleep(period * (1 + self.env.random.random() / 10))
            at = asyncio.get_running_loop().time()
            for number, cached in enumerate(list(store)):
                key = ObjectKey(cached)
                if self.queue.state(key) is None and (
                    not predicates or self.env.accepts(predicates, key, store.head(cached))
                ):
                    self.enqueue(key, Cause("sync", at=at), priority=LOW_PRIORITY)
                if number % _TURN == _TURN - 1:
                    await asyncio.sleep(0)

    async def _judge_secrets(self) -> None:
        await asyncio.sleep(JUDGED_AFTER)
        for sentence in unread_secrets(self.controller, self.informers, self.timeline):
            self.log.warning(sentence)

    def _reconsider_paused(self) -> None:
        """Looks at all paused keys again, because controllers were paused or resumed."""
        at = asyncio.get_running_loop().time()
        for key in list(self.activity.paused):
            self.enqueue(key, Cause("resume", at=at), priority=LOW_PRIORITY)

    def _take_over(self, key: ObjectKey, cause: Cause, priority: int) -> None:
        self.enqueue(key, cause, priority=priority)

    def _forget(self, key: ObjectKey) -> None:
        """Forgets a key whose object is gone, or that belongs to another process."""
        self.queue.forget(key)
        self.activity.causes.take(key)
        self.activity.forget(key)

    def _failures(self, key: ObjectKey) -> int:
        return self.queue.num_requeues(key)

    # -- state ---------------------------------------------------------------------------------------------------------

    def idle(self) -> bool:
        """Whether no event waits for a mapping function, and no key is ready or being reconciled. Keys that wait for a
        later reconcile (``after``, ``retry``) do not count.
        """
        depths = self.queue.depths()
        return not depths.ready and not depths.processing and not self.is_mapping()

    def is_mapping(self) -> bool:
        """Whether events wait for a mapping function."""
        return not all(registration.is_idle for registration in self._registrations)

    def take_lost_events(self) -> list[str]:
        """The events that led to no reconcile because a user's function (a mapping, a predicate, an index) raised an
        exception, or returned or yielded something other than keys, since the last call: the first one of each watch
        and of each cache, as text.
        """
        events = [*self._lost_events]
        self._lost_events.clear()
        for registration in self._registrations:
            if registration.problem is not None:
                key, problem = registration.problem
                registration.problem = None
                events.append(f"an event of {key} was lost: {describe(problem)}")
        for informer in self.informers.values():
            indexes = informer.store.indexes
            if indexes.problem is not None:
                name, key, problem = indexes.problem
                indexes.problem = None
                events.append(f"index function {name} failed for {key}, which is not indexed: {describe(problem)}")
        return [f"{self.name}: {text}" for text in events]

    def under_way(self) -> list[UnderWay]:
        """The reconciles under way, oldest first."""
        threads = self.threads.identifiers
        return [attempt._replace(thread=threads.get(ObjectKey(attempt.key))) for attempt in self.loop.under_way()]

    def readiness(self) -> str:
        """The reason why this controller is not ready; ``""`` if it is."""
        if self.state in ("running", "stopped"):
            return self.problem
        for gvr, informer in self.informers.items():
            if not informer.has_synced:
                error = why_not(informer)
                return f"cache of {gvr.resource} not synced" + (f": {error}" if error else "")
        return self.guard.waits() if self.guard is not None and self.state == "syncing" else ""


def _roles(declared: Declaration[Any], kind: type[Object]) -> set[str]:
    gvr = resource_of(kind).gvr
    return {watch.role for watch in declared.watched if resource_of(watch.kind).gvr == gvr}


def concerns(
    declared: Declaration[Any], kind: type[Object], owns: Callable[[ObjectKey], bool]
) -> Callable[[Head], bool] | None:
    """A test for the objects of a declared kind that concern keys of this process, which ``owns`` tells: the objects
    with these keys and, of a kind of children, those that have such an object among their owners. None if all objects
    may matter, because a mapping function may return any key for them, or because every reconcile may read them.
    """
    roles = _roles(declared, kind)
    if not roles <= {"for", "owns"}:
        return None
    itself, owners = "for" in roles, owner(declared.resource, any_owner=True) if "owns" in roles else None

    def test(head: Head) -> bool:
        return (itself and owns(head.key)) or (owners is not None and any(map(owns, owners(None, head))))

    return test


def _is_local(declared: Declaration[Any], kind: type[Object]) -> bool:
    """Whether changes to objects of the declared kind concern only keys of their own namespace: those of the reconciled
    kind and of children do. A mapping function may return keys of any namespace, and a reconcile may read any.
    """
    both_namespaced = declared.resource.namespaced and resource_of(kind).namespaced
    return both_namespaced and _roles(declared, kind) <= {"for", "owns"}


def _functions_of(declaration: Declaration[K], threads: FunctionThreads) -> Functions[K]:
    """The functions that the reconciler calls, with the declared defaults and checks before them."""
    function = declaration.finalizer_function
    finalize = finalize_misfit = None if function is None else threads.coroutine_function(function)
    reconcile = reconcile_misfit = threads.coroutine_function(declaration.reconcile)
    defaulters, validators = declaration.defaulters, declaration.validators
    if defaulters or validators:
        from setpoint.controller.defaulting_and_validation import checked_first  # loads the schema package

        reconcile = checked_first(reconcile, defaulters, validators)
        if finalize is not None:
            finalize = checked_first(finalize, defaulters, validators)
    return Functions(reconcile, reconcile_misfit, finalize, finalize_misfit)
