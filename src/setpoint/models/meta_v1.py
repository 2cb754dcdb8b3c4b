# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""Types that all groups share: options, discovery, metadata (meta.k8s.io/v1)."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from setpoint.meta import (
    ApiModel,
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    ListMeta,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
    Status,
    StatusCause,
    StatusDetails,
)

__all__ = [
    "APIGroup",
    "APIGroupList",
    "APIResource",
    "APIResourceList",
    "APIVersions",
    "Condition",
    "DeleteOptions",
    "FieldSelectorRequirement",
    "GroupResource",
    "GroupVersionForDiscovery",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
    "Preconditions",
    "ServerAddressByClientCIDR",
    "ShardInfo",
    "Status",
    "StatusCause",
    "StatusDetails",
    "VersionInfo",
    "WatchEvent",
]


class APIResource(ApiModel):
    """APIResource specifies the name of a resource and whether it is namespaced."""

    categories: list[str] = []
    """categories is a list of the grouped resources this resource belongs to (e.g. 'all')"""
    group: str | None = None
    """group is the preferred group of the resource."""
    kind: str
    """kind is the kind for the resource (e.g. 'Foo' is the kind for a resource 'foo')"""
    name: str
    """name is the plural name of the resource."""
    namespaced: bool
    """namespaced indicates if a resource is namespaced or not."""
    short_names: list[str] = []
    """shortNames is a list of suggested short names of the resource."""
    singular_name: str
    """singularName is the singular name of the resource."""
    storage_version_hash: str | None = None
    """The hash value of the storage version, the version this resource is converted to when written to the data store.
    """
    verbs: list[str]
    """verbs is a list of supported kube verbs (this includes get, list, watch, create, update, patch, delete,
    deletecollection, and proxy)
    """
    version: str | None = None
    """version is the preferred version of the resource."""


class FieldSelectorRequirement(ApiModel):
    """FieldSelectorRequirement is a selector that contains values, a key, and an operator that relates the key and
    values.
    """

    key: str
    """key is the field selector key that the requirement applies to."""
    operator: str
    """operator represents a key's relationship to a set of values."""
    values: list[str] = []
    """values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the
    operator is Exists or DoesNotExist, the values array must be empty.
    """


class GroupResource(ApiModel):
    """GroupResource specifies a Group and a Resource, but does not force a version. This is useful for identifying
    concepts during lookup stages without having partially valid types
    """

    group: str
    resource: str


class GroupVersionForDiscovery(ApiModel):
    """GroupVersion contains the "group/version" and "version" string of a version. It is made a struct to keep
    extensibility.
    """

    group_version: str
    """groupVersion specifies the API group and version in the form "group/version\""""
    version: str
    """version specifies the version in the form of "version"."""


class Preconditions(ApiModel):
    """Preconditions must be fulfilled before an operation (update, delete, etc.) is carried out."""

    resource_version: str | None = None
    """Specifies the target ResourceVersion"""
    uid: str | None = None
    """Specifies the target UID."""


class ServerAddressByClientCIDR(ApiModel):
    """ServerAddressByClientCIDR helps the client to determine the server address that they should use, depending on the
    clientCIDR that they match.
    """

    client_cidr: str = msgspec.field(name="clientCIDR")
    """The CIDR with which clients can match their IP to figure out the server address that they should use."""
    server_address: str
    """Address of this server, suitable for a client that matches the above CIDR."""


class ShardInfo(ApiModel):
    """ShardInfo describes the shard selector that was applied to produce a list response. Its presence on a list
    response indicates the list is a filtered subset.
    """

    selector: str
    """selector is the shard selector string from the request, echoed back so clients can verify which shard they
    received and merge responses from multiple shards.
    """


class VersionInfo(ApiModel):
    """Info contains versioning information. how we'll want to distribute that information."""

    build_date: str
    compiler: str
    emulation_major: str | None = None
    """EmulationMajor is the major version of the emulation version"""
    emulation_minor: str | None = None
    """EmulationMinor is the minor version of the emulation version"""
    git_commit: str
    git_tree_state: str
    git_version: str
    go_version: str
    major: str
    """Major is the major version of the binary version"""
    min_compatibility_major: str | None = None
    """MinCompatibilityMajor is the major version of the minimum compatibility version"""
    min_compatibility_minor: str | None = None
    """MinCompatibilityMinor is the minor version of the minimum compatibility version"""
    minor: str
    """Minor is the minor version of the binary version"""
    platform: str


class APIGroup(ApiModel):
    """APIGroup contains the name, the supported versions, and the preferred version of a group."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "APIGroup"

    name: str
    """name is the name of the group."""
    preferred_version: GroupVersionForDiscovery | None = None
    """preferredVersion is the version preferred by the API server, which probably is the storage version."""
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = msgspec.field(name="serverAddressByClientCIDRs", default=[])
    """a map of client CIDR to server address that is serving this group."""
    versions: list[GroupVersionForDiscovery]
    """versions are the versions supported in this group."""


class APIGroupList(ApiModel):
    """APIGroupList is a list of APIGroup, to allow clients to discover the API at /apis."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "APIGroupList"

    groups: list[APIGroup]
    """groups is a list of APIGroup."""


class APIResourceList(ApiModel):
    """APIResourceList is a list of APIResource, it is used to expose the name of the resources supported in a specific
    group and version, and if the resource is namespaced.
    """

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "APIResourceList"

    group_version: str
    """groupVersion is the group and version this APIResourceList is for."""
    resources: list[APIResource]
    """resources contains the name of the resources and if they are namespaced."""


class APIVersions(ApiModel):
    """APIVersions lists the versions that are available, to allow clients to discover the API at /api, which is the
    root path of the legacy v1 API.
    """

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "APIVersions"

    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = msgspec.field(name="serverAddressByClientCIDRs")
    """a map of client CIDR to server address that is serving this group."""
    versions: list[str]
    """versions are the api versions that are available."""


class DeleteOptions(ApiModel):
    """DeleteOptions may be provided when deleting an API object."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "DeleteOptions"

    dry_run: list[str] = []
    """When present, indicates that modifications should not be persisted. Valid values are: - All: all dry run stages
    will be processed
    """
    grace_period_seconds: int | None = None
    """The duration in seconds before the object should be deleted. Defaults to a per object value if not specified.
    zero means delete immediately.
    """
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    """if set to true, it will trigger an unsafe deletion of the resource in case the normal deletion flow fails with a
    corrupt object error. The default value is false, and the user must opt in to enable it
    """
    orphan_dependents: bool | None = None
    """Deprecated: please use the PropagationPolicy, this field will be deprecated in 1.7."""
    preconditions: Preconditions | None = None
    """Must be fulfilled before a deletion is carried out."""
    propagation_policy: str | None = None
    """Whether and how garbage collection will be performed. The default policy is decided by the existing finalizer set
    in the metadata.finalizers and the resource-specific default policy.
    """


class WatchEvent(ApiModel):
    """Event represents a single event to a watched resource."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "WatchEvent"

    object: Any
    """Object is: * If Type is Added or Modified: the new state of the object. * If Type is Deleted: the state of the
    object immediately before deletion. * If Type is Error: *Status is recommended; other types may make sense depending
    on context.
    """
    type: str
