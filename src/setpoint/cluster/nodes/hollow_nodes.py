"""Hollow nodes: Node objects with capacity, labels, addresses and Leases, to which pods can be bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from setpoint.client import Client, NotFound, PatchType
from setpoint.cluster.nodes.node_networks import IPV4, host_ips, pod_cidrs
from setpoint.controller import LoopMetrics, Outcome, WorkLoop, done
from setpoint.meta import MicroTime, Quantity, to_wire
from setpoint.models.coordination_v1 import Lease, LeaseSpec
from setpoint.models.core_v1 import Node, NodeCondition, NodeSpec, Taint

VERSION: Final = "v1.37.0"
MANAGER: Final = "hollow-kubelet"
"""The field manager of the kubelets' writes."""
PROVIDER: Final = "hollow://"
"""The prefix of a hollow node's provider id."""
LEASES: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
ZONES: Final = ("a", "b", "c")
"""The names of the zones to which nodes are assigned in turn."""
REGION: Final = "hollow"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
OS_IMAGE: Final = "hollow"
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


@dataclass(frozen=True)
class HollowNode:
    """One node: its name and its resources.

    A ``name`` of None means ``hollow-N``. ``labels`` are added to the labels that every node has (hostname, os, arch,
    zone, region, instance type), and override them. ``extended`` has further resources, such as ``{"example.com/gpu":
    "2"}``.
    """

    name: str | None = None
    cpu: str = "32"
    memory: str = "256Gi"
    pods: int = 10_000
    ephemeral_storage: str = "1Ti"
    extended: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @property
    def capacity(self) -> dict[str, str]:
        """The resources that pods may request."""
        storage = {"ephemeral-storage": self.ephemeral_storage}
        return {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods), **storage, **self.extended}


class HollowNodes:
    """Registers Nodes that are Ready, each with a Lease.

    ``nodes`` is the number of nodes, or a description of each. Like a kubelet, it registers nodes when it starts; a
    Node that is deleted later is not registered again until the next start. Taints are set only on new Nodes. Each has
    one address for each of ``ip_versions`` (4, 6).

    *Caveats*: a Lease is written when its node is registered or recovers, and is not renewed every ten seconds. The
    control plane can tell without renewals which hollow nodes are alive, and an idle cluster stays idle.

    Raises:
        ValueError: there is no node, or two nodes have the same name.
    """

    leader_only = False

    def __init__(
        self,
        client: Client,
        nodes: int | Sequence[HollowNode] = 1,
        *,
        now: Callable[[], datetime],
        ip_versions: Sequence[int] = IPV4,
    ) -> None:
        shapes = [HollowNode() for _ in range(nodes)] if isinstance(nodes, int) else list(nodes)
        if not shapes:
            raise ValueError(f"there must be at least one hollow node, not {nodes}")
        self.name = "hollow-nodes"
        self._shapes = {shape.name or f"hollow-{number}": shape for number, shape in enumerate(shapes)}
        if len(self._shapes) < len(shapes):
            raise ValueError("two hollow nodes have the same name")
        self.names = tuple(self._shapes)
        self._client = client
        self._now = now
        self._ip_versions = ip_versions
        self._loop: WorkLoop[str] = WorkLoop(LoopMetrics(self.name, 2), self._register)

    async def run(self) -> None:
        """Registers the nodes, retrying for as long as necessary, and then waits until it is stopped."""
        for name in self.names:
            self._loop.queue.add(name)
        await self._loop.run()

    def stop(self) -> None:
        self._loop.stop()

    def idle(self) -> bool:
        """Whether every node has been registered or is waiting for a retry."""
        depths = self._loop.queue.depths()
        return not depths.ready and not depths.processing

    async def _register(self, name: str) -> Outcome:
        """Creates or repairs a node and its status. Like a restarted kubelet, it leaves a correct node alone."""
        number, shape = self.names.index(name), self._shapes[name]
        cidrs = pod_cidrs(number, self._ip_versions)
        spec = NodeSpec(pod_cidr=cidrs[0], pod_cidrs=cidrs, provider_id=f"{PROVIDER}{name}")
        labels = {**labels_of(name, number), **shape.labels}
        try:
            node = await self._client.get(Node, name)
        except NotFound:
            spec.taints = list(shape.taints)
            node = await self._client.create(Node.named(name, "", labels, spec=spec), field_manager=MANAGER)
        else:
            if any(node.labels.get(label) != value for label, value in labels.items()):
                node = await self._client.apply(Node.named(name, "", labels, spec=spec), field_manager=MANAGER)
        if _amounts(node.status.capacity) != _amounts(shape.capacity) or not node.status.conditions:
            await renew_lease(self._client, node, self._now())  # first: the status is the sign that all is done
            status = {
                "capacity": shape.capacity,
                "allocatable": shape.capacity,
                "conditions": to_wire(conditions(self._now())),
                "addresses": [
                    *({"type": "InternalIP", "address": address} for address in host_ips(number, self._ip_versions)),
                    {"type": "Hostname", "address": name},
                ],
                "nodeInfo": _info(name),
            }
            await self._client.patch(
                Node, name, {"status": status}, type=PatchType.MERGE, subresource="status", field_manager=MANAGER
            )
        return done()


def _amounts(resources: dict[str, str]) -> dict[str, Quantity]:
    """The resources as amounts that can be compared: a server may write an amount differently, such as 10000 as 10k."""
    return {name: Quantity(amount) for name, amount in resources.items()}


def _info(name: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": name,
        "containerRuntimeVersion": "hollow://1.0",
        "kernelVersion": "hollow",
        "kubeProxyVersion": "",
        "kubeletVersion": VERSION,
        "machineID": name,
        "operatingSystem": "linux",
        "osImage": OS_IMAGE,
        "systemUUID": name,
    }


def labels_of(name: str, number: int) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "hollow",
        "topology.kubernetes.io/region": REGION,
        ZONE_LABEL: f"{REGION}-{ZONES[number % len(ZONES)]}",
    }


def conditions(now: datetime) -> list[NodeCondition]:
    """The conditions of a healthy node."""
    moment = now.replace(microsecond=0)
    text = "hollow kubelet is posting ready status"
    rows = [(type, "False", reason, text) for type, reason, text in _PRESSURES]
    rows.append(("Ready", "True", "KubeletReady", text))
    return [
        NodeCondition(
            type=type,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=moment,
            last_transition_time=moment,
        )
        for type, status, reason, message in rows
    ]


async def renew_lease(client: Client, node: Node, now: datetime) -> None:
    """Writes the Lease of a node whose kubelet is alive.

    Raises:
        ApiError: the server refused the request.
    """
    spec = LeaseSpec(holder_identity=node.name, lease_duration_seconds=LEASE_SECONDS, renew_time=MicroTime.of(now))
    lease = Lease.named(node.name, LEASES, spec=spec)
    lease.metadata.owner_references = [node.owner_reference(controller=False, block_owner_deletion=False)]
    await client.apply(lease, field_manager=MANAGER)
