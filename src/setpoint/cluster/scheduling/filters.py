"""Filters: the reasons why a pod can't be on a node, in the words of kube-scheduler's plugins."""

from __future__ import annotations

from typing import Final

from setpoint.cluster.node_matching import fits, tolerates
from setpoint.cluster.scheduling.inter_pod_affinity import Neighbours
from setpoint.cluster.scheduling.node_info import PODS, Place, PlacedPod
from setpoint.cluster.scheduling.resource_requests import ports_clash
from setpoint.cluster.scheduling.topology_spread import Spread
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal
from setpoint.cluster.scheduling.volume_binding import IN_USE, PodVolumes
from setpoint.models.core_v1 import Taint

UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def refusal(
    pod: PlacedPod,
    place: Place,
    spread: Spread,
    neighbours: Neighbours,
    volumes: PodVolumes | None = None,
    *,
    in_use: bool = False,
) -> Refusal | None:
    """The refusal of the first plugin, in upstream's order, that refuses the pod; None if the pod may run there.

    ``in_use`` says whether a different pod uses a claim of this pod that only one pod may use.
    """
    spec, node = pod.spec, place.node
    if node.spec.unschedulable and not tolerates(spec.tolerations, (UNSCHEDULABLE,), ("NoSchedule",)):
        return Refusal(("node(s) were unschedulable",))
    if node.spec.taints and not tolerates(spec.tolerations, node.spec.taints, ("NoSchedule", "NoExecute")):
        return Refusal(("node(s) had untolerated taint(s)",))
    if (spec.node_selector or spec.affinity is not None) and not fits(spec, node):
        return Refusal(("node(s) didn't match Pod's node affinity/selector",))
    if pod.ports and place.ports and any(ports_clash(pod.ports, other.ports) for other in place.pods.values()):
        return Refusal(("node(s) didn't have free ports for the requested pod ports",), lasting=False)
    if reason := _short_of(pod, place):
        return reason
    if in_use:
        return IN_USE
    if volumes is not None and (reason := volumes.refusal(node)):
        return reason
    return spread.refusal(place) or neighbours.refusal(place)


def _short_of(pod: PlacedPod, place: Place) -> Refusal | None:
    """The refusal of NodeResourcesFit, which names every resource that the node has too little of; None if the node has
    enough. A request that exceeds the whole node makes the refusal lasting.
    """
    allocatable, used = place.allocatable, place.used
    reasons = []
    lasting = False
    if len(place.pods) + 1 > allocatable.get(PODS, 0):
        reasons.append("Too many pods")
    for resource, number in pod.requests.items():
        if not number:
            continue
        capacity = allocatable.get(resource, 0)
        if number > capacity - used.get(resource, 0):
            reasons.append(f"Insufficient {resource}")
            lasting = lasting or number > capacity
    return Refusal(tuple(reasons), lasting) if reasons else None
