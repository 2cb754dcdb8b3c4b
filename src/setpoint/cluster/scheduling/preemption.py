"""Preemption: the choice of the pods that have to end so that a more important pod gets a place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from setpoint.cluster.scheduling.node_info import Occupancy, Place, PlacedPod
from setpoint.cluster.scheduling.scheduling_cycle import Cycle
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal, told
from setpoint.meta import Selector
from setpoint.models.policy_v1 import PodDisruptionBudget

_LATEST = datetime.max.replace(tzinfo=UTC)
_NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",))
_NO_HELP = Refusal(("Preemption is not helpful for scheduling",))
NEVER = "not eligible due to preemptionPolicy=Never."
WAITING = "not eligible due to a terminating pod on the nominated node."


class Candidate(NamedTuple):
    """A node, the pods that would have to end there, and the number of these pods that a disruption budget guards."""

    place: Place
    victims: list[PlacedPod]
    violations: int


def preempt(
    pod: PlacedPod, cycle: Cycle, occupancy: Occupancy, budgets: Sequence[PodDisruptionBudget]
) -> Candidate | str:
    """The best candidate, or the reason why there is none.

    Nodes are compared as in upstream, by these criteria in turn: the fewest victims that budgets guard, the lowest
    priority of the most important victim, the lowest sum of priorities, the fewest victims, and the latest start of the
    most important victims.
    """
    if pod.spec.preemption_policy == "Never":
        return NEVER
    nominated = occupancy.places.get(occupancy.nominated.get(pod.key, ""))
    if nominated is not None and not cycle.refusals[nominated.name].lasting and _is_leaving(nominated, pod):
        return WAITING
    found: list[Candidate] = []
    refusals: list[Refusal] = []
    for place in occupancy:
        if cycle.refusals[place.name].lasting:
            refusals.append(_NO_HELP)
        elif (candidate := _on(place, pod, cycle, budgets)) is None:
            refusals.append(_NO_VICTIMS)
        else:
            found.append(candidate)
    return min(found, key=_cost) if found else told(refusals, len(occupancy.places))


def _is_leaving(place: Place, pod: PlacedPod) -> bool:
    """Whether a less important pod on the node is being deleted."""
    return any(each.is_deleting and each.priority < pod.priority for each in place.pods.values())


def _on(place: Place, pod: PlacedPod, cycle: Cycle, budgets: Sequence[PodDisruptionBudget]) -> Candidate | None:
    """The node with the pods of lower priority that have to end there; None if ending all of them is not enough. Pods
    are spared one by one while the new pod still fits, first those that a disruption budget guards.
    """
    lower = [each for each in place.pods.values() if each.priority < pod.priority]
    if not lower or not cycle.fits_without(place, lower):
        return None
    lower.sort(key=_importance)
    guarded = _guarded(lower, budgets)
    victims = list(lower)
    violations = 0
    # Those that would violate a budget are the first to be spared.
    for each in [*guarded, *(each for each in lower if each not in guarded)]:
        spared = [other for other in victims if other is not each]
        if cycle.fits_without(place, spared):
            victims = spared
        else:
            violations += each in guarded
    return Candidate(place, victims, violations)


def _guarded(pods: list[PlacedPod], budgets: Sequence[PodDisruptionBudget]) -> list[PlacedPod]:
    """The pods whose eviction would violate a budget if all ``pods`` were evicted in this order."""
    left = [budget.status.disruptions_allowed or 0 for budget in budgets]
    selectors = [Selector.of(budget.spec.selector) if budget.spec.selector is not None else None for budget in budgets]
    found = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            selector = selectors[index]
            if budget.namespace != pod.key.namespace or not selector or not selector.matches(pod.labels):
                continue
            if pod.key.name in budget.status.disrupted_pods:
                continue
            left[index] -= 1
            violates = violates or left[index] < 0
        if violates:
            found.append(pod)
    return found


def _importance(pod: PlacedPod) -> tuple[int, datetime]:
    """The sort key that puts the most important pods first: by higher priority, then by earlier start."""
    return -pod.priority, pod.began or _LATEST


def _cost(candidate: Candidate) -> tuple[int, int, int, int, float]:
    victims = candidate.victims
    highest = max((each.priority for each in victims), default=0)
    began = [(each.began or _LATEST).timestamp() for each in victims if each.priority == highest]
    return (
        candidate.violations,
        highest,
        sum(each.priority + 2**31 for each in victims),
        len(victims),
        -min(began, default=0.0),
    )
