"""Occupancy: the nodes, and the pods that are or soon will be on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from setpoint.cluster.scheduling.resource_requests import LEAST, Amounts, amounts, host_ports, requests_of
from setpoint.meta import ObjectKey, Selector
from setpoint.models.core_v1 import Node, Pod, PodAffinityTerm, PodSpec, WeightedPodAffinityTerm

PODS: Final = "pods"
NamespaceLabels = Callable[[str], dict[str, str]]


class Term:
    """One term of a pod's affinity to other pods: the pods that it selects, and the node label that defines its
    domains.
    """

    __slots__ = ("_alike", "_namespaces", "_of_namespace", "_unlike", "selector", "topology", "weight")

    def __init__(self, term: PodAffinityTerm, key: ObjectKey, labels: dict[str, str], weight: int = 0) -> None:
        self.topology = term.topology_key
        self.weight = weight
        self.selector = None if term.label_selector is None else Selector.of(term.label_selector)
        self._alike = {name: labels[name] for name in term.match_label_keys if name in labels}
        self._unlike = {name: labels[name] for name in term.mismatch_label_keys if name in labels}
        self._of_namespace = None if term.namespace_selector is None else Selector.of(term.namespace_selector)
        only_own = not term.namespaces and term.namespace_selector is None
        self._namespaces = frozenset([key.namespace] if only_own else term.namespaces)

    def matches(self, pod: PlacedPod, namespaces: NamespaceLabels) -> bool:
        """Whether the term selects that pod; a term without a selector does not select any."""
        if self.selector is None or not self.selector.matches(pod.labels):
            return False
        if any(pod.labels.get(name) != value for name, value in self._alike.items()):
            return False
        if any(pod.labels.get(name) == value for name, value in self._unlike.items()):
            return False
        space = pod.key.namespace
        if space in self._namespaces:
            return True
        return self._of_namespace is not None and self._of_namespace.matches(namespaces(space))


class PlacedPod(msgspec.Struct, eq=False):
    """The scheduler's record of a pod, whether it waits or is on a node."""

    key: ObjectKey
    uid: str
    version: str
    node: str
    labels: dict[str, str]
    spec: PodSpec
    priority: int
    requests: Amounts
    weight: Amounts
    """The requests by which nodes are compared; a container without requests counts as if it requested `LEAST`."""
    ports: frozenset[tuple[str, str, int]]
    generation: int
    is_deleting: bool
    began: datetime | None
    affinity: list[Term] = msgspec.field(default_factory=list)
    anti_affinity: list[Term] = msgspec.field(default_factory=list)
    preferred_affinity: list[Term] = msgspec.field(default_factory=list)
    preferred_anti_affinity: list[Term] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, pod: Pod) -> PlacedPod:
        """The record of a pod.

        Raises:
            SelectorError: a selector of the pod's affinities is invalid.
        """
        spec = pod.spec
        placed = cls(
            key=pod.key,
            uid=pod.uid,
            version=pod.metadata.resource_version,
            node=spec.node_name or "",
            labels=pod.labels,
            spec=spec,
            priority=spec.priority or 0,
            requests=requests_of(spec),
            weight=requests_of(spec, least=LEAST),
            ports=host_ports(
                [*spec.containers, *(container for container in spec.init_containers if container.restart_policy)]
            ),
            generation=pod.metadata.generation,
            is_deleting=pod.is_deleting,
            began=pod.status.start_time,
        )
        affinity = spec.affinity
        if affinity is not None and affinity.pod_affinity is not None:
            placed.affinity = placed._terms(affinity.pod_affinity.required_during_scheduling_ignored_during_execution)
            placed.preferred_affinity = placed._weighted(
                affinity.pod_affinity.preferred_during_scheduling_ignored_during_execution
            )
        if affinity is not None and affinity.pod_anti_affinity is not None:
            placed.anti_affinity = placed._terms(
                affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
            )
            placed.preferred_anti_affinity = placed._weighted(
                affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution
            )
        return placed

    @property
    def has_terms(self) -> bool:
        """Whether the pod has any affinities or anti-affinities to other pods."""
        return bool(self.affinity or self.anti_affinity or self.preferred_affinity or self.preferred_anti_affinity)

    def wants_the_same(self, pod: Pod) -> bool:
        """Whether ``pod`` is the same pod, unchanged in everything that concerns the scheduler."""
        return (self.uid, self.generation, self.labels) == (pod.uid, pod.metadata.generation, pod.labels)

    def _terms(self, terms: Iterable[PodAffinityTerm]) -> list[Term]:
        return [Term(term, self.key, self.labels) for term in terms]

    def _weighted(self, terms: Iterable[WeightedPodAffinityTerm]) -> list[Term]:
        return [Term(term.pod_affinity_term, self.key, self.labels, term.weight) for term in terms]


class Place:
    """A node and its pods."""

    __slots__ = ("allocatable", "node", "pods", "ports", "used", "weight")

    def __init__(self, node: Node, pods: Iterable[PlacedPod] = ()) -> None:
        self.node = node
        self.allocatable = amounts(node.status.allocatable)
        self.pods: dict[ObjectKey, PlacedPod] = {}
        self.used: Amounts = {}
        self.weight: Amounts = {}
        self.ports = 0
        """The number of pods that use ports of the node."""
        for pod in pods:
            self.add(pod)

    @property
    def name(self) -> str:
        return self.node.name

    def add(self, pod: PlacedPod) -> None:
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def remove(self, key: ObjectKey) -> None:
        self._count(self.pods.pop(key), -1)

    def without(self, pods: Iterable[PlacedPod]) -> Place:
        keys = {pod.key for pod in pods}
        return Place(self.node, (pod for key, pod in self.pods.items() if key not in keys))

    def _count(self, pod: PlacedPod, sign: int) -> None:
        for total, part in ((self.used, pod.requests), (self.weight, pod.weight)):
            for resource, number in part.items():
                total[resource] = total.get(resource, 0) + sign * number
        self.ports += sign * bool(pod.ports)


class Occupancy:
    """All nodes with their pods. It is updated change by change.

    A pod that was just bound counts for its node immediately (`assume`), even before the cache shows it there.
    """

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
        self.pods: dict[ObjectKey, PlacedPod] = {}
        """The known pods, including waiting pods but not pods that have ended."""
        self.with_terms: dict[ObjectKey, PlacedPod] = {}
        """The pods that are on a node and have affinities to other pods."""
        self.nominated: dict[ObjectKey, str] = {}
        """The node on which other pods were deleted for a waiting pod, by the waiting pod's key."""
        self._pods_of_unknown_nodes: dict[str, dict[ObjectKey, PlacedPod]] = {}
        """The pods that are bound to nodes which do not exist or are not known yet, by the node's name."""

    def __iter__(self) -> Iterator[Place]:
        """The places, in the order in which their nodes were added."""
        return iter(self.places.values())

    def put_node(self, node: Node) -> bool:
        """Adds or updates a node. Returns whether a pod that did not fit before might fit now."""
        old = self.places.get(node.name)
        if old is not None and _same(old.node, node):
            old.node = node
            return False
        pods = old.pods.values() if old is not None else self._pods_of_unknown_nodes.pop(node.name, {}).values()
        self.places[node.name] = Place(node, list(pods))
        return True

    def remove_node(self, name: str) -> bool:
        """Removes a node. Returns whether there was a node of that name."""
        place = self.places.pop(name, None)
        if place is not None and place.pods:
            self._pods_of_unknown_nodes[name] = dict(place.pods)
        return place is not None

    def put(self, pod: Pod) -> bool:
        """Adds or updates a pod. Returns whether a waiting pod that did not fit before might fit now, because this pod
        has ended or has other labels.
        """
        key, last = pod.key, self.pods.get(pod.key)
        if last is not None and last.uid == pod.uid and last.version == pod.metadata.resource_version:
            return False
        if pod.is_finished:
            return self.remove(key)
        new = PlacedPod.of(pod)
        if last is not None and last.uid == new.uid and last.node and not new.node:
            new.node = last.node  # assumed
        self.remove(key)
        self.pods[key] = new
        if new.node:
            self._enter(new)
        elif pod.status.nominated_node_name:
            self.nominated[key] = pod.status.nominated_node_name
        return last is not None and bool(last.node) and (last.uid != new.uid or last.labels != new.labels)

    def remove(self, key: ObjectKey) -> bool:
        """Removes a pod. Returns whether that has freed a place on a node."""
        last = self.pods.pop(key, None)
        self.nominated.pop(key, None)
        if last is None or not last.node:
            return False
        self.with_terms.pop(key, None)
        place = self.places.get(last.node)
        if place is not None:
            place.remove(key)
        else:
            pods = self._pods_of_unknown_nodes.get(last.node, {})
            pods.pop(key, None)
            if not pods:
                self._pods_of_unknown_nodes.pop(last.node, None)
        return True

    def assume(self, key: ObjectKey, node: str) -> None:
        """Places the pod on that node from now on."""
        pod = self.pods[key]
        self.remove(key)
        self.pods[key] = placed = replace(pod, node=node)
        self._enter(placed)

    def nominate(self, key: ObjectKey, node: str) -> None:
        """Reserves the resources that become free on the node for the pod."""
        self.nominated[key] = node

    def has_less_important(self, pod: PlacedPod) -> bool:
        """Whether a pod with a lower priority is on a node, which may have to end for this one."""
        return pod.spec.preemption_policy != "Never" and any(
            other.priority < pod.priority for place in self for other in place.pods.values()
        )

    def expected(self, place: Place, pod: PlacedPod) -> Place:
        """The place, including the pods of equal or higher priority that wait for resources to become free there."""
        if not self.nominated:
            return place
        coming = [
            self.pods[key]
            for key, node in self.nominated.items()
            if node == place.name and key != pod.key and self.pods[key].priority >= pod.priority
        ]
        return Place(place.node, [*place.pods.values(), *coming]) if coming else place

    def _enter(self, pod: PlacedPod) -> None:
        place = self.places.get(pod.node)
        if place is not None:
            place.add(pod)
        else:
            self._pods_of_unknown_nodes.setdefault(pod.node, {})[pod.key] = pod
        if pod.has_terms:
            self.with_terms[pod.key] = pod


def _same(left: Node, right: Node) -> bool:
    """Whether two states of a node are equal for the scheduler."""
    return (
        left.uid == right.uid
        and left.labels == right.labels
        and left.spec.taints == right.spec.taints
        and bool(left.spec.unschedulable) == bool(right.spec.unschedulable)
        and left.status.allocatable == right.status.allocatable
    )
