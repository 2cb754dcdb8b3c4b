"""bluegreen.py: a new template runs beside the old one until it is ready, and then gets all the traffic at once.

A port of Metacontroller's BlueGreenDeployment, with the same kind in the same group; its own test script passes
(docs/examples/port.md). There are a blue and a green ReplicaSet, and a Service that selects the pods of one colour. The
Service says which colour is active: the operator looks at the world, and never at the status that it wrote itself.

python examples/bluegreen.py run --embedded
"""

import copy
from typing import Annotated

import msgspec

import setpoint as sp
from setpoint.client import NotFound
from setpoint.controller import AdoptionError
from setpoint.meta import decode
from setpoint.models.apps_v1 import ReplicaSet, ReplicaSetSpec, ReplicaSetStatus
from setpoint.models.core_v1 import PodTemplateSpec, Service, ServiceSpec

TEMPLATE = "bluegreendeployments.ctl.enisoc.com/pod-template-json"
"""The annotation of a ReplicaSet: the template that it was made from, without what servers add to it."""
OTHER = {"blue": "green", "green": "blue"}


class ServiceTemplate(sp.Model):
    metadata: sp.ObjectMeta
    spec: ServiceSpec


class BlueGreenDeploymentSpec(sp.Model):
    replicas: Annotated[int, sp.Field(ge=0)]
    min_ready_seconds: int = 0
    selector: sp.LabelSelector
    template: PodTemplateSpec
    service: ServiceTemplate


class BlueGreenDeploymentStatus(sp.ConditionedStatus):
    active_color: str = ""
    active: ReplicaSetStatus | None = None
    inactive: ReplicaSetStatus | None = None


class BlueGreenDeployment(sp.CustomResource, group="ctl.enisoc.com", version="v1"):
    """Pods behind a Service, of one template at a time."""

    spec: BlueGreenDeploymentSpec
    status: BlueGreenDeploymentStatus = BlueGreenDeploymentStatus()


def replica_set(owner: BlueGreenDeployment, color: str, replicas: int, template: PodTemplateSpec) -> ReplicaSet:
    labels = {**template.metadata.labels, "color": color}
    colored = copy.deepcopy(template)
    colored.metadata.labels = labels
    selector = copy.deepcopy(owner.spec.selector)
    selector.match_labels["color"] = color
    spec = ReplicaSetSpec(
        replicas=replicas, min_ready_seconds=owner.spec.min_ready_seconds, selector=selector, template=colored
    )
    noted = {TEMPLATE: msgspec.json.encode(template, order="sorted").decode()}
    return ReplicaSet.named(f"{owner.name}-{color}", owner.namespace, labels, noted, spec=spec)


def service(owner: BlueGreenDeployment, color: str) -> Service:
    metadata, spec = owner.spec.service.metadata, copy.deepcopy(owner.spec.service.spec)
    spec.selector["color"] = color
    return Service.named(metadata.name, owner.namespace, metadata.labels, metadata.annotations, spec=spec)


def template_of(replica_set: ReplicaSet) -> PodTemplateSpec:
    return decode(PodTemplateSpec, replica_set.annotations[TEMPLATE].encode())


def reported_status(replica_set: ReplicaSet) -> ReplicaSetStatus:
    """A ReplicaSet's status without its observedGeneration, which counts changes that are none of the reader's."""
    return msgspec.structs.replace(replica_set.status, observed_generation=None)


def is_empty(replica_set: ReplicaSet) -> bool:
    """Whether a ReplicaSet is to have no pods, and has none: its status is about what it is now."""
    status = replica_set.status
    return (
        replica_set.spec.replicas == 0
        and status.replicas == 0
        and status.observed_generation == replica_set.metadata.generation
    )


async def sets_of(owner: BlueGreenDeployment, ctx: sp.Context) -> dict[str, ReplicaSet]:
    """The ReplicaSets by colour, from the server: an old view of them would take the pods away that serve."""
    await ctx.ensure_current()
    replica_sets = await ctx.client.list(ReplicaSet, namespace=owner.namespace, selector=owner.spec.selector)
    own = (
        replica_set
        for replica_set in replica_sets.items
        if replica_set.metadata.controller and replica_set.metadata.controller.uid == owner.uid
    )
    return {replica_set.labels.get("color", ""): replica_set for replica_set in own}


async def service_of(owner: BlueGreenDeployment, ctx: sp.Context) -> Service | None:
    try:
        return await ctx.client.get(Service, owner.spec.service.metadata.name, namespace=owner.namespace)
    except NotFound:
        return None


def active_color(service: Service | None, sets: dict[str, ReplicaSet]) -> str:
    """The colour that the Service selects; without one, the colour that has pods."""
    if service is not None and (color := service.spec.selector.get("color", "")) in OTHER:
        return color
    return max(("blue", "green"), key=lambda color: sets[color].status.available_replicas or 0 if color in sets else 0)


async def direct(owner: BlueGreenDeployment, ctx: sp.Context, existing: Service | None, color: str) -> None:
    """Directs the traffic to a colour, by a create or an update, which the server refuses if the Service has changed.

    An apply that reached the server late, after the next rollout, would direct the traffic to a colour without pods.
    """
    wanted = service(owner, color)
    for child in ctx.owned(Service):
        if child.name != wanted.name:
            await ctx.delete(child)
    if existing is None:
        await ctx.create(wanted)
        return
    controller = existing.metadata.controller
    if controller is None or controller.uid != owner.uid:
        raise AdoptionError(f"Service {existing.key} is not this BlueGreenDeployment's: choose another name")
    existing.metadata.labels |= wanted.labels
    existing.metadata.annotations |= wanted.annotations
    existing.spec = wanted.spec  # the server keeps what it allocated
    await ctx.client.update(existing)  # the server stores nothing if that changes nothing


async def scale(ctx: sp.Context, existing: ReplicaSet | None, wanted: ReplicaSet) -> ReplicaSet:
    """Makes a ReplicaSet as wanted, like `direct`: a late apply would start the pods of an earlier moment again."""
    if existing is None:
        return await ctx.create(wanted)
    existing.metadata.annotations |= wanted.annotations
    existing.spec = wanted.spec
    return await ctx.client.update(existing)


async def reconcile(owner: BlueGreenDeployment, ctx: sp.Context) -> None:
    spec = owner.spec
    sets = await sets_of(owner, ctx)
    service = await service_of(owner, ctx)
    color = active_color(service, sets)
    active, inactive = sets.get(color), sets.get(OTHER[color])
    # Templates and numbers as they are now; they stay so unless a branch below changes them.
    running, count = (template_of(active), active.spec.replicas or 0) if active else (spec.template, spec.replicas)
    waiting, reserve = (template_of(inactive), inactive.spec.replicas or 0) if inactive else (spec.template, 0)
    if running == spec.template:
        count, reserve = spec.replicas, 0
    elif inactive is not None and waiting == spec.template:
        reserve = spec.replicas
        if (inactive.status.available_replicas or 0) >= spec.replicas:
            color, running, waiting, count, reserve = OTHER[color], waiting, running, reserve, count
    elif inactive is None or is_empty(inactive):
        waiting, reserve = spec.template, spec.replicas
    else:
        reserve = 0  # an earlier rollout goes no further; when its pods are gone, this one begins
    await direct(owner, ctx, service, color)
    other = OTHER[color]
    now_active = await scale(ctx, sets.get(color), replica_set(owner, color, count, running))
    now_inactive = await scale(ctx, sets.get(other), replica_set(owner, other, reserve, waiting))
    owner.status.active_color = color
    owner.status.active, owner.status.inactive = reported_status(now_active), reported_status(now_inactive)


controller = sp.Controller(BlueGreenDeployment, reconcile).owns(ReplicaSet).owns(Service)

if __name__ == "__main__":
    sp.main(controller)
