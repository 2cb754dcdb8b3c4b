# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""flowcontrol.apiserver.k8s.io/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class ExemptPriorityLevelConfiguration(ApiModel):
    """ExemptPriorityLevelConfiguration describes the configurable aspects of the handling of exempt requests. In the
    mandatory exempt configuration object the values in the fields here can be modified by authorized users, unlike the
    rest of the `spec`.
    """

    lendable_percent: int | None = None
    """`lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels.
    """
    nominal_concurrency_shares: int | None = None
    """`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of
    this level.
    """


class FlowDistinguisherMethod(ApiModel):
    """FlowDistinguisherMethod specifies the method of a flow distinguisher."""

    type: str
    """`type` is the type of flow distinguisher method The supported types are "ByUser" and "ByNamespace"."""


class FlowSchemaCondition(ApiModel):
    """FlowSchemaCondition describes conditions for a FlowSchema."""

    last_transition_time: datetime | None = None
    """`lastTransitionTime` is the last time the condition transitioned from one status to another."""
    message: str | None = None
    """`message` is a human-readable message indicating details about last transition."""
    reason: str | None = None
    """`reason` is a unique, one-word, CamelCase reason for the condition's last transition."""
    status: str | None = None
    """`status` is the status of the condition."""
    type: str
    """`type` is the type of the condition. Required."""


class FlowSchemaSpec(ApiModel):
    """FlowSchemaSpec describes how the FlowSchema's specification looks like."""

    distinguisher_method: FlowDistinguisherMethod | None = None
    """`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema."""
    matching_precedence: int | None = None
    """`matchingPrecedence` is used to choose among the FlowSchemas that match a given request."""
    priority_level_configuration: PriorityLevelConfigurationReference
    """`priorityLevelConfiguration` should reference a PriorityLevelConfiguration in the cluster."""
    rules: list[PolicyRulesWithSubjects] = []
    """`rules` describes which requests will match this flow schema."""


class FlowSchemaStatus(ApiModel):
    """FlowSchemaStatus represents the current state of a FlowSchema."""

    conditions: list[FlowSchemaCondition] = []
    """`conditions` is a list of the current states of FlowSchema."""


class GroupSubject(ApiModel):
    """GroupSubject holds detailed information for group-kind subject."""

    name: str
    """name is the user group that matches, or "*" to match all user groups."""


class LimitResponse(ApiModel):
    """LimitResponse defines how to handle requests that can not be executed right now."""

    queuing: QueuingConfiguration | None = None
    """`queuing` holds the configuration parameters for queuing."""
    type: str
    """`type` is "Queue" or "Reject". "Queue" means that requests that can not be executed upon arrival are held in a
    queue until they can be executed or a queuing limit is reached. "Reject" means that requests that can not be
    executed upon arrival are rejected.
    """


class LimitedPriorityLevelConfiguration(ApiModel):
    """LimitedPriorityLevelConfiguration specifies how to handle requests that are subject to limits. It addresses two
    issues: - How are requests for this priority level limited? - What should be done with requests that exceed the
    limit?
    """

    borrowing_limit_percent: int | None = None
    """`borrowingLimitPercent`, if present, configures a limit on how many seats this priority level can borrow from
    other priority levels.
    """
    lendable_percent: int | None = None
    """`lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels.
    """
    limit_response: LimitResponse
    """`limitResponse` indicates what to do with requests that can not be executed right now"""
    nominal_concurrency_shares: int | None = None
    """`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of
    this level.
    """


class NonResourcePolicyRule(ApiModel):
    """NonResourcePolicyRule is a predicate that matches non-resource requests according to their verb and the target
    non-resource URL. A NonResourcePolicyRule matches a request if and only if both (a) at least one member of verbs
    matches the request and (b) at least one member of nonResourceURLs matches the request.
    """

    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs")
    """`nonResourceURLs` is a set of url prefixes that a user should have access to and may not be empty."""
    verbs: list[str]
    """`verbs` is a list of matching verbs and may not be empty."""


class PolicyRulesWithSubjects(ApiModel):
    """PolicyRulesWithSubjects prescribes a test that applies to a request to an apiserver. The test considers the
    subject making the request, the verb being requested, and the resource to be acted upon. This
    PolicyRulesWithSubjects matches a request if and only if both (a) at least one member of subjects matches the
    request and (b) at least one member of resourceRules or nonResourceRules matches the request.
    """

    non_resource_rules: list[NonResourcePolicyRule] = []
    """`nonResourceRules` is a list of NonResourcePolicyRules that identify matching requests according to their verb
    and the target non-resource URL.
    """
    resource_rules: list[ResourcePolicyRule] = []
    """`resourceRules` is a slice of ResourcePolicyRules that identify matching requests according to their verb and the
    target resource.
    """
    subjects: list[Subject]
    """subjects is the list of normal user, serviceaccount, or group that this rule cares about."""


class PriorityLevelConfigurationCondition(ApiModel):
    """PriorityLevelConfigurationCondition defines the condition of priority level."""

    last_transition_time: datetime | None = None
    """`lastTransitionTime` is the last time the condition transitioned from one status to another."""
    message: str | None = None
    """`message` is a human-readable message indicating details about last transition."""
    reason: str | None = None
    """`reason` is a unique, one-word, CamelCase reason for the condition's last transition."""
    status: str | None = None
    """`status` is the status of the condition."""
    type: str
    """`type` is the type of the condition. Required."""


class PriorityLevelConfigurationReference(ApiModel):
    """PriorityLevelConfigurationReference contains information that points to the "request-priority" being used."""

    name: str
    """`name` is the name of the priority level configuration being referenced Required."""


class PriorityLevelConfigurationSpec(ApiModel):
    """PriorityLevelConfigurationSpec specifies the configuration of a priority level."""

    exempt: ExemptPriorityLevelConfiguration | None = None
    """`exempt` specifies how requests are handled for an exempt priority level."""
    limited: LimitedPriorityLevelConfiguration | None = None
    """`limited` specifies how requests are handled for a Limited priority level."""
    type: str
    """`type` indicates whether this priority level is subject to limitation on request execution."""


class PriorityLevelConfigurationStatus(ApiModel):
    """PriorityLevelConfigurationStatus represents the current state of a "request-priority"."""

    conditions: list[PriorityLevelConfigurationCondition] = []
    """`conditions` is the current state of "request-priority"."""


class QueuingConfiguration(ApiModel):
    """QueuingConfiguration holds the configuration parameters for queuing"""

    hand_size: int | None = None
    """`handSize` is a small positive number that configures the shuffle sharding of requests into queues."""
    queue_length_limit: int | None = None
    """`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority
    level at a time; excess requests are rejected.
    """
    queues: int | None = None
    """`queues` is the number of queues for this priority level."""


class ResourcePolicyRule(ApiModel):
    """ResourcePolicyRule is a predicate that matches some resource requests, testing the request's verb and the target
    resource.
    """

    api_groups: list[str]
    """`apiGroups` is a list of matching API groups and may not be empty."""
    cluster_scope: bool | None = None
    """`clusterScope` indicates whether to match requests that do not specify a namespace (which happens either because
    the resource is not namespaced or the request targets all namespaces).
    """
    namespaces: list[str] = []
    """`namespaces` is a list of target namespaces that restricts matches."""
    resources: list[str]
    """`resources` is a list of matching resources (i.e., lowercase and plural) with, if desired, subresource."""
    verbs: list[str]
    """`verbs` is a list of matching verbs and may not be empty."""


class ServiceAccountSubject(ApiModel):
    """ServiceAccountSubject holds detailed information for service-account-kind subject."""

    name: str
    """`name` is the name of matching ServiceAccount objects, or "*" to match regardless of name."""
    namespace: str
    """`namespace` is the namespace of matching ServiceAccount objects."""


class Subject(ApiModel):
    """Subject matches the originator of a request, as identified by the request authentication system. There are three
    ways of matching an originator; by user, group, or service account.
    """

    group: GroupSubject | None = None
    """`group` matches based on user group name."""
    kind: str
    """`kind` indicates which one of the other fields is non-empty."""
    service_account: ServiceAccountSubject | None = None
    """`serviceAccount` matches ServiceAccounts."""
    user: UserSubject | None = None
    """`user` matches based on username."""


class UserSubject(ApiModel):
    """UserSubject holds detailed information for user-kind subject."""

    name: str
    """`name` is the username that matches, or "*" to match all usernames."""


class FlowSchema(Object, ApiModel):
    """FlowSchema defines the schema of a group of flows. Note that a flow is made up of a set of inbound API requests
    with similar attributes and is identified by a pair of strings: the name of the FlowSchema and a "flow
    distinguisher".
    """

    resource: ClassVar[Resource] = _table.FLOWCONTROL_V1_FLOW_SCHEMA

    spec: FlowSchemaSpec = msgspec.field(default_factory=lambda: FlowSchemaSpec(priority_level_configuration=PriorityLevelConfigurationReference(name="")))
    """`spec` is the specification of the desired behavior of a FlowSchema."""
    status: FlowSchemaStatus = msgspec.field(default_factory=FlowSchemaStatus)
    """`status` is the current status of a FlowSchema."""


class PriorityLevelConfiguration(Object, ApiModel):
    """PriorityLevelConfiguration represents the configuration of a priority level."""

    resource: ClassVar[Resource] = _table.FLOWCONTROL_V1_PRIORITY_LEVEL_CONFIGURATION

    spec: PriorityLevelConfigurationSpec = msgspec.field(default_factory=lambda: PriorityLevelConfigurationSpec(type=""))
    """`spec` is the specification of the desired behavior of a "request-priority"."""
    status: PriorityLevelConfigurationStatus = msgspec.field(default_factory=PriorityLevelConfigurationStatus)
    """`status` is the current status of a "request-priority"."""


class FlowSchemaList(KindList[FlowSchema]):
    """FlowSchemaList is a list of FlowSchema objects."""

    api_version: ClassVar[str] = "flowcontrol.apiserver.k8s.io/v1"
    kind: ClassVar[str] = "FlowSchemaList"


class PriorityLevelConfigurationList(KindList[PriorityLevelConfiguration]):
    """PriorityLevelConfigurationList is a list of PriorityLevelConfiguration objects."""

    api_version: ClassVar[str] = "flowcontrol.apiserver.k8s.io/v1"
    kind: ClassVar[str] = "PriorityLevelConfigurationList"
