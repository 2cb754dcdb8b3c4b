# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""scheduling.k8s.io/v1alpha3."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.scheduling_v1beta1 import (
    AllCompositeDisruptionMode as AllCompositeDisruptionMode,
    AllDisruptionMode as AllDisruptionMode,
    BasicSchedulingPolicy as BasicSchedulingPolicy,
    CompositeBasicSchedulingPolicy as CompositeBasicSchedulingPolicy,
    CompositeDisruptionMode as CompositeDisruptionMode,
    CompositeGangSchedulingPolicy as CompositeGangSchedulingPolicy,
    CompositePodGroupSchedulingConstraints as CompositePodGroupSchedulingConstraints,
    CompositePodGroupSchedulingPolicy as CompositePodGroupSchedulingPolicy,
    DisruptionMode as DisruptionMode,
    GangSchedulingPolicy as GangSchedulingPolicy,
    PodGroupResourceClaim as PodGroupResourceClaim,
    PodGroupResourceClaimStatus as PodGroupResourceClaimStatus,
    PodGroupSchedulingConstraints as PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy as PodGroupSchedulingPolicy,
    PodGroupSpec as PodGroupSpec,
    PodGroupStatus as PodGroupStatus,
    PodGroupTemplate as PodGroupTemplate,
    SingleCompositeDisruptionMode as SingleCompositeDisruptionMode,
    SingleDisruptionMode as SingleDisruptionMode,
    TopologyConstraint as TopologyConstraint,
    WorkloadReference as WorkloadReference,
)


class CompositePodGroupSpec(ApiModel):
    """CompositePodGroupSpec defines the desired state of CompositePodGroup."""

    disruption_mode: CompositeDisruptionMode | None = None
    """disruptionMode defines the mode in which a given CompositePodGroup can be disrupted. Defaults to Single if unset.
    """
    parent_composite_pod_group_name: str | None = None
    """parentCompositePodGroupName contains the name of the parent composite pod group within the same namespace as this
    composite pod group.
    """
    preemption_policy: str | None = None
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. Defaults to
    PreemptLowerPriority if unset.
    """
    priority: int | None = None
    """priority is the value of priority of this composite pod group."""
    priority_class_name: str | None = None
    """priorityClassName defines the priority that should be considered when scheduling this CompositePodGroup."""
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = None
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this CompositePodGroup."""
    scheduling_policy: CompositePodGroupSchedulingPolicy
    """schedulingPolicy defines the scheduling policy for this instance of the CompositePodGroup."""
    workload_ref: WorkloadReference
    """workloadRef references an optional CompositePodGroup template within the Workload object that was used to create
    the CompositePodGroup.
    """


class CompositePodGroupStatus(ApiModel):
    """CompositePodGroupStatus represents information about the status of a composite pod group."""

    conditions: list[Condition] = []
    """conditions represent the latest observations of the CompositePodGroup's state."""


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


class TypedLocalObjectReference(ApiModel):
    """TypedLocalObjectReference allows to reference typed object inside the same namespace."""

    api_group: str | None = None
    """apiGroup is the group for the resource being referenced."""
    kind: str
    """kind is the type of resource being referenced."""
    name: str
    """name is the name of resource being referenced."""


class WorkloadPodGroupAllDisruptionMode(ApiModel):
    """WorkloadPodGroupAllDisruptionMode indicates that all pods in the group must be disrupted together."""


class WorkloadPodGroupBasicSchedulingPolicy(ApiModel):
    """WorkloadPodGroupBasicSchedulingPolicy indicates standard Kubernetes scheduling behavior."""


class WorkloadPodGroupDisruptionMode(ApiModel):
    """WorkloadPodGroupDisruptionMode defines how individual pods within a group can be disrupted. Exactly one mode must
    be set.
    """

    all: WorkloadPodGroupAllDisruptionMode | None = None
    """all specifies that all pods in the group must be disrupted together."""
    single: WorkloadPodGroupSingleDisruptionMode | None = None
    """single specifies that pods can be disrupted independently from each other."""


class WorkloadPodGroupGangSchedulingPolicy(ApiModel):
    """WorkloadPodGroupGangSchedulingPolicy defines the parameters for gang (all-or-nothing) scheduling."""

    min_count: int | None = None
    """minCount is the minimum number of pods that must be scheduled at the same time for the scheduler to admit the
    entire group.
    """


class WorkloadPodGroupResourceClaim(ApiModel):
    """WorkloadPodGroupResourceClaim references a dynamic resource claim that is shared across pods in the group."""

    name: str
    """name uniquely identifies this resource claim inside the group."""
    resource_claim_name: str | None = None
    """resourceClaimName is the name of a ResourceClaim object in the same namespace."""
    resource_claim_template_name: str | None = None
    """resourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace."""


class WorkloadPodGroupSchedulingConstraints(ApiModel):
    """WorkloadPodGroupSchedulingConstraints defines leaf-level scheduling constraints, such as topology."""

    topology: list[TopologyConstraint] = []
    """topology specifies desired topological placements for all pods within the pod group."""


class WorkloadPodGroupSchedulingPolicy(ApiModel):
    """WorkloadPodGroupSchedulingPolicy defines the scheduling policy for a group of pods managed by a workload
    controller. Exactly one policy must be set.
    """

    basic: WorkloadPodGroupBasicSchedulingPolicy | None = None
    """basic specifies that standard, pod-by-pod Kubernetes scheduling behavior should be used."""
    gang: WorkloadPodGroupGangSchedulingPolicy | None = None
    """gang specifies all-or-nothing scheduling semantics."""


class WorkloadPodGroupSingleDisruptionMode(ApiModel):
    """WorkloadPodGroupSingleDisruptionMode indicates that individual pods can be disrupted independently."""


class WorkloadSpec(ApiModel):
    """WorkloadSpec defines the desired state of a Workload."""

    composite_pod_group_templates: list[CompositePodGroupTemplate] = []
    """compositePodGroupTemplates is the list of CompositePodGroup templates that make up the Workload."""
    controller_ref: TypedLocalObjectReference | None = None
    """controllerRef is an optional reference to the controlling object, such as a Deployment or Job."""
    pod_group_templates: list[PodGroupTemplate] = []
    """podGroupTemplates is the list of templates that make up the Workload."""


class CompositePodGroup(Object, ApiModel):
    """CompositePodGroup represents a runtime instance of pod groups grouped together. CompositePodGroups are created by
    workload controllers (LWS, JobSet, etc...) from Workload.compositePodGroupTemplates. CompositePodGroup API
    enablement is toggled by the CompositePodGroup feature gate.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1ALPHA3_COMPOSITE_POD_GROUP

    spec: CompositePodGroupSpec = msgspec.field(default_factory=lambda: CompositePodGroupSpec(scheduling_policy=CompositePodGroupSchedulingPolicy(), workload_ref=WorkloadReference(template_name="", workload_name="")))
    """spec defines the desired state of the CompositePodGroup."""
    status: CompositePodGroupStatus = msgspec.field(default_factory=CompositePodGroupStatus)
    """status represents the current observed state of the CompositePodGroup."""


class PodGroup(Object, ApiModel):
    """PodGroup represents a runtime instance of pods grouped together. PodGroups are created by workload controllers
    (Job, LWS, JobSet, etc...) from Workload.podGroupTemplates. PodGroup API enablement is toggled by the
    GenericWorkload feature gate.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1ALPHA3_POD_GROUP

    spec: PodGroupSpec = msgspec.field(default_factory=lambda: PodGroupSpec(scheduling_policy=PodGroupSchedulingPolicy()))
    """spec defines the desired state of the PodGroup."""
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)
    """status represents the current observed state of the PodGroup."""


class Workload(Object, ApiModel):
    """Workload allows for expressing scheduling constraints that should be used when managing the lifecycle of
    workloads from the scheduling perspective, including scheduling, preemption, eviction and other phases. Workload API
    enablement is toggled by the GenericWorkload feature gate.
    """

    resource: ClassVar[Resource] = _table.SCHEDULING_V1ALPHA3_WORKLOAD

    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    """spec defines the desired behavior of a Workload."""


class CompositePodGroupList(KindList[CompositePodGroup]):
    """CompositePodGroupList contains a list of CompositePodGroup resources."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    kind: ClassVar[str] = "CompositePodGroupList"


class PodGroupList(KindList[PodGroup]):
    """PodGroupList contains a list of PodGroup resources."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    kind: ClassVar[str] = "PodGroupList"


class WorkloadList(KindList[Workload]):
    """WorkloadList contains a list of Workload resources."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    kind: ClassVar[str] = "WorkloadList"
