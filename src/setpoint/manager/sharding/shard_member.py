"""Sharding: several processes share the keys of their controllers. Only one of them at a time works on a key.

Every process keeps a Lease (``coordination.k8s.io/v1``) of its own and finds the Leases of the others by label. A key
belongs to one of the members by rendezvous hashing. As in leader election, only local clocks count: a member is dead
when its Lease has not changed for the Lease's duration since this process first saw that version.

**Why no key is in two processes.** A member writes the set of members that it works under, its *view*, into its Lease,
and works only on the keys that are its own in that view. By rendezvous hashing, two members that are in each other's
views never have the same key. So two members must be in each other's views before they work:

- A member that joins writes its Lease first, with an empty view, and then lists the Leases of the others. The members
  that it finds have joined earlier; it starts no reconcile until each of them has a view with the new member. A member
  that is not in that list yet will, by the same rule, find the new member.
- A member publishes a view only when it has ended all work on keys that are not its own in that view. By publishing the
  view it permits other members to begin work on those keys.
- A member leaves a view only when it is dead: it gives up all work ``renew_deadline`` after its last successful
  renewal, and the others wait for ``lease_duration`` to pass. The process may come back, but as a new member: a *life*
  is part of its id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from random import Random

from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.client import ApiError, Client, TransportError
from setpoint.concurrency import Deadline
from setpoint.controller.environment import Share
from setpoint.manager.sharding.config import Sharding
from setpoint.manager.sharding.rendezvous_hashing import Members, ranges_of
from setpoint.manager.sharding.shard_lease import Lapsed, ShardLease
from setpoint.manager.sharding.shard_peers import LABEL, Keys, Peer, record_of
from setpoint.meta import ObjectKey
from setpoint.models.coordination_v1 import Lease

logger = logging.getLogger("setpoint.sharding")


class ShardMember:
    """The membership of this process in its group; a `Runnable` and a `setpoint.controller.environment.Shard`.

    *Guarantees*

    - No reconcile of a key starts while another live member works on that key, as long as clocks run at the same rate,
      no processes share an identity, and the Lease of a live member is not deleted.
    - Every key has an owner again within ``lease_duration`` plus a ``retry_period`` after its owner died, or within a
      ``retry_period`` after its owner left.
    - `may_act` is False from the moment at which others may take over, even in a process that was suspended and does
      not know yet.

    *Caveats*: there is no fencing token. A request that was sent before the lease expired may arrive afterwards.
    """

    name = "sharding"

    def __init__(
        self,
        client: Client,
        sharding: Sharding,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
        ready: Callable[[], Awaitable[None]] | None = None,
        controllers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.sharding = sharding
        self.joins = 0
        self.key_shards = None
        self.namespaces = NamespaceShard() if sharding.by == "namespace" else None
        self._client = client
        self._random = random or Random()
        self._ready = ready
        self._lease = ShardLease(client, sharding, now=now, random=self._random, controllers=controllers)
        self._peers: dict[str, Peer] = {}
        self._lacking: dict[str, frozenset[str]] = {}
        self._predecessors: set[str] | None = None
        self._views: list[Members] = []
        self._published = Members(())
        self._share = Keys()
        self._under_way: dict[tuple[str, ObjectKey], Deadline] = {}
        self._drain_until: float | None = None
        self._listeners: list[Callable[[Share], None]] = []
        self._wake = asyncio.Event()
        self._problem = "it has not joined yet"

    # -- the shard -----------------------------------------------------------------------------------------------------

    @property
    def share(self) -> Share:
        return self._share

    @property
    def members(self) -> frozenset[str]:
        """The ids of the members that this process works with, including its own; empty while it is not a member."""
        return self._views[-1].ids if self._views else frozenset()

    def on_change(self, listener: Callable[[Share], None]) -> Callable[[], None]:
        """Calls ``listener`` with every new share; returns a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        """Records the start of a reconcile and returns its scope; None if the reconcile must not start here."""
        if self._lease.age() >= self.sharding.renew_deadline or not self._share.owns(controller, key):
            return None
        scope = self._under_way[controller, key] = Deadline()
        return scope

    def end(self, controller: str, key: ObjectKey) -> None:
        if self._under_way.pop((controller, key), None) is not None:
            self._wake.set()

    @property
    def until(self) -> float:
        """The loop time from which other processes may take over this process's keys."""
        return self._lease.renewed_at + self.sharding.lease_duration

    def may_act(self, work: tuple[str, ObjectKey] | None = None) -> bool:
        """Whether no other process can have taken this process's keys yet, according to this process's clock, and the
        reconcile of ``work``, if it is given, is running here.
        """
        return asyncio.get_running_loop().time() < self.until and (work is None or work in self._under_way)

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        """The reason why the key is not reconciled here; ``""`` if it may be."""
        if self._share.owns(controller, key):
            return ""
        if not self._views:
            return f"this process ({self.sharding.identity}) has no share of the keys: {self.problem()}"
        owner = self._views[-1].owner(controller, key)
        if owner != self._lease.member:
            lacks = "which has no controller of that name, " if controller in self._lacking.get(owner, ()) else ""
            return f"it is in the shard of {owner.rpartition('@')[0]}, {lacks}this process is {self.sharding.identity}"
        waits = (
            ", ".join(sorted(id.rpartition("@")[0] for id in self._predecessors or ())) or "this process's own Lease"
        )
        return f"it is in the shard of this process ({self.sharding.identity}), which waits for {waits} to hand over"

    def problem(self) -> str:
        """The reason why this process has no share of the keys, for a readiness check; ``""`` if it has one."""
        return ("" if self._views else self._lease.problem) or self._problem

    # -- life ----------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Joins the group, keeps this process's share, and joins again whenever its life has ended, until the call is
        cancelled.
        """
        if self._ready is not None:
            await self._ready()
        while True:
            try:
                await self._join()
                await self._keep()
            except Lapsed as lapsed:
                self._problem = str(lapsed)
                logger.warning("gave up all keys", extra={"fields": {**self._lease.fields(), "error": str(lapsed)}})
            finally:
                await self._withdraw()

    async def release(self) -> None:
        """Leaves the group for the last time; see `ShardLease.release`. Does nothing while reconciles are running."""
        if not self._under_way:
            await self._lease.release()

    async def _withdraw(self) -> None:
        """Gives up all keys; returns when no reconcile is running."""
        self._views = []
        self._set_share(Keys())
        for scope in self._under_way.values():
            scope.expire()
        while self._under_way:
            self._wake.clear()
            await self._wake.wait()

    async def _join(self) -> None:
        """Starts a new life, with an empty view."""
        self._peers.clear()
        self._predecessors = None
        self._published = Members(())
        self._drain_until = None
        await self._lease.claim()
        self._views = [Members(())]
        self.joins += 1
        self._problem = "it has just joined"
        logger.info("joined", extra={"fields": self._lease.fields()})

    async def _keep(self) -> None:
        """Renews, lists, drains and publishes. Raises `Lapsed` when this life is over."""
        loop = asyncio.get_running_loop()
        sharding = self.sharding
        while True:
            self._wake.clear()
            deadline = self._lease.renewed_at + sharding.renew_deadline
            failed = ""
            try:
                async with asyncio.timeout_at(min(deadline, loop.time() + self._lease.request_timeout)):
                    await self._look()
                    await self._publish()
            except (ApiError, TransportError, TimeoutError) as problem:
                failed = str(problem) or "the API server did not answer in time"
                logger.warning("could not renew", extra={"fields": {**self._lease.fields(), "error": failed}})
            # Also after an answer: a process that was stopped may find an old one.
            if loop.time() >= deadline:
                raise Lapsed(
                    f"its Lease was not renewed in {sharding.renew_deadline:g} s: "
                    f"{failed or 'the answer came too late'}"
                )
            if failed:
                self._expire_lost()
                await asyncio.sleep(max(min(sharding.retry_period / 2, deadline - loop.time()), 0.001))
            else:
                await self._sweep()
                await self._pause()

    async def _pause(self) -> None:
        """Waits for a retry period. The wait is shorter if a hand-over is in progress, if a peer's lease expires, or if
        the last of the reconciles that keep this process from publishing its view ends.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        until = now + self.sharding.retry_period * (1.0 - self._random.random() / 20)
        target = self._views[-1].ids
        if self._predecessors or any(peer.view.ids != target for peer in self._peers.values() if peer.id in target):
            until = min(until, now + self.sharding.retry_period / 4)
        for peer in self._peers.values():
            if peer.id in target:
                until = min(until, max(peer.observed_at + peer.duration + 0.001, now + 0.001))
        while (remaining := until - loop.time()) > 0:
            if self._drain_until is not None:
                if self._drained():
                    return
                self._expire_lost()
                remaining = min(remaining, max(self._drain_until - loop.time(), 0.001))
            try:
                async with asyncio.timeout(remaining):
                    await self._wake.wait()
            except TimeoutError:
                continue
            self._wake.clear()

    # -- one round -----------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Lists the group's Leases and computes its members."""
        loop = asyncio.get_running_loop()
        requested_at = loop.time()
        leases = await self._client.list(Lease, namespace=self.sharding.namespace, selector={LABEL: self.sharding.name})
        now = loop.time()
        mine = next((lease for lease in leases.items if lease.name == self.sharding.lease), None)
        self._lease.accept(mine)
        listed = set()
        for lease in leases.items:
            if lease is mine:
                continue
            listed.add(lease.name)
            record = record_of(lease)
            peer = self._peers.get(lease.name)
            if peer is None or peer.record != record:
                self._peers[lease.name] = Peer(lease, now)
        # A deleted Lease says nothing about its process, which may not know yet.
        alive = {peer.id: peer for peer in self._peers.values() if not peer.gone(requested_at)}
        for name, peer in list(self._peers.items()):
            if name not in listed and peer.id not in alive:
                del self._peers[name]
        self._compare(alive)
        if self._predecessors is None:
            self._predecessors = set(alive)
        self._predecessors = {
            id for id in self._predecessors if id in alive and self._lease.member not in alive[id].view
        }
        target = Members((self._lease.member, *alive))
        if target.ids != self._views[-1].ids:
            logger.info("members changed", extra={"fields": {**self._lease.fields(), "members": str(target)}})
            self._views.append(target)
            self._refresh()
            if not self._drained():
                self._drain_until = loop.time() + self.sharding.drain_timeout

    def _compare(self, alive: dict[str, Peer]) -> None:
        """Warns once of each member that does not have all controllers of this process: the keys that it owns of the
        others are reconciled by none. In a rolling update that adds a controller this ends with the old processes.
        """
        mine, before = frozenset(self._lease.controllers()), self._lacking
        lacking = {id: mine - peer.controllers for id, peer in alive.items() if peer.controllers is not None}
        self._lacking = {id: names for id, names in lacking.items() if names}
        for id, names in self._lacking.items():
            if before.get(id) != names:
                logger.warning(
                    "a member does not have all controllers of this process: none reconciles the keys that it owns "
                    "of the others; give all members the same controllers, with the same names",
                    extra={"fields": {**self._lease.fields(), "other": id, "missing": ", ".join(sorted(names))}},
                )

    async def _publish(self) -> None:
        """Renews the Lease, with the newest view if no reconcile of a key that this view gives to others is running;
        otherwise with the view that was published last.
        """
        if self._drained():
            self._drain_until = None
            self._published = self._views[-1]
        wanted = self._published
        await self._lease.renew(wanted)
        if wanted is self._views[-1]:
            self._views = [wanted]
        self._refresh()
        self._problem = self._waits()

    async def _sweep(self) -> None:
        """Deletes the Lease of a process that has been dead for so long that all members know of its death."""
        now = asyncio.get_running_loop().time()
        for name, peer in self._peers.items():
            if peer.uid and now - peer.observed_at >= 2 * max(peer.duration, self.sharding.lease_duration):
                try:
                    async with asyncio.timeout(self._lease.request_timeout):
                        await self._client.delete(
                            Lease,
                            name,
                            namespace=self.sharding.namespace,
                            uid=peer.uid,
                            resource_version=peer.resource_version,
                        )
                except (ApiError, TransportError, TimeoutError) as problem:
                    # Another member was faster, its process is back, or this one may not: no harm.
                    logger.debug("kept the lease", extra={"fields": {"lease": name, "error": str(problem)}})
                peer.uid = ""
                return

    def _refresh(self) -> None:
        views = tuple(self._views)
        if self.namespaces is not None and views[-1].ids:
            # Those of all views: caches grow before keys come, and shrink after keys have gone.
            self.namespaces.assign(ranges_of(slot for view in views for slot in view.slots(self._lease.member)))
        # Before its predecessors have acknowledged this life, and until its first view is published, it has no keys.
        joined = (
            not self._predecessors
            and self._predecessors is not None
            and Members(()).ids not in [view.ids for view in views]
        )
        self._set_share(Keys(self._lease.member, views) if joined else Keys())

    def _set_share(self, share: Keys) -> None:
        if share != self._share:
            self._share = share
            for listener in list(self._listeners):
                listener(share)

    def _departing(self) -> list[Deadline]:
        """The running reconciles of keys that the newest view gives to others."""
        view = self._views[-1]
        return [
            scope
            for (controller, key), scope in self._under_way.items()
            if view.owner(controller, key) != self._lease.member
        ]

    def _drained(self) -> bool:
        return not self._departing()

    def _expire_lost(self) -> None:
        """Cancels, after the drain timeout, running reconciles of keys that belong to other processes."""
        now = asyncio.get_running_loop().time()
        if self._drain_until is not None and now >= self._drain_until:
            self._drain_until = float("inf")
            for scope in self._departing():
                scope.expire()

    def _waits(self) -> str:
        if not self._share.empty:
            return ""
        return f"it waits for {', '.join(sorted(self._predecessors or ())) or 'the first list of the members'}"
