# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""resource.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, ObjectMeta, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import NodeSelector


class AllocatedDeviceStatus(ApiModel):
    """AllocatedDeviceStatus contains the status of an allocated device, if the driver chooses to report it. This may
    include driver-specific information.
    """

    conditions: list[Condition] = []
    """Conditions contains the latest observation of the device's state."""
    data: Any = None
    """Data contains arbitrary driver-specific data."""
    device: str
    """Device references one device instance via its name in the driver's resource pool."""
    driver: str
    """Driver specifies the name of the DRA driver whose kubelet plugin should be invoked to process the allocation once
    the claim is needed on a node.
    """
    network_data: NetworkDeviceData | None = None
    """NetworkData contains network-related information specific to the device."""
    pool: str
    """This name together with the driver name and the device name field identify which device was allocated (`<driver
    name>/<pool name>/<device name>`).
    """
    share_id: str | None = msgspec.field(name="shareID", default=None)
    """ShareID uniquely identifies an individual allocation share of the device."""


class AllocationResult(ApiModel):
    """AllocationResult contains attributes of an allocated resource."""

    allocation_timestamp: datetime | None = None
    """AllocationTimestamp stores the time when the resources were allocated."""
    devices: DeviceAllocationResult | None = None
    """Devices is the result of allocating devices."""
    node_selector: NodeSelector | None = None
    """NodeSelector defines where the allocated resources are available."""


class CELDeviceSelector(ApiModel):
    """CELDeviceSelector contains a CEL expression for selecting a device."""

    expression: str
    """Expression is a CEL expression which evaluates a single device."""


class CapacityRequestPolicy(ApiModel):
    """CapacityRequestPolicy defines how requests consume device capacity."""

    default: str | None = None
    """Default specifies how much of this capacity is consumed by a request that does not contain an entry for it in
    DeviceRequest's Capacity.
    """
    valid_range: CapacityRequestPolicyRange | None = None
    """ValidRange defines an acceptable quantity value range in consuming requests."""
    valid_values: list[str] = []
    """ValidValues defines a set of acceptable quantity values in consuming requests."""


class CapacityRequestPolicyRange(ApiModel):
    """CapacityRequestPolicyRange defines a valid range for consumable capacity values."""

    max: str | None = None
    """Max defines the upper limit for capacity that can be requested."""
    min: str
    """Min specifies the minimum capacity allowed for a consumption request."""
    step: str | None = None
    """Step defines the step size between valid capacity amounts within the range."""


class CapacityRequirements(ApiModel):
    """CapacityRequirements defines the capacity requirements for a specific device request."""

    requests: dict[str, str] = {}
    """Requests represent individual device resource requests for distinct resources, all of which must be provided by
    the device.
    """


class Counter(ApiModel):
    """Counter describes a quantity associated with a device."""

    value: str
    """Value defines how much of a certain device counter is available."""


class CounterSet(ApiModel):
    """CounterSet defines a named set of counters that are available to be used by devices defined in the ResourcePool.
    """

    counters: dict[str, Counter]
    """Counters defines the set of counters for this CounterSet The name of each counter must be unique in that set and
    must be a DNS label.
    """
    name: str
    """Name defines the name of the counter set."""


class Device(ApiModel):
    """Device represents one individual hardware instance that can be selected based on its attributes. Besides the
    name, exactly one field must be set.
    """

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
    name: str
    """Name is unique identifier among all devices managed by the driver in the pool."""
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


class DeviceAllocationConfiguration(ApiModel):
    """DeviceAllocationConfiguration gets embedded in an AllocationResult."""

    opaque: OpaqueDeviceConfiguration | None = None
    """Opaque provides driver-specific configuration parameters."""
    requests: list[str] = []
    """Requests lists the names of requests where the configuration applies."""
    source: str
    """Source records whether the configuration comes from a class and thus is not something that a normal user would
    have been able to set or from a claim.
    """


class DeviceAllocationResult(ApiModel):
    """DeviceAllocationResult is the result of allocating devices."""

    config: list[DeviceAllocationConfiguration] = []
    """This field is a combination of all the claim and class configuration parameters."""
    results: list[DeviceRequestAllocationResult] = []
    """Results lists all allocated devices."""


class DeviceAttribute(ApiModel):
    """DeviceAttribute must have exactly one field set."""

    bool_: bool | None = None
    """BoolValue is a true/false value."""
    bools: list[bool] = []
    """BoolValues is a non-empty list of true/false values."""
    int_: int | None = None
    """IntValue is a number."""
    ints: list[int] = []
    """IntValues is a non-empty list of numbers."""
    string: str | None = None
    """StringValue is a string. Must not be longer than 64 characters."""
    strings: list[str] = []
    """StringValues is a non-empty list of strings."""
    version: str | None = None
    """VersionValue is a semantic version according to semver.org spec 2.0.0."""
    versions: list[str] = []
    """VersionValues is a non-empty list of semantic versions according to semver.org spec 2.0.0."""


class DeviceCapacity(ApiModel):
    """DeviceCapacity describes a quantity associated with a device."""

    request_policy: CapacityRequestPolicy | None = None
    """RequestPolicy defines how this DeviceCapacity must be consumed when the device is allowed to be shared by
    multiple allocations.
    """
    value: str
    """Value defines how much of a certain capacity that device has."""


class DeviceClaim(ApiModel):
    """DeviceClaim defines how to request devices with a ResourceClaim."""

    config: list[DeviceClaimConfiguration] = []
    """This field holds configuration for multiple potential drivers which could satisfy requests in this claim."""
    constraints: list[DeviceConstraint] = []
    """These constraints must be satisfied by the set of devices that get allocated for the claim."""
    requests: list[DeviceRequest] = []
    """Requests represent individual requests for distinct devices which must all be satisfied."""


class DeviceClaimConfiguration(ApiModel):
    """DeviceClaimConfiguration is used for configuration parameters in DeviceClaim."""

    opaque: OpaqueDeviceConfiguration | None = None
    """Opaque provides driver-specific configuration parameters."""
    requests: list[str] = []
    """Requests lists the names of requests where the configuration applies."""


class DeviceClassConfiguration(ApiModel):
    """DeviceClassConfiguration is used in DeviceClass."""

    opaque: OpaqueDeviceConfiguration | None = None
    """Opaque provides driver-specific configuration parameters."""


class DeviceClassSpec(ApiModel):
    """DeviceClassSpec is used in a [DeviceClass] to define what can be allocated and how to configure it."""

    config: list[DeviceClassConfiguration] = []
    """Config defines configuration parameters that apply to each device that is claimed via this class."""
    extended_resource_name: str | None = None
    """ExtendedResourceName is the extended resource name for the devices of this class."""
    selectors: list[DeviceSelector] = []
    """Each selector must be satisfied by a device which is claimed via this class."""


class DeviceConstraint(ApiModel):
    """DeviceConstraint must have exactly one field set besides Requests."""

    distinct_attribute: str | None = None
    """DistinctAttribute requires that all devices in question have this attribute and that its type and value are
    unique across those devices.
    """
    match_attribute: str | None = None
    """MatchAttribute requires that all devices in question have this attribute and that its type and value are the same
    across those devices.
    """
    requests: list[str] = []
    """Requests is a list of the one or more requests in this claim which must co-satisfy this constraint."""


class DeviceCounterConsumption(ApiModel):
    """DeviceCounterConsumption defines a set of counters that a device will consume from a CounterSet."""

    compatibility_groups: list[str] = []
    """CompatibilityGroups is a list of opaque group names for this counter set consumption."""
    counter_set: str
    """CounterSet is the name of the set from which the counters defined will be consumed."""
    counters: dict[str, Counter]
    """Counters defines the counters that will be consumed by the device."""


class DeviceDerivedAttribute(ApiModel):
    """DeviceDerivedAttribute defines a derived attribute computed via CEL."""

    expression: str
    """Expression is a CEL expression evaluated against each candidate device."""
    name: str
    """Name is the identifier for this derived attribute, used in constraints."""


class DeviceRequest(ApiModel):
    """DeviceRequest is a request for devices required for a claim. This is typically a request for a single resource
    like a device, but can also ask for several identical devices. With FirstAvailable it is also possible to provide a
    prioritized list of requests.
    """

    exactly: ExactDeviceRequest | None = None
    """Exactly specifies the details for a single request that must be met exactly for the request to be satisfied."""
    first_available: list[DeviceSubRequest] = []
    """FirstAvailable contains subrequests, of which exactly one will be selected by the scheduler."""
    name: str
    """Name can be used to reference this request in a pod.spec.containers[].resources.claims entry and in a constraint
    of the claim.
    """


class DeviceRequestAllocationResult(ApiModel):
    """DeviceRequestAllocationResult contains the allocation result for one request."""

    admin_access: bool | None = None
    """AdminAccess indicates that this device was allocated for administrative access."""
    binding_conditions: list[str] = []
    """BindingConditions contains a copy of the BindingConditions from the corresponding ResourceSlice at the time of
    allocation.
    """
    binding_failure_conditions: list[str] = []
    """BindingFailureConditions contains a copy of the BindingFailureConditions from the corresponding ResourceSlice at
    the time of allocation.
    """
    consumed_capacity: dict[str, str] = {}
    """ConsumedCapacity tracks the amount of capacity consumed per device as part of the claim request."""
    device: str
    """Device references one device instance via its name in the driver's resource pool."""
    driver: str
    """Driver specifies the name of the DRA driver whose kubelet plugin should be invoked to process the allocation once
    the claim is needed on a node.
    """
    pool: str
    """This name together with the driver name and the device name field identify which device was allocated (`<driver
    name>/<pool name>/<device name>`).
    """
    request: str
    """Request is the name of the request in the claim which caused this device to be allocated."""
    share_id: str | None = msgspec.field(name="shareID", default=None)
    """ShareID uniquely identifies an individual allocation share of the device, used when the device supports multiple
    simultaneous allocations.
    """
    skip_node_operations: list[str] = []
    """SkipNodeOperations lists node-local resource operations (gRPC calls) that will be skipped for this allocated
    device when determining whether operations are necessary on the node.
    """
    tolerations: list[DeviceToleration] = []
    """A copy of all tolerations specified in the request at the time when the device got allocated."""


class DeviceSelector(ApiModel):
    """DeviceSelector must have exactly one field set."""

    cel: CELDeviceSelector | None = None
    """CEL contains a CEL expression for selecting a device."""


class DeviceSubRequest(ApiModel):
    """DeviceSubRequest describes a request for device provided in the claim.spec.devices.requests[].firstAvailable
    array. Each is typically a request for a single resource like a device, but can also ask for several identical
    devices.
    """

    allocation_mode: str | None = None
    """AllocationMode and its related fields define how devices are allocated to satisfy this subrequest."""
    capacity: CapacityRequirements | None = None
    """Capacity define resource requirements against each capacity."""
    count: int | None = None
    """Count is used only when the count mode is "ExactCount". Must be greater than zero."""
    derived_attributes: list[DeviceDerivedAttribute] = []
    """DerivedAttributes defines a set of virtual attributes computed via CEL expressions for each candidate device."""
    device_class_name: str
    """DeviceClassName references a specific DeviceClass, which can define additional configuration and selectors to be
    inherited by this subrequest.
    """
    name: str
    """Name can be used to reference this subrequest in the list of constraints or the list of configurations for the
    claim.
    """
    selectors: list[DeviceSelector] = []
    """Selectors define criteria which must be satisfied by a specific device in order for that device to be considered
    for this subrequest.
    """
    tolerations: list[DeviceToleration] = []
    """If specified, the request's tolerations."""


class DeviceTaint(ApiModel):
    """The device this taint is attached to has the "effect" on any claim which does not tolerate the taint and, through
    the claim, to pods using the claim.
    """

    effect: str
    """The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.
    """
    key: str
    """The taint key to be applied to a device. Must be a label name."""
    time_added: datetime | None = None
    """TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was
    modified.
    """
    value: str | None = None
    """The taint value corresponding to the taint key. Must be a label value."""


class DeviceTaintRuleSpec(ApiModel):
    """DeviceTaintRuleSpec specifies the selector and one taint."""

    device_selector: DeviceTaintSelector | None = None
    """DeviceSelector defines which device(s) the taint is applied to."""
    taint: DeviceTaint
    """The taint that gets applied to matching devices."""


class DeviceTaintRuleStatus(ApiModel):
    """DeviceTaintRuleStatus provides information about an on-going pod eviction."""

    conditions: list[Condition] = []
    """Conditions provide information about the state of the DeviceTaintRule and the cluster at some point in time, in a
    machine-readable and human-readable format.
    """


class DeviceTaintSelector(ApiModel):
    """DeviceTaintSelector defines which device(s) a DeviceTaintRule applies to. The empty selector matches all devices.
    Without a selector, no devices are matched.
    """

    device: str | None = None
    """If device is set, only devices with that name are selected."""
    driver: str | None = None
    """If driver is set, only devices from that driver are selected."""
    pool: str | None = None
    """If pool is set, only devices in that pool are selected."""


class DeviceToleration(ApiModel):
    """The ResourceClaim this DeviceToleration is attached to tolerates any taint that matches the triple
    <key,value,effect> using the matching operator <operator>.
    """

    effect: str | None = None
    """Effect indicates the taint effect to match."""
    key: str | None = None
    """Key is the taint key that the toleration applies to. Must be a label name."""
    operator: str | None = None
    """Operator represents a key's relationship to the value. Defaults to Equal."""
    toleration_seconds: int | None = None
    """TolerationSeconds represents the period of time the toleration (which must be of effect NoExecute, otherwise this
    field is ignored) tolerates the taint.
    """
    value: str | None = None
    """Value is the taint value the toleration matches to. Must be a label value."""


class ExactDeviceRequest(ApiModel):
    """ExactDeviceRequest is a request for one or more identical devices."""

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
    device_class_name: str
    """DeviceClassName references a specific DeviceClass, which can define additional configuration and selectors to be
    inherited by this request.
    """
    selectors: list[DeviceSelector] = []
    """Selectors define criteria which must be satisfied by a specific device in order for that device to be considered
    for this request.
    """
    tolerations: list[DeviceToleration] = []
    """If specified, the request's tolerations."""


class NetworkDeviceData(ApiModel):
    """NetworkDeviceData provides network-related details for the allocated device. This information may be filled by
    drivers or other components to configure or identify the device within a network context.
    """

    hardware_address: str | None = None
    """HardwareAddress represents the hardware address (e.g. MAC Address) of the device's network interface."""
    interface_name: str | None = None
    """InterfaceName specifies the name of the network interface associated with the allocated device."""
    ips: list[str] = []
    """IPs lists the network addresses assigned to the device's network interface."""


class NodeAllocatableMapping(ApiModel):
    """NodeAllocatableMapping defines how a DRA allocation directly translates into a node allocatable resource
    quantity. The mapping can be derived from either the count of allocated devices (via deviceMultiplier) or the
    specific capacity consumed (via capacityKey and capacityMultiplier). These options are mutually exclusive.
    """

    capacity_key: str | None = None
    """CapacityKey references a capacity name defined as a key in the `spec.devices[*].capacity` map."""
    capacity_multiplier: str | None = None
    """CapacityMultiplier is used as a multiplier for the allocated capacity consumed."""
    device_multiplier: str | None = None
    """DeviceMultiplier is used as a multiplier for the allocated device count in the claim."""


class NodeAllocatableOverhead(ApiModel):
    """NodeAllocatableOverhead defines auxiliary resource overheads incurred when allocating a device. Overheads can be
    specified as a fixed cost per pod referencing the claim, a variable cost per container reference, or both. Kubelet
    accounts for this overhead by adding it to both the pod-level and container-level cgroups of referencing containers.
    """

    per_container: str | None = None
    """PerContainer is applied per container reference to the claim."""
    per_pod: str | None = None
    """PerPod is overhead applied once per pod referencing the claim on this node."""


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


class OpaqueDeviceConfiguration(ApiModel):
    """OpaqueDeviceConfiguration contains configuration parameters for a driver in a format defined by the driver
    vendor.
    """

    driver: str
    """Driver is used to determine which kubelet plugin needs to be passed these configuration parameters."""
    parameters: Any
    """Parameters can contain arbitrary data. It is the responsibility of the driver developer to handle validation and
    versioning.
    """


class ResourceClaimConsumerReference(ApiModel):
    """ResourceClaimConsumerReference contains enough information to let you locate the consumer of a ResourceClaim. The
    user must be a resource in the same namespace as the ResourceClaim.
    """

    api_group: str | None = None
    """APIGroup is the group for the resource being referenced."""
    name: str
    """Name is the name of resource being referenced."""
    resource: str
    """Resource is the type of resource being referenced, for example "pods"."""
    uid: str
    """UID identifies exactly one incarnation of the resource."""


class ResourceClaimSpec(ApiModel):
    """ResourceClaimSpec defines what is being requested in a ResourceClaim and how to configure it."""

    devices: DeviceClaim | None = None
    """Devices defines how to request devices."""


class ResourceClaimStatus(ApiModel):
    """ResourceClaimStatus tracks whether the resource has been allocated and what the result of that was."""

    allocation: AllocationResult | None = None
    """Allocation is set once the claim has been allocated successfully."""
    devices: list[AllocatedDeviceStatus] = []
    """Devices contains the status of each device allocated for this claim, as reported by the driver."""
    reserved_for: list[ResourceClaimConsumerReference] = []
    """ReservedFor indicates which entities are currently allowed to use the claim."""


class ResourceClaimTemplateSpec(ApiModel):
    """ResourceClaimTemplateSpec contains the metadata and fields for a ResourceClaim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """ObjectMeta may contain labels and annotations that will be copied into the ResourceClaim when creating it."""
    spec: ResourceClaimSpec
    """Spec for the ResourceClaim. The entire content is copied unchanged into the ResourceClaim that gets created from
    this template. The same fields as in a ResourceClaim are also valid here.
    """


class ResourcePool(ApiModel):
    """ResourcePool describes the pool that ResourceSlices belong to."""

    generation: int
    """Generation tracks the change in a pool over time."""
    name: str
    """Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required.
    A field selector can be used to list only ResourceSlice objects belonging to a certain pool.
    """
    resource_slice_count: int
    """ResourceSliceCount is the total number of ResourceSlices in the pool at this generation number. Must be greater
    than zero.
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

    resource: ClassVar[Resource] = _table.RESOURCE_V1_DEVICE_CLASS

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
    """Spec defines what can be allocated and how to configure it."""


class DeviceTaintRule(Object, ApiModel):
    """DeviceTaintRule adds one taint to all devices which match the selector. This has the same effect as if the taint
    was specified directly in the ResourceSlice by the DRA driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1_DEVICE_TAINT_RULE

    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=lambda: DeviceTaintRuleSpec(taint=DeviceTaint(effect="", key="")))
    """Spec specifies the selector and one taint."""
    status: DeviceTaintRuleStatus = msgspec.field(default_factory=DeviceTaintRuleStatus)
    """Status provides information about what was requested in the spec."""


class ResourceClaim(Object, ApiModel):
    """ResourceClaim describes a request for access to resources in the cluster, for use by workloads. For example, if a
    workload needs an accelerator device with specific properties, this is how that request is expressed. The status
    stanza tracks whether this claim has been satisfied and what specific resources have been allocated.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1_RESOURCE_CLAIM

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    """Spec describes what is being requested and how to configure it."""
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)
    """Status describes whether the claim is ready to use and what has been allocated."""


class ResourceClaimTemplate(Object, ApiModel):
    """ResourceClaimTemplate is used to produce ResourceClaim objects."""

    resource: ClassVar[Resource] = _table.RESOURCE_V1_RESOURCE_CLAIM_TEMPLATE

    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=lambda: ResourceClaimTemplateSpec(spec=ResourceClaimSpec()))
    """Describes the ResourceClaim that is to be generated."""


class ResourceSlice(Object, ApiModel):
    """ResourceSlice represents one or more resources in a pool of similar resources, managed by a common driver. A pool
    may span more than one ResourceSlice, and exactly how many ResourceSlices comprise a pool is determined by the
    driver.
    """

    resource: ClassVar[Resource] = _table.RESOURCE_V1_RESOURCE_SLICE

    spec: ResourceSliceSpec = msgspec.field(default_factory=lambda: ResourceSliceSpec(driver="", pool=ResourcePool(generation=0, name="", resource_slice_count=0)))
    """Contains the information published by the driver."""


class DeviceClassList(KindList[DeviceClass]):
    """DeviceClassList is a collection of classes."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceClassList"


class DeviceTaintRuleList(KindList[DeviceTaintRule]):
    """DeviceTaintRuleList is a collection of DeviceTaintRules."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceTaintRuleList"


class ResourceClaimList(KindList[ResourceClaim]):
    """ResourceClaimList is a collection of claims."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaimList"


class ResourceClaimTemplateList(KindList[ResourceClaimTemplate]):
    """ResourceClaimTemplateList is a collection of claim templates."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaimTemplateList"


class ResourceSliceList(KindList[ResourceSlice]):
    """ResourceSliceList is a collection of ResourceSlices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceSliceList"
