"""Sources of metrics: the metrics APIs if the server has them, otherwise the annotations of the objects.

Values are integers in thousandths; a function that returns the values for several pods maps each pod's name to its
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from setpoint.client import Client, NotFound
from setpoint.cluster.autoscaling.replica_calculator import MetricsError
from setpoint.cluster.nodes.resource_usage import annotated, metric, milli
from setpoint.meta import LabelSelector, Object, Selector
from setpoint.models.core_v1 import Pod


async def resource_usage(
    client: Client, pods: Sequence[Pod], namespace: str, selector: Selector, resource: str, container: str = ""
) -> dict[str, int]:
    """The usage of ``cpu`` or ``memory`` by each pod, or by one container of each pod, from ``metrics.k8s.io``; if the
    server does not have this API, from the annotations of the pods.

    Raises:
        MetricsError: the server does not have the API and no pod has the annotation, or the API has no metrics for any
            of the pods.
    """
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"
    items = await _items(client, path, [("labelSelector", str(selector))])
    if items is None:
        usage = _annotated_usage(pods, resource, container)
        if not usage:
            why = "the server could not find the requested resource (get pods.metrics.k8s.io)"
            text = f"unable to get metrics for resource {resource}: unable to fetch metrics from resource metrics API"
            raise MetricsError(f"{text}: {why}")
        return usage
    if not items:
        raise MetricsError(
            f"unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
        )
    usage = {}
    for item in items:
        used = [
            milli(container_usage["usage"][resource])
            for container_usage in item.get("containers") or ()
            if resource in (container_usage.get("usage") or {}) and container in ("", container_usage.get("name"))
        ]
        if used:
            usage[item["metadata"]["name"]] = sum(used)
    return usage


async def pod_metric(
    client: Client, pods: Sequence[Pod], namespace: str, selector: Selector, name: str, of: LabelSelector | None
) -> dict[str, int]:
    """The value of a metric for each pod, from ``custom.metrics.k8s.io`` or else from the annotation of the pod."""
    path = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/*/{quote(name, safe='')}"
    query = [("labelSelector", str(selector)), ("metricLabelSelector", str(Selector.of(of)))]
    values = {pod.name: value for pod in pods if (value := _annotated(pod, name)) is not None}
    for item in await _items(client, path, query) or ():
        values[item["describedObject"]["name"]] = milli(item["value"])
    return values


async def object_metric(
    client: Client, obj: Object | None, path: str, name: str, of: LabelSelector | None
) -> int | None:
    """The value of a metric for one object, from ``custom.metrics.k8s.io`` or else from the object's annotation; None
    if neither has it. ``path`` leads to the object (``services/web``).
    """
    query = [("metricLabelSelector", str(Selector.of(of)))]
    url_path = f"/apis/custom.metrics.k8s.io/v1beta2/{path}/{quote(name, safe='')}"
    for item in await _items(client, url_path, query) or ():
        return milli(item["value"])
    return None if obj is None else _annotated(obj, name)


async def external_metric(client: Client, owner: Object, name: str, of: LabelSelector | None) -> int | None:
    """The sum of an external metric, from ``external.metrics.k8s.io`` or else from an annotation of ``owner``; None if
    neither has it.
    """
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{owner.namespace}/{quote(name, safe='')}"
    items = await _items(client, path, [("labelSelector", str(Selector.of(of)))])
    if items:
        return sum(milli(item["value"]) for item in items)
    return _annotated(owner, name)


def _annotated_usage(pods: Sequence[Pod], resource: str, container: str) -> dict[str, int]:
    """The usage of a resource by each pod, or by one container of each pod, from the annotations of the pods."""
    usage: dict[str, int] = {}
    for pod in pods:
        sidecars = [sidecar for sidecar in pod.spec.init_containers if sidecar.restart_policy == "Always"]
        amounts = annotated(
            pod.annotations, [container_spec.name for container_spec in (*sidecars, *pod.spec.containers)], resource
        )
        used = [milli(amount) for name, amount in amounts.items() if container in ("", name)]
        if used:
            usage[pod.name] = sum(used)
    return usage


def _annotated(obj: Object, name: str) -> int | None:
    """The value of a metric of an object, from the annotations of the object; None if they do not give it."""
    amount = metric(obj.annotations, name)
    return None if amount is None else milli(amount)


async def _items(client: Client, path: str, query: list[tuple[str, str]]) -> list[dict[str, Any]] | None:
    """The items of a list; None if the server does not have the API."""
    try:
        body = await client.request("GET", path, query=tuple(parameter for parameter in query if parameter[1]))
    except NotFound:
        return None
    items: list[dict[str, Any]] = msgspec.json.decode(body).get("items") or []
    return items
