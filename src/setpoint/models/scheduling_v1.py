# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""scheduling.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, ListMeta, Object, Resource
from setpoint.models import _table


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


class PriorityClassList(ApiModel):
    """PriorityClassList is a collection of priority classes."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClassList"

    items: list[PriorityClass]
    """items is the list of PriorityClasses"""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    """Standard list metadata More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """
