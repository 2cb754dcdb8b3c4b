"""Preemption: a pod that finds no place has less important ones ended for it."""

from __future__ import annotations

from tests.cluster.scheduling.pods import events_of, place, pod, refused, why
from tests.cluster.workloads import budget

from setpoint.cluster import HollowNode
from setpoint.models.core_v1 import Pod
from setpoint.models.scheduling_v1 import PriorityClass
from setpoint.testing import Cluster, advance, cluster, virtual_time


async def classes(world: Cluster) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await world.create(PriorityClass.named(name, value=value))


def of(name: str, priority: str, cpu: str = "1", **fields: object) -> Pod:
    return pod(name, requests={"cpu": cpu}, priority_class_name=priority, **fields)  # type: ignore[arg-type]


@virtual_time
async def test_the_most_important_of_those_that_wait_comes_first() -> None:
    async with cluster(nodes=[HollowNode(cpu="2")]) as world:
        await classes(world)
        await world.create(of("filler", "high", "2"))
        await world.settle()
        for name, priority in (("a", "low"), ("b", "middle"), ("c", "high"), ("d", "middle")):
            await world.create(of(name, priority))
        await world.settle()
        await world.delete(await world.get(Pod, "filler"))
        await world.settle()
        assert [bool(await place(world, name)) for name in "abcd"] == [False, True, True, False]


@virtual_time
async def test_as_few_and_as_unimportant_pods_as_possible_are_ended() -> None:
    async with cluster(nodes=[HollowNode(cpu="2"), HollowNode(cpu="2")]) as world:
        await classes(world)
        for name, priority in (("a", "low"), ("b", "middle"), ("c", "middle"), ("d", "middle")):
            await world.create(of(name, priority))
            await world.settle()
        home = await place(world, "a")
        preemptor = await world.create(of("important", "high"))
        await world.settle()
        assert await place(world, "important") == home
        assert sorted(pod.name for pod in await world.list(Pod)) == ["b", "c", "d", "important"]
        note = ("Normal", "Preempted", f"Preempted by pod {preemptor.uid} on node {home}")
        assert note in await events_of(world, "a")


@virtual_time
async def test_a_victim_says_why_it_goes_and_the_place_is_kept_meanwhile() -> None:
    async with cluster(nodes=[HollowNode(cpu="1")]) as world:
        await classes(world)
        victim = of("victim", "low")
        victim.metadata.finalizers = ["example.com/hold"]
        victim.spec.termination_grace_period_seconds = 30
        await world.create(victim)
        await world.settle()
        await world.create(of("important", "high"))
        await world.settle()
        held = await world.get(Pod, "victim")
        assert held.is_deleting
        (condition,) = [condition for condition in held.status.conditions if condition.type == "DisruptionTarget"]
        assert (condition.status, condition.reason) == ("True", "PreemptionByScheduler")
        assert condition.message == "default-scheduler: preempting to accommodate a higher priority pod"


@virtual_time
async def test_a_pod_may_be_told_to_preempt_nothing() -> None:
    async with cluster(nodes=[HollowNode(cpu="1")]) as world:
        await world.create(PriorityClass.named("polite", value=5, preemption_policy="Never"))
        await world.create(pod("first", requests={"cpu": "1"}))
        await world.settle()
        await world.create(of("second", "polite"))
        await world.settle()
        text = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        assert await why(world, "second") == f"{text}not eligible due to preemptionPolicy=Never."


@virtual_time
async def test_pods_that_a_budget_guards_are_the_last_to_go() -> None:
    async with cluster(nodes=[HollowNode(cpu="1"), HollowNode(cpu="1")]) as world:
        await classes(world)
        guarded = of("guarded", "low")
        guarded.metadata.labels = {"app": "web"}
        await world.create(guarded)
        await world.create(of("free", "middle"))
        await world.create(budget(min_available=1))
        await advance(1)
        await world.create(of("important", "high"))
        await world.settle()
        assert sorted(pod.name for pod in await world.list(Pod)) == ["guarded", "important"]


@virtual_time
async def test_equals_are_not_preempted() -> None:
    async with cluster(nodes=[HollowNode(cpu="1")]) as world:
        await classes(world)
        await world.create(of("first", "high"))
        await world.settle()
        await world.create(of("second", "high"))
        await world.settle()
        assert await why(world, "second") == refused(1, "1 Insufficient cpu", without_victims=1)
