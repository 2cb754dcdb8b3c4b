# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""resource.k8s.io/v1beta2."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.resource_v1 import (
    AllocatedDeviceStatus as AllocatedDeviceStatus,
    AllocationResult as AllocationResult,
    CELDeviceSelector as CELDeviceSelector,
    CapacityRequestPolicy as CapacityRequestPolicy,
    CapacityRequestPolicyRange as CapacityRequestPolicyRange,
    CapacityRequirements as CapacityRequirements,
    Counter as Counter,
    CounterSet as CounterSet,
    Device as Device,
    DeviceAllocationConfiguration as DeviceAllocationConfiguration,
    DeviceAllocationResult as DeviceAllocationResult,
    DeviceAttribute as DeviceAttribute,
    DeviceCapacity as DeviceCapacity,
    DeviceClaim as DeviceClaim,
    DeviceClaimConfiguration as DeviceClaimConfiguration,
    DeviceClassConfiguration as DeviceClassConfiguration,
    DeviceClassSpec as DeviceClassSpec,
    DeviceConstraint as DeviceConstraint,
    DeviceCounterConsumption as DeviceCounterConsumption,
    DeviceDerivedAttribute as DeviceDerivedAttribute,
    DeviceRequest as DeviceRequest,
    DeviceRequestAllocationResult as DeviceRequestAllocationResult,
    DeviceSelector as DeviceSelector,
    DeviceSubRequest as DeviceSubRequest,
    DeviceTaint as DeviceTaint,
    DeviceTaintRuleSpec as DeviceTaintRuleSpec,
    DeviceTaintRuleStatus as DeviceTaintRuleStatus,
    DeviceTaintSelector as DeviceTaintSelector,
    DeviceToleration as DeviceToleration,
    ExactDeviceRequest as ExactDeviceRequest,
    NetworkDeviceData as NetworkDeviceData,
    NodeAllocatableMapping as NodeAllocatableMapping,
    NodeAllocatableOverhead as NodeAllocatableOverhead,
    NodeAllocatableResource as NodeAllocatableResource,
    OpaqueDeviceConfiguration as OpaqueDeviceConfiguration,
    ResourceClaimConsumerReference as ResourceClaimConsumerReference,
    ResourceClaimSpec as ResourceClaimSpec,
    ResourceClaimStatus as ResourceClaimStatus,
    ResourceClaimTemplateSpec as ResourceClaimTemplateSpec,
    ResourcePool as ResourcePool,
    ResourceSliceSpec as ResourceSliceSpec,
)


class DeviceClass(Object, ApiModel):
    """DeviceClass is a vendor- or admin-provided resource that contains device configuration and selectors. It can be
    referenced in the device requests of a claim to apply these presets. Cluster scoped.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA2_DEVICE_CLASS

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
    """Spec defines what can be allocated and how to configure it."""


class DeviceTaintRule(Object, ApiModel):
    """DeviceTaintRule adds one taint to all devices which match the selector. This has the same effect as if the taint
    was specified directly in the ResourceSlice by the DRA driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA2_DEVICE_TAINT_RULE

    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=lambda: DeviceTaintRuleSpec(taint=DeviceTaint(effect="", key="")))
    """Spec specifies the selector and one taint."""
    status: DeviceTaintRuleStatus = msgspec.field(default_factory=DeviceTaintRuleStatus)
    """Status provides information about what was requested in the spec."""


class ResourceClaim(Object, ApiModel):
    """ResourceClaim describes a request for access to resources in the cluster, for use by workloads. For example, if a
    workload needs an accelerator device with specific properties, this is how that request is expressed. The status
    stanza tracks whether this claim has been satisfied and what specific resources have been allocated.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA2_RESOURCE_CLAIM

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    """Spec describes what is being requested and how to configure it."""
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)
    """Status describes whether the claim is ready to use and what has been allocated."""


class ResourceClaimTemplate(Object, ApiModel):
    """ResourceClaimTemplate is used to produce ResourceClaim objects."""

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA2_RESOURCE_CLAIM_TEMPLATE

    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=lambda: ResourceClaimTemplateSpec(spec=ResourceClaimSpec()))
    """Describes the ResourceClaim that is to be generated."""


class ResourceSlice(Object, ApiModel):
    """ResourceSlice represents one or more resources in a pool of similar resources, managed by a common driver. A pool
    may span more than one ResourceSlice, and exactly how many ResourceSlices comprise a pool is determined by the
    driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA2_RESOURCE_SLICE

    spec: ResourceSliceSpec = msgspec.field(default_factory=lambda: ResourceSliceSpec(driver="", pool=ResourcePool(generation=0, name="", resource_slice_count=0)))
    """Contains the information published by the driver."""


class DeviceClassList(KindList[DeviceClass]):
    """DeviceClassList is a collection of classes."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "DeviceClassList"


class DeviceTaintRuleList(KindList[DeviceTaintRule]):
    """DeviceTaintRuleList is a collection of DeviceTaintRules."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "DeviceTaintRuleList"


class ResourceClaimList(KindList[ResourceClaim]):
    """ResourceClaimList is a collection of claims."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "ResourceClaimList"


class ResourceClaimTemplateList(KindList[ResourceClaimTemplate]):
    """ResourceClaimTemplateList is a collection of claim templates."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "ResourceClaimTemplateList"


class ResourceSliceList(KindList[ResourceSlice]):
    """ResourceSliceList is a collection of ResourceSlices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "ResourceSliceList"
