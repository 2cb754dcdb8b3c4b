"""The embedded cluster's scheduler and hollow kubelet survive what controllers have to. Users register the nodes, as
kubelets do. The full search takes minutes (``make corpus``)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.test_volumes import claim, mounting, storage_class
from tests.simulation.test_control_plane import STREAMED, Scenario

import setpoint as sp
from setpoint.cluster.nodes import HollowKubelet
from setpoint.cluster.scheduling import Scheduler
from setpoint.cluster.storage.claim_notifications import ClaimNotifications
from setpoint.cluster.storage.persistent_volumes import PersistentVolumes
from setpoint.cluster.storage.volume_binder import VolumeClaims
from setpoint.meta import from_wire
from setpoint.models.core_v1 import Node, PersistentVolumeClaim, Pod
from setpoint.models.scheduling_v1 import PriorityClass
from setpoint.simulation import Budget, Plan, check
from setpoint.simulation.faults.plan import fault

NODES = ("one", "two", "three")


async def join(cluster: sp.testing.Cluster, *names: str, cpu: str = "1") -> None:
    """Registers nodes, each with so many processors, and removes the taint of a new node."""
    size = {"cpu": cpu, "memory": "4Gi", "pods": "10"}
    status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    for name in names:
        await cluster.create(from_wire(Node, {"metadata": {"name": name}, "status": status}))
        await cluster.client.patch(Node, name, {"spec": {"taints": None}})
    await cluster.settle()


async def add(cluster: sp.testing.Cluster, name: str, cpu: str = "600m", **spec: Any) -> None:
    """Creates a pod. One of the usual size fits on a node."""
    main = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
    result = {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [main], **spec}}
    await cluster.create(from_wire(Pod, result))
    await cluster.settle()


async def runs(cluster: sp.testing.Cluster, name: str) -> None:
    async def is_running() -> bool:
        return (await cluster.get(Pod, name)).status.phase == "Running"

    await cluster.until(is_running)
    await cluster.settle()


async def places(cluster: sp.testing.Cluster) -> None:
    await join(cluster, "one", "two")
    for name in ("a", "b", "c", "d"):
        await add(cluster, name)
    await cluster.delete(await cluster.get(Pod, "d"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Pod, "a"))
    await runs(cluster, "c")
    await add(cluster, "e")
    await join(cluster, "three")
    await runs(cluster, "e")


async def preemption(cluster: sp.testing.Cluster) -> None:
    await cluster.create(PriorityClass.named("high", value=1000))
    await join(cluster, "one")
    await add(cluster, "low")
    await runs(cluster, "low")
    await add(cluster, "high", priorityClassName="high")
    await runs(cluster, "high")


async def importance(cluster: sp.testing.Cluster) -> None:
    await cluster.create(PriorityClass.named("high", value=1000))
    await join(cluster, "one")
    await add(cluster, "low")
    await runs(cluster, "low")
    await add(cluster, "large", "1500m", priorityClassName="high")
    await join(cluster, "two", cpu="2")
    await runs(cluster, "large")


async def volumes(cluster: sp.testing.Cluster) -> None:
    await join(cluster, "one")
    await cluster.create(storage_class(volume_binding_mode="WaitForFirstConsumer"))
    await cluster.create(claim(storage_class_name="fast"))
    await cluster.settle()
    await cluster.create(mounting("web", "data"))
    await runs(cluster, "web")
    await cluster.delete(await cluster.get(Pod, "web"))
    await cluster.settle()
    await cluster.delete(await cluster.get(PersistentVolumeClaim, "data"))
    await cluster.settle()


SCENARIOS: dict[str, Scenario] = {
    "importance": importance,
    "places": places,
    "preemption": preemption,
    "volumes": volumes,
}
OFF: dict[str, dict[str, str]] = {"volumes": {"paths": "a claim stays bound when its pod has gone"}}


def program() -> list[sp.Controller[Any]]:
    claims = ClaimNotifications()
    binders = [VolumeClaims(claims).controller, PersistentVolumes().controller]
    return [Scheduler(claims=claims).controller, HollowKubelet(NODES).controller, *binders]


def survives(name: str, **options: Any) -> None:
    """Raises `Counterexample` if they don't."""
    plane = ("*", "-persistentvolume-binder-controller", "-node-lifecycle-controller")
    off = {**STREAMED, **OFF.get(name, {})}
    check(SCENARIOS[name], program, nodes=0, control_plane=plane, off=off, **options)


def test_the_reason_why_a_pod_waits_is_written_though_the_first_write_was_lost() -> None:
    lost = Plan((fault("lost-request", "patch pods/status default/c #1"),), stop=4)
    survives("places", replay=lost.token(), workers=0)


def test_a_pod_is_tried_again_if_there_is_room_before_it_waits() -> None:
    slow = Plan((fault("slow-answer", "delete pods default/low #1", seconds=20.0),))
    survives("preemption", replay=slow.token(), workers=0)


def test_nodes_that_come_while_disruption_budgets_are_read_are_looked_at() -> None:
    slow = Plan((fault("slow-answer", "list poddisruptionbudgets.policy #1", until="step"),))
    survives("importance", replay=slow.token(), workers=0)


@pytest.mark.parametrize("runs", [12, pytest.param(2500, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_scheduler_and_the_kubelet_survive(name: str, runs: int) -> None:
    survives(name, budget=Budget(runs=runs))
