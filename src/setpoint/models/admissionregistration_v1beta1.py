# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""admissionregistration.k8s.io/v1beta1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models.admissionregistration_v1 import (
    ApplyConfiguration as ApplyConfiguration,
    JSONPatch as JSONPatch,
    MatchResources as MatchResources,
    Mutation as Mutation,
    NamedRuleWithOperations as NamedRuleWithOperations,
    ParamKind as ParamKind,
    ParamRef as ParamRef,
    Variable as Variable,
)


class MatchCondition(ApiModel):
    """MatchCondition represents a condition which must be fulfilled for a request to be sent to a webhook."""

    expression: str
    """expression represents the expression which will be evaluated by CEL."""
    name: str
    """name is an identifier for this match condition, used for strategic merging of MatchConditions, as well as
    providing an identifier for logging purposes.
    """


class MutatingAdmissionPolicyBindingSpec(ApiModel):
    """MutatingAdmissionPolicyBindingSpec is the specification of the MutatingAdmissionPolicyBinding."""

    match_resources: MatchResources | None = None
    """matchResources limits what resources match this binding and may be mutated by it."""
    param_ref: ParamRef | None = None
    """paramRef specifies the parameter resource used to configure the admission control policy."""
    policy_name: str | None = None
    """policyName references a MutatingAdmissionPolicy name which the MutatingAdmissionPolicyBinding binds to."""


class MutatingAdmissionPolicySpec(ApiModel):
    """MutatingAdmissionPolicySpec is the specification of the desired behavior of the admission policy."""

    failure_policy: str | None = None
    """failurePolicy defines how to handle failures for the admission policy."""
    match_conditions: list[MatchCondition] = []
    """matchConditions is a list of conditions that must be met for a request to be validated."""
    match_constraints: MatchResources | None = None
    """matchConstraints specifies what resources this policy is designed to validate."""
    mutations: list[Mutation] = []
    """mutations contain operations to perform on matching objects. mutations may not be empty; a minimum of one
    mutation is required. mutations are evaluated in order, and are reinvoked according to the reinvocationPolicy.
    """
    param_kind: ParamKind | None = None
    """paramKind specifies the kind of resources used to parameterize this policy."""
    reinvocation_policy: str | None = None
    """reinvocationPolicy indicates whether mutations may be called multiple times per MutatingAdmissionPolicyBinding as
    part of a single admission evaluation.
    """
    variables: list[Variable] = []
    """variables contain definitions of variables that can be used in composition of other expressions."""


class MutatingAdmissionPolicy(Object, ApiModel):
    """MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the object coming
    into admission chain.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY

    spec: MutatingAdmissionPolicySpec = msgspec.field(default_factory=MutatingAdmissionPolicySpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicy."""


class MutatingAdmissionPolicyBinding(Object, ApiModel):
    """MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parametrized resources.
    MutatingAdmissionPolicyBinding and the optional parameter resource together define how cluster administrators
    configure policies for clusters.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1BETA1_MUTATING_ADMISSION_POLICY_BINDING

    spec: MutatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=MutatingAdmissionPolicyBindingSpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicyBinding."""


class MutatingAdmissionPolicyBindingList(KindList[MutatingAdmissionPolicyBinding]):
    """MutatingAdmissionPolicyBindingList is a list of MutatingAdmissionPolicyBinding."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1beta1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyBindingList"


class MutatingAdmissionPolicyList(KindList[MutatingAdmissionPolicy]):
    """MutatingAdmissionPolicyList is a list of MutatingAdmissionPolicy."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1beta1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyList"
