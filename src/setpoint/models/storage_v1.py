# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""storage.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.core_v1 import PersistentVolumeSpec, TopologySelectorTerm


class CSIDriverSpec(ApiModel):
    """CSIDriverSpec is the specification of a CSIDriver."""

    attach_required: bool | None = None
    """attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI
    ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume
    interface which checks the volumeattachment status and waits until the volume is attached before proceeding to
    mounting.
    """
    fs_group_policy: str | None = None
    """fsGroupPolicy defines if the underlying volume supports changing ownership and permission of the volume before
    being mounted.
    """
    node_allocatable_update_period_seconds: int | None = None
    """nodeAllocatableUpdatePeriodSeconds specifies the interval between periodic updates of the CSINode allocatable
    capacity for this driver.
    """
    pod_info_on_mount: bool | None = None
    """podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.)
    during mount operations, if set to true. Default is false.
    """
    prevent_pod_scheduling_if_missing: bool | None = None
    """preventPodSchedulingIfMissing indicates that the CSI driver wants to prevent pod scheduling if the CSI driver on
    the node is missing.
    """
    requires_republish: bool | None = None
    """requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any
    possible change in the mounted volume.
    """
    se_linux_mount: bool | None = None
    """seLinuxMount specifies if the CSI driver supports "-o context" mount option."""
    service_account_token_in_secrets: bool | None = None
    """serviceAccountTokenInSecrets is an opt-in for CSI drivers to indicate that service account tokens should be
    passed via the Secrets field in NodePublishVolumeRequest instead of the VolumeContext field.
    """
    storage_capacity: bool | None = None
    """storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that
    the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.
    """
    token_requests: list[TokenRequest] = []
    """tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do
    necessary authentication.
    """
    volume_lifecycle_modes: list[str] = []
    """volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is
    empty is "Persistent", which is the usage defined by the CSI specification and implemented in Kubernetes via the
    usual PV/PVC mechanism.
    """


class CSINodeDriver(ApiModel):
    """CSINodeDriver holds information about the specification of one CSI driver installed on a node"""

    allocatable: VolumeNodeResources | None = None
    """allocatable represents the volume resources of a node that are available for scheduling."""
    name: str
    """name represents the name of the CSI driver that this object refers to."""
    node_id: str = msgspec.field(name="nodeID")
    """nodeID of the node from the driver point of view."""
    topology_keys: list[str] = []
    """topologyKeys is the list of keys supported by the driver."""


class CSINodeSpec(ApiModel):
    """CSINodeSpec holds information about the specification of all CSI drivers installed on a node"""

    drivers: list[CSINodeDriver]
    """drivers is a list of information of all CSI Drivers existing on a node."""


class CSINodeStatus(ApiModel):
    """CSINodeStatus contains health and status information for storage on a node."""

    storage_health: list[StorageHealth] = []
    """storageHealth contains backend health reports for CSI drivers registered on the node."""


class StorageHealth(ApiModel):
    """StorageHealth contains storage backend health reported by a CSI driver on a node."""

    health_conditions: list[StorageHealthCondition] = []
    """healthConditions are the adverse storage backend conditions reported by the CSI driver."""
    name: str
    """name is the CSI driver name, matching CSINodeDriver.name."""


class StorageHealthCondition(ApiModel):
    """StorageHealthCondition represents an adverse health condition reported by a CSI driver for its storage backend on
    a node.
    """

    access_mode: str | None = None
    """accessMode is the access mode affected. Nil means all access modes are affected."""
    last_transition_time: datetime | None = None
    """lastTransitionTime is when this condition first appeared at its current state."""
    message: str | None = None
    """message is a human-readable description."""
    reason: str
    """reason is a brief CamelCase machine-parseable reason."""
    status: str
    """status is the health status category. One of "StorageUnreachable", "StorageDegraded"."""
    volume_mode: str | None = None
    """volumeMode is the volume mode affected. Nil means both are affected."""


class TokenRequest(ApiModel):
    """TokenRequest contains parameters of a service account token."""

    audience: str
    """audience is the intended audience of the token in "TokenRequestSpec"."""
    expiration_seconds: int | None = None
    """expirationSeconds is the duration of validity of the token in "TokenRequestSpec"."""


class VolumeAttachmentSource(ApiModel):
    """VolumeAttachmentSource represents a volume that should be attached. Right now only PersistentVolumes can be
    attached via external attacher, in the future we may allow also inline volumes in pods. Exactly one member can be
    set.
    """

    inline_volume_spec: PersistentVolumeSpec | None = None
    """inlineVolumeSpec contains all the information necessary to attach a persistent volume defined by a pod's inline
    VolumeSource.
    """
    persistent_volume_name: str | None = None
    """persistentVolumeName represents the name of the persistent volume to attach."""


class VolumeAttachmentSpec(ApiModel):
    """VolumeAttachmentSpec is the specification of a VolumeAttachment request."""

    attacher: str
    """attacher indicates the name of the volume driver that MUST handle this request."""
    node_name: str
    """nodeName represents the node that the volume should be attached to."""
    source: VolumeAttachmentSource
    """source represents the volume that should be attached."""


class VolumeAttachmentStatus(ApiModel):
    """VolumeAttachmentStatus is the status of a VolumeAttachment request."""

    attach_error: VolumeError | None = None
    """attachError represents the last error encountered during attach operation, if any."""
    attached: bool
    """attached indicates the volume is successfully attached."""
    attachment_metadata: dict[str, str] = {}
    """attachmentMetadata is populated with any information returned by the attach operation, upon successful attach,
    that must be passed into subsequent WaitForAttach or Mount calls.
    """
    detach_error: VolumeError | None = None
    """detachError represents the last error encountered during detach operation, if any."""


class VolumeError(ApiModel):
    """VolumeError captures an error encountered during a volume operation."""

    error_code: int | None = None
    """errorCode is a numeric gRPC code representing the error encountered during Attach or Detach operations."""
    message: str | None = None
    """message represents the error encountered during Attach or Detach operation."""
    time: datetime | None = None
    """time represents the time the error was encountered."""


class VolumeNodeResources(ApiModel):
    """VolumeNodeResources is a set of resource limits for scheduling of volumes."""

    count: int | None = None
    """count indicates the maximum number of unique volumes managed by the CSI driver that can be used on a node."""


class CSIDriver(Object, ApiModel):
    """CSIDriver captures information about a Container Storage Interface (CSI) volume driver deployed on the cluster.
    Kubernetes attach detach controller uses this object to determine whether attach is required. Kubelet uses this
    object to determine whether pod information needs to be passed on mount. CSIDriver objects are non-namespaced.
    """

    resource: ClassVar[Resource] = _table.STORAGE_V1_CSI_DRIVER

    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)
    """spec represents the specification of the CSI Driver."""


class CSINode(Object, ApiModel):
    """CSINode holds information about all CSI drivers installed on a node. CSI drivers do not need to create the
    CSINode object directly. As long as they use the node-driver-registrar sidecar container, the kubelet will
    automatically populate the CSINode object for the CSI driver as part of kubelet plugin registration. CSINode has the
    same name as a node.
    """

    resource: ClassVar[Resource] = _table.STORAGE_V1_CSI_NODE

    spec: CSINodeSpec = msgspec.field(default_factory=lambda: CSINodeSpec(drivers=[]))
    """spec is the specification of CSINode"""
    status: CSINodeStatus = msgspec.field(default_factory=CSINodeStatus)
    """status contains health and status information for the node's storage."""


class CSIStorageCapacity(Object, ApiModel):
    """CSIStorageCapacity stores the result of one CSI GetCapacity call. For a given StorageClass, this describes the
    available capacity in a particular topology segment. This can be used when considering where to instantiate new
    PersistentVolumes.
    """

    resource: ClassVar[Resource] = _table.STORAGE_V1_CSI_STORAGE_CAPACITY

    capacity: str | None = None
    """capacity is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest with
    topology and parameters that match the previous fields.
    """
    maximum_volume_size: str | None = None
    """maximumVolumeSize is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest
    with topology and parameters that match the previous fields.
    """
    node_topology: LabelSelector | None = None
    """nodeTopology defines which nodes have access to the storage for which capacity was reported."""
    storage_class_name: str
    """storageClassName represents the name of the StorageClass that the reported capacity applies to."""


class StorageClass(Object, ApiModel):
    """StorageClass describes the parameters for a class of storage for which PersistentVolumes can be dynamically
    provisioned.
    """

    resource: ClassVar[Resource] = _table.STORAGE_V1_STORAGE_CLASS

    allow_volume_expansion: bool | None = None
    """allowVolumeExpansion shows whether the storage class allow volume expand."""
    allowed_topologies: list[TopologySelectorTerm] = []
    """allowedTopologies restrict the node topologies where volumes can be dynamically provisioned."""
    mount_options: list[str] = []
    """mountOptions controls the mountOptions for dynamically provisioned PersistentVolumes of this storage class. e.g.
    ["ro", "soft"].
    """
    parameters: dict[str, str] = {}
    """parameters holds the parameters for the provisioner that should create volumes of this storage class."""
    provisioner: str
    """provisioner indicates the type of the provisioner."""
    reclaim_policy: str | None = None
    """reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class.
    Defaults to Delete.
    """
    volume_binding_mode: str | None = None
    """volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound."""


class VolumeAttachment(Object, ApiModel):
    """VolumeAttachment captures the intent to attach or detach the specified volume to/from the specified node."""

    resource: ClassVar[Resource] = _table.STORAGE_V1_VOLUME_ATTACHMENT

    spec: VolumeAttachmentSpec = msgspec.field(default_factory=lambda: VolumeAttachmentSpec(attacher="", node_name="", source=VolumeAttachmentSource()))
    """spec represents specification of the desired attach/detach volume behavior."""
    status: VolumeAttachmentStatus = msgspec.field(default_factory=lambda: VolumeAttachmentStatus(attached=False))
    """status represents status of the VolumeAttachment request."""


class VolumeAttributesClass(Object, ApiModel):
    """VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The
    class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the
    PersistentVolumeClaim spec after provisioning.
    """

    resource: ClassVar[Resource] = _table.STORAGE_V1_VOLUME_ATTRIBUTES_CLASS

    driver_name: str
    """driverName is the name of the CSI driver This field is immutable."""
    parameters: dict[str, str] = {}
    """parameters hold volume attributes defined by the CSI driver."""


class CSIDriverList(KindList[CSIDriver]):
    """CSIDriverList is a collection of CSIDriver objects."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIDriverList"


class CSINodeList(KindList[CSINode]):
    """CSINodeList is a collection of CSINode objects."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSINodeList"


class CSIStorageCapacityList(KindList[CSIStorageCapacity]):
    """CSIStorageCapacityList is a collection of CSIStorageCapacity objects."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIStorageCapacityList"


class StorageClassList(KindList[StorageClass]):
    """StorageClassList is a collection of storage classes."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "StorageClassList"


class VolumeAttachmentList(KindList[VolumeAttachment]):
    """VolumeAttachmentList is a collection of VolumeAttachment objects."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttachmentList"


class VolumeAttributesClassList(KindList[VolumeAttributesClass]):
    """VolumeAttributesClassList is a collection of VolumeAttributesClass objects."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttributesClassList"
