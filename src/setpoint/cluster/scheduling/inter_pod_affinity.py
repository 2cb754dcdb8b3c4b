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
        self._near: Counter[Domain] = Counter()
        self._apart: set[Domain] = set()
        self._kept_out: set[Domain] = set()
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
        if pod.near and not self._is_near(labels):
            return Refusal(("node(s) didn't match pod affinity rules",))
        if self._apart and any((term.topology, labels.get(term.topology)) in self._apart for term in pod.apart):
            return Refusal(("node(s) didn't match pod anti-affinity rules",), lasting=False)
        if self._kept_out and any(
            (key, labels.get(key)) in self._kept_out for key in {key for key, _ in self._kept_out}
        ):
            return Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), lasting=False)
        return None

    @property
    def prefers(self) -> bool:
        """Whether the affinities prefer some nodes to others."""
        return bool(self._pull)

    def pull(self, place: Place) -> int:
        """The total weight of the affinities that attract the pod to a node, minus the weight of those that
        repel it.
        """
        labels = place.node.labels
        return sum(weight for (key, value), weight in self._pull.items() if labels.get(key) == value)

    def _is_near(self, labels: dict[str, str]) -> bool:
        terms = self._pod.near
        if any(term.topology not in labels for term in terms):
            return False
        if all(self._near[term.topology, labels[term.topology]] > 0 for term in terms):
            return True
        return not self._near and self._all_match(terms, self._pod)

    def _see(self, other: PlacedPod, place: Place) -> None:
        """Counts a pod on a node for each of the pending pod's own terms that matches it."""
        pod = self._pod
        if pod.near and self._all_match(pod.near, other):
            self._near.update(_domains(pod.near, place))
        if pod.apart:
            self._apart.update(_domains((term for term in pod.apart if self._matches(term, other)), place))
        for sign, terms in ((1, pod.would_be_near), (-1, pod.would_be_apart)):
            self._draw(sign, (term for term in terms if self._matches(term, other)), place)

    def _hear(self, other: PlacedPod, place: Place) -> None:
        """Counts the terms of ``other``, a pod on a node, that match the pending pod."""
        pod = self._pod
        self._kept_out.update(_domains((term for term in other.apart if self._matches(term, pod)), place))
        self._draw(HARD_WEIGHT, (term for term in other.near if self._matches(term, pod)), place)
        for sign, terms in ((1, other.would_be_near), (-1, other.would_be_apart)):
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
