"""The workloads of ``apps``: deployments, replica sets, stateful sets, daemon sets."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.strategies.pod_template import default_template, template_errors
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.meta import LabelSelector, Selector, SelectorError, from_wire
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported

__all__ = ["DaemonSets", "Deployments", "ReplicaSets", "StatefulSets"]


class _Workload(Strategy):
    generation = True
    zero: JsonObject = {"spec": {"template": {"metadata": {}, "spec": {}}}, "status": {}}
    has_replicas = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        if self.has_replicas and spec.get("replicas") is None:
            spec["replicas"] = 1
        self.default_spec(spec)
        default_template(spec.get("template"))
        obj.setdefault("status", {})

    def default_spec(self, spec: JsonObject) -> None: ...

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        errors = template_errors(spec.get("template"), "spec.template")
        errors += _selector_errors(spec)
        for key in ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
            value = spec.get(key)
            if isinstance(value, int) and value < 0:
                errors.append(invalid(f"spec.{key}", value, "must be greater than or equal to 0"))
        if old is not None and spec.get("selector") != old["spec"].get("selector"):
            errors.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
        return errors


def _selector_errors(spec: JsonObject) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template")
    if not isinstance(selector, dict) or not isinstance(template, dict):
        return []
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return [invalid("spec.selector", selector, "empty selector is invalid for deployment")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    try:
        matches = Selector.from_label_selector(from_wire(LabelSelector, selector)).matches(labels)
    except SelectorError as problem:
        return [invalid("spec.selector", selector, str(problem))]
    if matches:
        return []
    return [invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]


class Deployments(_Workload):
    def default_spec(self, spec: JsonObject) -> None:
        strategy = spec.setdefault("strategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.get("rollingUpdate") or {}
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
            strategy["rollingUpdate"] = rolling
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        if spec.get("progressDeadlineSeconds") is None:
            spec["progressDeadlineSeconds"] = 600

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors = super().validate(obj, old)
        strategy = (obj.get("spec") or {}).get("strategy") or {}
        kind = strategy.get("type")
        if kind not in ("Recreate", "RollingUpdate"):
            errors.append(not_supported("spec.strategy.type", kind, ("Recreate", "RollingUpdate")))
        elif kind == "Recreate" and strategy.get("rollingUpdate"):
            from setpoint.schema.errors import forbidden

            text = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(forbidden("spec.strategy.rollingUpdate", text))
        return errors


class ReplicaSets(_Workload):
    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0}


class StatefulSets(_Workload):
    def default_spec(self, spec: JsonObject) -> None:
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.get("rollingUpdate") or {}
            rolling.setdefault("partition", 0)
            strategy["rollingUpdate"] = rolling
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        spec.setdefault("persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"})
        for claim in spec.get("volumeClaimTemplates") or ():
            claim.setdefault("apiVersion", "v1")
            claim.setdefault("kind", "PersistentVolumeClaim")
            claim.setdefault("status", {"phase": "Pending"})
            if isinstance(claim.get("spec"), dict):
                claim["spec"].setdefault("volumeMode", "Filesystem")

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0, "availableReplicas": 0}


class DaemonSets(_Workload):
    has_replicas = False

    def default_spec(self, spec: JsonObject) -> None:
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.get("rollingUpdate") or {}
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
            strategy["rollingUpdate"] = rolling
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = dict.fromkeys(
            ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0
        )
