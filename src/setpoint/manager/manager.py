"""Manager: the controllers of one process and everything that they need, started and stopped in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.concurrency import TaskScope, end, until
from setpoint.controller import BoundLogger, Controller, ProgramState, RunningController
from setpoint.controller.events import EventRecorder
from setpoint.manager.cluster import Host
from setpoint.manager.debugging import ControllersPage
from setpoint.manager.fence import FencedTransport
from setpoint.manager.fleet import ClusterHealth, Fleet
from setpoint.manager.group import Group, Runnable
from setpoint.manager.health import HealthChecks
from setpoint.manager.leader_election import LeaderElection, LeaderElector
from setpoint.manager.leader_shard import LeaderShard
from setpoint.manager.leadership import Leadership, LeadershipLost
from setpoint.manager.loop_watch import LoopWatch
from setpoint.manager.metrics import ProcessMetrics
from setpoint.manager.processes import ParentLease, Supervisor
from setpoint.manager.processes.merged import MergedMetrics, MergedPages
from setpoint.manager.profiling import Profiler
from setpoint.manager.servers import Pages, Servers
from setpoint.manager.shard_member import ShardMember
from setpoint.manager.sharding import Sharding

SHUTDOWN_TIMEOUT: Final = 30.0
"""Seconds for the whole stop by default, before the rest is cancelled."""
GroupName = Literal["servers", "caches", "others", "leader"]
Lifespan: TypeAlias = "Callable[[Manager], AbstractAsyncContextManager[Any]]"


class Manager:
    """Runs controllers, with caches, leader election, health, metrics and events.

    ```python
    async with Client.from_environment() as client:
        await Manager(client, controllers=[controller], metrics_bind_address=":8080").run()
    ```

    *Start*: servers, caches, others, then (when this process is elected) what only a leader may run. Caches begin to
    sync before the election, so a hand-over takes no longer than the lease. *Stop*, in reverse and within
    ``shutdown_timeout``: others, controllers (which finish the reconciles under way), caches, servers; then the lease
    is released and the last events are sent.

    *Guarantees*

    - A runnable that fails, or returns without a request to stop, ends the manager: `run` raises its error.
    - When the lease is lost, all work of the leader is cancelled at once, and `run` raises `LeadershipLost`. Work that
      does not end before others may take over is named in the log, with its stack, and left alone.
    - So is work that does not end during a stop, 10 s after its cancellation; the lease is not released then.
    - A new leader begins when its caches show the last one's writes, however late they are.
    - Two managers share nothing.

    Args:
        client: for everything. The manager doesn't close it.
        controllers: declarations; one that is not ``leader_only`` also runs without being elected.
        leader_election: None to run without. `setpoint.manager.processes.ParentLease` in a child process.
        sharding: share the keys of the controllers that are ``leader_only`` with other processes, instead of having
            one leader. Everything else runs in every process.
        metrics_bind_address: ``:8080`` for ``/metrics`` and ``/debug/controllers``; ``"0"`` is off.
        metrics_secure: serve those over TLS, and only to bearers of tokens whose user may ``get`` the path.
            Without it ``/debug`` answers programs of this machine, over the loopback and by its name, and such
            bearers; forwarded requests of a proxy don't count as this machine's.
        metrics_cert_dir: the folder of ``tls.crt`` and ``tls.key`` for that; new ones are loaded.
        health_probe_bind_address: ``:8081`` for ``/healthz`` and ``/readyz``; ``"0"`` is off.
        profiling: serve ``/debug/profile``, too: CPU, heap, tasks (`setpoint.manager.profiling`).
        blocked_after: seconds after which the event loop counts as blocked, as by ``time.sleep`` in a reconcile: then a
            thread reports which key blocks it, and where (`setpoint.manager.loop_watch`). None switches this off, as in
            virtual time; programs have 1.
        fleet: other clusters, and the controllers that run in each of them.
        processes: child processes that run the controllers instead of this one: they work while this one leads, and
            its servers show their metrics, health and debug pages.
        shutdown_timeout: seconds for the whole stop, before the rest is cancelled; None means for ever.
        namespace: limits all caches to one namespace, those of the fleet too.
        lifespan: what the program opens before anything is started and closes when everything has ended, such as an
            HTTP session: ``lifespan(manager)`` is an asynchronous context manager, and reconciles get the object that
            it yields by its class, as ``ctx.state(App)``. On entering it may `add` runnables, health checks, metrics.
            It is left in the same way however the manager ends.
        instance: names this process in events.

    Raises:
        ValueError: two controllers have one name, the fleet is in another manager, an address is not valid, there is
            both an election and sharding, or one of ``metrics_secure`` and ``metrics_cert_dir`` without the other, or
            profiling without a server.
    """

    def __init__(
        self,
        client: Client,
        *,
        controllers: Iterable[Controller[Any]] = (),
        leader_election: LeaderElection | ParentLease | None = None,
        sharding: Sharding | None = None,
        metrics_bind_address: str = "0",
        metrics_secure: bool = False,
        metrics_cert_dir: Path | None = None,
        health_probe_bind_address: str = "0",
        profiling: bool = False,
        blocked_after: float | None = None,
        fleet: Fleet | None = None,
        processes: Supervisor | None = None,
        shutdown_timeout: float | None = SHUTDOWN_TIMEOUT,
        namespace: str | None = None,
        lifespan: Lifespan | None = None,
        factory: InformerFactory | None = None,
        metrics: ProcessMetrics | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
        instance: str = "setpoint",
    ) -> None:
        self.client = client
        self.now = now
        self.random = random or Random()
        self.shutdown_timeout = shutdown_timeout
        self.state = ProgramState()
        """The object that the lifespan yields."""
        self._lifespan = lifespan
        self.metrics = metrics
        if metrics is None and metrics_bind_address not in ("", "0"):
            self.metrics = ProcessMetrics()
            self.metrics.add_process()
        if self.metrics is not None:
            self.metrics.add_client(client)
        self.elector: Leadership | None = None
        self.shards: ShardMember | None = None
        self._shard: ShardMember | LeaderShard | None = None
        if leader_election is not None:
            if sharding is not None:
                raise ValueError("a manager has leader_election or sharding, not both: with shards every process works")
            if isinstance(leader_election, ParentLease):
                self.elector = leader_election
                self._shard = LeaderShard(leader_election, leader_election.partition)
            else:
                self.elector = elector = LeaderElector(client, leader_election, now=now, random=self.random)
                if self.metrics is not None:
                    self.metrics.add_elector(elector)
                self._shard = LeaderShard(elector)
        elif sharding is not None:
            self._shard = self.shards = ShardMember(
                client, sharding, now=now, random=self.random, ready=self._caches_synced
            )
        self._leading_client = client
        if self._shard is not None:
            self._leading_client = client.over(FencedTransport(client.transport, self._shard))
        self.factory = factory or InformerFactory(
            client,
            namespace=namespace,
            random=self.random,
            metrics=self.metrics.informers if self.metrics is not None else None,
        )
        self.recorder = EventRecorder(client, now=now, random=self.random, instance=instance)
        self.healthz = HealthChecks("healthz")
        self.readyz = HealthChecks("readyz")
        self.controllers: dict[str, RunningController[Any]] = {}
        self.log = BoundLogger(logging.getLogger("setpoint.manager"))
        self.started = asyncio.Event()
        """Set when everything that does not need election has been started."""
        self.elected = asyncio.Event()
        """Set when this process leads, or at the start if there is no election."""
        self._ended: BaseException | None = None
        self._end = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._lost: LeadershipLost | None = None
        self._body: asyncio.Task[Any] | None = None
        self._aborted = False
        self._state = "new"
        self._groups: dict[GroupName, Group] = {
            name: Group(name, self._on_end) for name in ("servers", "caches", "others", "leader")
        }
        self.fleet = fleet
        self._processes = processes
        self._groups["caches"].add(_Caches(self.factory))
        if self.shards is not None:
            self._groups["caches"].add(self.shards)  # it ends when the controllers have
            self.readyz.add("sharding", self.shards.problem)
        self._groups["others"].add(self.recorder)
        self.pages = self._pages(processes)
        """This manager's pages; those of its processes, if it has any."""
        servers = Servers(
            client,
            pages=self.pages,
            metrics_bind_address=metrics_bind_address,
            metrics_secure=metrics_secure,
            metrics_cert_dir=metrics_cert_dir,
            health_probe_bind_address=health_probe_bind_address,
            health=(self.healthz, self.readyz),
            profiles=profiling,
        )
        self.metrics_server, self.health_server = servers.metrics, servers.health
        for server in servers.all():
            self._groups["servers"].add(server)
        if blocked_after is not None:
            registry = self.metrics.registry if self.metrics is not None else None
            watch = LoopWatch(blocked_after, self._work_of, registry=registry)
            self.readyz.add("event-loop", watch.problem)
            self._groups["servers"].add(watch)
        if self.elector is not None:
            leadership = self.elector
            self.healthz.add("leader-election", lambda: leadership.check(20.0))
        if processes is not None:
            self._supervise(processes)
        for controller in controllers:
            self.add(controller)
        if fleet is not None:
            host = Host(now, self.random, instance, namespace, self.metrics, self._shard, self.state)
            caches, others, leaders = fleet.attach(host, client)
            self._groups["caches"].add(caches)
            self._groups["others"].add(others)
            self._groups["leader"].add(leaders)
            fleet.listen(ClusterHealth(self.readyz))
            if self.metrics is not None:
                self.metrics.add_fleet(fleet)

    def _pages(self, processes: Supervisor | None) -> Pages:
        if processes is None:
            own = self.metrics.answer if self.metrics is not None else None
            return Pages(own, ControllersPage(self._runs).answer, Profiler().answer)
        merged = MergedPages(processes)
        metrics = MergedMetrics(self.metrics.registry, processes).answer if self.metrics is not None else None
        return Pages(metrics, merged.controllers, merged.profile)

    def _supervise(self, processes: Supervisor) -> None:
        if self.elector is not None:
            processes.follow(self.elector)
        for name, check in processes.checks(ready=True).items():
            self.readyz.add(name, check)
        for name, check in processes.checks(ready=False).items():
            self.healthz.add(name, check)
        self._groups["others"].add(processes)
        self._groups["leader"].add(processes.leading)

    def _runs(self) -> dict[str, RunningController[Any]]:
        return self.controllers if self.fleet is None else {**self.controllers, **self.fleet.runs()}

    def add(
        self,
        runnable: Controller[Any] | Runnable,
        *,
        group: GroupName | None = None,
        may_end: bool = False,
    ) -> None:
        """Adds a controller, or anything with ``async def run(self)``; after the start it is started at once.

        Without a ``group``, the runnable's attribute ``group`` decides, else its ``leader_only`` (True by
        default) does.

        Raises:
            RuntimeError: the manager is stopping.
            ValueError: a controller of that name exists.
        """
        if isinstance(runnable, Controller):
            leading = runnable.leader_only
            if runnable.name in self.controllers:
                raise ValueError(
                    f"there are two controllers named {runnable.name!r}: give one of them another name=, "
                    "since the name tells them apart in metrics, logs and field managers"
                )
            running = runnable.bind(
                self._leading_client if leading else self.client,
                self.factory,
                now=self.now,
                random=self.random,
                recorder=self.recorder,
                metrics=self.metrics.controllers if self.metrics is not None else None,
                queue_metrics=self.metrics.queues if self.metrics is not None else None,
                shard=self._shard if leading else None,
                state=self.state,
            )
            self.controllers[runnable.name] = running
            self.readyz.add(f"controller-{runnable.name}", self._readiness(running))
            if self._state == "running":
                running.prepare()
            place: GroupName = "leader" if leading else "others"
            self._groups[group or place].add(running)
            return
        by_itself: GroupName = "leader" if getattr(runnable, "leader_only", True) else "others"
        said: GroupName | None = getattr(runnable, "group", None)
        self._groups[group or said or by_itself].add(runnable, may_end=may_end)

    # -- life
    # cycle------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Runs until `stop`, until it is cancelled, or until a runnable fails; then stops everything in order.

        Raises:
            LeadershipLost: the lease was lost.
            RuntimeError: the manager was run before.
            Exception: the error of a runnable.
        """
        if self._state != "new":
            raise RuntimeError("a manager runs once; create another one")
        self._state = "running"
        try:
            async with self._open():
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
        if self._lost is not None:
            if hanging := ", ".join(self._hanging()):
                self._lost = LeadershipLost(f"{self._lost}; cancelled work that does not end: {hanging}")
            raise self._noted(self._lost)
        if self._ended is not None:
            raise self._ended

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        """Enters the lifespan, whose object is then available to reconciles."""
        if self._lifespan is None:
            yield
            return
        lifespan = self._lifespan(self)
        self.state.open(await lifespan.__aenter__())
        try:
            yield
        except BaseException as problem:
            # A stop by a signal is a cancellation. It is not a failure of the lifespan, which ends as usual.
            try:
                await self._close(lifespan)
            except Exception as other:  # noqa: BLE001 - the first failure is the one to raise
                problem.add_note(f"then also: {type(other).__name__}: {other}")
            raise
        await self._close(lifespan)

    async def _close(self, lifespan: AbstractAsyncContextManager[Any]) -> None:
        self.state.close()
        await lifespan.__aexit__(None, None, None)

    def stop(self) -> None:
        """Requests `run` to stop everything and return."""
        self._end.set()

    async def __aenter__(self) -> Self:
        """Runs in the background; waits until everything that does not need election has been started.

        When `run` fails meanwhile, the body of the block is cancelled, and leaving it raises the error of `run`.
        """
        body = asyncio.current_task()
        assert body is not None
        running = self._running = asyncio.get_running_loop().create_task(self.run(), name="manager")
        try:
            await until(self.started, running)
        except BaseException:
            await end([running])  # leaving the block would not
            raise
        if running.done():
            running.result()

        def ended(task: asyncio.Task[None]) -> None:
            if self._body is not None and (task.cancelled() or task.exception() is not None):
                self._aborted = self._body.cancel()

        self._body = body
        running.add_done_callback(ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._running is not None
        assert self._body is not None
        body, self._body = self._body, None
        if self._aborted:
            body.uncancel()
        self.stop()
        await self._running

    async def _live(self, lease: TaskScope) -> None:
        """Starts everything, and waits until the manager has to stop. Raises the error of a failed start.

        Keeps the lease in a task of the scope ``lease``, which outlives this.
        """
        async with TaskScope() as scope:
            ending = scope.start(self._end.wait())
            starting = scope.start(self._start())
            await scope.first()
            if ending.done():
                return
            starting.result()
            beside: set[asyncio.Task[Any]] = {ending}
            if self.elector is not None:
                self._renewing = lease.start(self._renew(self.elector))
                leading = scope.start(self._groups["leader"].start())
                beside.add(self._renewing)
                await asyncio.wait((*beside, leading), return_when=asyncio.FIRST_COMPLETED)
                if leading.done():
                    leading.result()
            await asyncio.wait(beside, return_when=asyncio.FIRST_COMPLETED)

    async def _renew(self, elector: Leadership) -> None:
        """Waits until the lease is lost."""
        try:
            await elector.renew()
        except LeadershipLost as problem:
            self._lost = problem

    async def _start(self) -> None:
        """Starts everything that does not need election; without an election, everything."""
        await self._groups["servers"].start()
        for running in self.controllers.values():
            running.prepare()
        await self._groups["caches"].start()
        await self._groups["others"].start()
        self.started.set()
        if self.elector is not None:
            await self.elector.acquire()
            self._tell_of_lease("became leader")
        else:
            await self._groups["leader"].start()
        self.elected.set()

    async def _stop(self) -> None:
        self._state = "stopping"
        loop = asyncio.get_running_loop()
        deadline = None if self.shutdown_timeout is None else loop.time() + self.shutdown_timeout
        clean = True
        try:
            if self._lost is not None:
                await self._groups["leader"].cancel(within=self._lost_within)
            for name in ("others", "leader", "caches", "servers"):
                group: GroupName = name
                stop = self._stop_leading if group == "leader" else self._groups[group].stop
                clean = await stop(deadline) and clean
        finally:
            for group_left in self._groups.values():
                await group_left.cancel()
            if not clean:
                late = ", ".join(name for each in self._groups.values() for name in each.late)
                self.log.warning("some runnables did not end in time and were cancelled", extra={"what": late})

    async def _stop_leading(self, deadline: float | None) -> bool:
        """Lets the leader's work end, while this process still leads."""
        group, renewing = self._groups["leader"], self._renewing
        if renewing is None or renewing.done():
            return await group.stop(deadline)
        async with TaskScope() as scope:
            stopping = scope.start(group.stop(deadline, within=self._lost_within))
            await asyncio.wait((stopping, renewing), return_when=asyncio.FIRST_COMPLETED)
        return not stopping.cancelled() and stopping.result()

    async def _leave(self) -> None:
        """Releases the lease or the shard, after everything that relies on it has ended."""
        lost, hanging = self._lost is not None, self._hanging()
        if self.elector is not None and not lost and not hanging and self.elector.release_on_cancel:
            if self.elector.is_leader:
                self._tell_of_lease("stopped leading")
            await self.elector.release()
        if self.shards is not None and not hanging:
            await self.shards.release()
        if not lost:
            await self.recorder.flush()
        self._state = "stopped"

    @property
    def _lost_within(self) -> float:
        """Seconds between the loss of the lease and the moment from which others may take over."""
        assert self.elector is not None
        return self.elector.grace

    def _hanging(self) -> list[str]:
        """The names of tasks that do not end although they were cancelled."""
        return [name for group in self._groups.values() for name in group.hanging]

    def _work_of(self, task: asyncio.Task[Any]) -> str:
        """The work of a task: controller and key if it is a worker, otherwise its name. Callable in any thread."""
        for run in list(self._runs().values()):
            if (key := run.loop.at_work.get(task)) is not None:
                return f"{run.name} {key}"
        return task.get_name()

    def under_way(self) -> list[str]:
        """The running reconciles: controller, key, and for how long."""
        own = [f"{run.name} {each}" for run in self._runs().values() for each in run.under_way()]
        return own if self._processes is None else own + self._processes.under_way()

    def _noted(self, problem: Exception) -> Exception:
        """``problem``, with notes of the other errors."""
        if self._ended is not None and self._ended is not problem:
            problem.add_note(f"then also: {type(self._ended).__name__}: {self._ended}")
        return problem

    def _tell_of_lease(self, what: str) -> None:
        """Reports an event about the Lease, as client-go's elections do."""
        assert self.elector is not None
        lease, identity = self.elector.lease, self.elector.identity
        if lease is not None:
            self.recorder.event(lease, "Normal", "LeaderElection", f"{identity} {what}")

    def _on_end(self, problem: BaseException) -> None:
        """Ends the manager after a runnable has failed, or returned without a request."""
        if self._ended is None:
            self._ended = problem
        else:
            self._ended.add_note(f"then also: {type(problem).__name__}: {problem}")
        self._end.set()

    async def _caches_synced(self) -> None:
        """Joins the shards only when the process can work on its share of the keys."""
        for running in self.controllers.values():
            for informer in running.informers.values():
                await informer.wait_synced()

    def _readiness(self, running: RunningController[Any]) -> Callable[[], str]:
        def check() -> str:
            if running.controller.leader_only and self.elector is not None and not self.elected.is_set():
                return ""  # a standby is ready to take over
            return running.readiness()

        return check


class _Caches:
    """The informers of a factory."""

    def __init__(self, factory: InformerFactory) -> None:
        self.name = "caches"
        self.ready = asyncio.Event()
        self._factory = factory

    async def run(self) -> None:
        async with self._factory:
            self.ready.set()
            await asyncio.Event().wait()
