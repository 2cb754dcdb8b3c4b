"""Causes: what happened that a key has to be looked at."""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, NamedTuple

from setpoint.meta import ObjectKey

MAX_CAUSES: Final = 16
"""How many causes of one reconcile are remembered; the newest ones."""

Change = Literal["create", "update", "delete", "sync", "external", "after", "retry"]


class Cause(NamedTuple):
    """One reason for a reconcile.

    ``change`` is what happened to the object ``kind`` ``key`` that came to ``resource_version``; ``sync`` stands for
    what was there at the start or was delivered again, ``external`` for a source outside of the cluster. For the
    controller's own appointments (``after``, ``retry``) the rest is empty.
    """

    change: Change
    kind: str = ""
    key: ObjectKey | str = ""
    resource_version: str = ""

    def __str__(self) -> str:
        return f"{self.change} of {self.kind} {self.key}" if self.kind else self.change


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
            present.append(cause)
        else:
            self._causes[key] = deque((present, cause), MAX_CAUSES)

    def take(self, key: ObjectKey) -> tuple[Cause, ...]:
        """The causes of the reconcile that begins now, oldest first; they are forgotten here."""
        present = self._causes.pop(key, None)
        if present is None:
            return ()
        return tuple(present) if isinstance(present, deque) else (present,)

    def peek(self, key: ObjectKey) -> tuple[Cause, ...]:
        present = self._causes.get(key)
        if present is None:
            return ()
        return tuple(present) if isinstance(present, deque) else (present,)
