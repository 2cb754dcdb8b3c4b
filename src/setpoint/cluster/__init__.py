"""The embedded control plane: garbage collector, namespaces, workloads, hollow nodes; all written with `controller`."""

from setpoint.cluster.control_plane import ControlPlane
from setpoint.cluster.deployments import Deployments
from setpoint.cluster.garbage_collector import GarbageCollector
from setpoint.cluster.local_webhooks import LocalWebhooks, with_conversions
from setpoint.cluster.namespaces import NamespaceDefaults, NamespaceLifecycle
from setpoint.cluster.nodes import HollowNodes
from setpoint.cluster.pods import HollowKubelet
from setpoint.cluster.replicasets import ReplicaSets
from setpoint.cluster.resources import ServedResources

__all__ = [
    "ControlPlane",
    "Deployments",
    "GarbageCollector",
    "HollowKubelet",
    "HollowNodes",
    "LocalWebhooks",
    "NamespaceDefaults",
    "NamespaceLifecycle",
    "ReplicaSets",
    "ServedResources",
    "with_conversions",
]
