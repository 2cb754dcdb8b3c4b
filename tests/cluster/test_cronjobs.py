"""CronJobs, and the schedules that they follow."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cluster.workloads import job

from setpoint.client import Invalid
from setpoint.cluster.workloads.cron_schedule import Cron
from setpoint.meta import Object
from setpoint.models.batch_v1 import CronJob, CronJobSpec, Job, JobTemplateSpec
from setpoint.models.core_v1 import ResourceQuota, ResourceQuotaSpec
from setpoint.models.events_v1 import Event
from setpoint.schema.cron import CronError
from setpoint.testing import advance, cluster, virtual_time


def cron_job(schedule: str = "*/5 * * * *", *, seconds: str | None = None, fails: bool = False, **spec: Any) -> CronJob:
    annotations = {"hollow.setpoint.io/run-seconds": seconds} if seconds else {}
    if fails:
        annotations["hollow.setpoint.io/exit-code"] = "1"
    template = JobTemplateSpec(spec=job(annotations=annotations, backoff_limit=0).spec)
    return CronJob.named("tick", "default", spec=CronJobSpec(schedule=schedule, job_template=template, **spec))


def names(objects: Any) -> list[str]:
    current_objects: list[Object] = list(objects)
    return [current_obj.name for current_obj in current_objects]


@virtual_time
async def test_a_job_begins_at_each_time_and_some_are_kept() -> None:
    async with cluster() as world:
        await world.create(cron_job())
        await advance(299)
        assert await world.list(Job) == []
        await advance(1.5)
        (first,) = await world.list(Job)
        due = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
        assert first.name == f"tick-{int(due.timestamp()) // 60}"
        assert first.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2026-01-01T00:05:00Z"
        new_cron_job = await world.get(CronJob, "tick")
        assert new_cron_job.status.last_schedule_time == due
        assert names(new_cron_job.status.active) == [first.name]
        await advance(10)
        new_cron_job = await world.get(CronJob, "tick")
        assert new_cron_job.status.active == []
        assert new_cron_job.status.last_successful_time is not None
        await advance(3600)
        await world.settle()
        assert len(await world.list(Job)) == 3
        events = await world.list(Event)
        reasons = {event.reason for event in events if event.regarding and event.regarding.kind == "CronJob"}
        assert {"SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"} <= reasons


@pytest.mark.parametrize(("policy", "active"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
@virtual_time
async def test_jobs_that_overlap_are_allowed_forbidden_or_replaced(policy: str, active: int) -> None:
    async with cluster() as world:
        await world.create(cron_job(seconds="10000", concurrency_policy=policy))
        await advance(301)
        (first,) = await world.list(Job)
        await advance(600)
        await world.settle()
        current_names = names(await world.list(Job))
        assert len(current_names) == active
        assert (first.name in current_names) is (policy != "Replace")
        assert len((await world.get(CronJob, "tick")).status.active) == active


async def reasons_and_notes(world: Any) -> dict[str, str]:
    """The events about CronJobs: the last note of each reason."""
    events = await world.list(Event)
    return {event.reason: event.note for event in events if event.regarding and event.regarding.kind == "CronJob"}


@virtual_time
async def test_a_job_that_may_not_start_beside_another_one_and_one_that_is_missing_are_told() -> None:
    async with cluster(control_plane=["cronjob-controller"]) as world:
        await world.create(cron_job(concurrency_policy="Forbid"))
        await advance(601)
        (first,) = await world.list(Job)
        forbidden = "Not starting job because prior execution is running and concurrency policy is Forbid"
        assert (await reasons_and_notes(world))["JobAlreadyActive"] == forbidden
        await world.delete(first, propagation="Background")
        await advance(1)
        assert (await reasons_and_notes(world))["MissingJob"] == f"Active job went missing: {first.name}"


@virtual_time
async def test_more_missed_times_than_can_be_made_up_for_are_told() -> None:
    async with cluster(control_plane=["cronjob-controller"]) as world:
        await world.create(cron_job("* * * * *", suspend=True))
        await advance(101 * 60)
        resumed = await world.get(CronJob, "tick")
        resumed.spec.suspend = False
        await world.update(resumed)
        await advance(1)
        assert (await reasons_and_notes(world))["TooManyMissedTimes"].startswith("too many missed start times. Set or ")
        assert len(await world.list(Job)) == 1


@virtual_time
async def test_a_job_that_can_not_be_created_is_told() -> None:
    async with cluster(control_plane=["cronjob-controller", "resourcequota-controller"]) as world:
        await world.create(
            ResourceQuota.named("none", "default", spec=ResourceQuotaSpec(hard={"count/jobs.batch": "0"}))
        )
        await advance(1)
        await world.create(cron_job())
        await advance(301)
        assert "Error creating job: " in (await reasons_and_notes(world))["FailedCreate"]
        assert "exceeded quota: none" in (await reasons_and_notes(world))["FailedCreate"]


@virtual_time
async def test_failed_jobs_have_a_history_of_their_own() -> None:
    async with cluster() as world:
        await world.create(cron_job(fails=True, failed_jobs_history_limit=2))
        await advance(3000)
        await world.settle()
        assert len(await world.list(Job)) == 2
        assert (await world.get(CronJob, "tick")).status.last_successful_time is None


@virtual_time
async def test_a_pause_makes_up_for_the_latest_time_unless_that_is_too_long_ago() -> None:
    for deadline, made_up in ((None, 1), (30, 0)):
        async with cluster() as world:
            await world.create(cron_job(suspend=True, starting_deadline_seconds=deadline))
            await advance(1000)
            assert await world.list(Job) == []
            new_cron_job = await world.get(CronJob, "tick")
            new_cron_job.spec.suspend = False
            await world.update(new_cron_job)
            await world.settle()
            assert len(await world.list(Job)) == made_up


@virtual_time
async def test_a_schedule_is_in_its_time_zone() -> None:
    async with cluster() as world:
        await world.create(cron_job("30 6 * * *", time_zone="Asia/Kathmandu"))
        await advance(2700 - 1)  # 00:45 UTC is 06:30 there
        assert await world.list(Job) == []
        await advance(2)
        (first,) = await world.list(Job)
        stamp = first.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert stamp == "2026-01-01T06:30:00+05:45"


@pytest.mark.parametrize(
    ("schedule", "after", "following"),
    [
        ("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
        ("*/15 * * * *", "2026-01-01T00:46:00", "2026-01-01T01:00:00"),
        ("5/20 * * * *", "2026-01-01T00:26:00", "2026-01-01T00:45:00"),
        ("0 0 31 * *", "2026-01-31T00:00:00", "2026-03-31T00:00:00"),
        ("0 0 29 feb ?", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 12 * * mon-fri", "2026-01-02T12:00:00", "2026-01-05T12:00:00"),
        ("0 0 13 * fri", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("0 0 */2 * fri", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("@hourly", "2026-01-01T00:30:00", "2026-01-01T01:00:00"),
        ("@weekly", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
        ("@every 1h30m", "2026-01-01T00:00:00", "2026-01-01T01:30:00"),
        ("@every -5s", "2026-01-01T00:00:00", "2026-01-01T00:00:01"),
        ("1,, * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
        ("0,30 8-10/2 * * *", "2026-01-01T08:30:00", "2026-01-01T10:00:00"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, after: str, following: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert Cron.parse(schedule).after(moment) == datetime.fromisoformat(following).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "schedule",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* * * * 7", "*/0 * * * *", "a * * * *", "5-1 * * * *", "@never",
     "@every x", "* * 0 * *", "٣ * * * *", "@every 99999999999999h", "-1 * * * *"],
)  # fmt: skip
def test_a_schedule_that_is_none_is_told(schedule: str) -> None:
    with pytest.raises(CronError):
        Cron.parse(schedule)


def test_a_day_that_never_comes_has_no_time() -> None:
    assert Cron.parse("0 0 30 feb *").after(datetime(2026, 1, 1, tzinfo=UTC)) is None


def test_times_that_clocks_leave_out_are_left_out_and_those_that_come_twice_count_twice() -> None:
    zone = ZoneInfo("Europe/Berlin")
    schedule = Cron.parse("30 2 * * *")
    spring = schedule.after(datetime(2026, 3, 28, 12, tzinfo=UTC), zone)
    assert spring == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    first = schedule.after(datetime(2026, 10, 24, 12, tzinfo=UTC), zone)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert schedule.after(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), zone) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("minutes", [0, 30, 59])
@virtual_time
async def test_jobs_every_hour_begin_on_the_hour_whatever_else_happens_to_the_cron_job(minutes: int) -> None:
    async with cluster() as world:
        new_cron_job = await world.create(
            cron_job("@every 1h", seconds=str(60 * minutes), successful_jobs_history_limit=100)
        )
        for hour in range(4):
            await advance(50 * 60)
            await world.client.patch(
                CronJob, "tick", {"metadata": {"labels": {"hour": str(hour)}}}, namespace="default"
            )
            await advance(10 * 60)
        await advance(60)
        began = new_cron_job.metadata.creation_timestamp
        assert began is not None
        delays = [
            job.metadata.creation_timestamp - began for job in await world.list(Job) if job.metadata.creation_timestamp
        ]
        assert sorted(delays) == [timedelta(hours=hours) for hours in (1, 2, 3, 4)]


def test_times_of_every_are_counted_from_the_last_one() -> None:
    since = datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)
    cron = Cron.parse("@every 90s")
    assert cron.last(since, since + timedelta(seconds=89)) is None
    assert cron.last(since, since + timedelta(seconds=90)) == since + timedelta(seconds=90)
    assert cron.last(since, since + timedelta(days=400, seconds=1)) == since + timedelta(days=400)


def test_the_latest_time_is_found_however_long_ago_the_last_one_was() -> None:
    since, until = datetime(2020, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 2, 30, tzinfo=UTC)
    assert Cron.parse("* * * * *").last(since, until) == datetime(2026, 1, 1, 0, 2, tzinfo=UTC)
    assert Cron.parse("0 0 29 2 *").last(since, until) == datetime(2024, 2, 29, tzinfo=UTC)
    assert Cron.parse("0 0 30 2 *").last(since, until) is None
    assert Cron.parse("* * * * *").missed(since, until, most=101) == 101


@virtual_time
async def test_a_schedule_or_zone_that_the_server_once_took_and_is_none_ends_nobody() -> None:
    async with cluster() as world:
        for name, zone in (("one", "Nowhere/Land"), ("two", "../../etc/passwd")):
            new_cron_job = cron_job(time_zone=zone)
            new_cron_job.metadata.name = name
            with suppress(Invalid):  # the server may refuse; what it takes must not harm
                await world.create(new_cron_job)
        await world.create(cron_job())
        await advance(301)
        assert len(await world.list(Job)) >= 1


@virtual_time
async def test_a_job_that_somebody_else_made_for_it_is_told_and_does_not_count() -> None:
    async with cluster() as world:
        await world.create(cron_job(seconds="100", concurrency_policy="Forbid"))
        parent = await world.get(CronJob, "tick")
        by_hand = job("manual", annotations={"hollow.setpoint.io/run-seconds": "400"})
        by_hand.metadata.owner_references = [parent.owner_reference(block_owner_deletion=False)]
        await world.create(by_hand)
        await advance(301)
        current_cron_job = await world.get(CronJob, "tick")
        assert len(current_cron_job.status.active) == 1
        assert current_cron_job.status.active[0].name != "manual"
        assert "Saw a job that the controller did not create or forgot: manual" in {
            event.note for event in await world.list(Event) if event.reason == "UnexpectedJob"
        }


@virtual_time
async def test_a_zone_that_does_not_exist_is_reported_by_name() -> None:
    async with cluster() as world:
        await world.create(cron_job())
        stored = world.server.storage.get("cronjobs.batch", "default", "tick")
        assert stored is not None
        value = stored.value.replace(b'"schedule":', b'"timeZone":"Nowhere/Land","schedule":')
        world.server.storage.put("cronjobs.batch", "default", "tick", lambda _: value, expected=stored.revision)
        await world.settle()
        notes = {event.note for event in await world.list(Event) if event.reason == "UnknownTimeZone"}
        assert notes == {'invalid timeZone: "Nowhere/Land": unknown time zone Nowhere/Land'}
