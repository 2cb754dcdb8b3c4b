"""Validation of the resources of containers and of whole pods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_UP
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_found, not_supported, required

Errors = list[FieldError]
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_STANDARD: Final = frozenset(
    {
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
        "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
        "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_NOTHING: Final = Quantity("0")
_EXPONENT: Final = re.compile(r"(?=[^eE]{1,18}[eE])\d*\.?\d*[eE]\+?\d+|-?\d{1,18}[kMGTP]?|-?\d{1,3}E", re.ASCII)
"""An amount that upstream keeps as 64 bits and a power of ten. One of more digits that end in zeros looks like one with
a suffix.
"""
_ZEROS: Final = re.compile(r"(?:000)+E\Z")
_OF_QUALITY: Final = ("cpu", "memory")
"""The resources on which a pod's quality of service depends."""


def _native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def resource_errors(name: str, path: str) -> Errors:
    errors = [invalid(path, name, text) for text in qualified_name(name)]
    standard = name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))
    if not errors and "/" not in name and not standard:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def container_resource_errors(name: str, path: str) -> Errors:
    errors = resource_errors(name, path)
    if "/" not in name:
        if name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith("hugepages-"):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _native(name) and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def thousandths(amount: Quantity) -> int:
    """The amount in thousandths, rounded up, as upstream's ``MilliValue`` computes it: an amount that does not fit 64
    bits is 0 if it was written with at most 18 digits, and loses its high bits otherwise.
    """
    exact = int((amount.value * 1000).to_integral_value(ROUND_UP))
    if -(2**63) <= exact < 2**63:
        return exact
    return 0 if _EXPONENT.fullmatch(str(amount)) else (exact + 2**63) % 2**64 - 2**63


def go_text(amount: Quantity) -> str:
    """The amount as upstream's messages have it. Go counts trailing zeros by threes, but has no suffix for 10^21 and
    more, and then leaves them out.
    """
    return _ZEROS.sub("", str(amount))


def _amount_errors(name: str, amount: Quantity, path: str) -> Errors:
    errors = [] if amount >= _NOTHING else [invalid(path, go_text(amount), _NOT_NEGATIVE)]
    extended = not _native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")
    if extended and thousandths(amount) % 1000:
        errors.append(invalid(path, go_text(amount), "must be an integer"))
    if name.startswith("hugepages-"):
        try:
            size = Quantity(name.removeprefix("hugepages-"))
        except ValueError:
            size = _NOTHING
        if size <= _NOTHING or int(amount.value) % int(size.value):
            errors.append(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))
    return errors


_POD_LEVEL: Final = ("cpu", "hugepages-", "memory")


def _pod_resource_errors(name: str, path: str) -> Errors:
    errors = [invalid(path, name, text) for text in qualified_name(name)]
    huge = name.startswith("hugepages-")
    if not errors and "/" not in name and name not in _STANDARD and not huge:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    if not errors and name not in ("cpu", "memory") and not huge:
        errors.append(not_supported(path, name, _POD_LEVEL))
    return errors


def pod_requirements_errors(spec: JsonObject, path: str) -> Errors:
    resources, field_path = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(field_path, "may not be set for a windows pod")]
    errors: Errors = []
    if "claims" in resources:
        errors.append(forbidden(f"{field_path}.claims", "claims may not be set for Resources at pod-level"))
    claims = [item.get("name", "") for item in spec.get("resourceClaims") or []]
    errors += requirements_errors(resources, claims, field_path, _pod_resource_errors)
    for name, amount in _together(spec).items():
        request = (resources.get("requests") or {}).get(name)
        if request is not None and amount > Quantity(request):
            text = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.append(invalid(f"{field_path}.requests[{name}]", str(Quantity(request)), text))
    containers: list[JsonObject] = spec.get("containers") or []
    for index, container in enumerate(containers):
        limits: JsonObject = (container.get("resources") or {}).get("limits") or {}
        for name, limit in limits.items():
            most = (resources.get("limits") or {}).get(name)
            if most is not None and Quantity(limit) > Quantity(most):
                at = f"{field_path}.containers[{index}][{name}].limits"
                errors.append(invalid(at, str(Quantity(limit)), f"must be less than or equal to pod limits of {most}"))
    return errors


def _together(spec: JsonObject) -> dict[str, Quantity]:
    """The requests of all containers: the sum over the containers that run together, or more if an init
    container needs more while it runs.
    """
    running: dict[str, Quantity] = {}
    first: dict[str, Quantity] = {}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            requests = (container.get("resources") or {}).get("requests") or {}
            amounts = {name: Quantity(text) for name, text in requests.items()}
            if kind == "containers" or container.get("restartPolicy") == "Always":
                for name, amount in amounts.items():
                    running[name] = Quantity(running[name].value + amount.value) if name in running else amount
            else:
                for name, amount in amounts.items():
                    beside = running.get(name, _NOTHING).value
                    first[name] = max(first.get(name, _NOTHING), Quantity(beside + amount.value))
    return {name: max(running.get(name, _NOTHING), first.get(name, _NOTHING)) for name in running.keys() | first.keys()}


def requirements_errors(
    resources: JsonObject,
    claims: list[str],
    path: str,
    name_errors: Callable[[str, str], Errors] = container_resource_errors,
) -> Errors:
    """The errors in the resources of a container or of a whole pod. ``claims``: the names of the pod's device
    claims. ``name_errors``: the function that checks the name of a resource.
    """
    errors: Errors = []
    limits = {name: Quantity(text) for name, text in (resources.get("limits") or {}).items()}
    requests = {name: Quantity(text) for name, text in (resources.get("requests") or {}).items()}
    for name, amount in limits.items():
        field_path = f"{path}.limits[{name}]"
        errors += name_errors(name, field_path) + _amount_errors(name, amount, field_path)
    for name, amount in requests.items():
        field_path = f"{path}.requests[{name}]"
        errors += name_errors(name, field_path) + _amount_errors(name, amount, field_path)
        limit, free = limits.get(name), _native(name) and not name.startswith("hugepages-")
        if limit is None:
            if not free:
                text = "Limit must be set for non overcommitable resources"
                errors.append(required(f"{path}.limits", text))
        elif not free and amount != limit:
            errors.append(invalid(f"{path}.requests", str(amount), f"must be equal to {name} limit of {limit}"))
        elif amount > limit:
            text = f"must be less than or equal to {name} limit of {limit}"
            errors.append(invalid(f"{path}.requests", str(amount), text))
    named = limits.keys() | requests.keys()
    if not named & {"cpu", "memory"} and any(name.startswith("hugepages-") for name in named):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    claim_list = resources.get("claims") or []
    if claim_list:
        errors += _claim_errors(claim_list, {name for name in claims if name}, f"{path}.claims")
    return errors


def _claim_errors(claims: list[JsonObject], declared: set[str], path: str) -> Errors:
    errors: Errors = []
    previous: set[str] = set()
    of_parts: Counter[str] = Counter()
    names = f": {', '.join(sorted(declared))}" if declared else " which is empty"
    for index, claim in enumerate(claims):
        field_path, name, request = f"{path}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(field_path))
            continue
        if name in previous:
            errors.append(duplicate(field_path, name))
        else:
            key = f"{name}/{request}" if request else name
            errors += [
                invalid(f"{field_path}.request", request, text) for text in (dns1123_label(request) if request else ())
            ]
            if key in previous:
                errors.append(duplicate(field_path, key))
            elif not request:
                errors += [duplicate(field_path, name)] * of_parts[name]
            if key not in previous:
                of_parts[key.partition("/")[0]] += "/" in key
            previous.add(key)
        if name not in declared:
            error = not_found(field_path, name)
            text = f"must be one of the names in pod.spec.resourceClaims{names}"
            errors.append(FieldError(error.type, error.field, text, error.bad_value))
    return errors


def resizing_errors(policies: list[JsonObject], restart: str, path: str) -> Errors:
    errors: Errors = []
    previous: set[str] = set()
    for index, policy in enumerate(policies):
        name, manner = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in previous:
            errors.append(duplicate(f"{path}[{index}]", name))
        previous.add(name)
        for value, allowed in ((name, ("cpu", "memory")), (manner, ("NotRequired", "RestartContainer"))):
            if not value:
                errors.append(required(path))
            elif value not in allowed:
                errors.append(not_supported(path, value, allowed))
        if restart == "Never" and manner != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, manner, text))
    return errors


def qos_class(spec: JsonObject) -> str:
    """The quality of service class of a pod: ``Guaranteed``, ``Burstable`` or ``BestEffort``. It depends on the CPU and
    memory of the pod as a whole, if its ``resources`` are set, or else on those of its containers.
    """
    whole = spec.get("resources") or {}
    parts = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    all_resources = [whole] if any(whole.values()) else [part.get("resources") or {} for part in parts]
    guaranteed, any_given = True, False
    for resources in all_resources:
        limits = _amounts(resources.get("limits"))
        requests = limits | _amounts(resources.get("requests"))
        any_given = any_given or bool(requests)
        guaranteed = guaranteed and len(limits) == len(_OF_QUALITY) and requests == limits
    return "BestEffort" if not any_given else "Guaranteed" if guaranteed else "Burstable"


def _amounts(amounts: JsonObject | None) -> dict[str, Quantity]:
    quantities = {name: Quantity(amounts[name]) for name in _OF_QUALITY if name in amounts} if amounts else {}
    return {name: quantity for name, quantity in quantities.items() if quantity > _NOTHING}
