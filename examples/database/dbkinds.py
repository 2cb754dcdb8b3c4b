"""dbkinds.py: Database, as users write it, in two versions."""

from datetime import datetime
from typing import Annotated

import setpoint as sp
from setpoint.models.core_v1 import ResourceRequirements

GROUP = "data.example.com"
Schedule = Annotated[str, sp.Field(pattern=r"^(\S+ ){4}\S+$")]
FileName = Annotated[str, sp.Field(pattern=r"^[A-Za-z0-9._-]*$", max_length=200)]

PATIENCE = sp.ValidationRule(
    rule="duration(self) >= duration('5s') && duration(self) <= duration('1h')", message="must be 5s to 1h"
)


class DatabaseStatus(sp.ConditionedStatus):
    host: str = ""
    """The name under which clients reach the database."""
    secret: str = ""
    """The Secret with the password of the user ``postgres``."""
    last_backup: datetime | None = None
    primary: str = ""
    """The pod of the server that is chosen to be the primary."""
    primary_lost: datetime | None = None
    """Since when that pod is not ready, or gone."""


class DatabaseV1alpha1Spec(sp.Model):
    size: sp.Quantity = sp.Quantity("10Gi")
    image: str = "postgres:18"
    schedule: Schedule | None = None


class DatabaseV1alpha1(
    sp.CustomResource,
    group=GROUP,
    version="v1alpha1",
    kind="Database",
    storage=False,
    short_names=("db",),
    columns=(sp.Column("Size", ".spec.size"), sp.Column("Ready", '.status.conditions[?(@.type=="Ready")].status')),
):
    """A PostgreSQL database."""

    spec: DatabaseV1alpha1Spec = DatabaseV1alpha1Spec()
    status: DatabaseStatus = DatabaseStatus()


class Backup(sp.Model):
    schedule: Schedule | None = None
    """The times of backups, as in a crontab; without them there are none."""
    claim: str = ""
    """The PersistentVolumeClaim that backups are kept in, which stays when the database goes; by default
    ``NAME-backups``."""


class DatabaseSpec(sp.Model):
    storage: sp.Quantity = sp.Quantity("10Gi")
    image: str = "postgres:18"
    backup: Backup = Backup()
    replicas: Annotated[int, sp.Field(ge=1, le=5)] = 1
    """The number of servers: one primary, and standbys that follow it."""
    failover_after: Annotated[sp.Duration, sp.Field(rules=[PATIENCE])] = sp.Duration(seconds=30)
    """The time for which a primary may be away before another server takes over."""
    resources: ResourceRequirements = ResourceRequirements(requests={"cpu": "100m", "memory": "256Mi"})
    """The requests and limits of each server; a namespace with a quota refuses pods that request nothing."""
    restore_from: FileName = ""
    """The file of a backup to begin with."""


class Database(
    sp.CustomResource,
    group=GROUP,
    version="v1",
    short_names=("db",),
    columns=(
        sp.Column("Storage", ".spec.storage"),
        sp.Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        sp.Column("Primary", ".status.primary"),
        sp.Column("Backup", ".status.lastBackup"),
    ),
    conversions=(
        sp.Conversion(DatabaseV1alpha1)
        .rename("spec.size", "spec.storage")
        .rename("spec.schedule", "spec.backup.schedule")
        .add("spec.backup.claim")
        .add("spec.replicas")
        .add("spec.failoverAfter")
        .add("spec.resources")
        .add("spec.restoreFrom"),
    ),
):
    """A PostgreSQL database, with a password of its own and backups."""

    spec: DatabaseSpec = DatabaseSpec()
    status: DatabaseStatus = DatabaseStatus()
