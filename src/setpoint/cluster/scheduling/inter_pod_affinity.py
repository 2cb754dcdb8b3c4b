"""Affinities between pods: the domains that attract a pod, and those that repel it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from setpoint.cluster.scheduling.node_info import NamespaceLabels, Place, PlacedPod, Term
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal

Domain = tuple[str, str]
"""A node label and its value."""
HARD_WEIGHT = 1
"""The weight that a required affinity of a pod on a node has if it matches the pod to be placed."""


class Neighbours:
    """A pod's affinities, and the affinities of pods on nodes to that pod, for one set of places."""

    def __init__(self, pod: PlacedPod, places: Iterable[Place], namespaces: NamespaceLabels, *, others: bool) -> None:
        """Counts the matching pods of ``places``. ``others`` says whether any pod on a node has affinities."""
        self._pod = pod
        self._namespaces = namespaces
        self._affinity_counts: Counter[Domain] = Counter()
        self._anti_affinity: set[Domain] = set()
        self._forbidden: set[Domain] = set()
        self._pull: Counter[Domain] = Counter()
        if pod.has_terms or others:
            for place in places:
                for other in place.pods.values():
                    if pod.has_terms:
                        self._see(other, place)
                    if other.has_terms:
                        self._hear(other, place)

    def refusal(self, place: Place) -> Refusal | None:
        """The refusal of a node because of a required affinity or anti-affinity; None if the pod may run there."""
        pod, labels = self._pod, place.node.labels
        if pod.affinity and not self._satisfies_affinity(labels):
            return Refusal(("node(s) didn't match pod affinity rules",))
        if self._anti_affinity and any(
            (term.topology, labels.get(term.topology)) in self._anti_affinity for term in pod.anti_affinity
        ):
            return Refusal(("node(s) didn't match pod anti-affinity rules",), lasting=False)
        if self._forbidden and any(
            (key, labels.get(key)) in self._forbidden for key in {key for key, _ in self._forbidden}
        ):
            return Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), lasting=False)
        return None

    @property
    def prefers(self) -> bool:
        return bool(self._pull)

    def pull(self, place: Place) -> int:
        """The total weight of the affinities that attract the pod to a node, minus the weight of those that
        repel it.
        """
        labels = place.node.labels
        return sum(weight for (key, value), weight in self._pull.items() if labels.get(key) == value)

    def _satisfies_affinity(self, labels: dict[str, str]) -> bool:
        terms = self._pod.affinity
        if any(term.topology not in labels for term in terms):
            return False
        if all(self._affinity_counts[term.topology, labels[term.topology]] > 0 for term in terms):
            return True
        return not self._affinity_counts and self._all_match(terms, self._pod)

    def _see(self, other: PlacedPod, place: Place) -> None:
        """Counts a pod on a node for each of the pending pod's own terms that matches it."""
        pod = self._pod
        if pod.affinity and self._all_match(pod.affinity, other):
            self._affinity_counts.update(_domains(pod.affinity, place))
        if pod.anti_affinity:
            self._anti_affinity.update(
                _domains((term for term in pod.anti_affinity if self._matches(term, other)), place)
            )
        for sign, terms in ((1, pod.preferred_affinity), (-1, pod.preferred_anti_affinity)):
            self._draw(sign, (term for term in terms if self._matches(term, other)), place)

    def _hear(self, other: PlacedPod, place: Place) -> None:
        """Counts the terms of ``other``, a pod on a node, that match the pending pod."""
        pod = self._pod
        self._forbidden.update(_domains((term for term in other.anti_affinity if self._matches(term, pod)), place))
        self._draw(HARD_WEIGHT, (term for term in other.affinity if self._matches(term, pod)), place)
        for sign, terms in ((1, other.preferred_affinity), (-1, other.preferred_anti_affinity)):
            self._draw(sign, (term for term in terms if self._matches(term, pod)), place)

    def _draw(self, sign: int, terms: Iterable[Term], place: Place) -> None:
        for term in terms:
            for domain in _domains((term,), place):
                self._pull[domain] += sign * (term.weight or 1)

    def _matches(self, term: Term, pod: PlacedPod) -> bool:
        return term.matches(pod, self._namespaces)

    def _all_match(self, terms: Iterable[Term], pod: PlacedPod) -> bool:
        return all(self._matches(term, pod) for term in terms)


def _domains(terms: Iterable[Term], place: Place) -> list[Domain]:
    labels = place.node.labels
    return [(term.topology, labels[term.topology]) for term in terms if term.topology in labels]
