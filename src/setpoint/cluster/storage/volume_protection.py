"""Protection of objects that are in use: claims, volumes and VolumeAttributesClasses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.storage.volume_matching import Mounting, claims_in_use
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.controller.cache_reader import CacheReader
from setpoint.meta import Object
from setpoint.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from setpoint.models.storage_v1 import VolumeAttributesClass

CLAIM: Final = "kubernetes.io/pvc-protection"
VOLUME: Final = "kubernetes.io/pv-protection"
ATTRIBUTES: Final = "kubernetes.io/vac-protection"
_BY_CLAIM: Final = "claims in use"
_BY_CLASS: Final = "attributes class"


class ClaimProtection:
    """Releases a claim that is being deleted, once no pod on a node mounts it; protects all other claims.

    The server itself protects new claims; claims from an older server get the finalizer here.
    """

    def __init__(self) -> None:
        self.controller = (
            Controller(
                PersistentVolumeClaim,
                self._reconcile,
                name="pvc-protection",
                metadata_only=True,
                reconcile_deleting=True,
                owns_status=False,
                leader_only=False,
            )
            .watches(Pod, _claims_that_go)
            .index(_BY_CLAIM, claims_in_use, of=Pod, as_=Mounting)
        )

    async def _reconcile(self, claim: PersistentVolumeClaim, ctx: Context) -> Outcome:
        if claim.is_deleting and CLAIM in claim.metadata.finalizers:
            owner = claim.metadata.controller
            is_ephemeral = owner is not None and owner.kind == "Pod"  # and not of every pod that has the owner's name
            if not is_ephemeral and ctx.lister(Pod).keys(index=(_BY_CLAIM, claim.key)):
                return done()  # the end of the pod leads to the next look
            # A pod may have come to a node so lately that the cache does not show it.
            live = await ctx.client.list(Pod, namespace=claim.namespace)
            if any(_mounts(pod, claim) for pod in live.items):
                return done()
        await _protect(claim, CLAIM, ctx)
        return done()


class VolumeProtection:
    """Releases a volume that is being deleted, once it is no longer bound; protects all other volumes."""

    def __init__(self) -> None:
        self.controller = Controller(
            PersistentVolume,
            self._reconcile,
            name="pv-protection",
            reconcile_deleting=True,
            owns_status=False,
            leader_only=False,
        )

    async def _reconcile(self, volume: PersistentVolume, ctx: Context) -> Outcome:
        if not volume.is_deleting or volume.status.phase != "Bound":
            await _protect(volume, VOLUME, ctx)
        return done()


class AttributesProtection:
    """Releases a VolumeAttributesClass that is being deleted, once neither a claim nor a volume uses it."""

    def __init__(self) -> None:
        self.controller = (
            Controller(
                VolumeAttributesClass,
                self._reconcile,
                name="vac-protection",
                reconcile_deleting=True,
                leader_only=False,
            )
            .watches(PersistentVolume, _classes_that_go)
            .watches(PersistentVolumeClaim, _classes_that_go)
            .index(_BY_CLASS, lambda volume: volume.spec.volume_attributes_class_name, of=PersistentVolume)
            .index(_BY_CLASS, _classes_of_claim, of=PersistentVolumeClaim)
        )

    async def _reconcile(self, attributes: VolumeAttributesClass, ctx: Context) -> Outcome:
        if attributes.is_deleting:
            kinds: tuple[type[Any], ...] = (PersistentVolume, PersistentVolumeClaim)
            if any(ctx.lister(kind).keys(index=(_BY_CLASS, attributes.name)) for kind in kinds):
                return done()
        await _protect(attributes, ATTRIBUTES, ctx)
        return done()


async def _protect(obj: Object, finalizer: str, ctx: Context) -> None:
    """Removes the finalizer from an object that is being deleted, and adds it to any other object."""
    finalizers = obj.metadata.finalizers
    if (finalizer in finalizers) != obj.is_deleting:
        return
    remaining = [name for name in finalizers if name != finalizer] if obj.is_deleting else [*finalizers, finalizer]
    metadata = {"resourceVersion": obj.metadata.resource_version, "finalizers": remaining or None}
    try:
        await ctx.patch(obj, {"metadata": metadata})
    except NotFound:
        return


def _mounts(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether the pod is on a node and uses the claim. An ephemeral volume uses a claim only if the pod owns that
    claim.
    """
    if not pod.spec.node_name:
        return False
    name, owner = claim.name, claim.metadata.controller
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name == name:
            return True
        if volume.ephemeral is not None and f"{pod.name}-{volume.name}" == name:
            return owner is not None and owner.uid == pod.uid
    return False


def _classes_of_claim(claim: PersistentVolumeClaim) -> list[str]:
    names = {claim.spec.volume_attributes_class_name, claim.status.current_volume_attributes_class_name}
    return [name for name in names if name]


def _claims_that_go(pod: Head, caches: CacheReader) -> Iterable[str]:
    """The keys of the claims in the pod's namespace that are being deleted: a deleted pod no longer says which claims
    it mounted.
    """
    heads = caches.lister(PersistentVolumeClaim).heads(namespace=pod.namespace)
    return [head.key for head in heads if head.is_deleting]


def _classes_that_go(_: Head, caches: CacheReader) -> Iterable[str]:
    return [head.key for head in caches.lister(VolumeAttributesClass).heads() if head.is_deleting]
