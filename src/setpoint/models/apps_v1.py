# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""apps/v1."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models._mixins import DeploymentMixin
from setpoint.models.core_v1 import Container, PersistentVolumeClaim, PodSpec, PodTemplateSpec


class DaemonSetCondition(ApiModel):
    """DaemonSetCondition describes the state of a DaemonSet at a certain point."""

    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    message: str | None = None
    """A human readable message indicating details about the transition."""
    reason: str | None = None
    """The reason for the condition's last transition."""
    status: str | None = None
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = None
    """Type of DaemonSet condition."""


class DaemonSetSpec(ApiModel):
    """DaemonSetSpec is the specification of a daemon set."""

    min_ready_seconds: int | None = None
    """The minimum number of seconds for which a newly created DaemonSet pod should be ready without any of its
    container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it
    is ready).
    """
    revision_history_limit: int | None = None
    """The number of old history to retain to allow rollback. Defaults to 10."""
    selector: LabelSelector
    """A label query over pods that are managed by the daemon set."""
    template: PodTemplateSpec
    """An object that describes the pod that will be created."""
    update_strategy: DaemonSetUpdateStrategy | None = None
    """An update strategy to replace existing DaemonSet pods with new pods."""


class DaemonSetStatus(ApiModel):
    """DaemonSetStatus represents the current status of a daemon set."""

    collision_count: int | None = None
    """Count of hash collisions for the DaemonSet."""
    conditions: list[DaemonSetCondition] = []
    """Represents the latest available observations of a DaemonSet's current state."""
    current_number_scheduled: int
    """The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod."""
    desired_number_scheduled: int
    """The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon
    pod).
    """
    number_available: int | None = None
    """The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and
    available (ready for at least spec.minReadySeconds)
    """
    number_misscheduled: int
    """The number of nodes that are running the daemon pod, but are not supposed to run the daemon pod."""
    number_ready: int
    """numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod
    running with a Ready Condition.
    """
    number_unavailable: int | None = None
    """The number of nodes that should be running the daemon pod and have none of the daemon pod running and available
    (ready for at least spec.minReadySeconds)
    """
    observed_generation: int | None = None
    """The most recent generation observed by the daemon set controller."""
    updated_number_scheduled: int | None = None
    """The total number of nodes that are running updated daemon pod"""


class DaemonSetUpdateStrategy(ApiModel):
    """DaemonSetUpdateStrategy is a struct used to control the update strategy for a DaemonSet."""

    rolling_update: RollingUpdateDaemonSet | None = None
    """Rolling update config params. Present only if type = "RollingUpdate"."""
    type: str | None = None
    """Type of daemon set update. Can be "RollingUpdate" or "OnDelete". Default is RollingUpdate."""


class DeploymentCondition(ApiModel):
    """DeploymentCondition describes the state of a deployment at a certain point."""

    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    last_update_time: datetime | None = None
    """The last time this condition was updated."""
    message: str | None = None
    """A human readable message indicating details about the transition."""
    reason: str | None = None
    """The reason for the condition's last transition."""
    status: str | None = None
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = None
    """Type of deployment condition."""


class DeploymentSpec(ApiModel):
    """DeploymentSpec is the specification of the desired behavior of the Deployment."""

    min_ready_seconds: int | None = None
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing,
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    paused: bool | None = None
    """Indicates that the deployment is paused."""
    progress_deadline_seconds: int | None = None
    """The maximum time in seconds for a deployment to make progress before it is considered to be failed. Defaults to
    600s.
    """
    replicas: int | None = None
    """Number of desired pods. This is a pointer to distinguish between explicit zero and not specified. Defaults to 1.
    """
    revision_history_limit: int | None = None
    """The number of old ReplicaSets to retain to allow rollback. Defaults to 10."""
    selector: LabelSelector
    """Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this
    deployment. It must match the pod template's labels.
    """
    strategy: DeploymentStrategy | None = None
    """The deployment strategy to use to replace existing pods with new ones."""
    template: PodTemplateSpec
    """Template describes the pods that will be created."""


class DeploymentStatus(ApiModel):
    """DeploymentStatus is the most recently observed status of the Deployment."""

    available_replicas: int | None = None
    """Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.
    """
    collision_count: int | None = None
    """Count of hash collisions for the Deployment."""
    conditions: list[DeploymentCondition] = []
    """Represents the latest available observations of a deployment's current state."""
    observed_generation: int | None = None
    """The generation observed by the deployment controller."""
    ready_replicas: int | None = None
    """Total number of non-terminating pods targeted by this Deployment with a Ready Condition."""
    replicas: int | None = None
    """Total number of non-terminating pods targeted by this deployment (their labels match the selector)."""
    terminating_replicas: int | None = None
    """Total number of terminating pods targeted by this deployment."""
    unavailable_replicas: int | None = None
    """Total number of unavailable pods targeted by this deployment."""
    updated_replicas: int | None = None
    """Total number of non-terminating pods targeted by this deployment that have the desired template spec."""


class DeploymentStrategy(ApiModel):
    """DeploymentStrategy describes how to replace existing pods with new ones."""

    rolling_update: RollingUpdateDeployment | None = None
    """Rolling update config params. Present only if DeploymentStrategyType = RollingUpdate."""
    type: str | None = None
    """Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate."""


class ReplicaSetCondition(ApiModel):
    """ReplicaSetCondition describes the state of a replica set at a certain point."""

    last_transition_time: datetime | None = None
    """The last time the condition transitioned from one status to another."""
    message: str | None = None
    """A human readable message indicating details about the transition."""
    reason: str | None = None
    """The reason for the condition's last transition."""
    status: str | None = None
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = None
    """Type of replica set condition."""


class ReplicaSetSpec(ApiModel):
    """ReplicaSetSpec is the specification of a ReplicaSet."""

    min_ready_seconds: int | None = None
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing,
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    replicas: int | None = None
    """Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified.
    Defaults to 1.
    """
    selector: LabelSelector
    """Selector is a label query over pods that should match the replica count."""
    template: PodTemplateSpec | None = None
    """Template is the object that describes the pod that will be created if insufficient replicas are detected."""


class ReplicaSetStatus(ApiModel):
    """ReplicaSetStatus represents the current status of a ReplicaSet."""

    available_replicas: int | None = None
    """The number of available non-terminating pods (ready for at least minReadySeconds) for this replica set."""
    conditions: list[ReplicaSetCondition] = []
    """Represents the latest available observations of a replica set's current state."""
    fully_labeled_replicas: int | None = None
    """The number of non-terminating pods that have labels matching the labels of the pod template of the replicaset."""
    observed_generation: int | None = None
    """ObservedGeneration reflects the generation of the most recently observed ReplicaSet."""
    ready_replicas: int | None = None
    """The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition."""
    replicas: int
    """Replicas is the most recently observed number of non-terminating pods."""
    terminating_replicas: int | None = None
    """The number of terminating pods for this replica set."""


class RollingUpdateDaemonSet(ApiModel):
    """Spec to control the desired behavior of daemon set rolling update."""

    max_surge: int | str | None = None
    """The maximum number of nodes with an existing available DaemonSet pod that can have an updated DaemonSet pod
    during during an update. Default value is 0.
    """
    max_unavailable: int | str | None = None
    """The maximum number of DaemonSet pods that can be unavailable during the update."""


class RollingUpdateDeployment(ApiModel):
    """Spec to control the desired behavior of rolling update."""

    max_surge: int | str | None = None
    """The maximum number of pods that can be scheduled above the desired number of pods."""
    max_unavailable: int | str | None = None
    """The maximum number of pods that can be unavailable during the update. Defaults to 25%. Example: when this is set
    to 30%, the old ReplicaSet can be scaled down to 70% of desired pods immediately when the rolling update starts.
    """


class RollingUpdateStatefulSetStrategy(ApiModel):
    """RollingUpdateStatefulSetStrategy is used to communicate parameter for RollingUpdateStatefulSetStrategyType."""

    max_unavailable: int | str | None = None
    """The maximum number of pods that can be unavailable during the update. Defaults to 1."""
    partition: int | None = None
    """Partition indicates the ordinal at which the StatefulSet should be partitioned for updates. The default value is
    0.
    """


class StatefulSetCondition(ApiModel):
    """StatefulSetCondition describes the state of a statefulset at a certain point."""

    last_transition_time: datetime | None = None
    """Last time the condition transitioned from one status to another."""
    message: str | None = None
    """A human readable message indicating details about the transition."""
    reason: str | None = None
    """The reason for the condition's last transition."""
    status: str | None = None
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = None
    """Type of statefulset condition."""


class StatefulSetOrdinals(ApiModel):
    """StatefulSetOrdinals describes the policy used for replica ordinal assignment in this StatefulSet."""

    start: int | None = None
    """start is the number representing the first replica's index."""


class StatefulSetPersistentVolumeClaimRetentionPolicy(ApiModel):
    """StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created from the StatefulSet
    VolumeClaimTemplates.
    """

    when_deleted: str | None = None
    """WhenDeleted specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is
    deleted. The default policy of `Retain` causes PVCs to not be affected by StatefulSet deletion.
    """
    when_scaled: str | None = None
    """WhenScaled specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is
    scaled down. The default policy of `Retain` causes PVCs to not be affected by a scaledown.
    """


class StatefulSetSpec(ApiModel):
    """A StatefulSetSpec is the specification of a StatefulSet."""

    min_ready_seconds: int | None = None
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing for
    it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    ordinals: StatefulSetOrdinals | None = None
    """ordinals controls the numbering of replica indices in a StatefulSet. The default ordinals behavior assigns a "0"
    index to the first replica and increments the index by one for each additional replica requested.
    """
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    """persistentVolumeClaimRetentionPolicy describes the lifecycle of persistent volume claims created from
    volumeClaimTemplates.
    """
    pod_management_policy: str | None = None
    """podManagementPolicy controls how pods are created during initial scale up, when replacing pods on nodes, or when
    scaling down.
    """
    replicas: int | None = None
    """replicas is the desired number of replicas of the given Template."""
    revision_history_limit: int | None = None
    """revisionHistoryLimit is the maximum number of revisions that will be maintained in the StatefulSet's revision
    history. The default value is 10.
    """
    selector: LabelSelector
    """selector is a label query over pods that should match the replica count."""
    service_name: str | None = None
    """serviceName is the name of the service that governs this StatefulSet."""
    template: PodTemplateSpec
    """template is the object that describes the pod that will be created if insufficient replicas are detected."""
    update_strategy: StatefulSetUpdateStrategy | None = None
    """updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the StatefulSet
    when a revision is made to Template.
    """
    volume_claim_templates: list[PersistentVolumeClaim] = []
    """volumeClaimTemplates is a list of claims that pods are allowed to reference."""


class StatefulSetStatus(ApiModel):
    """StatefulSetStatus represents the current state of a StatefulSet."""

    available_replicas: int | None = None
    """Total number of available pods (ready for at least minReadySeconds) targeted by this statefulset."""
    collision_count: int | None = None
    """collisionCount is the count of hash collisions for the StatefulSet."""
    conditions: list[StatefulSetCondition] = []
    """Represents the latest available observations of a statefulset's current state."""
    current_replicas: int | None = None
    """currentReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version
    indicated by currentRevision.
    """
    current_revision: str | None = None
    """currentRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence
    [0,currentReplicas).
    """
    observed_generation: int | None = None
    """observedGeneration is the most recent generation observed for this StatefulSet."""
    ready_replicas: int | None = None
    """readyReplicas is the number of pods created for this StatefulSet with a Ready Condition."""
    replicas: int
    """replicas is the number of Pods created by the StatefulSet controller."""
    update_revision: str | None = None
    """updateRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence
    [replicas-updatedReplicas,replicas)
    """
    updated_replicas: int | None = None
    """updatedReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version
    indicated by updateRevision.
    """


class StatefulSetUpdateStrategy(ApiModel):
    """StatefulSetUpdateStrategy indicates the strategy that the StatefulSet controller will use to perform updates. It
    includes any additional parameters necessary to perform the update for the indicated strategy.
    """

    rolling_update: RollingUpdateStatefulSetStrategy | None = None
    """RollingUpdate is used to communicate parameters when Type is RollingUpdateStatefulSetStrategyType."""
    type: str | None = None
    """Type indicates the type of the StatefulSetUpdateStrategy. Default is RollingUpdate."""


class ControllerRevision(Object, ApiModel):
    """ControllerRevision implements an immutable snapshot of state data. Clients are responsible for serializing and
    deserializing the objects that contain their internal state. Once a ControllerRevision has been successfully
    created, it can not be updated. The API Server will fail validation of all requests that attempt to mutate the Data
    field. ControllerRevisions may, however, be deleted.
    """

    resource: ClassVar[Resource] = _table.APPS_V1_CONTROLLER_REVISION

    data: Any
    """Data is the serialized representation of the state."""
    revision: int | None = None
    """Revision indicates the revision of the state represented by Data."""


class DaemonSet(Object, ApiModel):
    """DaemonSet represents the configuration of a daemon set."""

    resource: ClassVar[Resource] = _table.APPS_V1_DAEMON_SET

    spec: DaemonSetSpec = msgspec.field(default_factory=lambda: DaemonSetSpec(selector=LabelSelector(), template=PodTemplateSpec(spec=PodSpec(containers=[]))))
    """The desired behavior of this daemon set."""
    status: DaemonSetStatus = msgspec.field(default_factory=lambda: DaemonSetStatus(current_number_scheduled=0, desired_number_scheduled=0, number_misscheduled=0, number_ready=0))
    """The current status of this daemon set. This data may be out of date by some window of time. Populated by the
    system. Read-only.
    """


class Deployment(DeploymentMixin, Object, ApiModel):
    """Deployment enables declarative updates for Pods and ReplicaSets."""

    resource: ClassVar[Resource] = _table.APPS_V1_DEPLOYMENT

    spec: DeploymentSpec = msgspec.field(default_factory=lambda: DeploymentSpec(selector=LabelSelector(), template=PodTemplateSpec(spec=PodSpec(containers=[]))))
    """Specification of the desired behavior of the Deployment."""
    status: DeploymentStatus = msgspec.field(default_factory=DeploymentStatus)
    """Most recently observed status of the Deployment."""


class ReplicaSet(Object, ApiModel):
    """ReplicaSet ensures that a specified number of pod replicas are running at any given time."""

    resource: ClassVar[Resource] = _table.APPS_V1_REPLICA_SET

    spec: ReplicaSetSpec = msgspec.field(default_factory=lambda: ReplicaSetSpec(selector=LabelSelector()))
    """Spec defines the specification of the desired behavior of the ReplicaSet."""
    status: ReplicaSetStatus = msgspec.field(default_factory=lambda: ReplicaSetStatus(replicas=0))
    """Status is the most recently observed status of the ReplicaSet."""


class StatefulSet(Object, ApiModel):
    """StatefulSet represents a set of pods with consistent identities. Identities are defined as: - Network: A single
    stable DNS and hostname. - Storage: As many VolumeClaims as requested.
    """

    resource: ClassVar[Resource] = _table.APPS_V1_STATEFUL_SET

    spec: StatefulSetSpec = msgspec.field(default_factory=lambda: StatefulSetSpec(selector=LabelSelector(), template=PodTemplateSpec(spec=PodSpec(containers=[]))))
    """Spec defines the desired identities of pods in this set."""
    status: StatefulSetStatus = msgspec.field(default_factory=lambda: StatefulSetStatus(replicas=0))
    """Status is the current status of Pods in this StatefulSet."""


class ControllerRevisionList(KindList[ControllerRevision]):
    """ControllerRevisionList is a resource containing a list of ControllerRevision objects."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ControllerRevisionList"


class DaemonSetList(KindList[DaemonSet]):
    """DaemonSetList is a collection of daemon sets."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "DaemonSetList"


class DeploymentList(KindList[Deployment]):
    """DeploymentList is a list of Deployments."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "DeploymentList"


class ReplicaSetList(KindList[ReplicaSet]):
    """ReplicaSetList is a collection of ReplicaSets."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSetList"


class StatefulSetList(KindList[StatefulSet]):
    """StatefulSetList is a collection of StatefulSets."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSetList"
