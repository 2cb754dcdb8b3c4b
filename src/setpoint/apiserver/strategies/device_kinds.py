"""The kinds of dynamic resource allocation: device claims, slices, device classes, taints."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from setpoint.apiserver.errors import invalid as refused
from setpoint.apiserver.resources.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.strategies.claim_access import access_errors, admin_status_errors
from setpoint.apiserver.strategies.claim_status import claim_status_errors, without_deallocated
from setpoint.apiserver.strategies.device_slices import slice_errors
from setpoint.apiserver.strategies.devices import (
    admin_errors,
    claim_spec_errors,
    claim_template_errors,
    class_errors,
    taint_rule_errors,
)
from setpoint.meta import GroupKind
from setpoint.meta.names import dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext


def _default_devices(spec: Any) -> None:
    for request in ((spec or {}).get("devices") or {}).get("requests") or []:
        for part in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if not isinstance(part, dict):
                continue
            part.setdefault("allocationMode", "ExactCount")
            if part["allocationMode"] == "ExactCount":
                part.setdefault("count", 1)
            _default_tolerations(part)


def _default_tolerations(part: JsonObject) -> None:
    for toleration in part.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


class DeviceClasses(Strategy):
    """Device classes. ``generateName`` is not validated; the generated name is."""

    generation = True
    returns_deleted = True
    says_required = True

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        return dns1123_subdomain(name, "bytes")

    def prefix_rule(self, name: str, /) -> list[str]:
        return []

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return class_errors(obj.get("spec") or {})


class ResourceSlices(Strategy):
    """Resource slices, in which drivers publish the devices of one or more nodes."""

    generation = True
    counts_dropped = True
    returns_deleted = True
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return slice_errors(*_specs(obj, old))


def _specs(obj: JsonObject, old: JsonObject | None) -> tuple[JsonObject, JsonObject | None]:
    return obj.get("spec") or {}, None if old is None else old.get("spec") or {}


class ResourceClaims(Strategy):
    """Device claims. The spec of a claim can't change. An allocation can be removed, but not changed."""

    status_keeps = METADATA
    returns_deleted = True
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if old is None:
            return claim_spec_errors(obj.get("spec") or {}, "spec")
        return [] if obj.get("spec") == old.get("spec") else [invalid("spec", None, "field is immutable")]

    def default(self, obj: JsonObject) -> None:
        _default_devices(obj.get("spec"))
        allocation = (obj.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            _default_tolerations(result)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        errors = admin_errors(obj.get("spec") or {}, _namespace(call, obj))
        _refuse(obj, errors and errors + self.validate(obj, None))

    def prepare_status_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> JsonObject:
        result = super().prepare_status_update(call, new, old)
        if "status" in result:
            result["status"] = without_deallocated(result["status"], old.get("status") or {})
        errors = admin_status_errors(result, old, partial(_namespace, call, result)) + access_errors(call, result, old)
        if errors:
            _refuse(result, errors + claim_status_errors(result, old))
        return result

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        return claim_status_errors(obj, old)


class ClaimTemplates(Strategy):
    """Templates from which device claims are made."""

    returns_deleted = True
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return claim_template_errors(*_specs(obj, old))

    def default(self, obj: JsonObject) -> None:
        _default_devices((obj.get("spec") or {}).get("spec"))

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        errors = admin_errors((obj.get("spec") or {}).get("spec") or {}, _namespace(call, obj))
        _refuse(obj, errors and errors + self.validate(obj, None))


def _namespace(call: WriteContext, obj: JsonObject) -> JsonObject:
    record = call.storage.get("namespaces", "", obj["metadata"].get("namespace", ""))
    namespace: JsonObject = {} if record is None else msgspec.json.decode(record.value)
    return namespace


def _refuse(obj: JsonObject, errors: list[FieldError]) -> None:
    if errors:
        kind = GroupKind("resource.k8s.io", obj["kind"])
        raise refused(kind, obj["metadata"].get("name", ""), errors)


class TaintRules(Strategy):
    """Rules for device taints. If the ``timeAdded`` of a taint is missing, it is set to the current time."""

    status_keeps = METADATA
    generation = True
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return taint_rule_errors(*_specs(obj, old))

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        taint = (obj.get("spec") or {}).get("taint")
        if isinstance(taint, dict):
            taint.setdefault("timeAdded", call.timestamp())

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        self.prepare_create(call, new)
