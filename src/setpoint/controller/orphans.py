"""Orphans: children that are deleted soon after they were made, because their owner is already gone."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from setpoint.meta import ObjectKey

SOON: Final = 60.0
"""The owner of a child is in doubt if the child is deleted within this number of seconds after the last write to it."""
MAX_MADE: Final = 4096
MAX_GONE: Final = 1024


class Orphans:
    """The objects that have to be read from the server before children are made for them.

    A cache that is behind may show an object that is already gone. The garbage collector deletes new children of such
    an object at once; that event leads to the next reconcile, and so on, until the cache has caught up.
    """

    __slots__ = ("_doubtful", "_gone", "_made")

    def __init__(self) -> None:
        self._made: OrderedDict[str, float] = OrderedDict()
        self._doubtful: set[ObjectKey] = set()
        self._gone: OrderedDict[str, None] = OrderedDict()

    def wrote(self, uid: str, *, deleted: bool) -> None:
        """Notes that a reconcile has created, changed or deleted the object with that uid."""
        self._made.pop(uid, None)
        now = asyncio.get_running_loop().time()
        while self._made and (len(self._made) >= MAX_MADE or now - next(iter(self._made.values())) > SOON):
            self._made.popitem(last=False)
        if not deleted:
            self._made[uid] = now

    def went(self, uid: str, owner: ObjectKey) -> None:
        """Notes that a child of ``owner`` was deleted."""
        made = self._made.get(uid)
        if made is not None and asyncio.get_running_loop().time() - made <= SOON:
            self._doubtful.add(owner)

    def doubts(self, key: ObjectKey) -> bool:
        """Whether the object has to be read from the server."""
        return key in self._doubtful

    def asked(self, key: ObjectKey, cached: str, found: str) -> None:
        """Notes the server's answer. ``cached`` is the uid in the cache, and ``found`` is the uid on the server, ``""``
        if the object does not exist there.
        """
        self._doubtful.discard(key)
        if cached != found:
            self._gone[cached] = None
            if len(self._gone) > MAX_GONE:
                self._gone.popitem(last=False)

    def is_gone(self, uid: str) -> bool:
        """Whether the server has answered that no object with that uid exists any more."""
        return uid in self._gone

    def forget(self, key: ObjectKey) -> None:
        self._doubtful.discard(key)
