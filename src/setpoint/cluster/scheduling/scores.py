"""Scores: the choice of the best node among those on which a pod may run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from setpoint.cluster.node_matching import holds, tolerates
from setpoint.cluster.scheduling.inter_pod_affinity import Neighbours
from setpoint.cluster.scheduling.node_info import Place, PlacedPod
from setpoint.cluster.scheduling.topology_spread import Spread

MOST: Final = 100
_COMPARED: Final = ("cpu", "memory")


def best(pod: PlacedPod, places: Sequence[Place], spread: Spread, neighbours: Neighbours) -> Place:
    """The node with the highest sum of the scores of upstream's plugins, with upstream's weights.

    Where upstream chooses at random among equals, the node with the fewest pods wins, and among these the first that
    was added, so that the same cluster always gives the same answer.
    """
    if len(places) == 1:
        return places[0]
    totals = [float(_room(pod, place) + _balance(pod, place)) for place in places]

    def add(weight: int, values: list[float], *, reverse: bool = False) -> None:
        for index, value in enumerate(_normalized(values, reverse)):
            totals[index] += weight * value

    if pod.spec.affinity is not None and pod.spec.affinity.node_affinity is not None:
        add(2, [float(_wanted(pod, place)) for place in places])
    if any(taint.effect == "PreferNoSchedule" for place in places for taint in place.node.spec.taints):
        add(3, [float(_count_intolerable_taints(pod, place)) for place in places], reverse=True)
    if spread.prefers:
        add(2, [spread.crowding(place) for place in places], reverse=True)
    if neighbours.prefers:
        pulls = [float(neighbours.pull(place)) for place in places]
        lowest = min(pulls)
        add(2, [pull - lowest for pull in pulls])
    chosen = max(range(len(places)), key=lambda index: (int(totals[index]), -len(places[index].pods), -index))
    return places[chosen]


def _room(pod: PlacedPod, place: Place) -> int:
    """The score of NodeResourcesFit (least allocated): the share of the node that would be left, from 0 to 100."""
    total = counted = 0
    for resource in _COMPARED:
        allocatable = place.allocatable.get(resource, 0)
        if allocatable:
            free = allocatable - place.weight.get(resource, 0) - pod.weight.get(resource, 0)
            total += max(free, 0) * MOST // allocatable
            counted += 1
    return total // counted if counted else 0


def _balance(pod: PlacedPod, place: Place) -> int:
    """The score of NodeResourcesBalancedAllocation: 100 if equal shares of CPU and memory would be used."""
    shares = [
        min((place.used.get(resource, 0) + pod.requests.get(resource, 0)) / place.allocatable[resource], 1.0)
        for resource in _COMPARED
        if place.allocatable.get(resource)
    ]
    return int((1 - abs(shares[0] - shares[1]) / 2) * MOST) if len(shares) == 2 else MOST


def _wanted(pod: PlacedPod, place: Place) -> int:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if affinity is None:
        return 0
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return sum(term.weight for term in preferred if holds(term.preference, place.node))


def _count_intolerable_taints(pod: PlacedPod, place: Place) -> int:
    effect = ("PreferNoSchedule",)
    return sum(not tolerates(pod.spec.tolerations, (taint,), effect) for taint in place.node.spec.taints)


def _normalized(values: list[float], reverse: bool) -> list[float]:
    """Each value as a percentage of the highest finite value, rounded down; with ``reverse``, 100 minus this
    percentage, and 0 for an infinite value.
    """
    most = max((value for value in values if value != inf), default=0.0)
    scale: Callable[[float], float] = lambda value: value * MOST // most if most else 0.0  # noqa: E731
    if reverse:
        return [0.0 if value == inf else MOST - scale(value) for value in values]
    return [scale(value) for value in values]
