"""Surveys: lists of the controllers' objects by state, with those that need attention first. A survey is cheap enough
to be repeated often.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.cache.object_record import Record
from setpoint.controller.explain import facts_of
from setpoint.controller.running import RunningController
from setpoint.controller.verdict import State, verdict
from setpoint.meta import ObjectKey

TURN: Final = 250
"""The number of keys to examine before other tasks may run."""
URGENCY: Final[tuple[State, ...]] = (
    "stopped", "failed", "backing off", "slowed down", "not synced", "being deleted", "warned", "running", "queued",
    "waiting", "filtered", "standby", "not in this shard", "unknown", "deleted", "idle",
)  # fmt: skip
"""The states in the order in which objects are listed."""
_RANK: Final[dict[str, int]] = {state: rank for rank, state in enumerate(URGENCY)}


class Listed(msgspec.Struct, rename="camel", kw_only=True):
    """One object of a listing; see `setpoint.controller.explain.Explanation`."""

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
    for each in listings:
        matched += each.matched
        objects += each.objects
        for state, number in each.counts.items():
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
        same meaning as in `setpoint.controller.explain.explain`.
        """
        words, wanted = find.lower().split(), frozenset(states)
        counts: dict[str, int] = {}
        found: list[tuple[int, str, ObjectKey, RunningController[Any]]] = []
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
                    found.append((_RANK[state], run.name, key, run))
        if len(self._held) > looked:  # it holds objects that are gone
            self._held.clear()
        first = heapq.nsmallest(limit, found, key=lambda each: each[:3])
        return Listing(
            counts=counts, matched=len(found), objects=[_listed(run, key, among) for _, _, key, run in first]
        )

    def state(self, run: RunningController[Any], key: ObjectKey) -> State:
        """The state that `setpoint.controller.verdict.verdict` would give."""
        if key in run.loop.started:
            return "running"
        if run.state != "running":
            return {"stopped": "stopped", "new": "standby"}.get(run.state, "not synced")  # type: ignore[return-value]
        if run.guard is not None and run.guard.elsewhere(key):
            return "not in this shard"
        last = run.timeline.last(key)
        queue = run.queue.state(key)
        if queue == "ready":
            return "queued"
        if queue == "delayed":
            if key in run.memory.hot.slowed:
                return "slowed down"
            return "waiting" if last is None or last.result == "requeue_after" else "backing off"
        if run.told.seen.last_filtered(key) is not None:
            return verdict(facts_of(run, key)).state
        informer = run.informers.get(run.controller.resource.gvr)
        record = informer.store.record(key) if informer is not None else None
        if record is None:
            return "unknown" if run.told.seen.deleted_at(key) is None else "deleted"
        if self._is_held(run, key, record):
            return "being deleted"
        if last is None:
            return "idle"
        return "failed" if last.failed else "warned" if last.warning else "idle"

    def _is_held(self, run: RunningController[Any], key: ObjectKey, record: Record) -> bool:
        """Whether the object is being deleted and only other programs' finalizers keep it. The answer is remembered,
        because the object has to be decompressed to compute it.
        """
        known = self._held.get((run.name, key))
        if known is not None and known[0] is record:
            return known[1]
        head = run.informers[run.controller.resource.gvr].store.head_of(record)
        own = run.controller.finalizer
        cleans_up = run.controller.reconcile_deleting or (bool(own) and own in head.finalizers)
        is_held = head.is_deleting and not cleans_up
        self._held[run.name, key] = record, is_held
        return is_held


def _keys(run: RunningController[Any]) -> list[ObjectKey]:
    """The keys in the cache, and the keys in the queue whose objects are gone."""
    informer = run.informers.get(run.controller.resource.gvr)
    known = [ObjectKey(key) for key in informer.store] if informer is not None else []
    store = informer.store if informer is not None else ()
    return known + [key for key in run.queue.states() if key not in store]


def _listed(run: RunningController[Any], key: ObjectKey, among: Iterable[RunningController[Any]] | None) -> Listed:
    facts = facts_of(run, key, among)
    found = verdict(facts)
    wall = run.env.now()

    def clock(seconds: float | None) -> datetime | None:
        return None if seconds is None else wall + timedelta(seconds=seconds - facts.now)

    return Listed(
        controller=run.name,
        kind=run.controller.resource.kind,
        key=str(key),
        state=found.state,
        text=found.text,
        since=clock(found.since),
        until=clock(found.until),
        failures=facts.failures,
    )


def _order(listed: Listed) -> tuple[int, str, str]:
    return _RANK.get(listed.state, len(_RANK)), listed.controller, listed.key
