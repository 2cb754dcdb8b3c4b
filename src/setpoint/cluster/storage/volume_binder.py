"""PersistentVolumeClaims: each is bound to the best-fitting volume, or to a new hollow one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from setpoint.cache import Head
from setpoint.client import AlreadyExists
from setpoint.cluster.storage.claim_notifications import ClaimNotifications
from setpoint.cluster.storage.volume_matching import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    DEFAULT_CLASS,
    HOLLOW,
    PROVISIONED_BY,
    PROVISIONER,
    PROVISIONER_BETA,
    SELECTED_NODE,
    Mounting,
    best_match,
    capacity,
    claims_of,
    class_of,
    default_class,
    has_class,
    is_hollow,
    is_meant,
    mismatch,
    requested,
)
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.events import reference_to
from setpoint.meta import ObjectMeta, to_wire
from setpoint.models.core_v1 import (
    CSIPersistentVolumeSource,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    Pod,
)
from setpoint.models.storage_v1 import StorageClass

DELAYED: Final = "WaitForFirstConsumer"
STANDARD: Final = "standard"
BY_VOLUME: Final = "volume"
BY_CLAIM: Final = "claim"
WAITING: Final = "-"
"""The index value of claims without a volume. No volume can have this name."""
WAITS: Final = "waiting for first consumer to be created before binding"
_LOST: Final = "Data on the volume is lost!"
NOTHING: Final = "no persistent volumes available for this claim and no storage class is set"


class VolumeClaims:
    """Binds claims: the claims' half of kube-controller-manager's ``persistentvolume-binder``.

    A claim gets the volume that it names, a volume reserved for it, the best of the volumes that fit (`best_match`), or
    a new one of its class. Claims of a class with ``WaitForFirstConsumer`` wait until the scheduler has selected a node
    (the annotation ``volume.kubernetes.io/selected-node``), or until a pod that uses them is on a node. This controller
    makes the new volumes of hollow classes (`setpoint.cluster.storage.volume_matching.HOLLOW`); for other classes it
    waits for their provisioner. If there is no class when this controller starts, it makes the default class
    ``standard``, which is hollow.

    *Guarantees*: the volume is bound first, in the version that was read, so two claims never get the same volume; a
    claim that was bound becomes ``Lost`` if its volume is no longer its own.

    Through ``notifications``, a scheduler in the same control plane learns of each claim that was processed.
    """

    def __init__(self, notifications: ClaimNotifications | None = None) -> None:
        self._begun = False
        self._notifications = notifications
        self.controller = (
            Controller(
                PersistentVolumeClaim,
                self._reconcile,
                name="persistentvolume-controller",
                workers=1,
                owns_status=False,
                leader_only=False,
            )
            .watches(PersistentVolume, _claims_of_volume)
            .watches(StorageClass, _claims_that_wait)
            .watches(Pod, _claims_of_pod)
            .reads(Node)
            .index(BY_VOLUME, lambda claim: claim.spec.volume_name or WAITING)
            .index(BY_CLAIM, claims_of, of=Pod, as_=Mounting)
        )

    async def _reconcile(self, claim: PersistentVolumeClaim, ctx: Context) -> Outcome:
        if not self._begun:
            await _standard(ctx)
            self._begun = True
        if BIND_COMPLETED in claim.annotations:
            await self._bound(claim, ctx)
        elif claim.spec.volume_name:
            await self._asked_for(claim, claim.spec.volume_name, ctx)
        else:
            await self._search(claim, ctx)
        if self._notifications is not None:
            self._notifications.note(claim.key)
        return done()

    async def _bound(self, claim: PersistentVolumeClaim, ctx: Context) -> None:
        """Handles a claim that has already been bound."""
        if not claim.spec.volume_name:
            _lose(claim, ctx, "ClaimLost", f"Bound claim has lost reference to PersistentVolume. {_LOST}")
            return
        volume = await ctx.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            _lose(claim, ctx, "ClaimLost", f"Bound claim has lost its PersistentVolume. {_LOST}")
        elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.uid:
            await self._bind(claim, volume, ctx)
        else:
            why = "Two claims are bound to the same volume, this one is bound incorrectly"
            _lose(claim, ctx, "ClaimMisbound", why)

    async def _asked_for(self, claim: PersistentVolumeClaim, name: str, ctx: Context) -> None:
        """Handles a claim that names its volume."""
        volume = await ctx.get(PersistentVolume, name)
        if volume is None:
            _set_phase(claim, "Pending", None)
        elif is_meant(volume, claim):
            await self._bind(claim, volume, ctx)
        elif volume.spec.claim_ref is not None:
            ctx.event("Warning", "FailedBinding", f'volume "{name}" already bound to a different claim.')
            _set_phase(claim, "Pending", None)
        elif why := mismatch(volume, claim):
            ctx.event("Warning", "VolumeMismatch", f'Cannot bind to requested volume "{name}": {why}')
            _set_phase(claim, "Pending", None)
        else:
            await self._bind(claim, volume, ctx)

    async def _search(self, claim: PersistentVolumeClaim, ctx: Context) -> None:
        """Handles a claim that takes any volume that fits it."""
        wanted = class_of(claim)
        storage_class = await ctx.get(StorageClass, wanted) if wanted else None
        delayed = storage_class is not None and storage_class.volume_binding_mode == DELAYED
        node = await _selected_node(claim, ctx) if delayed else None
        volumes = sorted(await ctx.list(PersistentVolume), key=lambda volume: volume.name)
        volume = best_match(claim, volumes, delayed=delayed, node=node)
        if volume is not None:
            await self._bind(claim, volume, ctx)
            return
        if not has_class(claim):
            default = default_class(await ctx.list(StorageClass))
            if default is not None:
                await ctx.patch(claim, {"spec": {"storageClassName": default.name}})
                return  # that it has changed leads to the next look
        _set_phase(claim, "Pending", None)
        if delayed and node is None:
            ctx.event("Normal", "WaitForFirstConsumer", WAITS)
        elif storage_class is not None:
            await self._provision(claim, storage_class, node, ctx)
        elif wanted:
            ctx.event("Warning", "ProvisioningFailed", f'storageclass.storage.k8s.io "{wanted}" not found')
        else:
            ctx.event("Normal", "FailedBinding", NOTHING)

    async def _provision(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None, ctx: Context
    ) -> None:
        provisioner = storage_class.provisioner
        if provisioner == "kubernetes.io/no-provisioner":
            return
        marks = {PROVISIONER: provisioner, PROVISIONER_BETA: provisioner}
        if node is not None:
            marks[SELECTED_NODE] = node.name
        if any(claim.annotations.get(name) != value for name, value in marks.items()):
            await ctx.patch(claim, {"metadata": {"annotations": marks}})
        if not is_hollow(storage_class):
            ctx.event(
                "Normal",
                "ExternalProvisioning",
                f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by "
                "the system administrator. If volume creation is delayed, please verify that the provisioner is "
                "running and correctly registered.",
            )
            return
        volume = hollow_volume(claim, storage_class)
        try:
            created = await ctx.create(volume, controlled=False)
        except AlreadyExists:
            return  # by a life of this controller before; that it appears leads to the next look
        ctx.event(
            "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {created.name} using {provisioner}"
        )
        await self._bind(claim, created, ctx)

    async def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume, ctx: Context) -> None:
        """Binds the volume first, and then the claim. A crash after either step does no harm."""
        reference = volume.spec.claim_ref
        if reference is None or reference.uid != claim.uid:
            patch: dict[str, Any] = {
                "metadata": {"resourceVersion": volume.metadata.resource_version},
                "spec": {"claimRef": to_wire(reference_to(claim))},
            }
            if reference is None:
                patch["metadata"]["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
            volume = await ctx.patch(volume, patch)
        if volume.annotations.get(PROVISIONED_BY) == HOLLOW and capacity(volume) < requested(claim):
            volume = await ctx.patch(volume, {"spec": {"capacity": {"storage": str(requested(claim))}}})
            ctx.event("Normal", "VolumeResizeSuccessful", "Resize volume succeeded")
        marks = {}
        if BIND_COMPLETED not in claim.annotations:
            marks[BIND_COMPLETED] = "yes"
        if claim.spec.volume_name != volume.name and BOUND_BY_CONTROLLER not in claim.annotations:
            marks[BOUND_BY_CONTROLLER] = "yes"
        if marks or claim.spec.volume_name != volume.name:
            await ctx.patch(claim, {"metadata": {"annotations": marks}, "spec": {"volumeName": volume.name}})
        _set_phase(claim, "Bound", volume)


def _lose(claim: PersistentVolumeClaim, ctx: Context, reason: str, message: str) -> None:
    if claim.status.phase != "Lost":
        ctx.event("Warning", reason, message)
    _set_phase(claim, "Lost", None)


def _set_phase(claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None) -> None:
    status = claim.status
    if volume is None:
        status.access_modes, status.capacity = [], {}
        status.current_volume_attributes_class_name = None
    else:
        status.access_modes = list(volume.spec.access_modes)
        status.capacity = dict(volume.spec.capacity)
        if status.phase != "Bound":
            status.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name
    status.phase = phase


def hollow_volume(claim: PersistentVolumeClaim, storage_class: StorageClass) -> PersistentVolume:
    spec = PersistentVolumeSpec(
        capacity={"storage": str(requested(claim))},
        access_modes=list(claim.spec.access_modes),
        persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
        storage_class_name=class_of(claim),
        volume_mode=claim.spec.volume_mode or "Filesystem",
        mount_options=list(storage_class.mount_options),
        volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        csi=CSIPersistentVolumeSource(driver=HOLLOW, volume_handle=f"pvc-{claim.uid}"),
        claim_ref=reference_to(claim),
    )
    annotations = {PROVISIONED_BY: HOLLOW, BOUND_BY_CONTROLLER: "yes"}
    return PersistentVolume(metadata=ObjectMeta(name=f"pvc-{claim.uid}", annotations=annotations), spec=spec)


async def _selected_node(claim: PersistentVolumeClaim, ctx: Context) -> Node | None:
    """The node for a waiting claim: the one that the scheduler has recorded, or else the node of a pod that uses the
    claim.
    """
    name = claim.annotations.get(SELECTED_NODE)
    if not name:
        pods = await ctx.list(Pod, index=(BY_CLAIM, claim.key))
        placed = sorted((pod.key, pod.spec.node_name) for pod in pods if pod.spec.node_name and not pod.is_finished)
        name = placed[0][1] if placed else None
    return await ctx.get(Node, name) if name else None


async def _standard(ctx: Context) -> None:
    """Makes the class ``standard`` if the cluster does not have any StorageClass."""
    if (await ctx.client.list(StorageClass)).items:
        return
    standard = StorageClass(
        metadata=ObjectMeta(name=STANDARD, annotations={DEFAULT_CLASS: "true"}),
        provisioner=HOLLOW,
        reclaim_policy="Delete",
        volume_binding_mode="Immediate",
        allow_volume_expansion=True,
    )
    try:
        await ctx.create(standard, controlled=False)
    except AlreadyExists:
        return


def _claims_of_volume(head: Head, caches: CacheReader) -> Iterable[str]:
    """The keys of the claims that name the volume, and of all claims that wait for a volume."""
    claims = caches.lister(PersistentVolumeClaim)
    return [*claims.keys(index=(BY_VOLUME, head.name)), *claims.keys(index=(BY_VOLUME, WAITING))]


def _claims_that_wait(_: Head, caches: CacheReader) -> Iterable[str]:
    return caches.lister(PersistentVolumeClaim).keys(index=(BY_VOLUME, WAITING))


def _claims_of_pod(head: Head, caches: CacheReader) -> Iterable[str]:
    waiting = caches.lister(PersistentVolumeClaim).keys(index=(BY_VOLUME, WAITING))
    pod = caches.lister(Pod).try_get(head.key, as_=Mounting) if waiting else None
    return set(waiting).intersection(claims_of(pod)) if pod is not None else ()
