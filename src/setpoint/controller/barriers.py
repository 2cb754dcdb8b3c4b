"""Barriers ensure that a reconcile of a key sees every write of the key's previous reconcile.

The server answers every write with the resulting resource version. Before the key is reconciled again, the caches that
its reconcile reads must have reached those versions. Other keys do not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from setpoint.concurrency import Deadline
from setpoint.meta import GroupVersionResource, ObjectKey, Resource

DEADLINE: Final = 10.0
"""Seconds to wait for a cache before the reconcile reads live instead."""


class Cache(Protocol):
    """The part of an informer that barriers need."""

    def has_observed(self, key: str, resource_version: str = "", *, uid: str = "", deleted: bool = False) -> bool: ...

    async def observed(
        self,
        key: str,
        resource_version: str = "",
        *,
        uid: str = "",
        deleted: bool = False,
        timeout: float | None = 10.0,
    ) -> bool: ...


class Barrier(NamedTuple):
    """A write that a cache does not show yet."""

    key: ObjectKey
    uid: str
    resource_version: str
    deletion: bool


class Abandoned(Exception):
    """The controller is stopping, so a wait for a cache was ended early."""


class WriteBarriers:
    """The writes that the next reconcile of each key has to see.

    *Guarantees*: after `settle` has returned the empty set, every cache in ``caches`` shows every write that was noted
    for the key, or a newer state.

    *Caveats*: writes to kinds without a cache are not waited for, because such kinds are read live anyway. Nothing has
    to survive a restart: a new process begins with fresh caches.
    """

    def __init__(self, caches: Mapping[GroupVersionResource, Cache | Any], *, deadline: float = DEADLINE) -> None:
        self._caches = caches
        self._deadline = deadline
        self._barriers: dict[ObjectKey, dict[tuple[GroupVersionResource, ObjectKey], Barrier]] = {}
        self._doubtful: dict[ObjectKey, set[GroupVersionResource]] = {}
        self._waits: dict[Deadline, None] = {}  # in their order, as sets are not
        self._abandoned = False

    def wrote(
        self, key: ObjectKey, resource: Resource, written: ObjectKey, uid: str, resource_version: str, *, deletion: bool
    ) -> None:
        """Notes that a reconcile of ``key`` wrote the object ``written``."""
        gvr = resource.gvr
        if gvr in self._caches and (resource_version or deletion):
            # A deletion's answer may show the object as it last was; its version says nothing.
            barrier = Barrier(written, uid, "" if deletion else resource_version, deletion)
            self._barriers.setdefault(key, {})[gvr, written] = barrier

    def doubt(self, key: ObjectKey, *gvrs: GroupVersionResource) -> None:
        """Marks the resources as in doubt, so `settle` returns them and they are read live. Call this method when a
        create has ended without an answer, or when a cache is behind and a live read has failed. Resources without a
        cache are ignored.
        """
        if known := self._caches.keys() & gvrs:
            self._doubtful.setdefault(key, set()).update(known)

    def forget(self, key: ObjectKey) -> None:
        self._barriers.pop(key, None)
        self._doubtful.pop(key, None)

    def pending(self, key: ObjectKey) -> bool:
        """Whether `settle` has anything to do."""
        return key in self._barriers or key in self._doubtful

    async def settle(self, key: ObjectKey) -> frozenset[GroupVersionResource]:
        """Waits until the caches show the key's writes, but not beyond the deadline.

        Returns the resources that have to be read live because their cache is behind or because they are in doubt (see
        `doubt`). They stay in doubt until `forget`: if reading them fails, the next attempt reads them live again.

        Raises:
            Abandoned: the controller is stopping; see `abandon`.
        """
        behind = set(self._doubtful.get(key, ()))
        deadline = asyncio.get_running_loop().time() + self._deadline
        for (gvr, _), barrier in list(self._barriers.get(key, {}).items()):
            if gvr in behind or self._caches[gvr].has_observed(
                barrier.key, barrier.resource_version, uid=barrier.uid, deleted=barrier.deletion
            ):
                continue
            if not await self._seen(gvr, barrier, deadline):
                behind.add(gvr)
        # Only now: a reconcile that is cancelled while it waits must not take the barriers along.
        self.forget(key)
        self.doubt(key, *behind)
        return frozenset(behind)

    def abandon(self) -> None:
        """Ends every current and future `settle` with `Abandoned`, because the controller is stopping."""
        self._abandoned = True
        for wait in self._waits:
            wait.expire()
        self._waits.clear()

    async def _seen(self, gvr: GroupVersionResource, barrier: Barrier, deadline: float) -> bool:
        if self._abandoned:
            raise Abandoned
        wait = Deadline(deadline)
        try:
            async with wait:
                self._waits[wait] = None
                return await self._caches[gvr].observed(
                    barrier.key,
                    barrier.resource_version,
                    uid=barrier.uid,
                    deleted=barrier.deletion,
                    timeout=None,
                )
        except TimeoutError:
            if self._abandoned:
                raise Abandoned from None
            return False
        finally:
            self._waits.pop(wait, None)
