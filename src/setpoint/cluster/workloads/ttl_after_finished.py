"""Finished Jobs: their deletion after ``ttlSecondsAfterFinished``."""

from __future__ import annotations

from setpoint.controller import Context, Controller, Outcome, after, done
from setpoint.models.batch_v1 import Job


class FinishedJobs:
    """Deletes finished Jobs and their pods after ``ttlSecondsAfterFinished``. Jobs without this setting are kept."""

    def __init__(self) -> None:
        self.controller = Controller(Job, self._reconcile, name="ttl-after-finished", leader_only=False)

    async def _reconcile(self, job: Job, ctx: Context) -> Outcome:
        ttl = job.spec.ttl_seconds_after_finished
        ends = [
            condition.last_transition_time
            for condition in job.status.conditions
            if condition.type in ("Complete", "Failed")
            and condition.status == "True"
            and condition.last_transition_time is not None
        ]
        if ttl is None or not ends:
            return done()
        remaining = ttl - (ctx.now() - min(ends)).total_seconds()
        if remaining > 0:
            return after(remaining, "the Job has finished, and is deleted after ttlSecondsAfterFinished")
        await ctx.delete(job, propagation="Foreground")
        return done()
