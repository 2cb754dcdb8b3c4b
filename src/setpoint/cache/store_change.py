"""The change of one object in a store."""

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
