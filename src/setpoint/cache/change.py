"""The outcome of a write to a store: an object's change, or the refusal of an old object."""

from __future__ import annotations

from typing import NamedTuple

from setpoint.cache.record import Record


class Change(NamedTuple):
    """One object's change from one record to the next: None means absence. ``same``: it did not change."""

    key: str
    old: Record | None
    new: Record | None
    same: bool = False


class Stale:
    """The type of `STALE`."""


STALE = Stale()
"""The result of `Store.put` for an object that is not newer than the stored one."""
