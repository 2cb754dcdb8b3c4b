# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""policy/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.meta_v1 import DeleteOptions


class PodDisruptionBudgetSpec(ApiModel):
    """PodDisruptionBudgetSpec is a description of a PodDisruptionBudget."""

    max_unavailable: int | str | None = None
    """maxUnavailable indicates that an eviction is allowed if at most "maxUnavailable" pods selected by "selector" are
    unavailable after the eviction, i.e. even in absence of the evicted pod.
    """
    min_available: int | str | None = None
    """minAvailable indicates that an eviction is allowed if at least "minAvailable" pods selected by "selector" will
    still be available after the eviction, i.e. even in the absence of the evicted pod.
    """
    selector: LabelSelector | None = None
    """selector is a label query over pods whose evictions are managed by the disruption budget."""
    unhealthy_pod_eviction_policy: str | None = None
    """unhealthyPodEvictionPolicy defines the criteria for when unhealthy pods should be considered for eviction."""


class PodDisruptionBudgetStatus(ApiModel):
    """PodDisruptionBudgetStatus represents information about the status of a PodDisruptionBudget. Status may trail the
    actual state of a system.
    """

    conditions: list[Condition] = []
    """Conditions contain conditions for PDB. The disruption controller sets the DisruptionAllowed condition. No
    disruptions are allowed and the status of the condition will be False. - SufficientPods: There are more pods than
    required by the PodDisruptionBudget.
    """
    current_healthy: int | None = None
    """current number of healthy pods"""
    desired_healthy: int | None = None
    """minimum desired number of healthy pods"""
    disrupted_pods: dict[str, datetime] = {}
    """DisruptedPods contains information about pods whose eviction was processed by the API server eviction subresource
    handler but has not yet been observed by the PodDisruptionBudget controller.
    """
    disruptions_allowed: int | None = None
    """Number of pod disruptions that are currently allowed."""
    expected_pods: int | None = None
    """total number of pods counted by this disruption budget"""
    observed_generation: int | None = None
    """Most recent generation observed when updating this PDB status."""


class Eviction(Object, ApiModel):
    """Eviction evicts a pod from its node subject to certain policies and safety constraints. This is a subresource of
    Pod. A request to cause such an eviction is created by POSTing to .../pods/<pod name>/evictions.
    """

    resource: ClassVar[Resource] = _table.POLICY_V1_EVICTION

    delete_options: DeleteOptions | None = None
    """deleteOptions may be provided"""


class PodDisruptionBudget(Object, ApiModel):
    """PodDisruptionBudget is an object to define the max disruption that can be caused to a collection of pods"""

    resource: ClassVar[Resource] = _table.POLICY_V1_POD_DISRUPTION_BUDGET

    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    """spec is the specification of the desired behavior of the PodDisruptionBudget."""
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)
    """status is the most recently observed status of the PodDisruptionBudget."""


class PodDisruptionBudgetList(KindList[PodDisruptionBudget]):
    """PodDisruptionBudgetList is a collection of PodDisruptionBudgets."""

    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudgetList"
