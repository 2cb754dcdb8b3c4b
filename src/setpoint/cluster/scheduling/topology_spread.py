"""Topology spread constraints: matching pods are spread evenly over zones, hosts or any other domains that a label
defines.
"""

from __future__ import annotations

from collections.abc import Iterable

from setpoint.cluster.node_matching import fits, tolerates
from setpoint.cluster.scheduling.node_info import Place, PlacedPod
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal
from setpoint.meta import Selector
from setpoint.models.core_v1 import TopologySpreadConstraint

_MISMATCH = "node(s) didn't match pod topology spread constraints"


class _Constraint:
    """One constraint of one pod, with the number of matching pods in each domain."""

    def __init__(self, constraint: TopologySpreadConstraint, pod: PlacedPod) -> None:
        self.key = constraint.topology_key
        self.max_skew = constraint.max_skew
        self.min_domains = constraint.min_domains or 1
        self._pod = pod
        self._honours_affinity = constraint.node_affinity_policy != "Ignore"
        self._honours_taints = constraint.node_taints_policy == "Honor"
        self._selector = None if constraint.label_selector is None else Selector.of(constraint.label_selector)
        self._alike = {key: pod.labels[key] for key in constraint.match_label_keys if key in pod.labels}
        self.matches_itself = self._matches(pod)
        self.counts: dict[str, int] = {}

    def count(self, place: Place) -> None:
        """Adds the matching pods on a node, if the constraint takes that node into account."""
        node, spec = place.node, self._pod.spec
        if self._honours_affinity and not fits(spec, node):
            return
        if self._honours_taints and not tolerates(spec.tolerations, node.spec.taints, ("NoSchedule", "NoExecute")):
            return
        domain, namespace = node.labels[self.key], self._pod.key.namespace
        matching = sum(
            key.namespace == namespace and not pod.is_deleting and self._matches(pod) for key, pod in place.pods.items()
        )
        self.counts[domain] = self.counts.get(domain, 0) + matching

    def _matches(self, pod: PlacedPod) -> bool:
        if self._selector is None or not self._selector.matches(pod.labels):
            return False
        return all(pod.labels.get(key) == value for key, value in self._alike.items())

    @property
    def least(self) -> int:
        """The number of pods in the domain with the fewest pods; 0 while there are too few domains."""
        return min(self.counts.values(), default=0) if len(self.counts) >= self.min_domains else 0

    def skew(self, domain: str) -> int:
        """The skew of a domain if the pod is added: the number of its pods minus that of the domain with the fewest
        pods.
        """
        return self.counts.get(domain, 0) + self.matches_itself - self.least


class Spread:
    """A pod's constraints, for one occupancy."""

    def __init__(self, pod: PlacedPod, places: Iterable[Place]) -> None:
        declared = pod.spec.topology_spread_constraints
        self._hard = [
            _Constraint(constraint, pod) for constraint in declared if constraint.when_unsatisfiable != "ScheduleAnyway"
        ]
        self._soft = [
            _Constraint(constraint, pod) for constraint in declared if constraint.when_unsatisfiable == "ScheduleAnyway"
        ]
        if declared:
            for constraints in (self._hard, self._soft):
                for place in places:
                    if all(constraint.key in place.node.labels for constraint in constraints):
                        for constraint in constraints:
                            constraint.count(place)

    def refusal(self, place: Place) -> Refusal | None:
        """The refusal of a node because of a required constraint; None if the pod may run there."""
        if not self._hard:
            return None
        labels = place.node.labels
        for constraint in self._hard:
            if constraint.key not in labels:
                return Refusal((f"{_MISMATCH} (missing required label)",))
            if constraint.skew(labels[constraint.key]) > constraint.max_skew:
                return Refusal((_MISMATCH,), lasting=False)
        return None

    @property
    def prefers(self) -> bool:
        """Whether there are constraints with ``ScheduleAnyway``."""
        return bool(self._soft)

    def crowding(self, place: Place) -> float:
        """The number of matching pods in the domains of a node, relative to each allowed skew; infinite if the node
        lacks a label.
        """
        labels = place.node.labels
        if any(constraint.key not in labels for constraint in self._soft):
            return float("inf")
        return sum(constraint.counts.get(labels[constraint.key], 0) / constraint.max_skew for constraint in self._soft)
