# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""resource.k8s.io/v1alpha3."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.resource_v1 import (
    DeviceTaint as DeviceTaint,
    DeviceTaintRuleSpec as DeviceTaintRuleSpec,
    DeviceTaintRuleStatus as DeviceTaintRuleStatus,
    DeviceTaintSelector as DeviceTaintSelector,
)


class PartitionTypeStatus(ApiModel):
    """PartitionTypeStatus reports allocatability for a single partition type, identified by the value of a grouping
    attribute.
    """

    allocatable: int
    """Allocatable is the number of additional devices of this partition type that could still be allocated given
    current shared-counter consumption.
    """
    attribute: str
    """Attribute is the fully qualified name of the device attribute whose value groups this entry."""
    total: int
    """Total is the number of devices of this partition type in the pool."""
    type: str
    """Type is the partition type value (e.g. "Full" or "Half")."""


class PoolStatus(ApiModel):
    """PoolStatus contains status information for a single resource pool."""

    allocated_devices: int | None = None
    """AllocatedDevices is the number of devices currently allocated to claims."""
    available_devices: int | None = None
    """AvailableDevices is the number of devices available for allocation."""
    driver: str
    """Driver is the DRA driver name for this pool. Must be a DNS subdomain (e.g., "gpu.example.com")."""
    generation: int
    """Generation is the pool generation observed across all ResourceSlices in this pool."""
    node_name: str | None = None
    """NodeName is the node this pool is associated with. Must be a valid DNS subdomain name (RFC1123)."""
    partition_summary: list[PartitionTypeStatus] = []
    """PartitionSummary reports allocatability per (attribute, partition type) for a partitionable pool that publishes
    SharedCounters.
    """
    pool_name: str
    """PoolName is the name of the pool. Must be a valid resource pool name (DNS subdomains separated by "/")."""
    resource_slice_count: int | None = None
    """ResourceSliceCount is the number of ResourceSlices that make up this pool."""
    shareable_summary: ShareableSummaryStatus | None = None
    """ShareableSummary reports aggregate capacity for a pool that contains devices with AllowMultipleAllocations."""
    total_devices: int | None = None
    """TotalDevices is the total number of devices in the pool across all slices."""
    unavailable_devices: int | None = None
    """UnavailableDevices is the number of devices that are not available due to taints or other conditions, but are not
    allocated.
    """
    validation_error: str | None = None
    """ValidationError is set when the pool's data could not be fully validated (e.g., incomplete slice publication)."""


class ResourcePoolStatusRequestSpec(ApiModel):
    """ResourcePoolStatusRequestSpec defines the filters for the pool status request."""

    default_partition_type_attribute: str | None = None
    """DefaultPartitionTypeAttribute optionally names a device attribute (by its fully qualified name, e.g.
    "gpu.example.com/profile") to use as the default grouping attribute for partitionable devices whose slice has not
    declared one themselves.
    """
    driver: str
    """Driver specifies the DRA driver name to filter pools. Must be a DNS subdomain (e.g., "gpu.example.com")."""
    limit: int | None = None
    """Limit optionally specifies the maximum number of pools to return in the status."""
    pool_name: str | None = None
    """PoolName optionally filters to a specific pool name."""


class ResourcePoolStatusRequestStatus(ApiModel):
    """ResourcePoolStatusRequestStatus contains the calculated pool status information."""

    conditions: list[Condition] = []
    """Conditions provide information about the state of the request."""
    pool_count: int
    """PoolCount is the total number of pools that matched the filter criteria, regardless of truncation."""
    pools: list[PoolStatus] = []
    """Pools contains the first `spec.limit` matching pools, sorted by driver then pool name."""


class ShareableCapacityStatus(ApiModel):
    """ShareableCapacityStatus reports aggregate amounts for a single shareable capacity key."""

    available: str
    """Available is Total minus Consumed, never negative."""
    consumed: str
    """Consumed is the amount drawn by current allocations."""
    name: str
    """Name is the capacity name."""
    total: str
    """Total is the sum of this capacity across shareable devices in the pool."""


class ShareableSummaryStatus(ApiModel):
    """ShareableSummaryStatus reports aggregate capacity for a pool that contains devices with AllowMultipleAllocations.
    """

    capacity: list[ShareableCapacityStatus] = []
    """Capacity reports aggregate total, consumed, and available amounts per shareable capacity key across the pool."""
    fully_available_devices: int
    """FullyAvailableDevices is the number of shareable devices with no capacity consumed."""
    partially_available_devices: int
    """PartiallyAvailableDevices is the number of shareable devices with some but not all capacity consumed."""


class DeviceTaintRule(Object, ApiModel):
    """DeviceTaintRule adds one taint to all devices which match the selector. This has the same effect as if the taint
    was specified directly in the ResourceSlice by the DRA driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1ALPHA3_DEVICE_TAINT_RULE

    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=lambda: DeviceTaintRuleSpec(taint=DeviceTaint(effect="", key="")))
    """Spec specifies the selector and one taint."""
    status: DeviceTaintRuleStatus = msgspec.field(default_factory=DeviceTaintRuleStatus)
    """Status provides information about what was requested in the spec."""


class ResourcePoolStatusRequest(Object, ApiModel):
    """ResourcePoolStatusRequest triggers a one-time calculation of resource pool status based on the provided filters.
    Once status is set, the request is considered complete and will not be reprocessed. Users should delete and recreate
    requests to get updated information.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1ALPHA3_RESOURCE_POOL_STATUS_REQUEST

    spec: ResourcePoolStatusRequestSpec = msgspec.field(default_factory=lambda: ResourcePoolStatusRequestSpec(driver=""))
    """Spec defines the filters for which pools to include in the status."""
    status: ResourcePoolStatusRequestStatus = msgspec.field(default_factory=lambda: ResourcePoolStatusRequestStatus(pool_count=0))
    """Status is populated by the controller with the calculated pool status."""


class DeviceTaintRuleList(KindList[DeviceTaintRule]):
    """DeviceTaintRuleList is a collection of DeviceTaintRules."""

    api_version: ClassVar[str] = "resource.k8s.io/v1alpha3"
    kind: ClassVar[str] = "DeviceTaintRuleList"


class ResourcePoolStatusRequestList(KindList[ResourcePoolStatusRequest]):
    """ResourcePoolStatusRequestList is a collection of ResourcePoolStatusRequests."""

    api_version: ClassVar[str] = "resource.k8s.io/v1alpha3"
    kind: ClassVar[str] = "ResourcePoolStatusRequestList"
