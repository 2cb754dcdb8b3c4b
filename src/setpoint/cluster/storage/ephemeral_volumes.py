"""Ephemeral volumes: claims that exist for as long as their pod."""

from __future__ import annotations

import copy

from setpoint.client import AlreadyExists
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.meta import ObjectMeta
from setpoint.models.core_v1 import PersistentVolumeClaim, Pod


class EphemeralVolumes:
    """Makes a claim for each volume of a pod that has a claim template; the name of the claim is ``POD-VOLUME``.

    The pod owns the claim, so the garbage collector deletes it with the pod. A claim of that name that does not belong
    to the pod is left alone; an event reports it, and the pod waits.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            Pod,
            self._reconcile,
            name="ephemeral-volumes",
            predicates=[lambda old, new: old is None and new is not None],  # a pod's volumes never change
            owns_status=False,
            leader_only=False,
        ).owns(PersistentVolumeClaim)

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        for volume in pod.spec.volumes:
            template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
            if template is None or pod.is_finished:
                continue
            name = f"{pod.name}-{volume.name}"
            claim = await ctx.get(PersistentVolumeClaim, name)
            if claim is None:
                metadata = ObjectMeta(
                    name=name, labels=dict(template.metadata.labels), annotations=dict(template.metadata.annotations)
                )
                try:
                    await ctx.create(PersistentVolumeClaim(metadata=metadata, spec=copy.deepcopy(template.spec)))
                except AlreadyExists:
                    claim = await ctx.client.get(PersistentVolumeClaim, name, namespace=pod.namespace)
            owner = claim.metadata.controller if claim is not None else None
            if claim is not None and (owner is None or owner.uid != pod.uid):
                why = f'PVC "{claim.key}" was not created for pod "{pod.key}" (pod is not owner)'
                ctx.event("Warning", "FailedBinding", f"ephemeral volume {volume.name}: {why}")
        return done()
