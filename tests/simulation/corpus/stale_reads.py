"""Stale reads: an object is deleted because of an old state of another one."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.meta import LabelSelector
from setpoint.models.apps_v1 import StatefulSet, StatefulSetSpec
from setpoint.models.core_v1 import (
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from setpoint.models.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from setpoint.simulation import External, call


class MongoSpec(sp.Model):
    members: int = 1
    arbiter: bool = False
    ui_port: int = 0
    tls: bool = False
    max_unavailable: int = 1


class MongoStatus(sp.ConditionedStatus):
    ready: int = 0


class Mongo(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A replica set."""

    spec: MongoSpec = MongoSpec()
    status: MongoStatus = MongoStatus()


async def now(mongo: Mongo, ctx: sp.Context) -> MongoSpec | None:
    """The live spec of the object; None if the object is gone."""
    live = await ctx.client.get(Mongo, mongo.name, namespace=mongo.namespace)
    return live.spec if live.uid == mongo.uid and not live.is_deleting else None


def changes(*specs: MongoSpec) -> Any:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        for spec in specs:
            await cluster.apply(Mongo.named("db", "default", spec=spec))
            await cluster.settle()

    return scenario


# -- the arbiter that was not wanted once ------------------------------------------------------------------------------


def arbiter(mongo: Mongo) -> StatefulSet:
    labels = {"app": f"{mongo.name}-arbiter"}
    pod = PodSpec(containers=[Container(name="mongod", image="mongo:7")])
    spec = StatefulSetSpec(
        replicas=1,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod),
    )
    return StatefulSet.named(f"{mongo.name}-arbiter", spec=spec)


async def arbiter_by_the_cache(mongo: Mongo, ctx: sp.Context) -> None:
    present = await ctx.get(StatefulSet, f"{mongo.name}-arbiter")
    if mongo.spec.arbiter:
        await ctx.apply(arbiter(mongo))
    elif present is not None:
        await ctx.delete(present)


async def arbiter_after_a_look(mongo: Mongo, ctx: sp.Context) -> Any:
    present = await ctx.get(StatefulSet, f"{mongo.name}-arbiter")
    if mongo.spec.arbiter:
        await ctx.apply(arbiter(mongo))
    elif present is not None:
        wanted = await now(mongo, ctx)
        if wanted is None or wanted.arbiter:
            return sp.retry("the cache is behind")
        await ctx.delete(present)
    return None


# -- a port that was zero once -----------------------------------------------------------------------------------------


async def service_by_the_cache(mongo: Mongo, ctx: sp.Context) -> None:
    if mongo.spec.ui_port:
        spec = ServiceSpec(selector={"app": mongo.name}, ports=[ServicePort(port=mongo.spec.ui_port)])
        await ctx.apply(Service.named(f"{mongo.name}-ui", spec=spec))
        return
    for service in ctx.owned(Service):
        await ctx.delete(service)


async def service_after_a_look(mongo: Mongo, ctx: sp.Context) -> None:
    """`keep` looks by itself, where caches may be old."""
    wanted = []
    if mongo.spec.ui_port:
        spec = ServiceSpec(selector={"app": mongo.name}, ports=[ServicePort(port=mongo.spec.ui_port)])
        wanted = [Service.named(f"{mongo.name}-ui", spec=spec)]
    await ctx.keep(Service, wanted)


# -- orphaned volumes by a status --------------------------------------------------------------------------------------


def volume(mongo: Mongo, number: int) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    return PersistentVolumeClaim.named(f"data-{mongo.name}-{number}", labels={"db": mongo.name}, spec=spec)


def ordinal(obj: sp.Object) -> int:
    return int(obj.name.rpartition("-")[2])


async def members(mongo: Mongo, ctx: sp.Context) -> None:
    pods = []
    for number in range(mongo.spec.members):
        await ctx.apply(volume(mongo, number))
        spec = PodSpec(containers=[Container(name="mongod", image="mongo:7")])
        pods.append(Pod.named(f"{mongo.name}-{number}", labels={"db": mongo.name}, spec=spec))
    ready = sum(pod.is_ready for pod in await ctx.keep(Pod, pods))
    mongo.status.ready = ready


async def orphans_by_status(mongo: Mongo, ctx: sp.Context) -> None:
    """A second controller, which tidies up."""
    if mongo.status.ready != mongo.spec.members:
        return  # not while it is being scaled
    for claim in await ctx.list(PersistentVolumeClaim, selector={"db": mongo.name}):
        if ordinal(claim) >= mongo.status.ready:
            await ctx.delete(claim)


async def orphans_after_a_look(mongo: Mongo, ctx: sp.Context) -> Any:
    unused = [
        claim
        for claim in await ctx.list(PersistentVolumeClaim, selector={"db": mongo.name})
        if ordinal(claim) >= mongo.spec.members
    ]
    if unused:
        wanted = await now(mongo, ctx)
        if wanted is None or wanted.members != mongo.spec.members:
            return sp.retry("the cache is behind")
    for item in unused:
        await ctx.delete(item)
    return None


def tidied(tidy: Any) -> Any:
    return lambda: [
        sp.Controller(Mongo, members, name="members").owns(Pod).owns(PersistentVolumeClaim),
        sp.Controller(Mongo, tidy, name="tidy").reads(PersistentVolumeClaim),
    ]


# -- a budget that is made anew for every change -----------------------------------------------------------------------


def budget(mongo: Mongo) -> PodDisruptionBudget:
    spec = PodDisruptionBudgetSpec(
        max_unavailable=mongo.spec.max_unavailable, selector=LabelSelector(match_labels={"db": mongo.name})
    )
    return PodDisruptionBudget.named(mongo.name, spec=spec)


async def budget_anew(mongo: Mongo, ctx: sp.Context) -> None:
    present = await ctx.get(PodDisruptionBudget, mongo.name)
    if present is not None and present.spec.max_unavailable != mongo.spec.max_unavailable:
        await ctx.delete(present)
        present = None
    if present is None:
        try:
            await ctx.create(budget(mongo))
        except AlreadyExists:
            ctx.log.info("there is one already")


async def budget_in_place(mongo: Mongo, ctx: sp.Context) -> None:
    await ctx.apply(budget(mongo))


# -- secrets that were not wanted once ---------------------------------------------------------------------------------


async def secrets_by_the_cache(mongo: Mongo, ctx: sp.Context) -> None:
    names = [f"{mongo.name}-{role}-tls" for role in ("server", "client")]
    if mongo.spec.tls:
        for name in names:
            await ctx.apply(Secret.named(name, string_data={"tls.crt": f"for {name}"}))
        return
    for secret in ctx.owned(Secret):
        if secret.name in names:
            await ctx.delete(secret)


async def secrets_after_a_look(mongo: Mongo, ctx: sp.Context) -> Any:
    if not mongo.spec.tls and ctx.owned(Secret):
        wanted = await now(mongo, ctx)
        if wanted is None or wanted.tls:
            return sp.retry("the cache is behind")
    await secrets_by_the_cache(mongo, ctx)
    return None


# -- nodes of a ring that says nothing ---------------------------------------------------------------------------------


class Ring(External):
    """The membership that the database's nodes know. Every ring that answers has a seed."""

    def __init__(self) -> None:
        self.holders: list[str] = ["seed"]
        self.lost: list[str] = []

    @call
    async def join(self, name: str) -> None:
        if name not in self.holders:
            self.holders.append(name)

    @call
    async def decommission(self, name: str) -> None:
        if name in self.holders:
            self.holders.remove(name)

    @call(nothing=[])
    async def members(self) -> list[str]:
        return list(self.holders)

    @call
    async def wipe(self, name: str) -> None:
        if name in self.holders:
            self.lost.append(name)


ring = Ring()


def in_a_ring(*, believes_nothing: bool) -> Any:
    async def reconcile(mongo: Mongo, ctx: sp.Context) -> Any:
        for number in range(mongo.spec.members):
            await ctx.apply(volume(mongo, number))
            await ring.join(f"{mongo.name}-{number}")
        unused = [claim for claim in ctx.owned(PersistentVolumeClaim) if ordinal(claim) >= mongo.spec.members]
        if not unused:
            return None
        wanted = await now(mongo, ctx)
        if wanted is None or wanted.members != mongo.spec.members:
            return sp.retry("the cache is behind")
        for item in unused:
            name = item.name.removeprefix("data-")
            answered = await ring.members()
            if not answered and not believes_nothing:
                return sp.retry("the ring does not say who is in it")
            if name in answered:
                await ring.decommission(name)
                return sp.after(5, "decommissioning")
            await ring.wipe(name)
            await ctx.delete(item)
        return None

    return lambda: [sp.Controller(Mongo, reconcile).owns(PersistentVolumeClaim)]


async def shrink_and_wait(cluster: sp.testing.Cluster) -> None:
    await changes(MongoSpec(members=2), MongoSpec(members=1))(cluster)

    async def tidied_up() -> bool:
        return len(await cluster.list(PersistentVolumeClaim)) == 1

    await cluster.until(tidied_up)


PAIRS = [
    Pair(
        name="arbiter-deleted-by-stale-spec",
        root="R09",
        source="K8SPSMDB-433, K8SPSMDB-438, K8SPXC-725, K8SPXC-763",
        scenario=changes(MongoSpec(arbiter=False), MongoSpec(arbiter=True)),
        buggy=lambda: [sp.Controller(Mongo, arbiter_by_the_cache).owns(StatefulSet)],
        correct=lambda: [sp.Controller(Mongo, arbiter_after_a_look).owns(StatefulSet)],
    ),
    Pair(
        name="service-deleted-by-stale-port",
        root="R11",
        source="yugabyte-operator #36",
        scenario=changes(MongoSpec(ui_port=0), MongoSpec(ui_port=8080)),
        buggy=lambda: [sp.Controller(Mongo, service_by_the_cache).owns(Service)],
        correct=lambda: [sp.Controller(Mongo, service_after_a_look).owns(Service)],
    ),
    Pair(
        name="secrets-deleted-by-stale-spec",
        root="R10",
        source="yugabyte-operator #35",
        scenario=changes(MongoSpec(tls=False), MongoSpec(tls=True)),
        buggy=lambda: [sp.Controller(Mongo, secrets_by_the_cache).owns(Secret)],
        correct=lambda: [sp.Controller(Mongo, secrets_after_a_look).owns(Secret)],
    ),
    Pair(
        name="volumes-orphaned-by-stale-status",
        root="R13",
        source="zookeeper-operator #314",
        scenario=changes(MongoSpec(members=1), MongoSpec(members=2)),
        buggy=tidied(orphans_by_status),
        correct=tidied(orphans_after_a_look),
    ),
    Pair(
        name="disruption-budget-recreated-by-stale-spec",
        root="R15",
        source="casskop #321",
        scenario=changes(MongoSpec(max_unavailable=1), MongoSpec(max_unavailable=2), MongoSpec(max_unavailable=3)),
        buggy=lambda: [sp.Controller(Mongo, budget_anew).owns(PodDisruptionBudget)],
        correct=lambda: [sp.Controller(Mongo, budget_in_place).owns(PodDisruptionBudget)],
    ),
    Pair(
        name="empty-membership-answer-trusted",
        root="R17",
        source="k8ssandra/cass-operator #973",
        scenario=shrink_and_wait,
        buggy=in_a_ring(believes_nothing=True),
        correct=in_a_ring(believes_nothing=False),
        options={"externals": [ring]},
    ),
]
