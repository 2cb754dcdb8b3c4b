"""The volumes of one pod: the nodes on which they can be used, and the choice of volumes for the pod's node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final, TypeVar

import msgspec

from setpoint.client import NotFound
from setpoint.cluster.scheduling.unschedulable_reasons import Refusal
from setpoint.cluster.storage.volume_binder import DELAYED
from setpoint.cluster.storage.volume_matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    best_match,
    class_of,
    reaches,
)
from setpoint.controller import Context
from setpoint.controller.events import reference_to
from setpoint.meta import Object, to_wire
from setpoint.models.core_v1 import Node, PersistentVolume, PersistentVolumeClaim, Pod, PodSpec
from setpoint.models.storage_v1 import StorageClass

AFFINITY: Final = Refusal(("node(s) had volume node affinity conflict",))
NO_VOLUME: Final = Refusal(("node(s) didn't find available persistent volumes to bind",))
IN_USE: Final = Refusal(
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another"
        " pod",
    ),
    lasting=False,
)
GONE: Final = Refusal(("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",))
UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
ONE_POD: Final = "ReadWriteOncePod"
NO_PROVISIONER: Final = ("", "kubernetes.io/no-provisioner")
T = TypeVar("T", bound=Object)
_Pair = tuple[PersistentVolumeClaim, PersistentVolume | None]


class Unusable(Exception):
    """The pod can't be on any node; the message is kube-scheduler's."""


class PodVolumes(msgspec.Struct):
    """The volumes to which a pod's claims are bound, and those of its claims that wait for their first consumer."""

    bound: list[PersistentVolume] = msgspec.field(default_factory=list)
    waiting: list[tuple[PersistentVolumeClaim, StorageClass]] = msgspec.field(default_factory=list)
    free: list[PersistentVolume] = msgspec.field(default_factory=list)
    """All volumes, ordered by name; empty if no claim waits."""
    exclusive: frozenset[str] = frozenset()
    """The names of the claims that only one pod may use at a time (ReadWriteOncePod)."""
    has_lost: bool = False
    """Whether the volume of a claim does not exist."""

    def refusal(self, node: Node) -> Refusal | None:
        """VolumeBinding's refusal of a node; None if the pod's volumes can be used there. Ending other pods does not
        change it.
        """
        if not all(reaches(node, volume) for volume in self.bound):
            return AFFINITY
        if self.waiting and self._for(node) is None:
            return NO_VOLUME
        return GONE if self.has_lost else None

    async def choose(self, node: Node, ctx: Context) -> bool:
        """Reserves volumes for waiting claims, and requests that missing volumes be made for this node. Returns True if
        no claim waits. After a crash between two of these writes, the next attempt leads to the same node.

        Raises:
            Conflict: a volume or a claim has changed in the meantime; the pod has to be scheduled again.
        """
        for claim, volume in self._for(node) or ():
            if volume is None:
                if claim.annotations.get(SELECTED_NODE) != node.name:
                    metadata = {
                        "resourceVersion": claim.metadata.resource_version,
                        "annotations": {SELECTED_NODE: node.name},
                    }
                    await ctx.patch(claim, {"metadata": metadata})
            elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid != claim.uid:
                marks = {BOUND_BY_CONTROLLER: "yes"} if volume.spec.claim_ref is None else {}
                metadata = {"resourceVersion": volume.metadata.resource_version, "annotations": marks}
                await ctx.patch(volume, {"metadata": metadata, "spec": {"claimRef": to_wire(reference_to(claim))}})
        return not self.waiting

    def _for(self, node: Node) -> list[_Pair] | None:
        """Each waiting claim with the volume that it would get on a node, or with None if a new volume would be made
        for it. The whole result is None if neither is possible for a claim.
        """
        pairs: list[_Pair] = []
        available = list(self.free)
        for claim, storage_class in self.waiting:
            selected = claim.annotations.get(SELECTED_NODE)
            if selected and selected != node.name:
                return None
            volume = None if selected else best_match(claim, available, delayed=True, node=node)
            if volume is not None:
                available.remove(volume)
            elif storage_class.provisioner in NO_PROVISIONER or not _is_allowed(storage_class, node):
                return None
            pairs.append((claim, volume))
        return pairs


async def volumes_of(pod: Pod, ctx: Context) -> PodVolumes | None:
    """The volumes of a pod as they are on the server; None if the pod does not mount any claims.

    Raises:
        Unusable: a claim is missing, lost or being deleted, or is not bound although it does not wait for a pod.
    """
    pod_volumes = PodVolumes()
    is_unbound = False
    claims = [claim async for claim in _claims(pod, ctx)]
    pod_volumes.exclusive = frozenset(claim.name for claim in claims if ONE_POD in claim.spec.access_modes)
    for claim in claims:
        if claim.spec.volume_name and BIND_COMPLETED in claim.annotations:
            volume = await _get(PersistentVolume, claim.spec.volume_name, "", ctx)
            if volume is None:
                pod_volumes.has_lost = True
            else:
                pod_volumes.bound.append(volume)
            continue
        name = class_of(claim)
        storage_class = await _get(StorageClass, name, "", ctx) if name else None
        if storage_class is None or storage_class.volume_binding_mode != DELAYED or claim.spec.volume_name:
            is_unbound = True
        else:
            pod_volumes.waiting.append((claim, storage_class))
    if is_unbound:
        raise Unusable(UNBOUND)
    if pod_volumes.waiting:
        volumes = (await ctx.client.list(PersistentVolume)).items
        pod_volumes.free = sorted(volumes, key=lambda volume: volume.name)
    return pod_volumes if claims else None


async def _claims(pod: Pod, ctx: Context) -> AsyncIterator[PersistentVolumeClaim]:
    for name, missing in mounted(pod.name, pod.spec):
        claim = await _get(PersistentVolumeClaim, name, pod.namespace, ctx)
        if claim is None:
            raise Unusable(missing)
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            raise Unusable(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"')
        if claim.is_deleting:
            raise Unusable(f'persistentvolumeclaim "{name}" is being deleted')
        yield claim


def mounted(pod: str, spec: PodSpec) -> Iterator[tuple[str, str]]:
    """The names of the claims that a pod mounts, each with the message to report if the claim is missing."""
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            yield name, f'persistentvolumeclaim "{name}" not found'
        elif volume.ephemeral is not None:
            name = f"{pod}-{volume.name}"
            yield name, f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'


async def _get(kind: type[T], name: str, namespace: str, ctx: Context) -> T | None:
    try:
        return await ctx.client.get(kind, name, namespace=namespace or None)
    except NotFound:
        return None


def _is_allowed(storage_class: StorageClass, node: Node) -> bool:
    """Whether new volumes of a class may be made for a node: its labels have to match one of the class's topologies."""
    terms = storage_class.allowed_topologies
    return not terms or any(
        all(node.labels.get(requirement.key) in requirement.values for requirement in term.match_label_expressions)
        for term in terms
    )
