"""FleetCluster: one of a fleet's clusters, with its own client, caches and runs of controllers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from setpoint.cache import Informer, InformerFactory, Lister, UndeclaredRead
from setpoint.client import Client
from setpoint.concurrency import end
from setpoint.controller import Controller, RunningController
from setpoint.controller.environment import Process, Shard
from setpoint.controller.events import EventRecorder
from setpoint.controller.explain.explanation import outdated
from setpoint.controller.outcome import describe
from setpoint.manager.runnable_group import CANCEL_WITHIN, log_hanging
from setpoint.manager.write_fence import FencedTransport
from setpoint.meta import GroupVersionResource, Object, resource_of

if TYPE_CHECKING:
    from setpoint.manager.metrics import ProcessMetrics

K = TypeVar("K", bound=Object)
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""The longest pause in seconds before a controller that failed in a cluster is restarted there. The first pause is 1 s,
and each is twice as long as the one before.
"""
DRAIN: Final = 10.0
"""Seconds for which reconciles may continue in a cluster that leaves the fleet."""
logger = logging.getLogger("setpoint.fleet")


class Host(NamedTuple):
    """The parts of a manager that a fleet uses."""

    process: Process
    instance: str
    namespace: str | None = None
    metrics: ProcessMetrics | None = None
    shard: Shard | None = None


class Read(NamedTuple):
    """A cache that every cluster of the fleet has, with the options of `InformerFactory.informer`."""

    kind: type[Object]
    options: dict[str, Any]


class FleetCluster:
    """One cluster of the fleet.

    `client` reads and writes in this cluster; the writes of a leader or a shard are fenced as in the manager's own
    cluster. `lister` reads from a cache that the fleet declares (`Fleet.reads`, `Fleet.events`). A failure in this
    cluster does not affect other clusters: a controller whose caches do not sync is restarted after a pause, and
    `problem` has the reason.
    """

    def __init__(
        self, name: str, client: Client, host: Host, controllers: Sequence[Controller[Any]], reads: Sequence[Read]
    ) -> None:
        self.name = name
        self.client_given = client
        """The client given to `Fleet.engage`."""
        self.client = client
        if host.shard is not None:
            self.client = client.over(FencedTransport(client.transport, host.shard, reconciles_only=True))
        self.runs: dict[str, RunningController[Any]] = {}
        """The runs of the fleet's controllers here, by the controllers' names."""
        self.factory = InformerFactory(client, namespace=host.namespace, random=host.process.random)
        self._host = host
        self._controllers = controllers
        self._recorder = EventRecorder(client, now=host.process.now, random=host.process.random, instance=host.instance)
        self._failures: dict[str, str] = {}
        self._hanging: set[str] = set()
        """The names of controllers with work that did not end although it was cancelled."""
        self._tasks: dict[bool, dict[str, asyncio.Task[None]]] = {True: {}, False: {}}
        self._informers: dict[GroupVersionResource, Informer[Any]] = {
            resource_of(read.kind).gvr: self.factory.informer(read.kind, **read.options) for read in reads
        }
        if host.metrics is not None:
            host.metrics.informers.follow(self.factory, name=name)
            host.metrics.add_client(client)
        for controller in controllers:  # their caches sync before they may start
            self._bind(controller).prepare()

    def lister(self, kind: type[K]) -> Lister[K]:
        """The lister of a kind that the fleet reads. Its cache may lag behind or not have synced yet; see `problem`.

        Raises:
            UndeclaredRead: the fleet declares no such cache.
        """
        return self.informer(kind).lister

    def informer(self, kind: type[K]) -> Informer[K]:
        """The informer behind `lister`; raises the same errors."""
        informer: Informer[K] | None = self._informers.get(resource_of(kind).gvr)
        if informer is None:
            name = kind.__name__
            raise UndeclaredRead(f"the fleet declares no cache of {name}: add fleet.reads({name}), or read with client")
        return informer

    def problem(self) -> str:
        """The reason why something does not work in this cluster, for health checks; ``""`` if everything does."""
        if why := self._failures.get(""):
            return why
        for informer in self._informers.values():
            if not informer.has_synced:
                return f"the cache of {informer.resource.plural} has not synced" + _because(informer.last_error)
            if informer.last_error is not None:
                return f"the cache of {informer.resource.plural} is behind: {informer.last_error}"
        for name, run in self.runs.items():
            if why := self._failures.get(name) or run.readiness() or next(iter(outdated(run)), ""):
                return f"controller {name}: {why}"
        return ""

    # -- life cycle, for the fleet -------------------------------------------------------------------------------------

    async def run_caches(self) -> None:
        """Runs caches and events until the call is cancelled."""
        try:
            async with self.factory:
                await self._recorder.run()
        except Exception as problem:
            self._failures[""] = f"its caches have stopped: {describe(problem)}"
            logger.exception("the caches of a cluster have stopped", extra={"fields": {"cluster": self.name}})
        finally:
            if self._host.metrics is not None:
                self._host.metrics.informers.unfollow(self.factory)
                self._host.metrics.remove_client(self.client_given)

    def begin(self, *, leading: bool) -> None:
        """Starts the ``leader_only`` controllers if ``leading``, otherwise the other controllers."""
        for controller in self._controllers:
            if controller.leader_only is leading and controller.name not in self._tasks[leading]:
                task = asyncio.get_running_loop().create_task(
                    self._keep(controller), name=f"{controller.name}@{self.name}"
                )
                self._tasks[leading][controller.name] = task

    async def end(self, *, leading: bool, within: float | None) -> None:
        """Stops the ``leader_only`` controllers if ``leading``, otherwise the other controllers. Running reconciles may
        finish for ``within`` seconds (None: without limit), and are then cancelled.
        """
        tasks = self._tasks[leading]
        for name, task in tasks.items():
            run = self.runs[name]
            if run.state in ("new", "stopped"):
                task.cancel()
            else:
                run.stop()
        try:
            if tasks:
                await asyncio.wait(set(tasks.values()), timeout=within)
        finally:
            try:
                await end(tasks.values(), within=CANCEL_WITHIN)
            finally:
                for name, task in tasks.items():
                    if not task.done():
                        log_hanging(self.runs[name], task, CANCEL_WITHIN)
                        self._hanging.add(name)
                tasks.clear()

    def refresh(self, *, leading: bool) -> bool:
        """Replaces the ended runs of the ``leader_only`` controllers if ``leading``, otherwise those of the other
        controllers, by fresh ones, whose caches sync before the runs start. Returns False if work of one has not ended.
        """
        controllers = [controller for controller in self._controllers if controller.leader_only is leading]
        if any(controller.name in self._hanging for controller in controllers):
            return False
        if any(self.runs[controller.name].threads.at_work for controller in controllers):
            return False
        for controller in controllers:
            self._failures.pop(controller.name, None)
            if self.runs[controller.name].state != "new":
                self._bind(controller)
            self.runs[controller.name].prepare()
        return True

    async def send_last_events(self) -> None:
        """Sends the last events after the caches have stopped; gives up after a while, because the cluster may be
        unreachable.
        """
        try:
            async with asyncio.timeout(DRAIN):
                await self._recorder.flush()
        except TimeoutError:
            logger.warning("the last events could not be sent in time", extra={"fields": {"cluster": self.name}})

    async def _keep(self, controller: Controller[Any]) -> None:
        """Runs the controller until it is stopped, and restarts it whenever it fails."""
        pause = FIRST_PAUSE
        while True:
            run = self.runs[controller.name]
            if run.state != "new":
                run = self._bind(controller)
            try:
                await run.run()
                return
            except Exception as problem:  # noqa: BLE001 - a failure of one cluster must not affect others
                while isinstance(problem, ExceptionGroup) and len(problem.exceptions) == 1:
                    problem = problem.exceptions[0]
                self._failures[controller.name] = describe(problem)
                logger.warning(
                    "a controller failed in a cluster",
                    extra={"fields": {"cluster": self.name, "controller": controller.name, "error": describe(problem),
                                      "again_in": pause}},
                )  # fmt: skip
            await asyncio.sleep(pause * (1 + self._host.process.random.random() / 10))
            pause = min(pause * 2, LONGEST_PAUSE)
            self._failures.pop(controller.name, None)

    def _bind(self, controller: Controller[Any]) -> RunningController[Any]:
        host = self._host
        shard = host.shard if controller.leader_only else None
        client = self.client_given
        if shard is not None:
            client = client.over(FencedTransport(client.transport, shard))
        run = self.runs[controller.name] = controller.bind(
            client,
            self.factory,
            process=host.process,
            recorder=self._recorder,
            shard=shard,
            cluster=self.name,
        )
        return run

    def __repr__(self) -> str:
        return f"FleetCluster({self.name!r})"


def _because(error: Exception | None) -> str:
    return f": {error}" if error is not None else ""
