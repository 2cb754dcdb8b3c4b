"""Rules for dynamic resource allocation: device claims, their classes and taints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.device_parts import (
    EFFECTS,
    declared_driver_errors,
    fully_qualified_errors,
    name_errors,
    pool_errors,
    repeated_errors,
    taint_errors,
)
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_volumes import driver_name_errors
from setpoint.apiserver.strategies.template_metadata import template_metadata_errors
from setpoint.cel import Environment
from setpoint.cel.admission import compile_admission
from setpoint.cel.library import SERVER
from setpoint.cel.types import ANY, BOOL, DYN
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, not_supported, required, too_long, too_many

Errors = list[FieldError]
_IMMUTABLE: Final = "field is immutable"
_MOST: Final = 32
_LONGEST_TEXT: Final = 10 * 1024
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_WAY: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ADMIN: Final = "resource.kubernetes.io/admin-access"
ADMIN_RULE: Final = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"


@cache
def _environment() -> Environment:
    return SERVER.extend({"device": DYN})


def _selectors(selectors: Sequence[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    if len(selectors or ()) > _MOST:
        return [too_many(path, len(selectors or ()), _MOST)]
    for index, selector in enumerate(selectors or ()):
        field_path, cel = f"{path}[{index}].cel", selector.get("cel")
        if cel is None:
            errors.append(required(field_path))
            continue
        text = cel.get("expression", "")
        if len(text.encode()) > _LONGEST_TEXT:
            errors.append(too_long(f"{field_path}.expression", _LONGEST_TEXT))
            continue
        expression = compile_admission(text, _environment(), (ANY,))
        problem = expression.error
        if not problem and expression.type not in (BOOL, DYN, ANY):
            problem = f"must evaluate to bool or the unknown type, not {expression.type}"
        if problem:
            errors.append(invalid(f"{field_path}.expression", text, problem))
    return errors


def configuration_errors(config: JsonObject, path: str) -> Errors:
    """The errors in a device configuration, for every kind that has one."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    errors: Errors = []
    parameters, field_path = opaque.get("parameters"), f"{path}.opaque.parameters"
    if parameters is None:
        errors.append(required(field_path))
    elif not isinstance(parameters, dict):
        errors.append(invalid(field_path, "<value omitted>", "must be a valid JSON object"))
    return errors + declared_driver_errors(opaque.get("driver", ""), f"{path}.opaque.driver")


# -- claims -----------------------------------------------------------------------------------------------------------


def claim_spec_errors(spec: JsonObject, path: str) -> Errors:
    devices, path = spec.get("devices") or {}, f"{path}.devices"
    requests = devices.get("requests") or []
    names_of_requests = request_names(spec)
    errors = _several(requests, "requests", path)
    for index, request in enumerate(requests if len(requests) <= _MOST else ()):
        errors += _request(request, f"{path}.requests[{index}]")
    names = [request.get("name", "") for request in requests]
    errors += [
        duplicate(f"{path}.requests[{index}]", Shown(json.dumps(requests[index], separators=(",", ":"))))
        for index in repeats(names)
    ]
    constraints = devices.get("constraints") or []
    errors += _several(constraints, "constraints", path)
    for index, constraint in enumerate(constraints if len(constraints) <= _MOST else ()):
        field_path = f"{path}.constraints[{index}]"
        errors += _references(constraint.get("requests") or [], names_of_requests, f"{field_path}.requests")
        match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
        if match is not None:
            errors += fully_qualified_errors(match, f"{field_path}.matchAttribute")
        if distinct is not None:
            errors += fully_qualified_errors(distinct, f"{field_path}.distinctAttribute")
        if match is None and distinct is None:
            text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            errors.append(required(field_path, text))
    configs = devices.get("config") or []
    errors += _several(configs, "config", path)
    for index, config in enumerate(configs if len(configs) <= _MOST else ()):
        errors += _references(config.get("requests") or [], names_of_requests, f"{path}.config[{index}].requests")
        errors += configuration_errors(config, f"{path}.config[{index}]")
    return errors


def request_names(spec: JsonObject) -> dict[str, set[str]]:
    return {
        request.get("name", ""): {part.get("name", "") for part in request.get("firstAvailable") or ()}
        for request in (spec.get("devices") or {}).get("requests") or ()
    }


def _several(items: Sequence[Any], name: str, path: str) -> Errors:
    return [too_many(f"{path}.{name}", len(items), _MOST)] if len(items) > _MOST else []


def _references(names: Sequence[str], request_names: Mapping[str, set[str]], path: str) -> Errors:
    errors = [
        error for index, name in enumerate(names) for error in reference_errors(name, request_names, f"{path}[{index}]")
    ]
    return errors + repeated_errors(names, path)


def reference_errors(name: str, request_names: Mapping[str, set[str]], path: str) -> Errors:
    """The errors in a reference to a request or to one of its alternatives. ``request_names`` comes from
    `request_names`.
    """
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(path, name, _REFERENCE)]
    errors = [error for part in parts for error in name_errors(part, dns1123_label, path)]
    if parts[0] not in request_names or (len(parts) == 2 and parts[1] not in request_names[parts[0]]):
        errors.append(invalid(path, name, _REFERENCE))
    return errors


def _request(request: JsonObject, path: str) -> Errors:
    errors = name_errors(request.get("name", ""), dns1123_label, f"{path}.name")
    exactly, first = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not first:
        return [*errors, required(path, _ONE_WAY)]
    if exactly is not None and first:
        errors.append(invalid(path, None, f"{_ONE_WAY}, but multiple fields are set"))
        for index, part in enumerate(first):
            errors += _declared(part, f"{path}.firstAvailable[{index}]")
        return errors
    if exactly is not None:
        return errors + _wanted(exactly, f"{path}.exactly")
    if len(first) > 8:
        errors.append(too_many(f"{path}.firstAvailable", len(first), 8))
    for index, part in enumerate(first):
        field_path = f"{path}.firstAvailable[{index}]"
        errors += name_errors(part.get("name", ""), dns1123_label, f"{field_path}.name") + _wanted(part, field_path)
    return errors + repeated_errors([part.get("name", "") for part in first], f"{path}.firstAvailable")


def _declared(part: JsonObject, path: str) -> Errors:
    """The errors in the device class and the allocation mode of a request. Upstream validates both
    declaratively, so they are checked even if neighbouring fields are invalid.
    """
    name, mode, field_path = part.get("deviceClassName", ""), part.get("allocationMode", ""), f"{path}.deviceClassName"
    errors = name_errors(name, dns1123_subdomain, field_path) if name else [required(field_path)]
    if mode not in ("All", "ExactCount"):
        errors.append(not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    return errors


def _wanted(part: JsonObject, path: str) -> Errors:
    name = part.get("deviceClassName", "")
    field_path = f"{path}.deviceClassName"
    errors = name_errors(name, dns1123_subdomain, field_path) if name else [required(field_path)]
    errors += _selectors(part.get("selectors"), f"{path}.selectors")
    mode, count = part.get("allocationMode", ""), part.get("count", 0)
    if mode == "All":
        if count:
            errors.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    for index, toleration in enumerate(part.get("tolerations") or ()):
        errors += toleration_errors(toleration, f"{path}.tolerations[{index}]")
    return errors


def toleration_errors(toleration: JsonObject, path: str) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    errors = name_errors(key, qualified_name, f"{path}.key") if key else []
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += name_errors(value, label_value, f"{path}.value")
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return errors


def _without_empty_metadata(spec: JsonObject) -> JsonObject:
    """The spec of a claim template without the empty fields of its metadata, which do not count as changes."""
    return {**spec, "metadata": {key: value for key, value in (spec.get("metadata") or {}).items() if value}}


def claim_template_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a claim template; ``old`` is the spec before an update."""
    errors = template_metadata_errors(spec.get("metadata") or {}, "spec.metadata")
    errors += claim_spec_errors(spec.get("spec") or {}, "spec.spec")
    if old is not None and _without_empty_metadata(spec) != _without_empty_metadata(old):
        errors.append(invalid("spec", dump("resource.ResourceClaimTemplateSpec", spec), _IMMUTABLE))
    return errors


# -- classes, taints --------------------------------------------------------------------------------------------------


def class_errors(spec: JsonObject) -> Errors:
    errors = _selectors(spec.get("selectors"), "spec.selectors")
    configs = spec.get("config") or []
    errors += _several(configs, "config", "spec")
    for index, config in enumerate(configs if len(configs) <= _MOST else ()):
        errors += configuration_errors(config, f"spec.config[{index}]")
    name = spec.get("extendedResourceName")
    if name is not None:
        errors += [invalid("spec.extendedResourceName", name, text) for text in _not_extended(name)]
    return errors


def _not_extended(name: str) -> list[str]:
    """The problems with the name of an extended resource; empty if the name is valid."""
    problems: list[str] = []
    if "/" not in name:
        problems.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in name:
        problems.append('must not have "kubernetes.io/" domain')
    if name.startswith("requests."):
        problems.append('must not have "requests." prefix')
    return problems + qualified_name(f"requests.{name}")


def taint_rule_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in the spec of a rule for device taints; ``old`` is the spec before an update."""
    selector, path = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    errors: Errors = []
    if selector.get("driver") is not None:
        errors += driver_name_errors(selector["driver"], f"{path}.driver")
    if selector.get("pool") is not None:
        errors += pool_errors(selector["pool"], f"{path}.pool")
    if selector.get("device") is not None:
        errors += name_errors(selector["device"], dns1123_label, f"{path}.device")
    return errors + taint_errors(spec.get("taint") or {}, "spec.taint", (old or {}).get("taint"))


def admin_errors(spec: JsonObject, namespace: JsonObject) -> Errors:
    """An error if a request asks for administrator access and the namespace lacks the label that allows it."""
    requests = (spec.get("devices") or {}).get("requests") or ()
    indices = (index for index, item in enumerate(requests) if (item.get("exactly") or {}).get("adminAccess"))
    first = next(indices, None)
    if first is None or allows_admins(namespace):
        return []
    return [forbidden(f"spec.devices.requests[{first}].adminAccess", ADMIN_RULE)]


def allows_admins(namespace: JsonObject) -> bool:
    """Whether claims in the namespace may ask for administrator access."""
    labels = (namespace.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(_ADMIN) == "true")
