"""Timelines: the recent attempts of each key, in bounded memory, to explain why an object does not change."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from setpoint.controller.cause import Cause
from setpoint.meta import ObjectKey

MAX_KEYS: Final = 1024
MAX_ATTEMPTS: Final = 16
MAX_FAILED: Final = 16_384
MAX_WRITES: Final = 32
"""The maximum number of remembered writes of one attempt."""


class Write(NamedTuple):
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


class Attempt(NamedTuple):
    """One run of the reconcile function for a key. Times are in seconds on the loop's clock.

    ``result`` is the value of the metrics' label (success, requeue, requeue_after, error) or ``handed over``,
    ``detail`` is the reason or the error, and ``next_in`` is the number of seconds until the next planned attempt, None
    if no attempt is planned. ``waited`` is the time that the key spent in the queue before the attempt, None if
    unknown. ``settled`` is the part of the duration that the caches took to show the writes of the last reconcile, and
    ``age`` is the age of the reconciled object in the cache (see `Read`).
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
    settled: float = 0.0
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
