"""Jobs, as kubectl's users know them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.workloads import job

from setpoint.cluster import PodBehaviour
from setpoint.cluster.workloads.completion_indexes import format_indexes, read
from setpoint.controller import Context, Controller
from setpoint.models.batch_v1 import (
    Job,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from setpoint.models.core_v1 import Pod
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time

FAILS = {"hollow.setpoint.io/exit-code": "3"}
LONG = {"hollow.setpoint.io/run-seconds": "1000"}


def conditions(job: Job) -> dict[str, str]:
    return {condition.type: condition.reason or "" for condition in job.status.conditions if condition.status == "True"}


async def phases(world: Any) -> list[str]:
    return sorted(str(pod.status.phase) for pod in await world.list(Pod))


@virtual_time
async def test_a_job_runs_as_many_pods_as_it_is_to_complete_so_many_at_a_time() -> None:
    async with cluster() as world:
        await world.create(job(completions=5, parallelism=2))
        await advance(0.5)
        new_job = await world.get(Job, "work")
        assert (new_job.status.active, new_job.status.ready) == (2, 2)
        assert new_job.status.start_time is not None
        await advance(10)
        new_job = await world.get(Job, "work")
        assert new_job.is_complete
        assert (new_job.status.succeeded, new_job.status.failed, new_job.status.active) == (5, None, None)
        assert conditions(new_job) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
        assert new_job.status.completion_time is not None
        pods = await world.list(Pod)
        assert len(pods) == 5
        assert {tuple(pod.metadata.finalizers) for pod in pods} == {()}, "all are counted"
        reasons = {
            event.reason for event in await world.list(Event) if event.regarding and event.regarding.kind == "Job"
        }
        assert reasons == {"SuccessfulCreate", "Completed"}
        await world.delete(new_job, propagation="Background")
        await world.settle()
        assert await world.list(Pod) == []


@virtual_time
async def test_without_completions_the_first_success_is_enough() -> None:
    async with cluster() as world:
        await world.create(job(parallelism=3))
        await world.settle()
        new_job = await world.get(Job, "work")
        assert new_job.is_complete
        assert new_job.status.succeeded == 3


@virtual_time
async def test_failures_are_tried_again_with_growing_pauses_until_the_limit() -> None:
    async with cluster() as world:
        await world.create(job(backoff_limit=2, annotations=FAILS))
        await advance(5)
        assert len(await world.list(Pod)) == 1
        await advance(7)
        assert len(await world.list(Pod)) == 2, "after 10 s"
        await advance(15)
        assert len(await world.list(Pod)) == 2
        await advance(10)
        new_job = await world.get(Job, "work")
        assert new_job.status.failed == 3, "after 20 s more"
        assert conditions(new_job) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}


@virtual_time
async def test_containers_that_begin_again_in_their_pod_count_as_failures() -> None:
    async with cluster() as world:
        await world.create(job(backoff_limit=2, annotations=FAILS, policy="OnFailure"))
        await advance(120)
        assert conditions(await world.get(Job, "work"))["Failed"] == "BackoffLimitExceeded"
        assert await phases(world) in ([], ["Failed"])


@virtual_time
async def test_indexed_pods_know_their_index_and_the_status_which_are_done() -> None:
    async with cluster() as world:
        await world.create(job(completions=4, parallelism=4, completion_mode="Indexed"))
        await advance(0.5)
        pods = await world.list(Pod)
        assert sorted(pod.spec.hostname or "" for pod in pods) == [f"work-{n}" for n in range(4)]
        (variable,) = pods[0].spec.containers[0].env
        assert variable.name == "JOB_COMPLETION_INDEX"
        assert sorted(pod.labels["batch.kubernetes.io/job-completion-index"] for pod in pods) == ["0", "1", "2", "3"]
        await advance(5)
        new_job = await world.get(Job, "work")
        assert (new_job.status.completed_indexes, new_job.status.succeeded) == ("0-3", 4)
        assert new_job.is_complete


@virtual_time
async def test_an_index_that_fails_too_often_is_given_up_and_the_others_go_on() -> None:
    async with cluster() as world:
        wanted = job(completions=3, parallelism=3, completion_mode="Indexed", backoff_limit_per_index=1)
        wanted.spec.template.metadata.annotations = LONG
        await world.create(wanted)
        await advance(1)
        for _ in range(2):
            for pod in await world.list(Pod):
                if pod.spec.hostname == "work-1" and not pod.is_finished:
                    ended = {"status": {"phase": "Failed"}}
                    await world.client.patch(Pod, pod.name, ended, namespace="default", subresource="status")
            await advance(20)
        new_job = await world.get(Job, "work")
        assert new_job.status.failed_indexes == "1"
        assert new_job.status.failed == 2
        assert not new_job.is_finished
        await advance(1100)
        new_job = await world.get(Job, "work")
        assert new_job.status.completed_indexes == "0,2"
        assert conditions(new_job)["Failed"] == "FailedIndexes"


@pytest.mark.parametrize(("action", "reason"), [("FailJob", "PodFailurePolicy"), ("Count", "BackoffLimitExceeded")])
@virtual_time
async def test_the_pod_failure_policy_says_what_a_failure_means(action: str, reason: str) -> None:
    codes = PodFailurePolicyOnExitCodesRequirement(operator="In", values=[3])
    policy = PodFailurePolicy(rules=[PodFailurePolicyRule(action=action, on_exit_codes=codes)])
    async with cluster() as world:
        await world.create(job(backoff_limit=1, annotations=FAILS, pod_failure_policy=policy))
        await advance(60)
        new_job = await world.get(Job, "work")
        assert conditions(new_job)["Failed"] == reason
        assert new_job.status.failed == (1 if action == "FailJob" else 2)


@virtual_time
async def test_failures_that_are_ignored_do_not_count() -> None:
    codes = PodFailurePolicyOnExitCodesRequirement(operator="NotIn", values=[9])
    policy = PodFailurePolicy(rules=[PodFailurePolicyRule(action="Ignore", on_exit_codes=codes)])
    async with cluster() as world:
        await world.create(job(backoff_limit=0, annotations=FAILS, pod_failure_policy=policy))
        await advance(60)
        new_job = await world.get(Job, "work")
        assert not new_job.is_finished
        assert new_job.status.failed is None
        assert len(await world.list(Pod)) >= 2


@virtual_time
async def test_a_success_policy_ends_the_job_early() -> None:
    rules = SuccessPolicy(rules=[SuccessPolicyRule(succeeded_indexes="0", succeeded_count=1)])
    async with cluster() as world:
        wanted = job(completions=3, parallelism=3, completion_mode="Indexed", success_policy=rules)
        wanted.spec.template.metadata.annotations = LONG
        await world.create(wanted)
        await advance(1)
        leader = next(pod for pod in await world.list(Pod) if pod.spec.hostname == "work-0")
        ended = {"status": {"phase": "Succeeded"}}
        await world.client.patch(Pod, leader.name, ended, namespace="default", subresource="status")
        await world.settle()
        new_job = await world.get(Job, "work")
        assert conditions(new_job) == {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"}
        assert new_job.status.completed_indexes == "0"
        assert await phases(world) == ["Succeeded"]


@virtual_time
async def test_a_job_that_takes_too_long_fails_at_its_deadline() -> None:
    async with cluster() as world:
        await world.create(job(active_deadline_seconds=30, annotations=LONG))
        await advance(29)
        assert not (await world.get(Job, "work")).is_finished
        await advance(5)
        assert conditions(await world.get(Job, "work"))["Failed"] == "DeadlineExceeded"
        assert await phases(world) == []


@virtual_time
async def test_a_suspended_job_has_no_pods_and_goes_on_when_it_is_resumed() -> None:
    async with cluster() as world:
        await world.create(job(suspend=True, annotations=LONG))
        await world.settle()
        new_job = await world.get(Job, "work")
        assert (conditions(new_job), new_job.status.start_time) == ({"Suspended": "JobSuspended"}, None)
        assert await world.list(Pod) == []
        for suspend, pods in ((False, 1), (True, 0), (False, 1)):
            new_job = await world.get(Job, "work")
            new_job.spec.suspend = suspend
            await world.update(new_job)
            await world.settle()
            assert len(await world.list(Pod)) == pods
            new_job = await world.get(Job, "work")
            assert ("Suspended" in conditions(new_job)) is suspend
            assert new_job.status.failed is None, "pods that a pause ends have not failed"


@virtual_time
async def test_pods_of_a_suspended_job_count_until_they_are_gone() -> None:
    counted: list[int] = []

    async def look(result: Job, ctx: Context) -> None:
        counted.append((result.status.active or 0) + (result.status.terminating or 0))

    slow = PodBehaviour(runs=600.0, stops=20.0)
    async with cluster(Controller(Job, look, name="look"), behaviour=lambda pod: slow) as world:
        await world.create(job(parallelism=2, completions=2))
        await advance(10)
        counted.clear()
        new_job = await world.get(Job, "work")
        new_job.spec.suspend = True
        await world.update(new_job)
        await advance(15)
        assert {*counted} == {2}
        await advance(10)
        assert counted[-1] == 0


@virtual_time
async def test_finished_jobs_go_when_their_time_is_over() -> None:
    async with cluster() as world:
        await world.create(job(ttl_seconds_after_finished=100))
        await advance(50)
        assert (await world.get(Job, "work")).is_complete
        await advance(60)
        await world.settle()
        assert await world.find(Job, "work") is None
        assert await world.list(Pod) == []


@virtual_time
async def test_a_job_that_others_manage_is_left_alone() -> None:
    async with cluster() as world:
        await world.create(job(managed_by="example.com/other"))
        await advance(60)
        new_job = await world.get(Job, "work")
        assert await world.list(Pod) == []
        assert new_job.status.start_time is None


@virtual_time
async def test_pods_that_are_deleted_are_replaced_and_count_as_failed() -> None:
    async with cluster() as world:
        await world.create(job(annotations=LONG))
        await advance(1)
        (pod,) = await world.list(Pod)
        await world.delete(pod)
        await advance(30)
        new_job = await world.get(Job, "work")
        assert (new_job.status.failed, new_job.status.active) == (1, 1)
        assert len(await world.list(Pod)) == 1


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
@virtual_time
async def test_deleting_a_job_while_it_runs_holds_nothing_back(propagation: str) -> None:
    async with cluster() as world:
        await world.create(job(annotations=LONG))
        await advance(1)
        await world.delete(await world.get(Job, "work"), propagation=propagation)
        await world.settle()
        assert await world.find(Job, "work") is None
        assert [pod.metadata.finalizers for pod in await world.list(Pod)] == ([[]] if propagation == "Orphan" else [])


@pytest.mark.parametrize(
    ("text", "indexes"), [("", []), ("0", [0]), ("0,1", [0, 1]), ("0-2,4", [0, 1, 2, 4]), ("1,3-5,7", [1, 3, 4, 5, 7])]
)
def test_sets_of_indexes_are_written_and_read(text: str, indexes: list[int]) -> None:
    assert format_indexes(indexes) == text
    assert read(text, 10) == set(indexes)
    assert read(text + ",x,9-3,99999999999", 10) == set(indexes)
