"""Rules for ResourceSlices, in which drivers publish their devices."""

from __future__ import annotations

import re
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.device_capacities import request_policy_errors
from setpoint.apiserver.strategies.device_parts import (
    name_errors,
    pool_errors,
    qualified_errors,
    repeated_errors,
    taint_errors,
)
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.node_selectors import node_selector_errors
from setpoint.apiserver.strategies.pod_volumes import driver_name_errors
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required, too_long, too_many

Errors = list[FieldError]
_IMMUTABLE: Final = "field is immutable"
_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_VALUES: Final = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")


def slice_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a ResourceSlice; ``old`` is the spec before an update."""
    pool = spec.get("pool") or {}
    errors = driver_name_errors(spec.get("driver", ""), "spec.driver")
    errors += pool_errors(pool.get("name", ""), "spec.pool.name")
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if pool.get("generation", 0) < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid("spec.pool.generation", pool["generation"], text))
    if old is not None:
        before = {"pool.name": (old.get("pool") or {}).get("name", ""), "driver": old.get("driver", "")}
        now = {"pool.name": pool.get("name", ""), "driver": spec.get("driver", "")}
        errors += [invalid(f"spec.{name}", now[name], _IMMUTABLE) for name in before if before[name] != now[name]]
        if spec.get("nodeName") != old.get("nodeName"):
            errors.append(invalid("spec.nodeName", spec.get("nodeName"), _IMMUTABLE))
    errors += _placing(spec, "spec", "spec", ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"))
    if spec.get("sharedCounters") and spec.get("devices"):
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    devices = spec.get("devices") or []
    if len(devices) > 128:
        return [*errors, too_many("spec.devices", len(devices), 128)]
    for index, device in enumerate(devices):
        errors += _device(device, f"spec.devices[{index}]", is_per_device=bool(spec.get("perDeviceNodeSelection")))
    errors += repeated_errors([device.get("name", "") for device in devices], "spec.devices")
    for index, counters in enumerate(spec.get("sharedCounters") or ()):
        errors += _counters(counters, "name", f"spec.sharedCounters[{index}]")
    return errors


def _placing(part: JsonObject, path: str, owner: str, names: tuple[str, ...]) -> Errors:
    """The errors in the fields that specify which nodes can reach the devices; exactly one of them must be set."""
    errors: Errors = []
    fields: list[str] = []
    node = part.get("nodeName")
    if node:
        fields.append("`nodeName`")
        errors += name_errors(node, dns1123_subdomain, f"{path}.nodeName")
    elif node is not None:
        text = "must be either unset or set to a non-empty string" if owner == "spec" else "must not be empty"
        errors.append(invalid(f"{path}.nodeName", node, text))
    if part.get("nodeSelector") is not None:
        fields.append("`nodeSelector`")
        errors += node_selector_errors(part["nodeSelector"], f"{path}.nodeSelector")
        terms = part["nodeSelector"].get("nodeSelectorTerms") or []
        if owner == "spec" and len(terms) != 1:
            field_path = f"{path}.nodeSelector.nodeSelectorTerms"
            bad_value = dump("[]core.NodeSelectorTerm", part["nodeSelector"].get("nodeSelectorTerms"))
            errors.append(invalid(field_path, bad_value, "must have exactly one node selector term"))
    for name in names[2:]:
        if part.get(name):
            fields.append(f"`{name}`")
        elif part.get(name) is not None:
            errors.append(invalid(f"{path}.{name}", False, "must be either unset or set to true"))
    listed = ", ".join(f"`{name}`" for name in names)
    text = f"exactly one of {listed} is required"
    many = f"{text}, but multiple fields are set"
    if owner != "spec":
        listed = "`nodeName`, `nodeSelector`, or `allNodes`"
        many = text = (
            f"exactly one of {listed} is required when `perDeviceNodeSelection` is set to true in the ResourceSlice "
            "spec"
        )
    if not fields:
        errors.append(required(path, text))
    elif len(fields) > 1:
        errors.append(invalid(path, f"{{{', '.join(fields)}}}", many))
    return errors


def _device(device: JsonObject, path: str, *, is_per_device: bool) -> Errors:
    errors = name_errors(device.get("name", ""), dns1123_label, f"{path}.name")
    for name, attribute in (device.get("attributes") or {}).items():
        field_path = f"{path}.attributes[{name}]"
        errors += qualified_errors(name, f"{path}.attributes")
        kinds = [key for key in _VALUES if attribute.get(key) is not None]
        listed = ", ".join(f"`{key}`" for key in _VALUES)
        if len(kinds) != 1:
            bad_value = f"{{{', '.join(kinds)}}}" if kinds else ""
            which = "exactly one of" if kinds else "one of"
            errors.append(invalid(field_path, bad_value, f"must specify {which}: {listed}"))
        text = attribute.get("string")
        if text is not None and len(text) > 64:
            errors.append(too_long(f"{field_path}.string", 64))
        version = attribute.get("version")
        if version is not None and not _SEMVER.fullmatch(version):
            text = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(invalid(f"{field_path}.version", version, text))
        if version is not None and len(version) > 64:
            errors.append(too_long(f"{field_path}.version", 64))
    for name, capacity in (device.get("capacity") or {}).items():
        errors += qualified_errors(name, f"{path}.capacity")
        policy, field_path = capacity.get("requestPolicy"), f"{path}.capacity[{name}].requestPolicy"
        if policy is not None and not device.get("allowMultipleAllocations"):
            errors.append(forbidden(field_path, "allowMultipleAllocations must be true"))
        elif policy is not None:
            errors += request_policy_errors(policy, capacity.get("value", "0"), field_path)
    for index, taint in enumerate(device.get("taints") or ()):
        errors += taint_errors(taint, f"{path}.taints[{index}]")
    for index, counters in enumerate(device.get("consumesCounters") or ()):
        errors += _counters(counters, "counterSet", f"{path}.consumesCounters[{index}]")
    if is_per_device:
        errors += _placing(device, path, "device", ("nodeName", "nodeSelector", "allNodes"))
    elif any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
        text = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        errors.append(invalid(path, None, text))
    return errors + _binding(device, path)


def _counters(counters: JsonObject, key: str, path: str) -> Errors:
    name = counters.get(key, "")
    errors = name_errors(name, dns1123_label, f"{path}.{key}") if name else [required(f"{path}.{key}")]
    if not counters.get("counters"):
        return [*errors, required(f"{path}.counters")]
    for counter in counters["counters"]:
        errors += name_errors(counter, dns1123_label, f"{path}.counters[{counter}]")
    return errors


def _binding(device: JsonObject, path: str) -> Errors:
    errors: Errors = []
    both = {name: device.get(name) or [] for name in ("bindingConditions", "bindingFailureConditions")}
    for name, conditions in both.items():
        if len(conditions) > 4:
            errors.append(too_many(f"{path}.{name}", len(conditions), 4))
            continue
        for index, condition in enumerate(conditions):
            errors += name_errors(condition, qualified_name, f"{path}.{name}[{index}]")
        errors += repeated_errors(conditions, f"{path}.{name}")
    good, bad = set(both["bindingConditions"]), both["bindingFailureConditions"]
    for index, condition in enumerate(bad):
        if condition in good:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(f"{path}.bindingFailureConditions[{index}]", condition, text))
    if bad and not good:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", None, text))
    if good and not bad:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", None, text))
    return errors
