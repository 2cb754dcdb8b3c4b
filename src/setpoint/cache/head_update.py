"""Head update: what handlers are told of one change to an object."""

from __future__ import annotations

from setpoint.cache.object_record import Record, same_fingerprint, version_of
from setpoint.cache.store import Store
from setpoint.meta.object_head import Head


class HeadUpdate:
    """The heads before and after a change, decoded on first access and then shared by all handlers."""

    __slots__ = ("_last", "_new", "_new_record", "_old", "_old_record", "_store")

    def __init__(
        self,
        store: Store,
        old: Record | None,
        new: Record | None,
        new_head: Head | None = None,
        *,
        last: Head | None = None,
    ) -> None:
        self._store = store
        self._old_record = old
        self._new_record = new
        self._old: Head | None = None
        self._new = new_head
        self._last = last

    @property
    def old(self) -> Head:
        if self._old is None:
            assert self._old_record is not None
            self._old = self._store.head_of(self._old_record)
        return self._old

    @property
    def new(self) -> Head:
        if self._new is None:
            assert self._new_record is not None
            self._new = self.old if self._new_record is self._old_record else self._store.head_of(self._new_record)
        return self._new

    @property
    def same_object(self) -> bool:
        """Whether old and new are states of one object, not of two successive objects with the same name."""
        old, new = self._old_record, self._new_record
        assert old is not None
        assert new is not None
        return same_fingerprint(old, new) or self.old.uid == self.new.uid

    @property
    def same_owners(self) -> bool:
        """Whether old and new are known, without decoding them, to be states of one object with the same owners. False
        can also mean that this is not known.
        """
        old, new = self._old_record, self._new_record
        assert old is not None
        assert new is not None
        return old is new or same_fingerprint(old, new)

    @property
    def same_version(self) -> bool:
        """Whether this update is a resync, in which nothing has changed."""
        old, new = self._old_record, self._new_record
        assert old is not None
        assert new is not None
        if old is new:
            return True
        number = version_of(old)
        if number or version_of(new):
            return number == version_of(new)
        return self.old.resource_version == self.new.resource_version

    @property
    def last(self) -> Head | None:
        """The object's head in the server's DELETED event, or None."""
        return self._last

    def ending(self, unknown: bool) -> tuple[Head, bool]:
        """The final state of the old object, and whether that is only the last known state."""
        if self._last is None:
            return self.old, unknown
        return (self._last, unknown) if self._last.uid == self.old.uid else (self.old, True)
