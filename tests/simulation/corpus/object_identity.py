"""Object identity: an object is mistaken for another one of its name."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists, NotFound
from setpoint.meta import LabelSelector, OwnerReference
from setpoint.models.apps_v1 import StatefulSet, StatefulSetSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    VolumeResourceRequirements,
)
from setpoint.simulation import External, call

FINALIZER = "corpus.example.com/volumes"


class EnsembleSpec(sp.Model):
    size: int = 1


class EnsembleStatus(sp.ConditionedStatus):
    ready: int = 0


class Ensemble(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A ZooKeeper, more or less."""

    spec: EnsembleSpec = EnsembleSpec()
    status: EnsembleStatus = EnsembleStatus()


async def create_delete_create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Ensemble.named("zk", "default", spec=EnsembleSpec(size=2)))
    await cluster.settle()
    await cluster.delete(await cluster.get(Ensemble, "zk"))
    await cluster.settle()
    await cluster.apply(Ensemble.named("zk", "default", spec=EnsembleSpec(size=2)))
    await cluster.settle()


def claim(name: str, **labels: str) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    return PersistentVolumeClaim.named(name, labels=labels, spec=spec)


# -- volumes by the name of the cluster --------------------------------------------------------------------------------


async def make_claims(ensemble: Ensemble, ctx: sp.Context) -> None:
    for number in range(ensemble.spec.size):
        new_claim = claim(f"data-{ensemble.name}-{number}", app=ensemble.name)
        await ctx.apply(new_claim, controlled=False)


async def drop_claims_of_the_name(ensemble: Ensemble, ctx: sp.Context) -> None:
    for claim in await ctx.list(PersistentVolumeClaim, selector={"app": ensemble.name}):
        await ctx.delete(claim)


async def make_claims_of_the_uid(ensemble: Ensemble, ctx: sp.Context) -> Any:
    for number in range(ensemble.spec.size):
        name = f"data-{ensemble.name}-{number}"
        present = await ctx.get(PersistentVolumeClaim, name)
        if present is not None and present.labels.get("owner-uid") != ensemble.uid:
            try:
                newest = await ctx.client.get(Ensemble, ensemble.name, namespace=ensemble.namespace)
            except NotFound:
                return None
            if newest.uid == ensemble.uid:
                await ctx.delete(present)  # there is one ensemble of a name: the earlier one is gone
            return sp.retry("the volume of an earlier ensemble is still there")
        if present is None:
            try:
                await ctx.create(claim(name, **{"app": ensemble.name, "owner-uid": ensemble.uid}), controlled=False)
            except AlreadyExists:
                return sp.retry("the cache has not shown it yet")
    return None


async def drop_claims_of_the_uid(ensemble: Ensemble, ctx: sp.Context) -> None:
    mine = {"app": ensemble.name, "owner-uid": ensemble.uid}
    claims = await ctx.client.list(PersistentVolumeClaim, namespace=ensemble.namespace, selector=mine)
    for item in claims.items:
        await ctx.delete(item)


# -- the StatefulSet of the name ---------------------------------------------------------------------------------------


def statefulset(ensemble: Ensemble) -> StatefulSet:
    labels = {"app": ensemble.name}
    spec = StatefulSetSpec(
        replicas=ensemble.spec.size,
        service_name=ensemble.name,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(
            metadata=sp.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="zk", image="zk:1")])
        ),
    )
    return StatefulSet.named(ensemble.name, spec=spec)


async def delete_the_set_of_the_name(ensemble: Ensemble, ctx: sp.Context) -> None:
    if ensemble.is_deleting:
        if FINALIZER in ensemble.metadata.finalizers:
            with suppress(NotFound):
                await ctx.client.delete(StatefulSet, ensemble.name, namespace=ensemble.namespace)
            ensemble.metadata.finalizers.remove(FINALIZER)
            await ctx.client.update(ensemble)
        return
    if FINALIZER not in ensemble.metadata.finalizers:
        ensemble.metadata.finalizers.append(FINALIZER)
        ensemble = await ctx.client.update(ensemble)
    await ctx.apply(statefulset(ensemble))


async def delete_ones_own_set(ensemble: Ensemble, ctx: sp.Context) -> None:
    if ensemble.is_deleting:
        if FINALIZER in ensemble.metadata.finalizers:
            for item in ctx.owned(StatefulSet):
                await ctx.delete(item)
            ensemble.metadata.finalizers.remove(FINALIZER)
            await ctx.client.update(ensemble)
        return
    if FINALIZER not in ensemble.metadata.finalizers:
        ensemble.metadata.finalizers.append(FINALIZER)
        ensemble = await ctx.client.update(ensemble)
    await ctx.apply(statefulset(ensemble))


# -- the volume of the pod, by the uid of the cluster ------------------------------------------------------------------


async def down_and_up(cluster: sp.testing.Cluster) -> None:
    for size in (2, 1, 2):
        await cluster.apply(Ensemble.named("zk", "default", spec=EnsembleSpec(size=size)))
        await cluster.settle()


async def pods_of(ensemble: Ensemble, ctx: sp.Context) -> None:
    spec = PodSpec(containers=[Container(name="zk", image="zk:1")])
    labels = {"ensemble": ensemble.name, "ensemble-uid": ensemble.uid}
    await ctx.keep(
        Pod, [Pod.named(f"{ensemble.name}-{n}", labels=labels, spec=spec) for n in range(ensemble.spec.size)]
    )


async def volume_of(pod: Pod, ctx: sp.Context) -> Any:
    present = await ctx.get(PersistentVolumeClaim, f"data-{pod.name}")
    if present is not None and present.annotations.get("pod-uid") != pod.uid:
        return sp.retry("the volume of an earlier pod is still there")
    if present is None:
        new_claim = claim(f"data-{pod.name}", **{"ensemble-uid": pod.labels["ensemble-uid"]})
        new_claim.metadata.annotations["pod-uid"] = pod.uid
        try:
            await ctx.create(new_claim, controlled=False)
        except AlreadyExists:
            return sp.retry("the cache has not shown it yet")
    return None


async def drop_volume_by_ensemble(pod: Pod, ctx: sp.Context) -> None:
    mine = {"ensemble-uid": pod.labels["ensemble-uid"]}
    claims = await ctx.client.list(PersistentVolumeClaim, namespace=pod.namespace, selector=mine)
    for item in claims.items:
        if item.name == f"data-{pod.name}":
            await ctx.delete(item)


async def drop_volume_by_pod(pod: Pod, ctx: sp.Context) -> None:
    mine = {"ensemble-uid": pod.labels["ensemble-uid"]}
    claims = await ctx.client.list(PersistentVolumeClaim, namespace=pod.namespace, selector=mine)
    for item in claims.items:
        if item.annotations.get("pod-uid") == pod.uid:
            await ctx.delete(item)


def with_volumes(drop: Any) -> Any:
    return lambda: [
        sp.Controller(Ensemble, pods_of).owns(Pod),
        sp.Controller(Pod, volume_of, selector="ensemble", name="volumes")
        .reads(PersistentVolumeClaim)
        .finalize(drop, name=FINALIZER),
    ]


# -- an owner in another namespace -------------------------------------------------------------------------------------


async def share_with_owner(ensemble: Ensemble, ctx: sp.Context) -> None:
    owner = OwnerReference(
        api_version="corpus.example.com/v1", kind="Ensemble", name=ensemble.name, uid=ensemble.uid, controller=True
    )
    shared = ConfigMap.named(f"{ensemble.name}-address", "shared", data={"address": f"{ensemble.name}.default"})
    shared.metadata.owner_references = [owner]
    await ctx.client.apply(shared)


async def share_with_label(ensemble: Ensemble, ctx: sp.Context) -> None:
    shared = ConfigMap.named(f"{ensemble.name}-address", "shared", data={"address": f"{ensemble.name}.default"})
    shared.metadata.labels = {"ensemble-uid": ensemble.uid}
    await ctx.apply(shared, controlled=False)


async def take_back(ensemble: Ensemble, ctx: sp.Context) -> None:
    mine = {"ensemble-uid": ensemble.uid}
    for item in (await ctx.client.list(ConfigMap, namespace="shared", selector=mine)).items:
        await ctx.delete(item)


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Ensemble.named("zk", "default", spec=EnsembleSpec(size=2)))
    await cluster.settle()


# -- the record of the name --------------------------------------------------------------------------------------------


class Zone(External):
    """A DNS zone: names, each with its owner."""

    def __init__(self) -> None:
        self.records: dict[str, str] = {}

    def state(self) -> dict[str, Any]:
        return {"names": sorted(self.records)}

    @call
    async def register(self, name: str, owner: str) -> None:
        self.records[name] = owner

    @call
    async def remove(self, name: str) -> None:
        self.records.pop(name, None)

    @call
    async def remove_of(self, name: str, owner: str) -> None:
        if self.records.get(name) == owner:
            del self.records[name]


zone = Zone()


async def register(ensemble: Ensemble, ctx: sp.Context) -> None:
    await zone.register(f"{ensemble.name}.example.com", ensemble.uid)


async def remove_by_name(ensemble: Ensemble, ctx: sp.Context) -> None:
    await zone.remove(f"{ensemble.name}.example.com")


async def remove_by_owner(ensemble: Ensemble, ctx: sp.Context) -> None:
    await zone.remove_of(f"{ensemble.name}.example.com", ensemble.uid)


PAIRS = [
    Pair(
        name="volumes-selected-by-reused-cluster-name",
        root="R01",
        source="zookeeper-operator #312, casskop #316, K8SSAND-559, K8SPSMDB-430, K8SPXC-716",
        scenario=create_delete_create,
        buggy=lambda: [
            sp.Controller(Ensemble, make_claims).reads(PersistentVolumeClaim).finalize(drop_claims_of_the_name)
        ],
        correct=lambda: [
            sp.Controller(Ensemble, make_claims_of_the_uid)
            .reads(PersistentVolumeClaim)
            .finalize(drop_claims_of_the_uid)
        ],
    ),
    Pair(
        name="statefulset-of-earlier-object-with-same-name",
        root="R03",
        source="rabbitmq/cluster-operator #648",
        scenario=create_delete_create,
        buggy=lambda: [sp.Controller(Ensemble, delete_the_set_of_the_name, reconcile_deleting=True).owns(StatefulSet)],
        correct=lambda: [sp.Controller(Ensemble, delete_ones_own_set, reconcile_deleting=True).owns(StatefulSet)],
    ),
    Pair(
        name="pod-volume-deleted-by-stale-cluster-uid",
        root="R05",
        source="cassandra-operator #407",
        scenario=down_and_up,
        buggy=with_volumes(drop_volume_by_ensemble),
        correct=with_volumes(drop_volume_by_pod),
    ),
    Pair(
        name="owner-reference-across-namespaces",
        root="R07",
        source="cloud-on-k8s #4029, kubernetes #65200",
        scenario=create,
        buggy=lambda: [sp.Controller(Ensemble, share_with_owner).reads(ConfigMap)],
        correct=lambda: [sp.Controller(Ensemble, share_with_label).reads(ConfigMap).finalize(take_back)],
        options={"objects": [Namespace.named("shared")]},
    ),
    Pair(
        name="dns-record-keyed-by-reused-name",
        root="R02",
        source="derived: R01 in a system that is not a cluster",
        scenario=create_delete_create,
        buggy=lambda: [sp.Controller(Ensemble, register).finalize(remove_by_name)],
        correct=lambda: [sp.Controller(Ensemble, register).finalize(remove_by_owner)],
        options={"externals": [zone]},
    ),
]
