"""Children that were applied without a cache that could show them."""

from __future__ import annotations

from typing import Final

from setpoint.meta import GroupVersionResource, Object, ObjectKey

MAX_KNOWN: Final = 1024


class KnownChildren:
    """For each key, the uids of the last `MAX_KNOWN` children that were applied without a cache that could show
    them.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[ObjectKey, dict[tuple[str, GroupVersionResource, ObjectKey], str]] = {}

    def get(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey) -> str:
        return self._keys.get(owner.key, {}).get((owner.uid, gvr, key), "")

    def note(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey, uid: str) -> None:
        """Remembers the uid of a child; if ``uid`` is empty, the child is forgotten."""
        uids = self._keys.setdefault(owner.key, {})
        place = (owner.uid, gvr, key)
        uids.pop(place, None)
        if uid:
            uids[place] = uid
        if len(uids) > MAX_KNOWN:
            del uids[next(iter(uids))]
        if not uids:
            del self._keys[owner.key]

    def forget(self, key: ObjectKey) -> None:
        self._keys.pop(key, None)
