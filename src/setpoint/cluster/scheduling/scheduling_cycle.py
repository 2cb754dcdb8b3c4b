"""One scheduling cycle: every node is checked, and the best of the nodes that accept the pod is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from setpoint.cluster.scheduling.filters import refusal
from setpoint.cluster.scheduling.inter_pod_affinity import Neighbours
from setpoint.cluster.scheduling.node_info import NamespaceLabels, Occupancy, Place, PlacedPod
from setpoint.cluster.scheduling.scores import best
from setpoint.cluster.scheduling.topology_spread import Spread
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal
from setpoint.cluster.scheduling.volume_binding import PodVolumes, mounted
from setpoint.meta import ObjectKey


class Cycle:
    """The search for a node for one pod. It does not change anything.

    ``selected`` is the node for which volumes of the pod have already been chosen.
    """

    def __init__(
        self,
        pod: PlacedPod,
        occupancy: Occupancy,
        namespaces: NamespaceLabels,
        volumes: PodVolumes | None = None,
        selected: str | None = None,
    ) -> None:
        self._pod = pod
        self._volumes = volumes
        self._selected = selected
        self._occupancy = occupancy
        self._namespaces = namespaces
        self._spread, self._neighbours = self._rules(occupancy)
        self._users = self._users_of(volumes.exclusive) if volumes is not None and volumes.exclusive else frozenset()
        """The keys of the pods on nodes that already use one of this pod's exclusive claims (ReadWriteOncePod)."""
        self.refusals: dict[str, Refusal] = {}
        """The reason why each node was left out, in the order of the nodes."""

    def choose(self) -> Place | None:
        """The place for the pod: its selected or nominated node if that node accepts the pod, otherwise the best one.
        None if every node refuses the pod (see `refusals`).
        """
        pod, occupancy = self._pod, self._occupancy
        feasible = []
        for place in occupancy:
            expected, rules = occupancy.expected(place, pod), (self._spread, self._neighbours, self._volumes)
            why = refusal(pod, expected, *rules, in_use=bool(self._users))
            if why is None:
                feasible.append(place)
            else:
                self.refusals[place.name] = why
        if not feasible:
            return None
        nominated = self._selected or occupancy.nominated.get(pod.key)
        for place in feasible:
            if place.name == nominated:
                return place
        return best(pod, feasible, self._spread, self._neighbours)

    def fits_without(self, place: Place, victims: Iterable[PlacedPod]) -> bool:
        """Whether the pod could run on the node if these pods were not there."""
        removed = list(victims)
        changed = place.without(removed)
        places = [changed if other is place else other for other in self._occupancy]
        spread, neighbours = self._rules(places)
        expected = self._occupancy.expected(changed, self._pod)
        in_use = not self._users.issubset(pod.key for pod in removed)
        return refusal(self._pod, expected, spread, neighbours, self._volumes, in_use=in_use) is None

    def _users_of(self, claims: frozenset[str]) -> frozenset[ObjectKey]:
        space = self._pod.key.namespace
        return frozenset(
            key
            for key, pod in self._occupancy.pods.items()
            if pod.node
            and key.namespace == space
            and not claims.isdisjoint(name for name, _ in mounted(key.name, pod.spec))
        )

    def _rules(self, places: Iterable[Place]) -> tuple[Spread, Neighbours]:
        others = bool(self._occupancy.with_terms)
        return Spread(self._pod, places), Neighbours(self._pod, places, self._namespaces, others=others)
