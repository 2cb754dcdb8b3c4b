"""The tests of database.py."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from database import admission, controller, controller_of
from dbkinds import Backup, Database, DatabaseSpec, DatabaseV1alpha1, DatabaseV1alpha1Spec

import setpoint as sp
from setpoint.client import Invalid
from setpoint.cluster import PodBehaviour
from setpoint.crd import Versions, verify
from setpoint.models.apps_v1 import StatefulSet
from setpoint.models.batch_v1 import CronJob, Job
from setpoint.models.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    Secret,
    Service,
    VolumeResourceRequirements,
)

NIGHTLY = Backup(schedule="0 3 * * *")
CHILDREN: list[type[sp.Object]] = [StatefulSet, Service, Secret, CronJob, Job, Pod, PersistentVolumeClaim]


def database(spec: DatabaseSpec | None = None, name: str = "orders") -> Database:
    return Database.named(name, "default", spec=spec or DatabaseSpec())


def backups() -> PersistentVolumeClaim:
    """The claim of the backups, which is the user's."""
    resources = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources)
    return PersistentVolumeClaim.named("orders-backups", "default", spec=spec)


def reason(database_: Database, type: str) -> str:
    return next((condition.reason for condition in database_.status.conditions if condition.type == type), "")


@sp.testing.virtual_time
async def test_a_database_has_all_its_children_and_says_when_it_serves() -> None:
    async with sp.testing.cluster(controller, webhooks=[admission]) as cluster:
        await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
        await cluster.settle()
        database_ = await cluster.get(Database, "orders")
        assert database_.spec.backup.claim == "orders-backups", "the webhook has filled it in"
        assert (database_.status.host, database_.status.secret) == ("orders.default.svc", "orders-password")
        assert reason(database_, "Ready") == "Serving"
        assert database_.status.observed_generation == database_.metadata.generation
        assert (await cluster.get(Service, "orders")).spec.cluster_ip == "None"
        assert len((await cluster.get(Secret, "orders-password")).data["password"]) >= 32
        assert (await cluster.get(CronJob, "orders-backup")).spec.schedule == "0 3 * * *"
        assert [pod.name for pod in await cluster.list(Pod)] == ["orders-0"]
        assert [claim.name for claim in await cluster.list(PersistentVolumeClaim)] == ["data-orders-0"]


@sp.testing.virtual_time
async def test_the_password_is_never_written_anew() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(database())
        await cluster.settle()
        first = await cluster.get(Secret, "orders-password")
        await cluster.apply(database(DatabaseSpec(image="postgres:19")))
        await cluster.settle()
        again = await cluster.get(Secret, "orders-password")
        assert again.metadata.resource_version == first.metadata.resource_version
        await cluster.delete(again)
        await cluster.settle()
        assert await cluster.find(Secret, "orders-password") is None, "another password would open nothing"
        assert reason(await cluster.get(Database, "orders"), "Ready") == "PasswordLost"
        await cluster.create(Secret.named("orders-password", "default", data=first.data))
        await cluster.apply(database(DatabaseSpec(image="postgres:20")))
        await cluster.settle()
        assert reason(await cluster.get(Database, "orders"), "Ready") == "Serving"


@sp.testing.virtual_time
async def test_backups_are_made_on_time_and_end_with_their_schedule() -> None:
    async with sp.testing.cluster(controller, objects=[backups()]) as cluster:
        applied = await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
        await cluster.settle()

        async def backed_up() -> bool:
            return (await cluster.get(Database, "orders")).status.last_backup is not None

        await cluster.until(backed_up, within=timedelta(days=2).total_seconds())
        last = (await cluster.get(Database, "orders")).status.last_backup
        assert last is not None
        assert (last.hour, last.minute) == (3, 0)
        await cluster.apply(database(DatabaseSpec(backup=Backup())))
        await cluster.settle()
        assert await cluster.list(CronJob) == []
        assert (await cluster.get(Database, "orders")).uid == applied.uid


@sp.testing.virtual_time
async def test_a_new_database_begins_with_a_backup() -> None:
    async with sp.testing.cluster(controller, webhooks=[admission]) as cluster:
        await cluster.apply(database(DatabaseSpec(restore_from="old-20260101-030000.sql")))
        await cluster.settle()
        pod = await cluster.get(Pod, "orders-0")
        (mount,) = [mount_ for mount_ in pod.spec.containers[0].volume_mounts if mount_.name == "backups"]
        assert mount.mount_path == "/docker-entrypoint-initdb.d/old-20260101-030000.sql"
        claims = [volume.persistent_volume_claim for volume in pod.spec.volumes]
        assert "orders-backups" in [claim.claim_name for claim in claims if claim is not None]


@sp.testing.virtual_time
async def test_it_goes_after_a_last_backup_and_leaves_nothing() -> None:
    async with sp.testing.cluster(controller, webhooks=[admission], objects=[backups()]) as cluster:
        await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
        await cluster.settle()
        await cluster.delete(await cluster.get(Database, "orders"))
        serving: set[bool] = set()

        async def is_gone() -> bool:
            job = await cluster.find(Job, "orders-last-backup")
            if job is not None and not job.is_deleting and not job.status.succeeded:
                serving.add(await cluster.find(Pod, "orders-0") is not None)
            return await cluster.find(Database, "orders") is None

        await cluster.until(is_gone)
        await cluster.settle()
        assert serving == {True}, "the database is there as long as the backup needs it"
        names = {child.name for kind in CHILDREN for child in await cluster.list(kind)}
        assert names == {"orders-backups"}, "the backups are the user's"


@sp.testing.virtual_time
async def test_it_says_which_job_its_end_waits_for() -> None:
    async with sp.testing.cluster(controller) as cluster:  # without the claim no pod of the Job is scheduled
        await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
        await cluster.settle()
        await cluster.delete(await cluster.get(Database, "orders"))
        await cluster.settle()
        current = await cluster.get(Database, "orders")
        assert reason(current, "LastBackup") == "Waiting"
        assert any("Job orders-last-backup" in condition.message for condition in current.status.conditions)


@sp.testing.virtual_time
async def test_it_stays_when_the_last_backup_fails_until_its_user_does_without() -> None:
    def failing(pod: Pod) -> PodBehaviour | None:
        return PodBehaviour(exit_codes=(1,)) if "last-backup" in pod.name else None

    async with sp.testing.cluster(controller, behaviour=failing, objects=[backups()]) as cluster:
        await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
        await cluster.settle()
        await cluster.delete(await cluster.get(Database, "orders"))

        async def has_failed() -> bool:
            return reason(await cluster.get(Database, "orders"), "LastBackup") == "Failed"

        await cluster.until(has_failed)
        assert await cluster.find(StatefulSet, "orders") is not None
        current = await cluster.get(Database, "orders")
        current.spec.backup.schedule = None
        await cluster.update(current)
        await cluster.settle()
        assert await cluster.list(Database) == []


@sp.testing.virtual_time
async def test_both_versions_can_be_read_and_written() -> None:
    async with sp.testing.cluster(controller, webhooks=[admission]) as cluster:
        old = DatabaseV1alpha1Spec(size=sp.Quantity("1Gi"), schedule="0 3 * * *")
        await cluster.apply(DatabaseV1alpha1.named("orders", "default", spec=old))
        await cluster.settle()
        new = await cluster.get(Database, "orders")
        assert (new.spec.storage, new.spec.backup.schedule) == (sp.Quantity("1Gi"), "0 3 * * *")
        assert reason(new, "Ready") == "Serving"
        read = await cluster.get(DatabaseV1alpha1, "orders")
        assert (read.spec.size, read.spec.schedule) == (sp.Quantity("1Gi"), "0 3 * * *")


def test_no_value_is_lost_between_versions() -> None:
    verify(Versions.of(Database))


@sp.testing.virtual_time
async def test_what_can_not_be_changed_is_refused() -> None:
    async with sp.testing.cluster(controller, webhooks=[admission]) as cluster:
        await cluster.apply(database())
        await cluster.settle()
        current = await cluster.get(Database, "orders")
        current.spec.storage, current.spec.restore_from = sp.Quantity("20Gi"), "a.sql"
        with pytest.raises(Invalid) as refused:
            await cluster.update(current)
        assert [cause.field for cause in refused.value.causes] == ["spec.storage", "spec.restoreFrom"]
        with pytest.raises(Invalid, match="no more than 40 characters"):
            await cluster.create(database(name="o" * 41))
        with pytest.raises(Invalid, match=r"spec\.backup\.schedule"):
            await cluster.create(database(DatabaseSpec(backup=Backup(schedule="nightly"))))


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(database(DatabaseSpec(backup=NIGHTLY)))
    await cluster.settle()
    await cluster.apply(database(DatabaseSpec(image="postgres:19", backup=NIGHTLY)))
    await cluster.settle()
    await cluster.delete(await cluster.get(Database, "orders"))
    await cluster.settle()
    await cluster.apply(database())
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario,
        lambda: [controller_of(lambda: "a password")],
        control_plane=["statefulset", "job", "garbage-collector", "persistentvolumeclaim-protection"],
        webhooks=[admission],
        budget=budget,
        **options,
    )
