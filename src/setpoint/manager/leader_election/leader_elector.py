"""The elector: one candidate of a leader election.

Only local clocks count: a lease is free when its record has not changed for the lease's duration *since this process
first saw this record*. Clocks may differ, but they must run at the same rate.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import Random
from typing import Final

from setpoint.client import (
    AlreadyExists,
    ApiError,
    Client,
    Conflict,
    NotFound,
    TransportError,
)
from setpoint.concurrency import TaskScope
from setpoint.manager.leader_election.config import LeaderElection
from setpoint.manager.leader_election.leadership import Leadership, LeadershipLost
from setpoint.meta import MicroTime
from setpoint.models.coordination_v1 import Lease, LeaseSpec

logger = logging.getLogger("setpoint.leader")
STEP_DOWN: Final = "election.setpoint.io/step-down"
"""The annotation of a Lease by which users ask its holder to step down, whatever its value. A new holder removes it."""


class LeaderElector(Leadership):
    """One candidate.

    *Guarantees*

    - At most one candidate believes that it leads at any time, as long as clocks run at the same rate and a leader's
      work ends when `renew` raises. `may_act` is stricter: it is False from the moment at which others may take over,
      even in a process that was suspended and does not know yet.
    - A leader that is cancelled releases its lease (unless ``release_on_cancel`` is false), so the next leader takes
      over within a retry period.

    *Caveats*: there is no fencing token. A request that was sent before the lease expired may arrive afterwards.
    """

    def __init__(
        self,
        client: Client,
        election: LeaderElection,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
        on_new_leader: Callable[[str], None] | None = None,
        on_step_down: Callable[[], None] | None = None,
    ) -> None:
        """``on_step_down`` is called after each renewal while the Lease has the annotation `STEP_DOWN`, but never with
        ``lost_lease="exit"``.
        """
        self.election = election
        self.rejoins = election.lost_lease == "standby"
        self.rest = election.lease_duration
        self._client = client
        self._now = now
        self._random = random or Random()
        self._on_new_leader = on_new_leader
        self._on_step_down = on_step_down if self.rejoins else None
        self._observed: Lease | None = None
        self._observed_spec: LeaseSpec | None = None
        self._observed_at = 0.0
        self._reported = ""
        self._renewed_at = float("-inf")
        self._last_problem = ""
        """The error of the last attempt to get or renew the lease; ``""`` if there was none."""

    @property
    def leader(self) -> str:
        """The identity of the last known leader; ``""`` if there is none."""
        spec = self._observed_spec
        return (spec.holder_identity or "") if spec is not None else ""

    @property
    def lease(self) -> Lease | None:
        """The last observed record of the Lease; None if there is none yet."""
        return self._observed

    @property
    def is_leader(self) -> bool:
        """Whether the last known record names this candidate."""
        return self.leader == self.election.identity

    @property
    def identity(self) -> str:
        """The identity of this candidate."""
        return self.election.identity

    @property
    def release_on_cancel(self) -> bool:
        return self.election.release_on_cancel

    @property
    def grace(self) -> float:
        """The number of seconds from the renew deadline to the end of the lease."""
        return self.election.lease_duration - self.election.renew_deadline

    @property
    def until(self) -> float:
        """The loop time at which other candidates may take the lease; ``-inf`` if this candidate does not lead."""
        return self._renewed_at + self.election.lease_duration if self.is_leader else float("-inf")

    def check(self, tolerance: float) -> str:
        """The reason why the health check fails, or ``""``. The check fails if this candidate is the recorded leader,
        but its lease expired more than ``tolerance`` seconds ago.
        """
        if not self.is_leader or self._renewed_at == float("-inf"):
            return ""
        age = asyncio.get_running_loop().time() - self._renewed_at
        if age <= self.election.lease_duration + tolerance:
            return ""
        return f"failed to renew the lease for {age:.0f} s"

    async def acquire(self) -> None:
        """Waits until this candidate leads. It does not lead meanwhile, even if the Lease still names it."""
        self._renewed_at = float("-inf")
        while not await self._try():  # noqa: ASYNC110 - the awaited change happens in another process
            await asyncio.sleep(self._pause())
        logger.info("became leader", extra={"fields": self._fields()})

    def _pause(self) -> float:
        """The number of seconds until the next attempt to acquire: a retry period minus some jitter (client-go adds
        jitter, up to 2.2 periods), or less if the lease expires before that. So the leader's last renewal is seen
        within one period, and a dead leader is replaced one lease duration after that.
        """
        period = self.election.retry_period
        pause = period * (0.7 + self._random.random() / 5)
        spec = self._observed_spec
        if spec is not None and self.leader:
            runs_out = self._observed_at + (spec.lease_duration_seconds or 0) - asyncio.get_running_loop().time()
            if runs_out > 0:
                pause = min(pause, runs_out + self._random.random() * period / 10)
        return pause

    async def renew(self) -> None:
        """Keeps the lease until the call is cancelled.

        Raises:
            LeadershipLost: the lease could not be renewed for ``renew_deadline`` seconds, or another candidate has it.
        """
        loop = asyncio.get_running_loop()
        period = self.election.retry_period
        while True:
            await asyncio.sleep(period)
            # The deadline counts from the last successful renewal, so that a process that was
            # stopped finds out at once.
            deadline = self._renewed_at + self.election.renew_deadline
            while True:
                if loop.time() >= deadline:
                    why = f": {self._last_problem}" if self._last_problem else ""
                    raise LeadershipLost(
                        f"the lease {self._name} was not renewed in {self.election.renew_deadline:g} s{why}"
                    )
                if await self._try(until=deadline):
                    if self._on_step_down is not None and self._is_asked_to_step_down():
                        self._on_step_down()
                    break
                if not self.is_leader:
                    raise LeadershipLost(f"the lease {self._name} was taken by {self.leader or 'another candidate'}")
                await asyncio.sleep(min(period, max(deadline - loop.time(), 0.0)))

    def _is_asked_to_step_down(self) -> bool:
        return self._observed is not None and STEP_DOWN in self._observed.metadata.annotations

    async def release(self) -> None:
        """Releases the lease if this candidate holds it. Tries for at most ``renew_deadline`` seconds; server and
        connection errors are logged, not raised.
        """
        if not self.is_leader:
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.election.renew_deadline
        while self.is_leader and loop.time() < deadline:
            try:
                async with asyncio.timeout(self.election.request_timeout):
                    lease = await self._get()
                    self._observe(lease)
                    if not self.is_leader:
                        return
                    now = MicroTime.of(self._now())
                    lease.spec = self._spec(
                        holder="", duration=1, acquired=now, renewed=now, transitions=self._transitions()
                    )
                    self._observe(await self._client.update(lease))
                    logger.info("released the lease", extra={"fields": self._fields()})
                    return
            except Conflict:
                continue
            except (ApiError, TransportError, TimeoutError) as problem:
                logger.warning(
                    "could not release the lease", extra={"fields": {**self._fields(), "error": str(problem)}}
                )
                if isinstance(problem, NotFound):
                    return
                await asyncio.sleep(self.election.retry_period)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Waits to lead, then runs ``work()`` while this candidate leads. Returns when the work has returned.

        The work has always ended when this method returns or raises. If ``release_on_cancel`` is true, the lease has
        then been released, too, unless it was lost or the API server could not be reached.

        Raises:
            LeadershipLost: the work was cancelled because the lease was lost.
        """
        await self.acquire()
        renewing: asyncio.Task[None] | None = None
        try:
            async with TaskScope() as lease:
                renewing = lease.start(self.renew())
                try:
                    await self._work(work, renewing)
                except Exception as problem:
                    if not renewing.done() or (cause := renewing.exception()) is None:
                        raise
                    cause.add_note(f"and afterwards {type(problem).__name__}: {problem}")
        finally:
            if self.election.release_on_cancel and (renewing is None or renewing.cancelled()):
                await self.release()

    async def _work(self, work: Callable[[], Awaitable[None]], renewing: asyncio.Task[None]) -> None:
        async def working() -> None:
            await work()

        async with TaskScope() as scope:
            await asyncio.wait((scope.start(working()), renewing), return_when=asyncio.FIRST_COMPLETED)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    async def _try(self, *, until: float | None = None) -> bool:
        """Acquires or renews the lease; returns whether that succeeded."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + self.election.request_timeout
        try:
            async with asyncio.timeout_at(limit if until is None else min(limit, until)):
                holds_lease = await self._acquire_or_renew()
                self._last_problem = ""
                return holds_lease
        except TimeoutError:
            problem = "the API server did not answer in time"
        except (ApiError, TransportError) as error:
            problem = str(error)
        self._last_problem = problem
        logger.warning("could not write the lease", extra={"fields": {**self._fields(), "error": problem}})
        return False

    async def _acquire_or_renew(self) -> bool:
        loop = asyncio.get_running_loop()
        # The lease's duration counts from before the request was sent.
        requested_at = loop.time()
        if self.is_leader:
            assert self._observed is not None
            try:
                await self._write(self._observed, requested_at)
            except (ApiError, TransportError) as problem:
                logger.debug("optimistic renewal failed", extra={"fields": {**self._fields(), "error": str(problem)}})
            else:
                return True
        try:
            lease = await self._get()
        except NotFound:
            now = MicroTime.of(self._now())
            fresh = Lease.named(
                self.election.name,
                self.election.namespace,
                self.election.labels,
                spec=self._spec(
                    holder=self.election.identity,
                    duration=math.ceil(self.election.lease_duration),
                    acquired=now,
                    renewed=now,
                    transitions=0,
                ),
            )
            requested_at = loop.time()
            try:
                self._observe(await self._client.create(fresh))
            except AlreadyExists:
                return False
            self._renewed_at = requested_at
            return True
        self._observe(lease)
        if self.leader and not self.is_leader and self._valid(loop.time()):
            return False
        requested_at = loop.time()
        try:
            await self._write(lease, requested_at)
        except Conflict:
            return False
        return True

    async def _get(self) -> Lease:
        return await self._client.get(Lease, self.election.name, namespace=self.election.namespace)

    async def _write(self, lease: Lease, requested_at: float) -> None:
        """Writes this candidate as the holder into the given version of the lease."""
        now = MicroTime.of(self._now())
        mine = self.is_leader
        old = lease.spec
        wanted = _copy(lease)
        wanted.spec = self._spec(
            holder=self.election.identity,
            duration=math.ceil(self.election.lease_duration),
            acquired=(old.acquire_time if old is not None and mine else None) or now,
            renewed=now,
            transitions=self._transitions() + (0 if mine else 1),
        )
        wanted.metadata.labels.update(self.election.labels)
        if not mine:
            wanted.metadata.annotations.pop(STEP_DOWN, None)
        self._observe(await self._client.update(wanted))
        self._renewed_at = requested_at

    def _spec(
        self, *, holder: str, duration: int, acquired: MicroTime, renewed: MicroTime, transitions: int
    ) -> LeaseSpec:
        return LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=duration,
            acquire_time=acquired,
            renew_time=renewed,
            lease_transitions=transitions,
        )

    def _transitions(self) -> int:
        spec = self._observed_spec
        return (spec.lease_transitions or 0) if spec is not None else 0

    def _valid(self, now: float) -> bool:
        """Whether the record is younger than its own duration, according to the local clock."""
        spec = self._observed_spec
        duration = (spec.lease_duration_seconds or 0) if spec is not None else 0
        return self._observed_at + duration > now

    def _observe(self, lease: Lease) -> None:
        """Stores the record; its age is set to zero only if the record has changed."""
        spec = lease.spec or LeaseSpec()
        if self._observed is None or spec != self._observed_spec:
            self._observed_spec = spec
            self._observed_at = asyncio.get_running_loop().time()
        self._observed = lease
        leader = self.leader
        if leader != self._reported:
            self._reported = leader
            if leader and self._on_new_leader is not None:
                self._on_new_leader(leader)

    @property
    def _name(self) -> str:
        return f"{self.election.namespace}/{self.election.name}"

    def _fields(self) -> dict[str, str]:
        return {"lease": self._name, "identity": self.election.identity, "leader": self.leader}


def _copy(lease: Lease) -> Lease:
    from setpoint.meta import decode, encode, raw_of

    raw = raw_of(lease)
    return decode(Lease, raw if raw is not None else encode(lease))
