# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""node.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import Toleration


class Overhead(ApiModel):
    """Overhead structure represents the resource overhead associated with running a pod."""

    pod_fixed: dict[str, str] = {}
    """podFixed represents the fixed resource overhead associated with running a pod."""


class Scheduling(ApiModel):
    """Scheduling specifies the scheduling constraints for nodes supporting a RuntimeClass."""

    node_selector: dict[str, str] = {}
    """nodeSelector lists labels that must be present on nodes that support this RuntimeClass."""
    tolerations: list[Toleration] = []
    """tolerations are appended (excluding duplicates) to pods running with this RuntimeClass during admission,
    effectively unioning the set of nodes tolerated by the pod and the RuntimeClass.
    """


class RuntimeClass(Object, ApiModel):
    """RuntimeClass defines a class of container runtime supported in the cluster. The RuntimeClass is used to determine
    which container runtime is used to run all containers in a pod. RuntimeClasses are manually defined by a user or
    cluster provisioner, and referenced in the PodSpec. The Kubelet is responsible for resolving the RuntimeClassName
    reference before running the pod. For more details, see
    https://kubernetes.io/docs/concepts/containers/runtime-class/
    """

    resource: ClassVar[Resource] = _table.NODE_V1_RUNTIME_CLASS

    handler: str
    """handler specifies the underlying runtime and configuration that the CRI implementation will use to handle pods of
    this class.
    """
    overhead: Overhead | None = None
    """overhead represents the resource overhead associated with running a pod for a given RuntimeClass."""
    scheduling: Scheduling | None = None
    """scheduling holds the scheduling constraints to ensure that pods running with this RuntimeClass are scheduled to
    nodes that support it.
    """


class RuntimeClassList(KindList[RuntimeClass]):
    """RuntimeClassList is a list of RuntimeClass objects."""

    api_version: ClassVar[str] = "node.k8s.io/v1"
    kind: ClassVar[str] = "RuntimeClassList"
