"""ShardLease: a member's own Lease, which the member claims at the start of each life, renews with its view, and
releases.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection
from datetime import datetime
from random import Random

from setpoint.client import AlreadyExists, ApiError, Client, Conflict, NotFound, TransportError
from setpoint.manager.sharding.config import Sharding
from setpoint.manager.sharding.rendezvous_hashing import BY_NAMESPACE, Members
from setpoint.manager.sharding.shard_peers import CONTROLLERS, LABEL, VIEW, Peer, record_of
from setpoint.meta import MicroTime
from setpoint.models.coordination_v1 import Lease, LeaseSpec

logger = logging.getLogger("setpoint.sharding")


class Lapsed(Exception):
    """The member's life is over: other members may have the keys."""


class ShardLease:
    """The Lease that shows the other members that this process is alive, and which view it has.

    ``member`` is the id of the current life, ``""`` before the first. `renewed_at` is the loop time just before the
    last successful renewal was sent; the lease's duration counts from that time. `controllers` are the names of those
    whose keys the members share.
    """

    def __init__(
        self,
        client: Client,
        sharding: Sharding,
        *,
        now: Callable[[], datetime],
        random: Random,
        controllers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.sharding = sharding
        self.controllers = controllers
        self.member = ""
        self.renewed_at = float("-inf")
        self.request_timeout = max(1.0, sharding.renew_deadline / 2)
        """The timeout of one request in seconds: half of the renew deadline, but at least 1."""
        self.problem = ""
        """The reason why `claim` has not returned yet."""
        self._client = client
        self._now = now
        mode = BY_NAMESPACE if sharding.by == "namespace" else ""
        self._process = f"{sharding.identity}@{mode}{random.getrandbits(48):012x}."
        self._lives = 0
        self._lease: Lease | None = None

    def age(self) -> float:
        """Seconds since the last renewal."""
        return asyncio.get_running_loop().time() - self.renewed_at

    async def claim(self) -> None:
        """Starts a new life. Returns when this process holds the Lease, with an empty view."""
        self._lives += 1
        self.member = f"{self._process}{self._lives}"
        self.problem = ""
        peer: Peer | None = None
        while True:
            requested_at = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout(self.request_timeout):
                    lease, peer = await self._try_to_claim(requested_at, peer)
            except (ApiError, TransportError, TimeoutError) as problem:
                self.problem = f"could not write its Lease: {problem or 'the API server did not answer in time'}"
                logger.warning(self.problem, extra={"fields": self.fields()})
                lease = None
            if lease is not None:
                self._lease, self.renewed_at = lease, requested_at
                return
            await asyncio.sleep(self.sharding.retry_period)

    async def _try_to_claim(self, requested_at: float, peer: Peer | None) -> tuple[Lease | None, Peer | None]:
        """Tries once to write this life into the Lease. ``peer`` is the second result of the previous attempt.

        Returns the Lease as written, or None if the attempt has to be repeated: after a conflict, or while the Lease
        belongs to another process that may be alive. In the latter case, the second result is that process's record.
        """
        sharding = self.sharding
        try:
            lease = await self._client.get(Lease, sharding.lease, namespace=sharding.namespace)
        except NotFound:
            fresh = Lease.named(sharding.lease, sharding.namespace)
            try:
                return await self._client.create(self._held_by(fresh, self.member, Members(()))), None
            except AlreadyExists:
                return None, None
        record = record_of(lease)
        if peer is None or peer.record != record:
            peer = Peer(lease, asyncio.get_running_loop().time())
        if not peer.id.startswith(self._process) and not peer.gone(requested_at):
            self.problem = f"another process holds its Lease {sharding.lease}, or held it recently: {peer.id}"
            return None, peer
        try:
            return await self._client.update(self._held_by(lease, self.member, Members(()))), None
        except Conflict:
            return None, None

    def accept(self, lease: Lease | None) -> None:
        """Accepts the listed Lease as the version for the next `renew` to replace.

        Raises:
            Lapsed: the Lease is missing (None), or no longer belongs to this life.
        """
        if lease is None or lease.spec.holder_identity != self.member:
            raise Lapsed("its Lease was taken by another process or deleted")
        self._lease = lease

    async def renew(self, view: Members) -> None:
        """Writes the view. An answer that comes after ``renew_deadline`` does not count as a renewal, because it may
        be too late.
        """
        assert self._lease is not None
        requested_at = asyncio.get_running_loop().time()
        self._lease = await self._client.update(self._held_by(self._lease, self.member, view))
        if self.age() < self.sharding.renew_deadline:
            self.renewed_at = requested_at

    async def release(self) -> None:
        """Releases the Lease when the process ends, so that the other members need not wait for it to expire. The last
        attempt begins at most ``renew_deadline`` seconds after the call. Errors of the server and of the connection are
        logged, not raised.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.sharding.renew_deadline
        while self._lives and loop.time() < deadline:
            try:
                async with asyncio.timeout(self.request_timeout):
                    lease = await self._client.get(Lease, self.sharding.lease, namespace=self.sharding.namespace)
                    if not (lease.spec.holder_identity or "").startswith(self._process):
                        return
                    await self._client.update(self._held_by(lease, "", Members(())))
                return
            except NotFound:
                return
            except Conflict:
                continue
            except (ApiError, TransportError, TimeoutError) as problem:
                logger.warning(
                    "could not release the lease", extra={"fields": {**self.fields(), "error": str(problem)}}
                )
                await asyncio.sleep(self.sharding.retry_period)

    def _held_by(self, lease: Lease, holder: str, view: Members) -> Lease:
        now = MicroTime.of(self._now())
        old = lease.spec
        same = old.holder_identity == holder
        lease.spec = LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=math.ceil(self.sharding.lease_duration) if holder else 1,
            acquire_time=(old.acquire_time if same else None) or now,
            renew_time=now,
            lease_transitions=(old.lease_transitions or 0) + (0 if same else 1),
        )
        lease.metadata.labels[LABEL] = self.sharding.name
        lease.metadata.annotations[VIEW] = str(view)
        lease.metadata.annotations[CONTROLLERS] = ",".join(sorted(self.controllers()))
        return lease

    def fields(self) -> dict[str, str]:
        """The fields of log records."""
        return {"group": f"{self.sharding.namespace}/{self.sharding.name}", "member": self.member}
