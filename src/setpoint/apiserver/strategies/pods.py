"""Pods: defaults, immutable fields, and graceful deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.pod_annotations import (
    annotation_changes,
    annotation_errors,
    profile_conflicts,
    set_profiles,
)
from setpoint.apiserver.strategies.pod_level_resources import default_pod_resources
from setpoint.apiserver.strategies.pod_resources import qos_class
from setpoint.apiserver.strategies.pod_spec import pod_spec_errors
from setpoint.apiserver.strategies.pod_status import completed_status, status_errors
from setpoint.apiserver.strategies.pod_subresources import (
    EPHEMERAL,
    RESIZE,
    ephemeral_errors,
    resize_errors,
    with_ephemeral_containers,
    with_resources,
)
from setpoint.apiserver.strategies.pod_template import default_pod_spec
from setpoint.patch.fieldset import FieldSet
from setpoint.schema import FieldError, copy_json, json_equal
from setpoint.schema.errors import forbidden, invalid, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_OF_THE_WRITE: Final = ("managedFields", "resourceVersion")
"""The only metadata that a write of ``/resize`` or ``/ephemeralcontainers`` changes."""
_ENDED: Final = ("Succeeded", "Failed")
_FROZEN: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class Pods(Strategy):
    """Pods. The deletion of a pod that is on a node and has not ended has a grace period, after which the kubelet
    removes the pod; other pods are deleted immediately.
    """

    status_keeps = ("ownerReferences",)
    generation = True
    returns_deleted = True
    says_required = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
            spec["terminationGracePeriodSeconds"] = 1
        default_pod_spec(spec, pod=True)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        set_profiles(obj)
        default_pod_resources(obj["spec"])
        status: JsonObject = {"phase": "Pending", "qosClass": qos_class(obj.get("spec") or {})}
        obj["status"] = status
        if obj["spec"].get("schedulingGates"):
            text = "Scheduling is blocked due to non-empty scheduling gates"
            gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": text}
            status["conditions"] = [{**gated, "lastTransitionTime": call.timestamp()}]

    def prepare_status_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> JsonObject:
        result = super().prepare_status_update(call, new, old)
        if isinstance(result.get("status"), dict):
            result["status"] = completed_status(result["status"])
            result["status"].setdefault("qosClass", (old.get("status") or {}).get("qosClass") or qos_class(old["spec"]))
        return result

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        if subresource == "status":
            return self.prepare_status_update(call, new, old)
        part = with_resources if subresource == RESIZE else with_ephemeral_containers
        metadata = {key: new["metadata"][key] for key in _OF_THE_WRITE if key in new["metadata"]}
        return {**old, "metadata": old["metadata"] | metadata, "spec": part(old["spec"], new.get("spec") or {})}

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        if subresource == RESIZE:
            return resize_errors(obj, old)
        return ephemeral_errors(obj, old) if subresource == EPHEMERAL else status_errors(obj, old)

    def ignored_fields(self, subresource: str) -> FieldSet:
        if subresource != "status":
            return super().ignored_fields(subresource)
        return FieldSet.of(("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences"))

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj["spec"]
        errors = annotation_errors(obj["metadata"], spec, "metadata.annotations")
        errors += pod_spec_errors(spec, "spec", pod=obj["metadata"].get("name", ""))
        if not spec.get("serviceAccountName"):
            errors += _token_errors(spec)
        if old is None:
            errors += profile_conflicts(obj["metadata"], spec, "spec")
        grace = spec.get("terminationGracePeriodSeconds", 0)
        if grace < 0:
            text = "must be greater than or equal to 0"
            errors.append(invalid("spec.terminationGracePeriodSeconds", grace, text))
        if old is None and spec.get("ephemeralContainers"):
            errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if old is None and spec.get("nodeName") and spec.get("schedulingGates"):
            errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
        if old is None:
            return errors
        changes = annotation_changes(obj["metadata"], old["metadata"], "metadata.annotations")
        return errors + changes + _change_errors(spec, old["spec"])

    def grace_period(self, obj: JsonObject, wanted: int | None) -> int | None:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        seconds: int = 30
        if wanted is not None:
            seconds = wanted
        elif spec.get("terminationGracePeriodSeconds") is not None:
            seconds = spec["terminationGracePeriodSeconds"]
        if not spec.get("nodeName") or status.get("phase") in _ENDED:
            seconds = 0  # no kubelet could end it gracefully
        return 1 if seconds < 0 else seconds


def _token_errors(spec: JsonObject) -> list[FieldError]:
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken", text)
        for index, volume in enumerate(spec.get("volumes") or ())
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def _change_errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in ("containers", "initContainers"):
        if len(new.get(key) or ()) != len(old.get(key) or ()):
            return [*errors, forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
        for index, container in enumerate(new.get(key) or ()):
            if not container.get("image"):
                errors.append(required(f"spec.{key}[{index}].image"))
    now, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if now is not None and not 0 <= now <= 2**31 - 1:
        text = "must be between 0 and 2147483647, inclusive"
        return [*errors, invalid("spec.activeDeadlineSeconds", now, text)]
    if now is not None and before is not None and now > before:
        text = "must be less than or equal to previous value"
        return [*errors, invalid("spec.activeDeadlineSeconds", now, text)]
    if now is None and before is not None:
        text = "must not update from a positive integer to nil value"
        errors.append(invalid("spec.activeDeadlineSeconds", None, text))
    new_tolerations = {_timeless(item) for item in new.get("tolerations") or ()}
    if not all(_timeless(item) in new_tolerations for item in old.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden("spec.tolerations", text))
    gates = {item.get("name", "") for item in old.get("schedulingGates") or ()}
    for index, gate in enumerate(new.get("schedulingGates") or ()):
        name = gate.get("name", "")
        if name not in gates:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            errors.append(forbidden(f"spec.schedulingGates[{index}].name", text))
    if not _only_allowed_changes(new, old):
        errors.append(forbidden("spec", _FROZEN))
    return errors


def _timeless(toleration: JsonObject) -> frozenset[tuple[str, object]]:
    return frozenset((key, value) for key, value in toleration.items() if key != "tolerationSeconds")


def _only_allowed_changes(new: JsonObject, old: JsonObject) -> bool:
    """Whether an update changes only fields that may change: images, the deadline, tolerations, scheduling gates and,
    for a pod with scheduling gates, the node selector and affinity. A negative grace period may change to 1.
    """
    if new == old:
        return True
    changed: JsonObject = copy_json(new)
    for key in ("containers", "initContainers"):
        for item, before in zip(changed.get(key) or (), old.get(key) or (), strict=False):
            item["image"] = before.get("image")
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations", "nodeSelector", "affinity"):
        if key in ("nodeSelector", "affinity") and not old.get("schedulingGates"):
            continue
        changed.pop(key, None)
        if key in old:
            changed[key] = old[key]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        changed["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return json_equal(changed, old)
