"""Volumes: the claim to which a PersistentVolume belongs, and the volume that fits a claim best."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from setpoint.cluster.node_matching import selects
from setpoint.meta import ObjectKey, Quantity, Selector
from setpoint.models.core_v1 import Node, ObjectReference, PersistentVolume, PersistentVolumeClaim
from setpoint.models.storage_v1 import StorageClass

BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
PROVISIONER_BETA: Final = "volume.beta.kubernetes.io/storage-provisioner"
CLASS: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
HOLLOW: Final = "volumes.hollow.setpoint.io"
"""The provisioner of volumes that store no data."""
ADOPTED: Final = "hollow.setpoint.io/volumes"
"""The annotation of a StorageClass with another provisioner; with the value ``"true"``, its volumes are hollow."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """The name of the storage class; ``""`` if there is none. As upstream, the old annotation takes precedence."""
    return obj.annotations.get(CLASS) or obj.spec.storage_class_name or ""


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim sets a class; an explicit empty class counts."""
    return CLASS in claim.annotations or claim.spec.storage_class_name is not None


def requested(claim: PersistentVolumeClaim) -> Quantity:
    resources = claim.spec.resources
    return Quantity(resources.requests.get("storage", "0") if resources is not None else "0")


def capacity(volume: PersistentVolume) -> Quantity:
    return Quantity(volume.spec.capacity.get("storage", "0"))


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The newest of the default classes or, if several were made at the same time, the first of these by name. None if
    there is no default class.
    """
    defaults = [entry for entry in classes if entry.annotations.get(DEFAULT_CLASS) == "true"]
    defaults.sort(key=lambda entry: entry.name)
    return max(defaults, key=lambda entry: entry.metadata.creation_timestamp or _NEVER, default=None)


def is_hollow(storage_class: StorageClass) -> bool:
    """Whether this control plane provisions volumes of the class."""
    return storage_class.provisioner == HOLLOW or storage_class.annotations.get(ADOPTED) == "true"


def claim_key(reference: ObjectReference) -> ObjectKey:
    return ObjectKey.of(reference.namespace or "", reference.name or "")


def is_meant(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is bound to this claim or reserved for a claim of that name."""
    reference = volume.spec.claim_ref
    if reference is None or claim_key(reference) != claim.key:
        return False
    return not reference.uid or reference.uid == claim.uid


def mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """The reason why the volume does not satisfy the claim; ``""`` if it does."""
    if volume.is_deleting:
        return f'the volume is marked for deletion "{volume.name}"'
    if capacity(volume) < requested(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if (volume.spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if not is_same_mode(volume, claim):
        return "incompatible volumeMode"
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return "incompatible accessMode"
    return ""


def is_same_mode(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")


def best_match(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    *,
    delayed: bool = False,
    node: Node | None = None,
) -> PersistentVolume | None:
    """The best volume for a claim: a volume that is reserved for it; otherwise, of the volumes that fit, the one with
    the fewest access modes and, among equals, the smallest. None if no volume fits.

    With a ``node``, only volumes that the node can reach are considered; for a ``delayed`` claim without a ``node``,
    only volumes that are reserved for it.
    """
    selector = Selector.of(claim.spec.selector) if claim.spec.selector is not None else None
    candidates: list[PersistentVolume] = []
    for volume in volumes:
        if not set(claim.spec.access_modes) <= set(volume.spec.access_modes) or not is_same_mode(volume, claim):
            continue
        if volume.is_deleting or capacity(volume) < requested(claim):
            continue
        if node is not None and not reaches(node, volume):
            continue
        if is_meant(volume, claim):
            return volume
        if volume.spec.claim_ref is not None or (delayed and node is None):
            continue
        if volume.status.phase not in (None, "", "Available", "Pending") or mismatch(volume, claim):
            continue
        if selector is None or selector.matches(volume.labels):
            candidates.append(volume)
    return min(
        candidates, key=lambda volume: (len(set(volume.spec.access_modes)), capacity(volume), volume.name), default=None
    )


def reaches(node: Node, volume: PersistentVolume) -> bool:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    return required is None or selects(required, node)


class _Claimed(msgspec.Struct, rename="camel"):
    claim_name: str = ""


class _Volume(msgspec.Struct, rename="camel"):
    name: str = ""
    persistent_volume_claim: _Claimed | None = None
    ephemeral: dict[str, Any] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    volumes: list[_Volume] | None = None


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Mounting(msgspec.Struct):
    """The fields of a pod that name the claims that it mounts."""

    metadata: _Metadata
    spec: _Spec


def claims_of(pod: Mounting) -> list[str]:
    """The keys of the claims that a pod mounts, including those of its ephemeral volumes."""
    names = []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f"{pod.metadata.name}-{volume.name}")
    return [ObjectKey.of(pod.metadata.namespace, name) for name in names]


def claims_in_use(pod: Mounting) -> list[str]:
    """The keys of the claims that the pod mounts; empty if the pod is not on a node, since such a pod does not keep a
    claim from being deleted.
    """
    return claims_of(pod) if pod.spec.node_name else []
