"""Surveys: lists of the controllers' objects by state, with those that need attention first. A survey is cheap enough
to be repeated often.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.cache import Informer
from setpoint.cache.indexes import OWNER
from setpoint.cache.object_record import Record
from setpoint.controller.events import EventRecorder
from setpoint.controller.explain.explanation import Explanation, explain, facts_of
from setpoint.controller.explain.verdict import LONG, State, verdict
from setpoint.controller.run.running import RunningController
from setpoint.meta import ObjectKey

TURN: Final = 250
"""The number of keys to examine before other tasks may run."""
URGENCY: Final[tuple[State, ...]] = (
    "stopped", "failed", "backing off", "slowed down", "running long", "not synced", "being deleted", "warned",
    "paused", "running", "queued", "waiting", "filtered", "standby", "not in this shard", "unknown", "deleted", "idle",
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


class Survey:
    """The states of all keys of running controllers.

    Determining a state costs much less than `explain`: only the facts on which the verdict depends are looked up, in
    the order of the verdicts, and usually no text is composed. Other tasks can run after every `TURN` keys, so the
    states of different keys may have been determined at different times.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[Record, bool]] = {}

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
        if len(self._held) > looked:  # it holds objects that are gone
            self._held.clear()
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
        if queue == "delayed":
            if key in run.activity.hot_loops.slowed:
                return "slowed down"
            return "waiting" if last is None or last.result == "requeue_after" else "backing off"
        if key in run.activity.paused:
            return "paused"
        if run.activity.events.last_filtered(key) is not None:
            return verdict(facts_of(run, key)).state
        informer = run.informers.get(run.controller.resource.gvr)
        record = informer.store.record(key) if informer is not None else None
        if record is None:
            return "unknown" if run.activity.events.deleted_at(key) is None else "deleted"
        if self._is_held(run, key, record):
            return "being deleted"
        if last is None:
            return "idle"
        return "failed" if last.failed else "warned" if last.warning else "idle"

    def _is_held(self, run: RunningController[Any], key: ObjectKey, record: Record) -> bool:
        """Whether the object is being deleted and only other programs' finalizers keep it. The answer is remembered,
        because the object has to be decompressed to compute it.
        """
        remembered = self._held.get((run.name, key))
        if remembered is not None and remembered[0] is record:
            return remembered[1]
        head = run.informers[run.controller.resource.gvr].store.head_of(record)
        own = run.controller.finalizer
        cleans_up = run.controller.reconcile_deleting or (bool(own) and own in head.finalizers)
        is_held = head.is_deleting and not cleans_up
        self._held[run.name, key] = record, is_held
        return is_held


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


MOST: Final = 200
"""The maximum number of owned objects in one `Detail`."""
DEPTH: Final = 5
_GOOD: Final = ("Ready", "Available", "Complete", "Established", "Bound", "Healthy", "Synced")
"""The types of the conditions that summarize the state of an object, in order of preference."""


class ConditionEntry(msgspec.Struct, rename="camel", kw_only=True):
    """A condition of the object, as the cache shows it. A field that the condition does not set is empty."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class Owned(msgspec.Struct, rename="camel", kw_only=True):
    """An owned object in a cache of this process: a summary of its status, and the objects that it owns in turn."""

    kind: str
    key: str
    says: str
    deleting: bool
    owns: list[Owned]


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
    owned: list[Owned]
    """The owned objects in the caches of this process, at most `MOST`, counting the objects that they own in turn."""
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
    uid = ""
    conditions: list[ConditionEntry] = []
    if document is not None:
        read = msgspec.json.decode(document)
        uid = read["metadata"].get("uid", "")
        conditions = list(conditions_of(read))
    reported = recorder.about(uid) if recorder is not None and uid else []
    return Detail(
        explanation=explain(run, key, among=among),
        conditions=conditions,
        owned=_Tree(caches).below(uid) if uid else [],
        events=[
            EventEntry(at=at, type=event.type or "", reason=event.reason or "", note=event.note or "", count=count)
            for event, count, at in reported
        ],
    )


class _Tree:
    """The trees of owned objects, from the caches."""

    def __init__(self, caches: Iterable[Informer[Any]]) -> None:
        self._caches = list({id(informer.store): informer for informer in caches}.values())
        self._budget = MOST
        self._met: set[str] = set()

    def below(self, uid: str, depth: int = DEPTH) -> list[Owned]:
        children: list[Owned] = []
        if not depth or uid in self._met:
            return children
        self._met.add(uid)
        for informer in self._caches:
            for key in sorted(informer.store.indexed(OWNER, uid)):
                document = informer.store.get(key)
                if document is None or self._budget <= 0:
                    continue
                self._budget -= 1
                read = msgspec.json.decode(document)
                own = read["metadata"]
                children.append(
                    Owned(
                        kind=informer.resource.kind,
                        key=key,
                        says=_says(read),
                        deleting="deletionTimestamp" in own,
                        owns=self.below(own.get("uid", ""), depth - 1),
                    )
                )
        return children


def conditions_of(read: Mapping[str, Any]) -> Iterator[ConditionEntry]:
    """The conditions in the status of ``read``, an object as JSON."""
    status = read.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and "type" in condition:
            words = (
                condition.get(name) or "" for name in ("type", "status", "reason", "message", "lastTransitionTime")
            )
            type_, is_so, reason, message, since = map(str, words)
            yield ConditionEntry(type=type_, status=is_so, reason=reason, message=message, since=since)


def _says(read: dict[str, Any]) -> str:
    """A few words from the status of an object that describe its state; ``""`` if the status contains none."""
    status = read.get("status")
    if not isinstance(status, dict):
        return ""
    words = []
    if isinstance(status.get("phase"), str):
        words.append(status["phase"])
    wanted = (read.get("spec") or {}).get("replicas") if isinstance(read.get("spec"), dict) else None
    if isinstance(wanted, int):
        words.append(f"{status.get('readyReplicas', 0)} of {wanted} ready")
    conditions = {condition.type: condition for condition in conditions_of(read)}
    telling = next((conditions[name] for name in _GOOD if name in conditions), None)
    if telling is not None and (telling.status != "True" or not words):
        words.append(f"{telling.type}={telling.status}" + (f" ({telling.reason})" if telling.reason else ""))
    return ", ".join(words)
