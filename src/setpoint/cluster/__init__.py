"""The embedded control plane (garbage collector, namespaces, workloads, hollow nodes), written with `controller`."""

from setpoint.cluster.control_plane import ControlPlane, HollowPods
from setpoint.cluster.garbage_collection.garbage_collector import GarbageCollector
from setpoint.cluster.in_process_webhooks import LocalWebhooks
from setpoint.cluster.nodes import (
    NEVER,
    Command,
    Connection,
    ContainerBehaviour,
    HollowNode,
    HollowNodes,
    PodBehaviour,
)

__all__ = [
    "NEVER",
    "Command",
    "Connection",
    "ContainerBehaviour",
    "ControlPlane",
    "GarbageCollector",
    "HollowNode",
    "HollowNodes",
    "HollowPods",
    "LocalWebhooks",
    "PodBehaviour",
]
