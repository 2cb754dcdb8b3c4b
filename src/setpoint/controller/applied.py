"""Applied children: the children that this process has written, by key, and the content that they had afterwards."""

from __future__ import annotations

from typing import Final, NamedTuple

from setpoint.meta import GroupVersionResource, ObjectKey, Selector

MAX_SELECTORS: Final = 64


class Applied(NamedTuple):
    """The record of a child that this process applied.

    ``desired`` is a digest of the fields that were sent, and ``carried`` is a digest of the same fields as the server
    stored them (with defaults, values in the server's spelling, and the changes made by webhooks). ``version`` is the
    newest resource version that is known to hold the stored values.
    """

    uid: str
    desired: bytes
    carried: bytes
    version: str


class Known(NamedTuple):
    """The record of the children that one `Context.keep` of a key manages: the children that were applied, those whose
    last write failed, and the names that were drawn for new children that may or may not exist.
    """

    applied: dict[ObjectKey, Applied]
    failed: set[ObjectKey]
    drawn: set[ObjectKey]


class AppliedChildren:
    """The applied children of all keys. Each child takes about 500 bytes. They are forgotten when the process ends.

    For each key, only the `MAX_SELECTORS` pairs of resource and selector that `Context.keep` used last are remembered.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[ObjectKey, dict[tuple[GroupVersionResource, str], Known]] = {}

    def of(self, key: ObjectKey, gvr: GroupVersionResource, selector: Selector) -> Known:
        """The record of the children of ``key`` that one `Context.keep` manages; it is created if it does not exist."""
        sorts = self._keys.setdefault(key, {})
        place = (gvr, str(selector))
        known = sorts[place] = sorts.pop(place) if place in sorts else Known({}, set(), set())
        if len(sorts) > MAX_SELECTORS:
            del sorts[next(iter(sorts))]
        return known

    def forget(self, key: ObjectKey) -> None:
        """Forgets the children of a key whose object is gone or belongs to another process. The next process that
        reconciles the key applies every child once.
        """
        self._keys.pop(key, None)
