"""Lifecycle: the order in which a manager's groups start and stop, with or without an election."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

from setpoint.concurrency import TaskScope, end
from setpoint.controller import BoundLogger
from setpoint.controller.events import EventRecorder
from setpoint.manager.leader_election.leadership import Leadership, LeadershipLost
from setpoint.manager.runnable_group import Group, Runnable
from setpoint.manager.sharding.shard_member import ShardMember

GroupName = Literal["servers", "caches", "others", "leader"]


class Lifecycle:
    """Starts servers, caches, other runnables and finally the leader's runnables. Stops the other runnables first, and
    then the leader's, the caches and the servers.

    ``prepare`` is called before the caches start, so that controllers can ask for the caches that they need.
    """

    def __init__(
        self,
        *,
        elector: Leadership | None,
        shards: ShardMember | None,
        recorder: EventRecorder,
        shutdown_timeout: float | None,
        prepare: Callable[[], None],
        again: Callable[[Runnable], Runnable | None],
    ) -> None:
        self.state = "new"
        self.started = asyncio.Event()
        self.elected = asyncio.Event()
        self._groups: dict[GroupName, Group] = {
            name: Group(name, self._on_end) for name in ("servers", "caches", "others", "leader")
        }
        self._elector = elector
        self._shards = shards
        self._recorder = recorder
        self._shutdown_timeout = shutdown_timeout
        self._prepare = prepare
        self._again = again
        self._leading: list[tuple[Runnable, bool]] = []
        """The runnables of the leader, and whether they may end by themselves."""
        self._stepping_down = asyncio.Event()
        self._log = BoundLogger(logging.getLogger("setpoint.manager"))
        self._ended: BaseException | None = None
        self._end = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None
        self._leadership_lost: LeadershipLost | None = None

    def add(self, group: GroupName, *runnables: Runnable, may_end: bool = False) -> None:
        """Adds runnables to a group; see `Group.add`."""
        for runnable in runnables:
            self._groups[group].add(runnable, may_end=may_end)
            if group == "leader":
                self._leading.append((runnable, may_end))

    def stop(self) -> None:
        """Asks `run` to stop everything and return."""
        self._end.set()

    def step_down(self) -> None:
        """Asks this process to release the lease and to become a standby. Without the lease this does nothing.

        Raises:
            RuntimeError: there is no election in which this process may take part again.
        """
        if self._elector is None or not self._elector.rejoins:
            raise RuntimeError(
                "only a manager with LeaderElection(lost_lease='standby') can step down and become a candidate again"
            )
        if self.elected.is_set():
            self._stepping_down.set()

    async def run(self, opened: AbstractAsyncContextManager[None]) -> None:
        """Runs within ``opened`` until `stop` is called, the call is cancelled, or a runnable fails.

        Raises:
            LeadershipLost: the lease was lost.
            RuntimeError: the lifecycle was run before.
            Exception: the error of a runnable.
        """
        if self.state != "new":
            raise RuntimeError("this manager has been run before: create a new one for each run")
        self.state = "running"
        try:
            async with opened:
                try:
                    async with TaskScope() as lease:
                        try:
                            await self._live(lease)
                        finally:
                            await self._stop()
                finally:
                    await self._leave()
        except Exception as problem:
            self._noted(problem)
            raise
        if self._leadership_lost is not None:
            if hanging := ", ".join(self._hanging()):
                self._leadership_lost = LeadershipLost(
                    f"{self._leadership_lost}; cancelled work that does not end: {hanging}"
                )
            raise self._noted(self._leadership_lost)
        if self._ended is not None:
            raise self._ended

    async def _live(self, lease: TaskScope) -> None:
        """Starts everything, and waits until the manager has to stop. Raises the error of a failed start.

        Renews the lease in a task of the scope ``lease``, which outlives this call.
        """
        async with TaskScope() as scope:
            ending = scope.start(self._end.wait())
            starting = scope.start(self._start())
            await scope.first()
            if ending.done():
                return
            starting.result()
            while self._elector is not None:
                renewing = self._renewing = lease.start(self._renew(self._elector))
                leading = scope.start(self._groups["leader"].start())
                beside = (ending, renewing, scope.start(self._stepping_down.wait()))
                await asyncio.wait((*beside, leading), return_when=asyncio.FIRST_COMPLETED)
                if leading.done():
                    leading.result()
                await asyncio.wait(beside, return_when=asyncio.FIRST_COMPLETED)
                if ending.done() or not self._elector.rejoins or not await self._become_standby(self._elector):
                    return
                acquiring = scope.start(self._acquire(self._elector))
                await asyncio.wait((ending, acquiring), return_when=asyncio.FIRST_COMPLETED)
                if ending.done():
                    return
                acquiring.result()
            await asyncio.wait((ending,))

    async def _become_standby(self, elector: Leadership) -> bool:
        """Ends the leader's work, with everything that it remembers, and prepares fresh runs. Returns False if that is
        not possible, because work does not end or has failed; the manager then has to stop.
        """
        group = self._groups["leader"]
        self.elected.clear()
        if self._leadership_lost is None:
            loop = asyncio.get_running_loop()
            limit = self._shutdown_timeout
            await self._stop_leading(None if limit is None else loop.time() + limit)
        await group.cancel(within=self._lost_within)
        if self._end.is_set():
            return False
        fresh = [] if group.hanging else [(self._again(runnable), may_end) for runnable, may_end in self._leading]
        if group.hanging or any(runnable is None for runnable, _ in fresh):
            self._leadership_lost = self._leadership_lost or LeadershipLost(
                "the process was asked to step down, but its work does not end"
            )
            return False
        if self._leadership_lost is None and self._renewing is not None:
            await end((self._renewing,))
            self._record_lease_event("stopped leading")
            await elector.release()
        self._log.warning(
            "standby again",
            extra={"reason": "asked to step down" if self._leadership_lost is None else str(self._leadership_lost)},
        )
        self._leadership_lost = None
        self._groups["leader"] = Group("leader", self._on_end)
        self._leading = []
        for runnable, may_end in fresh:
            if runnable is not None:
                self.add("leader", runnable, may_end=may_end)
        self._prepare()
        return True

    async def _acquire(self, elector: Leadership) -> None:
        """Waits until this process leads again."""
        if self._stepping_down.is_set():
            await asyncio.sleep(elector.rest)
            self._stepping_down.clear()
        await elector.acquire()
        self._record_lease_event("became leader")
        self.elected.set()

    async def _renew(self, elector: Leadership) -> None:
        """Waits until the lease is lost."""
        try:
            await elector.renew()
        except LeadershipLost as problem:
            self._leadership_lost = problem

    async def _start(self) -> None:
        """Starts every group that does not need an election; without an election, every group."""
        await self._groups["servers"].start()
        self._prepare()
        await self._groups["caches"].start()
        await self._groups["others"].start()
        self.started.set()
        if self._elector is not None:
            await self._elector.acquire()
            self._record_lease_event("became leader")
        else:
            await self._groups["leader"].start()
        self.elected.set()

    async def _stop(self) -> None:
        self.state = "stopping"
        loop = asyncio.get_running_loop()
        deadline = None if self._shutdown_timeout is None else loop.time() + self._shutdown_timeout
        clean = True
        try:
            if self._leadership_lost is not None:
                await self._groups["leader"].cancel(within=self._lost_within)
            for name in ("others", "leader", "caches", "servers"):
                group: GroupName = name
                stop = self._stop_leading if group == "leader" else self._groups[group].stop
                clean = await stop(deadline) and clean
        finally:
            for group_left in self._groups.values():
                await group_left.cancel()
            if not clean:
                late = ", ".join(name for group in self._groups.values() for name in group.late)
                self._log.warning("some runnables did not end in time and were cancelled", extra={"what": late})

    async def _stop_leading(self, deadline: float | None) -> bool:
        """Stops the leader's work while this process still leads; returns whether all work ended in time."""
        group, renewing = self._groups["leader"], self._renewing
        if renewing is None or renewing.done():
            return await group.stop(deadline)
        async with TaskScope() as scope:
            stopping = scope.start(group.stop(deadline, within=self._lost_within))
            await asyncio.wait((stopping, renewing), return_when=asyncio.FIRST_COMPLETED)
        return not stopping.cancelled() and stopping.result()

    async def _leave(self) -> None:
        """Releases the lease or the shard after all work that relies on it has ended."""
        has_lost_lease, hanging = self._leadership_lost is not None, self._hanging()
        if self._elector is not None and not has_lost_lease and not hanging and self._elector.release_on_cancel:
            if self._elector.is_leader:
                self._record_lease_event("stopped leading")
            await self._elector.release()
        if self._shards is not None and not hanging:
            await self._shards.release()
        if not has_lost_lease:
            await self._recorder.flush()
        self.state = "stopped"

    @property
    def _lost_within(self) -> float:
        """The number of seconds between the loss of the lease and the moment from which others may take over."""
        assert self._elector is not None
        return self._elector.grace

    def _hanging(self) -> list[str]:
        """The names of tasks that have not ended although they were cancelled."""
        return [name for group in self._groups.values() for name in group.hanging]

    def _noted(self, problem: Exception) -> Exception:
        """``problem``, with the other errors added as notes."""
        if self._ended is not None and self._ended is not problem:
            problem.add_note(f"and afterwards {type(self._ended).__name__}: {self._ended}")
        return problem

    def _record_lease_event(self, change: str) -> None:
        """Reports an event about the Lease, as client-go's leader election does."""
        assert self._elector is not None
        lease, identity = self._elector.lease, self._elector.identity
        if lease is not None:
            self._recorder.event(lease, "Normal", "LeaderElection", f"{identity} {change}")

    def _on_end(self, problem: BaseException) -> None:
        """Ends the manager after a runnable has failed or has returned without a request to stop."""
        if self._ended is None:
            self._ended = problem
        else:
            self._ended.add_note(f"and afterwards {type(problem).__name__}: {problem}")
        self._end.set()
