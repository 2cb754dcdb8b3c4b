"""Hollow nodes: Node objects that look alive, so that pods can be bound to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from setpoint.client import Client, PatchType
from setpoint.controller import Outcome, WorkLoop, done
from setpoint.meta import format_time
from setpoint.models.core_v1 import Node, NodeSpec

VERSION: Final = "v1.37.0"
CAPACITY: Final = {"cpu": "32", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti"}
OS_IMAGE: Final = "hollow"


class HollowNodes:
    """Registers Nodes that are Ready, named ``PREFIX0`` to ``PREFIXn``, when it starts.

    As a kubelet does, it registers at its start; a Node that is deleted later stays away until the next start.
    """

    leader_only = False

    def __init__(self, client: Client, count: int = 1, *, prefix: str = "hollow-", now: Callable[[], datetime]) -> None:
        if count < 1:
            raise ValueError(f"there must be at least one hollow node, not {count}")
        self.name = "hollow-nodes"
        self.names = tuple(f"{prefix}{number}" for number in range(count))
        self._client = client
        self._now = now
        self._loop: WorkLoop[str] = WorkLoop(self.name, self._register, workers=2)

    async def run(self) -> None:
        """Registers the nodes, trying again as long as it takes; then waits to be stopped."""
        for name in self.names:
            self._loop.queue.add(name)
        await self._loop.run()

    def stop(self) -> None:
        self._loop.stop()

    def idle(self) -> bool:
        """Whether every node has been registered, or is waiting for another try."""
        depths = self._loop.queue.depths()
        return not depths.ready and not depths.processing

    async def _register(self, name: str) -> Outcome:
        number = self.names.index(name)
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": "hollow",
        }
        cidr = f"10.{64 + number // 256}.{number % 256}.0/24"
        spec = NodeSpec(pod_cidr=cidr, pod_cidrs=[cidr], provider_id=f"hollow://{name}")
        await self._client.apply(Node.named(name, "", labels, spec=spec), field_manager="hollow-kubelet")
        moment = format_time(self._now())
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "hollow kubelet is posting ready status",
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
        }
        status = {
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "conditions": [ready],
            "addresses": [
                {"type": "InternalIP", "address": host_ip(number)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
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
            },
        }
        await self._client.patch(
            Node, name, {"status": status}, type=PatchType.MERGE, subresource="status", field_manager="hollow-kubelet"
        )
        return done()


def host_ip(number: int) -> str:
    """The address of a hollow node."""
    return f"172.18.{number // 250}.{number % 250 + 2}"
