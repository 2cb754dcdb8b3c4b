"""The workloads of ``apps``: deployments, replica sets, stateful sets, daemon sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.pod_template import default_template, template_errors
from setpoint.apiserver.strategies.rules.row import Table, at_least, named, one_of, row
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.meta import LabelSelector, Selector, SelectorError, from_wire
from setpoint.meta.names import dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

__all__ = ["DaemonSets", "Deployments", "ReplicaSets", "ReplicationControllers", "StatefulSets"]


class _Workload(Strategy):
    generation = True
    has_replicas = True
    claim_templates = False
    """Whether volumes may come from claims that are not in the template, so that mounts are not looked up."""

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        if self.has_replicas and spec.get("replicas") is None:
            spec["replicas"] = 1
        self.default_spec(spec)
        if spec.get("template") is None:
            spec["template"] = {}
        if isinstance(spec["template"], dict) and spec["template"].get("spec") is None:
            spec["template"]["spec"] = {}
        default_template(spec["template"])
        obj.setdefault("status", {})

    def default_spec(self, spec: JsonObject) -> None: ...

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        errors = _nonnegative(spec, "spec", ("replicas",))
        errors += _selector_errors(spec)
        errors += template_errors(spec.get("template"), "spec.template", mounts=not self.claim_templates)
        errors += _nonnegative(spec, "spec", ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"))
        if old is not None and not self.claim_templates and spec.get("selector") != old["spec"].get("selector"):
            errors.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
        return errors

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        status = obj.get("status")
        return _nonnegative(status, "status", tuple(status)) if isinstance(status, dict) else []


def _nonnegative(part: JsonObject, path: str, names: Iterable[str]) -> list[FieldError]:
    return [
        invalid(f"{path}.{name}", part[name], "must be greater than or equal to 0")
        for name in names
        if isinstance(part.get(name), int) and part[name] < 0
    ]


def _selector_errors(spec: JsonObject) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template")
    if not isinstance(template, dict):
        return []
    labels = (template.get("metadata") or {}).get("labels")
    mismatch = invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if not isinstance(selector, dict):
        return [mismatch]  # that it is missing the schema says
    errors = label_selector_errors(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return [*errors, invalid("spec.selector", selector, "empty selector is invalid for deployment")]
    try:
        matches = Selector.from_label_selector(from_wire(LabelSelector, selector)).matches(labels or {})
    except SelectorError:
        return [*errors, invalid("spec.selector", selector, "invalid label selector")]
    return errors if matches else [*errors, mismatch]


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
            text = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(forbidden("spec.strategy.rollingUpdate", text))
        elif kind == "RollingUpdate":
            rolling = strategy["rollingUpdate"]
            if _is_zero(rolling.get("maxUnavailable")) and _is_zero(rolling.get("maxSurge")):
                where, text = ("spec.strategy.rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0")
                errors.append(invalid(where, rolling.get("maxUnavailable"), text))
        return errors

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        errors = super().validate_subresource(subresource, obj, old)
        status = obj.get("status") or {}
        replicas, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas"):
            if status.get(name, 0) > replicas:
                errors.append(invalid(f"status.{name}", status[name], "cannot be greater than status.replicas"))
        if status.get("availableReplicas", 0) > ready:
            available = status["availableReplicas"]
            errors.append(invalid("status.availableReplicas", available, "cannot be greater than readyReplicas"))
        return errors


def _is_zero(value: Any) -> bool:
    return value in (0, "0", "0%")


class ReplicaSets(_Workload):
    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0}


class ReplicationControllers(_Workload):
    """The elder of replica sets: its selector is a plain map, by default its template's labels."""

    propagation = "Orphan"

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        template = spec.get("template")
        default_template(template)
        labels = ((template or {}).get("metadata") or {}).get("labels") if isinstance(template, dict) else None
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = _nonnegative(spec, "spec", ("minReadySeconds",))
        selector, template = spec.get("selector") or {}, spec.get("template")
        if not selector:
            errors.append(required("spec.selector"))
        errors += _nonnegative(spec, "spec", ("replicas",))
        if template is None:
            return [*errors, required("spec.template")]
        labels = (template.get("metadata") or {}).get("labels") or {}
        if selector and not selector.items() <= labels.items():
            text = "`selector` does not match template `labels`"
            errors.append(invalid("spec.template.metadata.labels", labels, text))
        return errors + template_errors(template, "spec.template")


_MUTABLE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "revisionHistoryLimit",
    }
)
_STATEFUL_SET_FROZEN: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_SET: Final = Table(
    (
        row("podManagementPolicy", one_of("OrderedReady", "Parallel")),
        row("updateStrategy.type", one_of("RollingUpdate", "OnDelete")),
        row("updateStrategy.rollingUpdate.partition", at_least(0)),
        row("persistentVolumeClaimRetentionPolicy.whenDeleted", one_of("Delete", "Retain")),
        row("persistentVolumeClaimRetentionPolicy.whenScaled", one_of("Delete", "Retain")),
        row("ordinals.start", at_least(0)),
        row("serviceName", named(dns1123_subdomain)),
    )
)


class StatefulSets(_Workload):
    claim_templates = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj["spec"]
        errors = super().validate(obj, old)
        errors += _STATEFUL_SET.errors(obj, old, spec, "spec")
        if old is not None:
            before = old["spec"]
            changed = [
                name
                for name in spec.keys() | before.keys()
                if name not in _MUTABLE and (spec.get(name) or None) != (before.get(name) or None)
            ]
            if changed:
                errors.append(forbidden("spec", _STATEFUL_SET_FROZEN))
        return errors

    def default_spec(self, spec: JsonObject) -> None:
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.get("rollingUpdate") or {}
            rolling.setdefault("partition", 0)
            rolling.setdefault("maxUnavailable", 1)  # since 1.37
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


_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


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
        self._count(obj, 1)

    def prepare_update(self, call: Any, new: JsonObject, old: JsonObject) -> None:
        known = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
        before = int(known) if known.isdecimal() else 0
        changed = new["spec"].get("template") != old["spec"].get("template")
        again = changed or new["spec"].get("updateStrategy") != old["spec"].get("updateStrategy")
        self._count(new, before + 1 if again else before)

    @staticmethod
    def _count(obj: JsonObject, generation: int) -> None:
        annotations = dict(obj["metadata"].get("annotations") or {})
        obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}
