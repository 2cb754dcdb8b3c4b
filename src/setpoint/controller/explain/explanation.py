"""Explain: the reasons for the state of a key, as a verdict and a timeline, from the facts of a running controller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.controller.cache_reader import why_not
from setpoint.controller.explain.verdict import CachedHead, Facts, lasting, verdict
from setpoint.controller.history import Attempt
from setpoint.controller.run.running import RunningController
from setpoint.meta import GroupResource, ObjectKey

_UNREADY: Final = ("failed", "stuck", "in progress")
"""The states of an object, by its status alone, in which it is not as wanted."""


def facts_of(
    run: RunningController[Any],
    key: ObjectKey,
    among: Iterable[RunningController[Any]] | None = None,
    *,
    unready: str | None = None,
) -> Facts:
    """The facts that the controller knows about the key now. If ``among`` is given and the object is being deleted, the
    facts name the controllers that remove its finalizers. ``unready`` is the reason that `unready_in` gives for the
    object in the cache; it is computed if it is None.
    """
    watch = run.controller.watched[0]
    informer = run.informers.get(run.controller.resource.gvr)
    head = informer.store.head(key) if informer is not None else None
    cached, sentence = None, ""
    own = run.controller.finalizer
    if head is not None:
        finalizers = tuple(name for name in head.finalizers if name != own)
        if among is not None and finalizers and head.deletion_timestamp is not None:
            same_cluster = [other for other in among if other.env.cluster == run.env.cluster]
            sentence = Removers(same_cluster).sentence(run.controller.resource.group_resource, finalizers)
        cached = CachedHead(head.generation, head.resource_version, head.deletion_timestamp is not None, finalizers)
    if unready is None:
        document = informer.store.get(key) if informer is not None else None
        unready = "" if document is None else unready_in(document)
    limits = [
        f"{name} {value}"
        for name, value in (
            ("namespace", watch.namespace),
            ("selector", watch.selector),
            ("field selector", watch.field_selector),
        )
        if value
    ]
    scope = f", which is limited to {', '.join(limits)}" if limits else ""
    if run.controller.resource.namespaced and not ObjectKey(key).namespace:
        scope += f"; the key of a {run.controller.resource.kind} is NAMESPACE/NAME"
    now = asyncio.get_running_loop().time()
    context = run.activity.running.get(key)
    slow = run.activity.hot_loops.slowed.get(key)
    since = run.loop.started.get(key)
    return Facts(
        key=key,
        now=now,
        phase=run.state,
        problem=run.problem,
        unsynced=tuple(unsynced(run)),
        elsewhere=run.guard.elsewhere(key) if run.guard is not None else "",
        scope=scope,
        cached=cached,
        queue=run.queue.state(key),
        ahead=len(run.queue),
        ready_at=run.queue.ready_at(key),
        failures=run.queue.num_requeues(key),
        running_since=since,
        awaits_caches=since is not None and context is None and run.memory.barriers.pending(key),
        slowed=slow.why if slow is not None else "",
        paused=run.activity.paused.get(key, ""),
        unready=unready,
        causes=context.causes if context is not None else run.activity.causes.peek(key, now),
        pending=run.activity.causes.peek(key),
        attempts=tuple(run.timeline.of(key)),
        filtered=run.activity.events.last_filtered(key),
        deleted_at=run.activity.events.deleted_at(key),
        finalizers_text=sentence,
        cleans_up=run.controller.reconcile_deleting or (head is not None and bool(own) and own in head.finalizers),
    )


def unready_in(document: bytes) -> str:
    """The reason that the status of an object gives for not being as wanted; ``""`` if there is none."""
    if b'"status"' not in document:
        return ""
    from setpoint.meta.object_status import standing  # a process that is not asked needs no rules

    state, text, _, _ = standing(msgspec.json.decode(document))
    return text or f"its status says: {state}" if state in _UNREADY else ""


def unsynced(run: RunningController[Any]) -> list[str]:
    """The caches that have not synced yet, each with the server's last answer; or, if all caches have synced but still
    have to catch up with the writes of other processes, a sentence that says so.
    """
    reasons = [
        f"the cache of {gvr.resource} is not synced: {why_not(informer) or 'the server has not answered yet'}"
        for gvr, informer in run.informers.items()
        if not informer.has_synced
    ]
    if not reasons and run.guard is not None and (waits := run.guard.waits()):
        reasons.append(waits)
    return reasons


def outdated(run: RunningController[Any]) -> list[str]:
    """The caches that have synced but no longer follow the server, each with the server's last answer."""
    return [
        f"the cache of {gvr.resource} has received nothing for {lasting(informer.age() or 0.0)}: {why_not(informer)}"
        for gvr, informer in run.informers.items()
        if informer.has_synced and informer.last_error is not None
    ]


# -- for people and programs -------------------------------------------------------------------------------------------


class WriteEntry(msgspec.Struct, rename="camel", kw_only=True):
    """A write; see `Write`."""

    verb: str
    kind: str
    key: str
    resource_version: str
    fields: list[str]
    effect: str


class ReadEntry(msgspec.Struct, rename="camel", kw_only=True):
    """The reads of one kind. For reads from the cache, ``age`` is the greatest age of the cache at any of these reads:
    the number of seconds since the cache last heard from the server.
    """

    kind: str
    reads: int
    objects: int
    cached: bool
    age: float | None


class AttemptEntry(msgspec.Struct, rename="camel", kw_only=True):
    """One attempt, in wall-clock time. All durations and ages are in seconds; see `Attempt`."""

    at: datetime
    started: float
    """The start time on the event loop's clock. Unlike ``at``, which also depends on corrections of the wall clock, it
    is the same in every answer.
    """
    waited: float | None
    cache_wait: float
    seconds: float
    causes: list[str]
    generation: int
    resource_version: str
    age: float | None
    reads: list[ReadEntry]
    writes: list[WriteEntry]
    more_writes: int
    result: str
    detail: str
    next: datetime | None


class Explanation(msgspec.Struct, rename="camel", kw_only=True):
    """A key's verdict and timeline, in wall-clock time, as ``/debug/controllers`` returns it in JSON."""

    controller: str
    kind: str
    key: str
    state: str
    text: str
    now: datetime
    since: datetime | None
    until: datetime | None
    failures: int
    generation: int
    resource_version: str
    pending: list[str]
    caches: list[str]
    """The caches that no longer follow the server, each with the time since the server's last message and with the
    server's last answer.
    """
    timeline: list[AttemptEntry]


def explain(
    run: RunningController[Any], key: ObjectKey | str, *, among: Iterable[RunningController[Any]] | None = None
) -> Explanation:
    """The explanation of an object's state. The call needs the running loop; it changes nothing.

    ``among`` contains all running controllers of the process, in any cluster. If it is given, the explanation names the
    controllers that remove the finalizers of an object that is being deleted.
    """
    facts = facts_of(run, ObjectKey(key), among)
    judgement = verdict(facts)
    wall = run.env.now()

    def clock(seconds: float | None) -> datetime | None:
        return None if seconds is None else wall + timedelta(seconds=seconds - facts.now)

    def moment(attempt: Attempt) -> AttemptEntry:
        ended = attempt.started + attempt.duration
        return AttemptEntry(
            at=wall + timedelta(seconds=attempt.started - facts.now),
            started=attempt.started,
            waited=attempt.waited,
            cache_wait=attempt.cache_wait,
            seconds=attempt.duration,
            causes=[str(cause) for cause in attempt.causes],
            generation=attempt.generation,
            resource_version=attempt.resource_version,
            age=attempt.age,
            reads=[
                ReadEntry(
                    kind=read.kind,
                    reads=read.reads,
                    objects=read.objects,
                    cached=read.age is not None,
                    age=read.age,
                )
                for read in attempt.reads
            ],
            writes=[
                WriteEntry(
                    verb=write.verb,
                    kind=write.kind,
                    key=str(write.key),
                    resource_version=write.resource_version,
                    fields=list(write.fields),
                    effect=write.effect,
                )
                for write in attempt.writes
            ],
            more_writes=attempt.more_writes,
            result=attempt.result,
            detail=attempt.detail,
            next=None if attempt.next_in is None else clock(ended + attempt.next_in),
        )

    return Explanation(
        controller=run.name,
        kind=run.controller.resource.kind,
        key=str(facts.key),
        state=judgement.state,
        text=judgement.text,
        now=wall,
        since=clock(judgement.since),
        until=clock(judgement.until),
        failures=facts.failures,
        generation=facts.cached.generation if facts.cached is not None else 0,
        resource_version=facts.cached.resource_version if facts.cached is not None else "",
        pending=[str(cause) for cause in facts.pending],
        caches=outdated(run),
        timeline=[moment(attempt) for attempt in facts.attempts],
    )


class CacheSummary(msgspec.Struct, rename="camel", kw_only=True):
    """The state of a cache. ``age`` is the number of seconds since the server's last message to the cache, None before
    the first message.
    """

    resource: str
    synced: bool
    objects: int
    error: str
    age: float | None = None


class Summary(msgspec.Struct, rename="camel", kw_only=True):
    """The state of one controller in a few numbers. ``resource`` is PLURAL or PLURAL.GROUP."""

    name: str
    kind: str
    resource: str
    state: str
    problem: str
    workers: int
    running: int
    ready: int
    delayed: int
    results: dict[str, int]
    filtered: int
    caches: list[CacheSummary]


def summary(run: RunningController[Any]) -> Summary:
    """The state of the controller as a whole."""
    depths = run.queue.depths()
    return Summary(
        name=run.name,
        kind=run.controller.resource.kind,
        resource=str(run.controller.resource.group_resource),
        state=run.state,
        problem=run.problem or run.readiness() or run.env.controller_pause(),
        workers=run.controller.workers,
        running=depths.processing,
        ready=depths.ready,
        delayed=depths.delayed,
        results=dict(run.metrics.results),
        filtered=run.metrics.filtered,
        caches=[
            CacheSummary(
                resource=str(gvr.resource),
                synced=informer.has_synced,
                objects=len(informer.store),
                error=why_not(informer),
                age=informer.age(),
            )
            for gvr, informer in run.informers.items()
        ],
    )


class Removers:
    """The running controllers of one cluster, by the finalizers that they remove.

    A controller declares its own finalizer (`Controller.finalize`), which applies only to objects of the controller's
    kind. ``others`` maps further finalizers, on objects of any kind, to the names of the controllers that remove them.
    """

    def __init__(self, controllers: Iterable[RunningController[Any]], others: Mapping[str, str] | None = None) -> None:
        self._others = others or {}
        self._declared = {
            (run.controller.resource.group_resource, run.controller.finalizer): run.name
            for run in controllers
            if run.controller.finalizer
        }

    def of(self, resource: GroupResource, finalizer: str) -> str:
        """The name of the controller that removes the finalizer from objects of ``resource``; ``""`` if unknown."""
        return self._declared.get((resource, finalizer)) or self._others.get(finalizer, "")

    def sentence(self, resource: GroupResource, finalizers: Iterable[str]) -> str:
        """A sentence that names the finalizers for which an object waits, and the controllers that remove them."""
        parts = [f"{name}, which {self._remover(resource, name)}" for name in finalizers]
        return f"waits for the finalizer{'s' if len(parts) > 1 else ''} {'; '.join(parts)}"

    def _remover(self, resource: GroupResource, finalizer: str) -> str:
        controller = self.of(resource, finalizer)
        return (
            f"{controller} removes"
            if controller
            else "no controller here is known to remove (start the one that does, or take it off by hand)"
        )
