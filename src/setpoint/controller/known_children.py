"""Children that were applied without a cache that could show them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from setpoint.meta import GroupVersionResource, Object, ObjectKey

MAX_KNOWN: Final = 4096


class KnownChildren:
    """The uids of the last `MAX_KNOWN` children that were applied without a cache that could show them."""

    __slots__ = ("_uids",)

    def __init__(self) -> None:
        self._uids: OrderedDict[tuple[str, GroupVersionResource, ObjectKey], str] = OrderedDict()

    def get(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey) -> str:
        return self._uids.get((owner.uid, gvr, key), "")

    def note(self, owner: Object, gvr: GroupVersionResource, key: ObjectKey, uid: str) -> None:
        """Remembers the uid of a child; if ``uid`` is empty, the child is forgotten."""
        place = (owner.uid, gvr, key)
        self._uids.pop(place, None)
        if uid:
            self._uids[place] = uid
        if len(self._uids) > MAX_KNOWN:
            self._uids.popitem(last=False)
