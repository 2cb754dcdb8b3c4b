# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""admissionregistration.k8s.io/v1alpha1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, ListMeta, Object, Resource
from setpoint.models import _table


class ApplyConfiguration(ApiModel):
    """ApplyConfiguration defines the desired configuration values of an object."""

    expression: str | None = None
    """expression will be evaluated by CEL to create an apply configuration. ref: https://github.com/google/cel-spec"""


class JSONPatch(ApiModel):
    """JSONPatch defines a JSON Patch."""

    expression: str | None = None
    """expression will be evaluated by CEL to create a [JSON patch](https://jsonpatch.com/). ref:
    https://github.com/google/cel-spec
    """


class MatchCondition(ApiModel):
    """MatchCondition of admissionregistration/v1alpha1."""

    expression: str
    """expression represents the expression which will be evaluated by CEL."""
    name: str
    """name is an identifier for this match condition, used for strategic merging of MatchConditions, as well as
    providing an identifier for logging purposes.
    """


class MatchResources(ApiModel):
    """MatchResources decides whether to run the admission control policy on an object based on whether it meets the
    match criteria. The exclude rules take precedence over include rules (if a resource matches both, it is excluded)
    """

    exclude_resource_rules: list[NamedRuleWithOperations] = []
    """excludeResourceRules describes what operations on what resources/subresources the policy should not care about.
    """
    match_policy: str | None = None
    """matchPolicy defines how the "MatchResources" list is used to match incoming requests."""
    namespace_selector: LabelSelector | None = None
    """namespaceSelector decides whether to run the admission control policy on an object based on whether the namespace
    for that object matches the selector.
    """
    object_selector: LabelSelector | None = None
    """objectSelector decides whether to run the policy based on if the object has matching labels. objectSelector is
    evaluated against both the oldObject and newObject that would be sent to the policy's expression (CEL), and is
    considered to match if either object matches the selector.
    """
    resource_rules: list[NamedRuleWithOperations] = []
    """resourceRules describes what operations on what resources/subresources the admission policy matches."""


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


class Mutation(ApiModel):
    """Mutation specifies the CEL expression which is used to apply the Mutation."""

    apply_configuration: ApplyConfiguration | None = None
    """applyConfiguration defines the desired configuration values of an object."""
    json_patch: JSONPatch | None = None
    """jsonPatch defines a [JSON patch](https://jsonpatch.com/) operation to perform a mutation to the object."""
    patch_type: str
    """patchType indicates the patch strategy used."""


class NamedRuleWithOperations(ApiModel):
    """NamedRuleWithOperations is a tuple of Operations and Resources with ResourceNames."""

    api_groups: list[str] = []
    """apiGroups is the API groups the resources belong to."""
    api_versions: list[str] = []
    """apiVersions is the API versions the resources belong to."""
    operations: list[str] = []
    """operations is the operations the admission hook cares about - CREATE, UPDATE, DELETE, CONNECT or * for all of
    those operations and any future admission operations that are added.
    """
    resource_names: list[str] = []
    """resourceNames is an optional white list of names that the rule applies to."""
    resources: list[str] = []
    """resources is a list of resources this rule applies to."""
    scope: str | None = None
    """scope specifies the scope of this rule. Valid values are "Cluster", "Namespaced", and "*" "Cluster" means that
    only cluster-scoped resources will match this rule. Namespace API objects are cluster-scoped. "*" means that there
    are no scope restrictions.
    """


class ParamKind(ApiModel):
    """ParamKind is a tuple of Group Kind and Version."""

    api_version: str | None = None
    """apiVersion is the API group version the resources belong to."""
    kind: str | None = None
    """kind is the API kind the resources belong to."""


class ParamRef(ApiModel):
    """ParamRef describes how to locate the params to be used as input to expressions of rules applied by a policy
    binding.
    """

    name: str | None = None
    """name is the name of the resource being referenced."""
    namespace: str | None = None
    """namespace is the namespace of the referenced resource."""
    parameter_not_found_action: str | None = None
    """parameterNotFoundAction controls the behavior of the binding when the resource exists, and name or selector is
    valid, but there are no parameters matched by the binding.
    """
    selector: LabelSelector | None = None
    """selector can be used to match multiple param objects based on their labels."""


class Variable(ApiModel):
    """Variable is the definition of a variable that is used for composition."""

    expression: str
    """expression is the expression that will be evaluated as the value of the variable."""
    name: str
    """name is the name of the variable. The name must be a valid CEL identifier and unique among all variables. The
    variable can be accessed in other expressions through `variables` For example, if name is "foo", the variable will
    be available as `variables.foo`
    """


class MutatingAdmissionPolicy(Object, ApiModel):
    """MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the object coming
    into admission chain.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY

    spec: MutatingAdmissionPolicySpec = msgspec.field(default_factory=MutatingAdmissionPolicySpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicy."""


class MutatingAdmissionPolicyBinding(Object, ApiModel):
    """MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parametrized resources.
    MutatingAdmissionPolicyBinding and the optional parameter resource together define how cluster administrators
    configure policies for clusters.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1ALPHA1_MUTATING_ADMISSION_POLICY_BINDING

    spec: MutatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=MutatingAdmissionPolicyBindingSpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicyBinding."""


class MutatingAdmissionPolicyBindingList(ApiModel):
    """MutatingAdmissionPolicyBindingList is a list of MutatingAdmissionPolicyBinding."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1alpha1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyBindingList"

    items: list[MutatingAdmissionPolicyBinding]
    """List of PolicyBinding."""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    """metadata is the standard list metadata."""


class MutatingAdmissionPolicyList(ApiModel):
    """MutatingAdmissionPolicyList is a list of MutatingAdmissionPolicy."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1alpha1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyList"

    items: list[MutatingAdmissionPolicy]
    """List of ValidatingAdmissionPolicy."""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    """metadata is the standard list metadata."""
