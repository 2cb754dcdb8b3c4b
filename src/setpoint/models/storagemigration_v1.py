# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""storagemigration.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.meta_v1 import GroupResource


class StorageVersionMigrationSpec(ApiModel):
    """Spec of the storage version migration."""

    resource: GroupResource
    """The resource that is being migrated. The migrator sends requests to the endpoint serving the resource. Immutable.
    """


class StorageVersionMigrationStatus(ApiModel):
    """Status of the storage version migration."""

    conditions: list[Condition] = []
    """The latest available observations of the migration's current state."""
    resource_version: str | None = None
    """ResourceVersion to compare with the GC cache for performing the migration."""


class StorageVersionMigration(Object, ApiModel):
    """StorageVersionMigration represents a migration of stored data to the latest storage version."""

    resource: ClassVar[Resource] = _table.STORAGEMIGRATION_V1_STORAGE_VERSION_MIGRATION

    spec: StorageVersionMigrationSpec = msgspec.field(default_factory=lambda: StorageVersionMigrationSpec(resource=GroupResource(group="", resource="")))
    """Specification of the migration."""
    status: StorageVersionMigrationStatus = msgspec.field(default_factory=StorageVersionMigrationStatus)
    """Status of the migration."""


class StorageVersionMigrationList(KindList[StorageVersionMigration]):
    """StorageVersionMigrationList is a collection of storage version migrations."""

    api_version: ClassVar[str] = "storagemigration.k8s.io/v1"
    kind: ClassVar[str] = "StorageVersionMigrationList"
