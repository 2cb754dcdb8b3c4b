"""Preemption: the choice of the pods that have to end so that a more important pod gets a place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from setpoint.cluster.scheduling.node_info import Occupancy, Place, PlacedPod
from setpoint.cluster.scheduling.scheduling_cycle import Cycle
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal, failure_text
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
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    for place in occupancy:
        if cycle.refusals[place.name].lasting:
            refusals.append(_NO_HELP)
        elif (candidate := _on(place, pod, cycle, budgets)) is None:
            refusals.append(_NO_VICTIMS)
        else:
            candidates.append(candidate)
    return min(candidates, key=_cost) if candidates else failure_text(refusals, len(occupancy.places))


def _is_leaving(place: Place, pod: PlacedPod) -> bool:
    """Whether a less important pod on the node is being deleted."""
    return any(other.is_deleting and other.priority < pod.priority for other in place.pods.values())


def _on(place: Place, pod: PlacedPod, cycle: Cycle, budgets: Sequence[PodDisruptionBudget]) -> Candidate | None:
    """The node with the pods of lower priority that have to end there; None if ending all of them is not enough. Pods
    are spared one by one while the new pod still fits, first those that a disruption budget guards.
    """
    lower = [other for other in place.pods.values() if other.priority < pod.priority]
    if not lower or not cycle.fits_without(place, lower):
        return None
    lower.sort(key=_importance)
    guarded = _guarded(lower, budgets)
    victims = list(lower)
    violations = 0
    # Those that would violate a budget are the first to be spared.
    for victim in [*guarded, *(unguarded for unguarded in lower if unguarded not in guarded)]:
        spared = [other for other in victims if other is not victim]
        if cycle.fits_without(place, spared):
            victims = spared
        else:
            violations += victim in guarded
    return Candidate(place, victims, violations)


def _guarded(pods: list[PlacedPod], budgets: Sequence[PodDisruptionBudget]) -> list[PlacedPod]:
    """The pods whose eviction would violate a budget if all ``pods`` were evicted in this order."""
    allowed = [budget.status.disruptions_allowed or 0 for budget in budgets]
    selectors = [Selector.of(budget.spec.selector) if budget.spec.selector is not None else None for budget in budgets]
    guarded = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            selector = selectors[index]
            if budget.namespace != pod.key.namespace or not selector or not selector.matches(pod.labels):
                continue
            if pod.key.name in budget.status.disrupted_pods:
                continue
            allowed[index] -= 1
            violates = violates or allowed[index] < 0
        if violates:
            guarded.append(pod)
    return guarded


def _importance(pod: PlacedPod) -> tuple[int, datetime]:
    """The sort key that puts the most important pods first: by higher priority, then by earlier start."""
    return -pod.priority, pod.began or _LATEST


def _cost(candidate: Candidate) -> tuple[int, int, int, int, float]:
    victims = candidate.victims
    highest = max((victim.priority for victim in victims), default=0)
    began = [(victim.began or _LATEST).timestamp() for victim in victims if victim.priority == highest]
    return (
        candidate.violations,
        highest,
        sum(victim.priority + 2**31 for victim in victims),
        len(victims),
        -min(began, default=0.0),
    )
