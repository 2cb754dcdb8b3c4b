# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""scheduling.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class PriorityClass(Object, ApiModel):
    """PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any
    valid integer.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1_PRIORITY_CLASS

    description: str | None = None
    """description is an arbitrary string that usually provides guidelines on when this priority class should be used.
    """
    global_default: bool | None = None
    """globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do
    not have any priority class.
    """
    preemption_policy: str | None = None
    """preemptionPolicy is the Policy for preempting pods with lower priority. Defaults to PreemptLowerPriority if
    unset.
    """
    value: int | None = None
    """value represents the integer value of this priority class."""


class PriorityClassList(KindList[PriorityClass]):
    """PriorityClassList is a collection of priority classes."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClassList"
