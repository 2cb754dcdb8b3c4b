"""Control plane: the controllers of the control plane. The garbage collector runs in a process of its own, so that it
and the other controllers can be late independently of each other.
"""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Any, Protocol

from setpoint.client import Client
from setpoint.cluster import ControlPlane, GarbageCollector
from setpoint.cluster.controller_registry import GARBAGE_COLLECTOR, chosen, names_of
from setpoint.cluster.first_object_watch import FirstObjects
from setpoint.manager import Manager, ManagerOptions
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.world.scenario_cluster import SimulatedCluster
from setpoint.workqueue import RateLimitingQueue


class ControlPlaneHost(Protocol):
    """The interface of a run, or of its far cluster, that a `SimulatedControlPlane` uses."""

    @property
    def setup(self) -> Setup: ...
    def connect(self, name: str) -> Client: ...
    def make_random(self, name: str) -> Random: ...
    def now(self) -> datetime: ...


class SimulatedControlPlane:
    """The controllers of the control plane that the setup asks for: the garbage collector, and the controllers of
    workloads, namespaces and nodes.
    """

    def __init__(self, world: ControlPlaneHost) -> None:
        self._world = world
        self._others_actor = Actor("control plane", "control plane")
        self._collector_actor = Actor("garbage collector", "garbage collector")
        self.actors = (self._others_actor, self._collector_actor)
        self._collector: GarbageCollector | None = None

    async def start(self, cluster: SimulatedCluster) -> None:
        """Starts the controllers, and returns when all of them are running."""
        world = self._world
        plane = names_of(world.setup.control_plane)
        names = [entry.name for entry in chosen(plane or ())]
        others = self._others = cluster.control_plane = ControlPlane(
            world.connect("plane"),
            server=cluster.server,
            nodes=0 if plane is None else world.setup.nodes,
            controllers=[name for name in names if name != GARBAGE_COLLECTOR],
            now=world.now,
            random=world.make_random("plane"),
        )
        self._others_actor.start(others.run(), name="control plane")
        await others.manager.started.wait()
        if GARBAGE_COLLECTOR not in names:
            return
        manager = Manager(
            world.connect("gc"),
            options=ManagerOptions(now=world.now, random=world.make_random("gc"), instance="garbage-collector"),
        )
        self._collector = GarbageCollector(
            manager.client, manager.factory, others.resources, first_objects=FirstObjects(cluster.server)
        )
        manager.add(self._collector)
        self._collector_actor.start(manager.run(), name="garbage collector")
        await manager.started.wait()

    def busy(self) -> bool:
        """Whether any of the controllers has something to do now."""
        return (self._others_actor.state == "running" and not self._others.idle()) or (
            self._collector_actor.state == "running" and self._collector is not None and not self._collector.idle()
        )

    def retries(self) -> list[float]:
        """The loop times at which the deferred keys of the control plane's controllers are due."""
        queues: list[RateLimitingQueue[Any]] = []
        if self._others_actor.state == "running":
            queues += [running.queue for running in self._others.manager.controllers.values()]
        if self._collector_actor.state == "running" and self._collector is not None:
            queues.append(self._collector.queue)
        times = [queue.ready_at(key) for queue in queues for key, state in queue.states().items() if "delayed" in state]
        return [at for at in times if at is not None]
