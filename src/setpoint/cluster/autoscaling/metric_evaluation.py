"""Measures: the number of replicas that each metric of an autoscaler calls for, and the status of the metric."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from setpoint.client import Client, NotFound, dynamic
from setpoint.cluster.autoscaling.metrics_client import external_metric, object_metric, pod_metric, resource_usage
from setpoint.cluster.autoscaling.replica_calculator import (
    MetricsError,
    Tolerance,
    by_average,
    by_total,
    by_utilization,
    by_value,
)
from setpoint.cluster.nodes.resource_usage import milli
from setpoint.cluster.scheduling.resource_requests import requests_of
from setpoint.cluster.served_resources import ServedResources
from setpoint.meta import Quantity, Selector
from setpoint.models.autoscaling_v2 import (
    ContainerResourceMetricStatus,
    ExternalMetricSource,
    ExternalMetricStatus,
    HorizontalPodAutoscaler,
    MetricIdentifier,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    ObjectMetricSource,
    ObjectMetricStatus,
    PodsMetricSource,
    PodsMetricStatus,
    ResourceMetricStatus,
)
from setpoint.models.core_v1 import Pod

REASONS = {
    "Resource": "FailedGetResourceMetric",
    "ContainerResource": "FailedGetContainerResourceMetric",
    "Pods": "FailedGetPodsMetric",
    "Object": "FailedGetObjectMetric",
    "External": "FailedGetExternalMetric",
}


class Proposal(NamedTuple):
    """The number of replicas that one metric calls for, and the status of that metric."""

    replicas: int
    metric: str
    status: MetricStatus


class Measures:
    """The metrics of one autoscaler at one moment.

    ``wanted`` is the number of replicas in the spec of the target's scale, ``present`` the number in its status.
    """

    def __init__(
        self,
        client: Client,
        resources: ServedResources,
        autoscaler: HorizontalPodAutoscaler,
        pods: Sequence[Pod],
        selector: Selector,
        *,
        wanted: int,
        present: int,
        tolerance: Tolerance,
        now: datetime,
    ) -> None:
        self._client = client
        self._resources = resources
        self._autoscaler = autoscaler
        self._pods = pods
        self._selector = selector
        self._wanted = wanted
        self._present = present
        self._tolerance = tolerance
        self._now = now

    async def of(self, spec: MetricSpec) -> Proposal:
        """The proposal of one metric.

        Raises:
            MetricsError: no number of replicas can be computed from the metric.
            ApiError: the server refused a request for the metric.
        """
        if spec.type == "Resource" and spec.resource is not None:
            replicas, metric, value = await self._resource(spec.resource.name, spec.resource.target)
            resource_status = ResourceMetricStatus(name=spec.resource.name, current=value)
            return Proposal(replicas, metric, MetricStatus(type=spec.type, resource=resource_status))
        if spec.type == "ContainerResource" and (source := spec.container_resource) is not None:
            replicas, metric, value = await self._resource(source.name, source.target, source.container)
            status = ContainerResourceMetricStatus(name=source.name, container=source.container, current=value)
            return Proposal(replicas, metric, MetricStatus(type=spec.type, container_resource=status))
        if spec.type == "Pods" and spec.pods is not None:
            return await self._per_pod(spec.pods)
        if spec.type == "Object" and spec.object is not None:
            return await self._object(spec.object)
        if spec.type == "External" and spec.external is not None:
            return await self._external(spec.external)
        raise MetricsError(f'unknown metric source type "{spec.type}"')

    async def _resource(
        self, name: str, target: MetricTarget, container: str = ""
    ) -> tuple[int, str, MetricValueStatus]:
        try:
            return await self._usage(name, target, container)
        except MetricsError as problem:
            word = "usage" if target.average_value is not None else "utilization"
            raise MetricsError(f"failed to get {name} {word}: {problem}") from None

    async def _usage(self, name: str, target: MetricTarget, container: str) -> tuple[int, str, MetricValueStatus]:
        namespace = self._autoscaler.namespace
        usage = await resource_usage(self._client, self._pods, namespace, self._selector, name, container)
        is_cpu = name == "cpu"
        if target.average_value is not None:
            replicas, average = by_average(
                self._pods, usage, current=self._wanted, target=milli(target.average_value),
                tolerance=self._tolerance, is_cpu=is_cpu, now=self._now,
            )  # fmt: skip
            return replicas, f"{name} resource", MetricValueStatus(average_value=_format_amount(name, average))
        if target.average_utilization is None:
            raise MetricsError(
                "invalid resource metric source: neither an average utilization target nor an average value (usage) "
                "target was set"
            )
        requests = {pod.name: _request(pod, name, container) for pod in self._pods}
        replicas, utilization, average = by_utilization(
            self._pods, usage, requests, current=self._wanted, target=target.average_utilization,
            tolerance=self._tolerance, is_cpu=is_cpu, now=self._now,
        )  # fmt: skip
        metric = f"{name} {'container ' if container else ''}resource utilization (percentage of request)"
        return replicas, metric, MetricValueStatus(
            average_utilization=utilization, average_value=_format_amount(name, average)
        )  # fmt: skip

    async def _per_pod(self, source: PodsMetricSource) -> Proposal:
        name, average_value = source.metric.name, source.target.average_value
        assert average_value is not None  # the server refuses an autoscaler without it
        values = await pod_metric(
            self._client, self._pods, self._autoscaler.namespace, self._selector, name, source.metric.selector
        )
        replicas, average = by_average(
            self._pods, values, current=self._wanted, target=milli(average_value),
            tolerance=self._tolerance, is_cpu=False, now=self._now,
        )  # fmt: skip
        status = PodsMetricStatus(
            metric=_named(source.metric), current=MetricValueStatus(average_value=_format_amount(name, average))
        )
        return Proposal(replicas, f"pods metric {name}", MetricStatus(type="Pods", pods=status))

    async def _object(self, source: ObjectMetricSource) -> Proposal:
        about, name = source.described_object, source.metric.name
        namespace = self._autoscaler.namespace
        resource = await self._resources.find(self._client, about.api_version or "v1", about.kind)
        if resource is None:
            raise MetricsError(f"unable to get metric {name}: no matches for kind {about.kind}")
        try:
            obj = await self._client.get(
                dynamic(resource), about.name, namespace=namespace if resource.namespaced else None
            )
        except NotFound:
            obj = None
        place = f"namespaces/{namespace}/" if resource.namespaced else ""
        path = f"{place}{resource.group_resource}/{about.name}"
        value = await object_metric(self._client, obj, path, name, source.metric.selector)
        if value is None:
            raise MetricsError(f"unable to get metric {name}: {about.kind} on {namespace} {about.name}")
        replicas, current = self._of_one(value, source.target, name)
        status = ObjectMetricStatus(metric=_named(source.metric), described_object=about, current=current)
        return Proposal(replicas, f"{about.kind} metric {name}", MetricStatus(type="Object", object=status))

    async def _external(self, source: ExternalMetricSource) -> Proposal:
        name = source.metric.name
        value = await external_metric(self._client, self._autoscaler, name, source.metric.selector)
        if value is None:
            raise MetricsError(
                f"unable to get external metric {self._autoscaler.namespace}/{name}: no metrics returned"
            )
        replicas, current = self._of_one(value, source.target, name)
        status = ExternalMetricStatus(metric=_named(source.metric), current=current)
        return Proposal(replicas, f"external metric {name}", MetricStatus(type="External", external=status))

    def _of_one(self, value: int, target: MetricTarget, name: str) -> tuple[int, MetricValueStatus]:
        """The number of replicas for a metric that has a single value for all pods, and the status of that value."""
        if target.average_value is not None:
            replicas, average = by_total(
                value, replicas=self._present, target=milli(target.average_value), tolerance=self._tolerance
            )
            return replicas, MetricValueStatus(average_value=_format_amount(name, average))
        if target.value is None:
            raise MetricsError("invalid metric source: neither a value target nor an average value target was set")
        replicas = by_value(
            value, self._pods, current=self._wanted, target=milli(target.value), tolerance=self._tolerance
        )
        return replicas, MetricValueStatus(value=_format_amount(name, value))


def _request(pod: Pod, resource: str, container: str) -> int:
    for container_spec in pod.spec.containers:
        requests = container_spec.resources.requests if container_spec.resources is not None else {}
        whole = pod.spec.resources.requests if pod.spec.resources is not None else {}
        if container in ("", container_spec.name) and resource not in requests and (container or resource not in whole):
            raise MetricsError(f"missing request for {resource} in container {container_spec.name} of Pod {pod.name}")
        if container == container_spec.name:
            return milli(requests[resource])
    if container:
        raise MetricsError(f"container {container} not found in Pod {pod.name}")
    amount = requests_of(pod.spec).get(resource, 0)
    return amount if resource == "cpu" else amount * 1000


def _named(metric: MetricIdentifier) -> MetricIdentifier:
    return MetricIdentifier(name=metric.name, selector=metric.selector)


def _format_amount(name: str, amount: int) -> str:
    """An amount in thousandths as a quantity in upstream's notation, with memory in powers of two where possible."""
    whole, rest = divmod(amount, 1000)
    if name == "memory" and not rest and not whole % 1024:
        return str(Quantity(f"{whole // 1024}Ki"))
    return str(Quantity(f"{amount}m"))
