"""PersistentVolumes: their phases (available, bound, released), and how they are reclaimed when their claim is gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.storage.volume_matching import (
    BOUND_BY_CONTROLLER,
    HOLLOW,
    PROVISIONED_BY,
    claim_key,
    is_same_mode,
)
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.controller.cache_reader import CacheReader
from setpoint.models.core_v1 import PersistentVolume, PersistentVolumeClaim

_BY_CLAIM = "claim"


class PersistentVolumes:
    """The volumes' half of kube-controller-manager's ``persistentvolume-binder``; `VolumeClaims` is the other half.

    A volume is ``Available`` without a claim, ``Bound`` with one, and ``Released`` when the claim is gone. The reclaim
    policy then decides: ``Retain`` leaves the volume, ``Recycle`` makes it available again, and ``Delete`` deletes it
    if it is hollow; any other volume is left for its own provisioner to delete. A volume whose type does not support
    its policy becomes ``Failed``.
    """

    def __init__(self) -> None:
        self.controller = (
            Controller(
                PersistentVolume,
                self._reconcile,
                name="persistent-volumes",
                workers=1,
                reconcile_deleting=True,  # it may be deleted before its status says that it is not in use any more
                owns_status=False,
                leader_only=False,
            )
            .watches(PersistentVolumeClaim, _volumes_of)
            .index(_BY_CLAIM, _claim_of)
        )

    async def _reconcile(self, volume: PersistentVolume, ctx: Context) -> Outcome:
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            _set_phase(volume, ctx, "Available")
            return done()
        key = claim_key(reference)
        claim = await ctx.get(PersistentVolumeClaim, key.name, namespace=key.namespace)
        if claim is None or claim.uid != reference.uid:
            # Data may be deleted now: the server is asked, since the cache may not know of a new claim yet.
            claim = await _live(key.namespace, key.name, ctx)
        if claim is None or claim.uid != reference.uid:
            await self._release(volume, ctx)
        elif claim.spec.volume_name == volume.name:
            _set_phase(volume, ctx, "Bound")
        elif not claim.spec.volume_name:
            if not is_same_mode(volume, claim):
                why = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.name}"'
                ctx.event("Warning", "VolumeMismatch", f"{why} due to incompatible volumeMode.")
        elif PROVISIONED_BY in volume.annotations and volume.spec.persistent_volume_reclaim_policy == "Delete":
            await self._release(volume, ctx)  # made for a claim that has got another one
        else:
            await _unbind(volume, ctx)
        return done()

    async def _release(self, volume: PersistentVolume, ctx: Context) -> None:
        if volume.status.phase not in ("Released", "Failed"):
            _set_phase(volume, ctx, "Released")
        match volume.spec.persistent_volume_reclaim_policy:
            case "Delete":
                await self._delete(volume, ctx)
            case "Recycle":
                if volume.spec.host_path is not None or volume.spec.nfs is not None:
                    ctx.event("Normal", "VolumeRecycled", "Volume recycled")
                    await _unbind(volume, ctx)
                else:
                    _fail(volume, ctx, "VolumeFailedRecycle", "No recycler plugin found for the volume!")

    async def _delete(self, volume: PersistentVolume, ctx: Context) -> None:
        provisioner = volume.annotations.get(PROVISIONED_BY)
        if provisioner == HOLLOW:
            await ctx.delete(volume)
        elif provisioner is None and volume.spec.csi is None:
            why = f'error getting deleter volume plugin for volume "{volume.name}": no deletable volume plugin matched'
            _fail(volume, ctx, "VolumeFailedDelete", why)


async def _unbind(volume: PersistentVolume, ctx: Context) -> None:
    """Makes a volume available again. A volume that an administrator has reserved for a claim stays reserved for the
    claim's name.
    """
    if BOUND_BY_CONTROLLER in volume.annotations:
        patch: dict[str, Any] = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}
    else:
        patch = {"metadata": {}, "spec": {"claimRef": {"uid": None}}}
    patch["metadata"]["resourceVersion"] = volume.metadata.resource_version
    await ctx.patch(volume, patch)
    _set_phase(volume, ctx, "Available")


def _set_phase(volume: PersistentVolume, ctx: Context, phase: str, message: str | None = None) -> None:
    status = volume.status
    if status.phase != phase:
        status.last_phase_transition_time = ctx.now().replace(microsecond=0)
        status.phase = phase
        status.message = message


def _fail(volume: PersistentVolume, ctx: Context, reason: str, message: str) -> None:
    if volume.status.phase != "Failed":
        ctx.event("Warning", reason, message)
    _set_phase(volume, ctx, "Failed", message)


async def _live(namespace: str, name: str, ctx: Context) -> PersistentVolumeClaim | None:
    try:
        return await ctx.client.get(PersistentVolumeClaim, name, namespace=namespace)
    except NotFound:
        return None


def _claim_of(volume: PersistentVolume) -> str | None:
    reference = volume.spec.claim_ref
    return None if reference is None else claim_key(reference)


def _volumes_of(claim: Head, caches: CacheReader) -> Iterable[str]:
    return caches.lister(PersistentVolume).keys(index=(_BY_CLAIM, claim.key))
