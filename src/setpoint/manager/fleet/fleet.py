"""Fleet: several clusters in one manager, each with its own client, caches and controllers. Clusters may join and leave
while the manager runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from weakref import WeakValueDictionary

from setpoint.client import Client
from setpoint.concurrency import end, every
from setpoint.controller import Controller, RunningController, UnderWay
from setpoint.controller.cache_reader import Source
from setpoint.controller.context import current
from setpoint.controller.predicates import Test, check_predicates
from setpoint.manager.fleet.fleet_cluster import DRAIN, FleetCluster, Host, Read
from setpoint.manager.fleet.fleet_watch_source import ClusterMap, FleetEvents, FleetListener
from setpoint.manager.health_checks import HealthChecks
from setpoint.meta import Object
from setpoint.meta.names import dns1123_subdomain

logger = logging.getLogger("setpoint.fleet")


class Provider(Protocol):
    """A source of clusters."""

    async def run(self, fleet: Fleet, home: Client) -> None:
        """Calls `Fleet.engage` for each cluster that joins and `Fleet.disengage` for each that leaves, until this
        method is cancelled. ``home`` is the client of the manager's own cluster.

        An exception from this method ends the manager, so the method must not raise one because a cluster cannot be
        reached.
        """
        ...


class Fleet:
    """Clusters besides the manager's own.

    ```python
    fleet = sp.Fleet(controller, provider=KubeconfigFolder("/etc/clusters"))
    await sp.Manager(home, fleet=fleet).run()
    ```

    Each of ``controllers`` runs in every cluster, with a queue, workers and caches of its own for that cluster. Its
    function reads and writes the cluster of its object, whose name is `Context.cluster`. The manager's own objects,
    such as its Lease, are in the manager's own cluster. `events` and `reads` are for controllers in the manager's own
    cluster that read from the other clusters.

    *Guarantees*

    - A request consists of cluster, controller and key; the same key in two clusters makes two requests.
    - A cluster that cannot be reached, or refuses access, affects neither other clusters nor the manager: its
      controllers are restarted until they work, and `/readyz/cluster-NAME` has the reason.
    - Leader election and shards apply to all clusters: their Leases are in the manager's own cluster, and writes are
      fenced everywhere.
    - When a cluster leaves, its running reconciles end (or are cancelled after 10 s), and nothing of it remains.

    Args:
        controllers: controllers that run in every cluster.
        provider: source of clusters; without a provider, call `engage` and `disengage`.

    Raises:
        ValueError: two controllers have the same name.
    """

    def __init__(self, *controllers: Controller[Any], provider: Provider | None = None) -> None:
        names = [controller.name for controller in controllers]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"a fleet has two controllers named {twice.pop()!r}: give one of them another name=")
        self.controllers = controllers
        """The controllers that run in every cluster."""
        self._provider = provider
        self._reads: list[Read] = []
        self._host: Host | None = None
        self._clusters: dict[str, FleetCluster] = {}
        self._caches: dict[FleetCluster, asyncio.Task[None]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._listeners: list[FleetListener] = []
        self._started = False
        self._working: set[bool] = set()
        self._waiting: dict[str, Client] = {}

    # -- clusters
    # -------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> FleetCluster:
        """The cluster with that name. Raises `KeyError` if it is not in the fleet."""
        try:
            return self._clusters[name]
        except KeyError:
            names = ", ".join(sorted(self._clusters)) or "none"
            raise KeyError(f"there is no cluster {name!r} in the fleet; available: {names}") from None

    def get(self, name: str) -> FleetCluster | None:
        return self._clusters.get(name)

    def __iter__(self) -> Iterator[FleetCluster]:
        """The current clusters of the fleet."""
        return iter(list(self._clusters.values()))

    def __len__(self) -> int:
        return len(self._clusters)

    def runs(self) -> dict[str, RunningController[Any]]:
        """The runs of all controllers in all clusters, by name: ``CONTROLLER@CLUSTER``."""
        return {run.name: run for cluster in self for run in cluster.runs.values()}

    # -- declarations --------------------------------------------------------------------------------------------------

    def reads(self, kind: type[Object], **options: Any) -> None:
        """Declares a cache of ``kind`` in every cluster, for `FleetCluster.lister`; ``options`` are those of
        `InformerFactory.informer`.

        Raises:
            RuntimeError: the fleet has been passed to a manager.
            ValueError: the kind is already declared, with other options.
        """
        if self._host is not None:
            raise RuntimeError("a fleet's caches must be declared before its manager is created")
        read = Read(kind, options)
        for existing in self._reads:
            if existing.kind is kind and existing.options != options:
                raise ValueError(
                    f"the fleet declares {kind.__name__} twice with different options, but has one cache of it: "
                    "declare it once"
                )
        if read not in self._reads:
            self._reads.append(read)

    def events(
        self, kind: type[Object], map: ClusterMap, *, predicates: tuple[Test, ...] = (), **options: Any
    ) -> Source:
        """A source for a controller in the manager's own cluster. ``map(cluster, head)`` returns the keys to reconcile
        when an object of ``kind`` has changed in the cluster named ``cluster``.

        ```python
        sp.Controller(Rollout, reconcile).source(fleet.events(Deployment, rollouts_of))
        ```

        When a cluster leaves, all its objects count as changed. ``predicates`` and ``options`` are as for
        `Controller.watches` and `reads`.
        """
        self.reads(kind, **options)
        return FleetEvents(self.listen, kind, map, check_predicates(predicates))

    # -- coming and going ----------------------------------------------------------------------------------------------

    async def engage(self, name: str, client: Client) -> None:
        """Adds a cluster. A second call with the same client changes nothing; a different client replaces the first.

        The call does not wait for the cluster, which may be unreachable. The caller still owns the client and closes it
        after `disengage`.

        Raises:
            ValueError: the name is not a DNS subdomain.
            RuntimeError: as for `disengage`, if the cluster is replaced.
        """
        if problems := dns1123_subdomain(name):
            raise ValueError(f"cluster name {name!r}: {problems[0]}")
        if not self._started:
            self._waiting[name] = client
            return
        async with self._locks.setdefault(name, asyncio.Lock()):
            present = self._clusters.get(name)
            if present is not None:
                if present.client_given is client:
                    return
                await self._remove(present)
            assert self._host is not None
            cluster = self._clusters[name] = FleetCluster(name, client, self._host, self.controllers, self._reads)
            loop = asyncio.get_running_loop()
            self._caches[cluster] = loop.create_task(cluster.run_caches(), name=f"caches of {name}")
            for listener in self._listeners:
                listener.on_join(cluster)
            for leading in self._working:
                cluster.begin(leading=leading)
            logger.info("cluster joined", extra={"fields": {"cluster": name}})

    async def disengage(self, name: str) -> None:
        """Removes a cluster; returns when nothing of it is left. An unknown name is ignored.

        Raises:
            RuntimeError: the caller is a reconcile in that cluster, whose end this method waits for.
        """
        self._waiting.pop(name, None)
        async with self._locks.setdefault(name, asyncio.Lock()):
            if (cluster := self._clusters.get(name)) is not None:
                await self._remove(cluster)
                logger.info("cluster left", extra={"fields": {"cluster": name}})

    async def _remove(self, cluster: FleetCluster) -> None:
        context = current.get()
        if context is not None and any(run.activity.is_running(context) for run in cluster.runs.values()):
            raise RuntimeError(
                f"the reconcile of {context.key} can't remove its own cluster {cluster.name}, because that waits for "
                "the reconcile: remove it in a task of the program or in the provider"
            )
        del self._clusters[cluster.name]
        for listener in self._listeners:
            listener.on_leave(cluster)
        await every(*(cluster.end(leading=leading, within=DRAIN) for leading in (True, False)))
        await self._end_caches(cluster)

    async def _end_caches(self, cluster: FleetCluster) -> None:
        task = self._caches.pop(cluster, None)
        if task is None:  # the fleet itself has ended
            return
        await end([task])
        await cluster.send_last_events()

    def listen(self, listener: FleetListener) -> Callable[[], None]:
        """Notifies ``listener`` of every current cluster, and of every cluster that joins or leaves later; returns a
        function that removes the listener.
        """
        self._listeners.append(listener)
        for cluster in self:
            listener.on_join(cluster)
        return lambda: self._listeners.remove(listener)

    # -- in a manager --------------------------------------------------------------------------------------------------

    def attach(self, host: Host, home: Client) -> tuple[FleetCaches, FleetWork, FleetWork]:
        """The runnables for the manager's groups: caches, non-leader work and leader work.

        Raises:
            ValueError: the fleet is in another manager.
        """
        if self._host is not None:
            raise ValueError("this fleet belongs to another manager: create a fleet for each manager")
        self._host = host
        return FleetCaches(self, home), FleetWork(self, leading=False), FleetWork(self, leading=True)

    async def run_caches(self, home: Client) -> None:
        self._started = True
        try:
            waiting, self._waiting = self._waiting, {}
            for name, client in waiting.items():
                await self.engage(name, client)
            if self._provider is not None:
                await self._provider.run(self, home)
            await asyncio.Event().wait()
        finally:
            self._started = False
            try:
                await every(*(self._end_caches(cluster) for cluster in list(self._caches)))
            finally:
                self._clusters.clear()

    async def work(self, stopping: asyncio.Event, *, leading: bool) -> None:
        self._working.add(leading)
        within: float | None = 0.0
        try:
            for cluster in self:
                cluster.begin(leading=leading)
            await stopping.wait()
            within = None  # the manager has its own deadline
        finally:
            self._working.discard(leading)
            await every(*(cluster.end(leading=leading, within=within) for cluster in self))


class ClusterHealth:
    """The health checks of all clusters. None of them affects the process's readiness, because a single failing cluster
    must not stop a roll-out to all clusters.
    """

    def __init__(self, checks: HealthChecks) -> None:
        self._checks = checks

    def on_join(self, cluster: FleetCluster) -> None:
        self._checks.add(f"cluster-{cluster.name}", cluster.problem, counts=False)

    def on_leave(self, cluster: FleetCluster) -> None:
        self._checks.remove(f"cluster-{cluster.name}")


class FleetCaches:
    """The runnable that runs the provider and the caches of a fleet."""

    def __init__(self, fleet: Fleet, home: Client) -> None:
        self.name = "fleet"
        self._fleet, self._home = fleet, home

    async def run(self) -> None:
        await self._fleet.run_caches(self._home)


class FleetWork:
    """The runnable that runs the controllers of a fleet: either the ``leader_only`` controllers or the others."""

    def __init__(self, fleet: Fleet, *, leading: bool) -> None:
        self.name = "fleet's leaders" if leading else "fleet"
        self._fleet, self._leading = fleet, leading
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        await self._fleet.work(self._stopping, leading=self._leading)

    def stop(self) -> None:
        self._stopping.set()

    def again(self) -> FleetWork | None:
        """The work of this process's next term, with fresh runs and caches of the controllers in every cluster; None if
        work of the last term has not ended in some cluster.
        """
        fresh = [cluster.refresh(leading=self._leading) for cluster in self._fleet]
        return FleetWork(self._fleet, leading=self._leading) if all(fresh) else None

    def under_way(self) -> list[UnderWay]:
        """The running reconciles in all clusters."""
        return [
            work._replace(key=f"{run.name} {work.key}")
            for run in self._fleet.runs().values()
            if run.controller.leader_only is self._leading
            for work in run.under_way()
        ]
