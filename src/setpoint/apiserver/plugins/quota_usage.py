"""Usage: how much an object counts towards a ResourceQuota, and which quotas count it.

The same rules apply where quotas are enforced (`quotas`) and where usage is counted (`setpoint.cluster`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from setpoint.apiserver.objects.pod_resources import Amounts, amounts_of, pod_amounts
from setpoint.meta import Quantity, parse_time

JsonObject = dict[str, Any]

CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
EVALUATED: Final = ("pods", "services", "persistentvolumeclaims", _DEVICE_CLAIMS)
"""The collections for which quotas count more than the number of objects."""
_COUNTED: Final = (
    *("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets"),
    "services",
)
"""Collections that can also be counted under their own name."""
_PODS: Final = frozenset(
    {
        "count/pods", "pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory",
        "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    }
)  # fmt: skip
_SERVICES: Final = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_CLAIMS: Final = frozenset({"count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"})
_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_OF_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES: Final = 32
"""The devices that a request for all of them may be given, as in upstream."""
_ONE: Final = Quantity(1)


def concerned(collection: str, names: Iterable[str]) -> list[str]:
    """The resource names in ``names`` under which a quota counts objects of the collection (such as
    ``jobs.batch``).
    """
    return [name for name in names if _concerns(collection, name)]


def _concerns(collection: str, name: str) -> bool:
    if collection == "pods":
        is_extended = name.startswith("requests.") and "/" in name and _BY_CLASS not in name
        return name in _PODS or name.startswith(("hugepages-", "requests.hugepages-")) or is_extended
    if collection == "services":
        return name in _SERVICES
    if collection == "persistentvolumeclaims":
        return name in _CLAIMS or name.endswith((f"{_BY_CLASS}persistentvolumeclaims", f"{_BY_CLASS}requests.storage"))
    if collection == _DEVICE_CLAIMS and name.endswith(_OF_CLASS):
        return True
    return name == f"count/{collection}" or (collection in _COUNTED and name == collection)


def usage(collection: str, obj: JsonObject, now: datetime) -> Amounts:
    """The amounts that an object adds to the usage of a quota, by the resource names that quotas use."""
    counted = {f"count/{collection}": _ONE}
    if collection in _COUNTED:
        counted[collection] = _ONE
    if collection == "pods":
        return pod_usage(obj, now)
    if collection == "services":
        return counted | _service(obj.get("spec") or {})
    if collection == "persistentvolumeclaims":
        return counted | _claim(obj)
    if collection == _DEVICE_CLAIMS:
        return counted | _devices(obj.get("spec") or {})
    return counted


def pod_usage(pod: JsonObject, now: datetime) -> Amounts:
    """The amounts that a pod adds to the usage of a quota, by resource name.

    A pod that has ended, or was deleted and has exceeded its grace period, counts only towards
    ``count/pods``.
    """
    usage: Amounts = {"count/pods": _ONE}
    if not _lives(pod, now):
        return usage
    spec = pod.get("spec") or {}
    return usage | _compute(pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    usage: Amounts = {"pods": _ONE}
    for name, amount in requests.items():
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-"):
            usage[name] = usage[f"requests.{name}"] = amount
        elif "/" in name:
            usage[f"requests.{name}"] = amount
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in limits:
            usage[f"limits.{name}"] = limits[name]
    return usage


def unspecified(pod: JsonObject, names: Iterable[str]) -> str:
    """An error message, worded as in upstream, about the resources among ``names`` that a container of the pod does not
    specify. It is empty if nothing is missing or if the pod itself specifies resources.
    """
    spec = pod.get("spec") or {}
    if amounts_of(spec, "requests") or amounts_of(spec, "limits"):
        return ""
    needed = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}.intersection(names)
    missing: dict[str, set[str]] = {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        amounts = _compute(amounts_of(container, "requests"), amounts_of(container, "limits"))
        for name in needed - amounts.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    parts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)]
    return f"must specify {'; '.join(parts)}" if parts else ""


def _lives(pod: JsonObject, now: datetime) -> bool:
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod.get("metadata") or {}
    ends, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return ends is None or grace is None or now <= parse_time(ends) + timedelta(seconds=grace)


def _service(spec: JsonObject) -> Amounts:
    ports = spec.get("ports") or []
    balanced = spec.get("type") == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    opened = len(ports) if balanced or spec.get("type") == "NodePort" else 0
    return {"services.loadbalancers": Quantity(int(balanced)), "services.nodeports": Quantity(opened)}


def _claim(claim: JsonObject) -> Amounts:
    spec = claim.get("spec") or {}
    name = (claim["metadata"].get("annotations") or {}).get(CLASS) or spec.get("storageClassName") or ""
    usage: Amounts = {}
    if name:
        usage[f"{name}{_BY_CLASS}persistentvolumeclaims"] = _ONE
    size = amounts_of(spec, "requests").get("storage")
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if size is not None and allocated is not None:
        size = max(size, Quantity(allocated))
    if size is not None:
        usage["requests.storage"] = size
        if name:
            usage[f"{name}{_BY_CLASS}requests.storage"] = size
    return usage


def _devices(spec: JsonObject) -> Amounts:
    """The devices of a claim by class. Of the alternatives of a request, each class counts with the largest."""
    counts: Counter[str] = Counter()
    for request in (spec.get("devices") or {}).get("requests") or ():
        exact = request.get("exactly")
        largest: dict[str, int] = {}
        for alternative in request.get("firstAvailable") or ([exact] if exact else []):
            count = _MOST_DEVICES if alternative.get("allocationMode") == "All" else alternative.get("count", 0)
            name = alternative.get("deviceClassName", "")
            largest[name] = max(largest.get(name, 0), count)
        counts.update(largest)
    return {f"{name}{_OF_CLASS}": Quantity(count) for name, count in counts.items()}


# -- scopes ------------------------------------------------------------------------------------------------------------


def matches(quota: JsonObject, collection: str, obj: JsonObject) -> bool:
    """Whether the object is in all scopes of the quota."""
    spec = quota.get("spec") or {}
    wanted = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    wanted += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(has_scope(scope, collection, obj) for scope in wanted)


def has_scope(requirement: Mapping[str, object], collection: str, obj: JsonObject) -> bool:
    """Whether an object is in the scope that ``requirement`` describes.

    ``VolumeAttributesClass`` selects claims, and all other scopes select pods; other objects are not in any
    scope.
    """
    name = requirement["scopeName"]
    spec = obj.get("spec") or {}
    if collection == "persistentvolumeclaims":
        status = obj.get("status") or {}
        names = {
            spec.get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        }
        return name == "VolumeAttributesClass" and _selects(
            requirement, {class_name for class_name in names if class_name}
        )
    if collection != "pods":
        return False
    match name:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            class_name = spec.get("priorityClassName")
            return _selects(requirement, {class_name} if class_name else set())
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec.get("affinity") or {})
    return False


def _selects(requirement: Mapping[str, object], names: set[str]) -> bool:
    values = set(requirement.get("values") or ())  # type: ignore[call-overload]
    match requirement.get("operator"):
        case "Exists":
            return bool(names)
        case "DoesNotExist":
            return not names
        case "In":
            return bool(names & values)
        case "NotIn":
            return not names & values
    return False


def _is_best_effort(spec: JsonObject) -> bool:
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return not any(
        amounts_of(holder, side).get(name, Quantity(0)).value
        for holder in holders
        for side in ("requests", "limits")
        for name in ("cpu", "memory")
    )


def _crosses_namespaces(affinity: JsonObject) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        terms_ = list(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        weighted = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms_ += [term.get("podAffinityTerm") or {} for term in weighted]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms_):
            return True
    return False
