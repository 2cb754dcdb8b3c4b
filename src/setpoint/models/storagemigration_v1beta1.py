# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""storagemigration.k8s.io/v1beta1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.meta_v1 import GroupResource
from setpoint.models.storagemigration_v1 import (
    StorageVersionMigrationSpec as StorageVersionMigrationSpec,
    StorageVersionMigrationStatus as StorageVersionMigrationStatus,
)


class StorageVersionMigration(Object, ApiModel):
    """StorageVersionMigration represents a migration of stored data to the latest storage version."""

    resource: ClassVar[Resource] = _table.STORAGEMIGRATION_V1BETA1_STORAGE_VERSION_MIGRATION

    spec: StorageVersionMigrationSpec = msgspec.field(default_factory=lambda: StorageVersionMigrationSpec(resource=GroupResource(group="", resource="")))
    """Specification of the migration."""
    status: StorageVersionMigrationStatus = msgspec.field(default_factory=StorageVersionMigrationStatus)
    """Status of the migration."""


class StorageVersionMigrationList(KindList[StorageVersionMigration]):
    """StorageVersionMigrationList is a collection of storage version migrations."""

    api_version: ClassVar[str] = "storagemigration.k8s.io/v1beta1"
    kind: ClassVar[str] = "StorageVersionMigrationList"
