"""Enforcement of disruption budgets on evictions (upstream's ``pod/storage/eviction.go``)."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.errors import ApiStatusError, forbidden, too_many_requests
from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.verbs.update import store
from setpoint.meta import SelectorError
from setpoint.schema import copy_json

JsonObject = dict[str, Any]
_ALLOWED: Final = "DisruptionAllowed"
_UNGUARDED: Final = ("Pending", "Succeeded", "Failed")
_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_MANY: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def spend(call: Call, pod: JsonObject, *, dry_run: bool) -> None:
    """Counts a pod's eviction against its budget; does nothing if there is no budget or the eviction does not count.

    Raises ApiStatusError: 429 if the budget is used up or its status is out of date or was never set, 403 if its status
    allows a negative number of disruptions, 500 if the pod has several budgets.
    """
    if (pod.get("status") or {}).get("phase") in _UNGUARDED or pod["metadata"].get("deletionTimestamp"):
        return
    served = call.state.registry.find("policy", "v1", "poddisruptionbudgets")
    assert served is not None
    labels = pod["metadata"].get("labels") or {}
    budgets = []
    for record in call.storage.scan(served.collection, call.path.namespace):
        budget = call.versions.decoded(served, record)
        if _selects(budget, labels):
            budgets.append((record, budget))
    if len(budgets) > 1:
        raise ApiStatusError(500, "", _MANY)
    if not budgets:
        return
    record, budget = budgets[0]
    if _may_go_unhealthy(budget, pod):
        return
    _check(record.name, budget, served.group_resource)
    new: JsonObject = copy_json(budget)
    new["status"]["disruptionsAllowed"] -= 1
    if not new["status"]["disruptionsAllowed"]:
        _set_used_up(new, call.timestamp())
    new["status"].setdefault("disruptedPods", {})[pod["metadata"]["name"]] = call.timestamp()
    store(call, served, record, budget, new, dry_run=dry_run)


def _set_used_up(budget: JsonObject, now: str) -> None:
    """Sets the condition ``DisruptionAllowed`` of a budget (in place) that allows no more disruptions."""
    conditions: list[JsonObject] = budget["status"].setdefault("conditions", [])
    condition = next((item for item in conditions if item.get("type") == _ALLOWED), None)
    if condition is None:
        condition = {"type": _ALLOWED}
        conditions.append(condition)
    if condition.get("status") != "False":
        condition["lastTransitionTime"] = now
    generation = budget["metadata"].get("generation", 0)
    condition.update(status="False", observedGeneration=generation, reason="InsufficientPods", message="")


def _selects(budget: JsonObject, labels: dict[str, str]) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        return selector_of(selector).matches(labels)
    except SelectorError:
        return False


def _may_go_unhealthy(budget: JsonObject, pod: JsonObject) -> bool:
    """Whether the pod is not ready and its eviction does not count against the budget, either because the budget always
    allows the eviction of pods that are not ready, or because enough pods are healthy.
    """
    conditions = pod["status"].get("conditions") or ()
    if any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    desired, current = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return 0 < desired <= current


def _check(name: str, budget: JsonObject, resource: Any) -> None:
    status = budget["status"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise forbidden(resource, name, "pdb disruptions allowed is negative")
    if allowed == 0:
        desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        if current <= desired:
            reason = f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        else:
            reason = f"The disruption budget {name} does not allow evicting pods currently"
        raise _refused(reason, 0)


def _refused(reason: str, retry_after: int) -> ApiStatusError:
    error = too_many_requests(_VIOLATES, retry_after)
    error.status.setdefault("details", {})["causes"] = [{"reason": "DisruptionBudget", "message": reason}]
    return error
