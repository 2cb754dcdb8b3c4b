"""Defaults of the resources of whole pods, which follow from those of their containers."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.objects.pod_resources import Side, pod_amounts
from setpoint.meta import Quantity

JsonObject = dict[str, Any]


def default_pod_resources(spec: JsonObject) -> None:
    """Completes the resources of a pod (in place) that has requests or limits of its own.

    Missing requests are those of the containers together, or the pod's limits; missing limits are those of the
    containers together, if all have one, or the pod's requests if these are greater.
    """
    resources = spec.get("resources")
    if not resources or not (resources.get("requests") or resources.get("limits")):
        return
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    for name, amount in _of_containers(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, amount)
    for name, amount in _of_containers(spec, "requests").items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if _is_of_pods(name):
            requests.setdefault(name, amount)
    together = _of_containers(spec, "limits")
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for name, amount in requests.items():
        limited = all(name in ((item.get("resources") or {}).get("limits") or {}) for item in containers)
        if _is_of_pods(name) and name not in limits and limited:
            limits[name] = max(together[name], amount, key=Quantity)
    for side, amounts in (("requests", requests), ("limits", limits)):
        if amounts:
            resources[side] = amounts


def _is_of_pods(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _of_containers(spec: JsonObject, side: Side) -> dict[str, str]:
    apart = {key: value for key, value in spec.items() if key != "resources"}
    return {name: str(amount) for name, amount in pod_amounts(apart, side, overhead=False).items()}
