"""Surveys: lists of the controllers' objects by state, with those that need attention first. A survey is cheap enough
to be repeated often.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.cache import Informer
from setpoint.cache.indexes import OWNER
from setpoint.cache.object_record import Record
from setpoint.controller.events import EventRecorder
from setpoint.controller.explain.explanation import Explanation, explain, facts_of, unready_in
from setpoint.controller.explain.verdict import LONG, State, verdict
from setpoint.controller.run.running import RunningController
from setpoint.meta import ObjectKey, Resource
from setpoint.meta.owner_tree import (
    References,
    TreeNode,
    owned_tree,
    owners_above,
    references_of,
    unresolved,
)

TURN: Final = 250
"""The number of keys to examine before other tasks may run."""
URGENCY: Final[tuple[State, ...]] = (
    "stopped", "failed", "backing off", "slowed down", "running long", "not synced", "being deleted", "warned",
    "not ready", "paused", "running", "queued", "waiting", "filtered", "standby", "not in this shard", "unknown",
    "deleted", "idle",
)  # fmt: skip
"""The states in the order in which objects are listed."""
_RANK: Final[dict[str, int]] = {state: rank for rank, state in enumerate(URGENCY)}


class Listed(msgspec.Struct, rename="camel", kw_only=True):
    """One object of a listing; see `setpoint.controller.explain.explanation.Explanation`."""

    controller: str
    kind: str
    key: str
    state: str
    text: str
    since: datetime | None
    until: datetime | None
    failures: int


class Listing(msgspec.Struct, rename="camel", kw_only=True):
    """Objects in the order of `URGENCY`, then by controller and key. ``counts`` has, for each state, the number of
    objects that match the search, whatever states were requested; ``matched`` is the number of objects that also have a
    requested state, of which ``objects`` may contain only the first.
    """

    counts: dict[str, int]
    matched: int
    objects: list[Listed]


def merged(listings: Iterable[Listing], limit: int) -> Listing:
    """A single listing made from the listings of several processes, with at most ``limit`` objects."""
    counts: dict[str, int] = {}
    objects: list[Listed] = []
    matched = 0
    for listing in listings:
        matched += listing.matched
        objects += listing.objects
        for state, number in listing.counts.items():
            counts[state] = counts.get(state, 0) + number
    return Listing(counts=counts, matched=matched, objects=heapq.nsmallest(limit, objects, key=_order))


class _Content(NamedTuple):
    """The facts in one version of an object. ``is_held`` says whether it is being deleted and only other programs'
    finalizers keep it, and ``unready`` is the reason of `unready_in`.
    """

    record: Record
    is_held: bool
    unready: str


class Survey:
    """The states of all keys of running controllers.

    Determining a state costs much less than `explain`: only the facts on which the verdict depends are looked up, in
    the order of the verdicts, and usually no text is composed. Other tasks can run after every `TURN` keys, so the
    states of different keys may have been determined at different times.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], _Content] = {}

    async def listing(
        self,
        runs: Iterable[RunningController[Any]],
        *,
        find: str = "",
        states: Iterable[str] = (),
        limit: int = 100,
        here: bool = False,
        among: Iterable[RunningController[Any]] | None = None,
    ) -> Listing:
        """Lists the first ``limit`` objects whose key contains all words of ``find`` (ignoring case) and whose state is
        one of ``states`` (all, by default). With ``here``, objects of other processes are left out. ``among`` has the
        same meaning as in `setpoint.controller.explain.explanation.explain`.
        """
        words, wanted = find.lower().split(), frozenset(states)
        counts: dict[str, int] = {}
        matches: list[tuple[int, str, ObjectKey, RunningController[Any]]] = []
        looked = 0
        for run in runs:
            for key in _keys(run):
                looked += 1
                if not looked % TURN:
                    await asyncio.sleep(0)
                lower = key.lower()
                if any(word not in lower for word in words):
                    continue
                state = self.state(run, key)
                if here and state == "not in this shard":
                    continue
                counts[state] = counts.get(state, 0) + 1
                if not wanted or state in wanted:
                    matches.append((_RANK[state], run.name, key, run))
        if len(self._read) > looked:  # it has objects that are gone
            self._read.clear()
        first = heapq.nsmallest(limit, matches, key=lambda match: match[:3])
        return Listing(
            counts=counts, matched=len(matches), objects=[_listed(run, key, among) for _, _, key, run in first]
        )

    def state(self, run: RunningController[Any], key: ObjectKey) -> State:
        """The state that `setpoint.controller.explain.verdict.verdict` would give."""
        if (since := run.loop.started.get(key)) is not None:
            return "running long" if asyncio.get_running_loop().time() - since >= LONG else "running"
        if run.state != "running":
            return {"stopped": "stopped", "new": "standby"}.get(run.state, "not synced")  # type: ignore[return-value]
        if run.guard is not None and run.guard.elsewhere(key):
            return "not in this shard"
        last = run.timeline.last(key)
        queue = run.queue.state(key)
        if queue == "ready":
            return "queued"
        informer = run.informers.get(run.controller.resource.gvr)
        record = informer.store.record(key) if informer is not None else None
        if queue == "delayed":
            if key in run.activity.hot_loops.slowed:
                return "slowed down"
            if last is not None and last.result != "requeue_after":
                return "backing off"
            return "not ready" if record is not None and self._content(run, key, record).unready else "waiting"
        if key in run.activity.paused:
            return "paused"
        if record is None and run.activity.events.last_filtered(key) is None:
            return "unknown" if run.activity.events.deleted_at(key) is None else "deleted"
        content = None if record is None else self._content(run, key, record)
        if content is None or run.activity.events.last_filtered(key) is not None:
            return verdict(facts_of(run, key, unready="" if content is None else content.unready)).state
        if content.is_held:
            return "being deleted"
        if last is not None and (last.failed or last.warning):
            return "failed" if last.failed else "warned"
        return "not ready" if content.unready else "idle"

    def _content(self, run: RunningController[Any], key: ObjectKey, record: Record) -> _Content:
        """The facts in the object itself. They are remembered, because the object has to be decompressed to compute
        them.
        """
        remembered = self._read.get((run.name, key))
        if remembered is not None and remembered.record is record:
            return remembered
        store = run.informers[run.controller.resource.gvr].store
        head = store.head_of(record)
        own = run.controller.finalizer
        cleans_up = run.controller.reconcile_deleting or (bool(own) and own in head.finalizers)
        content = _Content(record, head.is_deleting and not cleans_up, unready_in(store.document(record)))
        self._read[run.name, key] = content
        return content


def _keys(run: RunningController[Any]) -> list[ObjectKey]:
    """The keys in the cache, and the keys in the queue whose objects are gone."""
    informer = run.informers.get(run.controller.resource.gvr)
    keys = [ObjectKey(key) for key in informer.store] if informer is not None else []
    store = informer.store if informer is not None else ()
    return keys + [key for key in run.queue.states() if key not in store]


def _listed(run: RunningController[Any], key: ObjectKey, among: Iterable[RunningController[Any]] | None) -> Listed:
    facts = facts_of(run, key, among)
    judgement = verdict(facts)
    wall = run.env.now()

    def clock(seconds: float | None) -> datetime | None:
        return None if seconds is None else wall + timedelta(seconds=seconds - facts.now)

    return Listed(
        controller=run.name,
        kind=run.controller.resource.kind,
        key=str(key),
        state=judgement.state,
        text=judgement.text,
        since=clock(judgement.since),
        until=clock(judgement.until),
        failures=facts.failures,
    )


def _order(listed: Listed) -> tuple[int, str, str]:
    return _RANK.get(listed.state, len(_RANK)), listed.controller, listed.key


class ConditionEntry(msgspec.Struct, rename="camel", kw_only=True):
    """A condition of the object, as the cache shows it. A field that the condition does not set is empty."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class EventEntry(msgspec.Struct, rename="camel", kw_only=True):
    """An event that this process has reported, and how often it was reported."""

    at: datetime
    type: str
    reason: str
    note: str
    count: int


class Detail(msgspec.Struct, rename="camel", kw_only=True):
    """The explanation of an object, with its conditions, owned objects and events."""

    explanation: Explanation
    conditions: list[ConditionEntry]
    owners: list[list[TreeNode]]
    """The owners of the object, the nearest first; see `owners_above`. Their states are those in the caches of this
    process.
    """
    owned: list[TreeNode]
    """The owned objects in the caches of this process; see `owned_tree`."""
    more_owned: bool
    """Whether the caches have more owned objects than `owned`."""
    events: list[EventEntry]
    """The events of the last few minutes; see `EventRecorder.about`."""


def detail(
    run: RunningController[Any],
    key: ObjectKey,
    *,
    caches: Iterable[Informer[Any]],
    among: Iterable[RunningController[Any]] | None = None,
    recorder: EventRecorder | None = None,
) -> Detail:
    """The details of an object. The call needs the running loop; it makes no request and changes nothing.

    ``among`` has the same meaning as in `setpoint.controller.explain.explanation.explain`.
    """
    informer = run.informers.get(run.controller.resource.gvr)
    document = informer.store.get(key) if informer is not None else None
    read: dict[str, Any] = msgspec.json.decode(document) if document is not None else {}
    uid = str(read.get("metadata", {}).get("uid", ""))
    trees = _Trees(caches)
    owned, more_owned = owned_tree(uid, trees.below)
    reported = recorder.about(uid) if recorder is not None and uid else []
    return Detail(
        explanation=explain(run, key, among=among),
        conditions=list(conditions_of(read)),
        owners=owners_above(references_of(read), partial(trees.owners, key.namespace)),
        owned=owned,
        more_owned=more_owned,
        events=[
            EventEntry(at=at, type=event.type or "", reason=event.reason or "", note=event.note or "", count=count)
            for event, count, at in reported
        ],
    )


class _Trees:
    """The objects above and below another one, from the caches."""

    def __init__(self, caches: Iterable[Informer[Any]]) -> None:
        self._caches = list({id(informer.store): informer for informer in caches}.values())

    def below(self, uid: str) -> Iterator[tuple[str, TreeNode]]:
        """The objects with an owner reference to the object with that uid, each with its uid."""
        for informer in self._caches:
            for key in sorted(informer.store.indexed(OWNER, uid)):
                document = informer.store.get(key)
                if document is not None:
                    read = msgspec.json.decode(document)
                    yield str(read["metadata"].get("uid", "")), _node(informer.resource, key, read)

    def owners(self, namespace: str, references: References) -> Iterator[tuple[TreeNode, References]]:
        """The owners of an object in that namespace, each with its own references."""
        for reference in references:
            yield self._owner(namespace, reference) or (unresolved(reference, namespace), ())

    def _owner(self, namespace: str, reference: Mapping[str, Any]) -> tuple[TreeNode, References] | None:
        for informer in self._caches:
            resource = informer.resource
            if resource.kind != reference.get("kind"):
                continue
            key = ObjectKey.of(namespace if resource.namespaced else "", str(reference.get("name")))
            document = informer.store.get(key)
            read = msgspec.json.decode(document) if document is not None else {}
            if read.get("metadata", {}).get("uid") == reference.get("uid"):
                return _node(resource, key, read), references_of(read)
        return None


def _node(resource: Resource, key: str, read: Mapping[str, Any]) -> TreeNode:
    from setpoint.meta.object_status import ready, standing  # a process that is not asked needs no rules

    state: str
    state, text, _, _ = standing(read)
    if state == "current" and "status" in resource.subresources and not read.keys() & {"spec", "status"}:
        state = ""  # the cache has only metadata, which do not tell whether the object is as wanted
    return TreeNode(
        resource=str(resource.group_resource),
        kind=resource.kind,
        key=str(key),
        state=state,
        text=text,
        ready=ready(read),
        owns=[],
    )


def conditions_of(read: Mapping[str, Any]) -> Iterator[ConditionEntry]:
    status = read.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and "type" in condition:
            words = (
                condition.get(name) or "" for name in ("type", "status", "reason", "message", "lastTransitionTime")
            )
            type_, is_so, reason, message, since = map(str, words)
            yield ConditionEntry(type=type_, status=is_so, reason=reason, message=message, since=since)
