"""Rules for quotas and limit ranges, and for amounts of resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.strategies.pod_resources import (
    container_resource_errors,
    go_text,
    resource_errors,
    thousandths,
)
from setpoint.apiserver.strategies.rules.rule_table import IMMUTABLE, Place, Row, row
from setpoint.meta import Quantity
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, required

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
NOT_NEGATIVE: Final = "must be greater than or equal to 0"


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
        errors.append(invalid(path, amount_text, NOT_NEGATIVE))
    whole = name in _COUNTED or ("/" in name and "kubernetes.io/" not in name)
    if whole and thousandths(amount) % 1000:
        errors.append(invalid(path, go_text(amount), "must be an integer"))
    return errors


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


def _go_selector(selector: Mapping[str, Any]) -> Shown:
    """The selector as Go shows the type without version, whose fields have no other names in JSON."""
    names = {"ScopeName": "scopeName", "Operator": "operator", "Values": "values"}
    requirements = [{go: item.get(name) for go, name in names.items()} for item in selector["matchExpressions"]]
    return Shown(msgspec.json.encode({"MatchExpressions": requirements}).decode())


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
            errors.append(invalid(path, _go_selector(place.value), "unsupported scope applied to resource"))
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


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "resourcequotas": (
        row("spec.hard", quota_amounts),
        row("spec.scopes", _scopes),
        row("spec.scopeSelector", _scope_selector),
    ),
    "limitranges": (row("spec.limits", _limits),),
}
