"""The results of a write to a store: the change of an object, or the rejection of a state that is not newer."""

from __future__ import annotations

from typing import NamedTuple

from setpoint.cache.object_record import Record


class Change(NamedTuple):
    """The change of one object from the record ``old`` to ``new``. A record is None if the object is absent; ``same``
    is true if the object did not change.
    """

    key: str
    old: Record | None
    new: Record | None
    same: bool = False


class Stale:
    """The type of `STALE`."""


STALE = Stale()
"""The result of `Store.put` for an object that is not newer than the stored one."""
