"""Seen: a record of the events that led to no reconcile, to explain why an object does not change."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from setpoint.controller.cause import Cause
from setpoint.meta import ObjectKey

MAX_KEYS: Final = 1024


class Filtered(NamedTuple):
    """An event that a predicate rejected, with its time on the loop's clock."""

    at: float
    predicate: str
    cause: Cause


class Seen:
    """The last filtered event of each key, and the time at which its object was deleted.

    Memory is bounded: only the last ``max_keys`` filtered events and the last ``max_keys`` deletions are remembered.
    """

    __slots__ = ("_deleted", "_filtered", "max_keys")

    def __init__(self, *, max_keys: int = MAX_KEYS) -> None:
        self.max_keys = max_keys
        self._filtered: dict[ObjectKey, Filtered] = {}
        self._deleted: dict[ObjectKey, float] = {}

    def filtered(self, key: ObjectKey, predicate: str, cause: Cause) -> None:
        self._filtered.pop(key, None)
        self._filtered[key] = Filtered(asyncio.get_running_loop().time(), predicate, cause)
        if len(self._filtered) > self.max_keys:
            del self._filtered[next(iter(self._filtered))]

    def deleted(self, key: ObjectKey) -> None:
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
