"""Causes: the reasons why a key has to be reconciled."""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, NamedTuple

from setpoint.meta import ObjectKey

MAX_CAUSES: Final = 16
"""The maximum number of causes to remember for one reconcile. The first cause and the newest ones are kept."""

_TOLERANCE: Final = 0.001
"""The number of seconds by which a planned reconcile (``after``, ``retry``) may begin early: its delay begins shortly
before its cause is recorded.
"""

Change = Literal["create", "update", "delete", "sync", "external", "after", "retry"]


class Cause(NamedTuple):
    """One reason for a reconcile.

    ``change`` is the type of the event. ``kind`` and ``key`` name the changed object, and ``resource_version`` is its
    new version. The change ``sync`` stands for an object that existed at the start or was delivered again, and
    ``external`` for a source outside the cluster. If no object of the cluster caused the reconcile (``external``, or a
    reconcile that the controller itself has planned: ``after`` and ``retry``), ``kind``, ``key`` and
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
