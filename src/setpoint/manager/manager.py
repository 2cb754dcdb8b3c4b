"""Manager: the controllers of one process and everything that they need, started and stopped in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias

from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.concurrency import end, until
from setpoint.controller import Controller, RunningController
from setpoint.controller.context import current
from setpoint.controller.environment import Process, Shard
from setpoint.controller.events import EventRecorder
from setpoint.manager.debug_pages.controllers_page import ControllersPage
from setpoint.manager.debug_pages.manager_page import ManagerPage, ObjectsPage
from setpoint.manager.debug_pages.profiling import Profiler
from setpoint.manager.debug_pages.yaml_page import DocumentsPage
from setpoint.manager.fleet.fleet import ClusterHealth, Fleet, FleetWork
from setpoint.manager.fleet.fleet_cluster import Host
from setpoint.manager.health_checks import HealthChecks
from setpoint.manager.leader_election.config import LeaderElection
from setpoint.manager.leader_election.leader_elector import LeaderElector
from setpoint.manager.leader_election.leadership import Leadership
from setpoint.manager.lifecycle import GroupName, Lifecycle
from setpoint.manager.lifespan import opened
from setpoint.manager.loop_watchdog import LoopWatch
from setpoint.manager.options import Browser, ManagerOptions, Serving
from setpoint.manager.pause_switch import PauseSwitch
from setpoint.manager.processes import ParentLease, Supervisor
from setpoint.manager.processes.merged_pages import MergedMetrics, MergedPages
from setpoint.manager.runnable_group import Runnable
from setpoint.manager.servers import Pages, Servers
from setpoint.manager.sharding.config import Sharding
from setpoint.manager.sharding.shard_member import ShardMember
from setpoint.manager.write_fence import FencedTransport

Lifespan: TypeAlias = "Callable[[Manager], AbstractAsyncContextManager[Any]]"


class Manager:
    """Runs controllers, with caches, leader election, health, metrics and events.

    ```python
    async with Client.from_environment() as client:
        await Manager(client, controllers=[controller], serving=Serving(metrics_bind_address=":8080")).run()
    ```

    *Start*: servers, caches, other runnables and then, when this process is elected, those that only a leader may run.
    Caches begin to sync before the election, so a hand-over takes no longer than the lease. *Stop*, within the
    options' ``shutdown_timeout``: first other runnables, then those of the leader, caches, servers. Controllers finish
    the reconciles under way. In the end, the lease is released and the last events are sent.

    *Guarantees*

    - A runnable that fails, or returns without a request to stop, ends the manager: `run` raises its error.
    - When the lease is lost, all work of the leader is cancelled at once, and `run` raises `LeadershipLost`. Work that
      does not end before others may take over is logged with its stack and abandoned.
    - With ``LeaderElection(lost_lease="standby")`` the process goes on as a standby instead, if all work has ended: the
      controllers' runs, with their queues, memories and caches, are replaced by fresh ones (in every cluster of a
      fleet), and the ``run`` of other runnables of the leader is called again for the next term. If any work does not
      end, `run` raises. Child processes end, or are killed, and fresh ones take their places.
    - Work that does not end within 10 s after its cancellation in a stop is abandoned in the same way; the lease is not
      released in that case.
    - A new leader starts no reconcile until its caches show the writes of the last leader, however long that takes.
    - Two managers share no state.

    Args:
        client: client for all requests. The manager does not close it.
        controllers: declarations; a controller that is not ``leader_only`` runs without an election, too.
            Or the child processes that run the controllers instead of this process: they work while this process leads,
            and this process's servers show their metrics, health and debug pages.
        leader_election: None to run without an election; a `setpoint.manager.processes.ParentLease` in a child process.
        sharding: configuration for sharing the keys of ``leader_only`` controllers with other processes, instead of a
            single leader. Everything else runs in every process.
        fleet: other clusters, and the controllers that run in all of them.
        serving: the servers for metrics, debug pages and health; none by default.
        options: the clock, the random numbers, the name for events, the time for a stop.
        namespace: the only namespace of all caches, including those of the fleet.
        lifespan: function that opens an object, such as an HTTP session, before anything is started, and closes it when
            everything has ended. ``lifespan(manager)`` returns an asynchronous context manager, and reconciles get the
            object that it yields by the object's class, as ``ctx.state(App)``. When it is entered, it may `add`
            runnables, health checks and metrics. It is left in the same way however the manager ends.

    Raises:
        ValueError: two controllers have the same name, the fleet is in another manager, or there is both an election
            and sharding.
    """

    def __init__(
        self,
        client: Client,
        *,
        controllers: Iterable[Controller[Any]] | Supervisor = (),
        leader_election: LeaderElection | ParentLease | None = None,
        sharding: Sharding | None = None,
        serving: Serving | None = None,
        options: ManagerOptions | None = None,
        fleet: Fleet | None = None,
        lifespan: Lifespan | None = None,
        namespace: str | None = None,
    ) -> None:
        serving, options = serving or Serving(), options or ManagerOptions()
        self.client = client
        self.options = options
        metrics = self.metrics = serving.collected()
        if metrics is not None:
            metrics.add_client(client)
        self.elector: Leadership | None = None
        self.shards: ShardMember | None = None
        self._join(leader_election, sharding)
        self._shard: Shard | None = self.elector or self.shards
        self._leading_client = client
        if self._shard is not None:
            self._leading_client = client.over(FencedTransport(client.transport, self._shard))
        self.factory = InformerFactory(
            client,
            namespace=namespace,
            random=options.random,
            watch_options=options.watch_options,
            metrics=self.metrics.informers if self.metrics is not None else None,
        )
        switch = None
        if options.pause_switch is not None:
            switch = PauseSwitch(self.factory, options.pause_switch, client.namespace)
        self._process = Process(
            now=options.now,
            random=options.random,
            metrics=metrics.controllers if metrics is not None else None,
            paused=switch,
            resync=options.resync,
        )
        self.state = self._process.state
        """The holder of the object that the lifespan yields."""
        self.recorder = EventRecorder(client, now=options.now, random=options.random, instance=options.instance)
        self.healthz = HealthChecks("healthz")
        self.readyz = HealthChecks("readyz")
        self.controllers: dict[str, RunningController[Any]] = {}
        self.fleet = fleet
        processes = self._processes = controllers if isinstance(controllers, Supervisor) else None
        self._lifespan = lifespan
        self._running: asyncio.Task[None] | None = None
        self._body: asyncio.Task[Any] | None = None
        self._aborted = False
        self._life = Lifecycle(
            elector=self.elector,
            shards=self.shards,
            recorder=self.recorder,
            shutdown_timeout=options.shutdown_timeout,
            prepare=self._prepare,
            again=self._again,
        )
        self.started = self._life.started
        """Set when everything that does not need an election has been started."""
        self.elected = self._life.elected
        """Set when this process leads, or at the start if there is no election."""
        self._life.add("caches", _Caches(self.factory))
        if switch is not None:
            self._life.add("caches", switch)
        if self.shards is not None:
            self._life.add("caches", self.shards)  # it ends when the controllers have
            self.readyz.add("sharding", self.shards.problem)
        self._life.add("others", self.recorder)
        self.pages = self._pages(processes, serving.browser)
        """The pages of this manager, or those of its child processes if it has any."""
        servers = Servers(client, serving, pages=self.pages, health=(self.healthz, self.readyz))
        self.metrics_server, self.health_server = servers.metrics, servers.health
        self._life.add("servers", *servers.all())
        if options.blocked_after is not None:
            registry = self.metrics.registry if self.metrics is not None else None
            watch = LoopWatch(options.blocked_after, self._work_of, registry=registry)
            self.readyz.add("event-loop", watch.problem)
            self._life.add("servers", watch)
        if self.elector is not None:
            leadership = self.elector
            self.healthz.add("leader-election", lambda: leadership.check(20.0))
        if isinstance(controllers, Supervisor):
            self._supervise(controllers)
        else:
            for controller in controllers:
                self.add(controller)
        if fleet is not None:
            self._host(fleet, namespace)

    def _join(self, election: LeaderElection | ParentLease | None, sharding: Sharding | None) -> None:
        """Makes this process a member of the group of processes with which it shares its work, if there is one."""
        now, random = self.options.now, self.options.random
        if election is not None and sharding is not None:
            raise ValueError("a manager takes leader_election or sharding, not both: with shards every process works")
        if sharding is not None:
            self.shards = ShardMember(
                self.client,
                sharding,
                now=now,
                random=random,
                ready=self._caches_synced,
                controllers=lambda: [
                    name for name, running in self.controllers.items() if running.controller.leader_only
                ],
            )
        elif isinstance(election, ParentLease):
            self.elector = election
        elif election is not None:
            elector = self.elector = LeaderElector(
                self.client, election, now=now, random=random, on_step_down=lambda: self._life.step_down()
            )
            if self.metrics is not None:
                self.metrics.add_elector(elector)

    def _host(self, fleet: Fleet, namespace: str | None) -> None:
        host = Host(self._process, self.options.instance, namespace, self.metrics, self._shard)
        caches, others, leaders = fleet.attach(host, self.client)
        self._life.add("caches", caches)
        self._life.add("others", others)
        self._life.add("leader", leaders)
        fleet.listen(ClusterHealth(self.readyz))
        if self.metrics is not None:
            self.metrics.add_fleet(fleet)

    def _pages(self, processes: Supervisor | None, browser: Browser | None) -> Pages:
        manager = ManagerPage(
            self.options,
            elector=self.elector,
            shards=self.shards,
            healthz=self.healthz,
            readyz=self.readyz,
            is_cluster=browser is not None,
        ).answer
        more = browser.pages(self._runs) if browser is not None else {}
        if processes is None:
            own = self.metrics.answer if self.metrics is not None else None
            objects = ObjectsPage(self._runs)
            return Pages(
                metrics=own,
                controllers=ControllersPage(self._runs).answer,
                manager=manager,
                objects=objects.objects,
                details=objects.details(self.recorder),
                document=DocumentsPage(self._runs).answer,
                profile=Profiler().answer,
                more=more,
            )
        merged = MergedPages(processes)
        metrics = MergedMetrics(self.metrics.registry, processes).answer if self.metrics is not None else None
        return Pages(
            metrics=metrics,
            controllers=merged.controllers,
            manager=manager,
            objects=merged.objects,
            details=merged.details,
            document=merged.document,
            profile=merged.profile,
            more=more,
        )

    def _supervise(self, processes: Supervisor) -> None:
        if self.elector is not None:
            processes.follow(self.elector)
        for name, check in processes.checks(ready=True).items():
            self.readyz.add(name, check)
        for name, check in processes.checks(ready=False).items():
            self.healthz.add(name, check)
        self._life.add("others", processes)
        self._life.add("leader", processes.leading)

    def _prepare(self) -> None:
        for running in self.controllers.values():
            running.prepare()

    def _runs(self) -> dict[str, RunningController[Any]]:
        return self.controllers if self.fleet is None else {**self.controllers, **self.fleet.runs()}

    def add(
        self,
        runnable: Controller[Any] | Runnable,
        *,
        group: GroupName | None = None,
        may_end: bool = False,
    ) -> None:
        """Adds a controller, or any object with ``async def run(self)``. If the manager has already started, the
        runnable is started at once.

        Without a ``group``, the runnable's attribute ``group`` decides or, if there is none, its attribute
        ``leader_only`` (True by default). With ``may_end``, a runnable that is not a controller may return before it is
        asked to stop.

        Raises:
            RuntimeError: the manager is stopping.
            TypeError: ``may_end`` is set for a controller.
            ValueError: a controller with that name exists.
        """
        if isinstance(runnable, Controller):
            if may_end:
                raise TypeError(f"controller {runnable.name!r} can't have may_end: it runs until it is stopped")
            leading = runnable.leader_only
            if runnable.name in self.controllers:
                raise ValueError(
                    f"there are two controllers named {runnable.name!r}: give one of them another name=, "
                    "since the name tells them apart in metrics, logs and field managers"
                )
            running = self._bind(runnable)
            self.readyz.add(f"controller-{runnable.name}", self._readiness(runnable))
            if self._life.state == "running":
                running.prepare()
            place: GroupName = "leader" if leading else "others"
            self._life.add(group or place, running)
            return
        by_itself: GroupName = "leader" if getattr(runnable, "leader_only", True) else "others"
        own_group: GroupName | None = getattr(runnable, "group", None)
        self._life.add(group or own_group or by_itself, runnable, may_end=may_end)

    def _bind(self, controller: Controller[Any]) -> RunningController[Any]:
        leading = controller.leader_only
        running = self.controllers[controller.name] = controller.bind(
            self._leading_client if leading else self.client,
            self.factory,
            process=self._process,
            recorder=self.recorder,
            shard=self._shard if leading else None,
        )
        return running

    def _again(self, runnable: Runnable) -> Runnable | None:
        """A runnable for this process's next time as the leader; None if the former one still has a thread at work,
        which can't be cancelled.
        """
        if isinstance(runnable, FleetWork):
            return runnable.again()
        if not isinstance(runnable, RunningController):
            return runnable
        if runnable.threads.at_work:
            return None
        controller = runnable.controller
        assert isinstance(controller, Controller)
        return runnable if runnable.state == "new" else self._bind(controller)

    # -- life cycle ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Runs until `stop` is called, the call is cancelled, or a runnable fails; then stops everything in order.

        Raises:
            LeadershipLost: the lease was lost.
            RuntimeError: the manager was run before.
            Exception: the error of a runnable.
        """
        lifespan = partial(self._lifespan, self) if self._lifespan is not None else None
        await self._life.run(opened(lifespan, self.state))

    def stop(self) -> None:
        """Asks `run` to stop everything and return."""
        self._life.stop()

    def step_down(self) -> None:
        """Asks this process to finish its work as the leader, release the lease and become a standby. It leaves the
        lease to other candidates for the duration of a lease. A process that does not lead does nothing.

        Raises:
            RuntimeError: the manager has no `LeaderElection` with ``lost_lease="standby"``.
        """
        self._life.step_down()

    async def __aenter__(self) -> Self:
        """Runs the manager in the background; waits until everything that does not need an election has been started.

        If `run` fails meanwhile, the body of the block is cancelled, and leaving the block raises the error of `run`.
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
        context = current.get()
        if context is not None and any(run.activity.is_running(context) for run in self._runs().values()):
            raise RuntimeError(
                f"the reconcile of {context.key} can't leave the block of its manager, which waits for the reconcile: "
                "call manager.stop(), which returns at once"
            )
        body, self._body = self._body, None
        if self._aborted:
            body.uncancel()
        self.stop()
        await self._running

    def _work_of(self, task: asyncio.Task[Any]) -> str:
        """The work of a task: controller and key if the task is a worker, otherwise its name. May be called in any
        thread.
        """
        for run in list(self._runs().values()):
            if (key := run.loop.at_work.get(task)) is not None:
                return f"{run.name} {key}"
        return task.get_name()

    def under_way(self) -> list[str]:
        """The running reconciles, with controller, key and duration so far."""
        own = [f"{run.name} {work}" for run in self._runs().values() for work in run.under_way()]
        return own if self._processes is None else own + self._processes.under_way()

    async def _caches_synced(self) -> None:
        """Waits until the caches of all controllers have synced; this process joins its shard group only then."""
        for running in self.controllers.values():
            for informer in running.informers.values():
                await informer.wait_synced()

    def _readiness(self, controller: Controller[Any]) -> Callable[[], str]:
        def check() -> str:
            if controller.leader_only and self.elector is not None and not self.elected.is_set():
                return ""  # a standby is ready to take over
            return self.controllers[controller.name].readiness()

        return check


class _Caches:
    """The runnable that runs the informers of a factory."""

    def __init__(self, factory: InformerFactory) -> None:
        self.name = "caches"
        self.ready = asyncio.Event()
        self._factory = factory

    async def run(self) -> None:
        async with self._factory:
            self.ready.set()
            await asyncio.Event().wait()
