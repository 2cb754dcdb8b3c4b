"""Rules for the metrics of HorizontalPodAutoscalers: metrics of objects, pods and resources, and
external metrics.
"""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.pod_resources import container_resource_errors
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

Errors = list[FieldError]
_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS: Final = {
    "object": "Object",
    "external": "External",
    "pods": "Pods",
    "resource": "Resource",
    "containerResource": "ContainerResource",
}
"""The fields in the order in which a kube-apiserver checks them."""
_BOTH: Final = "may not set both a target raw value and a target utilization"


def target_errors(reference: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for key in ("kind", "name"):
        value = reference.get(key, "")
        if not value:
            errors.append(required(f"{path}.{key}"))
        errors += [invalid(f"{path}.{key}", value, text) for text in path_segment(value)]
    version, kind = reference.get("apiVersion", ""), reference.get("kind")
    group, slash, _ = version.partition("/")
    if not (group and slash) and (version, kind) != ("v1", "ReplicationController"):
        errors.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def metrics_errors(metrics: list[JsonObject], path: str) -> Errors:
    """The errors in all metrics of an autoscaler."""
    errors: Errors = []
    for index, metric in enumerate(metrics):
        errors += _metric(metric, f"{path}[{index}]")
    return errors


def _metric(metric: JsonObject, path: str) -> Errors:
    kind = metric.get("type", "")
    errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _TYPES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    fields = [name for name in _FIELDS if metric.get(name) is not None]
    if fields:
        errors += _source(metric[fields[0]], fields[0], f"{path}.{fields[0]}")
    wanted = next((name for name, type_ in _FIELDS.items() if type_ == kind), "")
    if wanted and wanted not in fields:
        text = "must populate information for the given metric source"
        errors.append(required(f"{path}.{wanted}", text))
    if len(fields) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{name}", text) for name in fields if name != wanted]
    return errors


def _source(source: JsonObject, name: str, path: str) -> Errors:
    target, errors = source.get("target") or {}, []
    if name == "object":
        reference = source.get("describedObject") or {}
        errors += [e for e in target_errors(reference, f"{path}.describedObject") if "apiVersion" not in e.field]
    if name in ("object", "external", "pods"):
        errors += _identifier(source.get("metric") or {}, f"{path}.metric")
    else:
        errors += _resource(source, name, path)
    path = f"{path}.target"
    errors += _target(target, path)
    value, average, share = target.get("value"), target.get("averageValue"), target.get("averageUtilization")
    if name == "object" and value is None and average is None:
        errors.append(required(f"{path}.averageValue", "must set either a target value or averageValue"))
    elif name == "external" and value is None and average is None:
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.averageValue", text))
    elif name == "external" and value is not None and average is not None:
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.value", text))
    elif name == "pods" and average is None:
        errors.append(required(f"{path}.averageValue", "must specify a positive target averageValue"))
    elif name in ("resource", "containerResource") and share is None and average is None:
        text = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.averageUtilization", text))
    elif name in ("resource", "containerResource") and share is not None and average is not None:
        errors.append(forbidden(f"{path}.averageValue", _BOTH))
    return errors


def _resource(source: JsonObject, name: str, path: str) -> Errors:
    errors: Errors = []
    resource, container = source.get("name", ""), source.get("container", "")
    if not resource:
        errors.append(required(f"{path}.name", "must specify a resource name"))
    elif name == "containerResource":
        errors += container_resource_errors(resource, f"{path}.name")
    if name == "containerResource" and not container:
        errors.append(required(f"{path}.container", "must specify a container"))
    elif name == "containerResource":
        errors += [invalid(f"{path}.container", container, text) for text in dns1123_label(container)]
    return errors


def _identifier(metric: JsonObject, path: str) -> Errors:
    name = metric.get("name", "")
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return [invalid(f"{path}.name", name, text) for text in path_segment(name)]


def _target(target: JsonObject, path: str) -> Errors:
    kind = target.get("type", "")
    errors = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        text = "must be either Utilization, Value, or AverageValue"
        errors.append(invalid(f"{path}.type", kind, text))
    for name in ("value", "averageValue"):
        amount = target.get(name)
        if amount is not None and Quantity(amount) <= Quantity("0"):
            errors.append(invalid(f"{path}.{name}", amount, "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors
