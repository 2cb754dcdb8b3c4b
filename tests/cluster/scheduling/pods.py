"""Short forms for pods that want something of their node, and where they are."""

from __future__ import annotations

from typing import Any

from setpoint.models.core_v1 import Container, Event, Pod, PodSpec, ResourceRequirements
from setpoint.testing import Cluster


def pod(name: str, *, labels: dict[str, str] | None = None, requests: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod of one container."""
    ports = spec.pop("ports", [])
    extended = {name: value for name, value in (requests or {}).items() if "/" in name}
    resources = ResourceRequirements(requests=requests or {}, limits=extended)
    container = Container(name="main", image="web:1", resources=resources, ports=ports)
    new_pod = Pod.named(name, "default", labels, spec=PodSpec(containers=[container], **spec))
    new_pod.spec.termination_grace_period_seconds = 0
    return new_pod


async def place(world: Cluster, name: str) -> str | None:
    """The node that a pod is on."""
    return (await world.get(Pod, name)).spec.node_name or None


async def why(world: Cluster, name: str) -> str:
    """The message of a pod that waits for a node."""
    pod = await world.get(Pod, name)
    (condition,) = [condition for condition in pod.status.conditions if condition.type == "PodScheduled"]
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert not pod.spec.node_name
    return condition.message or ""


async def events_of(world: Cluster, name: str) -> list[tuple[str | None, str | None, str | None]]:
    """The events about a pod: type, reason, message."""
    events = await world.list(Event)
    return [
        (event.type, event.reason, event.message)
        for event in sorted(events, key=lambda item: int(item.metadata.resource_version))
        if event.involved_object.name == name
    ]


def refused(nodes: int, reasons: str, helpless: int = 0, without_victims: int = 0) -> str:
    """The whole message of a pod that no node takes."""
    counts = [(without_victims, "No preemption victims found for incoming pod")]
    counts += [(helpless, "Preemption is not helpful for scheduling")]
    said = ", ".join(sorted(f"{number} {text}" for number, text in counts if number))
    head = f"0/{nodes} nodes are available:"
    return f"{head} {reasons}. no new claims to deallocate, preemption: {head} {said}."
