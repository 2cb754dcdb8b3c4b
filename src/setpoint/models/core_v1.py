# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""v1, the core group."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, LabelSelector, MicroTime, Object, ObjectMeta, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models._mixins import NodeMixin, PodMixin


class AWSElasticBlockStoreVolumeSource(ApiModel):
    """Represents a Persistent Disk resource in AWS."""

    fs_type: str | None = None
    """fsType is the filesystem type of the volume that you want to mount."""
    partition: int | None = None
    """partition is the partition in the volume that you want to mount."""
    read_only: bool | None = None
    """readOnly value true will force the readOnly setting in VolumeMounts."""
    volume_id: str = msgspec.field(name="volumeID")
    """volumeID is unique ID of the persistent disk resource in AWS (Amazon EBS volume)."""


class Affinity(ApiModel):
    """Affinity is a group of affinity scheduling rules."""

    node_affinity: NodeAffinity | None = None
    """Describes node affinity scheduling rules for the pod."""
    pod_affinity: PodAffinity | None = None
    """Describes pod affinity scheduling rules (e.g. co-locate this pod in the same node, zone, etc. as some other
    pod(s)).
    """
    pod_anti_affinity: PodAntiAffinity | None = None
    """Describes pod anti-affinity scheduling rules (e.g. avoid putting this pod in the same node, zone, etc. as some
    other pod(s)).
    """


class AppArmorProfile(ApiModel):
    """AppArmorProfile defines a pod or container's AppArmor settings."""

    localhost_profile: str | None = None
    """localhostProfile indicates a profile loaded on the node that should be used. Must be set if and only if type is
    "Localhost".
    """
    type: str
    """type indicates which kind of AppArmor profile will be applied."""


class AttachedVolume(ApiModel):
    """AttachedVolume describes a volume attached to a node"""

    device_path: str
    """DevicePath represents the device path where the volume should be available"""
    name: str
    """Name of the attached volume"""


class AzureDiskVolumeSource(ApiModel):
    """AzureDisk represents an Azure Data Disk mount on the host and bind mount to the pod."""

    caching_mode: str | None = None
    """cachingMode is the Host Caching mode: None, Read Only, Read Write."""
    disk_name: str
    """diskName is the Name of the data disk in the blob storage"""
    disk_uri: str = msgspec.field(name="diskURI")
    """diskURI is the URI of data disk in the blob storage"""
    fs_type: str | None = None
    """fsType is Filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. "ext4",
    "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    kind: str | None = None
    """kind expected values are Shared: multiple blob disks per storage account Dedicated: single blob disk per storage
    account Managed: azure managed data disk (only in managed availability set). defaults to shared
    """
    read_only: bool | None = None
    """readOnly Defaults to false (read/write)."""


class AzureFilePersistentVolumeSource(ApiModel):
    """AzureFile represents an Azure File Service mount on the host and bind mount to the pod."""

    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_name: str
    """secretName is the name of secret that contains Azure Storage Account Name and Key"""
    secret_namespace: str | None = None
    """secretNamespace is the namespace of the secret that contains Azure Storage Account Name and Key default is the
    same as the Pod
    """
    share_name: str
    """shareName is the azure Share Name"""


class AzureFileVolumeSource(ApiModel):
    """AzureFile represents an Azure File Service mount on the host and bind mount to the pod."""

    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_name: str
    """secretName is the name of secret that contains Azure Storage Account Name and Key"""
    share_name: str
    """shareName is the azure share Name"""


class CSIPersistentVolumeSource(ApiModel):
    """Represents storage that is managed by an external CSI volume driver"""

    controller_expand_secret_ref: SecretReference | None = None
    """controllerExpandSecretRef is a reference to the secret object containing sensitive information to pass to the CSI
    driver to complete the CSI ControllerExpandVolume call.
    """
    controller_publish_secret_ref: SecretReference | None = None
    """controllerPublishSecretRef is a reference to the secret object containing sensitive information to pass to the
    CSI driver to complete the CSI ControllerPublishVolume and ControllerUnpublishVolume calls.
    """
    driver: str
    """driver is the name of the driver to use for this volume."""
    fs_type: str | None = None
    """fsType to mount. Must be a filesystem type supported by the host operating system. Ex. "ext4", "xfs", "ntfs"."""
    node_expand_secret_ref: SecretReference | None = None
    """nodeExpandSecretRef is a reference to the secret object containing sensitive information to pass to the CSI
    driver to complete the CSI NodeExpandVolume call.
    """
    node_publish_secret_ref: SecretReference | None = None
    """nodePublishSecretRef is a reference to the secret object containing sensitive information to pass to the CSI
    driver to complete the CSI NodePublishVolume and NodeUnpublishVolume calls.
    """
    node_stage_secret_ref: SecretReference | None = None
    """nodeStageSecretRef is a reference to the secret object containing sensitive information to pass to the CSI driver
    to complete the CSI NodeStageVolume and NodeStageVolume and NodeUnstageVolume calls.
    """
    read_only: bool | None = None
    """readOnly value to pass to ControllerPublishVolumeRequest. Defaults to false (read/write)."""
    volume_attributes: dict[str, str] = {}
    """volumeAttributes of the volume to publish."""
    volume_handle: str
    """volumeHandle is the unique volume name returned by the CSI volume plugin’s CreateVolume to refer to the volume on
    all subsequent calls.
    """


class CSIVolumeSource(ApiModel):
    """Represents a source location of a volume to mount, managed by an external CSI driver"""

    driver: str
    """driver is the name of the CSI driver that handles this volume."""
    fs_type: str | None = None
    """fsType to mount. Ex. "ext4", "xfs", "ntfs". If not provided, the empty value is passed to the associated CSI
    driver which will determine the default filesystem to apply.
    """
    node_publish_secret_ref: LocalObjectReference | None = None
    """nodePublishSecretRef is a reference to the secret object containing sensitive information to pass to the CSI
    driver to complete the CSI NodePublishVolume and NodeUnpublishVolume calls.
    """
    read_only: bool | None = None
    """readOnly specifies a read-only configuration for the volume. Defaults to false (read/write)."""
    volume_attributes: dict[str, str] = {}
    """volumeAttributes stores driver-specific properties that are passed to the CSI driver."""


class Capabilities(ApiModel):
    """Adds and removes POSIX capabilities from running containers."""

    add: list[str] = []
    """Added capabilities"""
    drop: list[str] = []
    """Removed capabilities"""


class CephFSPersistentVolumeSource(ApiModel):
    """Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not support ownership
    management or SELinux relabeling.
    """

    monitors: list[str]
    """monitors is Required: Monitors is a collection of Ceph monitors More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """
    path: str | None = None
    """path is Optional: Used as the mounted root, rather than the full Ceph tree, default is /"""
    read_only: bool | None = None
    """readOnly is Optional: Defaults to false (read/write)."""
    secret_file: str | None = None
    """secretFile is Optional: SecretFile is the path to key ring for User, default is /etc/ceph/user.secret More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """
    secret_ref: SecretReference | None = None
    """secretRef is Optional: SecretRef is reference to the authentication secret for User, default is empty."""
    user: str | None = None
    """user is Optional: User is the rados user name, default is admin More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """


class CephFSVolumeSource(ApiModel):
    """Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not support ownership
    management or SELinux relabeling.
    """

    monitors: list[str]
    """monitors is Required: Monitors is a collection of Ceph monitors More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """
    path: str | None = None
    """path is Optional: Used as the mounted root, rather than the full Ceph tree, default is /"""
    read_only: bool | None = None
    """readOnly is Optional: Defaults to false (read/write)."""
    secret_file: str | None = None
    """secretFile is Optional: SecretFile is the path to key ring for User, default is /etc/ceph/user.secret More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """
    secret_ref: LocalObjectReference | None = None
    """secretRef is Optional: SecretRef is reference to the authentication secret for User, default is empty."""
    user: str | None = None
    """user is optional: User is the rados user name, default is admin More info:
    https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it
    """


class CinderPersistentVolumeSource(ApiModel):
    """Represents a cinder volume resource in Openstack. A Cinder volume must exist before mounting to a container. The
    volume must also be in the same region as the kubelet. Cinder volumes support ownership management and SELinux
    relabeling.
    """

    fs_type: str | None = None
    """fsType Filesystem type to mount. Must be a filesystem type supported by the host operating system. Examples:
    "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    read_only: bool | None = None
    """readOnly is Optional: Defaults to false (read/write)."""
    secret_ref: SecretReference | None = None
    """secretRef is Optional: points to a secret object containing parameters used to connect to OpenStack."""
    volume_id: str = msgspec.field(name="volumeID")
    """volumeID used to identify the volume in cinder."""


class CinderVolumeSource(ApiModel):
    """Represents a cinder volume resource in Openstack. A Cinder volume must exist before mounting to a container. The
    volume must also be in the same region as the kubelet. Cinder volumes support ownership management and SELinux
    relabeling.
    """

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system.
    Examples: "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_ref: LocalObjectReference | None = None
    """secretRef is optional: points to a secret object containing parameters used to connect to OpenStack."""
    volume_id: str = msgspec.field(name="volumeID")
    """volumeID used to identify the volume in cinder."""


class ClientIPConfig(ApiModel):
    """ClientIPConfig represents the configurations of Client IP based session affinity."""

    timeout_seconds: int | None = None
    """timeoutSeconds specifies the seconds of ClientIP type session sticky time. Default value is 10800(for 3 hours).
    """


class ClusterTrustBundleProjection(ApiModel):
    """ClusterTrustBundleProjection describes how to select a set of ClusterTrustBundle objects and project their
    contents into the pod filesystem.
    """

    label_selector: LabelSelector | None = None
    """Select all ClusterTrustBundles that match this label selector."""
    name: str | None = None
    """Select a single ClusterTrustBundle by object name."""
    optional: bool | None = None
    """If true, don't block pod startup if the referenced ClusterTrustBundle(s) aren't available."""
    path: str
    """Relative path from the volume root to write the bundle."""
    signer_name: str | None = None
    """Select all ClusterTrustBundles that match this signer name."""
    user: int | None = None
    """user is Optional: The owner UID of the created file."""


class ComponentCondition(ApiModel):
    """Information about the condition of a component."""

    error: str | None = None
    """Condition error code for a component. For example, a health check error code."""
    message: str | None = None
    """Message about the condition for a component."""
    status: str
    """Status of the condition for a component. Valid values for "Healthy": "True", "False", or "Unknown"."""
    type: str
    """Type of condition for a component. Valid value: "Healthy\""""


class ConfigMapEnvSource(ApiModel):
    """ConfigMapEnvSource selects a ConfigMap to populate the environment variables with."""

    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """Specify whether the ConfigMap must be defined"""


class ConfigMapKeySelector(ApiModel):
    """Selects a key from a ConfigMap."""

    key: str
    """The key to select from the ConfigMap's Data field."""
    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """Specify whether the ConfigMap or its key must be defined"""


class ConfigMapNodeConfigSource(ApiModel):
    """ConfigMapNodeConfigSource contains the information to reference a ConfigMap as a config source for the Node. This
    API is deprecated since 1.22: https://git.k8s.io/enhancements/keps/sig-node/281-dynamic-kubelet-configuration
    """

    kubelet_config_key: str
    """KubeletConfigKey declares which key of the referenced ConfigMap corresponds to the KubeletConfiguration structure
    This field is required in all cases.
    """
    name: str
    """Name is the metadata.name of the referenced ConfigMap."""
    namespace: str
    """Namespace is the metadata.namespace of the referenced ConfigMap."""
    resource_version: str | None = None
    """ResourceVersion is the metadata.ResourceVersion of the referenced ConfigMap."""
    uid: str | None = None
    """UID is the metadata.UID of the referenced ConfigMap."""


class ConfigMapProjection(ApiModel):
    """Adapts a ConfigMap into a projected volume."""

    items: list[KeyToPath] = []
    """items if unspecified, each key-value pair in the Data field of the referenced ConfigMap will be projected into
    the volume as a file whose name is the key and content is the value.
    """
    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """optional specify whether the ConfigMap or its keys must be defined"""


class ConfigMapVolumeSource(ApiModel):
    """Adapts a ConfigMap into a volume."""

    default_mode: int | None = None
    """defaultMode is optional: mode bits used to set permissions on created files by default. Must be an octal value
    between 0000 and 0777 or a decimal value between 0 and 511. Defaults to 0644.
    """
    default_user: int | None = None
    """defaultUser is Optional: The owner UID of the created files by default."""
    items: list[KeyToPath] = []
    """items if unspecified, each key-value pair in the Data field of the referenced ConfigMap will be projected into
    the volume as a file whose name is the key and content is the value.
    """
    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """optional specify whether the ConfigMap or its keys must be defined"""


class Container(ApiModel):
    """A single application container that you want to run within a pod."""

    args: list[str] = []
    """Arguments to the entrypoint. The container image's CMD is used if this is not provided. Variable references
    $(VAR_NAME) are expanded using the container's environment. If a variable cannot be resolved, the reference in the
    input string will be unchanged.
    """
    command: list[str] = []
    """Entrypoint array. Not executed within a shell. The container image's ENTRYPOINT is used if this is not provided.
    Variable references $(VAR_NAME) are expanded using the container's environment. Cannot be updated.
    """
    env: list[EnvVar] = []
    """List of environment variables to set in the container. Cannot be updated."""
    env_from: list[EnvFromSource] = []
    """List of sources to populate environment variables in the container. Cannot be updated."""
    image: str | None = None
    """Container image name."""
    image_pull_policy: str | None = None
    """Image pull policy. One of Always, Never, IfNotPresent. Defaults to Always if :latest tag is specified, or
    IfNotPresent otherwise. Cannot be updated.
    """
    lifecycle: Lifecycle | None = None
    """Actions that the management system should take in response to container lifecycle events. Cannot be updated."""
    liveness_probe: Probe | None = None
    """Periodic probe of container liveness. Container will be restarted if the probe fails. Cannot be updated."""
    name: str
    """Name of the container specified as a DNS_LABEL. Cannot be updated."""
    ports: list[ContainerPort] = []
    """List of ports to expose from the container. Cannot be updated."""
    readiness_probe: Probe | None = None
    """Periodic probe of container service readiness. Cannot be updated."""
    resize_policy: list[ContainerResizePolicy] = []
    """Resources resize policy for the container."""
    resources: ResourceRequirements | None = None
    """Compute Resources required by this container. Cannot be updated."""
    restart_policy: str | None = None
    """RestartPolicy defines the restart behavior of individual containers in a pod."""
    restart_policy_rules: list[ContainerRestartRule] = []
    """Represents a list of rules to be checked to determine if the container should be restarted on exit."""
    security_context: SecurityContext | None = None
    """SecurityContext defines the security options the container should be run with."""
    startup_probe: Probe | None = None
    """StartupProbe indicates that the Pod has successfully initialized."""
    stdin: bool | None = None
    """Whether this container should allocate a buffer for stdin in the container runtime. Default is false."""
    stdin_once: bool | None = None
    """Whether the container runtime should close the stdin channel after it has been opened by a single attach. Default
    is false
    """
    termination_message_path: str | None = None
    """Optional: Path at which the file to which the container's termination message will be written is mounted into the
    container's filesystem. Defaults to /dev/termination-log. Cannot be updated.
    """
    termination_message_policy: str | None = None
    """Indicate how the termination message should be populated. Defaults to File. Cannot be updated."""
    tty: bool | None = None
    """Whether this container should allocate a TTY for itself, also requires 'stdin' to be true. Default is false."""
    volume_devices: list[VolumeDevice] = []
    """volumeDevices is the list of block devices to be used by the container."""
    volume_mounts: list[VolumeMount] = []
    """Pod volumes to mount into the container's filesystem. Cannot be updated."""
    working_dir: str | None = None
    """Container's working directory. If not specified, the container runtime's default will be used, which might be
    configured in the container image. Cannot be updated.
    """


class ContainerExtendedResourceRequest(ApiModel):
    """ContainerExtendedResourceRequest has the mapping of container name, extended resource name to the device request
    name.
    """

    container_name: str
    """The name of the container requesting resources."""
    request_name: str
    """The name of the request in the special ResourceClaim which corresponds to the extended resource."""
    resource_name: str
    """The name of the extended resource in that container which gets backed by DRA."""


class ContainerImage(ApiModel):
    """Describe a container image"""

    names: list[str] = []
    """Names by which this image is known. e.g. ["kubernetes.example/hyperkube:v1.0.7",
    "cloud-vendor.registry.example/cloud-vendor/hyperkube:v1.0.7"]
    """
    size_bytes: int | None = None
    """The size of the image in bytes."""


class ContainerPort(ApiModel):
    """ContainerPort represents a network port in a single container."""

    container_port: int
    """Number of port to expose on the pod's IP address."""
    host_ip: str | None = msgspec.field(name="hostIP", default=None)
    """What host IP to bind the external port to."""
    host_port: int | None = None
    """Number of port to expose on the host. If specified, this must be a valid port number, 0 < x < 65536. If
    HostNetwork is specified, this must match ContainerPort. Most containers do not need this.
    """
    name: str | None = None
    """If specified, this must be an IANA_SVC_NAME and unique within the pod."""
    protocol: str | None = None
    """Protocol for port. Must be UDP, TCP, or SCTP. Defaults to "TCP"."""


class ContainerResizePolicy(ApiModel):
    """ContainerResizePolicy represents resource resize policy for the container."""

    resource_name: str
    """Name of the resource to which this resource resize policy applies."""
    restart_policy: str
    """Restart policy to apply when specified resource is resized."""


class ContainerRestartRule(ApiModel):
    """ContainerRestartRule describes how a container exit is handled."""

    action: str
    """Specifies the action taken on a container exit if the requirements are satisfied."""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None
    """Represents the exit codes to check on container exits."""


class ContainerRestartRuleOnExitCodes(ApiModel):
    """ContainerRestartRuleOnExitCodes describes the condition for handling an exited container based on its exit codes.
    """

    operator: str
    """Represents the relationship between the container exit code(s) and the specified values."""
    values: list[int] = []
    """Specifies the set of values to check for container exit codes."""


class ContainerState(ApiModel):
    """ContainerState holds a possible state of container. Only one of its members may be specified. If none of them is
    specified, the default one is ContainerStateWaiting.
    """

    running: ContainerStateRunning | None = None
    """Details about a running container"""
    terminated: ContainerStateTerminated | None = None
    """Details about a terminated container"""
    waiting: ContainerStateWaiting | None = None
    """Details about a waiting container"""


class ContainerStateRunning(ApiModel):
    """ContainerStateRunning is a running state of a container."""

    started_at: datetime | None = None
    """Time at which the container was last (re-)started"""


class ContainerStateTerminated(ApiModel):
    """ContainerStateTerminated is a terminated state of a container."""

    container_id: str | None = msgspec.field(name="containerID", default=None)
    """Container's ID in the format '<type>://<container_id>'"""
    exit_code: int
    """Exit status from the last termination of the container"""
    finished_at: datetime | None = None
    """Time at which the container last terminated"""
    message: str | None = None
    """Message regarding the last termination of the container"""
    reason: str | None = None
    """(brief) reason from the last termination of the container"""
    signal: int | None = None
    """Signal from the last termination of the container"""
    started_at: datetime | None = None
    """Time at which previous execution of the container started"""


class ContainerStateWaiting(ApiModel):
    """ContainerStateWaiting is a waiting state of a container."""

    message: str | None = None
    """Message regarding why the container is not yet running."""
    reason: str | None = None
    """(brief) reason the container is not yet running."""


class ContainerStatus(ApiModel):
    """ContainerStatus contains details for the current status of this container."""

    allocated_resources: dict[str, str] = {}
    """AllocatedResources represents the compute resources allocated for this container by the node."""
    allocated_resources_status: list[ResourceStatus] = []
    """AllocatedResourcesStatus represents the status of various resources allocated for this Pod."""
    container_id: str | None = msgspec.field(name="containerID", default=None)
    """ContainerID is the ID of the container in the format '<type>://<container_id>'."""
    image: str
    """Image is the name of container image that the container is running."""
    image_id: str = msgspec.field(name="imageID")
    """ImageID is the image ID of the container's image."""
    last_state: ContainerState | None = None
    """LastTerminationState holds the last termination state of the container to help debug container crashes and
    restarts.
    """
    name: str
    """Name is a DNS_LABEL representing the unique name of the container. Cannot be updated."""
    ready: bool
    """Ready specifies whether the container is currently passing its readiness check."""
    resources: ResourceRequirements | None = None
    """Resources represents the compute resource requests and limits that have been successfully enacted on the running
    container after it has been started or has been successfully resized.
    """
    restart_count: int
    """RestartCount holds the number of times the container has been restarted."""
    started: bool | None = None
    """Started indicates whether the container has finished its postStart lifecycle hook and passed its startup probe.
    """
    state: ContainerState | None = None
    """State holds details about the container's current condition."""
    stop_signal: str | None = None
    """StopSignal reports the effective stop signal for this container"""
    user: ContainerUser | None = None
    """User represents user identity information initially attached to the first process of the container"""
    volume_mounts: list[VolumeMountStatus] = []
    """Status of volume mounts."""


class ContainerUser(ApiModel):
    """ContainerUser represents user identity information"""

    linux: LinuxContainerUser | None = None
    """Linux holds user identity information initially attached to the first process of the containers in Linux."""


class DaemonEndpoint(ApiModel):
    """DaemonEndpoint contains information about a single Daemon endpoint."""

    port: int = msgspec.field(name="Port")
    """Port number of the given endpoint."""


class DownwardAPIProjection(ApiModel):
    """Represents downward API info for projecting into a projected volume. Note that this is identical to a downwardAPI
    volume source without the default mode.
    """

    items: list[DownwardAPIVolumeFile] = []
    """Items is a list of DownwardAPIVolume file"""


class DownwardAPIVolumeFile(ApiModel):
    """DownwardAPIVolumeFile represents information to create the file containing the pod field"""

    field_ref: ObjectFieldSelector | None = None
    """Required: Selects a field of the pod: only annotations, labels, name, namespace and uid are supported."""
    mode: int | None = None
    """Optional: mode bits used to set permissions on this file, must be an octal value between 0000 and 0777 or a
    decimal value between 0 and 511.
    """
    path: str
    """Required: Path is the relative path name of the file to be created. Must be utf-8 encoded."""
    resource_field_ref: ResourceFieldSelector | None = None
    """Selects a resource of the container: only resources limits and requests (limits.cpu, limits.memory, requests.cpu
    and requests.memory) are currently supported.
    """
    user: int | None = None
    """user is Optional: The owner UID of the created file."""


class DownwardAPIVolumeSource(ApiModel):
    """DownwardAPIVolumeSource represents a volume containing downward API info. Downward API volumes support ownership
    management and SELinux relabeling.
    """

    default_mode: int | None = None
    """Optional: mode bits to use on created files by default. Must be a Optional: mode bits used to set permissions on
    created files by default. Must be an octal value between 0000 and 0777 or a decimal value between 0 and 511.
    Defaults to 0644.
    """
    default_user: int | None = None
    """defaultUser is Optional: The owner UID of the created files by default."""
    items: list[DownwardAPIVolumeFile] = []
    """Items is a list of downward API volume file"""


class EmptyDirVolumeSource(ApiModel):
    """Represents an empty directory for a pod. Empty directory volumes support ownership management and SELinux
    relabeling.
    """

    medium: str | None = None
    """medium represents what type of storage medium should back this directory. The default is "" which means to use
    the node's default medium. Must be an empty string (default) or Memory.
    """
    mode: int | None = None
    """mode specifies the permission bits for the emptyDir directory, in numeric notation (e.g., 0755, 01777). Must be a
    value between 0000 and 01777.
    """
    size_limit: str | None = None
    """sizeLimit is the total amount of local storage required for this EmptyDir volume. The default is nil which means
    that the limit is undefined.
    """


class EndpointAddress(ApiModel):
    """EndpointAddress is a tuple that describes single IP address. Deprecated: This API is deprecated in v1.33+."""

    hostname: str | None = None
    """The Hostname of this endpoint"""
    ip: str
    """The IP of this endpoint. May not be loopback (127.0.0.0/8 or ::1), link-local (169.254.0.0/16 or fe80::/10), or
    link-local multicast (224.0.0.0/24 or ff02::/16).
    """
    node_name: str | None = None
    """Optional: Node hosting this endpoint. This can be used to determine endpoints local to a node."""
    target_ref: ObjectReference | None = None
    """Reference to object providing the endpoint."""


class EndpointPort(ApiModel):
    """EndpointPort is a tuple that describes a single port. Deprecated: This API is deprecated in v1.33+."""

    app_protocol: str | None = None
    """The application protocol for this port. This is used as a hint for implementations to offer richer behavior for
    protocols that they understand. This field follows standard Kubernetes label syntax.
    """
    name: str | None = None
    """The name of this port. This must match the 'name' field in the corresponding ServicePort. Must be a DNS_LABEL.
    Optional only if one port is defined.
    """
    port: int
    """The port number of the endpoint."""
    protocol: str | None = None
    """The IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP."""


class EndpointSubset(ApiModel):
    """EndpointSubset is a group of addresses with a common set of ports. The expanded set of endpoints is the Cartesian
    product of Addresses x Ports.
    """

    addresses: list[EndpointAddress] = []
    """IP addresses which offer the related ports that are marked as ready."""
    not_ready_addresses: list[EndpointAddress] = []
    """IP addresses which offer the related ports but are not currently marked as ready because they have not yet
    finished starting, have recently failed a readiness check, or have recently failed a liveness check.
    """
    ports: list[EndpointPort] = []
    """Port numbers available on the related IP addresses."""


class EnvFromSource(ApiModel):
    """EnvFromSource represents the source of a set of ConfigMaps or Secrets"""

    config_map_ref: ConfigMapEnvSource | None = None
    """The ConfigMap to select from"""
    prefix: str | None = None
    """Optional text to prepend to the name of each environment variable."""
    secret_ref: SecretEnvSource | None = None
    """The Secret to select from"""


class EnvVar(ApiModel):
    """EnvVar represents an environment variable present in a Container."""

    name: str
    """Name of the environment variable. May consist of any printable ASCII characters except '='."""
    value: str | None = None
    """Variable references $(VAR_NAME) are expanded using the previously defined environment variables in the container
    and any service environment variables. Defaults to "".
    """
    value_from: EnvVarSource | None = None
    """Source for the environment variable's value."""


class EnvVarSource(ApiModel):
    """EnvVarSource represents a source for the value of an EnvVar."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    """Selects a key of a ConfigMap."""
    field_ref: ObjectFieldSelector | None = None
    """Selects a field of the pod: supports metadata.name, metadata.namespace, `metadata.labels['<KEY>']`,
    `metadata.annotations['<KEY>']`, spec.nodeName, spec.serviceAccountName, status.hostIP, status.podIP, status.podIPs.
    """
    file_key_ref: FileKeySelector | None = None
    """FileKeyRef selects a key of the env file."""
    resource_field_ref: ResourceFieldSelector | None = None
    """Selects a resource of the container: only resources limits and requests (limits.cpu, limits.memory,
    limits.ephemeral-storage, requests.cpu, requests.memory and requests.ephemeral-storage) are currently supported.
    """
    secret_key_ref: SecretKeySelector | None = None
    """Selects a key of a secret in the pod's namespace"""


class EphemeralContainer(ApiModel):
    """An EphemeralContainer is a temporary container that you may add to an existing Pod for user-initiated activities
    such as debugging. Ephemeral containers have no resource or scheduling guarantees, and they will not be restarted
    when they exit or when a Pod is removed or restarted. The kubelet may evict a Pod if an ephemeral container causes
    the Pod to exceed its resource allocation.
    """

    args: list[str] = []
    """Arguments to the entrypoint. The image's CMD is used if this is not provided. Variable references $(VAR_NAME) are
    expanded using the container's environment. If a variable cannot be resolved, the reference in the input string will
    be unchanged.
    """
    command: list[str] = []
    """Entrypoint array. Not executed within a shell. The image's ENTRYPOINT is used if this is not provided. Variable
    references $(VAR_NAME) are expanded using the container's environment. Cannot be updated.
    """
    env: list[EnvVar] = []
    """List of environment variables to set in the container. Cannot be updated."""
    env_from: list[EnvFromSource] = []
    """List of sources to populate environment variables in the container. Cannot be updated."""
    image: str | None = None
    """Container image name."""
    image_pull_policy: str | None = None
    """Image pull policy. One of Always, Never, IfNotPresent. Defaults to Always if :latest tag is specified, or
    IfNotPresent otherwise. Cannot be updated.
    """
    lifecycle: Lifecycle | None = None
    """Lifecycle is not allowed for ephemeral containers."""
    liveness_probe: Probe | None = None
    """Probes are not allowed for ephemeral containers."""
    name: str
    """Name of the ephemeral container specified as a DNS_LABEL."""
    ports: list[ContainerPort] = []
    """Ports are not allowed for ephemeral containers."""
    readiness_probe: Probe | None = None
    """Probes are not allowed for ephemeral containers."""
    resize_policy: list[ContainerResizePolicy] = []
    """Resources resize policy for the container."""
    resources: ResourceRequirements | None = None
    """Resources are not allowed for ephemeral containers."""
    restart_policy: str | None = None
    """Restart policy for the container to manage the restart behavior of each container within a pod."""
    restart_policy_rules: list[ContainerRestartRule] = []
    """Represents a list of rules to be checked to determine if the container should be restarted on exit."""
    security_context: SecurityContext | None = None
    """Optional: SecurityContext defines the security options the ephemeral container should be run with."""
    startup_probe: Probe | None = None
    """Probes are not allowed for ephemeral containers."""
    stdin: bool | None = None
    """Whether this container should allocate a buffer for stdin in the container runtime. Default is false."""
    stdin_once: bool | None = None
    """Whether the container runtime should close the stdin channel after it has been opened by a single attach. Default
    is false
    """
    target_container_name: str | None = None
    """If set, the name of the container from PodSpec that this ephemeral container targets."""
    termination_message_path: str | None = None
    """Optional: Path at which the file to which the container's termination message will be written is mounted into the
    container's filesystem. Defaults to /dev/termination-log. Cannot be updated.
    """
    termination_message_policy: str | None = None
    """Indicate how the termination message should be populated. Defaults to File. Cannot be updated."""
    tty: bool | None = None
    """Whether this container should allocate a TTY for itself, also requires 'stdin' to be true. Default is false."""
    volume_devices: list[VolumeDevice] = []
    """volumeDevices is the list of block devices to be used by the container."""
    volume_mounts: list[VolumeMount] = []
    """Pod volumes to mount into the container's filesystem. Cannot be updated."""
    working_dir: str | None = None
    """Container's working directory. If not specified, the container runtime's default will be used, which might be
    configured in the container image. Cannot be updated.
    """


class EphemeralVolumeSource(ApiModel):
    """Represents an ephemeral volume that is handled by a normal storage driver."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None
    """Will be used to create a stand-alone PVC to provision the volume."""


class EventSeries(ApiModel):
    """EventSeries contain information on series of events, i.e. thing that was/is happening continuously for some time.
    """

    count: int | None = None
    """Number of occurrences in this series up to the last heartbeat time"""
    last_observed_time: MicroTime | None = None
    """Time of the last occurrence observed"""


class EventSource(ApiModel):
    """EventSource contains information for an event."""

    component: str | None = None
    """Component from which the event is generated."""
    host: str | None = None
    """Node name on which the event is generated."""


class EvictionResponder(ApiModel):
    """EvictionResponder allows you to specify the responder reacting to an Eviction. Responders should observe and
    communicate through the Eviction Resource API to help with the graceful eviction of a target (e.g. termination of a
    pod).
    """

    name: str
    """name allows you to identify the responder responding to the Eviction."""
    priority: int
    """priority for this responder. Higher priorities are selected first by the evictionrequest-controller. If there are
    responders with the same priority, the responder whose domain name comes first in the alphabetical higher domain
    order, will be picked.
    """


class ExecAction(ApiModel):
    """ExecAction describes a "run in container" action."""

    command: list[str] = []
    """Command is the command line to execute inside the container, the working directory for the command is root ('/')
    in the container's filesystem.
    """


class FCVolumeSource(ApiModel):
    """Represents a Fibre Channel volume. Fibre Channel volumes can only be mounted as read/write once. Fibre Channel
    volumes support ownership management and SELinux relabeling.
    """

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    lun: int | None = None
    """lun is Optional: FC target lun number"""
    read_only: bool | None = None
    """readOnly is Optional: Defaults to false (read/write)."""
    target_wwns: list[str] = msgspec.field(name="targetWWNs", default=[])
    """targetWWNs is Optional: FC target worldwide names (WWNs)"""
    wwids: list[str] = []
    """wwids Optional: FC volume world wide identifiers (wwids) Either wwids or combination of targetWWNs and lun must
    be set, but not both simultaneously.
    """


class FileKeySelector(ApiModel):
    """FileKeySelector selects a key of the env file."""

    key: str
    """The key within the env file. An invalid key will prevent the pod from starting. The keys defined within a source
    may consist of any printable ASCII characters except '='.
    """
    optional: bool | None = None
    """Specify whether the file or its key must be defined."""
    path: str
    """The path within the volume from which to select the file. Must be relative and may not contain the '..' path or
    start with '..'.
    """
    volume_name: str
    """The name of the volume mount containing the env file."""


class FlexPersistentVolumeSource(ApiModel):
    """FlexPersistentVolumeSource represents a generic persistent volume resource that is provisioned/attached using an
    exec based plugin.
    """

    driver: str
    """driver is the name of the driver to use for this volume."""
    fs_type: str | None = None
    """fsType is the Filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". The default filesystem depends on FlexVolume script.
    """
    options: dict[str, str] = {}
    """options is Optional: this field holds extra command options if any."""
    read_only: bool | None = None
    """readOnly is Optional: defaults to false (read/write)."""
    secret_ref: SecretReference | None = None
    """secretRef is Optional: SecretRef is reference to the secret object containing sensitive information to pass to
    the plugin scripts.
    """


class FlexVolumeSource(ApiModel):
    """FlexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin."""

    driver: str
    """driver is the name of the driver to use for this volume."""
    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". The default filesystem depends on FlexVolume script.
    """
    options: dict[str, str] = {}
    """options is Optional: this field holds extra command options if any."""
    read_only: bool | None = None
    """readOnly is Optional: defaults to false (read/write)."""
    secret_ref: LocalObjectReference | None = None
    """secretRef is Optional: secretRef is reference to the secret object containing sensitive information to pass to
    the plugin scripts.
    """


class FlockerVolumeSource(ApiModel):
    """Represents a Flocker volume mounted by the Flocker agent. One and only one of datasetName and datasetUUID should
    be set. Flocker volumes do not support ownership management or SELinux relabeling.
    """

    dataset_name: str | None = None
    """datasetName is Name of the dataset stored as metadata -> name on the dataset for Flocker should be considered as
    deprecated
    """
    dataset_uuid: str | None = msgspec.field(name="datasetUUID", default=None)
    """datasetUUID is the UUID of the dataset. This is unique identifier of a Flocker dataset"""


class GCEPersistentDiskVolumeSource(ApiModel):
    """Represents a Persistent Disk resource in Google Compute Engine."""

    fs_type: str | None = None
    """fsType is filesystem type of the volume that you want to mount."""
    partition: int | None = None
    """partition is the partition in the volume that you want to mount."""
    pd_name: str
    """pdName is unique name of the PD resource in GCE."""
    read_only: bool | None = None
    """readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."""


class GRPCAction(ApiModel):
    """GRPCAction specifies an action involving a GRPC service."""

    mode: str | None = None
    """mode specifies the connection mode for the gRPC health probe."""
    port: int
    """Port number of the gRPC service. Number must be in the range 1 to 65535."""
    service: str | None = None
    """Service is the name of the service to place in the gRPC HealthCheckRequest (see
    https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
    """


class GitRepoVolumeSource(ApiModel):
    """Represents a volume that is populated with the contents of a git repository. Git repo volumes do not support
    ownership management. Git repo volumes support SELinux relabeling.
    """

    directory: str | None = None
    """directory is the target directory name. Must not contain or start with '..'. If '.' is supplied, the volume
    directory will be the git repository. Otherwise, if specified, the volume will contain the git repository in the
    subdirectory with the given name.
    """
    repository: str
    """repository is the URL"""
    revision: str | None = None
    """revision is the commit hash for the specified revision."""


class GlusterfsPersistentVolumeSource(ApiModel):
    """Represents a Glusterfs mount that lasts the lifetime of a pod. Glusterfs volumes do not support ownership
    management or SELinux relabeling.
    """

    endpoints: str
    """endpoints is the endpoint name that details Glusterfs topology."""
    endpoints_namespace: str | None = None
    """endpointsNamespace is the namespace that contains Glusterfs endpoint."""
    path: str
    """path is the Glusterfs volume path."""
    read_only: bool | None = None
    """readOnly here will force the Glusterfs volume to be mounted with read-only permissions. Defaults to false."""


class GlusterfsVolumeSource(ApiModel):
    """Represents a Glusterfs mount that lasts the lifetime of a pod. Glusterfs volumes do not support ownership
    management or SELinux relabeling.
    """

    endpoints: str
    """endpoints is the endpoint name that details Glusterfs topology."""
    path: str
    """path is the Glusterfs volume path."""
    read_only: bool | None = None
    """readOnly here will force the Glusterfs volume to be mounted with read-only permissions. Defaults to false."""


class HTTPGetAction(ApiModel):
    """HTTPGetAction describes an action based on HTTP Get requests."""

    host: str | None = None
    """Host name to connect to, defaults to the pod IP."""
    http_headers: list[HTTPHeader] = []
    """Custom headers to set in the request. HTTP allows repeated headers."""
    path: str | None = None
    """Path to access on the HTTP server."""
    port: int | str
    """Name or number of the port to access on the container."""
    protocol: str | None = None
    """Protocol selects the wire protocol for the probe connection."""
    scheme: str | None = None
    """Scheme to use for connecting to the host. Defaults to HTTP."""


class HTTPHeader(ApiModel):
    """HTTPHeader describes a custom header to be used in HTTP probes"""

    name: str
    """The header field name. This will be canonicalized upon output, so case-variant names will be understood as the
    same header.
    """
    value: str
    """The header field value"""


class HostAlias(ApiModel):
    """HostAlias holds the mapping between IP and hostnames that will be injected as an entry in the pod's hosts file.
    """

    hostnames: list[str] = []
    """Hostnames for the above IP address."""
    ip: str
    """IP address of the host file entry."""


class HostIP(ApiModel):
    """HostIP represents a single IP address allocated to the host."""

    ip: str
    """IP is the IP address assigned to the host"""


class HostPathVolumeSource(ApiModel):
    """Represents a host path mapped into a pod. Host path volumes do not support ownership management or SELinux
    relabeling.
    """

    path: str
    """path of the directory on the host. If the path is a symlink, it will follow the link to the real path."""
    type: str | None = None
    """type for HostPath Volume Defaults to "" More info: https://kubernetes.io/docs/concepts/storage/volumes#hostpath
    """


class ISCSIPersistentVolumeSource(ApiModel):
    """ISCSIPersistentVolumeSource represents an ISCSI disk. ISCSI volumes can only be mounted as read/write once. ISCSI
    volumes support ownership management and SELinux relabeling.
    """

    chap_auth_discovery: bool | None = None
    """chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication"""
    chap_auth_session: bool | None = None
    """chapAuthSession defines whether support iSCSI Session CHAP authentication"""
    fs_type: str | None = None
    """fsType is the filesystem type of the volume that you want to mount."""
    initiator_name: str | None = None
    """initiatorName is the custom iSCSI Initiator Name."""
    iqn: str
    """iqn is Target iSCSI Qualified Name."""
    iscsi_interface: str | None = None
    """iscsiInterface is the interface Name that uses an iSCSI transport. Defaults to 'default' (tcp)."""
    lun: int
    """lun is iSCSI Target Lun number."""
    portals: list[str] = []
    """portals is the iSCSI Target Portal List."""
    read_only: bool | None = None
    """readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."""
    secret_ref: SecretReference | None = None
    """secretRef is the CHAP Secret for iSCSI target and initiator authentication"""
    target_portal: str
    """targetPortal is iSCSI Target Portal. The Portal is either an IP or ip_addr:port if the port is other than default
    (typically TCP ports 860 and 3260).
    """


class ISCSIVolumeSource(ApiModel):
    """Represents an ISCSI disk. ISCSI volumes can only be mounted as read/write once. ISCSI volumes support ownership
    management and SELinux relabeling.
    """

    chap_auth_discovery: bool | None = None
    """chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication"""
    chap_auth_session: bool | None = None
    """chapAuthSession defines whether support iSCSI Session CHAP authentication"""
    fs_type: str | None = None
    """fsType is the filesystem type of the volume that you want to mount."""
    initiator_name: str | None = None
    """initiatorName is the custom iSCSI Initiator Name."""
    iqn: str
    """iqn is the target iSCSI Qualified Name."""
    iscsi_interface: str | None = None
    """iscsiInterface is the interface Name that uses an iSCSI transport. Defaults to 'default' (tcp)."""
    lun: int
    """lun represents iSCSI Target Lun number."""
    portals: list[str] = []
    """portals is the iSCSI Target Portal List."""
    read_only: bool | None = None
    """readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."""
    secret_ref: LocalObjectReference | None = None
    """secretRef is the CHAP Secret for iSCSI target and initiator authentication"""
    target_portal: str
    """targetPortal is iSCSI Target Portal. The Portal is either an IP or ip_addr:port if the port is other than default
    (typically TCP ports 860 and 3260).
    """


class ImageVolumeSource(ApiModel):
    """ImageVolumeSource represents a image volume resource."""

    pull_policy: str | None = None
    """Policy for pulling OCI objects. Possible values are: Always: the kubelet always attempts to pull the reference.
    Container creation will fail If the pull fails. Never: the kubelet never pulls the reference and only uses a local
    image or artifact.
    """
    reference: str | None = None
    """Required: Image or artifact reference to be used."""


class ImageVolumeStatus(ApiModel):
    """ImageVolumeStatus represents the image-based volume status."""

    image_ref: str
    """ImageRef is the digest of the image used for this volume."""


class KeyToPath(ApiModel):
    """Maps a string key to a path within a volume."""

    key: str
    """key is the key to project."""
    mode: int | None = None
    """mode is Optional: mode bits used to set permissions on this file. Must be an octal value between 0000 and 0777 or
    a decimal value between 0 and 511.
    """
    path: str
    """path is the relative path of the file to map the key to."""
    user: int | None = None
    """user is Optional: The owner UID of the created file."""


class Lifecycle(ApiModel):
    """Lifecycle describes actions that the management system should take in response to container lifecycle events. For
    the PostStart and PreStop lifecycle handlers, management of the container blocks until the action is complete,
    unless the container process fails, in which case the handler is aborted.
    """

    post_start: LifecycleHandler | None = None
    """PostStart is called immediately after a container is created."""
    pre_stop: LifecycleHandler | None = None
    """PreStop is called immediately before a container is terminated due to an API request or management event such as
    liveness/startup probe failure, preemption, resource contention, etc. The handler is not called if the container
    crashes or exits.
    """
    stop_signal: str | None = None
    """StopSignal defines which signal will be sent to a container when it is being stopped."""


class LifecycleHandler(ApiModel):
    """LifecycleHandler defines a specific action that should be taken in a lifecycle hook. One and only one of the
    fields, except TCPSocket must be specified.
    """

    exec: ExecAction | None = None
    """Exec specifies a command to execute in the container."""
    http_get: HTTPGetAction | None = None
    """HTTPGet specifies an HTTP GET request to perform."""
    sleep: SleepAction | None = None
    """Sleep represents a duration that the container should sleep."""
    tcp_socket: TCPSocketAction | None = None
    """Deprecated. TCPSocket is NOT supported as a LifecycleHandler and kept for backward compatibility. There is no
    validation of this field and lifecycle hooks will fail at runtime when it is specified.
    """


class LimitRangeItem(ApiModel):
    """LimitRangeItem defines a min/max usage limit for any resource that matches on kind."""

    default: dict[str, str] = {}
    """Default resource requirement limit value by resource name if resource limit is omitted."""
    default_request: dict[str, str] = {}
    """DefaultRequest is the default resource requirement request value by resource name if resource request is omitted.
    """
    max: dict[str, str] = {}
    """Max usage constraints on this kind by resource name."""
    max_limit_request_ratio: dict[str, str] = {}
    """MaxLimitRequestRatio if specified, the named resource must have a request and limit that are both non-zero where
    limit divided by request is less than or equal to the enumerated value; this represents the max burst for the named
    resource.
    """
    min: dict[str, str] = {}
    """Min usage constraints on this kind by resource name."""
    type: str
    """Type of resource that this limit applies to."""


class LimitRangeSpec(ApiModel):
    """LimitRangeSpec defines a min/max usage limit for resources that match on kind."""

    limits: list[LimitRangeItem]
    """Limits is the list of LimitRangeItem objects that are enforced."""


class LinuxContainerUser(ApiModel):
    """LinuxContainerUser represents user identity information in Linux containers"""

    gid: int
    """GID is the primary gid initially attached to the first process in the container"""
    supplemental_groups: list[int] = []
    """SupplementalGroups are the supplemental groups initially attached to the first process in the container"""
    uid: int
    """UID is the primary uid initially attached to the first process in the container"""


class LoadBalancerIngress(ApiModel):
    """LoadBalancerIngress represents the status of a load-balancer ingress point: traffic intended for the service
    should be sent to an ingress point.
    """

    hostname: str | None = None
    """Hostname is set for load-balancer ingress points that are DNS based (typically AWS load-balancers)"""
    ip: str | None = None
    """IP is set for load-balancer ingress points that are IP based (typically GCE or OpenStack load-balancers)"""
    ip_mode: str | None = None
    """IPMode specifies how the load-balancer IP behaves, and may only be specified when the ip field is specified."""
    ports: list[PortStatus] = []
    """Ports is a list of records of service ports If used, every port defined in the service should have an entry in it
    """


class LoadBalancerStatus(ApiModel):
    """LoadBalancerStatus represents the status of a load-balancer."""

    ingress: list[LoadBalancerIngress] = []
    """Ingress is a list containing ingress points for the load-balancer."""


class LocalObjectReference(ApiModel):
    """LocalObjectReference contains enough information to let you locate the referenced object inside the same
    namespace.
    """

    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """


class LocalVolumeSource(ApiModel):
    """Local represents directly-attached storage with node affinity"""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. It applies only when the Path is a block device. Must be a filesystem
    type supported by the host operating system. Ex. "ext4", "xfs", "ntfs". The default value is to auto-select a
    filesystem if unspecified.
    """
    path: str
    """path of the full path to the volume on the node."""


class ModifyVolumeStatus(ApiModel):
    """ModifyVolumeStatus represents the status object of ControllerModifyVolume operation"""

    status: str
    """status is the status of the ControllerModifyVolume operation."""
    target_volume_attributes_class_name: str | None = None
    """targetVolumeAttributesClassName is the name of the VolumeAttributesClass the PVC currently being reconciled"""


class NFSVolumeSource(ApiModel):
    """Represents an NFS mount that lasts the lifetime of a pod. NFS volumes do not support ownership management or
    SELinux relabeling.
    """

    path: str
    """path that is exported by the NFS server."""
    read_only: bool | None = None
    """readOnly here will force the NFS export to be mounted with read-only permissions. Defaults to false."""
    server: str
    """server is the hostname or IP address of the NFS server."""


class NamespaceCondition(ApiModel):
    """NamespaceCondition contains details about state of namespace."""

    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    message: str | None = None
    """Human-readable message indicating details about last transition."""
    reason: str | None = None
    """Unique, one-word, CamelCase reason for the condition's last transition."""
    status: str
    """Status of the condition, one of True, False, Unknown."""
    type: str
    """Type of namespace controller condition."""


class NamespaceSpec(ApiModel):
    """NamespaceSpec describes the attributes on a Namespace."""

    finalizers: list[str] = []
    """Finalizers is an opaque list of values that must be empty to permanently remove object from storage."""


class NamespaceStatus(ApiModel):
    """NamespaceStatus is information about the current status of a Namespace."""

    conditions: list[NamespaceCondition] = []
    """Represents the latest available observations of a namespace's current state."""
    phase: str | None = None
    """Phase is the current lifecycle phase of the namespace."""


class NodeAddress(ApiModel):
    """NodeAddress contains information for the node's address."""

    address: str
    """The node address."""
    type: str
    """Node address type, one of Hostname, ExternalIP or InternalIP."""


class NodeAffinity(ApiModel):
    """Node affinity is a group of node affinity scheduling rules."""

    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] = []
    """The scheduler will prefer to schedule pods to nodes that satisfy the affinity expressions specified by this
    field, but it may choose a node that violates one or more of the expressions.
    """
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """If the affinity requirements specified by this field are not met at scheduling time, the pod will not be
    scheduled onto the node.
    """


class NodeAllocatableMappedResources(ApiModel):
    """NodeAllocatableMappedResources describes mapped node allocatable resource allocations."""

    name: str
    """Name is the name of the resource (e.g., cpu, memory)."""
    quantity: str
    """Quantity is the total node allocatable resource capacity allocated for the claim."""


class NodeAllocatableOverheadResources(ApiModel):
    """NodeAllocatableOverheadResources describes auxiliary overhead resource allocations."""

    name: str
    """Name is the name of the resource (e.g., cpu, memory)."""
    per_container: str | None = None
    """PerContainer is the variable overhead quantity applied for each container referencing the claim."""
    per_pod: str | None = None
    """PerPod is the flat overhead quantity allocated per pod."""


class NodeAllocatableResourceClaimStatus(ApiModel):
    """NodeAllocatableResourceClaimStatus describes the status of node allocatable resources allocated via DRA."""

    containers: list[str] = []
    """Containers lists the names of all containers in this pod that reference the claim."""
    mapping: list[NodeAllocatableMappedResources] = []
    """Mapping contains allocations through devices mapped in the device spec's `nodeAllocatableResources[...].mapping`
    field.
    """
    overhead: list[NodeAllocatableOverheadResources] = []
    """Overhead contains allocations through devices mapped in the device spec's
    `nodeAllocatableResources[...].overhead` field.
    """
    resource_claim_name: str
    """ResourceClaimName is the resource claim referenced by the pod that resulted in this node allocatable resource
    allocation.
    """


class NodeCondition(ApiModel):
    """NodeCondition contains condition information for a node."""

    last_heartbeat_time: datetime | None = None
    """Last time we got an update on a given condition."""
    last_transition_time: datetime | None = None
    """Last time the condition transit from one status to another."""
    message: str | None = None
    """Human readable message indicating details about last transition."""
    reason: str | None = None
    """(brief) reason for the condition's last transition."""
    status: str
    """Status of the condition, one of True, False, Unknown."""
    type: str
    """Type of node condition."""


class NodeConfigSource(ApiModel):
    """NodeConfigSource specifies a source of node configuration. Exactly one subfield (excluding metadata) must be
    non-nil. This API is deprecated since 1.22
    """

    config_map: ConfigMapNodeConfigSource | None = None
    """ConfigMap is a reference to a Node's ConfigMap"""


class NodeConfigStatus(ApiModel):
    """NodeConfigStatus describes the status of the config assigned by Node.Spec.ConfigSource."""

    active: NodeConfigSource | None = None
    """Active reports the checkpointed config the node is actively using."""
    assigned: NodeConfigSource | None = None
    """Assigned reports the checkpointed config the node will try to use."""
    error: str | None = None
    """Error describes any problems reconciling the Spec.ConfigSource to the Active config."""
    last_known_good: NodeConfigSource | None = None
    """LastKnownGood reports the checkpointed config the node will fall back to when it encounters an error attempting
    to use the Assigned config.
    """


class NodeDaemonEndpoints(ApiModel):
    """NodeDaemonEndpoints lists ports opened by daemons running on the Node."""

    kubelet_endpoint: DaemonEndpoint | None = None
    """Endpoint on which Kubelet is listening."""


class NodeFeatures(ApiModel):
    """NodeFeatures describes the set of features implemented by the CRI implementation. The features contained in the
    NodeFeatures should depend only on the cri implementation independent of runtime handlers.
    """

    supplemental_groups_policy: bool | None = None
    """SupplementalGroupsPolicy is set to true if the runtime supports SupplementalGroupsPolicy and ContainerUser."""


class NodePodPreemptionPolicy(ApiModel):
    """NodePodPreemptionPolicy defines the node-level policies governing preemption for pods on this node."""

    disable_resize_preemption: list[str] = []
    """DisableResizePreemption lists the owners (e.g., autoscalers, operators, administrators) that have requested to
    disable scheduler and Kubelet preemption for in-place pod resize on this node.
    """


class NodeRuntimeHandler(ApiModel):
    """NodeRuntimeHandler is a set of runtime handler information."""

    features: NodeRuntimeHandlerFeatures | None = None
    """Supported features."""
    name: str | None = None
    """Runtime handler name. Empty for the default runtime handler."""


class NodeRuntimeHandlerFeatures(ApiModel):
    """NodeRuntimeHandlerFeatures is a set of features implemented by the runtime handler."""

    recursive_read_only_mounts: bool | None = None
    """RecursiveReadOnlyMounts is set to true if the runtime handler supports RecursiveReadOnlyMounts."""
    user_namespaces: bool | None = None
    """UserNamespaces is set to true if the runtime handler supports UserNamespaces, including for volumes."""


class NodeSelector(ApiModel):
    """A node selector represents the union of the results of one or more label queries over a set of nodes; that is, it
    represents the OR of the selectors represented by the node selector terms.
    """

    node_selector_terms: list[NodeSelectorTerm]
    """Required. A list of node selector terms. The terms are ORed."""


class NodeSelectorRequirement(ApiModel):
    """A node selector requirement is a selector that contains values, a key, and an operator that relates the key and
    values.
    """

    key: str
    """The label key that the selector applies to."""
    operator: str
    """Represents a key's relationship to a set of values."""
    values: list[str] = []
    """An array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is
    Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch.
    """


class NodeSelectorTerm(ApiModel):
    """A null or empty node selector term matches no objects. The requirements of them are ANDed. The
    TopologySelectorTerm type implements a subset of the NodeSelectorTerm.
    """

    match_expressions: list[NodeSelectorRequirement] = []
    """A list of node selector requirements by node's labels."""
    match_fields: list[NodeSelectorRequirement] = []
    """A list of node selector requirements by node's fields."""


class NodeSpec(ApiModel):
    """NodeSpec describes the attributes that a node is created with."""

    config_source: NodeConfigSource | None = None
    """Deprecated: Previously used to specify the source of the node's configuration for the DynamicKubeletConfig
    feature.
    """
    external_id: str | None = msgspec.field(name="externalID", default=None)
    """Deprecated. Not all kubelets will set this field. Remove field after 1.13. see: https://issues.k8s.io/61966"""
    pod_cidr: str | None = msgspec.field(name="podCIDR", default=None)
    """PodCIDR represents the pod IP range assigned to the node."""
    pod_cidrs: list[str] = msgspec.field(name="podCIDRs", default=[])
    """podCIDRs represents the IP ranges assigned to the node for usage by Pods on that node."""
    pod_preemption_policy: NodePodPreemptionPolicy | None = None
    """PodPreemptionPolicy controls the node-level preemption behaviors for pods on this node."""
    provider_id: str | None = msgspec.field(name="providerID", default=None)
    """ID of the node assigned by the cloud provider in the format: <ProviderName>://<ProviderSpecificNodeID>"""
    taints: list[Taint] = []
    """If specified, the node's taints."""
    unschedulable: bool | None = None
    """Unschedulable controls node schedulability of new pods."""


class NodeStatus(ApiModel):
    """NodeStatus is information about the current status of a node."""

    addresses: list[NodeAddress] = []
    """List of addresses reachable to the node."""
    allocatable: dict[str, str] = {}
    """Allocatable represents the resources of a node that are available for scheduling. Defaults to Capacity."""
    capacity: dict[str, str] = {}
    """Capacity represents the total resources of a node."""
    conditions: list[NodeCondition] = []
    """Conditions is an array of current observed node conditions."""
    config: NodeConfigStatus | None = None
    """Status of the config assigned to the node via the dynamic Kubelet config feature."""
    daemon_endpoints: NodeDaemonEndpoints | None = None
    """Endpoints of daemons running on the Node."""
    declared_features: list[str] = []
    """DeclaredFeatures represents the features related to feature gates that are declared by the node."""
    features: NodeFeatures | None = None
    """Features describes the set of features implemented by the CRI implementation."""
    images: list[ContainerImage] = []
    """List of container images on this node"""
    node_info: NodeSystemInfo | None = None
    """Set of ids/uuids to uniquely identify the node."""
    phase: str | None = None
    """NodePhase is the recently observed lifecycle phase of the node."""
    runtime_handlers: list[NodeRuntimeHandler] = []
    """The available runtime handlers."""
    volumes_attached: list[AttachedVolume] = []
    """List of volumes that are attached to the node."""
    volumes_in_use: list[str] = []
    """List of attachable volumes in use (mounted) by the node."""


class NodeSwapStatus(ApiModel):
    """NodeSwapStatus represents swap memory information."""

    capacity: int | None = None
    """Total amount of swap memory in bytes."""


class NodeSystemInfo(ApiModel):
    """NodeSystemInfo is a set of ids/uuids to uniquely identify the node."""

    architecture: str
    """The Architecture reported by the node"""
    boot_id: str = msgspec.field(name="bootID")
    """Boot ID reported by the node."""
    container_runtime_version: str
    """ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2)."""
    kernel_version: str
    """Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64)."""
    kube_proxy_version: str
    """Deprecated: KubeProxy Version reported by the node."""
    kubelet_version: str
    """Kubelet Version reported by the node."""
    machine_id: str = msgspec.field(name="machineID")
    """MachineID reported by the node. For unique machine identification in the cluster this field is preferred. Learn
    more from man(5) machine-id: http://man7.org/linux/man-pages/man5/machine-id.5.html
    """
    operating_system: str
    """The Operating System reported by the node"""
    os_image: str
    """OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy))."""
    running_in_user_namespace: bool | None = None
    """Whether the node is running in a user namespace."""
    swap: NodeSwapStatus | None = None
    """Swap Info reported by the node."""
    system_uuid: str = msgspec.field(name="systemUUID")
    """SystemUUID reported by the node. For unique machine identification MachineID is preferred. This field is specific
    to Red Hat hosts https://access.redhat.com/documentation/en-us/red_hat_subscription_management/1/html/rhsm/uuid
    """


class ObjectFieldSelector(ApiModel):
    """ObjectFieldSelector selects an APIVersioned field of an object."""

    api_version: str | None = None
    """Version of the schema the FieldPath is written in terms of, defaults to "v1"."""
    field_path: str
    """Path of the field to select in the specified API version."""


class ObjectReference(ApiModel):
    """ObjectReference contains enough information to let you inspect or modify the referred object."""

    api_version: str | None = None
    """API version of the referent."""
    field_path: str | None = None
    """If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go
    field access statement, such as desiredState.manifest.containers[2].
    """
    kind: str | None = None
    """Kind of the referent."""
    name: str | None = None
    """Name of the referent."""
    namespace: str | None = None
    """Namespace of the referent."""
    resource_version: str | None = None
    """Specific resourceVersion to which this reference is made, if any."""
    uid: str | None = None
    """UID of the referent."""


class PersistentVolumeClaimCondition(ApiModel):
    """PersistentVolumeClaimCondition contains details about state of pvc"""

    last_probe_time: datetime | None = None
    """lastProbeTime is the time we probed the condition."""
    last_transition_time: datetime | None = None
    """lastTransitionTime is the time the condition transitioned from one status to another."""
    message: str | None = None
    """message is the human-readable message indicating details about last transition."""
    reason: str | None = None
    """reason is a unique, this should be a short, machine understandable string that gives the reason for condition's
    last transition.
    """
    status: str
    """Status is the status of the condition. Can be True, False, Unknown."""
    type: str
    """Type is the type of the condition."""


class PersistentVolumeClaimSpec(ApiModel):
    """PersistentVolumeClaimSpec describes the common attributes of storage devices and allows a Source for
    provider-specific attributes
    """

    access_modes: list[str] = []
    """accessModes contains the desired access modes the volume should have."""
    data_source: TypedLocalObjectReference | None = None
    """dataSource field can be used to specify either: * An existing VolumeSnapshot object
    (snapshot.storage.k8s.io/VolumeSnapshot) * An existing PVC (PersistentVolumeClaim) If the provisioner or an external
    controller can support the specified data source, it will create a new volume based on the contents of the specified
    data source. dataSource contents will be copied to dataSourceRef, and dataSourceRef contents will be copied to
    dataSource when dataSourceRef.namespace is not specified.
    """
    data_source_ref: TypedObjectReference | None = None
    """dataSourceRef specifies the object from which to populate the volume with data, if a non-empty volume is desired.
    """
    resources: VolumeResourceRequirements | None = None
    """resources represents the minimum resources the volume should have."""
    selector: LabelSelector | None = None
    """selector is a label query over volumes to consider for binding."""
    storage_class_name: str | None = None
    """storageClassName is the name of the StorageClass required by the claim."""
    volume_attributes_class_name: str | None = None
    """volumeAttributesClassName may be used to set the VolumeAttributesClass used by this claim."""
    volume_mode: str | None = None
    """volumeMode defines what type of volume is required by the claim."""
    volume_name: str | None = None
    """volumeName is the binding reference to the PersistentVolume backing this claim."""


class PersistentVolumeClaimStatus(ApiModel):
    """PersistentVolumeClaimStatus is the current status of a persistent volume claim."""

    access_modes: list[str] = []
    """accessModes contains the actual access modes the volume backing the PVC has."""
    allocated_resource_statuses: dict[str, str] = {}
    """allocatedResourceStatuses stores status of resource being resized for the given PVC."""
    allocated_resources: dict[str, str] = {}
    """allocatedResources tracks the resources allocated to a PVC including its capacity."""
    capacity: dict[str, str] = {}
    """capacity represents the actual resources of the underlying volume."""
    conditions: list[PersistentVolumeClaimCondition] = []
    """conditions is the current Condition of persistent volume claim."""
    current_volume_attributes_class_name: str | None = None
    """currentVolumeAttributesClassName is the current name of the VolumeAttributesClass the PVC is using."""
    health_status: VolumeHealthStatus | None = None
    """healthStatus contains the latest controller-reported health information for the volume bound to this claim."""
    modify_volume_status: ModifyVolumeStatus | None = None
    """ModifyVolumeStatus represents the status object of ControllerModifyVolume operation."""
    phase: str | None = None
    """phase represents the current phase of PersistentVolumeClaim."""


class PersistentVolumeClaimTemplate(ApiModel):
    """PersistentVolumeClaimTemplate is used to produce PersistentVolumeClaim objects as part of an
    EphemeralVolumeSource.
    """

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """May contain labels and annotations that will be copied into the PVC when creating it."""
    spec: PersistentVolumeClaimSpec
    """The specification for the PersistentVolumeClaim."""


class PersistentVolumeClaimVolumeSource(ApiModel):
    """PersistentVolumeClaimVolumeSource references the user's PVC in the same namespace. This volume finds the bound PV
    and mounts that volume for the pod. A PersistentVolumeClaimVolumeSource is, essentially, a wrapper around another
    type of volume that is owned by someone else (the system).
    """

    claim_name: str
    """claimName is the name of a PersistentVolumeClaim in the same namespace as the pod using this volume."""
    read_only: bool | None = None
    """readOnly Will force the ReadOnly setting in VolumeMounts. Default false."""


class PersistentVolumeSpec(ApiModel):
    """PersistentVolumeSpec is the specification of a persistent volume."""

    access_modes: list[str] = []
    """accessModes contains all ways the volume can be mounted."""
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    """awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's host machine and then
    exposed to the pod. Deprecated: AWSElasticBlockStore is deprecated.
    """
    azure_disk: AzureDiskVolumeSource | None = None
    """azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod. Deprecated: AzureDisk is
    deprecated.
    """
    azure_file: AzureFilePersistentVolumeSource | None = None
    """azureFile represents an Azure File Service mount on the host and bind mount to the pod. Deprecated: AzureFile is
    deprecated.
    """
    capacity: dict[str, str] = {}
    """capacity is the description of the persistent volume's resources and capacity."""
    cephfs: CephFSPersistentVolumeSource | None = None
    """cephFS represents a Ceph FS mount on the host that shares a pod's lifetime. Deprecated: CephFS is deprecated and
    the in-tree cephfs type is no longer supported.
    """
    cinder: CinderPersistentVolumeSource | None = None
    """cinder represents a cinder volume attached and mounted on kubelets host machine. Deprecated: Cinder is
    deprecated.
    """
    claim_ref: ObjectReference | None = None
    """claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim."""
    csi: CSIPersistentVolumeSource | None = None
    """csi represents storage that is handled by an external CSI driver."""
    fc: FCVolumeSource | None = None
    """fc represents a Fibre Channel resource that is attached to a kubelet's host machine and then exposed to the pod.
    """
    flex_volume: FlexPersistentVolumeSource | None = None
    """flexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin.
    Deprecated: FlexVolume is deprecated.
    """
    flocker: FlockerVolumeSource | None = None
    """flocker represents a Flocker volume attached to a kubelet's host machine and exposed to the pod for its usage.
    Deprecated: Flocker is deprecated and the in-tree flocker type is no longer supported.
    """
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    """gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host machine and then exposed to
    the pod. Deprecated: GCEPersistentDisk is deprecated.
    """
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    """glusterfs represents a Glusterfs volume that is attached to a host and exposed to the pod. Deprecated: Glusterfs
    is deprecated and the in-tree glusterfs type is no longer supported.
    """
    host_path: HostPathVolumeSource | None = None
    """hostPath represents a directory on the host."""
    iscsi: ISCSIPersistentVolumeSource | None = None
    """iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod.
    """
    local: LocalVolumeSource | None = None
    """local represents directly-attached storage with node affinity"""
    mount_options: list[str] = []
    """mountOptions is the list of mount options, e.g. ["ro", "soft"]."""
    nfs: NFSVolumeSource | None = None
    """nfs represents an NFS mount on the host."""
    node_affinity: VolumeNodeAffinity | None = None
    """nodeAffinity defines constraints that limit what nodes this volume can be accessed from."""
    persistent_volume_reclaim_policy: str | None = None
    """persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim."""
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    """photonPersistentDisk represents a PhotonController persistent disk attached and mounted on kubelets host machine.
    Deprecated: PhotonPersistentDisk is deprecated and the in-tree photonPersistentDisk type is no longer supported.
    """
    portworx_volume: PortworxVolumeSource | None = None
    """portworxVolume represents a portworx volume attached and mounted on kubelets host machine. Deprecated:
    PortworxVolume is deprecated.
    """
    quobyte: QuobyteVolumeSource | None = None
    """quobyte represents a Quobyte mount on the host that shares a pod's lifetime. Deprecated: Quobyte is deprecated
    and the in-tree quobyte type is no longer supported.
    """
    rbd: RBDPersistentVolumeSource | None = None
    """rbd represents a Rados Block Device mount on the host that shares a pod's lifetime. Deprecated: RBD is deprecated
    and the in-tree rbd type is no longer supported.
    """
    scale_io: ScaleIOPersistentVolumeSource | None = msgspec.field(name="scaleIO", default=None)
    """scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes. Deprecated: ScaleIO is
    deprecated and the in-tree scaleIO type is no longer supported.
    """
    storage_class_name: str | None = None
    """storageClassName is the name of StorageClass to which this persistent volume belongs."""
    storageos: StorageOSPersistentVolumeSource | None = None
    """storageOS represents a StorageOS volume that is attached to the kubelet's host machine and mounted into the pod.
    Deprecated: StorageOS is deprecated and the in-tree storageos type is no longer supported.
    """
    volume_attributes_class_name: str | None = None
    """Name of VolumeAttributesClass to which this persistent volume belongs."""
    volume_mode: str | None = None
    """volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block
    state.
    """
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    """vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine. Deprecated:
    VsphereVolume is deprecated.
    """


class PersistentVolumeStatus(ApiModel):
    """PersistentVolumeStatus is the current status of a persistent volume."""

    last_phase_transition_time: datetime | None = None
    """lastPhaseTransitionTime is the time the phase transitioned from one to another and automatically resets to
    current time everytime a volume phase transitions.
    """
    message: str | None = None
    """message is a human-readable message indicating details about why the volume is in this state."""
    phase: str | None = None
    """phase indicates if a volume is available, bound to a claim, or released by a claim."""
    reason: str | None = None
    """reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display
    in the CLI.
    """


class PhotonPersistentDiskVolumeSource(ApiModel):
    """Represents a Photon Controller persistent disk resource."""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    pd_id: str = msgspec.field(name="pdID")
    """pdID is the ID that identifies Photon Controller persistent disk"""


class PodAffinity(ApiModel):
    """Pod affinity is a group of inter pod affinity scheduling rules."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] = []
    """The scheduler will prefer to schedule pods to nodes that satisfy the affinity expressions specified by this
    field, but it may choose a node that violates one or more of the expressions.
    """
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] = []
    """If the affinity requirements specified by this field are not met at scheduling time, the pod will not be
    scheduled onto the node.
    """


class PodAffinityTerm(ApiModel):
    """Defines a set of pods (namely those matching the labelSelector relative to the given namespace(s)) that this pod
    should be co-located (affinity) or not co-located (anti-affinity) with, where co-located is defined as running on a
    node whose value of the label with key <topologyKey> matches that of any node on which a pod of the set of pods is
    running
    """

    label_selector: LabelSelector | None = None
    """A label query over a set of resources, in this case pods."""
    match_label_keys: list[str] = []
    """MatchLabelKeys is a set of pod label keys to select which pods will be taken into consideration. The default
    value is empty.
    """
    mismatch_label_keys: list[str] = []
    """MismatchLabelKeys is a set of pod label keys to select which pods will be taken into consideration. The default
    value is empty.
    """
    namespace_selector: LabelSelector | None = None
    """A label query over the set of namespaces that the term applies to."""
    namespaces: list[str] = []
    """namespaces specifies a static list of namespace names that the term applies to."""
    topology_key: str
    """This pod should be co-located (affinity) or not co-located (anti-affinity) with the pods matching the
    labelSelector in the specified namespaces, where co-located is defined as running on a node whose value of the label
    with key topologyKey matches that of any node on which any of the selected pods is running.
    """


class PodAntiAffinity(ApiModel):
    """Pod anti affinity is a group of inter pod anti affinity scheduling rules."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] = []
    """The scheduler will prefer to schedule pods to nodes that satisfy the anti-affinity expressions specified by this
    field, but it may choose a node that violates one or more of the expressions.
    """
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] = []
    """If the anti-affinity requirements specified by this field are not met at scheduling time, the pod will not be
    scheduled onto the node.
    """


class PodCertificateProjection(ApiModel):
    """PodCertificateProjection provides a private key and X.509 certificate in the pod filesystem."""

    certificate_chain_path: str | None = None
    """Write the certificate chain at this path in the projected volume."""
    credential_bundle_path: str | None = None
    """Write the credential bundle at this path in the projected volume."""
    key_path: str | None = None
    """Write the key at this path in the projected volume."""
    key_type: str
    """The type of keypair Kubelet will generate for the pod."""
    max_expiration_seconds: int | None = None
    """maxExpirationSeconds is the maximum lifetime permitted for the certificate."""
    signer_name: str
    """Kubelet's generated CSRs will be addressed to this signer."""
    user: int | None = None
    """user is Optional: The owner UID of the created file."""
    user_annotations: dict[str, str] = {}
    """userAnnotations allow pod authors to pass additional information to the signer implementation."""


class PodCondition(ApiModel):
    """PodCondition contains details for the current condition of this pod."""

    last_probe_time: datetime | None = None
    """Last time we probed the condition."""
    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    message: str | None = None
    """Human-readable message indicating details about last transition."""
    observed_generation: int | None = None
    """If set, this represents the .metadata.generation that the pod condition was set based upon."""
    reason: str | None = None
    """Unique, one-word, CamelCase reason for the condition's last transition."""
    status: str
    """Status is the status of the condition. Can be True, False, Unknown."""
    type: str
    """Type is the type of the condition."""


class PodDNSConfig(ApiModel):
    """PodDNSConfig defines the DNS parameters of a pod in addition to those generated from DNSPolicy."""

    nameservers: list[str] = []
    """A list of DNS name server IP addresses. This will be appended to the base nameservers generated from DNSPolicy.
    Duplicated nameservers will be removed.
    """
    options: list[PodDNSConfigOption] = []
    """A list of DNS resolver options. This will be merged with the base options generated from DNSPolicy. Duplicated
    entries will be removed. Resolution options given in Options will override those that appear in the base DNSPolicy.
    """
    searches: list[str] = []
    """A list of DNS search domains for host-name lookup."""


class PodDNSConfigOption(ApiModel):
    """PodDNSConfigOption defines DNS resolver options of a pod."""

    name: str | None = None
    """Name is this DNS resolver option's name."""
    value: str | None = None
    """Value is this DNS resolver option's value."""


class PodExtendedResourceClaimStatus(ApiModel):
    """PodExtendedResourceClaimStatus is stored in the PodStatus for the extended resource requests backed by DRA. It
    stores the generated name for the corresponding special ResourceClaim created by the scheduler.
    """

    request_mappings: list[ContainerExtendedResourceRequest]
    """RequestMappings identifies the mapping of <container, extended resource backed by DRA> to device request in the
    generated ResourceClaim.
    """
    resource_claim_name: str
    """ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the namespace of the Pod."""


class PodIP(ApiModel):
    """PodIP represents a single IP address allocated to the pod."""

    ip: str
    """IP is the IP address assigned to the pod"""


class PodOS(ApiModel):
    """PodOS defines the OS parameters of a pod."""

    name: str
    """Name is the name of the operating system."""


class PodReadinessGate(ApiModel):
    """PodReadinessGate contains the reference to a pod condition"""

    condition_type: str
    """ConditionType refers to a condition in the pod's condition list with matching type."""


class PodResourceClaim(ApiModel):
    """PodResourceClaim references exactly one ResourceClaim, either directly or by naming a ResourceClaimTemplate which
    is then turned into a ResourceClaim for the pod.
    """

    name: str
    """Name uniquely identifies this resource claim inside the pod."""
    resource_claim_name: str | None = None
    """ResourceClaimName is the name of a ResourceClaim object in the same namespace as this pod."""
    resource_claim_template_name: str | None = None
    """ResourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace as this pod."""


class PodResourceClaimStatus(ApiModel):
    """PodResourceClaimStatus is stored in the PodStatus for each PodResourceClaim which references a
    ResourceClaimTemplate. It stores the generated name for the corresponding ResourceClaim.
    """

    name: str
    """Name uniquely identifies this resource claim inside the pod."""
    resource_claim_name: str | None = None
    """ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the namespace of the Pod."""


class PodSchedulingGate(ApiModel):
    """PodSchedulingGate is associated to a Pod to guard its scheduling."""

    name: str
    """Name of the scheduling gate. Each scheduling gate must have a unique name field."""


class PodSchedulingGroup(ApiModel):
    """PodSchedulingGroup identifies the runtime scheduling group instance that a Pod belongs to. The scheduler uses
    this information to apply workload-aware scheduling semantics. Exactly one field must be specified.
    """

    pod_group_name: str | None = None
    """PodGroupName specifies the name of the standalone PodGroup object that represents the runtime instance of this
    group. Must be a DNS subdomain.
    """


class PodSecurityContext(ApiModel):
    """PodSecurityContext holds pod-level security attributes and common container settings. Some fields are also
    present in container.securityContext. Field values of container.securityContext take precedence over field values of
    PodSecurityContext.
    """

    app_armor_profile: AppArmorProfile | None = None
    """appArmorProfile is the AppArmor options to use by the containers in this pod."""
    fs_group: int | None = None
    """A special supplemental group that applies to all containers in a pod."""
    fs_group_change_policy: str | None = None
    """fsGroupChangePolicy defines behavior of changing ownership and permission of the volume before being exposed
    inside Pod. Valid values are "OnRootMismatch" and "Always".
    """
    run_as_group: int | None = None
    """The GID to run the entrypoint of the container process."""
    run_as_non_root: bool | None = None
    """Indicates that the container must run as a non-root user."""
    run_as_user: int | None = None
    """The UID to run the entrypoint of the container process. Defaults to user specified in image metadata if
    unspecified.
    """
    se_linux_change_policy: str | None = None
    """seLinuxChangePolicy defines how the container's SELinux label is applied to all volumes used by the Pod. Valid
    values are "MountOption" and "Recursive".
    """
    se_linux_options: SELinuxOptions | None = None
    """The SELinux context to be applied to all containers."""
    seccomp_profile: SeccompProfile | None = None
    """The seccomp options to use by the containers in this pod."""
    supplemental_groups: list[int] = []
    """A list of groups applied to the first process run in each container, in addition to the container's primary GID
    and fsGroup (if specified).
    """
    supplemental_groups_policy: str | None = None
    """Defines how supplemental groups of the first container processes are calculated. Valid values are "Merge" and
    "Strict".
    """
    sysctls: list[Sysctl] = []
    """Sysctls hold a list of namespaced sysctls used for the pod."""
    windows_options: WindowsSecurityContextOptions | None = None
    """The Windows specific settings applied to all containers."""


class PodSpec(ApiModel):
    """PodSpec is a description of a pod."""

    active_deadline_seconds: int | None = None
    """Optional duration in seconds the pod may be active on the node relative to StartTime before the system will
    actively try to mark it failed and kill associated containers.
    """
    affinity: Affinity | None = None
    """If specified, the pod's scheduling constraints"""
    automount_service_account_token: bool | None = None
    """AutomountServiceAccountToken indicates whether a service account token should be automatically mounted."""
    containers: list[Container]
    """List of containers belonging to the pod. Cannot be updated."""
    dns_config: PodDNSConfig | None = None
    """Specifies the DNS parameters of a pod. Parameters specified here will be merged to the generated DNS
    configuration based on DNSPolicy.
    """
    dns_policy: str | None = None
    """Set DNS policy for the pod. Defaults to "ClusterFirst". Valid values are 'ClusterFirstWithHostNet',
    'ClusterFirst', 'Default' or 'None'. DNS parameters given in DNSConfig will be merged with the policy selected with
    DNSPolicy.
    """
    enable_service_links: bool | None = None
    """EnableServiceLinks indicates whether information about services should be injected into pod's environment
    variables, matching the syntax of Docker links.
    """
    ephemeral_containers: list[EphemeralContainer] = []
    """List of ephemeral containers run in this pod."""
    eviction_responders: list[EvictionResponder] = []
    """evictionResponders reference responders that react to Evictions based on EvictionRequests."""
    host_aliases: list[HostAlias] = []
    """HostAliases is an optional list of hosts and IPs that will be injected into the pod's hosts file if specified."""
    host_ipc: bool | None = msgspec.field(name="hostIPC", default=None)
    """Use the host's ipc namespace. Optional: Default to false."""
    host_network: bool | None = None
    """Host networking requested for this pod. Use the host's network namespace. When using HostNetwork you should
    specify ports so the scheduler is aware. Default to false.
    """
    host_pid: bool | None = msgspec.field(name="hostPID", default=None)
    """Use the host's pid namespace. Optional: Default to false."""
    host_users: bool | None = None
    """Use the host's user namespace. Optional: Default to true. When set to false, a new userns is created for the pod.
    """
    hostname: str | None = None
    """Specifies the hostname of the Pod If not specified, the pod's hostname will be set to a system-defined value."""
    hostname_override: str | None = None
    """HostnameOverride specifies an explicit override for the pod's hostname as perceived by the pod."""
    image_pull_secrets: list[LocalObjectReference] = []
    """ImagePullSecrets is an optional list of references to secrets in the same namespace to use for pulling any of the
    images used by this PodSpec.
    """
    init_containers: list[Container] = []
    """List of initialization containers belonging to the pod. Cannot be updated."""
    node_name: str | None = None
    """NodeName indicates in which node this pod is scheduled."""
    node_selector: dict[str, str] = {}
    """NodeSelector is a selector which must be true for the pod to fit on a node."""
    os: PodOS | None = None
    """Specifies the OS of the containers in the pod."""
    overhead: dict[str, str] = {}
    """Overhead represents the resource overhead associated with running a pod for a given RuntimeClass."""
    preemption_policy: str | None = None
    """PreemptionPolicy is the Policy for preempting pods with lower priority. Defaults to PreemptLowerPriority if
    unset.
    """
    priority: int | None = None
    """The priority value. Various system components use this field to find the priority of the pod. When Priority
    Admission Controller is enabled, it prevents users from setting this field. The admission controller populates this
    field from PriorityClassName.
    """
    priority_class_name: str | None = None
    """If specified, indicates the pod's priority."""
    readiness_gates: list[PodReadinessGate] = []
    """If specified, all readiness gates will be evaluated for pod readiness."""
    resource_claims: list[PodResourceClaim] = []
    """ResourceClaims defines which ResourceClaims must be allocated and reserved before the Pod is allowed to start."""
    resources: ResourceRequirements | None = None
    """Resources is the total amount of CPU and Memory resources required by all containers in the pod."""
    restart_policy: str | None = None
    """Restart policy for all containers within the pod. Default to Always."""
    runtime_class_name: str | None = None
    """RuntimeClassName refers to a RuntimeClass object in the node.k8s.io group, which should be used to run this pod.
    """
    scheduler_name: str | None = None
    """If specified, the pod will be dispatched by specified scheduler."""
    scheduling_gates: list[PodSchedulingGate] = []
    """SchedulingGates is an opaque list of values that if specified will block scheduling the pod."""
    scheduling_group: PodSchedulingGroup | None = None
    """SchedulingGroup provides a reference to the immediate scheduling runtime grouping object that this Pod belongs
    to.
    """
    security_context: PodSecurityContext | None = None
    """SecurityContext holds pod-level security attributes and common container settings."""
    service_account: str | None = None
    """DeprecatedServiceAccount is a deprecated alias for ServiceAccountName. Deprecated: Use serviceAccountName
    instead.
    """
    service_account_name: str | None = None
    """ServiceAccountName is the name of the ServiceAccount to use to run this pod."""
    set_hostname_as_fqdn: bool | None = msgspec.field(name="setHostnameAsFQDN", default=None)
    """If true the pod's hostname will be configured as the pod's FQDN, rather than the leaf name (the default). Default
    to false.
    """
    share_process_namespace: bool | None = None
    """Share a single process namespace between all of the containers in a pod."""
    subdomain: str | None = None
    """If specified, the fully qualified Pod hostname will be "<hostname>.<subdomain>.<pod namespace>.svc.<cluster
    domain>".
    """
    termination_grace_period_seconds: int | None = None
    """Optional duration in seconds the pod needs to terminate gracefully. Defaults to 30 seconds."""
    tolerations: list[Toleration] = []
    """If specified, the pod's tolerations."""
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    """TopologySpreadConstraints describes how a group of pods ought to spread across topology domains."""
    volumes: list[Volume] = []
    """List of volumes that can be mounted by containers belonging to the pod."""


class PodStatus(ApiModel):
    """PodStatus represents information about the status of a pod. Status may trail the actual state of a system,
    especially if the node that hosts the pod cannot contact the control plane.
    """

    allocated_resources: dict[str, str] = {}
    """AllocatedResources is the total requests allocated for this pod by the node."""
    conditions: list[PodCondition] = []
    """Current service state of pod."""
    container_statuses: list[ContainerStatus] = []
    """Statuses of containers in this pod. Each container in the pod should have at most one status in this list, and
    all statuses should be for containers in the pod. However this is not enforced.
    """
    ephemeral_container_statuses: list[ContainerStatus] = []
    """Statuses for any ephemeral containers that have run in this pod."""
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    """Status of extended resource claim backed by DRA."""
    host_ip: str | None = msgspec.field(name="hostIP", default=None)
    """hostIP holds the IP address of the host to which the pod is assigned."""
    host_ips: list[HostIP] = msgspec.field(name="hostIPs", default=[])
    """hostIPs holds the IP addresses allocated to the host."""
    init_container_statuses: list[ContainerStatus] = []
    """Statuses of init containers in this pod."""
    message: str | None = None
    """A human readable message indicating details about why the pod is in this condition."""
    node_allocatable_resource_claim_statuses: list[NodeAllocatableResourceClaimStatus] = []
    """NodeAllocatableResourceClaimStatuses contains the status of node-allocatable resources that were allocated for
    this pod through DRA claims.
    """
    nominated_node_name: str | None = None
    """nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right
    away as preemption victims receive their graceful termination periods.
    """
    observed_generation: int | None = None
    """If set, this represents the .metadata.generation that the pod status was set based upon."""
    phase: str | None = None
    """The phase of a Pod is a simple, high-level summary of where the Pod is in its lifecycle."""
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    """podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated."""
    pod_ips: list[PodIP] = msgspec.field(name="podIPs", default=[])
    """podIPs holds the IP addresses allocated to the pod."""
    qos_class: str | None = None
    """The Quality of Service (QOS) classification assigned to the pod based on resource requirements See PodQOSClass
    type for available QOS classes More info:
    https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/#quality-of-service-classes
    """
    reason: str | None = None
    """A brief CamelCase message indicating details about why the pod is in this state. e.g. 'Evicted'"""
    resize: str | None = None
    """Status of resources resize desired for pod's containers."""
    resource_claim_statuses: list[PodResourceClaimStatus] = []
    """Status of resource claims."""
    resources: ResourceRequirements | None = None
    """Resources represents the compute resource requests and limits that have been applied at the pod level if
    pod-level requests or limits are set in PodSpec.Resources
    """
    start_time: datetime | None = None
    """RFC 3339 date and time at which the object was acknowledged by the Kubelet."""
    volume_health: list[PodVolumeHealth] = []
    """volumeHealth contains node-reported health for each volume the pod is using."""


class PodTemplateSpec(ApiModel):
    """PodTemplateSpec describes the data a pod should have when created from a template"""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """Standard object's metadata."""
    spec: PodSpec
    """Specification of the desired behavior of the pod."""


class PodVolumeHealth(ApiModel):
    """PodVolumeHealth contains health information for a volume used by a pod, reported by the CSI node plugin via the
    kubelet.
    """

    health_conditions: list[VolumeHealthCondition] = []
    """conditions is the set of adverse conditions reported by the CSI node plugin for this volume on this node."""
    last_transition_time: datetime | None = None
    """lastTransitionTime is when the current set of conditions first appeared."""
    name: str
    """name matches an entry in pod.spec.volumes."""


class PortStatus(ApiModel):
    """PortStatus represents the error condition of a service port"""

    error: str | None = None
    """Error is to record the problem with the service port The format of the error shall comply with the following
    rules: - built-in error values shall be specified in this file and those shall use CamelCase names - cloud provider
    specific error values must have names that comply with the format foo.example.com/CamelCase.
    """
    port: int
    """Port is the port number of the service port of which status is recorded here"""
    protocol: str
    """Protocol is the protocol of the service port of which status is recorded here The supported values are: "TCP",
    "UDP", "SCTP\"
    """


class PortworxVolumeSource(ApiModel):
    """PortworxVolumeSource represents a Portworx volume resource."""

    fs_type: str | None = None
    """fSType represents the filesystem type to mount Must be a filesystem type supported by the host operating system.
    """
    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    volume_id: str = msgspec.field(name="volumeID")
    """volumeID uniquely identifies a Portworx volume"""


class PreferredSchedulingTerm(ApiModel):
    """An empty preferred scheduling term matches all objects with implicit weight 0 (i.e. it's a no-op). A null
    preferred scheduling term matches no objects (i.e. is also a no-op).
    """

    preference: NodeSelectorTerm
    """A node selector term, associated with the corresponding weight."""
    weight: int
    """Weight associated with matching the corresponding nodeSelectorTerm, in the range 1-100."""


class Probe(ApiModel):
    """Probe describes a health check to be performed against a container to determine whether it is alive or ready to
    receive traffic.
    """

    exec: ExecAction | None = None
    """Exec specifies a command to execute in the container."""
    failure_threshold: int | None = None
    """Minimum consecutive failures for the probe to be considered failed after having succeeded. Defaults to 3."""
    grpc: GRPCAction | None = None
    """GRPC specifies a GRPC HealthCheckRequest."""
    http_get: HTTPGetAction | None = None
    """HTTPGet specifies an HTTP GET request to perform."""
    initial_delay_seconds: int | None = None
    """Number of seconds after the container has started before liveness probes are initiated."""
    period_seconds: int | None = None
    """How often (in seconds) to perform the probe. Default to 10 seconds."""
    success_threshold: int | None = None
    """Minimum consecutive successes for the probe to be considered successful after having failed. Defaults to 1. Must
    be 1 for liveness and startup.
    """
    tcp_socket: TCPSocketAction | None = None
    """TCPSocket specifies a connection to a TCP port."""
    termination_grace_period_seconds: int | None = None
    """Optional duration in seconds the pod needs to terminate gracefully upon probe failure."""
    timeout_seconds: int | None = None
    """Number of seconds after which the probe times out. Defaults to 1 second."""


class ProjectedVolumeSource(ApiModel):
    """Represents a projected volume source"""

    default_mode: int | None = None
    """defaultMode are the mode bits used to set permissions on created files by default. Must be an octal value between
    0000 and 0777 or a decimal value between 0 and 511.
    """
    default_user: int | None = None
    """defaultUser is Optional: The owner UID of the created files by default."""
    sources: list[VolumeProjection] = []
    """sources is the list of volume projections."""


class QuobyteVolumeSource(ApiModel):
    """Represents a Quobyte mount that lasts the lifetime of a pod. Quobyte volumes do not support ownership management
    or SELinux relabeling.
    """

    group: str | None = None
    """group to map volume access to Default is no group"""
    read_only: bool | None = None
    """readOnly here will force the Quobyte volume to be mounted with read-only permissions. Defaults to false."""
    registry: str
    """registry represents a single or multiple Quobyte Registry services specified as a string as host:port pair
    (multiple entries are separated with commas) which acts as the central registry for volumes
    """
    tenant: str | None = None
    """tenant owning the given Quobyte volume in the Backend Used with dynamically provisioned Quobyte volumes, value is
    set by the plugin
    """
    user: str | None = None
    """user to map volume access to Defaults to serivceaccount user"""
    volume: str
    """volume is a string that references an already created Quobyte volume by name."""


class RBDPersistentVolumeSource(ApiModel):
    """Represents a Rados Block Device mount that lasts the lifetime of a pod. RBD volumes support ownership management
    and SELinux relabeling.
    """

    fs_type: str | None = None
    """fsType is the filesystem type of the volume that you want to mount."""
    image: str
    """image is the rados image name."""
    keyring: str | None = None
    """keyring is the path to key ring for RBDUser. Default is /etc/ceph/keyring."""
    monitors: list[str]
    """monitors is a collection of Ceph monitors."""
    pool: str | None = None
    """pool is the rados pool name. Default is rbd."""
    read_only: bool | None = None
    """readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."""
    secret_ref: SecretReference | None = None
    """secretRef is name of the authentication secret for RBDUser. Default is nil."""
    user: str | None = None
    """user is the rados user name. Default is admin."""


class RBDVolumeSource(ApiModel):
    """Represents a Rados Block Device mount that lasts the lifetime of a pod. RBD volumes support ownership management
    and SELinux relabeling.
    """

    fs_type: str | None = None
    """fsType is the filesystem type of the volume that you want to mount."""
    image: str
    """image is the rados image name."""
    keyring: str | None = None
    """keyring is the path to key ring for RBDUser. Default is /etc/ceph/keyring."""
    monitors: list[str]
    """monitors is a collection of Ceph monitors."""
    pool: str | None = None
    """pool is the rados pool name. Default is rbd."""
    read_only: bool | None = None
    """readOnly here will force the ReadOnly setting in VolumeMounts. Defaults to false."""
    secret_ref: LocalObjectReference | None = None
    """secretRef is name of the authentication secret for RBDUser. Default is nil."""
    user: str | None = None
    """user is the rados user name. Default is admin."""


class ReplicationControllerCondition(ApiModel):
    """ReplicationControllerCondition describes the state of a replication controller at a certain point."""

    last_transition_time: datetime | None = None
    """The last time the condition transitioned from one status to another."""
    message: str | None = None
    """A human readable message indicating details about the transition."""
    reason: str | None = None
    """The reason for the condition's last transition."""
    status: str
    """Status of the condition, one of True, False, Unknown."""
    type: str
    """Type of replication controller condition."""


class ReplicationControllerSpec(ApiModel):
    """ReplicationControllerSpec is the specification of a replication controller."""

    min_ready_seconds: int | None = None
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing,
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    replicas: int | None = None
    """Replicas is the number of desired replicas. Defaults to 1."""
    selector: dict[str, str] = {}
    """Selector is a label query over pods that should match the Replicas count."""
    template: PodTemplateSpec | None = None
    """Template is the object that describes the pod that will be created if insufficient replicas are detected."""


class ReplicationControllerStatus(ApiModel):
    """ReplicationControllerStatus represents the current status of a replication controller."""

    available_replicas: int | None = None
    """The number of available replicas (ready for at least minReadySeconds) for this replication controller."""
    conditions: list[ReplicationControllerCondition] = []
    """Represents the latest available observations of a replication controller's current state."""
    fully_labeled_replicas: int | None = None
    """The number of pods that have labels matching the labels of the pod template of the replication controller."""
    observed_generation: int | None = None
    """ObservedGeneration reflects the generation of the most recently observed replication controller."""
    ready_replicas: int | None = None
    """The number of ready replicas for this replication controller."""
    replicas: int
    """Replicas is the most recently observed number of replicas."""


class ResourceClaim(ApiModel):
    """ResourceClaim references one entry in PodSpec.ResourceClaims."""

    name: str
    """Name must match the name of one entry in pod.spec.resourceClaims of the Pod where this field is used."""
    request: str | None = None
    """Request is the name chosen for a request in the referenced claim."""


class ResourceFieldSelector(ApiModel):
    """ResourceFieldSelector represents container resources (cpu, memory) and their output format"""

    container_name: str | None = None
    """Container name: required for volumes, optional for env vars"""
    divisor: str | None = None
    """Specifies the output format of the exposed resources, defaults to "1\""""
    resource: str
    """Required: resource to select"""


class ResourceHealth(ApiModel):
    """ResourceHealth represents the health of a resource. It has the latest device health information. This is a part
    of KEP https://kep.k8s.io/4680.
    """

    health: str | None = None
    """Health of the resource. can be one of: - Healthy: operates as normal - Unhealthy: reported unhealthy."""
    message: str | None = None
    """Message provides human-readable context for Health (e.g. "ECC error count exceeded threshold")."""
    resource_id: str = msgspec.field(name="resourceID")
    """ResourceID is the unique identifier of the resource."""


class ResourceQuotaSpec(ApiModel):
    """ResourceQuotaSpec defines the desired hard limits to enforce for Quota."""

    hard: dict[str, str] = {}
    """hard is the set of desired hard limits for each named resource."""
    scope_selector: ScopeSelector | None = None
    """scopeSelector is also a collection of filters like scopes that must match each object tracked by a quota but
    expressed using ScopeSelectorOperator in combination with possible values.
    """
    scopes: list[str] = []
    """A collection of filters that must match each object tracked by a quota."""


class ResourceQuotaStatus(ApiModel):
    """ResourceQuotaStatus defines the enforced hard limits and observed use."""

    hard: dict[str, str] = {}
    """Hard is the set of enforced hard limits for each named resource."""
    used: dict[str, str] = {}
    """Used is the current observed total usage of the resource in the namespace."""


class ResourceRequirements(ApiModel):
    """ResourceRequirements describes the compute resource requirements."""

    claims: list[ResourceClaim] = []
    """Claims lists the names of resources, defined in spec.resourceClaims, that are used by this container."""
    limits: dict[str, str] = {}
    """Limits describes the maximum amount of compute resources allowed."""
    requests: dict[str, str] = {}
    """Requests describes the minimum amount of compute resources required."""


class ResourceStatus(ApiModel):
    """ResourceStatus represents the status of a single resource allocated to a Pod."""

    name: str
    """Name of the resource. Must be unique within the pod and in case of non-DRA resource, match one of the resources
    from the pod spec. When this status is reported about a container, the "claim_name" and "request" must match one of
    the claims of this container.
    """
    resources: list[ResourceHealth] = []
    """List of unique resources health. Each element in the list contains an unique resource ID and its health. At a
    minimum, for the lifetime of a Pod, resource ID must uniquely identify the resource allocated to the Pod on the
    Node.
    """


class SELinuxOptions(ApiModel):
    """SELinuxOptions are the labels to be applied to the container"""

    level: str | None = None
    """Level is SELinux level label that applies to the container."""
    role: str | None = None
    """Role is a SELinux role label that applies to the container."""
    type: str | None = None
    """Type is a SELinux type label that applies to the container."""
    user: str | None = None
    """User is a SELinux user label that applies to the container."""


class ScaleIOPersistentVolumeSource(ApiModel):
    """ScaleIOPersistentVolumeSource represents a persistent ScaleIO volume"""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Default is "xfs\"
    """
    gateway: str
    """gateway is the host address of the ScaleIO API Gateway."""
    protection_domain: str | None = None
    """protectionDomain is the name of the ScaleIO Protection Domain for the configured storage."""
    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_ref: SecretReference
    """secretRef references to the secret for ScaleIO user and other sensitive information."""
    ssl_enabled: bool | None = None
    """sslEnabled is the flag to enable/disable SSL communication with Gateway, default false"""
    storage_mode: str | None = None
    """storageMode indicates whether the storage for a volume should be ThickProvisioned or ThinProvisioned. Default is
    ThinProvisioned.
    """
    storage_pool: str | None = None
    """storagePool is the ScaleIO Storage Pool associated with the protection domain."""
    system: str
    """system is the name of the storage system as configured in ScaleIO."""
    volume_name: str | None = None
    """volumeName is the name of a volume already created in the ScaleIO system that is associated with this volume
    source.
    """


class ScaleIOVolumeSource(ApiModel):
    """ScaleIOVolumeSource represents a persistent ScaleIO volume"""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Default is "xfs".
    """
    gateway: str
    """gateway is the host address of the ScaleIO API Gateway."""
    protection_domain: str | None = None
    """protectionDomain is the name of the ScaleIO Protection Domain for the configured storage."""
    read_only: bool | None = None
    """readOnly Defaults to false (read/write)."""
    secret_ref: LocalObjectReference
    """secretRef references to the secret for ScaleIO user and other sensitive information."""
    ssl_enabled: bool | None = None
    """sslEnabled Flag enable/disable SSL communication with Gateway, default false"""
    storage_mode: str | None = None
    """storageMode indicates whether the storage for a volume should be ThickProvisioned or ThinProvisioned. Default is
    ThinProvisioned.
    """
    storage_pool: str | None = None
    """storagePool is the ScaleIO Storage Pool associated with the protection domain."""
    system: str
    """system is the name of the storage system as configured in ScaleIO."""
    volume_name: str | None = None
    """volumeName is the name of a volume already created in the ScaleIO system that is associated with this volume
    source.
    """


class ScopeSelector(ApiModel):
    """A scope selector represents the AND of the selectors represented by the scoped-resource selector requirements."""

    match_expressions: list[ScopedResourceSelectorRequirement] = []
    """A list of scope selector requirements by scope of the resources."""


class ScopedResourceSelectorRequirement(ApiModel):
    """A scoped-resource selector requirement is a selector that contains values, a scope name, and an operator that
    relates the scope name and values.
    """

    operator: str
    """Represents a scope's relationship to a set of values."""
    scope_name: str
    """The name of the scope that the selector applies to."""
    values: list[str] = []
    """An array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is
    Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch.
    """


class SeccompProfile(ApiModel):
    """SeccompProfile defines a pod/container's seccomp profile settings. Only one profile source may be set."""

    localhost_profile: str | None = None
    """localhostProfile indicates a profile defined in a file on the node should be used. Must be a descending path,
    relative to the kubelet's configured seccomp profile location. Must be set if type is "Localhost".
    """
    type: str
    """type indicates which kind of seccomp profile will be applied."""


class SecretEnvSource(ApiModel):
    """SecretEnvSource selects a Secret to populate the environment variables with."""

    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """Specify whether the Secret must be defined"""


class SecretKeySelector(ApiModel):
    """SecretKeySelector selects a key of a Secret."""

    key: str
    """The key of the secret to select from. Must be a valid secret key."""
    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """Specify whether the Secret or its key must be defined"""


class SecretProjection(ApiModel):
    """Adapts a secret into a projected volume."""

    items: list[KeyToPath] = []
    """items if unspecified, each key-value pair in the Data field of the referenced Secret will be projected into the
    volume as a file whose name is the key and content is the value.
    """
    name: str | None = None
    """Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be
    empty. Instances of this type with an empty value here are almost certainly wrong.
    """
    optional: bool | None = None
    """optional field specify whether the Secret or its key must be defined"""


class SecretReference(ApiModel):
    """SecretReference represents a Secret Reference. It has enough information to retrieve secret in any namespace"""

    name: str | None = None
    """name is unique within a namespace to reference a secret resource."""
    namespace: str | None = None
    """namespace defines the space within which the secret name must be unique."""


class SecretVolumeSource(ApiModel):
    """Adapts a Secret into a volume."""

    default_mode: int | None = None
    """defaultMode is Optional: mode bits used to set permissions on created files by default. Must be an octal value
    between 0000 and 0777 or a decimal value between 0 and 511. Defaults to 0644.
    """
    default_user: int | None = None
    """defaultUser is Optional: The owner UID of the created files by default."""
    items: list[KeyToPath] = []
    """items If unspecified, each key-value pair in the Data field of the referenced Secret will be projected into the
    volume as a file whose name is the key and content is the value.
    """
    optional: bool | None = None
    """optional field specify whether the Secret or its keys must be defined"""
    secret_name: str | None = None
    """secretName is the name of the secret in the pod's namespace to use."""


class SecurityContext(ApiModel):
    """SecurityContext holds security configuration that will be applied to a container. Some fields are present in both
    SecurityContext and PodSecurityContext. When both are set, the values in SecurityContext take precedence.
    """

    allow_privilege_escalation: bool | None = None
    """AllowPrivilegeEscalation controls whether a process can gain more privileges than its parent process."""
    app_armor_profile: AppArmorProfile | None = None
    """appArmorProfile is the AppArmor options to use by this container."""
    capabilities: Capabilities | None = None
    """The capabilities to add/drop when running containers. Defaults to the default set of capabilities granted by the
    container runtime.
    """
    privileged: bool | None = None
    """Run container in privileged mode. Processes in privileged containers are essentially equivalent to root on the
    host. Defaults to false. Note that this field cannot be set when spec.os.name is windows.
    """
    proc_mount: str | None = None
    """procMount denotes the type of proc mount to use for the containers. The default value is Default which uses the
    container runtime defaults for readonly paths and masked paths.
    """
    read_only_root_filesystem: bool | None = None
    """Whether this container has a read-only root filesystem. Default is false."""
    run_as_group: int | None = None
    """The GID to run the entrypoint of the container process."""
    run_as_non_root: bool | None = None
    """Indicates that the container must run as a non-root user."""
    run_as_user: int | None = None
    """The UID to run the entrypoint of the container process. Defaults to user specified in image metadata if
    unspecified.
    """
    se_linux_options: SELinuxOptions | None = None
    """The SELinux context to be applied to the container."""
    seccomp_profile: SeccompProfile | None = None
    """The seccomp options to use by this container."""
    windows_options: WindowsSecurityContextOptions | None = None
    """The Windows specific settings applied to all containers."""


class ServiceAccountTokenProjection(ApiModel):
    """ServiceAccountTokenProjection represents a projected service account token volume. This projection can be used to
    insert a service account token into the pods runtime filesystem for use against APIs (Kubernetes API Server or
    otherwise).
    """

    audience: str | None = None
    """audience is the intended audience of the token."""
    expiration_seconds: int | None = None
    """expirationSeconds is the requested duration of validity of the service account token."""
    path: str
    """path is the path relative to the mount point of the file to project the token into."""
    user: int | None = None
    """user is Optional: The owner UID of the created file."""


class ServicePort(ApiModel):
    """ServicePort contains information on service's port."""

    app_protocol: str | None = None
    """The application protocol for this port. This is used as a hint for implementations to offer richer behavior for
    protocols that they understand. This field follows standard Kubernetes label syntax.
    """
    name: str | None = None
    """The name of this port within the service."""
    node_port: int | None = None
    """The port on each node on which this service is exposed when type is NodePort or LoadBalancer."""
    port: int
    """The port that will be exposed by this service."""
    protocol: str | None = None
    """The IP protocol for this port. Supports "TCP", "UDP", and "SCTP". Default is TCP."""
    target_port: int | str | None = None
    """Number or name of the port to access on the pods targeted by the service."""


class ServiceSpec(ApiModel):
    """ServiceSpec describes the attributes that a user creates on a service."""

    allocate_load_balancer_node_ports: bool | None = None
    """allocateLoadBalancerNodePorts defines if NodePorts will be automatically allocated for services with type
    LoadBalancer. Default is "true".
    """
    cluster_ip: str | None = msgspec.field(name="clusterIP", default=None)
    """clusterIP is the IP address of the service and is usually assigned randomly. Valid values are "None", empty
    string (""), or a valid IP address.
    """
    cluster_ips: list[str] = msgspec.field(name="clusterIPs", default=[])
    """ClusterIPs is a list of IP addresses assigned to this service, and are usually assigned randomly. Valid values
    are "None", empty string (""), or a valid IP address.
    """
    external_ips: list[str] = msgspec.field(name="externalIPs", default=[])
    """externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.
    """
    external_name: str | None = None
    """externalName is the external reference that discovery mechanisms will return as an alias for this service (e.g. a
    DNS CNAME record). Must be a lowercase RFC-1123 hostname (https://tools.ietf.org/html/rfc1123) and requires `type`
    to be "ExternalName".
    """
    external_traffic_policy: str | None = None
    """externalTrafficPolicy describes how nodes distribute service traffic they receive on one of the Service's
    "externally-facing" addresses (NodePorts, ExternalIPs, and LoadBalancer IPs).
    """
    health_check_node_port: int | None = None
    """healthCheckNodePort specifies the healthcheck nodePort for the service."""
    internal_traffic_policy: str | None = None
    """InternalTrafficPolicy describes how nodes distribute service traffic they receive on the ClusterIP. The default
    value, "Cluster", uses the standard behavior of routing to all endpoints evenly (possibly modified by topology and
    other features).
    """
    ip_families: list[str] = []
    """IPFamilies is a list of IP families (e.g. IPv4, IPv6) assigned to this service. Valid values are "IPv4" and
    "IPv6".
    """
    ip_family_policy: str | None = None
    """IPFamilyPolicy represents the dual-stack-ness requested or required by this Service."""
    load_balancer_class: str | None = None
    """loadBalancerClass is the class of the load balancer implementation this Service belongs to."""
    load_balancer_ip: str | None = msgspec.field(name="loadBalancerIP", default=None)
    """Only applies to Service Type: LoadBalancer. Deprecated: This field was under-specified and its meaning varies
    across implementations.
    """
    load_balancer_source_ranges: list[str] = []
    """If specified and supported by the platform, this will restrict traffic through the cloud-provider load-balancer
    will be restricted to the specified client IPs.
    """
    ports: list[ServicePort] = []
    """The list of ports that are exposed by this service."""
    publish_not_ready_addresses: bool | None = None
    """publishNotReadyAddresses indicates that any agent which deals with endpoints for this Service should disregard
    any indications of ready/not-ready.
    """
    selector: dict[str, str] = {}
    """Route service traffic to pods with label keys and values matching this selector."""
    session_affinity: str | None = None
    """Supports "ClientIP" and "None". Used to maintain session affinity. Enable client IP based session affinity. Must
    be ClientIP or None. Defaults to None.
    """
    session_affinity_config: SessionAffinityConfig | None = None
    """sessionAffinityConfig contains the configurations of session affinity."""
    traffic_distribution: str | None = None
    """TrafficDistribution offers a way to express preferences for how traffic is distributed to Service endpoints."""
    type: str | None = None
    """type determines how the Service is exposed. Defaults to ClusterIP."""


class ServiceStatus(ApiModel):
    """ServiceStatus represents the current status of a service."""

    conditions: list[Condition] = []
    """Current service state"""
    load_balancer: LoadBalancerStatus | None = None
    """LoadBalancer contains the current status of the load-balancer, if one is present."""


class SessionAffinityConfig(ApiModel):
    """SessionAffinityConfig represents the configurations of session affinity."""

    client_ip: ClientIPConfig | None = msgspec.field(name="clientIP", default=None)
    """clientIP contains the configurations of Client IP based session affinity."""


class SleepAction(ApiModel):
    """SleepAction describes a "sleep" action."""

    seconds: int
    """Seconds is the number of seconds to sleep."""


class StorageOSPersistentVolumeSource(ApiModel):
    """Represents a StorageOS persistent volume resource."""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_ref: ObjectReference | None = None
    """secretRef specifies the secret to use for obtaining the StorageOS API credentials."""
    volume_name: str | None = None
    """volumeName is the human-readable name of the StorageOS volume."""
    volume_namespace: str | None = None
    """volumeNamespace specifies the scope of the volume within StorageOS."""


class StorageOSVolumeSource(ApiModel):
    """Represents a StorageOS persistent volume resource."""

    fs_type: str | None = None
    """fsType is the filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex.
    "ext4", "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    read_only: bool | None = None
    """readOnly defaults to false (read/write)."""
    secret_ref: LocalObjectReference | None = None
    """secretRef specifies the secret to use for obtaining the StorageOS API credentials."""
    volume_name: str | None = None
    """volumeName is the human-readable name of the StorageOS volume."""
    volume_namespace: str | None = None
    """volumeNamespace specifies the scope of the volume within StorageOS."""


class Sysctl(ApiModel):
    """Sysctl defines a kernel parameter to be set"""

    name: str
    """Name of a property to set"""
    value: str
    """Value of a property to set"""


class TCPSocketAction(ApiModel):
    """TCPSocketAction describes an action based on opening a socket"""

    host: str | None = None
    """Optional: Host name to connect to, defaults to the pod IP."""
    port: int | str
    """Number or name of the port to access on the container."""


class Taint(ApiModel):
    """The node this Taint is attached to has the "effect" on any pod that does not tolerate the Taint."""

    effect: str
    """Required. The effect of the taint on pods that do not tolerate the taint. Valid effects are NoSchedule,
    PreferNoSchedule and NoExecute.
    """
    key: str
    """Required. The taint key to be applied to a node."""
    time_added: datetime | None = None
    """TimeAdded represents the time at which the taint was added."""
    value: str | None = None
    """The taint value corresponding to the taint key."""


class Toleration(ApiModel):
    """The pod this Toleration is attached to tolerates any taint that matches the triple <key,value,effect> using the
    matching operator <operator>.
    """

    effect: str | None = None
    """Effect indicates the taint effect to match."""
    key: str | None = None
    """Key is the taint key that the toleration applies to."""
    operator: str | None = None
    """Operator represents a key's relationship to the value. Defaults to Equal."""
    toleration_seconds: int | None = None
    """TolerationSeconds represents the period of time the toleration (which must be of effect NoExecute, otherwise this
    field is ignored) tolerates the taint.
    """
    value: str | None = None
    """Value is the taint value the toleration matches to."""


class TopologySelectorLabelRequirement(ApiModel):
    """A topology selector requirement is a selector that matches given label. This is an alpha feature and may change
    in the future.
    """

    key: str
    """The label key that the selector applies to."""
    values: list[str]
    """An array of string values. One value must match the label to be selected. Each entry in Values is ORed."""


class TopologySelectorTerm(ApiModel):
    """A topology selector term represents the result of label queries. A null or empty topology selector term matches
    no objects. The requirements of them are ANDed. It provides a subset of functionality as NodeSelectorTerm. This is
    an alpha feature and may change in the future.
    """

    match_label_expressions: list[TopologySelectorLabelRequirement] = []
    """A list of topology selector requirements by labels."""


class TopologySpreadConstraint(ApiModel):
    """TopologySpreadConstraint specifies how to spread matching pods among the given topology."""

    label_selector: LabelSelector | None = None
    """LabelSelector is used to find matching pods."""
    match_label_keys: list[str] = []
    """MatchLabelKeys is a set of pod label keys to select the pods over which spreading will be calculated."""
    max_skew: int
    """MaxSkew describes the degree to which pods may be unevenly distributed. Default value is 1 and 0 is not allowed.
    """
    min_domains: int | None = None
    """MinDomains indicates a minimum number of eligible domains. Valid values are integers greater than 0."""
    node_affinity_policy: str | None = None
    """NodeAffinityPolicy indicates how we will treat Pod's nodeAffinity/nodeSelector when calculating pod topology
    spread skew.
    """
    node_taints_policy: str | None = None
    """NodeTaintsPolicy indicates how we will treat node taints when calculating pod topology spread skew."""
    topology_key: str
    """TopologyKey is the key of node labels. Nodes that have a label with this key and identical values are considered
    to be in the same topology. We consider each <key, value> as a "bucket", and try to put balanced number of pods into
    each bucket.
    """
    when_unsatisfiable: str
    """WhenUnsatisfiable indicates how to deal with a pod if it doesn't satisfy the spread constraint. - DoNotSchedule
    (default) tells the scheduler not to schedule it. - ScheduleAnyway tells the scheduler to schedule the pod in any
    location, but giving higher precedence to topologies that would help reduce the skew.
    """


class TypedLocalObjectReference(ApiModel):
    """TypedLocalObjectReference contains enough information to let you locate the typed referenced object inside the
    same namespace.
    """

    api_group: str | None = None
    """APIGroup is the group for the resource being referenced."""
    kind: str
    """Kind is the type of resource being referenced"""
    name: str
    """Name is the name of resource being referenced"""


class TypedObjectReference(ApiModel):
    """TypedObjectReference contains enough information to let you locate the typed referenced object"""

    api_group: str | None = None
    """APIGroup is the group for the resource being referenced."""
    kind: str
    """Kind is the type of resource being referenced"""
    name: str
    """Name is the name of resource being referenced"""
    namespace: str | None = None
    """Namespace is the namespace of resource being referenced Note that when a namespace is specified, a
    gateway.networking.k8s.io/ReferenceGrant object is required in the referent namespace to allow that namespace's
    owner to accept the reference.
    """


class Volume(ApiModel):
    """Volume represents a named volume in a pod that may be accessed by any container in the pod."""

    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    """awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's host machine and then
    exposed to the pod. Deprecated: AWSElasticBlockStore is deprecated.
    """
    azure_disk: AzureDiskVolumeSource | None = None
    """azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod. Deprecated: AzureDisk is
    deprecated.
    """
    azure_file: AzureFileVolumeSource | None = None
    """azureFile represents an Azure File Service mount on the host and bind mount to the pod. Deprecated: AzureFile is
    deprecated.
    """
    cephfs: CephFSVolumeSource | None = None
    """cephFS represents a Ceph FS mount on the host that shares a pod's lifetime. Deprecated: CephFS is deprecated and
    the in-tree cephfs type is no longer supported.
    """
    cinder: CinderVolumeSource | None = None
    """cinder represents a cinder volume attached and mounted on kubelets host machine. Deprecated: Cinder is
    deprecated.
    """
    config_map: ConfigMapVolumeSource | None = None
    """configMap represents a configMap that should populate this volume"""
    csi: CSIVolumeSource | None = None
    """csi (Container Storage Interface) represents ephemeral storage that is handled by certain external CSI drivers.
    """
    downward_api: DownwardAPIVolumeSource | None = msgspec.field(name="downwardAPI", default=None)
    """downwardAPI represents downward API about the pod that should populate this volume"""
    empty_dir: EmptyDirVolumeSource | None = None
    """emptyDir represents a temporary directory that shares a pod's lifetime."""
    ephemeral: EphemeralVolumeSource | None = None
    """ephemeral represents a volume that is handled by a cluster storage driver."""
    fc: FCVolumeSource | None = None
    """fc represents a Fibre Channel resource that is attached to a kubelet's host machine and then exposed to the pod.
    """
    flex_volume: FlexVolumeSource | None = None
    """flexVolume represents a generic volume resource that is provisioned/attached using an exec based plugin.
    Deprecated: FlexVolume is deprecated.
    """
    flocker: FlockerVolumeSource | None = None
    """flocker represents a Flocker volume attached to a kubelet's host machine. Deprecated: Flocker is deprecated and
    the in-tree flocker type is no longer supported.
    """
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    """gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host machine and then exposed to
    the pod. Deprecated: GCEPersistentDisk is deprecated.
    """
    git_repo: GitRepoVolumeSource | None = None
    """gitRepo represents a git repository at a particular revision. Deprecated: GitRepo is deprecated."""
    glusterfs: GlusterfsVolumeSource | None = None
    """glusterfs represents a Glusterfs mount on the host that shares a pod's lifetime. Deprecated: Glusterfs is
    deprecated and the in-tree glusterfs type is no longer supported.
    """
    host_path: HostPathVolumeSource | None = None
    """hostPath represents a pre-existing file or directory on the host machine that is directly exposed to the
    container.
    """
    image: ImageVolumeSource | None = None
    """image represents an OCI object (a container image or artifact) pulled and mounted on the kubelet's host machine.
    """
    iscsi: ISCSIVolumeSource | None = None
    """iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod.
    """
    name: str
    """name of the volume. Must be a DNS_LABEL and unique within the pod."""
    nfs: NFSVolumeSource | None = None
    """nfs represents an NFS mount on the host that shares a pod's lifetime More info:
    https://kubernetes.io/docs/concepts/storage/volumes#nfs
    """
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    """persistentVolumeClaimVolumeSource represents a reference to a PersistentVolumeClaim in the same namespace."""
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    """photonPersistentDisk represents a PhotonController persistent disk attached and mounted on kubelets host machine.
    Deprecated: PhotonPersistentDisk is deprecated and the in-tree photonPersistentDisk type is no longer supported.
    """
    portworx_volume: PortworxVolumeSource | None = None
    """portworxVolume represents a portworx volume attached and mounted on kubelets host machine. Deprecated:
    PortworxVolume is deprecated.
    """
    projected: ProjectedVolumeSource | None = None
    """projected items for all in one resources secrets, configmaps, and downward API"""
    quobyte: QuobyteVolumeSource | None = None
    """quobyte represents a Quobyte mount on the host that shares a pod's lifetime. Deprecated: Quobyte is deprecated
    and the in-tree quobyte type is no longer supported.
    """
    rbd: RBDVolumeSource | None = None
    """rbd represents a Rados Block Device mount on the host that shares a pod's lifetime. Deprecated: RBD is deprecated
    and the in-tree rbd type is no longer supported.
    """
    scale_io: ScaleIOVolumeSource | None = msgspec.field(name="scaleIO", default=None)
    """scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes. Deprecated: ScaleIO is
    deprecated and the in-tree scaleIO type is no longer supported.
    """
    secret: SecretVolumeSource | None = None
    """secret represents a secret that should populate this volume."""
    storageos: StorageOSVolumeSource | None = None
    """storageOS represents a StorageOS volume attached and mounted on Kubernetes nodes. Deprecated: StorageOS is
    deprecated and the in-tree storageos type is no longer supported.
    """
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    """vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine. Deprecated:
    VsphereVolume is deprecated.
    """


class VolumeDevice(ApiModel):
    """volumeDevice describes a mapping of a raw block device within a container."""

    device_path: str
    """devicePath is the path inside of the container that the device will be mapped to."""
    name: str
    """name must match the name of a persistentVolumeClaim in the pod"""


class VolumeHealthCondition(ApiModel):
    """VolumeHealthCondition represents an adverse health condition reported for a volume."""

    message: str | None = None
    """message is a human-readable description."""
    reason: str
    """reason is a brief CamelCase machine-parseable reason."""
    status: str
    """status is the machine-parseable health category."""


class VolumeHealthStatus(ApiModel):
    """VolumeHealthStatus contains health information for a volume reported by the CSI controller plugin."""

    health_conditions: list[VolumeHealthCondition] = []
    """conditions is the set of adverse conditions reported by the CSI controller plugin."""
    last_transition_time: datetime | None = None
    """lastTransitionTime is when the current set of conditions first appeared."""


class VolumeMount(ApiModel):
    """VolumeMount describes a mounting of a Volume within a container."""

    bind_mount_options: list[str] = []
    """bindMountOptions is the list of additional bind mount options to apply when mounting this volume into the
    container.
    """
    mount_path: str
    """Path within the container at which the volume should be mounted."""
    mount_propagation: str | None = None
    """mountPropagation determines how mounts are propagated from the host to container and the other way around."""
    name: str
    """This must match the Name of a Volume."""
    read_only: bool | None = None
    """Mounted read-only if true, read-write otherwise (false or unspecified). Defaults to false."""
    recursive_read_only: str | None = None
    """RecursiveReadOnly specifies whether read-only mounts should be handled recursively."""
    sub_path: str | None = None
    """Path within the volume from which the container's volume should be mounted. Defaults to "" (volume's root)."""
    sub_path_expr: str | None = None
    """Expanded path within the volume from which the container's volume should be mounted. Defaults to "" (volume's
    root).
    """


class VolumeMountStatus(ApiModel):
    """VolumeMountStatus shows status of volume mounts."""

    mount_path: str
    """MountPath corresponds to the original VolumeMount."""
    name: str
    """Name corresponds to the name of the original VolumeMount."""
    read_only: bool | None = None
    """ReadOnly corresponds to the original VolumeMount."""
    recursive_read_only: str | None = None
    """RecursiveReadOnly must be set to Disabled, Enabled, or unspecified (for non-readonly mounts)."""
    volume_status: VolumeStatus | None = None
    """volumeStatus represents volume-type-specific status about the mounted volume."""


class VolumeNodeAffinity(ApiModel):
    """VolumeNodeAffinity defines constraints that limit what nodes this volume can be accessed from."""

    required: NodeSelector | None = None
    """required specifies hard node constraints that must be met."""


class VolumeProjection(ApiModel):
    """Projection that may be projected along with other supported volume types. Exactly one of these fields must be
    set.
    """

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    """ClusterTrustBundle allows a pod to access the `.spec.trustBundle` field of ClusterTrustBundle objects in an
    auto-updating file.
    """
    config_map: ConfigMapProjection | None = None
    """configMap information about the configMap data to project"""
    downward_api: DownwardAPIProjection | None = msgspec.field(name="downwardAPI", default=None)
    """downwardAPI information about the downwardAPI data to project"""
    pod_certificate: PodCertificateProjection | None = None
    """Projects an auto-rotating credential bundle (private key and certificate chain) that the pod can use either as a
    TLS client or server.
    """
    secret: SecretProjection | None = None
    """secret information about the secret data to project"""
    service_account_token: ServiceAccountTokenProjection | None = None
    """serviceAccountToken is information about the serviceAccountToken data to project"""


class VolumeResourceRequirements(ApiModel):
    """VolumeResourceRequirements describes the storage resource requirements for a volume."""

    limits: dict[str, str] = {}
    """Limits describes the maximum amount of compute resources allowed."""
    requests: dict[str, str] = {}
    """Requests describes the minimum amount of compute resources required."""


class VolumeStatus(ApiModel):
    """VolumeStatus represents the status of a mounted volume. At most one of its members must be specified."""

    image: ImageVolumeStatus | None = None
    """image represents an OCI object (a container image or artifact) pulled and mounted on the kubelet's host machine.
    """


class VsphereVirtualDiskVolumeSource(ApiModel):
    """Represents a vSphere volume resource."""

    fs_type: str | None = None
    """fsType is filesystem type to mount. Must be a filesystem type supported by the host operating system. Ex. "ext4",
    "xfs", "ntfs". Implicitly inferred to be "ext4" if unspecified.
    """
    storage_policy_id: str | None = msgspec.field(name="storagePolicyID", default=None)
    """storagePolicyID is the storage Policy Based Management (SPBM) profile ID associated with the StoragePolicyName.
    """
    storage_policy_name: str | None = None
    """storagePolicyName is the storage Policy Based Management (SPBM) profile name."""
    volume_path: str
    """volumePath is the path that identifies vSphere volume vmdk"""


class WeightedPodAffinityTerm(ApiModel):
    """The weights of all of the matched WeightedPodAffinityTerm fields are added per-node to find the most preferred
    node(s)
    """

    pod_affinity_term: PodAffinityTerm
    """Required. A pod affinity term, associated with the corresponding weight."""
    weight: int
    """weight associated with matching the corresponding podAffinityTerm, in the range 1-100."""


class WindowsSecurityContextOptions(ApiModel):
    """WindowsSecurityContextOptions contain Windows-specific options and credentials."""

    gmsa_credential_spec: str | None = None
    """GMSACredentialSpec is where the GMSA admission webhook (https://github.com/kubernetes-sigs/windows-gmsa) inlines
    the contents of the GMSA credential spec named by the GMSACredentialSpecName field.
    """
    gmsa_credential_spec_name: str | None = None
    """GMSACredentialSpecName is the name of the GMSA credential spec to use."""
    host_process: bool | None = None
    """HostProcess determines if a container should be run as a 'Host Process' container."""
    run_as_user_name: str | None = None
    """The UserName in Windows to run the entrypoint of the container process. Defaults to the user specified in image
    metadata if unspecified.
    """


class Binding(Object, ApiModel):
    """Binding ties one object to another; for example, a pod is bound to a node by a scheduler."""

    resource: ClassVar[Resource] = _table.CORE_V1_BINDING

    target: ObjectReference
    """The target object that you want to bind to the standard object."""


class ComponentStatus(Object, ApiModel):
    """ComponentStatus (and ComponentStatusList) holds the cluster validation info. Deprecated: This API is deprecated
    in v1.19+
    """

    resource: ClassVar[Resource] = _table.CORE_V1_COMPONENT_STATUS

    conditions: list[ComponentCondition] = []
    """List of component conditions observed"""


class ConfigMap(Object, ApiModel):
    """ConfigMap holds configuration data for pods to consume."""

    resource: ClassVar[Resource] = _table.CORE_V1_CONFIG_MAP

    binary_data: dict[str, bytes] = {}
    """BinaryData contains the binary data. Each key must consist of alphanumeric characters, '-', '_' or '.'.
    BinaryData can contain byte sequences that are not in the UTF-8 range. Using this field will require 1.10+ apiserver
    and kubelet.
    """
    data: dict[str, str] = {}
    """Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values
    with non-UTF-8 byte sequences must use the BinaryData field.
    """
    immutable: bool | None = None
    """Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated (only object metadata can
    be modified).
    """


class Endpoints(Object, ApiModel):
    """Endpoints is a collection of endpoints that implement the actual service."""

    resource: ClassVar[Resource] = _table.CORE_V1_ENDPOINTS

    subsets: list[EndpointSubset] = []
    """The set of all endpoints is the union of all subsets."""


class Event(Object, ApiModel):
    """Event is a report of an event somewhere in the cluster. Events have a limited retention time and triggers and
    messages may evolve with time. Event consumers should not rely on the timing of an event with a given Reason
    reflecting a consistent underlying trigger, or the continued existence of events with that Reason. Events should be
    treated as informative, best-effort, supplemental data.
    """

    resource: ClassVar[Resource] = _table.CORE_V1_EVENT

    action: str | None = None
    """What action was taken/failed regarding to the Regarding object."""
    count: int | None = None
    """The number of times this event has occurred."""
    event_time: MicroTime | None = None
    """Time when this Event was first observed."""
    first_timestamp: datetime | None = None
    """The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)"""
    involved_object: ObjectReference
    """The object that this event is about."""
    last_timestamp: datetime | None = None
    """The time at which the most recent occurrence of this event was recorded."""
    message: str | None = None
    """A human-readable description of the status of this operation."""
    reason: str | None = None
    """This should be a short, machine understandable string that gives the reason for the transition into the object's
    current status.
    """
    related: ObjectReference | None = None
    """Optional secondary object for more complex actions."""
    reporting_component: str | None = None
    """Name of the controller that emitted this Event, e.g. `kubernetes.io/kubelet`."""
    reporting_instance: str | None = None
    """ID of the controller instance, e.g. `kubelet-xyzf`."""
    series: EventSeries | None = None
    """Data about the Event series this event represents or nil if it's a singleton Event."""
    source: EventSource | None = None
    """The component reporting this event. Should be a short machine understandable string."""
    type: str | None = None
    """Type of this event (Normal, Warning), new types could be added in the future"""


class LimitRange(Object, ApiModel):
    """LimitRange sets resource usage limits for each kind of resource in a Namespace."""

    resource: ClassVar[Resource] = _table.CORE_V1_LIMIT_RANGE

    spec: LimitRangeSpec = msgspec.field(default_factory=lambda: LimitRangeSpec(limits=[]))
    """Spec defines the limits enforced."""


class Namespace(Object, ApiModel):
    """Namespace provides a scope for Names. Use of multiple namespaces is optional."""

    resource: ClassVar[Resource] = _table.CORE_V1_NAMESPACE

    spec: NamespaceSpec = msgspec.field(default_factory=NamespaceSpec)
    """Spec defines the behavior of the Namespace."""
    status: NamespaceStatus = msgspec.field(default_factory=NamespaceStatus)
    """Status describes the current status of a Namespace."""


class Node(NodeMixin, Object, ApiModel):
    """Node is a worker node in Kubernetes. Each node will have a unique identifier in the cache (i.e. in etcd)."""

    resource: ClassVar[Resource] = _table.CORE_V1_NODE

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    """Spec defines the behavior of a node.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
    """Most recently observed status of the node."""


class PersistentVolume(Object, ApiModel):
    """PersistentVolume (PV) is a storage resource provisioned by an administrator. It is analogous to a node."""

    resource: ClassVar[Resource] = _table.CORE_V1_PERSISTENT_VOLUME

    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    """spec defines a specification of a persistent volume owned by the cluster."""
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)
    """status represents the current information/status for the persistent volume."""


class PersistentVolumeClaim(Object, ApiModel):
    """PersistentVolumeClaim is a user's request for and claim to a persistent volume"""

    resource: ClassVar[Resource] = _table.CORE_V1_PERSISTENT_VOLUME_CLAIM

    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    """spec defines the desired characteristics of a volume requested by a pod author."""
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)
    """status represents the current information/status of a persistent volume claim."""


class Pod(PodMixin, Object, ApiModel):
    """Pod is a collection of containers that can run on a host. This resource is created by clients and scheduled onto
    hosts.
    """

    resource: ClassVar[Resource] = _table.CORE_V1_POD

    spec: PodSpec = msgspec.field(default_factory=lambda: PodSpec(containers=[]))
    """Specification of the desired behavior of the pod."""
    status: PodStatus = msgspec.field(default_factory=PodStatus)
    """Most recently observed status of the pod."""


class PodTemplate(Object, ApiModel):
    """PodTemplate describes a template for creating copies of a predefined pod."""

    resource: ClassVar[Resource] = _table.CORE_V1_POD_TEMPLATE

    template: PodTemplateSpec | None = None
    """Template defines the pods that will be created from this pod template.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """


class ReplicationController(Object, ApiModel):
    """ReplicationController represents the configuration of a replication controller."""

    resource: ClassVar[Resource] = _table.CORE_V1_REPLICATION_CONTROLLER

    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    """Spec defines the specification of the desired behavior of the replication controller."""
    status: ReplicationControllerStatus = msgspec.field(default_factory=lambda: ReplicationControllerStatus(replicas=0))
    """Status is the most recently observed status of the replication controller."""


class ResourceQuota(Object, ApiModel):
    """ResourceQuota sets aggregate quota restrictions enforced per namespace"""

    resource: ClassVar[Resource] = _table.CORE_V1_RESOURCE_QUOTA

    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    """Spec defines the desired quota.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)
    """Status defines the actual enforced quota and its current usage.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """


class Secret(Object, ApiModel):
    """Secret holds secret data of a certain type. The total bytes of the values in the Data field must be less than
    MaxSecretSize bytes.
    """

    resource: ClassVar[Resource] = _table.CORE_V1_SECRET

    data: dict[str, bytes] = {}
    """Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized
    form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value
    here.
    """
    immutable: bool | None = None
    """Immutable, if set to true, ensures that data stored in the Secret cannot be updated (only object metadata can be
    modified).
    """
    string_data: dict[str, str] = {}
    """stringData allows specifying non-binary secret data in string form."""
    type: str | None = None
    """Used to facilitate programmatic handling of secret data."""


class Service(Object, ApiModel):
    """Service is a named abstraction of software service (for example, mysql) consisting of local port (for example
    3306) that the proxy listens on, and the selector that determines which pods will answer requests sent through the
    proxy.
    """

    resource: ClassVar[Resource] = _table.CORE_V1_SERVICE

    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    """Spec defines the behavior of a service.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: ServiceStatus = msgspec.field(default_factory=ServiceStatus)
    """Most recently observed status of the service."""


class ServiceAccount(Object, ApiModel):
    """ServiceAccount binds together: * a name, understood by users, and perhaps by peripheral systems, for an identity
    * a principal that can be authenticated and authorized * a set of secrets
    """

    resource: ClassVar[Resource] = _table.CORE_V1_SERVICE_ACCOUNT

    automount_service_account_token: bool | None = None
    """AutomountServiceAccountToken indicates whether pods running as this service account should have an API token
    automatically mounted.
    """
    image_pull_secrets: list[LocalObjectReference] = []
    """ImagePullSecrets is a list of references to secrets in the same namespace to use for pulling any images in pods
    that reference this ServiceAccount.
    """
    secrets: list[ObjectReference] = []
    """Secrets is a list of the secrets in the same namespace that pods running using this ServiceAccount are allowed to
    use.
    """


class ComponentStatusList(KindList[ComponentStatus]):
    """Status of all the conditions for the component as a list of ComponentStatus objects. Deprecated: This API is
    deprecated in v1.19+
    """

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ComponentStatusList"


class ConfigMapList(KindList[ConfigMap]):
    """ConfigMapList is a resource containing a list of ConfigMap objects."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ConfigMapList"


class EndpointsList(KindList[Endpoints]):
    """EndpointsList is a list of endpoints. Deprecated: This API is deprecated in v1.33+."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "EndpointsList"


class EventList(KindList[Event]):
    """EventList is a list of events."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "EventList"


class LimitRangeList(KindList[LimitRange]):
    """LimitRangeList is a list of LimitRange items."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "LimitRangeList"


class NamespaceList(KindList[Namespace]):
    """NamespaceList is a list of Namespaces."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "NamespaceList"


class NodeList(KindList[Node]):
    """NodeList is the whole list of all Nodes which have been registered with master."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "NodeList"


class PersistentVolumeClaimList(KindList[PersistentVolumeClaim]):
    """PersistentVolumeClaimList is a list of PersistentVolumeClaim items."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeClaimList"


class PersistentVolumeList(KindList[PersistentVolume]):
    """PersistentVolumeList is a list of PersistentVolume items."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeList"


class PodList(KindList[Pod]):
    """PodList is a list of Pods."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PodList"


class PodTemplateList(KindList[PodTemplate]):
    """PodTemplateList is a list of PodTemplates."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PodTemplateList"


class ReplicationControllerList(KindList[ReplicationController]):
    """ReplicationControllerList is a collection of replication controllers."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationControllerList"


class ResourceQuotaList(KindList[ResourceQuota]):
    """ResourceQuotaList is a list of ResourceQuota items."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ResourceQuotaList"


class SecretList(KindList[Secret]):
    """SecretList is a list of Secret."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "SecretList"


class ServiceAccountList(KindList[ServiceAccount]):
    """ServiceAccountList is a list of ServiceAccount objects"""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ServiceAccountList"


class ServiceList(KindList[Service]):
    """ServiceList holds a list of services."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ServiceList"
