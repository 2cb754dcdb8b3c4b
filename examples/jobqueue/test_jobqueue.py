"""The tests of jobqueue.py: Jobs on the embedded cluster, whose pods take a minute."""

from __future__ import annotations

from typing import Any

import pytest
from jobqueue import PRIORITY, QUEUE, Queue, QueueSpec, admission, controller

import setpoint as sp
from setpoint.cluster import PodBehaviour
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import Container, Namespace, Pod, PodSpec, PodTemplateSpec

TEAMS = [Namespace.named("red"), Namespace.named("blue")]


def queue(pods: int, per_namespace: int | None = None) -> Queue:
    return Queue.named("batch", spec=QueueSpec(pods=pods, pods_per_namespace=per_namespace))


def job(name: str, pods: int = 1, *, namespace: str = "red", priority: int = 0) -> Job:
    template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="main", image="work")], restart_policy="Never"))
    spec = JobSpec(parallelism=pods, completions=pods, template=template)
    return Job.named(name, namespace, {QUEUE: "batch"}, {PRIORITY: str(priority)}, spec=spec)


def busy(pod: Pod) -> PodBehaviour:
    """Each pod works for a minute, and takes ten seconds to stop before that."""
    return PodBehaviour(runs=60.0, stops=10.0)


def running(*objects: sp.Object) -> Any:
    return sp.testing.cluster(controller, webhooks=[admission], objects=[*TEAMS, *objects], behaviour=busy)


async def at_work(cluster: sp.testing.Cluster) -> list[str]:
    """The Jobs that have pods which run."""
    pods = [pod for pod in await cluster.list(Pod) if pod.status.phase == "Running"]
    return sorted({pod.labels["job-name"] for pod in pods})


@sp.testing.virtual_time
async def test_no_more_pods_run_than_the_queue_allows_and_the_first_come_first() -> None:
    async with running(queue(2)) as cluster:
        for name in ("a", "b", "c"):
            await cluster.create(job(name))
            await sp.testing.advance(1)
        assert await at_work(cluster) == ["a", "b"]
        status = (await cluster.get(Queue, "batch")).status
        assert (status.running, status.waiting) == (["red/a", "red/b"], ["red/c"])
        await sp.testing.advance(90)
        assert await at_work(cluster) == ["c"]
        await sp.testing.advance(90)
        assert await at_work(cluster) == []


@sp.testing.virtual_time
async def test_a_more_important_job_takes_the_place_of_others_when_their_pods_are_gone() -> None:
    async with running(queue(2)) as cluster:
        await cluster.create(job("a"))
        await cluster.create(job("b"))
        await sp.testing.advance(5)
        await cluster.create(job("urgent", 2, namespace="blue", priority=10))
        await sp.testing.advance(9)
        assert await at_work(cluster) == ["a", "b"]
        await sp.testing.advance(3)
        assert await at_work(cluster) == ["urgent"]
        assert {job.name for job in await cluster.list(Job) if job.spec.suspend} == {"a", "b"}
        await sp.testing.advance(90)
        assert await at_work(cluster) == ["a", "b"]


@sp.testing.virtual_time
async def test_a_namespace_gets_its_share_and_a_job_that_is_too_large_holds_up_no_other() -> None:
    async with running(queue(4, per_namespace=2)) as cluster:
        await cluster.create(job("large", 3, priority=10))
        for name in ("a", "b", "c"):
            await cluster.create(job(name))
        await cluster.create(job("d", 2, namespace="blue"))
        await sp.testing.advance(5)
        assert await at_work(cluster) == ["a", "b", "d"]


@sp.testing.virtual_time
async def test_a_smaller_queue_suspends_the_least_important_jobs() -> None:
    async with running(queue(2)) as cluster:
        await cluster.create(job("a"))
        await cluster.create(job("b", priority=1))
        await sp.testing.advance(5)
        await cluster.apply(queue(1))
        await sp.testing.advance(15)
        assert await at_work(cluster) == ["b"]


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(queue(2))
    await cluster.create(job("a"))
    await cluster.create(job("b"))
    await cluster.settle()
    await cluster.create(job("urgent", 2, namespace="blue", priority=10))
    await cluster.settle()


def within_the_quota(objects: sp.simulation.Objects) -> bool:
    return sum(pod.status.phase in ("Pending", "Running") for pod in objects.list(Pod)) <= 2


def simulated(
    budget: sp.simulation.Budget, *, off: dict[str, str] | None = None, **options: Any
) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario,
        lambda: [controller],
        objects=TEAMS,
        webhooks=[admission],
        control_plane=["job", "garbage-collector"],
        predicates=[sp.simulation.always(within_the_quota, "no more than two pods at any moment")],
        budget=budget,
        off={"counts": "a Job that gives way before it has ended makes its pods anew"} | (off or {}),
        **options,
    )


LATE_JOB_CONTROLLER = (
    "sp1-eNo1jEEKwzAMBL8SdA6hKT35K8EUxVVIWtdyI5kUjP9e5dDj7M5uhQAOKFxnugS6LdBDOoMvvnMkGZ48fwoVGpRE739yEijhvrHpGVyFBU"
    "tUATdVeG3pYQ8Zi5DVqAailLvRaOXDpAmO9ZwGTrpz7HLEROB9872pbI9jaz-OEzNW"
)
"""The plan: the control plane is late by the first step, so its Job controller never sees the Jobs suspended."""


def test_jobs_that_ran_before_the_control_plane_saw_them_suspended_are_as_good_as_others() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=LATE_JOB_CONTROLLER)


@sp.testing.virtual_time
async def test_a_job_of_a_queue_that_does_not_exist_is_accepted_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warning = "there is no Queue batch: the Job waits until there is one"
    async with running() as cluster:
        await cluster.create(job("early"))
        assert warning in caplog.text
        caplog.clear()
        await cluster.create(queue(1))
        await cluster.create(job("late"))
        assert warning not in caplog.text
        await sp.testing.advance(10)
        assert await at_work(cluster) == ["early"]
