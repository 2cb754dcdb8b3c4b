# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""admissionregistration.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class ApplyConfiguration(ApiModel):
    """ApplyConfiguration defines the desired configuration values of an object."""

    expression: str | None = None
    """expression will be evaluated by CEL to create an apply configuration. ref: https://github.com/google/cel-spec"""


class AuditAnnotation(ApiModel):
    """AuditAnnotation describes how to produce an audit annotation for an API request."""

    key: str
    """key specifies the audit annotation key. The audit annotation keys of a ValidatingAdmissionPolicy must be unique.
    The key must be a qualified name ([A-Za-z0-9][-A-Za-z0-9_.]*) no more than 63 bytes in length.
    """
    value_expression: str
    """valueExpression represents the expression which is evaluated by CEL to produce an audit annotation value."""


class ExpressionWarning(ApiModel):
    """ExpressionWarning is a warning information that targets a specific expression."""

    field_ref: str
    """fieldRef is the path to the field that refers to the expression."""
    warning: str
    """warning contains the content of type checking information in a human-readable form."""


class JSONPatch(ApiModel):
    """JSONPatch defines a JSON Patch."""

    expression: str | None = None
    """expression will be evaluated by CEL to create a [JSON patch](https://jsonpatch.com/). ref:
    https://github.com/google/cel-spec
    """


class MatchCondition(ApiModel):
    """MatchCondition represents a condition which must by fulfilled for a request to be sent to a webhook."""

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
    """excludeResourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy
    should not care about.
    """
    match_policy: str | None = None
    """matchPolicy defines how the "MatchResources" list is used to match incoming requests."""
    namespace_selector: LabelSelector | None = None
    """namespaceSelector decides whether to run the admission control policy on an object based on whether the namespace
    for that object matches the selector.
    """
    object_selector: LabelSelector | None = None
    """objectSelector decides whether to run the validation based on if the object has matching labels. objectSelector
    is evaluated against both the oldObject and newObject that would be sent to the cel validation, and is considered to
    match if either object matches the selector.
    """
    resource_rules: list[NamedRuleWithOperations] = []
    """resourceRules describes what operations on what resources/subresources the ValidatingAdmissionPolicy matches."""


class MutatingAdmissionPolicyBindingSpec(ApiModel):
    """MutatingAdmissionPolicyBindingSpec defines the specification of the MutatingAdmissionPolicyBinding."""

    match_resources: MatchResources | None = None
    """matchResources limits what resources match this binding and may be mutated by it."""
    param_ref: ParamRef | None = None
    """paramRef specifies the parameter resource used to configure the admission control policy."""
    policy_name: str | None = None
    """policyName references a MutatingAdmissionPolicy name which the MutatingAdmissionPolicyBinding binds to."""


class MutatingAdmissionPolicySpec(ApiModel):
    """MutatingAdmissionPolicySpec defines the desired behavior of the admission policy."""

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


class MutatingWebhook(ApiModel):
    """MutatingWebhook describes an admission webhook and the resources and operations it applies to."""

    admission_review_versions: list[str]
    """admissionReviewVersions is an ordered list of preferred `AdmissionReview` versions the Webhook expects."""
    client_config: WebhookClientConfig
    """clientConfig defines how to communicate with the hook."""
    failure_policy: str | None = None
    """failurePolicy defines how unrecognized errors from the admission endpoint are handled - allowed values are Ignore
    or Fail. Defaults to Fail.
    """
    match_conditions: list[MatchCondition] = []
    """matchConditions is a list of conditions that must be met for a request to be sent to this webhook."""
    match_policy: str | None = None
    """matchPolicy defines how the "rules" list is used to match incoming requests."""
    name: str
    """name is the name of the admission webhook."""
    namespace_selector: LabelSelector | None = None
    """namespaceSelector decides whether to run the webhook on an object based on whether the namespace for that object
    matches the selector.
    """
    object_selector: LabelSelector | None = None
    """objectSelector decides whether to run the webhook based on if the object has matching labels. objectSelector is
    evaluated against both the oldObject and newObject that would be sent to the webhook, and is considered to match if
    either object matches the selector.
    """
    reinvocation_policy: str | None = None
    """reinvocationPolicy indicates whether this webhook should be called multiple times as part of a single admission
    evaluation.
    """
    rules: list[RuleWithOperations] = []
    """rules describes what operations on what resources/subresources the webhook cares about."""
    side_effects: str
    """sideEffects states whether this webhook has side effects."""
    timeout_seconds: int | None = None
    """timeoutSeconds specifies the timeout for this webhook. Default to 10 seconds."""


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


class RuleWithOperations(ApiModel):
    """RuleWithOperations is a tuple of Operations and Resources. It is recommended to make sure that all the tuple
    expansions are valid.
    """

    api_groups: list[str] = []
    """apiGroups is the API groups the resources belong to."""
    api_versions: list[str] = []
    """apiVersions is the API versions the resources belong to."""
    operations: list[str] = []
    """operations is the operations the admission hook cares about - CREATE, UPDATE, DELETE, CONNECT or * for all of
    those operations and any future admission operations that are added.
    """
    resources: list[str] = []
    """resources is a list of resources this rule applies to."""
    scope: str | None = None
    """scope specifies the scope of this rule. Valid values are "Cluster", "Namespaced", and "*" "Cluster" means that
    only cluster-scoped resources will match this rule. Namespace API objects are cluster-scoped. "*" means that there
    are no scope restrictions.
    """


class ServiceReference(ApiModel):
    """ServiceReference holds a reference to Service.legacy.k8s.io"""

    name: str
    """name is the name of the service. Required"""
    namespace: str
    """namespace is the namespace of the service."""
    path: str | None = None
    """path is an optional URL path which will be sent in any request to this service."""
    port: int | None = None
    """port is the port on the service that hosts the webhook. Default to 443 for backward compatibility."""


class TypeChecking(ApiModel):
    """TypeChecking contains results of type checking the expressions in the ValidatingAdmissionPolicy"""

    expression_warnings: list[ExpressionWarning] = []
    """expressionWarnings contains the type checking warnings for each expression."""


class ValidatingAdmissionPolicyBindingSpec(ApiModel):
    """ValidatingAdmissionPolicyBindingSpec is the specification of the ValidatingAdmissionPolicyBinding."""

    match_resources: MatchResources | None = None
    """matchResources declares what resources match this binding and will be validated by it."""
    param_ref: ParamRef | None = None
    """paramRef specifies the parameter resource used to configure the admission control policy."""
    policy_name: str
    """policyName references a ValidatingAdmissionPolicy name which the ValidatingAdmissionPolicyBinding binds to."""
    validation_actions: list[str]
    """validationActions declares how Validations of the referenced ValidatingAdmissionPolicy are enforced."""


class ValidatingAdmissionPolicySpec(ApiModel):
    """ValidatingAdmissionPolicySpec is the specification of the desired behavior of the AdmissionPolicy."""

    audit_annotations: list[AuditAnnotation] = []
    """auditAnnotations contains CEL expressions which are used to produce audit annotations for the audit event of the
    API request. validations and auditAnnotations may not both be empty; a least one of validations or auditAnnotations
    is required.
    """
    failure_policy: str | None = None
    """failurePolicy defines how to handle failures for the admission policy."""
    match_conditions: list[MatchCondition] = []
    """matchConditions is a list of conditions that must be met for a request to be validated."""
    match_constraints: MatchResources | None = None
    """matchConstraints specifies what resources this policy is designed to validate."""
    param_kind: ParamKind | None = None
    """paramKind specifies the kind of resources used to parameterize this policy."""
    validations: list[Validation] = []
    """validations contain CEL expressions which is used to apply the validation."""
    variables: list[Variable] = []
    """variables contain definitions of variables that can be used in composition of other expressions."""


class ValidatingAdmissionPolicyStatus(ApiModel):
    """ValidatingAdmissionPolicyStatus represents the status of an admission validation policy."""

    conditions: list[Condition] = []
    """conditions represent the latest available observations of a policy's current state."""
    observed_generation: int | None = None
    """observedGeneration is the generation observed by the controller."""
    type_checking: TypeChecking | None = None
    """typeChecking contains the results of type checking for each expression."""


class ValidatingWebhook(ApiModel):
    """ValidatingWebhook describes an admission webhook and the resources and operations it applies to."""

    admission_review_versions: list[str]
    """admissionReviewVersions is an ordered list of preferred `AdmissionReview` versions the Webhook expects."""
    client_config: WebhookClientConfig
    """clientConfig defines how to communicate with the hook."""
    failure_policy: str | None = None
    """failurePolicy defines how unrecognized errors from the admission endpoint are handled - allowed values are Ignore
    or Fail. Defaults to Fail.
    """
    match_conditions: list[MatchCondition] = []
    """matchConditions is a list of conditions that must be met for a request to be sent to this webhook."""
    match_policy: str | None = None
    """matchPolicy defines how the "rules" list is used to match incoming requests."""
    name: str
    """name is the name of the admission webhook."""
    namespace_selector: LabelSelector | None = None
    """namespaceSelector decides whether to run the webhook on an object based on whether the namespace for that object
    matches the selector.
    """
    object_selector: LabelSelector | None = None
    """objectSelector decides whether to run the webhook based on if the object has matching labels. objectSelector is
    evaluated against both the oldObject and newObject that would be sent to the webhook, and is considered to match if
    either object matches the selector.
    """
    rules: list[RuleWithOperations] = []
    """rules describes what operations on what resources/subresources the webhook cares about."""
    side_effects: str
    """sideEffects states whether this webhook has side effects."""
    timeout_seconds: int | None = None
    """timeoutSeconds specifies the timeout for this webhook. Default to 10 seconds."""


class Validation(ApiModel):
    """Validation specifies the CEL expression which is used to apply the validation."""

    expression: str
    """expression represents the expression which will be evaluated by CEL. ref: https://github.com/google/cel-spec CEL
    expressions have access to the contents of the API request/response, organized into CEL variables as well as some
    other useful variables:
    """
    message: str | None = None
    """message represents the message displayed when validation fails."""
    message_expression: str | None = None
    """messageExpression declares a CEL expression that evaluates to the validation failure message that is returned
    when this rule fails.
    """
    reason: str | None = None
    """reason represents a machine-readable description of why this validation failed."""


class Variable(ApiModel):
    """Variable is the definition of a variable that is used for composition. A variable is defined as a named
    expression.
    """

    expression: str
    """expression is the expression that will be evaluated as the value of the variable."""
    name: str
    """name is the name of the variable. The name must be a valid CEL identifier and unique among all variables. The
    variable can be accessed in other expressions through `variables` For example, if name is "foo", the variable will
    be available as `variables.foo`
    """


class WebhookClientConfig(ApiModel):
    """WebhookClientConfig contains the information to make a TLS connection with the webhook"""

    ca_bundle: bytes | None = None
    """caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate."""
    service: ServiceReference | None = None
    """service is a reference to the service for this webhook."""
    url: str | None = None
    """url gives the location of the webhook, in standard URL form (`scheme://host:port/path`)."""


class MutatingAdmissionPolicy(Object, ApiModel):
    """MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the object coming
    into admission chain.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY

    spec: MutatingAdmissionPolicySpec = msgspec.field(default_factory=MutatingAdmissionPolicySpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicy."""


class MutatingAdmissionPolicyBinding(Object, ApiModel):
    """MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parametrized resources.
    MutatingAdmissionPolicyBinding and the optional parameter resource together define how cluster administrators
    configure policies for clusters.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_MUTATING_ADMISSION_POLICY_BINDING

    spec: MutatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=MutatingAdmissionPolicyBindingSpec)
    """spec defines the desired behavior of the MutatingAdmissionPolicyBinding."""


class MutatingWebhookConfiguration(Object, ApiModel):
    """MutatingWebhookConfiguration describes the configuration of and admission webhook that accept or reject and may
    change the object.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK_CONFIGURATION

    webhooks: list[MutatingWebhook] = []
    """webhooks is a list of webhooks and the affected resources and operations."""


class ValidatingAdmissionPolicy(Object, ApiModel):
    """ValidatingAdmissionPolicy describes the definition of an admission validation policy that accepts or rejects an
    object without changing it.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY

    spec: ValidatingAdmissionPolicySpec = msgspec.field(default_factory=ValidatingAdmissionPolicySpec)
    """spec defines the desired behavior of the ValidatingAdmissionPolicy."""
    status: ValidatingAdmissionPolicyStatus = msgspec.field(default_factory=ValidatingAdmissionPolicyStatus)
    """status represents the current status of the ValidatingAdmissionPolicy, including warnings that are useful to
    determine if the policy behaves in the expected way.
    """


class ValidatingAdmissionPolicyBinding(Object, ApiModel):
    """ValidatingAdmissionPolicyBinding binds the ValidatingAdmissionPolicy with paramerized resources.
    ValidatingAdmissionPolicyBinding and parameter CRDs together define how cluster administrators configure policies
    for clusters.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_BINDING

    spec: ValidatingAdmissionPolicyBindingSpec = msgspec.field(default_factory=lambda: ValidatingAdmissionPolicyBindingSpec(policy_name="", validation_actions=[]))
    """spec defines the desired behavior of the ValidatingAdmissionPolicyBinding."""


class ValidatingWebhookConfiguration(Object, ApiModel):
    """ValidatingWebhookConfiguration describes the configuration of and admission webhook that accept or reject and
    object without changing it.
    """

    resource: ClassVar[Resource] = _table.ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK_CONFIGURATION

    webhooks: list[ValidatingWebhook] = []
    """webhooks is a list of webhooks and the affected resources and operations."""


class MutatingAdmissionPolicyBindingList(KindList[MutatingAdmissionPolicyBinding]):
    """MutatingAdmissionPolicyBindingList is a list of MutatingAdmissionPolicyBinding."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyBindingList"


class MutatingAdmissionPolicyList(KindList[MutatingAdmissionPolicy]):
    """MutatingAdmissionPolicyList is a list of MutatingAdmissionPolicy."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "MutatingAdmissionPolicyList"


class MutatingWebhookConfigurationList(KindList[MutatingWebhookConfiguration]):
    """MutatingWebhookConfigurationList is a list of MutatingWebhookConfiguration."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "MutatingWebhookConfigurationList"


class ValidatingAdmissionPolicyBindingList(KindList[ValidatingAdmissionPolicyBinding]):
    """ValidatingAdmissionPolicyBindingList is a list of ValidatingAdmissionPolicyBinding."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "ValidatingAdmissionPolicyBindingList"


class ValidatingAdmissionPolicyList(KindList[ValidatingAdmissionPolicy]):
    """ValidatingAdmissionPolicyList is a list of ValidatingAdmissionPolicy."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "ValidatingAdmissionPolicyList"


class ValidatingWebhookConfigurationList(KindList[ValidatingWebhookConfiguration]):
    """ValidatingWebhookConfigurationList is a list of ValidatingWebhookConfiguration."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    kind: ClassVar[str] = "ValidatingWebhookConfigurationList"
