"""Hollow nodes: their registration, and kubelets that run nothing."""

from setpoint.cluster.nodes.kubelet import HollowKubelet
from setpoint.cluster.nodes.registration import HollowNode, HollowNodes

__all__ = ["HollowKubelet", "HollowNode", "HollowNodes"]
