"""Orphans: children that go soon after they were made, because the object that they were made for is gone."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from setpoint.meta import ObjectKey

SOON: Final = 60.0
"""Seconds after its last write within which the end of a child puts its owner in doubt."""
MAX_MADE: Final = 4096
MAX_GONE: Final = 1024


class Orphans:
    """The objects that have to be read from the server before children are made for them.

    A cache that is behind shows an object that is gone. The garbage collector deletes children of it at once; that
    event leads to the next reconcile, and so on, until the cache has caught up.
    """

    __slots__ = ("_doubtful", "_gone", "_made")

    def __init__(self) -> None:
        self._made: OrderedDict[str, float] = OrderedDict()
        self._doubtful: set[ObjectKey] = set()
        self._gone: OrderedDict[str, None] = OrderedDict()

    def wrote(self, uid: str, *, deleted: bool) -> None:
        """A reconcile has created, changed or deleted the object with that uid."""
        self._made.pop(uid, None)
        if not deleted:
            self._made[uid] = asyncio.get_running_loop().time()
            if len(self._made) > MAX_MADE:
                self._made.popitem(last=False)

    def went(self, uid: str, owner: ObjectKey) -> None:
        """A child of ``owner`` was deleted."""
        made = self._made.get(uid)
        if made is not None and asyncio.get_running_loop().time() - made <= SOON:
            self._doubtful.add(owner)

    def doubts(self, key: ObjectKey) -> bool:
        """Whether the server has to be asked for the object."""
        return key in self._doubtful

    def asked(self, key: ObjectKey, cached: str, found: str) -> None:
        """The server was: ``cached`` is the uid that the cache has, ``found`` the server's, "" if there is none."""
        self._doubtful.discard(key)
        if cached != found:
            self._gone[cached] = None
            if len(self._gone) > MAX_GONE:
                self._gone.popitem(last=False)

    def is_gone(self, uid: str) -> bool:
        """Whether the server has said that there is no object with that uid any more."""
        return uid in self._gone

    def forget(self, key: ObjectKey) -> None:
        self._doubtful.discard(key)
