"""Horizontal pod autoscalers. They are stored as ``v2``; ``v1`` shows the CPU target and keeps all other ``v2`` fields
in annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.autoscaler_annotations import read_annotation, written_annotation
from setpoint.apiserver.strategies.metrics import metrics_errors, target_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    Table,
    amount,
    at_least,
    between,
    needed,
    one_of,
    row,
    unless_missing,
)
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required

if TYPE_CHECKING:
    from setpoint.meta import Resource

_V1: Final = "autoscaling/v1"
_V2: Final = "autoscaling/v2"
_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
# what v1 has no field for: (section, v2 field, annotation)
_REST: Final = (
    ("spec", "metrics", "metrics"),
    ("spec", "behavior", "behavior"),
    ("status", "currentMetrics", "current-metrics"),
    ("status", "conditions", "conditions"),
)


class Autoscalers(Strategy):
    """Horizontal pod autoscalers, with the rules of ``v2``; a ``v1`` object can be converted to v2 and back
    without loss.
    """

    generation = True  # since 1.37
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = (_to_v2(obj) if obj.get("apiVersion") == _V1 else obj).get("spec") or {}
        least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
        errors: list[FieldError] = []
        if least is not None and least < 0:
            errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 0"))
        if most == 0:
            errors.append(required("spec.maxReplicas"))
        elif most < 0:
            errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
        if least is not None and most < least:
            errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
        errors += target_errors(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
        metrics = spec.get("metrics") or []
        if least == 0 and not {item.get("type") for item in metrics} & {"Object", "External"}:
            text = "must specify at least one Object or External metric to support scaling to zero replicas"
            errors.append(forbidden("spec.metrics", text))
        errors += metrics_errors(metrics, "spec.metrics")
        return errors + _SPEC.errors(obj, old, spec, "spec")

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        spec.setdefault("minReplicas", 1)
        if obj.get("apiVersion") == _V2 and not spec.get("metrics"):
            spec["metrics"] = [_cpu_metric(80)]
        if isinstance(spec.get("behavior"), dict):
            _default_behavior(spec["behavior"])
        others = (obj["metadata"].get("annotations") or {}).get(f"{_PREFIX}metrics", "")
        if obj.get("apiVersion") == _V1 and not read_annotation("metrics", others):
            spec.setdefault("targetCPUUtilizationPercentage", 80)

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        version = target.api_version
        if obj.get("apiVersion") == version:
            return obj
        result = _to_v2(obj) if version == _V2 else _to_v1(obj)
        result["apiVersion"] = version
        return result


_SPEC: Final = Table(
    (
        *(
            check
            for direction in ("scaleUp", "scaleDown")
            for check in (
                row(
                    f"behavior.{direction}.stabilizationWindowSeconds",
                    at_least(0, "must be greater than or equal to zero"),
                    between(-(2**31), 3600, "must be less than or equal to 3600"),
                ),
                row(f"behavior.{direction}.selectPolicy", unless_missing(one_of("Disabled", "Max", "Min", empty=True))),
                row(f"behavior.{direction}.policies", unless_missing(needed("must specify at least one Policy"))),
                row(f"behavior.{direction}.policies[].type", one_of("Percent", "Pods", empty=True)),
                row(f"behavior.{direction}.policies[].value", at_least(1, "must be greater than zero", missing=True)),
                row(
                    f"behavior.{direction}.policies[].periodSeconds",
                    at_least(1, "must be greater than zero", missing=True),
                    between(-(2**31), 1800, "must be less than or equal to 1800"),
                ),
                row(f"behavior.{direction}.tolerance", amount),
            )
        ),
    )
)


def _default_behavior(behavior: JsonObject) -> None:
    for direction, policies in (("scaleUp", _UP), ("scaleDown", _DOWN)):
        rules = behavior.setdefault(direction, {})
        if isinstance(rules, dict):
            rules.setdefault("selectPolicy", "Max")
            if rules.get("policies") is None:
                rules["policies"] = [dict(policy) for policy in policies]
            if direction == "scaleUp":
                rules.setdefault("stabilizationWindowSeconds", 0)


_DOWN: Final = ({"type": "Percent", "value": 100, "periodSeconds": 15},)
_UP: Final = ({"type": "Pods", "value": 4, "periodSeconds": 15}, *_DOWN)


def _cpu_metric(percentage: int, *, current: bool = False) -> JsonObject:
    amount = {"averageUtilization": percentage}
    measured = {"current": amount} if current else {"target": {"type": "Utilization", **amount}}
    return {"type": "Resource", "resource": {"name": "cpu", **measured}}


def _cpu_of(metrics: Any, key: str) -> int | None:
    for metric in metrics or ():
        resource = metric.get("resource") or {}
        value = (resource.get(key) or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and value is not None:
            return int(value)
    return None


def _to_v1(obj: JsonObject) -> JsonObject:
    metadata = dict(obj["metadata"])
    own = {_PREFIX + annotation for _, _, annotation in _REST}
    annotations = {name: text for name, text in (metadata.get("annotations") or {}).items() if name not in own}
    result = {**obj, "metadata": metadata}
    for section, name, annotation in _REST:
        part = dict(result.get(section) or {})
        value = part.pop(name, None)
        if name == "metrics":
            value = [metric for metric in value or () if _cpu_of([metric], "target") is None]
        if value or (name == "behavior" and value is not None):
            annotations[_PREFIX + annotation] = written_annotation(name, value)
        if section in result:
            result[section] = part
    target = _cpu_of((obj.get("spec") or {}).get("metrics"), "target")
    if target is not None:
        result["spec"]["targetCPUUtilizationPercentage"] = target
    current = _cpu_of((obj.get("status") or {}).get("currentMetrics"), "current")
    if current is not None:
        result["status"]["currentCPUUtilizationPercentage"] = current
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return result


def _to_v2(obj: JsonObject) -> JsonObject:
    metadata = dict(obj["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    result = {**obj, "metadata": metadata}
    _take(result, "spec", "targetCPUUtilizationPercentage", "metrics", "target")
    _take(result, "status", "currentCPUUtilizationPercentage", "currentMetrics", "current")
    for section, name, annotation in _REST:
        text = annotations.pop(_PREFIX + annotation, None)
        value = None if text is None else read_annotation(name, text)
        if value is None:
            continue
        if name == "behavior":
            _default_behavior(value)
        part = result[section] = dict(result.get(section) or {})
        part[name] = [*value, *(part.get(name) or ())] if name == "metrics" else value
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return result


def _take(result: JsonObject, section: str, field: str, metrics: str, key: str) -> None:
    """Replaces the single integer that v1 has (``field`` in ``section``) with a metric of v2."""
    part = dict(result.get(section) or {})
    value = part.pop(field, None)
    if section in result:
        result[section] = part
    if value is not None:
        part[metrics] = [_cpu_metric(value, current=key == "current")]
