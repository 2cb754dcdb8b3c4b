"""Rules of dynamic resource allocation: claims of devices, their classes and taints, and the slices that offer them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from setpoint.apiserver.strategies.device_capacities import request_policy_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.label_selectors import labels_errors
from setpoint.apiserver.strategies.node_selectors import node_selector_errors
from setpoint.apiserver.strategies.pod_volumes import caseless, driver_name_errors
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.cel import Environment
from setpoint.cel.admission import compile_admission
from setpoint.cel.library import SERVER
from setpoint.cel.types import ANY, BOOL, DYN
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import ErrorType, FieldError
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, not_supported, required, too_long, too_many

__all__ = [
    "admin_errors",
    "claim_spec_errors",
    "claim_template_errors",
    "class_errors",
    "slice_errors",
    "taint_rule_errors",
]

Errors = list[FieldError]
_IMMUTABLE: Final = "field is immutable"
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_MOST: Final = 32
_LONGEST_TEXT: Final = 10 * 1024
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_WAY: Final = "exactly one of `exactly` or `firstAvailable` is required"
_IDENTIFIER: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_ADMIN: Final = "resource.kubernetes.io/admin-access"
_ADMIN_RULE: Final = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
_TEMPLATE_FIELDS: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
_VALUES: Final = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")


def _names(value: str, rule: Callable[[str], list[str]], path: str) -> Errors:
    return [invalid(path, value, text) for text in rule(value)]


@cache
def _environment() -> Environment:
    return SERVER.extend({"device": DYN})


def _selectors(selectors: Sequence[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    if len(selectors or ()) > _MOST:
        return [too_many(path, len(selectors or ()), _MOST)]
    for index, selector in enumerate(selectors or ()):
        where, cel = f"{path}[{index}].cel", selector.get("cel")
        if cel is None:
            errors.append(required(where))
            continue
        text = cel.get("expression", "")
        if len(text.encode()) > _LONGEST_TEXT:
            errors.append(too_long(f"{where}.expression", _LONGEST_TEXT))
            continue
        expression = compile_admission(text, _environment(), (ANY,))
        problem = expression.error
        if not problem and expression.type not in (BOOL, DYN, ANY):
            problem = f"must evaluate to bool or the unknown type, not {expression.type}"
        if problem:
            errors.append(invalid(f"{where}.expression", text, problem))
    return errors


def _units(text: str, kind: ErrorType) -> str:
    """Limits are in other units where upstream declares them."""
    if kind is ErrorType.TOO_LONG:
        return text.replace("bytes", "characters")
    return text.replace("characters", "bytes") if "more than" in text else text


def _configuration(config: JsonObject, path: str) -> Errors:
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    named = driver_name_errors(opaque.get("driver", ""), f"{path}.opaque.driver")
    errors = [replace(error, detail=_units(caseless(error.detail), error.type)) for error in named]
    parameters, where = opaque.get("parameters"), f"{path}.opaque.parameters"
    if parameters is None:
        errors.append(required(where))
    elif not isinstance(parameters, dict):
        errors.append(invalid(where, "<value omitted>", "must be a valid JSON object"))
    return errors


# -- claims -----------------------------------------------------------------------------------------------------------


def claim_spec_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in the spec of a claim."""
    devices, path = spec.get("devices") or {}, f"{path}.devices"
    requests = devices.get("requests") or []
    known: dict[str, set[str]] = {
        request.get("name", ""): {part.get("name", "") for part in request.get("firstAvailable") or ()}
        for request in requests
    }
    errors = _several(requests, "requests", path)
    for index, request in enumerate(requests if len(requests) <= _MOST else ()):
        errors += _request(request, f"{path}.requests[{index}]")
    names = [request.get("name", "") for request in requests]
    errors += [
        duplicate(f"{path}.requests[{index}]", Shown(json.dumps(requests[index], separators=(",", ":"))))
        for index, name in enumerate(names)
        if name in names[:index]
    ]
    constraints = devices.get("constraints") or []
    errors += _several(constraints, "constraints", path)
    for index, constraint in enumerate(constraints if len(constraints) <= _MOST else ()):
        where = f"{path}.constraints[{index}]"
        errors += _references(constraint.get("requests") or [], known, f"{where}.requests")
        match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
        if match is not None:
            errors += _fully_qualified(match, f"{where}.matchAttribute")
        if distinct is not None:
            errors += _fully_qualified(distinct, f"{where}.distinctAttribute")
        if match is None and distinct is None:
            text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            errors.append(required(where, text))
    configs = devices.get("config") or []
    errors += _several(configs, "config", path)
    for index, config in enumerate(configs if len(configs) <= _MOST else ()):
        errors += _references(config.get("requests") or [], known, f"{path}.config[{index}].requests")
        errors += _configuration(config, f"{path}.config[{index}]")
    return errors


def _several(items: Sequence[Any], name: str, path: str) -> Errors:
    return [too_many(f"{path}.{name}", len(items), _MOST)] if len(items) > _MOST else []


def _repeated(names: Sequence[str], path: str) -> Errors:
    """(Declared keys of a list are shown with their field.)"""
    return [duplicate(f"{path}[{index}]", name) for index, name in enumerate(names) if name in names[:index]]


def _references(names: Sequence[str], known: dict[str, set[str]], path: str) -> Errors:
    errors: Errors = []
    for index, name in enumerate(names):
        where, parts = f"{path}[{index}]", name.split("/")
        if len(parts) > 2:
            errors.append(invalid(where, name, _REFERENCE))
            continue
        for part in parts:
            errors += _names(part, dns1123_label, where)
        if parts[0] not in known or (len(parts) == 2 and parts[1] not in known[parts[0]]):
            errors.append(invalid(where, name, _REFERENCE))
    return errors + _repeated(names, path)


def _request(request: JsonObject, path: str) -> Errors:
    errors = _names(request.get("name", ""), dns1123_label, f"{path}.name")
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
        where = f"{path}.firstAvailable[{index}]"
        errors += _names(part.get("name", ""), dns1123_label, f"{where}.name") + _wanted(part, where)
    return errors + _repeated([part.get("name", "") for part in first], f"{path}.firstAvailable")


def _declared(part: JsonObject, path: str) -> Errors:
    """The rules that upstream declares of a part, and checks where its neighbours are wrong, too."""
    name, mode, where = part.get("deviceClassName", ""), part.get("allocationMode", ""), f"{path}.deviceClassName"
    errors = _names(name, dns1123_subdomain, where) if name else [required(where)]
    if mode not in ("All", "ExactCount"):
        errors.append(not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    return errors


def _wanted(part: JsonObject, path: str) -> Errors:
    name = part.get("deviceClassName", "")
    where = f"{path}.deviceClassName"
    errors = _names(name, dns1123_subdomain, where) if name else [required(where)]
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
        errors += _toleration(toleration, f"{path}.tolerations[{index}]")
    return errors


def _toleration(toleration: JsonObject, path: str) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    errors = _names(key, qualified_name, f"{path}.key") if key else []
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += _names(value, label_value, f"{path}.value")
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in _EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, _EFFECTS))
    return errors


def _qualified(name: str, path: str) -> Errors:
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, path)
    if len(parts) > 2:
        return []
    domain, rest = parts
    errors = driver_name_errors(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (_identifier(rest, path) if rest else [invalid(path, "", "the name must not be empty")])


def _fully_qualified(name: str, path: str) -> Errors:
    errors = _qualified(name, path)
    if name.count("/") == 1 and not name.startswith("/"):
        found = driver_name_errors(name.partition("/")[0], path)
        errors = [replace(error, detail=f"prefix: {error.detail}") if error in found else error for error in errors]
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, text))
    return errors


def _identifier(name: str, path: str) -> Errors:
    errors = [too_long(path, 32)] if len(name) > 32 else []
    return errors if _IDENTIFIER.fullmatch(name) else [*errors, invalid(path, name, _IDENTIFIER_RULE)]


def claim_template_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in a spec; ``old``: the one before an update."""
    metadata, path = spec.get("metadata") or {}, "spec.metadata"
    errors: Errors = []
    for key in metadata.get("annotations") or ():
        errors += [invalid(f"{path}.annotations", key, text) for text in qualified_name(key.lower())]
    errors += labels_errors(metadata.get("labels"), f"{path}.labels")
    for name in _TEMPLATE_FIELDS:
        if metadata.get(name) or (name == "deletionGracePeriodSeconds" and name in metadata):
            shown = {"uid": "uID"}.get(name, name)
            errors.append(forbidden(f"{path}.{shown}", "cannot be set"))
    errors += claim_spec_errors(spec.get("spec") or {}, "spec.spec")
    if old is not None and spec != old:
        errors.append(invalid("spec", dump("resource.ResourceClaimTemplateSpec", spec), _IMMUTABLE))
    return errors


# -- classes, taints --------------------------------------------------------------------------------------------------


def class_errors(spec: JsonObject) -> Errors:
    """The errors in a class of devices."""
    errors = _selectors(spec.get("selectors"), "spec.selectors")
    configs = spec.get("config") or []
    errors += _several(configs, "config", "spec")
    for index, config in enumerate(configs if len(configs) <= _MOST else ()):
        errors += _configuration(config, f"spec.config[{index}]")
    name = spec.get("extendedResourceName")
    if name is not None:
        errors += [invalid("spec.extendedResourceName", name, text) for text in _not_extended(name)]
    return errors


def _not_extended(name: str) -> list[str]:
    """The problems of the name of an extended resource; empty if it is valid."""
    problems: list[str] = []
    if "/" not in name:
        problems.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in name:
        problems.append('must not have "kubernetes.io/" domain')
    if name.startswith("requests."):
        problems.append('must not have "requests." prefix')
    return problems + qualified_name(f"requests.{name}")


def taint_rule_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in a spec; ``old``: the one before an update."""
    selector, path = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    errors: Errors = []
    if selector.get("driver") is not None:
        errors += driver_name_errors(selector["driver"], f"{path}.driver")
    if selector.get("pool") is not None:
        errors += _pool_name(selector["pool"], f"{path}.pool")
    if selector.get("device") is not None:
        errors += _names(selector["device"], dns1123_label, f"{path}.device")
    return errors + _taint(spec.get("taint") or {}, "spec.taint", (old or {}).get("taint"))


def _taint(taint: JsonObject, path: str, old: JsonObject | None = None) -> Errors:
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    errors = _names(key, qualified_name, f"{path}.key") + _names(value, label_value, f"{path}.value")
    if old is not None and old.get("effect", "") == effect:
        return errors
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in _EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, _EFFECTS))
    return errors


def _pool_name(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, 253)] if len(name) > 253 else []
    return errors + [error for part in name.split("/") for error in _names(part, dns1123_subdomain, path)]


# -- slices -----------------------------------------------------------------------------------------------------------


def slice_errors(spec: JsonObject, old: JsonObject | None) -> Errors:
    """The errors in a spec; ``old``: the one before an update."""
    pool = spec.get("pool") or {}
    errors = driver_name_errors(spec.get("driver", ""), "spec.driver")
    errors += _pool_name(pool.get("name", ""), "spec.pool.name")
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
        errors += _device(device, f"spec.devices[{index}]", each=bool(spec.get("perDeviceNodeSelection")))
    errors += _repeated([device.get("name", "") for device in devices], "spec.devices")
    for index, counters in enumerate(spec.get("sharedCounters") or ()):
        errors += _counters(counters, "name", f"spec.sharedCounters[{index}]")
    return errors


def _placing(part: JsonObject, path: str, what: str, names: tuple[str, ...]) -> Errors:
    """Errors unless exactly one of these says which nodes can reach the devices."""
    errors: Errors = []
    given: list[str] = []
    node = part.get("nodeName")
    if node:
        given.append("`nodeName`")
        errors += _names(node, dns1123_subdomain, f"{path}.nodeName")
    elif node is not None:
        text = "must be either unset or set to a non-empty string" if what == "spec" else "must not be empty"
        errors.append(invalid(f"{path}.nodeName", node, text))
    if part.get("nodeSelector") is not None:
        given.append("`nodeSelector`")
        errors += node_selector_errors(part["nodeSelector"], f"{path}.nodeSelector")
        terms = part["nodeSelector"].get("nodeSelectorTerms") or []
        if what == "spec" and len(terms) != 1:
            where = f"{path}.nodeSelector.nodeSelectorTerms"
            shown = dump("[]core.NodeSelectorTerm", part["nodeSelector"].get("nodeSelectorTerms"))
            errors.append(invalid(where, shown, "must have exactly one node selector term"))
    for name in names[2:]:
        if part.get(name):
            given.append(f"`{name}`")
        elif part.get(name) is not None:
            errors.append(invalid(f"{path}.{name}", False, "must be either unset or set to true"))
    listed = ", ".join(f"`{name}`" for name in names)
    text = f"exactly one of {listed} is required"
    many = f"{text}, but multiple fields are set"
    if what != "spec":
        listed = "`nodeName`, `nodeSelector`, or `allNodes`"
        many = text = (
            f"exactly one of {listed} is required when `perDeviceNodeSelection` is set to true in the ResourceSlice "
            "spec"
        )
    if not given:
        errors.append(required(path, text))
    elif len(given) > 1:
        errors.append(invalid(path, f"{{{', '.join(given)}}}", many))
    return errors


def _device(device: JsonObject, path: str, *, each: bool) -> Errors:
    errors = _names(device.get("name", ""), dns1123_label, f"{path}.name")
    for name, attribute in (device.get("attributes") or {}).items():
        where = f"{path}.attributes[{name}]"
        errors += _qualified(name, f"{path}.attributes")
        given = [key for key in _VALUES if attribute.get(key) is not None]
        listed = ", ".join(f"`{key}`" for key in _VALUES)
        if len(given) != 1:
            shown = f"{{{', '.join(given)}}}" if given else ""
            errors.append(invalid(where, shown, f"must specify exactly one of: {listed}"))
        text = attribute.get("string")
        if text is not None and len(text) > 64:
            errors.append(too_long(f"{where}.string", 64))
        version = attribute.get("version")
        if version is not None and not _SEMVER.fullmatch(version):
            text = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(invalid(f"{where}.version", version, text))
        if version is not None and len(version) > 64:
            errors.append(too_long(f"{where}.version", 64))
    for name, capacity in (device.get("capacity") or {}).items():
        errors += _qualified(name, f"{path}.capacity")
        policy, where = capacity.get("requestPolicy"), f"{path}.capacity[{name}].requestPolicy"
        if policy is not None and not device.get("allowMultipleAllocations"):
            errors.append(forbidden(where, "allowMultipleAllocations must be true"))
        elif policy is not None:
            errors += request_policy_errors(policy, capacity.get("value", "0"), where)
    for index, taint in enumerate(device.get("taints") or ()):
        errors += _taint(taint, f"{path}.taints[{index}]")
    for index, counters in enumerate(device.get("consumesCounters") or ()):
        errors += _counters(counters, "counterSet", f"{path}.consumesCounters[{index}]")
    if each:
        errors += _placing(device, path, "device", ("nodeName", "nodeSelector", "allNodes"))
    elif any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
        text = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        errors.append(invalid(path, None, text))
    return errors + _binding(device, path)


def admin_errors(spec: JsonObject, namespace: JsonObject) -> Errors:
    """The errors in requests for the access of administrators, which only labelled namespaces allow."""
    if (namespace.get("metadata") or {}).get("labels", {}).get(_ADMIN) == "true":
        return []
    return [
        forbidden(f"spec.devices.requests[{index}].adminAccess", _ADMIN_RULE)
        for index, request in enumerate((spec.get("devices") or {}).get("requests") or ())
        if (request.get("exactly") or {}).get("adminAccess")
    ]


def _counters(counters: JsonObject, key: str, path: str) -> Errors:
    name = counters.get(key, "")
    errors = _names(name, dns1123_label, f"{path}.{key}") if name else [required(f"{path}.{key}")]
    if not counters.get("counters"):
        return [*errors, required(f"{path}.counters")]
    for counter in counters["counters"]:
        errors += _names(counter, dns1123_label, f"{path}.counters[{counter}]")
    return errors


def _binding(device: JsonObject, path: str) -> Errors:
    errors: Errors = []
    both = {name: device.get(name) or [] for name in ("bindingConditions", "bindingFailureConditions")}
    for name, conditions in both.items():
        if len(conditions) > 4:
            errors.append(too_many(f"{path}.{name}", len(conditions), 4))
            continue
        for index, condition in enumerate(conditions):
            errors += _names(condition, qualified_name, f"{path}.{name}[{index}]")
        errors += _repeated(conditions, f"{path}.{name}")
    good, bad = both["bindingConditions"], both["bindingFailureConditions"]
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
