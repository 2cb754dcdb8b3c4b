"""Applied children: those that this process has written, by key, and what they held afterwards."""

from __future__ import annotations

from typing import Final, NamedTuple

from setpoint.meta import GroupVersionResource, ObjectKey, Selector

MAX_SELECTORS: Final = 64


class Applied(NamedTuple):
    """The knowledge of this process about a child that it applied.

    ``desired`` is a digest of what was sent, ``carried`` one of what the same fields held afterwards (with defaults,
    the server's spelling, what webhooks made of it), ``version`` the newest resource version that was seen to hold it.
    """

    uid: str
    desired: bytes
    carried: bytes
    version: str


class Known(NamedTuple):
    """The knowledge about the children that one `Context.keep` of a key looks after: what was applied, whose last
    write failed, and the names that were drawn for new ones that may or may not exist."""

    applied: dict[ObjectKey, Applied]
    failed: set[ObjectKey]
    drawn: set[ObjectKey]


class AppliedChildren:
    """The applied children of all keys: about 500 bytes a child. They are forgotten with the process.

    Of one key, the `MAX_SELECTORS` resources and selectors that were kept last are remembered.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[ObjectKey, dict[tuple[GroupVersionResource, str], Known]] = {}

    def of(self, key: ObjectKey, gvr: GroupVersionResource, selector: Selector) -> Known:
        """The children of ``key`` that one `Context.keep` looks after."""
        sorts = self._keys.setdefault(key, {})
        place = (gvr, str(selector))
        known = sorts[place] = sorts.pop(place) if place in sorts else Known({}, set(), set())
        if len(sorts) > MAX_SELECTORS:
            del sorts[next(iter(sorts))]
        return known

    def forget(self, key: ObjectKey) -> None:
        """The key's object is gone, or another process's; whoever has it next applies everything once."""
        self._keys.pop(key, None)
