# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""autoscaling/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class CrossVersionObjectReference(ApiModel):
    """CrossVersionObjectReference contains enough information to let you identify the referred resource."""

    api_version: str | None = None
    """apiVersion is the API version of the referent"""
    kind: str
    """kind is the kind of the referent; More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    name: str
    """name is the name of the referent; More info:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names
    """


class HorizontalPodAutoscalerSpec(ApiModel):
    """specification of a horizontal pod autoscaler."""

    max_replicas: int
    """maxReplicas is the upper limit for the number of pods that can be set by the autoscaler; cannot be smaller than
    MinReplicas.
    """
    min_replicas: int | None = None
    """minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down."""
    scale_target_ref: CrossVersionObjectReference
    """scaleTargetRef is the reference to scaled resource; horizontal pod autoscaler will learn the current resource
    consumption and will set the desired number of pods by using its Scale subresource.
    """
    target_cpu_utilization_percentage: int | None = msgspec.field(name="targetCPUUtilizationPercentage", default=None)
    """targetCPUUtilizationPercentage is the target average CPU utilization (represented as a percentage of requested
    CPU) over all the pods; if not specified the default autoscaling policy will be used.
    """


class HorizontalPodAutoscalerStatus(ApiModel):
    """current status of a horizontal pod autoscaler"""

    current_cpu_utilization_percentage: int | None = msgspec.field(name="currentCPUUtilizationPercentage", default=None)
    """currentCPUUtilizationPercentage is the current average CPU utilization over all pods, represented as a percentage
    of requested CPU, e.g. 70 means that an average pod is using now 70% of its requested CPU.
    """
    current_replicas: int
    """currentReplicas is the current number of replicas of pods managed by this autoscaler."""
    desired_replicas: int
    """desiredReplicas is the desired number of replicas of pods managed by this autoscaler."""
    last_scale_time: datetime | None = None
    """lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods; used by the autoscaler to
    control how often the number of pods is changed.
    """
    observed_generation: int | None = None
    """observedGeneration is the most recent generation observed by this autoscaler."""


class ScaleSpec(ApiModel):
    """ScaleSpec describes the attributes of a scale subresource."""

    replicas: int | None = None
    """replicas is the desired number of instances for the scaled object."""


class ScaleStatus(ApiModel):
    """ScaleStatus represents the current status of a scale subresource."""

    replicas: int
    """replicas is the actual number of observed instances of the scaled object."""
    selector: str | None = None
    """selector is the label query over pods that should match the replicas count."""


class HorizontalPodAutoscaler(Object, ApiModel):
    """configuration of a horizontal pod autoscaler."""

    resource: ClassVar[Resource] = _table.AUTOSCALING_V1_HORIZONTAL_POD_AUTOSCALER

    spec: HorizontalPodAutoscalerSpec = msgspec.field(default_factory=lambda: HorizontalPodAutoscalerSpec(max_replicas=0, scale_target_ref=CrossVersionObjectReference(kind="", name="")))
    """spec defines the behaviour of autoscaler."""
    status: HorizontalPodAutoscalerStatus = msgspec.field(default_factory=lambda: HorizontalPodAutoscalerStatus(current_replicas=0, desired_replicas=0))
    """status is the current information about the autoscaler."""


class Scale(Object, ApiModel):
    """Scale represents a scaling request for a resource."""

    resource: ClassVar[Resource] = _table.AUTOSCALING_V1_SCALE

    spec: ScaleSpec = msgspec.field(default_factory=ScaleSpec)
    """spec defines the behavior of the scale."""
    status: ScaleStatus = msgspec.field(default_factory=lambda: ScaleStatus(replicas=0))
    """status is the current status of the scale."""


class HorizontalPodAutoscalerList(KindList[HorizontalPodAutoscaler]):
    """list of horizontal pod autoscaler objects."""

    api_version: ClassVar[str] = "autoscaling/v1"
    kind: ClassVar[str] = "HorizontalPodAutoscalerList"
