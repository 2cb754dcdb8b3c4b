"""CronJobs: Jobs that start at scheduled times."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from setpoint.client import AlreadyExists, ApiError
from setpoint.cluster.workloads.cron_schedule import Cron
from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.controller.events import reference_to
from setpoint.meta import ObjectMeta
from setpoint.meta.text_escaping import quote
from setpoint.models.batch_v1 import CronJob, Job
from setpoint.schema.cron import CronError

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""The annotation with the scheduled time of a Job. Only Jobs that this controller makes have it."""
MANY: Final = 100


class CronJobs:
    """Makes a Job at each time of a schedule, and deletes the oldest finished Jobs.

    A Job's name contains its time, so the Job is made only once even after a crash. If several times were missed, a Job
    is made only for the latest one, and only if that time is no more than ``startingDeadlineSeconds`` ago.
    """

    def __init__(self) -> None:
        self.controller = Controller(CronJob, self._reconcile, name="cronjob-controller", leader_only=False).owns(Job)

    async def _reconcile(self, cron_job: CronJob, ctx: Context) -> Outcome:
        jobs = [
            job
            for job in ctx.owned(Job)
            if (controller := job.metadata.controller) is not None and controller.uid == cron_job.uid
        ]
        self._update_active(cron_job, jobs, ctx)
        await self._clean_up(cron_job, jobs, ctx)
        if cron_job.spec.suspend:
            return done()
        try:
            zone = zone_of(cron_job)
            schedule = Cron.parse(cron_job.spec.schedule)
        except ZoneInfoNotFoundError:
            name = cron_job.spec.time_zone or ""
            ctx.event("Warning", "UnknownTimeZone", f"invalid timeZone: {quote(name)}: unknown time zone {name}")
            return done()
        except CronError as problem:
            ctx.event(
                "Warning", "UnparseableSchedule", f"unparseable schedule: {quote(cron_job.spec.schedule)} : {problem}"
            )
            return done()
        now = ctx.now()
        due = self._due(cron_job, schedule, zone, now, ctx)
        if due is not None:
            await self._begin(cron_job, jobs, due, zone, ctx)
        # As upstream: times of ``@every`` count from the last one that was due, whatever else happens to the object.
        since = _since(cron_job, now)
        following = schedule.after(schedule.last(since, now, zone) or since, zone)
        if following is None:
            return done()
        return after(max((following - ctx.now()).total_seconds(), 0.0), f"scheduled for {following:%Y-%m-%dT%H:%M:%SZ}")

    # -- existing Jobs -------------------------------------------------------------------------------------------------

    def _update_active(self, cron_job: CronJob, jobs: list[Job], ctx: Context) -> None:
        """Updates the list of active Jobs in the status: removes Jobs that have finished or no longer exist, and adds
        Jobs that this controller made but did not record because of a crash. Jobs that users made from the CronJob
        (``kubectl create job --from``) are not in the list, so the concurrency policy does not count them.
        """
        by_uid = {job.uid: job for job in jobs}
        status = cron_job.status
        active = []
        for reference in status.active:
            job = by_uid.get(reference.uid or "")
            if job is None:
                ctx.event("Normal", "MissingJob", f"Active job went missing: {reference.name}")
            elif not job.is_finished:
                active.append(reference)
            else:
                how = "Complete" if job.is_complete else "Failed"
                ctx.event("Normal", "SawCompletedJob", f"Saw completed job: {job.name}, condition: {how}")
        active_uids = {reference.uid for reference in active}
        for job in jobs:
            if job.is_finished or job.uid in active_uids:
                continue
            if SCHEDULED in job.metadata.annotations:
                active.append(reference_to(job))
            else:
                message = f"Saw a job that the controller did not create or forgot: {job.name}"
                ctx.event("Warning", "UnexpectedJob", message)
        if [reference.uid for reference in active] != [reference.uid for reference in status.active]:
            status.active = active
        ends = [job.status.completion_time for job in jobs if job.is_complete and job.status.completion_time]
        latest = max(ends, default=None)
        if latest is not None and (status.last_successful_time is None or latest > status.last_successful_time):
            status.last_successful_time = latest

    async def _clean_up(self, cron_job: CronJob, jobs: list[Job], ctx: Context) -> None:
        spec = cron_job.spec
        for finished, limit in (
            ([job for job in jobs if job.is_complete], spec.successful_jobs_history_limit),
            ([job for job in jobs if job.is_failed], spec.failed_jobs_history_limit),
        ):
            if limit is None:
                continue
            finished.sort(key=_began)
            for job in finished[: max(len(finished) - limit, 0)]:
                await self._delete(job, ctx)

    # -- new Jobs ------------------------------------------------------------------------------------------------------

    def _due(self, cron_job: CronJob, schedule: Cron, zone: tzinfo, now: datetime, ctx: Context) -> datetime | None:
        """The time for which a Job has to be made now; None if there is none."""
        since = _since(cron_job, now)
        deadline = cron_job.spec.starting_deadline_seconds
        if deadline is not None:
            since = max(since, now - timedelta(seconds=deadline))
        due = schedule.last(since, now, zone)
        if due is None:
            return None
        if schedule.missed(since, now, zone, most=MANY + 1) > MANY:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            ctx.event("Warning", "TooManyMissedTimes", message)
        return due

    async def _begin(self, cron_job: CronJob, jobs: list[Job], due: datetime, zone: tzinfo, ctx: Context) -> None:
        status, policy = cron_job.status, cron_job.spec.concurrency_policy
        active = {reference.uid for reference in status.active}
        job = job_of(cron_job, due, zone)
        existing = next((entry for entry in jobs if entry.name == job.name), None)
        if existing is None:
            if policy == "Forbid" and active:
                message = "Not starting job because prior execution is running and concurrency policy is Forbid"
                ctx.event("Normal", "JobAlreadyActive", message)
                return
            if policy == "Replace":
                for other in jobs:
                    if other.uid in active:
                        await self._delete(other, ctx)
                status.active = []
            existing = await self._create(cron_job, job, ctx)
            status.active = [*status.active, reference_to(existing)]
        status.last_schedule_time = due

    async def _create(self, cron_job: CronJob, job: Job, ctx: Context) -> Job:
        try:
            created = await ctx.create(job)
        except AlreadyExists:
            existing = await ctx.client.get(Job, job.name, namespace=cron_job.namespace)
            controller = existing.metadata.controller
            if controller is not None and controller.uid == cron_job.uid:
                return existing
            raise
        except ApiError as problem:
            ctx.event("Warning", "FailedCreate", f"Error creating job: {problem.message}")
            raise
        ctx.event("Normal", "SuccessfulCreate", f"Created job {created.name}")
        return created

    async def _delete(self, job: Job, ctx: Context) -> None:
        if not job.is_deleting:
            await ctx.delete(job, propagation="Background")
            ctx.event("Normal", "SuccessfulDelete", f"Deleted job {job.name}")


def _since(cron_job: CronJob, now: datetime) -> datetime:
    """The time after which scheduled times count: the last one for which a Job was made, or the creation."""
    return cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp or now


def zone_of(cron_job: CronJob) -> tzinfo:
    """The time zone of the schedule, UTC by default.

    Raises:
        ZoneInfoNotFoundError: there is no zone with the name in ``timeZone``.
    """
    name = cron_job.spec.time_zone
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError) as problem:
        raise ZoneInfoNotFoundError(f"unknown time zone {name}") from problem


def job_of(cron_job: CronJob, due: datetime, zone: tzinfo) -> Job:
    """The Job for one scheduled time."""
    template = cron_job.spec.job_template
    moment = due.astimezone(zone).isoformat().replace("+00:00", "Z")
    return Job(
        metadata=ObjectMeta(
            name=f"{cron_job.name}-{int(due.timestamp()) // 60}",
            labels=dict(template.metadata.labels),
            annotations={**template.metadata.annotations, SCHEDULED: moment},
        ),
        spec=copy.deepcopy(template.spec),
    )


def _began(job: Job) -> tuple[float, str]:
    began = job.status.start_time or job.metadata.creation_timestamp
    return (began.timestamp() if began is not None else 0.0), job.name
