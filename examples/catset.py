"""catset.py: pods with names, an order and volumes of their own, as a StatefulSet has them: Metacontroller's CatSet.

A port of one of Metacontroller's examples, with the same kind in the same group; its own test script passes
(docs/examples/port.md). Pods come one after the other, each when all before it are ready, and go in the opposite
order. A new template replaces them one at a time, the last one first. Volume claims stay when a CatSet becomes smaller,
and go with it.

python examples/catset.py run --embedded
"""

import hashlib
from typing import Annotated

import msgspec

import setpoint as sp
from setpoint.models.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodTemplateSpec,
    Volume,
)

TEMPLATE = "catsets.ctl.enisoc.com/template"
"""The annotation of a pod: a digest of the template that it was made from."""


class CatSetSpec(sp.Model):
    service_name: str
    replicas: Annotated[int, sp.Field(ge=0)]
    selector: sp.LabelSelector
    template: PodTemplateSpec
    volume_claim_templates: list[PersistentVolumeClaimTemplate] = []


class CatSetStatus(sp.ConditionedStatus):
    replicas: int = 0
    ready_replicas: int = 0


class CatSet(sp.CustomResource, group="ctl.enisoc.com", version="v1"):
    """So many pods, numbered from 0, each with its volumes."""

    spec: CatSetSpec
    status: CatSetStatus = CatSetStatus()


def digest(catset: CatSet) -> str:
    return hashlib.sha256(msgspec.json.encode(catset.spec.template, order="sorted")).hexdigest()[:16]


def pod_of(catset: CatSet, ordinal: int) -> Pod:
    template = catset.spec.template
    metadata = template.metadata
    pod = Pod.named(f"{catset.name}-{ordinal}", catset.namespace, metadata.labels, metadata.annotations)
    pod.metadata.annotations[TEMPLATE] = digest(catset)
    pod.spec = msgspec.structs.replace(template.spec, hostname=pod.name, subdomain=catset.spec.service_name)
    pod.spec.volumes = template.spec.volumes + [
        Volume(
            name=claim.metadata.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=f"{claim.metadata.name}-{pod.name}"),
        )
        for claim in catset.spec.volume_claim_templates
    ]
    return pod


async def keep_claims(catset: CatSet, ctx: sp.Context) -> None:
    """Makes the claims that are missing. None is ever changed, and none deleted before its CatSet."""
    for template in catset.spec.volume_claim_templates:
        for ordinal in range(catset.spec.replicas):
            name = f"{template.metadata.name}-{catset.name}-{ordinal}"
            if await ctx.get(PersistentVolumeClaim, name) is None:
                metadata = template.metadata
                await ctx.apply(
                    PersistentVolumeClaim.named(
                        name, catset.namespace, metadata.labels, metadata.annotations, spec=template.spec
                    )
                )


def ordinal_of(catset: CatSet, pod: Pod) -> int:
    number = pod.name.removeprefix(f"{catset.name}-")
    return int(number) if number.isdecimal() else -1


async def step(catset: CatSet, ctx: sp.Context, replicas: int) -> int:
    """Goes one step towards so many pods, and returns how many there are."""
    owned = {ordinal_of(catset, pod): pod for pod in ctx.owned(Pod)}
    pods = {ordinal: pod for ordinal, pod in owned.items() if ordinal >= 0}
    outdated = [ordinal for ordinal, pod in pods.items() if pod.annotations.get(TEMPLATE) != digest(catset)]
    ready = 0
    while ready < replicas and ready in pods and pods[ready].is_ready and not pods[ready].is_deleting:
        ready += 1
    catset.status.replicas, catset.status.ready_replicas = len(pods), ready
    if ready == replicas:
        surplus = [ordinal for ordinal in pods if ordinal >= replicas]
        if going := surplus or outdated:
            await ctx.delete(pods[max(going)])
    elif ready not in pods:
        await ctx.apply(pod_of(catset, ready))
    elif ready in outdated:  # its template has been replaced, and it may never become ready
        await ctx.delete(pods[ready])
    return len(pods)


async def reconcile(catset: CatSet, ctx: sp.Context) -> None:
    await keep_claims(catset, ctx)
    await step(catset, ctx, catset.spec.replicas)


async def clean_up(catset: CatSet, ctx: sp.Context) -> sp.Outcome:
    """The pods go in order before the CatSet does."""
    return sp.after(60) if await step(catset, ctx, 0) else sp.done()


controller = sp.Controller(CatSet, reconcile).owns(Pod).owns(PersistentVolumeClaim).finalize(clean_up)

if __name__ == "__main__":
    sp.main(controller)
