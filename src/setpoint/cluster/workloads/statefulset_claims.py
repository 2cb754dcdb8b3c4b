"""Claims of StatefulSets: one for each template and pod. A claim is deleted with the pod, with the set, or with
neither.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from setpoint.client import AlreadyExists
from setpoint.controller import Context
from setpoint.controller.writes.ownership import remove_owner_reference, set_owner_reference
from setpoint.meta import Object, ObjectMeta, to_wire
from setpoint.models.apps_v1 import StatefulSet
from setpoint.models.core_v1 import PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, Volume


class StatefulClaims:
    """Makes the claims of a StatefulSet's pods, and sets the owners of claims that are deleted with their pod or
    set.
    """

    async def create(self, stateful_set: StatefulSet, ordinal: int, ctx: Context) -> None:
        """Creates the missing claims of a pod."""
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

        ``condemned`` says that the pod is being removed by scaling down.
        """
        policy = stateful_set.spec.persistent_volume_claim_retention_policy
        scaled = policy is not None and policy.when_scaled == "Delete" and condemned
        deleted = policy is not None and policy.when_deleted == "Delete" and not scaled
        for claim in claims_of(stateful_set, _number(pod)):
            existing = await ctx.get(PersistentVolumeClaim, claim.name)
            if existing is None or existing.is_deleting:
                continue
            draft = copy.copy(existing)
            draft.metadata = copy.copy(existing.metadata)
            changed = _own(pod, draft, scaled)
            changed |= _own(stateful_set, draft, deleted)
            if changed:
                references: Any = to_wire(draft.metadata.owner_references) or None
                metadata = {"resourceVersion": existing.metadata.resource_version, "ownerReferences": references}
                await ctx.patch(existing, {"metadata": metadata})


def claims_of(stateful_set: StatefulSet, ordinal: int) -> Iterator[PersistentVolumeClaim]:
    """The claims of one pod."""
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


def _own(owner: Object, claim: PersistentVolumeClaim, wanted: bool) -> bool:
    if not wanted:
        return remove_owner_reference(owner, claim)
    if any(reference.uid == owner.uid for reference in claim.metadata.owner_references):
        return False
    return set_owner_reference(owner, claim)


def _number(pod: Pod) -> int:
    return int(pod.name.rpartition("-")[2])
