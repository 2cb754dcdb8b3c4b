"""Hollow nodes: their registration and lifecycle, and kubelets that execute nothing."""

from setpoint.cluster.nodes.behaviour import NEVER, ContainerBehaviour, PodBehaviour
from setpoint.cluster.nodes.calls import Command, Connection
from setpoint.cluster.nodes.kubelet import HollowKubelet
from setpoint.cluster.nodes.lifecycle import NodeLifecycle, TaintEvictions
from setpoint.cluster.nodes.registration import HollowNode, HollowNodes

__all__ = [
    "NEVER",
    "Command",
    "Connection",
    "ContainerBehaviour",
    "HollowKubelet",
    "HollowNode",
    "HollowNodes",
    "NodeLifecycle",
    "PodBehaviour",
    "TaintEvictions",
]
