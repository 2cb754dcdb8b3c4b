"""The workloads of ``apps``: deployments, replica sets, stateful sets, daemon sets."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.pod_template import default_template
from setpoint.apiserver.strategies.workloads import (
    controller_errors,
    daemon_set_errors,
    deployment_errors,
    replica_set_errors,
    stateful_set_errors,
)
from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.meta.names import dns1123_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid


class _Workload(Strategy):
    generation = True
    has_replicas = True
    says_required = True

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


def _specs(obj: JsonObject, old: JsonObject | None) -> tuple[JsonObject, JsonObject | None]:
    return obj.get("spec") or {}, None if old is None else old.get("spec") or {}


_ROLLBACK: Final = "deprecated.deployment.rollback.to"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
"""The annotation that holds ``spec.templateGeneration`` of older API versions; its value must be an integer."""


def _annotated(obj: JsonObject, name: str) -> str | None:
    value: str | None = (obj["metadata"].get("annotations") or {}).get(name)
    return value


class Deployments(_Workload):
    status_keeps = ("labels",)

    def read(self, obj: JsonObject) -> None:
        text = _annotated(obj, _ROLLBACK)
        if text:
            try:
                obj["metadata"]["annotations"][_ROLLBACK] = str(parse_int(text))
            except NumberError as problem:
                raise ValueError(f"failed to parse annotation[{_ROLLBACK}]={text} as int64: {problem}") from None

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether a change increases the generation. Annotations count too, because replica sets have
        copies of them.
        """
        annotations = [obj["metadata"].get("annotations") or {} for obj in (new, old)]
        return annotations[0] != annotations[1] or super().wants_something_else(new, old)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors = deployment_errors(*_specs(obj, old))
        revision = _annotated(obj, _ROLLBACK) or ""
        if revision.startswith("-"):
            errors.append(invalid("spec.rollback.version", int(revision), "must be greater than or equal to 0"))
        return errors

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


class ReplicaSets(_Workload):
    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return replica_set_errors(*_specs(obj, old))

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0}


class ReplicationControllers(_Workload):
    """Replication controllers. Their selector is a plain map, by default the labels of the template."""

    propagation = "Orphan"

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        return dns1123_subdomain(name, "bytes")

    def prefix_rule(self, name: str, /) -> list[str]:
        return []

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        template = spec.get("template")
        if isinstance(template, dict):
            template.setdefault("spec", {})
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
        return controller_errors(obj.get("spec") or {})


class StatefulSets(_Workload):
    name_rule = staticmethod(dns1123_label)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return stateful_set_errors(*_specs(obj, old))

    def default_spec(self, spec: JsonObject) -> None:
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = spec.setdefault("updateStrategy", {})
        if "type" not in strategy:
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        rolling = strategy.get("rollingUpdate")
        if strategy["type"] == "RollingUpdate" and rolling is not None:
            rolling.setdefault("partition", 0)
            rolling.setdefault("maxUnavailable", 1)  # since 1.37
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for when in ("whenDeleted", "whenScaled"):
            retention[when] = retention.get(when) or "Retain"
        for claim in spec.get("volumeClaimTemplates") or ():
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
            status = claim.setdefault("status", {})
            status["phase"] = status.get("phase") or "Pending"
            claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    def prepare_create(self, call: Any, obj: JsonObject) -> None:
        obj["status"] = {"replicas": 0, "availableReplicas": 0}


class DaemonSets(_Workload):
    has_replicas = False

    def read(self, obj: JsonObject) -> None:
        text = _annotated(obj, _TEMPLATE_GENERATION)
        self._count(obj, parse_int(text) if text is not None else 0)  # upstream's conversion writes it, too

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return daemon_set_errors(*_specs(obj, old))

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
        text = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
        before = int(text) if text.isdecimal() else 0
        changed = new["spec"].get("template") != old["spec"].get("template")
        again = changed or new["spec"].get("updateStrategy") != old["spec"].get("updateStrategy")
        self._count(new, before + 1 if again else before)

    def prepare_status_update(self, call: Any, new: JsonObject, old: JsonObject) -> JsonObject:
        result = super().prepare_status_update(call, new, old)
        generation = _annotated(old, _TEMPLATE_GENERATION)
        if generation is not None:  # upstream, it is a field of the spec
            self._count(result, int(generation))
        return result

    @staticmethod
    def _count(obj: JsonObject, generation: int) -> None:
        annotations = dict(obj["metadata"].get("annotations") or {})
        obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}
