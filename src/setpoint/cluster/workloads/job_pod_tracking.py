"""Pods of Jobs: how they are made, when they have failed, and the finalizer that keeps them until they are counted."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.workloads.completion_indexes import INDEX
from setpoint.cluster.workloads.pod_templates import pod_of
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.models.batch_v1 import Job
from setpoint.models.core_v1 import EnvVar, EnvVarSource, ObjectFieldSelector, Pod

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_VARIABLE: Final = "JOB_COMPLETION_INDEX"


class JobOrphans:
    """Removes the finalizer from pods that no controller will count: pods without a controller, and pods that are being
    deleted and whose Job is gone.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            Pod,
            self._reconcile,
            name="job-orphans",
            metadata_only=True,
            reconcile_deleting=True,
            leader_only=False,
            predicates=[_is_tracked],
        )

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        owner = pod.metadata.controller
        if FINALIZER not in pod.metadata.finalizers or (owner is not None and owner.kind != "Job"):
            return done()
        if owner is not None:
            if not pod.is_deleting:
                return done()
            try:
                job = await ctx.client.get(Job, owner.name, namespace=pod.namespace)
            except NotFound:
                pass
            else:
                if job.uid == owner.uid:
                    return done()
        await release(pod, ctx)
        return done()


def pod_of_job(job: Job, index: int | None = None, failures: int | None = None) -> Pod:
    """A new pod of a Job, with its completion index and the number of earlier failures of that index if they are
    given.
    """
    if index is None:
        pod = pod_of(job.spec.template, prefix=f"{job.name}-")
    else:
        pod = pod_of(job.spec.template, prefix=f"{job.name}-{index}-")
        pod.metadata.annotations[INDEX] = pod.metadata.labels[INDEX] = str(index)
        if failures is not None:
            pod.metadata.annotations[FAILURES] = str(failures)
        pod.spec.hostname = f"{job.name}-{index}"
        source = EnvVarSource(field_ref=ObjectFieldSelector(field_path=f"metadata.labels['{INDEX}']"))
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            if not any(variable.name == _VARIABLE for variable in container.env):
                container.env = [*container.env, EnvVar(name=_VARIABLE, value_from=source)]
    pod.metadata.finalizers = [*pod.metadata.finalizers, FINALIZER]
    return pod


def has_failed(job: Job, pod: Pod) -> bool:
    """Whether the pod counts as failed: it has failed, or it is being deleted and the Job does not wait for its end."""
    if pod.status.phase == "Failed":
        return True
    waits = job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None
    return pod.is_deleting and not waits and pod.status.phase != "Succeeded"


async def release(pod: Pod, ctx: Context) -> None:
    """Removes the finalizer from the pod if the pod has it."""
    if FINALIZER not in pod.metadata.finalizers:
        return
    rest = [name for name in pod.metadata.finalizers if name != FINALIZER]
    metadata = {"finalizers": rest or None, "resourceVersion": pod.metadata.resource_version}
    try:
        await ctx.patch(pod, {"metadata": metadata})
    except NotFound:
        return


def failure_count(pod: Pod) -> int:
    """The number of earlier failures of the pod's index."""
    try:
        return parse_uint(pod.annotations.get(FAILURES, "0"))
    except NumberError:
        return 0


def finished_at(pod: Pod, now: datetime) -> datetime:
    """The time at which the last container ended; if that is unknown, the time at which the pod became unready, was
    deleted or was created.
    """
    ended = [
        status.state.terminated.finished_at
        for status in pod.status.container_statuses
        if status.state is not None and status.state.terminated is not None and status.state.terminated.finished_at
    ]
    if not ended:
        ended = [
            condition.last_transition_time
            for condition in pod.status.conditions
            if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time is not None
        ]
    return max(ended, default=pod.metadata.deletion_timestamp or pod.metadata.creation_timestamp or now)


def _is_tracked(old: Head | None, new: Head | None) -> bool:
    head = new if new is not None else old
    return head is not None and FINALIZER in head.finalizers
