"""Claims of StatefulSets: one for each template and pod. A claim is deleted with the pod, with the set, or with
neither.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from setpoint.client import AlreadyExists
from setpoint.controller import Context
from setpoint.meta import Object, ObjectMeta, OwnerReference, to_wire
from setpoint.models.apps_v1 import StatefulSet
from setpoint.models.core_v1 import PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, Volume


class StatefulClaims:
    """Makes the claims of a StatefulSet's pods, and sets the owners of claims that are deleted with their pod or
    set.
    """

    async def create(self, stateful_set: StatefulSet, ordinal: int, ctx: Context) -> None:
        for claim in claims_of(stateful_set, ordinal):
            if await ctx.get(PersistentVolumeClaim, claim.name) is not None:
                continue
            try:
                await ctx.create(claim, controlled=False)
            except AlreadyExists:
                continue  # the cache is behind
            pod = f"{stateful_set.name}-{ordinal}"
            message = f"create Claim {claim.name} Pod {pod} in StatefulSet {stateful_set.name} success"
            ctx.event("Normal", "SuccessfulCreate", message)

    async def is_stale(self, stateful_set: StatefulSet, ordinal: int, ctx: Context) -> bool:
        """Whether one of the pod's claims still belongs to an earlier pod and will be deleted with that pod."""
        for claim in claims_of(stateful_set, ordinal):
            existing = await ctx.get(PersistentVolumeClaim, claim.name)
            if existing is not None and any(owner.kind == "Pod" for owner in existing.metadata.owner_references):
                return True
        return False

    async def retain(self, stateful_set: StatefulSet, pod: Pod, *, condemned: bool, ctx: Context) -> None:
        """Makes the pod, the set or neither of them the owner of the pod's claims, as the policy says.

        ``condemned`` says that the pod is being removed by scaling down. A claim with another controller, or with an
        earlier set or pod as its owner, gets none, and an event says so for another controller.
        """
        policy = stateful_set.spec.persistent_volume_claim_retention_policy
        on_scaling = policy is not None and policy.when_scaled == "Delete"
        on_deletion = policy is not None and policy.when_deleted == "Delete"
        owner = pod if on_scaling and condemned else stateful_set if on_deletion else None
        for claim in claims_of(stateful_set, int(pod.name.rpartition("-")[2])):
            existing = await ctx.get(PersistentVolumeClaim, claim.name)
            if existing is None or existing.is_deleting:
                continue
            own, others = _split(existing.metadata.owner_references, stateful_set, pod)
            if any(reference.uid not in (stateful_set.uid, pod.uid) for reference in own):
                continue  # the garbage collector decides about claims of an earlier set or pod
            conflict = (on_scaling or on_deletion) and any(reference.controller for reference in others)
            if conflict:
                text = "has a conflicting OwnerReference that acts as a managing controller, the retention policy is "
                message = f"PersistentVolumeClaim {claim.name} {text}ignored for this claim"
                ctx.event("Warning", "ConflictingController", message)
            wanted = [] if owner is None or conflict else [_controller(owner)]
            if to_wire(own) != to_wire(wanted):
                references: Any = to_wire([*others, *wanted]) or None
                metadata = {"resourceVersion": existing.metadata.resource_version, "ownerReferences": references}
                await ctx.patch(existing, {"metadata": metadata})


def claims_of(stateful_set: StatefulSet, ordinal: int) -> Iterator[PersistentVolumeClaim]:
    labels = stateful_set.spec.selector.match_labels
    for template in stateful_set.spec.volume_claim_templates:
        yield PersistentVolumeClaim(
            metadata=ObjectMeta(
                name=claim_name(stateful_set, template, ordinal),
                labels={**template.metadata.labels, **labels},
                annotations=dict(template.metadata.annotations),
            ),
            spec=copy.deepcopy(template.spec),
        )


def claim_name(stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> str:
    return f"{template.name}-{stateful_set.name}-{ordinal}"


def with_claims(stateful_set: StatefulSet, ordinal: int, volumes: Sequence[Volume]) -> list[Volume]:
    """A pod's volumes: its claims, and those volumes of the template whose names differ from the claims' names."""
    templates = stateful_set.spec.volume_claim_templates
    claimed = [
        Volume(
            name=template.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=claim_name(stateful_set, template, ordinal)
            ),
        )
        for template in templates
    ]
    names = {template.name for template in templates}
    return [*claimed, *(volume for volume in volumes if volume.name not in names)]


def _controller(owner: Object) -> OwnerReference:
    return owner.owner_reference(controller=True, block_owner_deletion=True)


def _split(
    references: Sequence[OwnerReference], stateful_set: StatefulSet, pod: Pod
) -> tuple[list[OwnerReference], list[OwnerReference]]:
    """The references to a set or pod of these names, and the others."""
    names = {(owner.api_version, owner.kind, owner.name) for owner in map(_controller, (stateful_set, pod))}
    own = [reference for reference in references if (reference.api_version, reference.kind, reference.name) in names]
    return own, [reference for reference in references if reference not in own]
