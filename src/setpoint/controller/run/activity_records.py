"""Activity: the records of one run's work, which are causes, reconciles, writes, hot loops and metrics; and warnings
about Secrets that are cached and, by these records, not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Final

import msgspec

from setpoint.cache import Informer
from setpoint.cache.barriers import Barrier
from setpoint.client import WriteRecord
from setpoint.client.changed_fields import changed_fields, sent_fields
from setpoint.client.write_record import WriteObserver
from setpoint.controller.context_reads import ContextReads
from setpoint.controller.declaration import Declaration, WatchedKind
from setpoint.controller.environment import Environment
from setpoint.controller.events import MAX_WORD
from setpoint.controller.history import (
    MAX_CAUSES,
    MAX_WRITES,
    Attempt,
    Cause,
    CauseLog,
    EventHistory,
    Timeline,
    Write,
    waited,
)
from setpoint.controller.hotloop import HotLoopDetector, HotLoopLimits
from setpoint.controller.memory import Memory
from setpoint.controller.outcome import reason_of
from setpoint.controller.run.workers import End
from setpoint.controller.telemetry import BoundLogger, LoopMetrics
from setpoint.meta import GroupVersionResource, ObjectKey, resource_of

MANY_SECRETS: Final = 200
"""The number of Secrets from which a cache of all Secrets is worth a warning."""
JUDGED_AFTER: Final = 300.0
"""Seconds after the start of the workers at which the reads of a controller are judged."""
_SAMPLE: Final = 200
_READ: Final = ("reads", "watches")
_FEW: Final = 10
"""A controller needs few Secrets if it needs less than one of this many."""


class Activity:
    """Records the causes, the writes and the ends of reconciles, and which reconciles are under way. With ``reports``,
    each failed reconcile is reported as an event about its object, with the reason of the condition and its message,
    which does not repeat the reason; equal failures are one event with a count. ``observer`` is called with each write
    of the client from the first reconcile on, until `close`.
    """

    __slots__ = (
        "_env",
        "_memory",
        "_observer",
        "_reports",
        "_stop_observing",
        "causes",
        "events",
        "hot_loops",
        "metrics",
        "paused",
        "running",
        "timeline",
    )

    def __init__(
        self,
        env: Environment,
        memory: Memory,
        metrics: LoopMetrics,
        limits: HotLoopLimits | None,
        observer: WriteObserver,
        *,
        reports: bool,
    ) -> None:
        self._env = env
        self._memory = memory
        self._observer = observer
        self._reports = reports
        self.hot_loops = HotLoopDetector(env.log, env.read_document, limits)
        self.causes = CauseLog()
        self.events = EventHistory()
        self.timeline = Timeline()
        self.metrics = metrics
        self.running: dict[ObjectKey, ContextReads] = {}
        """The reconciles under way."""
        self._stop_observing: Callable[[], None] | None = None
        self.paused: dict[ObjectKey, str] = {}
        """The keys that wait for people to resume them, and the reasons."""

    def begin(self, context: ContextReads) -> None:
        """Notes that a reconcile is under way, and observes writes from now on."""
        if self._stop_observing is None:
            self._stop_observing = self._env.client.on_write(self._observer)
        self.running[context.key] = context

    def close(self) -> None:
        """Observes no more writes, until the next reconcile begins. The observer calls this at a write while no
        reconcile is under way: a client with many controllers would otherwise call all their observers for each write.
        """
        if self._stop_observing is not None:
            self._stop_observing()
            self._stop_observing = None

    def is_running(self, context: ContextReads) -> bool:
        """Whether the context is that of a reconcile of this run that is under way."""
        return self.running.get(context.key) is context

    def add_write(self, context: ContextReads, record: WriteRecord) -> None:
        """Notes that a reconcile wrote an object. The factory of the caches has noted before what they have to show."""
        env, memory = self._env, self._memory
        resource, key, verb = record.resource, record.key, record.verb
        informer = env.informers.get(resource.gvr)
        barrier = None if informer is None else informer.shared.barriers.unseen(key)
        context._writes.append(_entry_of(record, len(context._writes), informer, barrier))
        is_own = key == context.key and resource.gvr == env.resource.gvr
        if informer is not None:
            if barrier is not None:
                memory.barriers.expect(context.key, resource.gvr, key)
                context._show_write(record, barrier)
            if not is_own:
                memory.suspects.note_write(record.uid, deleted=verb == "delete")
        is_answer = any(
            cause.change == "update" and cause.key == key and cause.kind == resource.kind for cause in context.causes
        )
        generation = context.object.metadata.generation
        if self.hot_loops.count_write(context.key, generation, record, is_answer=is_answer, is_own=is_own):
            self.metrics.hot_loops += 1

    def pause(self, key: ObjectKey, why: str) -> bool:
        """Notes that the key is not reconciled because people have paused its object or the controller. Returns whether
        that, or the reason, is new.
        """
        is_new = self.paused.get(key) != why
        self.paused[key] = why
        self.metrics.paused = len(self.paused)
        return is_new

    def resume(self, key: ObjectKey) -> None:
        """Notes that the key is not paused."""
        if self.paused.pop(key, None) is not None:
            self.metrics.paused = len(self.paused)

    def add_end(self, key: ObjectKey, end: End) -> None:
        """Notes the end of an attempt of the key."""
        context = self.running.pop(key, None)
        if context is not None:
            if context._trace:
                self.metrics.note_trace(context._trace, end.duration, self._env.now().timestamp())
            at = context.object.metadata
            writes = tuple(context._writes[:MAX_WRITES])
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
                context.cache_wait,
                context.age,
                tuple(context._reads.values()) if context._reads else (),
                len(context._writes) - len(writes),
                context._warning,
                end.problem is not None,
            )
            if end.problem is not None and end.result == "error" and self._reports:
                reason = reason_of(end.problem)[:MAX_WORD]
                self._env.event(context.object, "Warning", reason, end.detail.removeprefix(f"{reason}: "))
        elif end.result == "error":  # it failed before there was an object to look at
            attempt = Attempt(
                end.started, end.duration, (), "", 0, (), end.result, end.detail, end.next_in, raised=True
            )
        else:
            return
        self.timeline.add(key, attempt)
        if end.next_in is not None:
            due = end.started + end.duration + end.next_in
            self.causes.add(key, Cause("after" if end.result == "requeue_after" else "retry", at=due))

    def forget(self, key: ObjectKey) -> None:
        """Forgets everything that is remembered of a key whose object is gone, or that belongs to another process,
        except its timeline, which explains what happened, and causes that came since.
        """
        self._memory.forget(key)
        self.hot_loops.forget(key)
        self.resume(key)


class AttemptLogger(BoundLogger):
    """A logger for records about attempts, which have a ``key``. It adds the trace that records the attempt, whose span
    has ended by then.
    """

    def __init__(self, log: BoundLogger, running: Mapping[ObjectKey, ContextReads]) -> None:
        super().__init__(log.logger, log.fields)
        self._running = running

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        msg, kwargs = super().process(msg, kwargs)
        fields = kwargs["extra"]["fields"]
        context = self._running.get(fields.get("key"))
        if context is not None and context._trace:
            fields.update(context._trace)
        return msg, kwargs


def _entry_of(record: WriteRecord, number: int, informer: Informer[Any] | None, barrier: Barrier | None) -> Write:
    """The timeline's entry for the ``number``-th write of a reconcile, by the cache of its kind, if there is one, and
    the barrier, if the cache has not yet seen the write.
    """
    resource, version, before = record.resource, record.version, record.before
    fields: tuple[str, ...] = ()
    effect = ""
    if number < MAX_WRITES:
        if before and f'"resourceVersion":"{version}"'.encode() in before:
            effect = "no change"
        elif record.verb == "apply":
            if before and record.after is not None:
                fields = tuple(changed_fields(msgspec.json.decode(before), msgspec.json.decode(record.after)))
            elif before == b"" and (barrier or (informer is not None and informer.shared.barrier_of(record))):
                effect = "created"
        elif record.verb == "patch":
            fields = sent_fields(record.content_type, record.body)
    return Write(record.verb, resource.kind, record.key, version, fields, effect)


def reads_all_secrets(declaration: Declaration[Any]) -> bool:
    """Whether the controller reads or watches Secrets, whole ones and in all namespaces."""
    return any(True for watch in _all_secrets(declaration, _READ) if not watch.metadata_only)


def unneeded_secrets(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]]
) -> Iterator[str]:
    """A warning for a cache with all Secrets of a cluster of which less than a tenth of a sample are children of
    objects of the controller's kind, as it declares. This is known as soon as the cache has synced.
    """
    resource = declaration.resource
    for watch, informer in _caches_of_all(declaration, informers, ("owns",)):
        store = informer.store
        step = max(len(store) // _SAMPLE, 1)
        heads = [head for key in list(store)[::step] if (head := store.head(key)) is not None]
        owned = sum(any(owner.kind == resource.kind for owner in head.owner_references) for head in heads)
        if owned * _FEW < len(heads):
            yield (
                f"{_cached(informer)}, and about {owned * 100 // len(heads)} % of them belong to a {resource.kind}: "
                f'give the children a label, and declare .owns({watch.kind.__name__}, selector="...")'
            )


def unread_secrets(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]], timeline: Timeline
) -> Iterator[str]:
    """A warning for a cache with all Secrets of a cluster that the controller reads or watches, and of which its
    remembered reconciles needed less than a tenth.

    For each key this takes the attempt with the most reads, and the Secrets whose events caused attempts; keys that are
    not remembered count as the others do. There is no warning if the number is not known: if no reconcile read a Secret
    through its context (a lister's reads are not recorded), or if an attempt had more causes than are remembered.
    """
    for watch, informer in _caches_of_all(declaration, informers, _READ):
        if watch.metadata_only:
            continue
        kind, reads, needed, keys = resource_of(watch.kind).kind, 0, 0, timeline.keys()
        for key in keys:
            attempts = timeline.of(key)
            causes = {cause.key for attempt in attempts for cause in attempt.causes if cause.kind == kind}
            if causes and any(len(attempt.causes) >= MAX_CAUSES for attempt in attempts):
                return
            totals = [sum(read.objects for read in attempt.reads if read.kind == kind) for attempt in attempts]
            reads += sum(totals)
            needed += max(totals, default=0) + len(causes)
        if not reads:
            continue
        objects = max(len(informers[declaration.resource.gvr].store), len(keys))
        needed = needed * objects // len(keys)
        if needed * _FEW < len(informer.store):
            name = watch.kind.__name__
            yield (
                f"{_cached(informer)}, and its reconciles have needed about {needed} of them so far: declare "
                f'.{watch.role}({name}, ..., selector="...") or a namespace=, or no cache but '
                f'.needs({name}, "get"), with which ctx.get asks the server for a {kind} by its name'
            )


def _all_secrets(declaration: Declaration[Any], roles: tuple[str, ...]) -> Iterator[WatchedKind]:
    """The declarations of these roles whose caches hold all Secrets of a cluster."""
    for watch in declaration.watched:
        kind = resource_of(watch.kind)
        limited = watch.namespace or watch.selector or watch.field_selector
        if watch.role in roles and (kind.group, kind.plural) == ("", "secrets") and not limited:
            yield watch


def _caches_of_all(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]], roles: tuple[str, ...]
) -> Iterator[tuple[WatchedKind, Informer[Any]]]:
    """The same with their caches, if there are many Secrets."""
    for watch in _all_secrets(declaration, roles):
        informer = informers[resource_of(watch.kind).gvr]
        if len(informer.store) >= MANY_SECRETS:
            yield watch, informer


def _cached(informer: Informer[Any]) -> str:
    store = informer.store
    return (
        f"this process caches all {len(store)} Secrets of the cluster ({store.raw_bytes / 1e6:.1f} MB from the server)"
    )
