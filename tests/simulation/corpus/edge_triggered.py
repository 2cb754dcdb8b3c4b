"""Edge triggered: controllers that act on events that they have seen, instead of on the state."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    VolumeResourceRequirements,
)
from setpoint.simulation import External, call


class RingSpec(sp.Model):
    nodes: int = 1
    period: int = 0
    settings: str = ""


class RingStatus(sp.ConditionedStatus):
    nodes: int = 0
    beats: int = 0
    phase: str = ""
    decommissioning: list[str] = []


class Ring(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A ring of nodes."""

    spec: RingSpec = RingSpec()
    status: RingStatus = RingStatus()


def sizes(*numbers: int) -> Any:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        for number in numbers:
            await cluster.apply(Ring.named("ring", "default", spec=RingSpec(nodes=number)))
            await cluster.settle()

    return scenario


def node(ring: Ring, number: int) -> Pod:
    spec = PodSpec(containers=[Container(name="node", image="node:1")])
    return Pod.named(f"{ring.name}-{number}", labels={"ring": ring.name}, spec=spec)


def volume(ring: Ring, number: int) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    return PersistentVolumeClaim.named(f"data-{ring.name}-{number}", labels={"ring": ring.name}, spec=spec)


async def up_to_date(ring: Ring, ctx: sp.Context) -> bool:
    """Whether this is what the user wants now: asked before anything is destroyed."""
    live = await ctx.client.get(Ring, ring.name, namespace=ring.namespace)
    return live.uid == ring.uid and live.metadata.generation == ring.metadata.generation


# -- a volume goes when its pod is seen to go --------------------------------------------------------------------------


async def nodes_with_volumes(ring: Ring, ctx: sp.Context) -> Any:
    for number in range(ring.spec.nodes):
        await ctx.apply(volume(ring, number))
    if len(ctx.owned(Pod)) > ring.spec.nodes and not await up_to_date(ring, ctx):
        return sp.retry("the cache is behind")
    await ctx.keep(Pod, [node(ring, number) for number in range(ring.spec.nodes)])
    return None


def volumes_by_what_is_seen() -> list[sp.Controller[Any]]:
    async def reconcile(ring: Ring, ctx: sp.Context) -> Any:
        for pod in ctx.owned(Pod):
            number = int(pod.name.rpartition("-")[2])
            if pod.is_deleting and number >= ring.spec.nodes:
                unused = await ctx.get(PersistentVolumeClaim, f"data-{pod.name}")
                if unused is not None and await up_to_date(ring, ctx):
                    await ctx.delete(unused)
        return await nodes_with_volumes(ring, ctx)

    return [sp.Controller(Ring, reconcile).owns(Pod).owns(PersistentVolumeClaim)]


async def volumes_by_what_is(ring: Ring, ctx: sp.Context) -> Any:
    pods = {pod.name for pod in ctx.owned(Pod)}
    for claim in ctx.owned(PersistentVolumeClaim):
        name = claim.name.removeprefix("data-")
        if int(name.rpartition("-")[2]) >= ring.spec.nodes and name not in pods:
            if not await up_to_date(ring, ctx):
                return sp.retry("the cache is behind")
            await ctx.delete(claim)
    return await nodes_with_volumes(ring, ctx)


# -- volumes made and dropped by the difference to the last size -------------------------------------------------------


def volumes_by_difference() -> list[sp.Controller[Any]]:
    last: dict[str, int] = {}

    async def reconcile(ring: Ring, ctx: sp.Context) -> None:
        before = last.get(ring.name, 0)
        for number in range(before, ring.spec.nodes):
            await ctx.apply(volume(ring, number))
        for number in range(ring.spec.nodes, before):
            unused = await ctx.get(PersistentVolumeClaim, f"data-{ring.name}-{number}")
            if unused is not None:
                await ctx.delete(unused)
        last[ring.name] = ring.spec.nodes

    return [sp.Controller(Ring, reconcile).owns(PersistentVolumeClaim)]


async def volumes_by_comparison(ring: Ring, ctx: sp.Context) -> Any:
    if len(ctx.owned(PersistentVolumeClaim)) > ring.spec.nodes and not await up_to_date(ring, ctx):
        return sp.retry("the cache is behind")
    await ctx.keep(PersistentVolumeClaim, [volume(ring, number) for number in range(ring.spec.nodes)])
    return None


# -- the proxy follows only upwards, unless it sees the way down -------------------------------------------------------


def proxy_by_events() -> list[sp.Controller[Any]]:
    seen: dict[str, int] = {}

    async def reconcile(ring: Ring, ctx: sp.Context) -> None:
        before = seen.get(ring.uid)
        seen[ring.uid] = ring.spec.nodes
        if before != ring.spec.nodes and (before is not None or await ctx.get(ConfigMap, "proxy") is None):
            backends = ",".join(f"{ring.name}-{number}" for number in range(ring.spec.nodes))
            await ctx.apply(ConfigMap.named("proxy", data={"backends": backends}))

    return [sp.Controller(Ring, reconcile).owns(ConfigMap)]


async def proxy_by_comparison(ring: Ring, ctx: sp.Context) -> None:
    backends = ",".join(f"{ring.name}-{number}" for number in range(ring.spec.nodes))
    await ctx.apply(ConfigMap.named("proxy", data={"backends": backends}))


# -- a guard against shrinking that remembers --------------------------------------------------------------------------


def guarded_by_memory() -> list[sp.Controller[Any]]:
    largest: dict[str, int] = {}

    async def reconcile(ring: Ring, ctx: sp.Context) -> None:
        if ring.spec.nodes < largest.get(ring.name, 0):
            ring.status.phase = "ShrinkingIsNotSupported"
            return
        largest[ring.name] = ring.spec.nodes
        await ctx.keep(Pod, [node(ring, number) for number in range(ring.spec.nodes)])
        ring.status.phase = "Ready"

    return [sp.Controller(Ring, reconcile).owns(Pod)]


async def guarded_by_what_is_there(ring: Ring, ctx: sp.Context) -> None:
    there = [pod for pod in ctx.owned(Pod) if not pod.is_deleting]
    surplus = any(int(pod.name.rpartition("-")[2]) >= ring.spec.nodes for pod in there)
    if not surplus:
        await ctx.keep(Pod, [node(ring, number) for number in range(ring.spec.nodes)])
    ring.status.phase = "ShrinkingIsNotSupported" if surplus else "Ready"


# -- decommissioned, and wanted again ----------------------------------------------------------------------------------


class Database(External):
    """The nodes' own state: those being emptied, those that are empty."""

    def __init__(self) -> None:
        self.leaving: list[str] = []
        self._asked: dict[str, int] = {}

    @call
    async def leave(self, name: str) -> None:
        if name not in self.leaving:
            self.leaving.append(name)

    @call
    async def stay(self, name: str) -> None:
        if name in self.leaving:
            self.leaving.remove(name)


database = Database()


async def decommission_and_forget(ring: Ring, ctx: sp.Context) -> Any:
    for pod in ctx.owned(Pod):
        if int(pod.name.rpartition("-")[2]) < ring.spec.nodes:
            continue
        if pod.annotations.get("leaving-since") is None:
            await database.leave(pod.name)
            await ctx.patch(pod, {"metadata": {"annotations": {"leaving-since": "a while ago"}}})
            ring.status.phase = "Decommissioning"
        return sp.after(3600, "it takes an hour until a node is empty")
    for number in range(ring.spec.nodes):
        if await ctx.get(Pod, f"{ring.name}-{number}") is None:
            await ctx.apply(node(ring, number))
    ring.status.phase = "Ready"
    return None


async def decommission_or_recommission(ring: Ring, ctx: sp.Context) -> Any:
    leaving = False
    for pod in ctx.owned(Pod):
        marked = pod.annotations.get("leaving-since") is not None
        if int(pod.name.rpartition("-")[2]) >= ring.spec.nodes:
            leaving = True
            if not marked:
                await ctx.patch(pod, {"metadata": {"annotations": {"leaving-since": "a while ago"}}})
            await database.leave(pod.name)
        elif marked:
            await database.stay(pod.name)
            await ctx.patch(pod, {"metadata": {"annotations": {"leaving-since": None}}})
    for number in range(ring.spec.nodes):
        if await ctx.get(Pod, f"{ring.name}-{number}") is None:
            await ctx.apply(node(ring, number))
    ring.status.phase = "Decommissioning" if leaving else "Ready"
    return sp.after(3600, "it takes an hour until a node is empty") if leaving else None


# -- a member that moves to another ring -------------------------------------------------------------------------------


async def two_rings_and_a_move(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Ring.named("left", "default"))
    await cluster.apply(Ring.named("right", "default"))
    member = ConfigMap.named("member", "default", labels={"ring": "left"})
    await cluster.apply(member)
    await cluster.settle()
    await cluster.apply(ConfigMap.named("member", "default", labels={"ring": "right"}))
    await cluster.settle()


async def count_members(name: str, member: ConfigMap, ctx: sp.Context) -> None:
    ring = await ctx.client.get(Ring, name, namespace=member.namespace)
    there = await ctx.client.list(ConfigMap, namespace=member.namespace, selector={"ring": name})
    if ring.status.nodes != len(there.items):
        await ctx.patch(ring, {"status": {"nodes": len(there.items)}}, subresource="status")


def members_by_member() -> list[sp.Controller[Any]]:
    """The former owner of a member is kept in memory."""
    rings: dict[str, str] = {}

    async def reconcile(member: ConfigMap, ctx: sp.Context) -> None:
        ring = member.labels["ring"]
        before = rings.get(member.name, ring)
        for item in sorted({ring, before}):
            await count_members(item, member, ctx)
        rings[member.name] = ring

    return [sp.Controller(ConfigMap, reconcile, selector="ring", name="members").reads(Ring)]


def members_by_ring() -> list[sp.Controller[Any]]:
    async def reconcile(ring: Ring, ctx: sp.Context) -> None:
        ring.status.nodes = len(await ctx.list(ConfigMap, selector={"ring": ring.name}))

    def rings_of(head: sp.Head) -> list[str]:
        return [f"{head.namespace}/{head.labels['ring']}"] if "ring" in head.labels else []

    return [sp.Controller(Ring, reconcile).watches(ConfigMap, rings_of)]


# -- a planned reconcile that the own write cancels --------------------------------------------------------------------


async def beat_twice(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Ring.named("ring", "default", spec=RingSpec(period=60)))
    await cluster.settle()

    async def twice() -> bool:
        config = await cluster.find(ConfigMap, "backup")
        return config is not None

    await cluster.until(twice)
    await cluster.settle()


async def appointment_once(ring: Ring, ctx: sp.Context) -> Any:
    if ring.status.phase == "":
        ring.status.phase = "Waiting"
        return sp.after(ring.spec.period, "first backup")
    if ring.status.phase == "Waiting" and (ctx.now() - ring.metadata.creation_timestamp).total_seconds() > 50:
        await ctx.apply(ConfigMap.named("backup", data={"of": ring.name}))
        ring.status.phase = "Done"
    return None


async def appointment_every_time(ring: Ring, ctx: sp.Context) -> Any:
    left = ring.spec.period - (ctx.now() - ring.metadata.creation_timestamp).total_seconds()
    if left > 0 and await ctx.get(ConfigMap, "backup") is None:
        ring.status.phase = "Waiting"
        return sp.after(left, "first backup")
    await ctx.apply(ConfigMap.named("backup", data={"of": ring.name}))
    ring.status.phase = "Done"
    return None


# -- settings that come late -------------------------------------------------------------------------------------------


async def settings_come_late(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Ring.named("ring", "default", spec=RingSpec(settings="tuning")))
    await cluster.settle()
    await cluster.apply(ConfigMap.named("tuning", "default", data={"threads": "8"}))
    await cluster.settle()


async def with_settings(ring: Ring, ctx: sp.Context) -> None:
    settings = await ctx.get(ConfigMap, ring.spec.settings)
    if settings is None:
        ring.status.phase = "SettingsAreMissing"
        return
    await ctx.apply(ConfigMap.named(f"{ring.name}-config", data=settings.data))
    ring.status.phase = "Ready"


def who_uses(head: sp.Head) -> list[str]:
    return [f"{head.namespace}/ring"] if head.name == "tuning" else []


PAIRS = [
    Pair(
        name="volume-deleted-on-unseen-pod-deletion",
        root="R33",
        source="cassandra-operator #398",
        scenario=sizes(2, 1),
        buggy=volumes_by_what_is_seen,
        correct=lambda: [sp.Controller(Ring, volumes_by_what_is).owns(Pod).owns(PersistentVolumeClaim)],
    ),
    Pair(
        name="volumes-by-difference-to-remembered-size",
        root="R35",
        source="K8SPXC-918",
        scenario=sizes(3, 5, 3),
        buggy=volumes_by_difference,
        correct=lambda: [sp.Controller(Ring, volumes_by_comparison).owns(PersistentVolumeClaim)],
    ),
    Pair(
        name="proxy-updated-by-missed-event",
        root="R37",
        source="yugabyte-operator #39",
        scenario=sizes(3, 4, 3),
        buggy=proxy_by_events,
        correct=lambda: [sp.Controller(Ring, proxy_by_comparison).owns(ConfigMap)],
    ),
    Pair(
        name="shrink-guard-in-memory",
        root="R34",
        source="rabbitmq/cluster-operator #758",
        scenario=sizes(1, 3, 2),
        buggy=guarded_by_memory,
        correct=lambda: [sp.Controller(Ring, guarded_by_what_is_there).owns(Pod)],
        options={
            "off": {
                "paths": "that it does not shrink is what this one promises",
                "user": "what was never there is not kept",
            }
        },
    ),
    Pair(
        name="decommission-not-reverted",
        root="R39",
        source="cassandra-operator #410",
        scenario=sizes(2, 1, 2),
        buggy=lambda: [sp.Controller(Ring, decommission_and_forget).owns(Pod)],
        correct=lambda: [sp.Controller(Ring, decommission_or_recommission).owns(Pod)],
        options={"externals": [database]},
    ),
    Pair(
        name="former-owner-in-memory",
        root="R41",
        source="java-operator-sdk, dropped secondary resources",
        scenario=two_rings_and_a_move,
        buggy=members_by_member,
        correct=members_by_ring,
        options={"crds": [Ring]},
    ),
    Pair(
        name="requeue-dropped-by-own-write",
        root="R43",
        source="KubeOps #554",
        scenario=beat_twice,
        buggy=lambda: [sp.Controller(Ring, appointment_once).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Ring, appointment_every_time).owns(ConfigMap)],
    ),
    Pair(
        name="late-dependency-not-watched",
        root="R42",
        source="kcp #3925",
        scenario=settings_come_late,
        buggy=lambda: [sp.Controller(Ring, with_settings).reads(ConfigMap)],
        correct=lambda: [sp.Controller(Ring, with_settings).watches(ConfigMap, who_uses)],
    ),
]
