"""Jobs: pods that run to completion, repeated as often as necessary."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from setpoint.cluster.workloads.completion_indexes import format_indexes, index_of, read
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.job_pod_tracking import (
    FINALIZER,
    failure_count,
    finished_at,
    has_failed,
    pod_of_job,
    release,
)
from setpoint.cluster.workloads.job_policies import success, verdict
from setpoint.cluster.workloads.pod_templates import create_pod
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.models.batch_v1 import Job, JobCondition, UncountedTerminatedPods
from setpoint.models.core_v1 import Pod

MANAGER: Final = "kubernetes.io/job-controller"
BACK_OFF: Final = 10.0
MAX_BACK_OFF: Final = 600.0
BURST: Final = 500
UNLIMITED: Final = 2**31 - 1


class End(NamedTuple):
    """The end of a Job, ``Complete`` or ``Failed``, and its reason."""

    type: str
    reason: str
    message: str


_DONE: Final = ("CompletionsReached", "Reached expected number of succeeded pods")


class Jobs:
    """Makes pods until enough of them have succeeded or too many have failed.

    A pod that has ended keeps a finalizer until it is counted: first the pod's uid is written to the Job's status, then
    the finalizer is removed, then the pod is added to the counters. A crash in between therefore never makes a pod
    count twice or not at all. Jobs that are ``managedBy`` a different controller are left alone.
    """

    def __init__(self) -> None:
        self._claims = Claims(Job, Pod, lambda job: job.spec.selector)
        self.controller = (
            Controller(
                Job,
                self._reconcile,
                name="job-controller",
                reconcile_deleting=True,
                leader_only=False,
                predicates=[self._claims.forget_deleted],
            )
            .owns(Pod)
            .watches(Pod, self._claims.of_orphan)
        )

    async def _reconcile(self, job: Job, ctx: Context) -> Outcome:
        if job.spec.managed_by not in (None, MANAGER):
            return done()
        pods = await self._claims.claim(job, ctx, lambda pod: not pod.is_finished)
        status = job.status
        if job.is_finished:
            for pod in pods:  # those that ended after the Job
                await release(pod, ctx)
            return done()
        if status.start_time is None and not job.spec.suspend:
            status.start_time = ctx.now().replace(microsecond=0)
        end = _ending(job)
        tally = _Tally(job, pods)
        again = await self._track(job, tally, end, ctx)
        succeeded = len(tally.done) if tally.indexed else (status.succeeded or 0) + len(_uncounted(job).succeeded)
        failed = (status.failed or 0) + len(_uncounted(job).failed)
        if tally.indexed:
            status.completed_indexes = format_indexes(tally.done) or None
            status.succeeded = succeeded or None
        if job.spec.backoff_limit_per_index is not None:
            status.failed_indexes = format_indexes(tally.failed_indexes)
        end = end or tally.verdict or self._judge(job, tally, succeeded, failed, ctx.now())
        wait: float | None = None
        if end is not None:
            _announce(job, end, ctx.now())
            await self._delete_active_pods(job, tally, end, ctx)
        elif not job.is_deleting:
            wait = await self._adjust(job, tally, succeeded, ctx)
        status.active = sum(not pod.is_deleting for pod in tally.active) or None
        status.ready = sum(pod.is_ready and not pod.is_deleting for pod in tally.active)
        status.terminating = len(tally.terminating)
        if again:
            return after(0, "the status names pods that are not counted yet")
        return done() if wait is None else after(wait, "its deadline passes, or failed pods may be replaced")

    # -- counting ------------------------------------------------------------------------------------------------------

    async def _track(self, job: Job, tally: _Tally, end: End | None, ctx: Context) -> bool:
        """Counts the pods whose uids are in the status, and replaces these uids with those of the pods that have ended
        since. Returns whether there are pods left to count.
        """
        status, uncounted = job.status, _uncounted(job)
        named = {*uncounted.succeeded, *uncounted.failed}
        for pod in tally.pods:
            if pod.uid in named:
                await release(pod, ctx)
        if not tally.indexed and uncounted.succeeded:
            status.succeeded = (status.succeeded or 0) + len(uncounted.succeeded)
        if uncounted.failed:
            status.failed = (status.failed or 0) + len(uncounted.failed)
        fresh = UncountedTerminatedPods()
        for pod in tally.pods:
            if FINALIZER not in pod.metadata.finalizers or pod.uid in named:
                continue
            if pod.status.phase == "Succeeded":
                fresh.succeeded = [*fresh.succeeded, pod.uid]
            elif has_failed(job, pod) or (end is not None and end.type == "Failed" and pod.is_deleting):
                if tally.ignores(pod):
                    await release(pod, ctx)
                elif tally.may_count(pod) or end is not None:
                    fresh.failed = [*fresh.failed, pod.uid]
        status.uncounted_terminated_pods = fresh
        return bool(fresh.succeeded or fresh.failed)

    def _judge(self, job: Job, tally: _Tally, succeeded: int, failed: int, now: datetime) -> End | None:
        spec, status = job.spec, job.status
        per_index = spec.backoff_limit_per_index is not None
        limit = spec.backoff_limit if spec.backoff_limit is not None else UNLIMITED if per_index else 6
        restarts = sum(status.restart_count for pod in tally.active for status in pod.status.container_statuses)
        if spec.template.spec.restart_policy != "OnFailure":
            restarts = 0
        if failed > limit or (restarts and restarts >= limit):
            return End("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        if _seconds_left(job, now) == 0:
            return End("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        most = spec.max_failed_indexes
        if most is not None and len(tally.failed_indexes) > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return End("Failed", "MaxFailedIndexesExceeded", message)
        if tally.indexed and (matched := success(job, tally.done)):
            return End("Complete", "SuccessPolicy", matched)
        if spec.completions is None:
            over = succeeded > 0 and not tally.active
        else:
            over = succeeded + len(tally.failed_indexes - tally.done) >= spec.completions
            if over and tally.failed_indexes - tally.done:
                return End("Failed", "FailedIndexes", "Job has failed indexes")
        return End("Complete", *_DONE) if over and not (spec.suspend and status.start_time is None) else None

    # -- pods ----------------------------------------------------------------------------------------------------------

    async def _adjust(self, job: Job, tally: _Tally, succeeded: int, ctx: Context) -> float | None:
        """Makes or deletes pods until the right number is active. Returns the seconds until the next check; None if an
        event will cause that check.
        """
        remaining = _seconds_left(job, ctx.now())
        living = [pod for pod in tally.active if not pod.is_deleting]
        if job.spec.suspend:
            await self._delete(living, tally, ctx)
            if _set(job, "Suspended", True, "JobSuspended", "Job suspended", ctx.now()):
                ctx.event("Normal", "Suspended", "Job suspended")
            job.status.start_time = None
            return None
        if any(condition.type == "Suspended" for condition in job.status.conditions) and _set(
            job, "Suspended", False, "JobResumed", "Job resumed", ctx.now()
        ):
            ctx.event("Normal", "Resumed", "Job resumed")
        parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
        if job.spec.completions is None:
            wanted = len(living) if succeeded else parallelism
            wanted = min(wanted, parallelism)
        else:
            wanted = min(parallelism, max(job.spec.completions - succeeded - len(tally.failed_indexes - tally.done), 0))
        living = await self._without_doubles(living, tally, ctx)
        if len(living) > wanted:
            living.sort(key=lambda pod: (pod.is_ready, pod.is_running))
            await self._delete(living[: len(living) - wanted], tally, ctx)
            return remaining
        waiting = len(tally.terminating) if tally.replaces_failed_only else 0
        missing = min(wanted - len(living) - waiting, BURST)
        wait = await self._create(job, tally, living, missing, ctx) if missing > 0 else None
        return min((time for time in (remaining, wait) if time is not None), default=None)

    async def _create(self, job: Job, tally: _Tally, living: list[Pod], missing: int, ctx: Context) -> float | None:
        """Makes missing pods. Returns the seconds until failed pods may be replaced; None if no replacement has to
        wait.
        """
        if not tally.indexed:
            wait = tally.back_off(tally.failed, ctx.now())
            if wait > 0:
                return wait
            for _ in range(missing):
                created = await create_pod(pod_of_job(job), ctx)
                if created is not None:
                    tally.active.append(created)
            return None
        used = {tally.index(pod) for pod in living} | tally.done | tally.failed_indexes
        if tally.replaces_failed_only:
            used |= {tally.index(pod) for pod in tally.terminating}
        waits = []
        free = (index for index in range(job.spec.completions or 0) if index not in used)
        for index in free:
            if missing <= 0:
                break
            before = [pod for pod in tally.failed if tally.index(pod) == index]
            per_index = job.spec.backoff_limit_per_index is not None
            wait = tally.back_off(before if per_index else tally.failed, ctx.now())
            if wait > 0:
                waits.append(wait)
                continue
            created = await create_pod(pod_of_job(job, index, tally.failures(index)), ctx)
            missing -= 1
            if created is not None:
                tally.active.append(created)
        return min(waits, default=None)

    async def _without_doubles(self, living: list[Pod], tally: _Tally, ctx: Context) -> list[Pod]:
        """Deletes pods whose index is complete, out of range or already served by a different pod. Returns all other
        pods.
        """
        if not tally.indexed:
            return living
        pod_by_index: dict[int, Pod] = {}
        surplus = []
        for pod in living:
            index = tally.index(pod)
            if index is None or index in pod_by_index or index in tally.done or index in tally.failed_indexes:
                surplus.append(pod)
            else:
                pod_by_index[index] = pod
        await self._delete(surplus, tally, ctx)
        return list(pod_by_index.values())

    async def _delete(self, pods: list[Pod], tally: _Tally, ctx: Context) -> None:
        """Deletes pods in such a way that they do not count as failed."""
        for pod in pods:
            await release(pod, ctx)
            await ctx.delete(pod)
            tally.active = [other for other in tally.active if other.uid != pod.uid]
            tally.terminating.append(pod)  # it counts at once, so that no status says that it is gone before it is
            ctx.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def _delete_active_pods(self, job: Job, tally: _Tally, end: End, ctx: Context) -> None:
        """Ends the pods that are still running. The Job is over once they have ended and all pods are counted."""
        for pod in tally.active:
            if not pod.is_deleting:
                await ctx.delete(pod)
                ctx.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
        uncounted = _uncounted(job)
        if tally.active or tally.terminating or uncounted.succeeded or uncounted.failed:
            return
        now = ctx.now()
        _set(job, end.type, True, end.reason, end.message, now)
        if end.type == "Complete":
            job.status.completion_time = now.replace(microsecond=0)
            ctx.event("Normal", "Completed", "Job completed")
        else:
            ctx.event("Warning", end.reason, end.message)


class _Tally:
    """The pods of a Job, counted by phase and index."""

    def __init__(self, job: Job, pods: list[Pod]) -> None:
        self._job = job
        self.pods = pods
        spec, status = job.spec, job.status
        self.indexed = spec.completion_mode == "Indexed"
        self.replaces_failed_only = spec.pod_replacement_policy == "Failed" or spec.pod_failure_policy is not None
        self.active = [pod for pod in pods if not pod.is_finished and not pod.is_deleting]
        self.terminating = [pod for pod in pods if not pod.is_finished and pod.is_deleting]
        self.failed = [pod for pod in pods if has_failed(job, pod)]
        self._verdicts = {pod.uid: verdict(job, pod) for pod in pods if pod.status.phase == "Failed"}
        completions = spec.completions or 0
        self._indexes = {pod.uid: index_of(pod, completions) for pod in pods} if self.indexed else {}
        self.done = read(status.completed_indexes, completions)
        self.failed_indexes = read(status.failed_indexes, completions)
        self.verdict: End | None = None
        for pod in pods:
            index = self.index(pod)
            if pod.status.phase == "Succeeded" and index is not None:
                self.done.add(index)
        for pod in self.failed:
            pod_verdict = self._verdicts.get(pod.uid)
            if pod_verdict is not None and pod_verdict.action == "FailJob":
                self.verdict = self.verdict or End("Failed", "PodFailurePolicy", pod_verdict.message)
            index, limit = self.index(pod), spec.backoff_limit_per_index
            if index is None or limit is None or index in self.done:
                continue
            fails = pod_verdict is not None and pod_verdict.action == "FailIndex"
            if fails or (not self.ignores(pod) and failure_count(pod) >= limit):
                self.failed_indexes.add(index)

    def index(self, pod: Pod) -> int | None:
        if pod.uid not in self._indexes and self.indexed:
            self._indexes[pod.uid] = index_of(pod, self._job.spec.completions or 0)
        return self._indexes.get(pod.uid)

    def ignores(self, pod: Pod) -> bool:
        verdict = self._verdicts.get(pod.uid)
        return verdict is not None and verdict.action == "Ignore"

    def failures(self, index: int) -> int | None:
        """The number of failures of the index; None unless the Job sets ``backoffLimitPerIndex``."""
        if self._job.spec.backoff_limit_per_index is None:
            return None
        of_index = [pod for pod in self.failed if self.index(pod) == index]
        return max((failure_count(pod) + (not self.ignores(pod)) for pod in of_index), default=0)

    def may_count(self, pod: Pod) -> bool:
        """Whether a failed pod may be counted now. If failures are counted by index, a replacement that carries the
        higher number of failures must exist first.
        """
        index = self.index(pod)
        if self._job.spec.backoff_limit_per_index is None or index is None or index in self.failed_indexes | self.done:
            return True
        return any(failure_count(other) > failure_count(pod) for other in self.pods if self.index(other) == index)

    def back_off(self, failed: list[Pod], now: datetime) -> float:
        """The seconds for which the next pod has to wait after the last failure; 0 or less if it need not wait."""
        succeeded = [finished_at(pod, now) for pod in self.pods if pod.status.phase == "Succeeded"]
        since = max(succeeded, default=None)
        times = [finished_at(pod, now) for pod in failed if since is None or finished_at(pod, now) > since]
        if not times:
            return 0.0
        wait = min(BACK_OFF * (1 << min(len(times) - 1, 16)), MAX_BACK_OFF)
        return wait - (now - max(times)).total_seconds()


def _uncounted(job: Job) -> UncountedTerminatedPods:
    return job.status.uncounted_terminated_pods or UncountedTerminatedPods()


def _seconds_left(job: Job, now: datetime) -> float | None:
    """The seconds until the Job's deadline, 0.0 if it has passed; None if the Job does not have a deadline, has not
    started, or is suspended.
    """
    deadline, began = job.spec.active_deadline_seconds, job.status.start_time
    if deadline is None or began is None or job.spec.suspend:
        return None
    return max(deadline - (now - began).total_seconds(), 0.0)


def _ending(job: Job) -> End | None:
    """The end that the Job's conditions have already announced; None if they have not announced any."""
    for condition in job.status.conditions:
        if condition.status == "True" and condition.type in ("SuccessCriteriaMet", "FailureTarget"):
            type = "Complete" if condition.type == "SuccessCriteriaMet" else "Failed"
            return End(type, condition.reason or "", condition.message or "")
    return None


def _announce(job: Job, end: End, now: datetime) -> None:
    _set(job, "SuccessCriteriaMet" if end.type == "Complete" else "FailureTarget", True, end.reason, end.message, now)


def _set(job: Job, type: str, holds: bool, reason: str, message: str, now: datetime) -> bool:
    """Sets a condition of the Job. Returns whether anything changed."""
    moment = now.replace(microsecond=0)
    status = "True" if holds else "False"
    new = JobCondition(
        type=type, status=status, reason=reason, message=message, last_probe_time=moment, last_transition_time=moment
    )
    for place, old in enumerate(job.status.conditions):
        if old.type == type:
            if (old.status, old.reason) == (status, reason):
                return False
            job.status.conditions[place] = new
            return True
    job.status.conditions.append(new)
    return True
