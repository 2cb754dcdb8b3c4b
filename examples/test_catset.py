"""The tests of catset.py: the cases of the original's script as facts, and what it does not ask."""

from __future__ import annotations

from typing import Any

from catset import CatSet, CatSetSpec, controller

import setpoint as sp
from setpoint.cluster import PodBehaviour
from setpoint.models.core_v1 import (
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate,
    Pod,
    PodSpec,
    PodTemplateSpec,
    VolumeResourceRequirements,
)

OTHERS = "example.com/a-finalizer-of-the-users"


def catset(replicas: int, image: str = "nginx:1") -> CatSet:
    labels = {"app": "nginx"}
    storage = VolumeResourceRequirements(requests={"storage": "1Gi"})
    claim = PersistentVolumeClaimTemplate(
        metadata=sp.ObjectMeta(name="www", labels=labels),
        spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=storage),
    )
    spec = CatSetSpec(
        service_name="nginx-backend",
        replicas=replicas,
        selector=sp.LabelSelector(match_labels=labels),
        template=PodTemplateSpec(
            metadata=sp.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="nginx", image=image)])
        ),
        volume_claim_templates=[claim],
    )
    return CatSet.named("cats", "default", spec=spec)


async def names(cluster: sp.testing.Cluster, kind: type[sp.Object]) -> list[str]:
    return [obj.name for obj in await cluster.list(kind)]


async def images(cluster: sp.testing.Cluster) -> list[str | None]:
    return [pod.spec.containers[0].image for pod in await cluster.list(Pod)]


def slow(pod: Pod) -> PodBehaviour:
    """Pods that are ready after ten seconds; one image never is."""
    return PodBehaviour(ready=float("inf") if pod.spec.containers[0].image == "broken" else 10.0)


@sp.testing.virtual_time
async def test_three_pods_become_four_and_two() -> None:
    async with sp.testing.cluster(controller) as cluster:
        for replicas in (3, 4, 2):
            await cluster.apply(catset(replicas))
            await cluster.settle()
            status = (await cluster.get(CatSet, "cats")).status
            assert (status.replicas, status.ready_replicas) == (replicas, replicas)
            assert await names(cluster, Pod) == [f"cats-{ordinal}" for ordinal in range(replicas)]
        assert await names(cluster, PersistentVolumeClaim) == [f"www-cats-{ordinal}" for ordinal in range(4)]


@sp.testing.virtual_time
async def test_a_catset_that_goes_has_no_pods_before_its_finalizer_is_gone() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(catset(2))
        await cluster.settle()
        cats = await cluster.get(CatSet, "cats")
        cats.metadata.finalizers.append(OTHERS)
        cats = await cluster.update(cats)
        await cluster.delete(cats)
        await cluster.settle()
        remaining = await cluster.get(CatSet, "cats")
        assert (remaining.status.replicas, remaining.metadata.finalizers) == (0, [OTHERS])
        assert await names(cluster, Pod) == []
        remaining.metadata.finalizers = []
        await cluster.update(remaining)
        await cluster.settle()
        assert await cluster.find(CatSet, "cats") is None
        assert await names(cluster, PersistentVolumeClaim) == []


@sp.testing.virtual_time
async def test_pods_come_in_order_each_when_those_before_it_are_ready() -> None:
    async with sp.testing.cluster(controller, behaviour=slow) as cluster:
        await cluster.apply(catset(3))
        for number in (1, 2, 3):
            await sp.testing.advance(9)
            assert len(await cluster.list(Pod)) == number
            await sp.testing.advance(1.5)


@sp.testing.virtual_time
async def test_a_new_template_replaces_one_pod_at_a_time_the_last_one_first() -> None:
    async with sp.testing.cluster(controller, behaviour=slow) as cluster:
        await cluster.apply(catset(2))
        await cluster.settle(patience=60)
        await cluster.apply(catset(2, "nginx:2"))
        await cluster.eventually(lambda: is_so(cluster, ["nginx:1", "nginx:2"]))
        await cluster.settle(patience=60)
        assert await images(cluster) == ["nginx:2", "nginx:2"]


@sp.testing.virtual_time
async def test_a_broken_template_stops_at_its_first_pod_and_can_be_replaced() -> None:
    async with sp.testing.cluster(controller, behaviour=slow) as cluster:
        await cluster.apply(catset(2))
        await cluster.settle(patience=60)
        await cluster.apply(catset(2, "broken"))
        await cluster.settle(patience=600)
        assert await images(cluster) == ["nginx:1", "broken"]
        await cluster.apply(catset(2, "nginx:3"))
        await cluster.settle(patience=60)
        assert await images(cluster) == ["nginx:3", "nginx:3"]


async def is_so(cluster: sp.testing.Cluster, wanted: list[str]) -> bool:
    return await images(cluster) == wanted


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(catset(2))
    await cluster.settle()
    await cluster.apply(catset(1, "nginx:2"))
    await cluster.settle()
    await cluster.delete(await cluster.get(CatSet, "cats"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    plane = ["garbage-collector", "persistentvolumeclaim-protection"]
    return sp.simulation.check(scenario, lambda: [controller], control_plane=plane, budget=budget, **options)
