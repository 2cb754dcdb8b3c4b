"""The control plane forgets what is gone: a month after the deletion of everything, no name of it is left in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import FunctionType, MethodType, ModuleType
from typing import Any

import msgspec
from tests.transports import Through

from setpoint.client import Client, InProcessTransport, Request, Response, Transport
from setpoint.cluster import ControlPlane
from setpoint.meta import from_wire
from setpoint.models.apps_v1 import DaemonSet, Deployment, StatefulSet
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler
from setpoint.models.batch_v1 import CronJob, Job
from setpoint.models.core_v1 import (
    ConfigMap,
    Namespace,
    Node,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ResourceQuota,
    Service,
)
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.testing import Cluster, advance, cluster, virtual_time

MARK = "transient"
MONTH = 30 * 24 * 3600.0
BOUNDED = {
    "_filtered": "the last events that a predicate rejected (EventHistory)",
    "_deleted": "the last deletions (EventHistory, Suspects)",
    "_write_times": "the last writes of children; the next write removes what is old (Suspects)",
    "_absent": "the last owners that do not exist (Owners)",
    "_attempts": "the last reconciles (Timeline)",
    "_server": "the server itself, with what watches may still ask for",
}
"""The memories with a bound of their own, which forget the oldest."""
OTHERS = ("setpoint.apiserver", "setpoint.testing", "logging", "asyncio", __name__)
"""The modules of what the control plane can reach and does not consist of."""
Path = tuple[str, ...]


def pods(label: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def workload(label: str) -> dict[str, Any]:
    return {"selector": {"matchLabels": {"app": label}}, "template": pods(label)}


def job() -> dict[str, Any]:
    template = pods("job", restartPolicy="Never")
    template["metadata"]["annotations"] = {"hollow.setpoint.io/run-seconds": "5"}
    return {"template": template}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SCALED = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": MARK}, "maxReplicas": 3}
LIMITED = {"hard": {"pods": "100", "count/configmaps": "50"}}
LACKING = {"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": f"{MARK}-missing"}}]}]}
HUGE = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000"}}}]}
ON_NODE = {
    "nodeName": f"{MARK}-node",
    "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5000}],
}
OBJECTS: list[tuple[type[Any], str, dict[str, Any]]] = [
    (ResourceQuota, MARK, LIMITED),
    (Service, MARK, {"selector": {"app": "deployment"}, "ports": [{"port": 80}]}),
    (Deployment, MARK, {**workload("deployment"), "replicas": 2}),
    (StatefulSet, MARK, {**workload("set"), "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": CLAIM}]}),
    (DaemonSet, MARK, workload("daemons")),
    (ReplicationController, MARK, {"selector": {"app": "controller"}, "template": pods("controller")}),
    (Job, MARK, job()),
    (CronJob, MARK, {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job()}}),
    (HorizontalPodAutoscaler, MARK, SCALED),
    (PodDisruptionBudget, MARK, {"minAvailable": 1, "selector": {"matchLabels": {"app": "deployment"}}}),
    (PersistentVolumeClaim, MARK, CLAIM),
    (Pod, f"{MARK}-huge", HUGE),
    (Pod, f"{MARK}-lacking", LACKING),
    (Pod, f"{MARK}-lost", {**pods("pod")["spec"], "nodeName": f"{MARK}-unknown"}),
    (Pod, f"{MARK}-on-node", {**pods("pod")["spec"], **ON_NODE}),
]


async def fill(world: Cluster) -> None:
    """Creates objects of every kind, in a namespace and on a node with which they go again."""
    await world.create(Namespace.named(MARK))
    for kind, name, spec in OBJECTS:
        await world.create(from_wire(kind, {"metadata": {"name": name, "namespace": MARK}, "spec": spec}))
    owner = {"apiVersion": "v1", "kind": "Secret", "name": f"{MARK}-owner", "uid": f"{MARK}-uid"}
    orphan = {"name": MARK, "namespace": MARK, "ownerReferences": [owner]}
    await world.create(from_wire(ConfigMap, {"metadata": orphan}))
    dead = {"name": f"{MARK}-node", "annotations": {"hollow.setpoint.io/node": "dead"}}
    spec = {"providerID": f"hollow://{MARK}-node", "taints": [{"key": "broken", "effect": "NoExecute"}]}
    await world.create(from_wire(Node, {"metadata": dead, "spec": spec}))


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value: items, attributes, the variables of closures and of suspended coroutines."""
    if isinstance(value, dict):
        for key, item in [*value.items()]:
            yield "(key)", key
            yield str(key), item
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from (("[]", item) for item in [*value])
    elif isinstance(value, FunctionType):
        names = value.__code__.co_freevars
        yield from ((name, cell.cell_contents) for name, cell in zip(names, value.__closure__ or (), strict=True))
    elif isinstance(value, MethodType):
        yield "self", value.__self__
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)
    if isinstance(value, msgspec.Struct):
        yield from ((name, getattr(value, name)) for name in value.__struct_fields__)


def places_of(root: Any, *marks: str) -> list[Path]:
    """The paths from the root to every text that contains one of the marks, except through `BOUNDED` memories."""
    known: dict[int, Any] = {}
    waiting: list[tuple[Path, Any]] = [((), root)]
    places = []
    while waiting:
        path, value = waiting.pop()
        if path and path[-1] in BOUNDED:
            continue
        if isinstance(value, str | bytes):
            text = value if isinstance(value, str) else value.decode(errors="replace")
            if any(mark in text for mark in marks):
                places.append(path)
            continue
        if id(value) in known:
            continue
        known[id(value)] = value
        if not isinstance(value, type | ModuleType) and not type(value).__module__.startswith(OTHERS):
            waiting += [((*path, name), part) for name, part in parts(value)]
    return places


def memories(plane: ControlPlane | None) -> list[Any]:
    """The roots of the control plane's own memory."""
    assert plane is not None
    running = plane.manager.controllers.values()
    return [
        *(run.controller for run in running), *(run.memory for run in running), *(run.queue for run in running),
        plane.garbage_collector, plane.kubelets, plane.nodes, plane.resources,
    ]  # fmt: skip


@virtual_time
async def test_nothing_of_what_is_gone_is_left_after_a_month() -> None:
    async with cluster(nodes=1, rbac=False) as world:
        await fill(world)
        filled: set[str] = set()
        for seconds in (20, 1000):
            await advance(seconds)
            filled |= {name for path in places_of(memories(world.control_plane), MARK) for name in path}
        await world.delete(await world.get(Node, f"{MARK}-node"))
        await advance(5)
        await world.delete(await world.get(Namespace, MARK))
        await advance(MONTH)
        assert await world.list(Pod) == []
        assert places_of(memories(world.control_plane), MARK) == []
        assert {
            "_stale_since",
            "_tainted",
            "_began",
            "_orphaned",
            "_pods_of_unknown_nodes",
            "_quotas",
            "_paces",
            "_waiting",
        } <= filled


class SlowReads(Through):
    """A connection on which reads of these collections take five seconds."""

    def __init__(self, inner: Transport, *plurals: str) -> None:
        super().__init__(inner)
        self.plurals = plurals
        self.reads: list[str] = []

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        is_slow = request.method == "GET" and any(f"/{plural}/" in request.path for plural in self.plurals)
        if is_slow:
            self.reads.append(request.path)
            await asyncio.sleep(5)
        async with self.inner.send(request) as response:
            yield response


@virtual_time
async def test_what_goes_while_it_is_reconciled_is_forgotten_too() -> None:
    async with cluster(control_plane=False) as world:
        slow = SlowReads(InProcessTransport(world.server.handle), "configmaps", "deployments")
        client = Client(slow)
        async with client, ControlPlane(client, server=world.server, now=world.now, random=world.random) as plane:
            await advance(10)
            source = {"configMapRef": {"name": f"{MARK}-config"}}
            spec = {"containers": [{"name": "c", "image": "i", "envFrom": [source]}]}
            metadata = {"name": MARK, "namespace": "default"}
            pod = await world.create(from_wire(Pod, {"metadata": metadata, "spec": spec}))
            scaled = await world.create(from_wire(Deployment, {"metadata": metadata, "spec": workload("deployment")}))
            scaler = await world.create(from_wire(HorizontalPodAutoscaler, {"metadata": metadata, "spec": SCALED}))
            await advance(3)
            assert {path.rpartition("/")[2] for path in slow.reads} == {f"{MARK}-config", "scale"}
            await world.client.delete(pod, grace_period_seconds=0)
            await world.delete(scaler)
            await advance(10)
            await world.delete(scaled)
            await advance(MONTH)
            assert await world.list(Pod) == []
            assert places_of(memories(plane), MARK, pod.uid, scaler.uid, scaled.uid) == []
