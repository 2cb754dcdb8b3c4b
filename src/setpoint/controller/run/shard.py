"""Shards: one process's share of a controller's keys, and the controller's reaction when this share changes.

`setpoint.manager` decides which process has a key (``sharding``, ``partition``; with ``leader_election`` the leader has
all keys). This module applies the decision to one controller: a reconcile is begun only for a key of this process, and
for a key that has come from another process only when the caches show that process's writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from setpoint.cache.namespace_shard import Namespaces
from setpoint.client import ApiError, TransportError
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.declaration import Declaration
from setpoint.controller.environment import Environment, Shard, Share
from setpoint.controller.history import Cause
from setpoint.controller.outcome import HandedOver, Outcome, describe
from setpoint.meta import ObjectKey, head_of, json_of, raw_of, resource_of
from setpoint.workqueue import LOW_PRIORITY

CATCH_UP: Final = 10.0
"""Seconds that a cache may take to show the writes of other processes before the attempt to catch up is repeated."""
PAUSE: Final = 2.0
_TURN: Final = 500


class ShardGuard:
    """Lets a controller's reconciler handle only the keys of this process.

    *Guarantees*

    - A reconcile begins only if its key belongs to this process and has belonged to it ever since the caches last
      caught up.
    - Every object whose key has come to this process is reconciled, whatever events were missed before, unless a
      predicate rejects the object.
    """

    def __init__(
        self,
        declared: Declaration[Any],
        env: Environment,
        shard: Shard,
        handle: Callable[[ObjectKey], Awaitable[Outcome | None]],
        *,
        enqueue: Callable[[ObjectKey, Cause, int], None],
        forget: Callable[[ObjectKey], None],
    ) -> None:
        self._declared = declared
        self._env = env
        self._enqueue = enqueue
        self._forget = forget
        self._shard = shard
        self._handle = handle
        self._shares: list[Share] = [] if shard.share.empty else [shard.share]
        """The share that the caches have caught up with, and those that came since; a key must be in all of them."""
        self.caught_up = asyncio.Event()
        """Set when the caches have caught up with the first share; no reconcile begins before that."""
        self._changed = asyncio.Event()
        self._behind = ""

    async def handle(self, key: ObjectKey) -> Outcome | None:
        """Calls the reconciler's `handle` and returns its outcome.

        Raises:
            HandedOver: the key does not belong to this process, or the reconcile was cancelled because another process
                wants the key.
        """
        name = self._env.name
        scope = self._shard.begin(name, key) if self._mine(key) else None
        if scope is None:
            self._forget(key)
            raise HandedOver("another process has the key")
        try:
            async with scope:
                return await self._handle(key)
        except TimeoutError as problem:
            if scope.expired:
                self._forget(key)
                raise HandedOver("cancelled, since the key was wanted by another process") from problem
            raise
        finally:
            self._shard.end(name, key)

    def wants(self, key: ObjectKey) -> bool:
        """Whether a reconcile of the key may be requested, because the key is in a share of this process or no share is
        known yet. For any other key, a reconcile is requested as soon as the key comes to this process.
        """
        if not self._shares:
            return True
        name = self._env.name
        for share in self._shares:  # noqa: SIM110 - every event of every process comes here, and any() costs more
            if share.owns(name, key):
                return True
        return False

    def elsewhere(self, key: ObjectKey) -> str:
        """The reason why the key is not reconciled in this process; ``""`` if it may be reconciled here."""
        why = self._shard.elsewhere(self._env.name, key)
        if not why and self.caught_up.is_set() and not self._mine(key):
            return f"it has come to this process, whose caches are catching up with what others wrote{self._behind}"
        return why

    def waits(self) -> str:
        """The reason why no reconcile may begin yet; ``""`` if there is none."""
        if self.caught_up.is_set():
            return ""
        return f"the caches are catching up with what other processes wrote{self._behind}"

    async def follow(self) -> None:
        """Takes over the keys that come to this process, until the call is cancelled."""
        remove = self._shard.on_change(self._on_change)
        try:
            self._on_change(self._shard.share)
            while True:
                await self._changed.wait()
                self._changed.clear()
                shares = list(self._shares)
                if not shares[-1].empty:
                    await self._catch_up()
                self._shares = [shares[-1], *self._shares[len(shares) :]]
                self.caught_up.set()
                await self._take_over(shares[-1], [former for former in shares[:-1] if former != shares[-1]])
        finally:
            remove()

    def _on_change(self, share: Share) -> None:
        self._shares.append(share)
        self._changed.set()

    def _mine(self, key: ObjectKey) -> bool:
        name = self._env.name
        if not self.caught_up.is_set():
            return False
        for share in self._shares:  # noqa: SIM110 - as above
            if not share.owns(name, key):
                return False
        return True

    async def _take_over(self, share: Share, before: list[Share]) -> None:
        """Asks for a reconcile of every object whose key is in ``share`` and was not in each of the shares ``before``.

        If there were no shares before, the queue already has all objects. Objects that the predicates keep out when a
        process starts are left out here, too.
        """
        if not before:
            return
        name = self._env.name
        store = self._env.informers[self._env.resource.gvr].store
        predicates = self._declared.watched[0].predicates
        now = asyncio.get_running_loop().time()
        for number, cached in enumerate(list(store)):
            key = ObjectKey(cached)
            if share.owns(name, key) and not all(former.owns(name, key) for former in before):
                # It may have been deleted since the walk began; then its own event has told of that.
                head = store.head(cached) if predicates else None
                if not predicates or self._env.accepts(predicates, key, head):
                    self._enqueue(key, Cause("sync", at=now), LOW_PRIORITY)
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)

    async def _catch_up(self) -> None:
        """Waits until every cache is as new as the server was when the call began, and shows all writes of former
        owners.
        """
        for gvr in self._env.informers:
            self._behind = f": {gvr.resource}"
            while not await self._caught_up_with(gvr):  # noqa: ASYNC110 - what is waited for is the server's
                await asyncio.sleep(PAUSE)
        self._behind = ""

    async def _caught_up_with(self, gvr: Any) -> bool:
        env = self._env
        informer = env.informers[gvr]
        kind = next(watch.kind for watch in self._declared.watched if resource_of(watch.kind).gvr == gvr)
        scope = informer.shared.scope
        await informer.shared.wait_listed()
        part = scope.shard.part if scope.shard is not None else None
        by_hash = part.ranges if isinstance(part, Namespaces) else None
        store = informer.store
        earlier: dict[ObjectKey, str] = {}  # an object that is created from now on does not matter
        for number, cached in enumerate(list(store)):
            if (head := store.head(cached)) is not None:
                earlier[ObjectKey(cached)] = head.uid
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
        behind: list[tuple[ObjectKey, str, str]] = []
        try:
            async for item in env.client.pages(
                metadata_only(resource_of(kind)),
                namespace=scope.namespace or None,
                selector=scope.selector,
                field_selector=scope.field_selector or by_hash,
            ):
                if item.key in earlier:
                    del earlier[item.key]
                elif not informer.shared.holds(head_of(raw_of(item) or json_of(item))):
                    continue  # it concerns other processes
                version = item.metadata.resource_version
                cached_version = store.resource_version(item.key)
                if cached_version is None or not version.isdecimal() or cached_version < int(version):
                    behind.append((item.key, version, item.uid))
        except (ApiError, TransportError) as problem:
            self._behind = f": {gvr.resource}: {describe(problem)}"
            env.log.warning("keys wait to be taken over", extra={"error": describe(problem)})
            return False
        is_caught_up = True
        deadline = asyncio.get_running_loop().time() + CATCH_UP
        for key, version, uid in behind:
            is_caught_up = is_caught_up and await informer.observed(key, version, uid=uid, timeout=_rest(deadline))
        for key, uid in earlier.items():  # they are gone from the server, and may be there again since
            is_caught_up = is_caught_up and await informer.observed(key, uid=uid, deleted=True, timeout=_rest(deadline))
        if not is_caught_up:
            env.log.warning("keys wait to be taken over: the cache is behind", extra={"resource": str(gvr.resource)})
        return is_caught_up


def _rest(deadline: float) -> float:
    return max(deadline - asyncio.get_running_loop().time(), 0.0)
