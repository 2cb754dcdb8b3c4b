# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""autoscaling/v2."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class ContainerResourceMetricSource(ApiModel):
    """ContainerResourceMetricSource indicates how to scale on a resource metric known to Kubernetes, as specified in
    requests and limits, describing each pod in the current scale target (e.g. CPU or memory). The values will be
    averaged together before being compared to the target. Such metrics are built in to Kubernetes, and have special
    scaling options on top of those available to normal per-pod metrics using the "pods" source. Only one "target" type
    should be set.
    """

    container: str
    """container is the name of the container in the pods of the scaling target"""
    name: str
    """name is the name of the resource in question."""
    target: MetricTarget
    """target specifies the target value for the given metric"""


class ContainerResourceMetricStatus(ApiModel):
    """ContainerResourceMetricStatus indicates the current value of a resource metric known to Kubernetes, as specified
    in requests and limits, describing a single container in each pod in the current scale target (e.g. CPU or memory).
    Such metrics are built in to Kubernetes, and have special scaling options on top of those available to normal
    per-pod metrics using the "pods" source.
    """

    container: str
    """container is the name of the container in the pods of the scaling target"""
    current: MetricValueStatus
    """current contains the current value for the given metric"""
    name: str
    """name is the name of the resource in question."""


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


class ExternalMetricSource(ApiModel):
    """ExternalMetricSource indicates how to scale on a metric not associated with any Kubernetes object (for example
    length of queue in cloud messaging service, or QPS from loadbalancer running outside of cluster).
    """

    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""
    target: MetricTarget
    """target specifies the target value for the given metric"""


class ExternalMetricStatus(ApiModel):
    """ExternalMetricStatus indicates the current value of a global metric not associated with any Kubernetes object."""

    current: MetricValueStatus
    """current contains the current value for the given metric"""
    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""


class HPAScalingPolicy(ApiModel):
    """HPAScalingPolicy is a single policy which must hold true for a specified past interval."""

    period_seconds: int
    """periodSeconds specifies the window of time for which the policy should hold true."""
    type: str
    """type is used to specify the scaling policy."""
    value: int
    """value contains the amount of change which is permitted by the policy."""


class HPAScalingRules(ApiModel):
    """HPAScalingRules configures the scaling behavior for one direction via scaling Policy Rules and a configurable
    metric tolerance.
    """

    policies: list[HPAScalingPolicy] = []
    """policies is a list of potential scaling polices which can be used during scaling."""
    select_policy: str | None = None
    """selectPolicy is used to specify which policy should be used."""
    stabilization_window_seconds: int | None = None
    """stabilizationWindowSeconds is the number of seconds for which past recommendations should be considered while
    scaling up or scaling down.
    """
    tolerance: str | None = None
    """tolerance is the tolerance on the ratio between the current and desired metric value under which no updates are
    made to the desired number of replicas (e.g. 0.01 for 1%). Must be greater than or equal to zero.
    """


class HorizontalPodAutoscalerBehavior(ApiModel):
    """HorizontalPodAutoscalerBehavior configures the scaling behavior of the target in both Up and Down directions
    (scaleUp and scaleDown fields respectively).
    """

    scale_down: HPAScalingRules | None = None
    """scaleDown is scaling policy for scaling Down."""
    scale_up: HPAScalingRules | None = None
    """scaleUp is scaling policy for scaling Up."""


class HorizontalPodAutoscalerCondition(ApiModel):
    """HorizontalPodAutoscalerCondition describes the state of a HorizontalPodAutoscaler at a certain point."""

    last_transition_time: datetime | None = None
    """lastTransitionTime is the last time the condition transitioned from one status to another"""
    message: str | None = None
    """message is a human-readable explanation containing details about the transition"""
    observed_generation: int | None = None
    """observedGeneration represents the .metadata.generation that the condition was set based upon."""
    reason: str | None = None
    """reason is the reason for the condition's last transition."""
    status: str
    """status is the status of the condition (True, False, Unknown)"""
    type: str
    """type describes the current condition"""


class HorizontalPodAutoscalerSpec(ApiModel):
    """HorizontalPodAutoscalerSpec describes the desired functionality of the HorizontalPodAutoscaler."""

    behavior: HorizontalPodAutoscalerBehavior | None = None
    """behavior configures the scaling behavior of the target in both Up and Down directions (scaleUp and scaleDown
    fields respectively).
    """
    max_replicas: int
    """maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up."""
    metrics: list[MetricSpec] = []
    """metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica
    count across all metrics will be used).
    """
    min_replicas: int | None = None
    """minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down."""
    scale_target_ref: CrossVersionObjectReference
    """scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be
    collected, as well as to actually change the replica count.
    """


class HorizontalPodAutoscalerStatus(ApiModel):
    """HorizontalPodAutoscalerStatus describes the current status of a horizontal pod autoscaler."""

    conditions: list[HorizontalPodAutoscalerCondition] = []
    """conditions is the set of conditions required for this autoscaler to scale its target, and indicates whether or
    not those conditions are met.
    """
    current_metrics: list[MetricStatus] = []
    """currentMetrics is the last read state of the metrics used by this autoscaler."""
    current_replicas: int | None = None
    """currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.
    """
    desired_replicas: int
    """desiredReplicas is the desired number of replicas of pods managed by this autoscaler, as last calculated by the
    autoscaler.
    """
    last_scale_time: datetime | None = None
    """lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods, used by the autoscaler to
    control how often the number of pods is changed.
    """
    observed_generation: int | None = None
    """observedGeneration is the most recent generation observed by this autoscaler."""


class MetricIdentifier(ApiModel):
    """MetricIdentifier defines the name and optionally selector for a metric"""

    name: str
    """name is the name of the given metric"""
    selector: LabelSelector | None = None
    """selector is the string-encoded form of a standard kubernetes label selector for the given metric When set, it is
    passed as an additional parameter to the metrics server for more specific metrics scoping.
    """


class MetricSpec(ApiModel):
    """MetricSpec specifies how to scale based on a single metric (only `type` and one other matching field should be
    set at once).
    """

    container_resource: ContainerResourceMetricSource | None = None
    """containerResource refers to a resource metric (such as those specified in requests and limits) known to
    Kubernetes describing a single container in each pod of the current scale target (e.g. CPU or memory).
    """
    external: ExternalMetricSource | None = None
    """external refers to a global metric that is not associated with any Kubernetes object."""
    object: ObjectMetricSource | None = None
    """object refers to a metric describing a single kubernetes object (for example, hits-per-second on an Ingress
    object).
    """
    pods: PodsMetricSource | None = None
    """pods refers to a metric describing each pod in the current scale target (for example,
    transactions-processed-per-second).
    """
    resource: ResourceMetricSource | None = None
    """resource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes
    describing each pod in the current scale target (e.g. CPU or memory).
    """
    type: str
    """type is the type of metric source. It should be one of "ContainerResource", "External", "Object", "Pods" or
    "Resource", each mapping to a matching field in the object.
    """


class MetricStatus(ApiModel):
    """MetricStatus describes the last-read state of a single metric."""

    container_resource: ContainerResourceMetricStatus | None = None
    """containerResource refers to a resource metric (such as those specified in requests and limits) known to
    Kubernetes describing a single container in each pod in the current scale target (e.g. CPU or memory).
    """
    external: ExternalMetricStatus | None = None
    """external refers to a global metric that is not associated with any Kubernetes object."""
    object: ObjectMetricStatus | None = None
    """object refers to a metric describing a single kubernetes object (for example, hits-per-second on an Ingress
    object).
    """
    pods: PodsMetricStatus | None = None
    """pods refers to a metric describing each pod in the current scale target (for example,
    transactions-processed-per-second).
    """
    resource: ResourceMetricStatus | None = None
    """resource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes
    describing each pod in the current scale target (e.g. CPU or memory).
    """
    type: str
    """type is the type of metric source. It will be one of "ContainerResource", "External", "Object", "Pods" or
    "Resource", each corresponds to a matching field in the object.
    """


class MetricTarget(ApiModel):
    """MetricTarget defines the target value, average value, or average utilization of a specific metric"""

    average_utilization: int | None = None
    """averageUtilization is the target value of the average of the resource metric across all relevant pods,
    represented as a percentage of the requested value of the resource for the pods.
    """
    average_value: str | None = None
    """averageValue is the target value of the average of the metric across all relevant pods (as a quantity)"""
    type: str
    """type represents whether the metric type is Utilization, Value, or AverageValue"""
    value: str | None = None
    """value is the target value of the metric (as a quantity)."""


class MetricValueStatus(ApiModel):
    """MetricValueStatus holds the current value for a metric"""

    average_utilization: int | None = None
    """averageUtilization is the current value of the average of the resource metric across all relevant pods,
    represented as a percentage of the requested value of the resource for the pods.
    """
    average_value: str | None = None
    """averageValue is the current value of the average of the metric across all relevant pods (as a quantity)"""
    value: str | None = None
    """value is the current value of the metric (as a quantity)."""


class ObjectMetricSource(ApiModel):
    """ObjectMetricSource indicates how to scale on a metric describing a kubernetes object (for example,
    hits-per-second on an Ingress object).
    """

    described_object: CrossVersionObjectReference
    """describedObject specifies the descriptions of a object,such as kind,name apiVersion"""
    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""
    target: MetricTarget
    """target specifies the target value for the given metric"""


class ObjectMetricStatus(ApiModel):
    """ObjectMetricStatus indicates the current value of a metric describing a kubernetes object (for example,
    hits-per-second on an Ingress object).
    """

    current: MetricValueStatus
    """current contains the current value for the given metric"""
    described_object: CrossVersionObjectReference
    """describedObject specifies the descriptions of a object,such as kind,name apiVersion"""
    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""


class PodsMetricSource(ApiModel):
    """PodsMetricSource indicates how to scale on a metric describing each pod in the current scale target (for example,
    transactions-processed-per-second). The values will be averaged together before being compared to the target value.
    """

    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""
    target: MetricTarget
    """target specifies the target value for the given metric"""


class PodsMetricStatus(ApiModel):
    """PodsMetricStatus indicates the current value of a metric describing each pod in the current scale target (for
    example, transactions-processed-per-second).
    """

    current: MetricValueStatus
    """current contains the current value for the given metric"""
    metric: MetricIdentifier
    """metric identifies the target metric by name and selector"""


class ResourceMetricSource(ApiModel):
    """ResourceMetricSource indicates how to scale on a resource metric known to Kubernetes, as specified in requests
    and limits, describing each pod in the current scale target (e.g. CPU or memory). The values will be averaged
    together before being compared to the target. Such metrics are built in to Kubernetes, and have special scaling
    options on top of those available to normal per-pod metrics using the "pods" source. Only one "target" type should
    be set.
    """

    name: str
    """name is the name of the resource in question."""
    target: MetricTarget
    """target specifies the target value for the given metric"""


class ResourceMetricStatus(ApiModel):
    """ResourceMetricStatus indicates the current value of a resource metric known to Kubernetes, as specified in
    requests and limits, describing each pod in the current scale target (e.g. CPU or memory). Such metrics are built in
    to Kubernetes, and have special scaling options on top of those available to normal per-pod metrics using the "pods"
    source.
    """

    current: MetricValueStatus
    """current contains the current value for the given metric"""
    name: str
    """name is the name of the resource in question."""


class HorizontalPodAutoscaler(Object, ApiModel):
    """HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which automatically manages the
    replica count of any resource implementing the scale subresource based on the metrics specified.
    """

    resource: ClassVar[Resource] = _table.AUTOSCALING_V2_HORIZONTAL_POD_AUTOSCALER

    spec: HorizontalPodAutoscalerSpec = msgspec.field(default_factory=lambda: HorizontalPodAutoscalerSpec(max_replicas=0, scale_target_ref=CrossVersionObjectReference(kind="", name="")))
    """spec is the specification for the behaviour of the autoscaler."""
    status: HorizontalPodAutoscalerStatus = msgspec.field(default_factory=lambda: HorizontalPodAutoscalerStatus(desired_replicas=0))
    """status is the current information about the autoscaler."""


class HorizontalPodAutoscalerList(KindList[HorizontalPodAutoscaler]):
    """HorizontalPodAutoscalerList is a list of horizontal pod autoscaler objects."""

    api_version: ClassVar[str] = "autoscaling/v2"
    kind: ClassVar[str] = "HorizontalPodAutoscalerList"
