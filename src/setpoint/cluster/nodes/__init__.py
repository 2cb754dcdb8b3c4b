"""Hollow nodes: their registration and lifecycle, and kubelets that execute nothing."""

from setpoint.cluster.nodes.behaviour import NEVER, ContainerBehaviour, PodBehaviour
from setpoint.cluster.nodes.exec_and_port_forward import Command, Connection
from setpoint.cluster.nodes.hollow_nodes import HollowNode, HollowNodes
from setpoint.cluster.nodes.kubelet import HollowKubelet
from setpoint.cluster.nodes.node_lifecycle import NodeLifecycle, TaintEvictions

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
