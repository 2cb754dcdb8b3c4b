"""Rules for small kinds: priority and runtime classes, quotas and limit ranges, nodes, leases, controller revisions,
storage version migrations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_UP
from typing import Any, Final

from msgspec.structs import replace

from setpoint.apiserver.strategies.addresses import cidr_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_resources import container_resource_errors, requirements_errors, resource_errors
from setpoint.apiserver.strategies.pod_scheduling import toleration_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    IMMUTABLE,
    Place,
    Row,
    at_least,
    frozen,
    immutable,
    labels,
    named,
    needed,
    one_of,
    row,
    settled,
    unless_missing,
)
from setpoint.meta import Quantity
from setpoint.meta.names import dns1035_label, dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.addresses import network_of
from setpoint.schema.errors import duplicate, forbidden, internal_error, invalid, not_supported, required

_HIGHEST: Final = 1_000_000_000
_EXPONENT: Final = re.compile(r"(?=[^eE]{1,18}[eE])\d*\.?\d*[eE]\d+", re.ASCII)
"""An amount that upstream keeps as 64 bits and a power of ten. A longer number arrives here as ``1e+30``."""
_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_COUNTED: Final = (
    "pods", "services", "services.loadbalancers", "services.nodeports", "replicationcontrollers", "resourcequotas",
    "secrets", "configmaps", "persistentvolumeclaims",
)  # fmt: skip
_COMPUTE: Final = (
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
)  # fmt: skip
_POD_COMPUTE: Final = frozenset({"pods", *_COMPUTE} - {"requests.storage"})
_SCOPES: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)  # fmt: skip
_PAIRS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def _priority(place: Place) -> list[FieldError]:
    name, value = place.obj["metadata"].get("name", ""), place.value or 0
    if place.old is not None:
        return []
    if name.startswith("system-"):
        if _SYSTEM.get(name) == value and not place.obj.get("globalDefault"):
            return []
        if name not in _SYSTEM:
            reason = f"{name} is not a known system priority class"
        elif _SYSTEM[name] != value:
            reason = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
        else:
            reason = f"globalDefault of {name} PriorityClass must be false"
        text = f"priority class names with 'system-' prefix are reserved for system use only. error: {reason}"
        return [forbidden("metadata.name", text)]
    text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
    return [forbidden(place.path, text)] if value > _HIGHEST else []


# -- quotas and limit ranges ------------------------------------------------------------------------------------------


def _standard_quota(name: str) -> bool:
    return name in _COUNTED or name in _COMPUTE or name.startswith(("hugepages-", "requests.hugepages-"))


def _fits(scope: str, name: str) -> bool:
    if scope in ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"):
        return name in _POD_COMPUTE or name.startswith(("hugepages-", "requests.hugepages-"))
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("requests.storage", "persistentvolumeclaims")
    return True


def _unfit(hard: Mapping[str, Any]) -> set[str]:
    """The scopes that can't be combined with the resources of a quota."""
    names = [name for name in hard if _standard_quota(name)]
    return {scope for scope in _SCOPES if not all(_fits(scope, name) for name in names)}


def node_amounts(place: Place) -> list[FieldError]:
    """The errors in the resources of a node. As in upstream, the name of the resource is the last step of an error's
    path.
    """
    return [
        replace(error, field=f"{place.path}.{name}")
        for name, amount in (place.value or {}).items()
        for error in amount_errors(name, amount, place.path)
    ]


def quota_amounts(place: Place) -> list[FieldError]:
    """The errors in the amounts of a quota."""
    errors: list[FieldError] = []
    for name, amount_text in (place.value or {}).items():
        path = f"{place.path}[{name}]"
        unnamed = [invalid(path, name, text) for text in qualified_name(name)]
        errors += unnamed
        if "/" not in name and not _standard_quota(name):
            if not unnamed and name != "storage":
                errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
            errors.append(invalid(path, name, "must be a standard resource for quota"))
        errors += amount_errors(name, amount_text, path)
    return errors


def amount_errors(name: str, amount_text: str | int, path: str) -> list[FieldError]:
    """The errors in the amount of a resource: it must not be negative, and for some resources it must be a whole
    number.
    """
    errors: list[FieldError] = []
    amount = Quantity(amount_text)
    if amount.value < 0:
        errors.append(invalid(path, amount_text, _NOT_NEGATIVE))
    whole = name in _COUNTED or ("/" in name and "kubernetes.io/" not in name)
    if whole and _thousandths(str(amount_text), amount) % 1000:
        errors.append(invalid(path, str(amount), "must be an integer"))
    return errors


def _thousandths(text: str, amount: Quantity) -> int:
    """The amount in thousandths, rounded up, as upstream's ``MilliValue`` computes it: an amount that does not fit 64
    bits is 0 if it was written with an exponent and at most 18 digits, and loses its high bits otherwise.
    """
    exact = int((amount.value * 1000).to_integral_value(ROUND_UP))
    if -(2**63) <= exact < 2**63:
        return exact
    return 0 if _EXPONENT.fullmatch(text) else (exact + 2**63) % 2**64 - 2**63


def _scopes(place: Place) -> list[FieldError]:
    scopes, hard = place.value or [], place.holder.get("hard") or {}
    errors: list[FieldError] = []
    unfit = _unfit(hard)
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(place.path, scopes, "unsupported scope"))
        if scope in unfit:
            errors.append(invalid(place.path, scopes, "unsupported scope applied to resource"))
    errors += [invalid(place.path, scopes, "conflicting scopes") for pair in _PAIRS if pair <= set(scopes)]
    if place.old is not None and set(scopes) != set((place.old.get("spec") or {}).get("scopes") or []):
        errors.append(invalid(place.path, place.value, IMMUTABLE))
    return errors


def _scope_selector(place: Place) -> list[FieldError]:
    if place.value is None:
        return []
    path, hard = f"{place.path}.matchExpressions", place.holder.get("hard") or {}
    errors: list[FieldError] = []
    scopes: set[str] = set()
    unfit = _unfit(hard)
    for item in place.value.get("matchExpressions") or ():
        scope, operator, values = item.get("scopeName", ""), item.get("operator", ""), item.get("values") or []
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        if scope in unfit:
            errors.append(invalid(path, {"MatchExpressions": None}, "unsupported scope applied to resource"))
        if scope in (*_SCOPES[:4], "CrossNamespacePodAffinity") and operator != "Exists":
            text = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors.append(invalid(f"{path}.operator", operator, text))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{path}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{path}.values", values, text))
        else:
            errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
        scopes.add(scope)
    conflicting = place.holder.get("scopes")
    return errors + [invalid(path, conflicting, "conflicting scopes") for pair in _PAIRS if pair <= scopes]


def _limits(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    previous: set[str] = set()
    for index, limit in enumerate(place.value or ()):
        path, kind = f"{place.path}[{index}]", limit.get("type", "")
        problems = qualified_name(kind)
        errors += [invalid(f"{path}.type", kind, text) for text in problems]
        if not problems and "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
            errors.append(invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified"))
        if kind in previous:
            errors.append(duplicate(f"{path}.type", kind))
        previous.add(kind)
        errors += _limit(limit, kind, path)
    return errors


def _limit(limit: dict[str, dict[str, str]], kind: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    amounts_by_name: dict[str, dict[str, str]] = {}
    check = container_resource_errors if kind in ("Pod", "Container") else resource_errors
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        values = limit.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            if values:
                errors.append(forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'"))
            continue
        for name, amount in values.items():
            errors += check(name, f"{path}.{part}[{name}]")
            amounts_by_name.setdefault(name, {})[part] = amount
    if kind == "PersistentVolumeClaim" and not {"min", "max"} & amounts_by_name.get("storage", {}).keys():
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", text))
    for name, amounts in amounts_by_name.items():
        for low, high, field, bad_field, text in (
            ("min", "max", "min", "min", "min value {} is greater than max value {}"),
            ("min", "defaultRequest", "defaultRequest", "defaultRequest",
             "min value {} is greater than default request value {}"),
            ("defaultRequest", "max", "defaultRequest", "defaultRequest",
             "default request value {} is greater than max value {}"),
            ("defaultRequest", "default", "defaultRequest", "defaultRequest",
             "default request value {} is greater than default limit value {}"),
            ("min", "default", "default", "min", "min value {} is greater than default value {}"),
            ("default", "max", "default", "max", "default value {} is greater than max value {}"),
        ):  # fmt: skip
            if low in amounts and high in amounts and Quantity(amounts[low]) > Quantity(amounts[high]):
                reason = text.format(amounts[low], amounts[high])
                errors.append(invalid(f"{path}.{field}[{name}]", amounts[bad_field], reason))
        ratio = amounts.get("maxLimitRequestRatio")
        if ratio is not None and Quantity(ratio) < Quantity("1"):
            field_path = f"{path}.maxLimitRequestRatio[{name}]"
            errors.append(invalid(field_path, ratio, f"ratio {ratio} is less than 1"))
        if ratio is not None and "min" in amounts and "max" in amounts:
            least, most = (float(Quantity(amounts[side])) for side in ("min", "max"))
            if least and float(Quantity(ratio)) > most / least:
                reason = f"ratio {ratio} is greater than max/min = {most / least:.6f}"
                errors.append(invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, reason))
    return errors


# -- others -----------------------------------------------------------------------------------------------------------


def _data(place: Place) -> list[FieldError]:
    if place.value is None:
        return [required(place.path, "data is mandatory")]
    return [] if isinstance(place.value, dict) else [required(place.path, "data must be a valid JSON object")]


def _revision(place: Place) -> list[FieldError]:
    value = place.value or 0
    return [invalid(place.path, value, _NOT_NEGATIVE)] if value < 0 else []


def _migrated(place: Place) -> list[FieldError]:
    resource, path = (place.value or {}), place.path
    name, group = resource.get("resource", ""), resource.get("group", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{path}.resource", "resource is required to be set"))
    elif problems := dns1035_label(name):
        errors.append(invalid(f"{path}.resource", name, ",".join(problems)))
    if group and (problems := dns1123_subdomain(group)):
        errors.append(invalid(f"{path}.group", group, ",".join(problems)))
    return errors


def _migration(place: Place) -> list[FieldError]:
    bad_value = {"Resource": (place.value or {}).get("resource")}
    return [invalid(error.field, bad_value, IMMUTABLE) for error in immutable(place)]


def _taints(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    previous: set[tuple[str, str]] = set()
    for index, taint in enumerate(place.value or ()):
        # (upstream says metadata for spec)
        path, key, effect = f"metadata.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        errors += [invalid(f"{path}.key", key, text) for text in qualified_name(key)]
        value = taint.get("value", "")
        errors += [invalid(f"{path}.value", value, text) for text in label_value(value)]
        if not effect:
            errors.append(required(f"{path}.effect"))
        elif effect not in _EFFECTS:
            errors.append(not_supported(f"{path}.effect", effect, _EFFECTS))
        if (key, effect) in previous:
            error = duplicate(path, dump("core.Taint", taint))
            errors.append(replace(error, detail="taints must be unique by key and effect pair"))
        previous.add((key, effect))
    return errors


def _tolerations(place: Place) -> list[FieldError]:
    errors = toleration_errors(place.value, place.path)
    previous: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(place.value):
        key = tuple([toleration.get(name, "") for name in ("key", "operator", "value", "effect")])
        if key in previous:
            errors.append(duplicate(f"{place.path}[{index}]", dump("core.Toleration", toleration)))
        previous.add(key)
    return errors


def _overhead(place: Place) -> list[FieldError]:
    return requirements_errors({"limits": place.value}, [], place.path.removesuffix(".podFixed"))


def _pod_networks(place: Place) -> list[FieldError]:
    """The errors in a node's pod networks: at most two, of different families, which can't change once they are set."""
    errors: list[FieldError] = []
    networks, before = place.value or [], ((place.old or {}).get("spec") or {}).get("podCIDRs") or []
    if place.old is not None:
        same = len(before) == len(networks)
        changed = [1 for pair in zip(before, networks, strict=True) if pair[0] != pair[1]] if same else [1]
        text = 'node updates may not change podCIDR except from "" to valid'
        errors = [forbidden(place.path, text) for _ in changed] if before else []
        if not changed:
            return []
    families: set[int] = set()
    unread = ""
    for index, text in enumerate(networks):
        errors += cidr_errors(text, f"{place.path}[{index}]")
        network = network_of(text)
        if network is not None:
            families.add(network.version)
        unread = unread or (f"[{index}]: <nil> (invalid CIDR address: {text})" if network is None else "")
    if len(networks) < 2:
        return errors
    if unread:
        text = f"invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR{unread}"
        errors.append(internal_error(place.path, text))
    if unread or len(networks) > 2 or len(families) < 2:
        errors.append(invalid(place.path, networks, "may specify no more than one CIDR for each IP family"))
    return errors


def _provider(place: Place) -> list[FieldError]:
    before = ((place.old or {}).get("spec") or {}).get("providerID")
    if not before or before == place.value:
        return []
    return [invalid(place.path, None, f"field cannot be {'modified' if place.value else 'cleared'} once set")]


def _new_data(place: Place) -> list[FieldError]:
    """The errors in the data of a new object; data can't change later."""
    return _data(place) if place.old is None else []


def _preemption(place: Place) -> list[FieldError]:
    """The errors in the preemption policy of a new object; the policy can't change later."""
    if place.old is not None:
        return []
    if not place.value:
        return [required(place.path)]
    return one_of("PreemptLowerPriority", "Never")(place)


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "priorityclasses.scheduling.k8s.io": (
        row("value", _priority, frozen("may not be changed in an update.")),
        row("preemptionPolicy", _preemption, immutable),
    ),
    "runtimeclasses.node.k8s.io": (
        row("handler", needed(), named(dns1123_label), settled),
        row("scheduling.nodeSelector", labels),
        row("scheduling.tolerations", unless_missing(_tolerations)),
        row("overhead.podFixed", unless_missing(_overhead)),
    ),
    "resourcequotas": (
        row("spec.hard", quota_amounts),
        row("spec.scopes", _scopes),
        row("spec.scopeSelector", _scope_selector),
    ),
    "limitranges": (row("spec.limits", _limits),),
    "controllerrevisions.apps": (row("data", _new_data, immutable), row("revision", _revision)),
    "storageversionmigrations.storagemigration.k8s.io": (row("spec.resource", _migrated), row("spec", _migration)),
    "nodes": (
        row("spec.taints", _taints),
        row("spec.podCIDRs", _pod_networks),
        row("spec.providerID", _provider),
        row("spec.externalID", frozen("may not be updated")),
        row("status.capacity", node_amounts),
        row("status.allocatable", node_amounts),
    ),
    "leases.coordination.k8s.io": (
        row("spec.leaseDurationSeconds", at_least(1, "must be greater than 0")),
        row("spec.leaseTransitions", at_least(0)),
    ),
}
