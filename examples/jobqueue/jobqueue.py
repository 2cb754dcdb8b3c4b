"""jobqueue.py: Jobs of all namespaces wait in queues with quotas, by priority, and give way to more important ones.

A Job names its queue with the label ``queue.example.com/name``, and its priority with the annotation
``queue.example.com/priority`` (0 by default). A webhook has it begin suspended; it runs when the operator lets it. A
more important Job suspends others; it starts when their pods are gone, so that the quota holds at every moment.

python examples/jobqueue/jobqueue.py run --embedded
"""

from collections import Counter
from typing import Annotated

import setpoint as sp
from setpoint.models.batch_v1 import Job

QUEUE = "queue.example.com/name"
PRIORITY = "queue.example.com/priority"


class QueueSpec(sp.Model):
    pods: Annotated[int, sp.Field(ge=0, description="how many pods of its Jobs may run at once")]
    pods_per_namespace: Annotated[int, sp.Field(ge=0)] | None = None


class QueueStatus(sp.ConditionedStatus):
    running: list[str] = []
    waiting: list[str] = []


class Queue(
    sp.CustomResource,
    group="queue.example.com",
    version="v1",
    scope="Cluster",
    columns=(
        sp.Column("Pods", ".spec.pods"),
        sp.Column("Running", ".status.running"),
        sp.Column("Waiting", ".status.waiting"),
    ),
):
    """A quota that Jobs of all namespaces share."""

    spec: QueueSpec
    status: QueueStatus = QueueStatus()


def priority(job: Job) -> int:
    text = job.annotations.get(PRIORITY, "0")
    return int(text) if text.removeprefix("-").isdecimal() else 0


def size(job: Job) -> int:
    return 1 if job.spec.parallelism is None else job.spec.parallelism


def pods_of(job: Job) -> int:
    return (job.status.active or 0) + (job.status.terminating or 0)


def is_over(job: Job) -> bool:
    return any(
        condition.type in ("Complete", "Failed") and condition.status == "True" for condition in job.status.conditions
    )


def chosen(queue: QueueSpec, jobs: list[Job]) -> list[Job]:
    """The Jobs that are to run: the most important ones first, and of these the ones that run already.

    A Job for which there is no room lets no less important one pass, or large ones would wait forever. One that its
    namespace's share or the whole queue is too small for does not hold up the others.
    """
    most = queue.pods if queue.pods_per_namespace is None else min(queue.pods, queue.pods_per_namespace)
    free, used = queue.pods, Counter[str]()
    jobs_: list[Job] = []
    for job in sorted(jobs, key=lambda job: (-priority(job), bool(job.spec.suspend), *age(job))):
        if used[job.namespace] + size(job) > most:
            continue
        if size(job) > free:
            break
        free -= size(job)
        used[job.namespace] += size(job)
        jobs_.append(job)
    return jobs_


def age(job: Job) -> tuple[str, str]:
    return str(job.metadata.creation_timestamp), job.key


async def suspend(job: Job, wanted: bool, ctx: sp.Context) -> None:
    """The decision is about the Job as it was seen: if it has changed since (it may be over), the server refuses, and
    the next look decides.
    """
    version = job.metadata.resource_version
    await ctx.patch(job, {"metadata": {"resourceVersion": version}, "spec": {"suspend": wanted}})


async def reconcile(queue: Queue, ctx: sp.Context) -> None:
    """Decides about all Jobs of the queue. One key decides, so no two decisions use up the same quota."""
    jobs = [job for job in await ctx.list(Job, namespace="*", index=("queue", queue.name)) if not is_over(job)]
    running = chosen(queue.spec, [job for job in jobs if not job.is_deleting])
    keys = {job.key for job in running}
    for job in jobs:
        if job.key not in keys and not job.spec.suspend and not job.is_deleting:
            await suspend(job, True, ctx)
            ctx.event("Normal", "Preempted", f"Job {job.key} gives way", related=job)
    # Pods of Jobs that were suspended, or that are being deleted, need their places until they are gone.
    free = queue.spec.pods - sum(pods_of(job) for job in jobs if job.key not in keys)
    for job in sorted(running, key=lambda job: bool(job.spec.suspend)):
        free -= size(job)
        if job.spec.suspend and free >= 0:
            await suspend(job, False, ctx)
    queue.status.running = sorted(keys)
    queue.status.waiting = sorted(job.key for job in jobs if job.key not in keys)


def queue_of(head: sp.Head) -> list[str]:
    return [head.labels[QUEUE]] if QUEUE in head.labels else []


def begin_suspended(job: Job) -> None:
    """A new Job of a queue waits until the operator has counted it."""
    if QUEUE in job.labels:
        job.spec.suspend = True


async def warn_without_queue(job: Job, review: sp.Review[Job]) -> None:
    name = job.labels.get(QUEUE)
    if name is not None and await review.get(Queue, name) is None:
        review.warn(f"there is no Queue {name}: the Job waits until there is one")


controller = (
    sp.Controller(Queue, reconcile)
    .watches(Job, queue_of)
    .index("queue", queue_of, of=Job, as_=sp.Head)
    .needs(Job, "patch")
)
admission = (
    sp.Admission(Job)
    .reads(Queue)
    .defaults(begin_suspended, on=("create",))
    .validates(warn_without_queue, on=("create",))
)

if __name__ == "__main__":
    sp.main(controller, admission)
