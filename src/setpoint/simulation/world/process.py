"""Process: one process of the program under test, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, Protocol

from setpoint.cache import WatchOptions
from setpoint.cache.watch_options import FirstList
from setpoint.client import Client
from setpoint.controller import Controller, RunningController
from setpoint.manager import LeaderElection, Manager, ManagerOptions, Sharding
from setpoint.manager.fleet.fleet_cluster import FleetCluster
from setpoint.meta import ObjectKey
from setpoint.simulation.injection.process_under_test import ProcessControl, ProcessHost
from setpoint.simulation.network.faulty_transport import FaultyTransport, NetworkHost
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.scenario.externals import use_external_calls
from setpoint.simulation.world.external_calls import ExternalCalls
from setpoint.simulation.world.remote_cluster import FAR, NEAR, RemoteCluster

LEASE: Final = 300.0
"""The duration in seconds of a leader's lease, or of a process's membership among those that share the keys. It is
longer than in production, so that virtual hours are not full of renewals, which would be most of a run's work.
"""


class _ObservedManager(Manager):
    """A manager that passes each of its runs to ``observe``, also those that it makes when it is a standby again."""

    def __init__(self, observe: Callable[[RunningController[Any]], None], client: Client, **options: Any) -> None:
        self._observe = observe
        super().__init__(client, **options)

    def _bind(self, controller: Controller[Any]) -> RunningController[Any]:
        running = super()._bind(controller)
        self._observe(running)
        return running


class OperatorHost(ProcessHost, NetworkHost, Protocol):
    """The interface of a run that each of its processes uses."""

    @property
    def seed(self) -> int: ...
    @property
    def monitor(self) -> Monitor: ...
    @property
    def external_calls(self) -> ExternalCalls: ...
    @property
    def remote_cluster(self) -> RemoteCluster | None: ...
    def now(self) -> datetime: ...
    def ended(self, process: Process, problem: BaseException) -> None: ...


class Process(ProcessControl):
    """A manager with its own client, caches and memory, from the start of the process until it is killed or fails.

    ``behind`` maps collections to the revisions at which this process's caches first show them, as if the server that
    the process reads from lagged behind.
    """

    def __init__(self, world: OperatorHost, number: int, *, behind: Mapping[str, int] | None = None) -> None:
        super().__init__(world, number)
        self._world = world
        self.transport = FaultyTransport(world, self)
        self.remote_transport = None if world.remote_cluster is None else world.remote_cluster.transport(self)
        self.offset = 0.0
        """Seconds by which the process's clock is ahead of the server's."""
        self.manager: Manager | None = None
        self.failed: BaseException | None = None
        for collection, revision in (behind or {}).items():
            self.transport.gate(collection).shut(revision + 1)
        self.transport.streams_lists = not behind
        self._first_list: FirstList = "any" if behind else world.setup.first_list

    @property
    def alive(self) -> bool:
        return self.actor.state != "dead" and self.failed is None

    def start(self) -> None:
        self.actor.start(self._run(), name=self.actor.name)

    async def _run(self) -> None:
        world = self._world
        setup = world.setup
        use_external_calls(world.external_calls)
        try:
            client = Client(self.transport, namespace=setup.namespace, random=Random(f"{world.seed} {self.number}"))
            home, fleet = setup.program()
            first = home[0] if fleet is None else [*home, *fleet.controllers][0]
            election, sharding = None, None
            identity = f"{first.name}-{self.number}"
            if setup.leader_election:
                election = LeaderElection(
                    name="simulated", identity=identity, namespace=setup.namespace,
                    lease_duration=LEASE, renew_deadline=0.7 * LEASE, retry_period=0.2 * LEASE,
                    lost_lease="standby" if setup.leader_election == "standby" else "exit",
                )  # fmt: skip
            if setup.sharding:
                sharding = Sharding(
                    name="simulated", identity=identity, namespace=setup.namespace,
                    lease_duration=LEASE, renew_deadline=0.7 * LEASE, retry_period=0.2 * LEASE,
                    by="namespace" if setup.sharding == "namespace" else "key",
                )  # fmt: skip
            rolls = Random(f"{world.seed} {self.number} manager")
            if fleet is not None and self.remote_transport is not None:
                rolled = Random(f"{world.seed} {self.number} {FAR}")
                await fleet.engage(NEAR, client)
                await fleet.engage(FAR, Client(self.remote_transport, namespace=setup.namespace, random=rolled))
                fleet.listen(self)
            self.manager = _ObservedManager(
                self._listen,
                client,
                controllers=home[::-1] if self.transport.reverses else home,  # no controller waits for another
                fleet=fleet,
                leader_election=election,
                sharding=sharding,
                lifespan=setup.lifespan,
                options=ManagerOptions(
                    now=self.now,
                    random=rolls,
                    instance=f"simulated-{self.number}",
                    watch_options=WatchOptions(first_list=self._first_list),
                    pause_switch=setup.pause_switch,
                ),
            )
            await self.manager.run()
        except Exception as problem:
            if not self._world.loop.is_running():
                raise  # the run is over, and Python closes what it has left
            self.failed = problem  # which is an event of the simulated world
            self.transport.cut()
            world.ended(self, problem)

    def _listen(self, running: RunningController[Any]) -> None:
        """Passes all exceptions from reconciles on to the judge. With the fault ``shuffle``, it also shuffles the keys
        in the work queue whenever a key is added.
        """
        failed = running.loop._failed

        def note_failure(key: ObjectKey, problem: Exception, due: float) -> tuple[str, str, float | None]:
            self._world.monitor.report_exception(f"reconciling {running.controller.resource.kind} {key}", problem)
            return failed(key, problem, due)

        running.loop._failed = note_failure  # type: ignore[method-assign]
        if (rolls := self.transport.random_order) is not None:
            queue = running.loop.queue
            add, ready = queue.add, queue._fifo

            def add_somewhere(key: ObjectKey, *, priority: int = 0) -> None:
                add(key, priority=priority)
                rolls.shuffle(ready)

            queue.add = add_somewhere  # type: ignore[method-assign]

    def on_join(self, cluster: FleetCluster) -> None:
        """Listens to the controllers of a cluster. The fleet calls this for each of its clusters."""
        for running in cluster.runs.values():
            self._listen(running)

    def on_leave(self, cluster: FleetCluster) -> None:
        """Does nothing. The fleet would call this if a cluster left, but none does in a simulation."""

    def runs(self) -> list[RunningController[Any]]:
        """The process's running controllers, in all clusters."""
        return [] if self.manager is None else list(self.manager._runs().values())

    def now(self) -> datetime:
        return self._world.now() + timedelta(seconds=self.offset)

    def kill(self) -> None:
        """Kills the process as SIGKILL does: none of its code runs any more, and its connections are closed."""
        super().kill()
        self.transport.cut()
        if self.remote_transport is not None:
            self.remote_transport.cut()

    def has_started(self) -> bool:
        """Whether the program's lifespan has yielded, and its controllers run or wait for a lease."""
        return self.manager is not None and self.manager.started.is_set()

    def busy(self) -> bool:
        """Whether the process has something to do now."""
        if self.actor.state != "running" or self.failed is not None:
            return False
        if self.waits or not self.has_started() or not self.transport.listens():
            return True
        if self.remote_transport is not None and not self.remote_transport.listens():
            return True
        return any(
            running.state == "syncing" or (running.state == "running" and not running.idle())
            for running in self._reachable()
        )

    def _reachable(self) -> list[RunningController[Any]]:
        """The process's running controllers in clusters that can be reached."""
        cut = self.remote_transport is not None and not self.remote_transport.reaches
        return [running for running in self.runs() if not (cut and running.name.endswith(f"@{FAR}"))]

    def member(self) -> str:
        """The id of this process among the processes that share the keys; ``""`` while it does not have one."""
        shards = None if self.manager is None else self.manager.shards
        return "" if shards is None else shards._lease.member

    def members(self) -> frozenset[str]:
        """The ids of the processes that share the keys, including this one; empty while keys are being handed over."""
        shards = None if self.manager is None else self.manager.shards
        if self.manager is None or shards is None or shards.share.empty or len(shards._views) > 1:
            return frozenset()
        guards = [running.guard for running in self.manager.controllers.values() if running.guard is not None]
        return shards.members if all(guard._shares == [shards.share] for guard in guards) else frozenset()

    def owned(self) -> int:
        """The number of objects whose keys are in the process's share."""
        shards = None if self.manager is None else self.manager.shards
        if self.manager is None or shards is None:
            return 0
        return sum(
            shards.share.owns(running.name, ObjectKey(key))
            for running in self.manager.controllers.values()
            for key in running.informers[running.controller.resource.gvr].store
        )

    def leads(self) -> bool:
        """Whether the process's controllers are active, because the process has been elected leader or because leader
        election is not used.
        """
        return self.alive and self.manager is not None and self.manager.elected.is_set()

    def retries(self) -> list[float]:
        """The loop times at which failed keys are tried again."""
        times: list[float] = []
        if self.actor.state != "running" or self.manager is None or self.failed is not None:
            return times
        for running in self._reachable():
            for key, state in running.queue.states().items():
                if "delayed" in state and running.queue.num_requeues(key):
                    at = running.queue.ready_at(key)
                    if at is not None:
                        times.append(at)
        return times
