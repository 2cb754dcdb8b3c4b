"""Crash between writes: a crash between two writes leaves work that no later reconcile finishes."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.meta import LabelSelector
from setpoint.models.apps_v1 import StatefulSet, StatefulSetSpec
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    EnvVar,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    VolumeResourceRequirements,
)
from setpoint.simulation import External, call


class StoreSpec(sp.Model):
    size: int = 1
    storage: str = "1Gi"
    config: str = "fast"


class StoreStatus(sp.ConditionedStatus):
    phase: str = ""
    job: str = ""
    restart_needed: bool = False


class Store(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A database."""

    spec: StoreSpec = StoreSpec()
    status: StoreStatus = StoreStatus()


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2)))
    await cluster.settle()


# -- two secrets, one guard --------------------------------------------------------------------------------------------


async def tls_with_one_guard(store: Store, ctx: sp.Context) -> None:
    if await ctx.get(Secret, f"{store.name}-ca") is None:
        await ctx.create(Secret.named(f"{store.name}-ca", string_data={"ca.crt": "ca of " + store.name}))
        await ctx.create(Secret.named(f"{store.name}-tls", string_data={"tls.crt": "signed for " + store.name}))


async def tls_with_two_guards(store: Store, ctx: sp.Context) -> None:
    for name, data in (("ca", {"ca.crt": "ca of " + store.name}), ("tls", {"tls.crt": "signed for " + store.name})):
        if await ctx.get(Secret, f"{store.name}-{name}") is None:
            try:
                await ctx.create(Secret.named(f"{store.name}-{name}", string_data=data))
            except AlreadyExists:
                return sp.retry("the cache has not shown it yet")
    return None


# -- a state label, and an act that belongs to the way into the state --------------------------------------------------


class Agents(External):
    """The management agents in the pods: they start the database when they are told."""

    def __init__(self) -> None:
        self.up: list[str] = []

    @call
    async def start(self, pod: str) -> None:
        if pod not in self.up:
            self.up.append(pod)

    @call
    async def is_up(self, pod: str) -> bool:
        return pod in self.up


agents = Agents()


def node(store: Store, number: int) -> Pod:
    spec = PodSpec(containers=[Container(name="db", image="db:1")])
    return Pod.named(f"{store.name}-{number}", labels={"store": store.name}, spec=spec)


async def missing_nodes(store: Store, ctx: sp.Context) -> list[Pod]:
    there = {pod.name: pod for pod in ctx.owned(Pod)}
    for number in range(store.spec.size):
        wanted = node(store, number)
        if wanted.name not in there:
            there[wanted.name] = await ctx.apply(wanted)
    return list(there.values())


async def label(ctx: sp.Context, pod: Pod, state: str) -> None:
    await ctx.patch(pod, {"metadata": {"labels": {"node-state": state}}})


async def start_when_entering(store: Store, ctx: sp.Context) -> Any:
    for pod in await missing_nodes(store, ctx):
        state = pod.labels.get("node-state", "")
        if state == "":
            await label(ctx, pod, "Starting")
            await agents.start(pod.name)
        elif state == "Starting":
            if not await agents.is_up(pod.name):
                return sp.after(10, "still starting")
            await label(ctx, pod, "Started")
    return None


async def start_while_starting(store: Store, ctx: sp.Context) -> Any:
    for pod in await missing_nodes(store, ctx):
        state = pod.labels.get("node-state", "")
        if state == "":
            await label(ctx, pod, "Starting")
        elif state == "Starting":
            if not await agents.is_up(pod.name):
                await agents.start(pod.name)
                return sp.after(10, "still starting")
            await label(ctx, pod, "Started")
    return None


# -- the new config, and then the note that pods have to restart -------------------------------------------------------


async def change_config(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2, config="fast")))
    await cluster.settle()
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2, config="safe")))
    await cluster.settle()


def configured(store: Store, number: int) -> Pod:
    container = Container(name="db", image="db:1", env=[EnvVar(name="MODE", value=store.spec.config)])
    return Pod.named(f"{store.name}-{number}", spec=PodSpec(containers=[container]))


async def restart_by_note(store: Store, ctx: sp.Context) -> None:
    config = await ctx.get(ConfigMap, store.name)
    if config is not None and config.data["mode"] != store.spec.config:
        store.status.restart_needed = True
    await ctx.apply(ConfigMap.named(store.name, data={"mode": store.spec.config}))
    if store.status.restart_needed and config is not None and config.data["mode"] == store.spec.config:
        for pod in ctx.owned(Pod):
            await ctx.delete(pod)
        store.status.restart_needed = False
    there = {pod.name for pod in ctx.owned(Pod)}
    for number in range(store.spec.size):
        if f"{store.name}-{number}" not in there:
            await ctx.apply(configured(store, number))


async def restart_by_comparison(store: Store, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(store.name, data={"mode": store.spec.config}))
    there = {pod.name: pod for pod in ctx.owned(Pod)}
    for number in range(store.spec.size):
        pod = there.get(f"{store.name}-{number}")
        if pod is None:
            await ctx.apply(configured(store, number))
        elif pod.spec.containers[0].env[0].value != store.spec.config:
            live = await ctx.client.get(Store, store.name, namespace=store.namespace)
            if live.spec.config != store.spec.config:
                return  # an old view: the change comes
            await ctx.delete(pod)


# -- delete, resize, create again --------------------------------------------------------------------------------------


async def grow_storage(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2, storage="1Gi")))
    await cluster.settle()
    for claim in await cluster.client.list(PersistentVolumeClaim, namespace="default"):  # only bound ones may grow
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await cluster.client.patch(PersistentVolumeClaim, claim.name, bound, namespace="default", subresource="status")
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2, storage="2Gi")))
    await cluster.settle()


def statefulset(store: Store) -> StatefulSet:
    result = StatefulSet.named(
        store.name,
        spec=StatefulSetSpec(
            replicas=store.spec.size,
            service_name=store.name,
            selector=LabelSelector(match_labels={"app": store.name}),
            template=PodTemplateSpec(
                metadata=sp.ObjectMeta(labels={"app": store.name}),
                spec=PodSpec(containers=[Container(name="db", image="db:1")]),
            ),
        ),
    )
    result.metadata.annotations["storage"] = store.spec.storage
    return result


def claim(store: Store, number: int) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": store.spec.storage})
    return PersistentVolumeClaim.named(
        f"data-{store.name}-{number}",
        labels={"store": store.name},
        spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size),
    )


async def resize_while_deleting(store: Store, ctx: sp.Context) -> None:
    claims = {claim.name for claim in ctx.owned(PersistentVolumeClaim)}
    for number in range(store.spec.size):
        if f"data-{store.name}-{number}" not in claims:
            await ctx.apply(claim(store, number))
    present = await ctx.get(StatefulSet, store.name)
    if present is not None and present.annotations["storage"] != store.spec.storage:
        await ctx.delete(present)
        for number in range(store.spec.size):
            await ctx.apply(claim(store, number))
        present = None
    if present is None:
        await ctx.apply(statefulset(store))


async def resize_each_claim(store: Store, ctx: sp.Context) -> Any:
    live = await ctx.client.get(Store, store.name, namespace=store.namespace)
    if live.spec != store.spec:
        return sp.retry("the cache is behind")
    for number in range(store.spec.size):
        await ctx.apply(claim(store, number))
    present = await ctx.get(StatefulSet, store.name)
    if present is not None and present.annotations["storage"] != store.spec.storage:
        await ctx.delete(present)
        present = None
    if present is None:
        await ctx.apply(statefulset(store))
    return None


# -- what is being finalized is known in memory only -------------------------------------------------------------------


async def shrink(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=2)))
    await cluster.settle()
    await cluster.apply(Store.named("one", "default", spec=StoreSpec(size=1)))
    await cluster.settle()


def finalizing_in_memory() -> list[sp.Controller[Any]]:
    finalizing: set[str] = set()

    async def reconcile(store: Store, ctx: sp.Context) -> None:
        pods = {pod.name: pod for pod in ctx.owned(Pod)}
        for number in range(store.spec.size):
            name = f"{store.name}-{number}"
            if name not in pods:
                await ctx.apply(claim(store, number))
                await ctx.apply(node(store, number))
        for name, pod in pods.items():
            if int(name.rpartition("-")[2]) >= store.spec.size:
                finalizing.add(name)
                await ctx.delete(pod)
        for name in sorted(finalizing - pods.keys()):
            unused = await ctx.get(PersistentVolumeClaim, f"data-{name}")
            if unused is not None:
                await ctx.delete(unused)
            finalizing.discard(name)

    return [sp.Controller(Store, reconcile).owns(Pod).owns(PersistentVolumeClaim)]


async def claims_without_pods(store: Store, ctx: sp.Context) -> Any:
    pods = {pod.name: pod for pod in ctx.owned(Pod)}
    for number in range(store.spec.size):
        if f"{store.name}-{number}" not in pods:
            await ctx.apply(claim(store, number))
            await ctx.apply(node(store, number))
    surplus = [pod for pod in pods.values() if int(pod.name.rpartition("-")[2]) >= store.spec.size]
    unused = [
        claim
        for claim in ctx.owned(PersistentVolumeClaim)
        if int(claim.name.rpartition("-")[2]) >= store.spec.size and claim.name.removeprefix("data-") not in pods
    ]
    if surplus or unused:
        live = await ctx.client.get(Store, store.name, namespace=store.namespace)
        if live.spec.size != store.spec.size:
            return sp.retry("the cache is behind")
        for item in [*surplus, *unused]:
            await ctx.delete(item)
    return sp.after(60) if surplus else None  # a cache that never showed a pod does not show its end


# -- the job's name is in the status, later ----------------------------------------------------------------------------


def job_spec() -> JobSpec:
    pod = PodSpec(restart_policy="Never", containers=[Container(name="load", image="load:1")])
    return JobSpec(template=PodTemplateSpec(spec=pod))


async def job_by_status(store: Store, ctx: sp.Context) -> None:
    if not store.status.job:
        job = Job(metadata=sp.ObjectMeta(generate_name=f"{store.name}-load-"), spec=job_spec())
        store.status.job = (await ctx.create(job)).name


async def job_by_name(store: Store, ctx: sp.Context) -> None:
    store.status.job = f"{store.name}-load"
    if await ctx.get(Job, store.status.job) is None:
        await ctx.apply(Job.named(store.status.job, spec=job_spec()))


PAIRS = [
    Pair(
        name="second-secret-skipped-after-crash",
        root="R19",
        source="K8SPSMDB-578, K8SPSMDB-579, K8SPXC-896, K8SPXC-897",
        scenario=create,
        buggy=lambda: [sp.Controller(Store, tls_with_one_guard).owns(Secret)],
        correct=lambda: [sp.Controller(Store, tls_with_two_guards).owns(Secret)],
    ),
    Pair(
        name="action-only-on-phase-transition",
        root="R21",
        source="K8SSAND-1362",
        scenario=create,
        buggy=lambda: [sp.Controller(Store, start_when_entering).owns(Pod)],
        correct=lambda: [sp.Controller(Store, start_while_starting).owns(Pod)],
        options={"externals": [agents]},
    ),
    Pair(
        name="restart-flag-in-status-after-change",
        root="R23",
        source="nifikop #49",
        scenario=change_config,
        buggy=lambda: [sp.Controller(Store, restart_by_note).owns(Pod).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Store, restart_by_comparison).owns(Pod).owns(ConfigMap)],
    ),
    Pair(
        name="size-read-from-deleted-statefulset",
        root="R25",
        source="rabbitmq/cluster-operator #782, K8SPXC-979",
        scenario=grow_storage,
        buggy=lambda: [sp.Controller(Store, resize_while_deleting).owns(StatefulSet).owns(PersistentVolumeClaim)],
        correct=lambda: [sp.Controller(Store, resize_each_claim).owns(StatefulSet).owns(PersistentVolumeClaim)],
    ),
    Pair(
        name="finalization-phase-in-memory",
        root="R20",
        source="casskop #370",
        scenario=shrink,
        buggy=finalizing_in_memory,
        correct=lambda: [sp.Controller(Store, claims_without_pods).owns(Pod).owns(PersistentVolumeClaim)],
    ),
    Pair(
        name="generated-name-only-in-status",
        root="R26",
        source="derived from crossplane-runtime's external-create journal",
        scenario=create,
        buggy=lambda: [sp.Controller(Store, job_by_status).owns(Job)],
        correct=lambda: [sp.Controller(Store, job_by_name).owns(Job)],
    ),
]
