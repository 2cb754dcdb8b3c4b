"""The history of each key, in bounded memory: the causes of its reconciles, its recent attempts with their reads and
writes, and the events that led to no reconcile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from setpoint.meta import ObjectKey

MAX_KEYS: Final = 1024
MAX_ATTEMPTS: Final = 16
MAX_FAILED: Final = 16_384
MAX_WRITES: Final = 32
"""The maximum number of remembered writes of one attempt."""


MAX_CAUSES: Final = 16
"""The maximum number of causes to remember for one reconcile. The first cause and the newest ones are kept."""

_TOLERANCE: Final = 0.001
"""The number of seconds by which a planned reconcile (``after``, ``retry``) may begin early: its delay begins shortly
before its cause is recorded.
"""

Change = Literal["create", "update", "delete", "sync", "external", "after", "retry", "resume", "request"]


class Cause(Struct, frozen=True, gc=False):
    """One reason for a reconcile.

    ``change`` is the type of the event. ``kind`` and ``key`` name the changed object, and ``resource_version`` is its
    new version. The change ``sync`` stands for an object that existed at the start or was delivered again, ``external``
    for a source outside the cluster, ``request`` for an annotation by which people request a reconcile, and ``resume``
    for a controller that is no longer paused. If no object of the cluster caused the reconcile (``external``,
    ``resume``, or a reconcile that the controller itself has planned: ``after`` and ``retry``), ``kind``, ``key`` and
    ``resource_version`` are empty.
    """

    change: Change
    kind: str = ""
    key: ObjectKey | str = ""
    resource_version: str = ""
    at: float | None = None
    """The loop time at which the cause makes the reconcile due; None if that is not known."""

    def __str__(self) -> str:
        return f"{self.change} of {self.kind} {self.key}" if self.kind else self.change


def waited(causes: tuple[Cause, ...], until: float) -> float | None:
    """The number of seconds for which the oldest of the causes has been waiting at the time ``until``; None if none of
    the causes has a time.
    """
    since = min((cause.at for cause in causes if cause.at is not None), default=None)
    return None if since is None else max(until - since, 0.0)


class CauseLog:
    """The causes of each key since its last reconcile began, at most `MAX_CAUSES` for one key."""

    __slots__ = ("_causes",)

    def __init__(self) -> None:
        self._causes: dict[ObjectKey, Cause | deque[Cause]] = {}

    def add(self, key: ObjectKey, cause: Cause) -> None:
        present = self._causes.get(key)
        if present is None:
            self._causes[key] = cause
        elif isinstance(present, deque):
            if len(present) == MAX_CAUSES:
                del present[1]  # the first one says since when the key waits
            present.append(cause)
        else:
            self._causes[key] = deque((present, cause))

    def take(self, key: ObjectKey, now: float | None = None) -> tuple[Cause, ...]:
        """The causes of the reconcile that begins ``now``, as `peek` returns them; the log forgets the key."""
        causes = self.peek(key, now)
        self._causes.pop(key, None)
        return causes

    def peek(self, key: ObjectKey, now: float | None = None) -> tuple[Cause, ...]:
        """The causes so far, oldest first. With ``now``, the causes of a reconcile that would begin at that time:
        planned reconciles (``after``, ``retry``) that are not yet due are left out if there is any other cause.
        """
        present = self._causes.get(key)
        if present is None:
            return ()
        if not isinstance(present, deque):
            return (present,)
        if now is None:
            return tuple(present)
        return tuple(cause for cause in present if not _is_ahead(cause, now)) or tuple(present)


def _is_ahead(cause: Cause, now: float) -> bool:
    return cause.change in ("after", "retry") and cause.at is not None and cause.at > now + _TOLERANCE


class Write(Struct, frozen=True, gc=False):
    """One write of a reconcile: the verb, the object, the version that the server returned and, if known, the paths of
    the changed fields, but never their values. ``effect`` is ``created`` for an apply that created its object, ``no
    change`` for a write that led to no new version, and empty otherwise.
    """

    verb: str
    kind: str
    key: ObjectKey | str
    resource_version: str
    fields: tuple[str, ...] = ()
    effect: str = ""


class Read(NamedTuple):
    """The reads of one kind by a reconcile, except the first read of the reconciled object.

    For reads from a cache, ``age`` is the greatest age of the cache at any of these reads: the number of seconds since
    the cache last heard from the server. For reads from the server, ``age`` is None.
    """

    kind: str
    reads: int
    objects: int
    age: float | None


class Attempt(Struct, frozen=True, gc=False):
    """One run of the reconcile function for a key. Times are in seconds on the loop's clock.

    ``result`` is the value of the metrics' label (success, requeue, requeue_after, error) or ``handed over``,
    ``detail`` is the reason or the error, and ``next_in`` is the number of seconds until the next planned attempt, None
    if no attempt is planned. ``waited`` is the time that the key spent in the queue before the attempt, None if
    unknown. ``cache_wait`` is the part of the duration that the caches took to show the writes of the last reconcile,
    and ``age`` is the age of the reconciled object in the cache (see `Read`).
    """

    started: float
    duration: float
    causes: tuple[Cause, ...]
    resource_version: str
    generation: int
    writes: tuple[Write, ...]
    result: str
    detail: str
    next_in: float | None
    waited: float | None = None
    cache_wait: float = 0.0
    age: float | None = None
    reads: tuple[Read, ...] = ()
    more_writes: int = 0
    """The number of writes beyond the first `MAX_WRITES`, which are not remembered."""
    warning: str = ""
    """The last event that the attempt reported about its object, if its type was ``Warning``: reason and message."""
    raised: bool = False
    """Whether an exception ended the attempt, which may be an ordinary event such as a conflict."""

    @property
    def failed(self) -> bool:
        """Whether the attempt failed and is not retried before something changes."""
        return self.result == "error" and self.next_in is None


class AttemptStart(NamedTuple):
    """The circumstances in which an attempt begins; see `Attempt`. ``failures`` is the number of times the key has
    failed, or asked for a retry, since its last success.
    """

    causes: tuple[Cause, ...] = ()
    failures: int = 0
    age: float | None = None
    cache_wait: float = 0.0


class Timeline:
    """The last attempts of the keys that were reconciled last.

    Memory is bounded: ``max_keys`` keys with ``max_attempts`` attempts each; the key whose last attempt is the oldest
    is forgotten first. If the last attempt of a forgotten key failed and is not retried, that attempt is kept, because
    nothing else records it; this applies to at most `MAX_FAILED` keys.
    """

    __slots__ = ("_attempts", "_failed", "max_attempts", "max_keys")

    def __init__(self, *, max_keys: int = MAX_KEYS, max_attempts: int = MAX_ATTEMPTS) -> None:
        self.max_keys = max_keys
        self.max_attempts = max_attempts
        self._attempts: dict[ObjectKey, Attempt | deque[Attempt]] = {}
        self._failed: dict[ObjectKey, Attempt] = {}

    def add(self, key: ObjectKey, attempt: Attempt) -> None:
        attempts = self._attempts
        present = attempts.pop(key, None) or self._failed.pop(key, None)
        if present is None:
            attempts[key] = attempt
        elif isinstance(present, deque):
            present.append(attempt)
            attempts[key] = present
        else:
            attempts[key] = deque((present, attempt), self.max_attempts)
        if len(attempts) > self.max_keys:
            self._forget(next(iter(attempts)))

    def _forget(self, key: ObjectKey) -> None:
        last = self.last(key)
        del self._attempts[key]
        if last is not None and last.failed:
            self._failed[key] = last
            if len(self._failed) > MAX_FAILED:
                del self._failed[next(iter(self._failed))]

    def deleted(self, key: ObjectKey) -> None:
        """Forgets a failed attempt that was kept only because nothing else records it: its object is gone."""
        self._failed.pop(key, None)

    def of(self, key: ObjectKey | str) -> list[Attempt]:
        """The attempts of a key, oldest first; [] for a key that was forgotten or never reconciled."""
        present = self._attempts.get(ObjectKey(key)) or self._failed.get(ObjectKey(key))
        if present is None:
            return []
        return list(present) if isinstance(present, deque) else [present]

    def last(self, key: ObjectKey) -> Attempt | None:
        """The last attempt of a key; None for a key that was forgotten or never reconciled."""
        present = self._attempts.get(key) or self._failed.get(key)
        return present[-1] if isinstance(present, deque) else present

    def keys(self) -> list[ObjectKey]:
        """The remembered keys; the key that was reconciled last comes last."""
        return [*self._failed, *self._attempts]

    def __len__(self) -> int:
        return len(self._attempts) + len(self._failed)


class Filtered(NamedTuple):
    """An event that a predicate rejected, with its time on the loop's clock."""

    at: float
    predicate: str
    cause: Cause


class EventHistory:
    """The last filtered event of each key, and the time at which its object was deleted.

    Memory is bounded: only the last ``max_keys`` filtered events and the last ``max_keys`` deletions are remembered.
    """

    __slots__ = ("_deleted", "_filtered", "max_keys")

    def __init__(self, *, max_keys: int = MAX_KEYS) -> None:
        self.max_keys = max_keys
        self._filtered: dict[ObjectKey, Filtered] = {}
        self._deleted: dict[ObjectKey, float] = {}

    def add_filtered(self, key: ObjectKey, predicate: str, cause: Cause) -> None:
        self._filtered.pop(key, None)
        self._filtered[key] = Filtered(asyncio.get_running_loop().time(), predicate, cause)
        if len(self._filtered) > self.max_keys:
            del self._filtered[next(iter(self._filtered))]

    def add_deletion(self, key: ObjectKey) -> None:
        self._deleted.pop(key, None)
        self._deleted[key] = asyncio.get_running_loop().time()
        if len(self._deleted) > self.max_keys:
            del self._deleted[next(iter(self._deleted))]

    def last_filtered(self, key: ObjectKey) -> Filtered | None:
        return self._filtered.get(key)

    def deleted_at(self, key: ObjectKey) -> float | None:
        """The loop time of the object's last deletion; None if the object was not deleted, or its deletion was
        forgotten.
        """
        return self._deleted.get(key)
