"""Verdicts: the state of a key in one word, and its reason in one sentence. They depend only on the given facts."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

import msgspec

from setpoint.controller.history import Attempt, Cause, Filtered
from setpoint.meta import ObjectKey

State = Literal[
    "running long", "running", "stopped", "standby", "not synced", "not in this shard", "queued", "slowed down",
    "waiting", "backing off", "paused", "unknown", "deleted", "being deleted", "failed", "filtered", "warned",
    "not ready", "idle",
]  # fmt: skip

STATES: Final[dict[State, str]] = {
    "running long": "a worker has been reconciling it for a minute or longer",
    "running": "a worker is reconciling it",
    "stopped": "the controller has ended",
    "standby": "the controller has not been started here: another process leads",
    "not synced": "a cache is not complete yet, so no worker has started",
    "not in this shard": "the key belongs to another process",
    "queued": "it waits for a worker",
    "slowed down": "it is in a hot loop, so its reconciles are delayed",
    "waiting": "its last reconcile asked to be called again later",
    "backing off": "its last reconcile failed, or asked for a retry",
    "deleted": "the object is gone",
    "unknown": "there is no such object in the cache",
    "paused": "a user has paused the object or its controller",
    "being deleted": "it waits until other programs remove their finalizers",
    "failed": "a terminal error: nothing happens until something changes",
    "filtered": "a predicate filtered out the last change",
    "warned": "its last reconcile ended without an error, and its last event was a warning",
    "not ready": "no work is due now, and the object's status says that it is not as wanted",
    "idle": "this controller has nothing to do",
}
"""The verdicts and their meanings. The first one that applies is given."""


_REPEATED: Final = re.compile(r"it is not ready \((.+?)\)(?=: |$)")
"""The beginning of a reason that says no more than the state ``not ready`` and the reason of the condition."""
LONG: Final = 60.0
"""The number of seconds after which a reconcile counts as a long one."""


class CachedHead(NamedTuple):
    """The object as the cache shows it; ``held_by`` has the names of its finalizers except the controller's own."""

    generation: int
    resource_version: str
    deleting: bool
    held_by: tuple[str, ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All facts on which a verdict depends. Times are in seconds on the loop's clock."""

    key: ObjectKey
    now: float
    phase: str = "running"
    problem: str = ""
    unsynced: tuple[str, ...] = ()
    elsewhere: str = ""
    scope: str = ""
    cached: CachedHead | None = None
    queue: str | None = None
    ahead: int = 0
    ready_at: float | None = None
    failures: int = 0
    running_since: float | None = None
    awaits_caches: bool = False
    slowed: str = ""
    paused: str = ""
    """The reason why people have paused the object or the controller; ``""`` if they have not."""
    unready: str = ""
    """The reason that the object's status gives for not being as wanted, such as ``it is not ready (NoOil): too dry``
    for a condition ``Ready`` that is false; ``""`` if it is as wanted, or if its status does not say.
    """
    causes: tuple[Cause, ...] = ()
    """The causes of the running reconcile or, if none is running, of the next one."""
    pending: tuple[Cause, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    filtered: Filtered | None = None
    deleted_at: float | None = None
    cleans_up: bool = False
    finalizers_text: str = ""
    """A sentence about the finalizers that hold the object; if it is empty, the verdict only lists the finalizers."""


class Verdict(NamedTuple):
    """The state of a key and its reason. ``since`` and ``until`` are times on the loop's clock, or None if there is no
    such time.
    """

    state: State
    text: str
    since: float | None = None
    until: float | None = None


def verdict(facts: Facts) -> Verdict:
    """The state of the key and its reason. If several states apply, the order of the checks decides."""
    last = facts.attempts[-1] if facts.attempts else None
    if facts.running_since is not None:
        return _running(facts, facts.running_since)
    if facts.phase == "stopped":
        return Verdict("stopped", f"the controller has stopped: {facts.problem or 'it was asked to'}")
    if facts.phase == "new":
        return Verdict("standby", "the controller has not been started: this process does not lead, or not yet")
    if facts.phase == "syncing":
        why = "; ".join(facts.unsynced) or "its handlers have not received all initial objects"
        return Verdict("not synced", f"no worker has started: {why}")
    if facts.elsewhere:
        return Verdict("not in this shard", facts.elsewhere)
    if facts.queue == "ready":
        others = f", {facts.ahead} keys are ready" if facts.ahead > 1 else ""
        return Verdict("queued", f"ready for the next worker{others}; because of {_causes(facts.causes)}")
    if facts.queue == "delayed":
        return _delayed(facts, last)
    if facts.cached is None:
        if facts.deleted_at is not None:
            return Verdict("deleted", "the object is gone", since=facts.deleted_at)
        return Verdict("unknown", f"there is no such object in the cache{facts.scope}")
    if facts.paused:
        return Verdict("paused", facts.paused)
    if facts.cached.deleting and not facts.cleans_up:
        text = facts.finalizers_text or _finalizers_text(facts.cached.held_by)
        return Verdict("being deleted", text)
    if last is not None and last.failed:
        text = f"terminal error, no retry until something changes: {last.detail}"
        return Verdict("failed", text, since=last.started + last.duration)
    return _idle(facts, facts.cached, last)


def lasting(seconds: float) -> str:
    """Returns a duration as text for messages: in seconds, in minutes, or in hours and minutes."""
    if seconds < 600:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _running(facts: Facts, since: float) -> Verdict:
    text = f"for {lasting(facts.now - since)}; because of {_causes(facts.causes)}"
    if facts.awaits_caches:
        text = f"waits for {lasting(facts.now - since)} until the caches show what its last reconcile wrote"
    if facts.queue in ("processing+dirty", "processing+delayed"):
        text += (
            "; to be reconciled again at once"
            if facts.queue == "processing+dirty"
            else "; to be reconciled again later"
        )
    if facts.elsewhere:
        text += f"; its last run here: {facts.elsewhere}"
    return Verdict("running long" if facts.now - since >= LONG else "running", text, since=since)


def _delayed(facts: Facts, last: Attempt | None) -> Verdict:
    until = facts.ready_at
    remaining = lasting(max((until or facts.now) - facts.now, 0.0))
    if facts.slowed:
        return Verdict("slowed down", f"{facts.slowed}; next in {remaining}", until=until)
    since = None if last is None else last.started + last.duration
    waiting: State = "not ready" if facts.unready else "waiting"
    because = f"{_unready(facts)}; " if facts.unready else ""
    if last is None:
        return Verdict(waiting, f"{because}next in {remaining}", until=until)
    if last.result == "requeue_after":
        reason = f": {last.detail}" if last.detail else ""
        text = f"{because}next in {remaining}, as its last reconcile asked for{reason}"
        if last.warning:
            text += f"; its last event was the warning {last.warning}"
        return Verdict(waiting, text, since=since, until=until)
    times = f" ({facts.failures} times in a row)" if facts.failures > 1 else ""
    after = f"after {last.detail}" if last.detail else "as its last reconcile asked for a retry"
    return Verdict("backing off", f"next in {remaining}, {after}{times}", since=since, until=until)


def _idle(facts: Facts, head: CachedHead, last: Attempt | None) -> Verdict:
    filtered = facts.filtered
    if filtered is not None and last is not None and filtered.at < last.started:
        filtered = None
    note = ""
    if filtered is not None:
        note = f"the predicate {filtered.predicate} filtered out the last change ({filtered.cause})"
        if last is None:
            return _unless_unready(facts, "filtered", f"no reconcile is remembered; {note}", filtered.at)
        same = head.generation == last.generation if head.generation else False
        if not same and head.resource_version != last.resource_version:
            text = f"{note}; last reconciled at version {last.resource_version}"
            return _unless_unready(facts, "filtered", text, filtered.at)
    if last is None:
        return _unless_unready(facts, "idle", "nothing to do; its last reconcile is no longer remembered", None)
    ended = last.started + last.duration
    at = f"generation {last.generation}" if last.generation else f"version {last.resource_version}"
    ago = f"reconciled {lasting(facts.now - ended)} ago"
    after = f"; {note}" if note else ""
    if last.warning:
        text = f"{last.warning}; no retry is planned before something changes ({ago} at {at})"
        return Verdict("warned", f"{text}{after}", since=ended)
    return _unless_unready(facts, "idle", f"nothing to do since {at}, {ago}{after}", ended)


def _unless_unready(facts: Facts, state: State, text: str, since: float | None) -> Verdict:
    """The verdict with that state or, if the object's status says that it is not as wanted, ``not ready``."""
    if facts.unready:
        return Verdict("not ready", f"{_unready(facts)}; {text}", since=since)
    return Verdict(state, text, since=since)


def _unready(facts: Facts) -> str:
    """The reason for the state ``not ready``, which does not repeat the state."""
    return _REPEATED.sub(r"\1", facts.unready, count=1).removeprefix("it is not ready: ")


def _finalizers_text(finalizers: tuple[str, ...]) -> str:
    if not finalizers:
        return "waits for the server to remove it"
    return f"waits for the finalizer{'s' if len(finalizers) > 1 else ''} {', '.join(finalizers)}"


def _causes(causes: tuple[Cause, ...]) -> str:
    if not causes:
        return "causes that are no longer remembered"
    newest = ", ".join(map(str, causes[-3:]))
    return newest if len(causes) <= 3 else f"{newest} and {len(causes) - 3} more"
