"""Timelines: what happened to a key lately, bounded, for the question why an object does not move."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from setpoint.controller.cause import Cause
from setpoint.meta import ObjectKey

MAX_KEYS: Final = 1024
MAX_ATTEMPTS: Final = 16
MAX_FAILED: Final = 16_384
MAX_WRITES: Final = 32
"""The most writes of one attempt that are remembered."""


class Write(NamedTuple):
    """One write of a reconcile: the verb, what it was about, the version that the server answered, and the paths of
    the fields that it changed, where that is known: never what they hold. ``effect`` is ``created`` for an apply to
    which there was nothing before, ``no change`` for a write that led to no new version, else empty."""

    verb: str
    kind: str
    key: ObjectKey | str
    resource_version: str
    fields: tuple[str, ...] = ()
    effect: str = ""


class Read(NamedTuple):
    """The reads of one kind by a reconcile, beside its object.

    ``age`` is for reads from a cache: the seconds since that had last heard from the server, at most; None for reads
    from the server.
    """

    kind: str
    reads: int
    objects: int
    age: float | None


class Attempt(NamedTuple):
    """One run of the reconcile function for a key. Times are seconds of the loop's clock.

    ``result`` is what metrics call it (success, requeue, requeue_after, error), ``detail`` the reason or the error,
    ``next_in`` the seconds until the appointment that the controller made with itself, None if there is none.
    ``waited`` is how long the key was in the queue before, None if that is not known; ``settled`` how long of the
    duration the caches took to show what the last reconcile wrote; ``age`` that of the object that was looked at (see
    `Read`).
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
    """Those beyond the first `MAX_WRITES`."""

    @property
    def failed(self) -> bool:
        """Whether it failed and is not tried again before something changes."""
        return self.result == "error" and self.next_in is None


class Timeline:
    """The last attempts of the keys that were worked on last.

    Bounded: ``max_keys`` keys, ``max_attempts`` each; the key that has been quiet for longest is forgotten first. Of a
    key that failed for good the last attempt stays, since nothing else says so: of `MAX_FAILED` keys at most.
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

    def of(self, key: ObjectKey | str) -> list[Attempt]:
        """The attempts of a key, oldest first; [] for one that was forgotten or never worked on."""
        present = self._attempts.get(ObjectKey(key)) or self._failed.get(ObjectKey(key))
        if present is None:
            return []
        return list(present) if isinstance(present, deque) else [present]

    def last(self, key: ObjectKey) -> Attempt | None:
        """The last attempt of a key; None for one that was forgotten or never worked on."""
        present = self._attempts.get(key) or self._failed.get(key)
        return present[-1] if isinstance(present, deque) else present

    def keys(self) -> list[ObjectKey]:
        """The keys that are remembered; the one that was worked on last comes last."""
        return [*self._failed, *self._attempts]

    def __len__(self) -> int:
        return len(self._attempts) + len(self._failed)
