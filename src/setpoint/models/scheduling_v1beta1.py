# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""scheduling.k8s.io/v1beta1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class AllCompositeDisruptionMode(ApiModel):
    """AllCompositeDisruptionMode means that children of a CompositePodGroup can only be disrupted or preempted
    together.
    """


class AllDisruptionMode(ApiModel):
    """AllDisruptionMode specifies that children can only be disrupted together."""


class BasicSchedulingPolicy(ApiModel):
    """BasicSchedulingPolicy indicates that standard Kubernetes scheduling behavior should be used."""


class CompositeBasicSchedulingPolicy(ApiModel):
    """CompositeBasicSchedulingPolicy indicates that the groups belonging to the composite group should be scheduled
    independently.
    """


class CompositeDisruptionMode(ApiModel):
    """CompositeDisruptionMode defines how individual entities within a composite pod group can be disrupted. Exactly
    one mode must be set.
    """

    all: AllCompositeDisruptionMode | None = None
    """all specifies that all children groups can only be disrupted together."""
    single: SingleCompositeDisruptionMode | None = None
    """single specifies that children groups can be disrupted independently from each other."""


class CompositeGangSchedulingPolicy(ApiModel):
    """CompositeGangSchedulingPolicy indicates that the groups belonging to the composite group should be scheduled
    using all-or-nothing semantics.
    """

    min_group_count: int
    """minGroupCount is the minimum number of child groups that must be schedulable or scheduled at the same time for
    the scheduler to admit the entire group.
    """


class CompositePodGroupSchedulingConstraints(ApiModel):
    """CompositePodGroupSchedulingConstraints defines scheduling constraints (e.g. topology) for a CompositePodGroup."""

    topology: list[TopologyConstraint] = []
    """topology defines the topology constraints for the composite pod group."""


class CompositePodGroupSchedulingPolicy(ApiModel):
    """CompositePodGroupSchedulingPolicy defines the scheduling configuration for a CompositePodGroup. Exactly one
    policy must be set.
    """

    basic: CompositeBasicSchedulingPolicy | None = None
    """basic specifies that the groups of this composite group should be scheduled independently."""
    gang: CompositeGangSchedulingPolicy | None = None
    """gang specifies that the groups of this composite group should be scheduled using all-or-nothing semantics."""


class CompositePodGroupTemplate(ApiModel):
    """CompositePodGroupTemplate represents a template for a CompositePodGroup with a scheduling policy."""

    composite_pod_group_templates: list[CompositePodGroupTemplate] = []
    """compositePodGroupTemplates is the list of templates for children CompositePodGroups."""
    disruption_mode: CompositeDisruptionMode | None = None
    """disruptionMode defines the mode in which a given CompositePodGroup can be disrupted."""
    name: str
    """name is a unique identifier for the CompositePodGroupTemplate within the Workload."""
    pod_group_templates: list[PodGroupTemplate] = []
    """podGroupTemplates is the list of templates for children PodGroups."""
    preemption_policy: str | None = None
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority."""
    priority: int | None = None
    """priority is the value of priority of composite pod groups created from this template."""
    priority_class_name: str | None = None
    """priorityClassName indicates the priority that should be considered when scheduling a composite pod group created
    from this template.
    """
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = None
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this CompositePodGroupTemplate.
    """
    scheduling_policy: CompositePodGroupSchedulingPolicy
    """schedulingPolicy defines the scheduling policy for this template."""


class DisruptionMode(ApiModel):
    """DisruptionMode defines how individual entities within a group can be disrupted. Exactly one mode can be set."""

    all: AllDisruptionMode | None = None
    """all specifies that all children can only be disrupted together."""
    single: SingleDisruptionMode | None = None
    """single specifies that children can be disrupted independently from each other."""


class GangSchedulingPolicy(ApiModel):
    """GangSchedulingPolicy defines the parameters for gang scheduling."""

    min_count: int
    """minCount is the minimum number of pods that must be schedulable or scheduled at the same time for the scheduler
    to admit the entire group.
    """


class PodGroupResourceClaim(ApiModel):
    """PodGroupResourceClaim references exactly one ResourceClaim, either directly or by naming a ResourceClaimTemplate
    which is then turned into a ResourceClaim for the PodGroup.
    """

    name: str
    """name uniquely identifies this resource claim inside the PodGroup."""
    resource_claim_name: str | None = None
    """resourceClaimName is the name of a ResourceClaim object in the same namespace as this PodGroup."""
    resource_claim_template_name: str | None = None
    """resourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace as this PodGroup.
    """


class PodGroupResourceClaimStatus(ApiModel):
    """PodGroupResourceClaimStatus is stored in the PodGroupStatus for each PodGroupResourceClaim which references a
    ResourceClaimTemplate. It stores the generated name for the corresponding ResourceClaim.
    """

    name: str
    """name uniquely identifies this resource claim inside the PodGroup."""
    resource_claim_name: str | None = None
    """resourceClaimName is the name of the ResourceClaim that was generated for the PodGroup in the namespace of the
    PodGroup.
    """


class PodGroupSchedulingConstraints(ApiModel):
    """PodGroupSchedulingConstraints defines scheduling constraints (e.g. topology) for a PodGroup."""

    topology: list[TopologyConstraint] = []
    """topology defines the topology constraints for the pod group."""


class PodGroupSchedulingPolicy(ApiModel):
    """PodGroupSchedulingPolicy defines the scheduling configuration for a PodGroup. Exactly one policy must be set. The
    policy is chosen at creation time by setting either the Basic or Gang field. The PodGroup may not change policy
    after creation. Fields within chosen policy may be updated after creation when their individual fields allow it.
    """

    basic: BasicSchedulingPolicy | None = None
    """basic specifies that the pods in this group should be scheduled using standard Kubernetes scheduling behavior."""
    gang: GangSchedulingPolicy | None = None
    """gang specifies that the pods in this group should be scheduled using all-or-nothing semantics."""


class PodGroupSpec(ApiModel):
    """PodGroupSpec defines the desired state of a PodGroup."""

    disruption_mode: DisruptionMode | None = None
    """disruptionMode defines the mode in which a given PodGroup can be disrupted. Defaults to Single if unset."""
    parent_composite_pod_group_name: str | None = None
    """parentCompositePodGroupName contains the name of the parent composite pod group within the same namespace as this
    pod group.
    """
    preemption_policy: str | None = None
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. Defaults to
    PreemptLowerPriority if unset.
    """
    priority: int | None = None
    """priority is the value of priority of this pod group."""
    priority_class_name: str | None = None
    """priorityClassName defines the priority that should be considered when scheduling this pod group."""
    resource_claims: list[PodGroupResourceClaim] = []
    """resourceClaims defines which ResourceClaims may be shared among Pods in the group."""
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this PodGroup."""
    scheduling_policy: PodGroupSchedulingPolicy
    """schedulingPolicy defines the scheduling policy for this instance of the PodGroup."""
    workload_ref: WorkloadReference | None = None
    """workloadRef references an optional PodGroup template within the Workload object that was used to create the
    PodGroup.
    """


class PodGroupStatus(ApiModel):
    """PodGroupStatus represents information about the status of a pod group."""

    conditions: list[Condition] = []
    """conditions represent the latest observations of the PodGroup's state."""
    resource_claim_statuses: list[PodGroupResourceClaimStatus] = []
    """resourceClaimStatuses is status of resource claims."""


class PodGroupTemplate(ApiModel):
    """PodGroupTemplate represents a template for a set of pods with a scheduling policy."""

    disruption_mode: DisruptionMode | None = None
    """disruptionMode defines the mode in which a given PodGroup can be disrupted."""
    name: str
    """name is a unique identifier for the PodGroupTemplate within the Workload."""
    preemption_policy: str | None = None
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority."""
    priority: int | None = None
    """priority is the value of priority of pod groups created from this template."""
    priority_class_name: str | None = None
    """priorityClassName indicates the priority that should be considered when scheduling a pod group created from this
    template.
    """
    resource_claims: list[PodGroupResourceClaim] = []
    """resourceClaims defines which ResourceClaims may be shared among Pods in the group."""
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this PodGroupTemplate."""
    scheduling_policy: PodGroupSchedulingPolicy
    """schedulingPolicy defines the scheduling policy for this PodGroupTemplate."""


class SingleCompositeDisruptionMode(ApiModel):
    """SingleCompositeDisruptionMode means that individual children of a CompositePodGroup can be disrupted or preempted
    independently.
    """


class SingleDisruptionMode(ApiModel):
    """SingleDisruptionMode specifies that children can be disrupted independently."""


class TopologyConstraint(ApiModel):
    """TopologyConstraint defines a topology constraint for a PodGroup."""

    key: str
    """key specifies the key of the node label representing the topology domain."""


class TypedLocalObjectReference(ApiModel):
    """TypedLocalObjectReference allows to reference typed object inside the same namespace."""

    api_group: str | None = None
    """apiGroup is the group for the resource being referenced."""
    kind: str
    """kind is the type of resource being referenced."""
    name: str
    """name is the name of resource being referenced."""


class WorkloadReference(ApiModel):
    """WorkloadReference references the Workload object together with the template that was used to create a particular
    PodGroup.
    """

    template_name: str
    """templateName is the name of a template within the Workload object that was used to create a pod group."""
    workload_name: str
    """workloadName is the name of the Workload object that contains a template that was used when creating a pod group.
    """


class WorkloadSpec(ApiModel):
    """WorkloadSpec defines the desired state of a Workload."""

    composite_pod_group_templates: list[CompositePodGroupTemplate] = []
    """compositePodGroupTemplates is the list of CompositePodGroup templates that make up the Workload."""
    controller_ref: TypedLocalObjectReference | None = None
    """controllerRef is an optional reference to the controlling object, such as a Deployment or Job."""
    pod_group_templates: list[PodGroupTemplate] = []
    """podGroupTemplates is the list of templates that make up the Workload."""


class PodGroup(Object, ApiModel):
    """PodGroup represents a runtime instance of pods grouped together. PodGroups are created by workload controllers
    (Job, LWS, JobSet, etc...) from Workload.podGroupTemplates. PodGroup API enablement is toggled by the
    GenericWorkload feature gate.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1BETA1_POD_GROUP

    spec: PodGroupSpec = msgspec.field(default_factory=lambda: PodGroupSpec(scheduling_policy=PodGroupSchedulingPolicy()))
    """spec defines the desired state of the PodGroup."""
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)
    """status represents the current observed state of the PodGroup."""


class Workload(Object, ApiModel):
    """Workload allows for expressing scheduling constraints that should be used when managing the lifecycle of
    workloads from the scheduling perspective, including scheduling, preemption, eviction and other phases. Workload API
    enablement is toggled by the GenericWorkload feature gate.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1BETA1_WORKLOAD

    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    """spec defines the desired behavior of a Workload."""


class PodGroupList(KindList[PodGroup]):
    """PodGroupList contains a list of PodGroup resources."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    kind: ClassVar[str] = "PodGroupList"


class WorkloadList(KindList[Workload]):
    """WorkloadList contains a list of Workload resources."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    kind: ClassVar[str] = "WorkloadList"
