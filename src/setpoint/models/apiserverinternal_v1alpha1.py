# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""internal.apiserver.k8s.io/v1alpha1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class ServerStorageVersion(ApiModel):
    """An API server instance reports the version it can decode and the version it encodes objects to when persisting
    objects in the backend.
    """

    api_server_id: str = msgspec.field(name="apiServerID")
    """apiServerID is the ID of the reporting API server."""
    decodable_versions: list[str]
    """decodableVersions are the encoding versions the API server can handle to decode."""
    encoding_version: str
    """encodingVersion the API server encodes the object to when persisting it in the backend (e.g., etcd)."""
    served_versions: list[str] = []
    """servedVersions lists all versions the API server can serve."""


class StorageVersionCondition(ApiModel):
    """Describes the state of the storageVersion at a certain point."""

    last_transition_time: datetime | None = None
    """lastTransitionTime is the last time the condition transitioned from one status to another."""
    message: str
    """message is a human readable string indicating details about the transition."""
    observed_generation: int | None = None
    """observedGeneration represents the .metadata.generation that the condition was set based upon, if field is set."""
    reason: str
    """reason for the condition's last transition."""
    status: str
    """status of the condition, one of True, False, Unknown."""
    type: str
    """type of the condition."""


class StorageVersionSpec(ApiModel):
    """StorageVersionSpec is an empty spec."""


class StorageVersionStatus(ApiModel):
    """API server instances report the versions they can decode and the version they encode objects to when persisting
    objects in the backend.
    """

    common_encoding_version: str | None = None
    """commonEncodingVersion is set to an encoding storage version if all API server instances share that same version.
    """
    conditions: list[StorageVersionCondition] = []
    """conditions lists the latest available observations of the storageVersion's state."""
    storage_versions: list[ServerStorageVersion] = []
    """storageVersions lists the reported versions per API server instance."""


class StorageVersion(Object, ApiModel):
    """Storage version of a specific resource."""

    resource: ClassVar[Resource] = _table.INTERNAL_V1ALPHA1_STORAGE_VERSION

    spec: StorageVersionSpec = msgspec.field(default_factory=StorageVersionSpec)
    """spec is an empty spec. It is here to comply with Kubernetes API style."""
    status: StorageVersionStatus = msgspec.field(default_factory=StorageVersionStatus)
    """status on the version the API server instance can decode from and encode objects to when persisting objects in
    the backend.
    """


class StorageVersionList(KindList[StorageVersion]):
    """A list of StorageVersions."""

    api_version: ClassVar[str] = "internal.apiserver.k8s.io/v1alpha1"
    kind: ClassVar[str] = "StorageVersionList"
