# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""resource.k8s.io/v1beta1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, ObjectMeta, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import NodeSelector
from setpoint.models.resource_v1 import (
    AllocatedDeviceStatus as AllocatedDeviceStatus,
    AllocationResult as AllocationResult,
    CELDeviceSelector as CELDeviceSelector,
    CapacityRequestPolicy as CapacityRequestPolicy,
    CapacityRequestPolicyRange as CapacityRequestPolicyRange,
    CapacityRequirements as CapacityRequirements,
    Counter as Counter,
    CounterSet as CounterSet,
    DeviceAllocationConfiguration as DeviceAllocationConfiguration,
    DeviceAllocationResult as DeviceAllocationResult,
    DeviceAttribute as DeviceAttribute,
    DeviceCapacity as DeviceCapacity,
    DeviceClaimConfiguration as DeviceClaimConfiguration,
    DeviceClassConfiguration as DeviceClassConfiguration,
    DeviceClassSpec as DeviceClassSpec,
    DeviceConstraint as DeviceConstraint,
    DeviceCounterConsumption as DeviceCounterConsumption,
    DeviceDerivedAttribute as DeviceDerivedAttribute,
    DeviceRequestAllocationResult as DeviceRequestAllocationResult,
    DeviceSelector as DeviceSelector,
    DeviceSubRequest as DeviceSubRequest,
    DeviceTaint as DeviceTaint,
    DeviceToleration as DeviceToleration,
    NetworkDeviceData as NetworkDeviceData,
    NodeAllocatableOverhead as NodeAllocatableOverhead,
    OpaqueDeviceConfiguration as OpaqueDeviceConfiguration,
    ResourceClaimConsumerReference as ResourceClaimConsumerReference,
    ResourceClaimStatus as ResourceClaimStatus,
    ResourcePool as ResourcePool,
)


class BasicDevice(ApiModel):
    """BasicDevice defines one device instance."""

    all_nodes: bool | None = None
    """AllNodes indicates that all nodes have access to the device."""
    allow_multiple_allocations: bool | None = None
    """AllowMultipleAllocations marks whether the device is allowed to be allocated to multiple DeviceRequests."""
    attributes: dict[str, DeviceAttribute] = {}
    """Attributes defines the set of attributes for this device."""
    binding_conditions: list[str] = []
    """BindingConditions defines the conditions for proceeding with binding."""
    binding_failure_conditions: list[str] = []
    """BindingFailureConditions defines the conditions for binding failure."""
    binds_to_node: bool | None = None
    """BindsToNode indicates if the usage of an allocation involving this device has to be limited to exactly the node
    that was chosen when allocating the claim.
    """
    capacity: dict[str, DeviceCapacity] = {}
    """Capacity defines the set of capacities for this device."""
    consumes_counters: list[DeviceCounterConsumption] = []
    """ConsumesCounters defines a list of references to sharedCounters and the set of counters that the device will
    consume from those counter sets.
    """
    node_allocatable_resources: dict[str, NodeAllocatableResource] = {}
    """NodeAllocatableResources defines the mapping of node resources that are managed by the DRA driver exposing this
    device.
    """
    node_name: str | None = None
    """NodeName identifies the node where the device is available."""
    node_selector: NodeSelector | None = None
    """NodeSelector defines the nodes where the device is available."""
    taints: list[DeviceTaint] = []
    """If specified, these are the driver-defined taints."""


class Device(ApiModel):
    """Device represents one individual hardware instance that can be selected based on its attributes. Besides the
    name, exactly one field must be set.
    """

    basic: BasicDevice | None = None
    """Basic defines one device instance."""
    name: str
    """Name is unique identifier among all devices managed by the driver in the pool."""


class DeviceClaim(ApiModel):
    """DeviceClaim defines how to request devices with a ResourceClaim."""

    config: list[DeviceClaimConfiguration] = []
    """This field holds configuration for multiple potential drivers which could satisfy requests in this claim."""
    constraints: list[DeviceConstraint] = []
    """These constraints must be satisfied by the set of devices that get allocated for the claim."""
    requests: list[DeviceRequest] = []
    """Requests represent individual requests for distinct devices which must all be satisfied."""


class DeviceRequest(ApiModel):
    """DeviceRequest is a request for devices required for a claim. This is typically a request for a single resource
    like a device, but can also ask for several identical devices.
    """

    admin_access: bool | None = None
    """AdminAccess indicates that this is a claim for administrative access to the device(s)."""
    allocation_mode: str | None = None
    """AllocationMode and its related fields define how devices are allocated to satisfy this request."""
    capacity: CapacityRequirements | None = None
    """Capacity define resource requirements against each capacity."""
    count: int | None = None
    """Count is used only when the count mode is "ExactCount". Must be greater than zero."""
    derived_attributes: list[DeviceDerivedAttribute] = []
    """DerivedAttributes defines a set of virtual attributes computed via CEL expressions for each candidate device."""
    device_class_name: str | None = None
    """DeviceClassName references a specific DeviceClass, which can define additional configuration and selectors to be
    inherited by this request.
    """
    first_available: list[DeviceSubRequest] = []
    """FirstAvailable contains subrequests, of which exactly one will be satisfied by the scheduler to satisfy this
    request.
    """
    name: str
    """Name can be used to reference this request in a pod.spec.containers[].resources.claims entry and in a constraint
    of the claim.
    """
    selectors: list[DeviceSelector] = []
    """Selectors define criteria which must be satisfied by a specific device in order for that device to be considered
    for this request.
    """
    tolerations: list[DeviceToleration] = []
    """If specified, the request's tolerations."""


class NodeAllocatableMapping(ApiModel):
    """NodeAllocatableMapping defines how a DRA allocation directly translates into a node allocatable resource
    quantity. The mapping can be derived from either the count of allocated devices or the specific capacity consumed.
    These options are mutually exclusive. Kubelet adds this mapped resource quantity from claim to both requests and
    limits at the pod-level cgroup, and to limits at the container-level cgroup for each container referencing the
    claim.
    """

    capacity_key: str | None = None
    """CapacityKey references a capacity name defined as a key in the `spec.devices[*].capacity` map."""
    capacity_multiplier: str | None = None
    """CapacityMultiplier is used as a multiplier for the allocated capacity consumed."""
    device_multiplier: str | None = None
    """DeviceMultiplier is used as a multiplier for the allocated device count in the claim."""


class NodeAllocatableResource(ApiModel):
    """NodeAllocatableResource defines the translation between the DRA device/capacity units requested to the
    corresponding quantity of the node allocatable resource. At least one of Mapping or Overhead must be specified. Not
    specifying either is an invalid configuration.
    """

    mapping: NodeAllocatableMapping | None = None
    """Mapping is used when the device directly models a node allocatable resource like standard CPU or memory (e.g.,
    with a CPU DRA driver).
    """
    overhead: NodeAllocatableOverhead | None = None
    """Overhead contains fields for modeling auxiliary overhead incurred on node allocatable resources when allocating
    devices that are not themselves modeling a node allocatable resource (e.g., host memory overhead for GPUs).
    """


class ResourceClaimSpec(ApiModel):
    """ResourceClaimSpec defines what is being requested in a ResourceClaim and how to configure it."""

    devices: DeviceClaim | None = None
    """Devices defines how to request devices."""


class ResourceClaimTemplateSpec(ApiModel):
    """ResourceClaimTemplateSpec contains the metadata and fields for a ResourceClaim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """ObjectMeta may contain labels and annotations that will be copied into the ResourceClaim when creating it."""
    spec: ResourceClaimSpec
    """Spec for the ResourceClaim. The entire content is copied unchanged into the ResourceClaim that gets created from
    this template. The same fields as in a ResourceClaim are also valid here.
    """


class ResourceSliceSpec(ApiModel):
    """ResourceSliceSpec contains the information published by the driver in one ResourceSlice."""

    all_nodes: bool | None = None
    """AllNodes indicates that all nodes have access to the resources in the pool."""
    devices: list[Device] = []
    """Devices lists some or all of the devices in this pool."""
    driver: str
    """Driver identifies the DRA driver providing the capacity information."""
    node_name: str | None = None
    """NodeName identifies the node which provides the resources in this pool."""
    node_selector: NodeSelector | None = None
    """NodeSelector defines which nodes have access to the resources in the pool, when that pool is not limited to a
    single node.
    """
    partition_type_attribute: str | None = None
    """PartitionTypeAttribute names a string device attribute (by fully qualified name, e.g. "gpu.example.com/profile")
    whose value labels each device with its partition type, such as "Full" or "Half" for a MIG-style GPU.
    """
    per_device_node_selection: bool | None = None
    """PerDeviceNodeSelection defines whether the access from nodes to resources in the pool is set on the ResourceSlice
    level or on each device.
    """
    pool: ResourcePool
    """Pool describes the pool that this ResourceSlice belongs to."""
    shared_counters: list[CounterSet] = []
    """SharedCounters defines a list of counter sets, each of which has a name and a list of counters available."""
    skip_node_operations: list[str] = []
    """SkipNodeOperations lists node-local resource operations (gRPC calls) that will be skipped for the devices in this
    slice when determining whether operations are necessary on the node.
    """


class DeviceClass(Object, ApiModel):
    """DeviceClass is a vendor- or admin-provided resource that contains device configuration and selectors. It can be
    referenced in the device requests of a claim to apply these presets. Cluster scoped.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA1_DEVICE_CLASS

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
    """Spec defines what can be allocated and how to configure it."""


class ResourceClaim(Object, ApiModel):
    """ResourceClaim describes a request for access to resources in the cluster, for use by workloads. For example, if a
    workload needs an accelerator device with specific properties, this is how that request is expressed. The status
    stanza tracks whether this claim has been satisfied and what specific resources have been allocated.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA1_RESOURCE_CLAIM

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    """Spec describes what is being requested and how to configure it."""
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)
    """Status describes whether the claim is ready to use and what has been allocated."""


class ResourceClaimTemplate(Object, ApiModel):
    """ResourceClaimTemplate is used to produce ResourceClaim objects."""

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA1_RESOURCE_CLAIM_TEMPLATE

    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=lambda: ResourceClaimTemplateSpec(spec=ResourceClaimSpec()))
    """Describes the ResourceClaim that is to be generated."""


class ResourceSlice(Object, ApiModel):
    """ResourceSlice represents one or more resources in a pool of similar resources, managed by a common driver. A pool
    may span more than one ResourceSlice, and exactly how many ResourceSlices comprise a pool is determined by the
    driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1BETA1_RESOURCE_SLICE

    spec: ResourceSliceSpec = msgspec.field(default_factory=lambda: ResourceSliceSpec(driver="", pool=ResourcePool(generation=0, name="", resource_slice_count=0)))
    """Contains the information published by the driver."""


class DeviceClassList(KindList[DeviceClass]):
    """DeviceClassList is a collection of classes."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta1"
    kind: ClassVar[str] = "DeviceClassList"


class ResourceClaimList(KindList[ResourceClaim]):
    """ResourceClaimList is a collection of claims."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta1"
    kind: ClassVar[str] = "ResourceClaimList"


class ResourceClaimTemplateList(KindList[ResourceClaimTemplate]):
    """ResourceClaimTemplateList is a collection of claim templates."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta1"
    kind: ClassVar[str] = "ResourceClaimTemplateList"


class ResourceSliceList(KindList[ResourceSlice]):
    """ResourceSliceList is a collection of ResourceSlices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta1"
    kind: ClassVar[str] = "ResourceSliceList"
