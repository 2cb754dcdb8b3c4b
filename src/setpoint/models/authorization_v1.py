# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""authorization.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelectorRequirement, Object, Resource
from setpoint.models import _table
from setpoint.models.meta_v1 import FieldSelectorRequirement


class FieldSelectorAttributes(ApiModel):
    """FieldSelectorAttributes indicates a field limited access. Webhook authors are encouraged to * ensure rawSelector
    and requirements are not both set * consider the requirements field if set * not try to parse or consider the
    rawSelector field if set. This is to avoid another CVE-2022-2880 (i.e. getting different systems to agree on how
    exactly to parse a query is not something we want), see
    https://www.oxeye.io/resources/golang-parameter-smuggling-attack for more details.
    """

    raw_selector: str | None = None
    """rawSelector is the serialization of a field selector that would be included in a query parameter."""
    requirements: list[FieldSelectorRequirement] = []
    """requirements is the parsed interpretation of a field selector."""


class LabelSelectorAttributes(ApiModel):
    """LabelSelectorAttributes indicates a label limited access. Webhook authors are encouraged to * ensure rawSelector
    and requirements are not both set * consider the requirements field if set * not try to parse or consider the
    rawSelector field if set. This is to avoid another CVE-2022-2880 (i.e. getting different systems to agree on how
    exactly to parse a query is not something we want), see
    https://www.oxeye.io/resources/golang-parameter-smuggling-attack for more details.
    """

    raw_selector: str | None = None
    """rawSelector is the serialization of a field selector that would be included in a query parameter."""
    requirements: list[LabelSelectorRequirement] = []
    """requirements is the parsed interpretation of a label selector."""


class NonResourceAttributes(ApiModel):
    """NonResourceAttributes includes the authorization attributes available for non-resource requests to the Authorizer
    interface
    """

    path: str | None = None
    """path is the URL path of the request"""
    verb: str | None = None
    """verb is the standard HTTP verb"""


class NonResourceRule(ApiModel):
    """NonResourceRule holds information that describes a rule for the non-resource"""

    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default=[])
    """nonResourceURLs is a set of partial urls that a user should have access to. *s are allowed, but only as the full,
    final step in the path.
    """
    verbs: list[str]
    """verbs is a list of kubernetes non-resource API verbs, like: get, post, put, delete, patch, head, options."""


class ResourceAttributes(ApiModel):
    """ResourceAttributes includes the authorization attributes available for resource requests to the Authorizer
    interface
    """

    field_selector: FieldSelectorAttributes | None = None
    """fieldSelector describes the limitation on access based on field."""
    group: str | None = None
    """group is the API Group of the Resource. "*" means all."""
    label_selector: LabelSelectorAttributes | None = None
    """labelSelector describes the limitation on access based on labels."""
    name: str | None = None
    """name is the name of the resource being requested for a "get" or deleted for a "delete"."""
    namespace: str | None = None
    """namespace is the namespace of the action being requested."""
    resource: str | None = None
    """resource is one of the existing resource types."""
    subresource: str | None = None
    """subresource is one of the existing resource types."""
    verb: str | None = None
    """verb is a kubernetes resource API verb, like: get, list, watch, create, update, delete, proxy."""
    version: str | None = None
    """version is the API Version of the Resource."""


class ResourceRule(ApiModel):
    """ResourceRule is the list of actions the subject is allowed to perform on resources. The list ordering isn't
    significant, may contain duplicates, and possibly be incomplete.
    """

    api_groups: list[str] = []
    """apiGroups is the name of the APIGroup that contains the resources."""
    resource_names: list[str] = []
    """resourceNames is an optional white list of names that the rule applies to."""
    resources: list[str] = []
    """resources is a list of resources this rule applies to."""
    verbs: list[str]
    """verbs is a list of kubernetes resource API verbs, like: get, list, watch, create, update, delete, proxy."""


class SelfSubjectAccessReviewSpec(ApiModel):
    """SelfSubjectAccessReviewSpec is a description of the access request. Exactly one of resourceAttributes and
    nonResourceAttributes must be set
    """

    non_resource_attributes: NonResourceAttributes | None = None
    """nonResourceAttributes describes information for a non-resource access request"""
    resource_attributes: ResourceAttributes | None = None
    """resourceAttributes describes information for a resource access request"""


class SelfSubjectRulesReviewSpec(ApiModel):
    """SelfSubjectRulesReviewSpec defines the specification for SelfSubjectRulesReview."""

    namespace: str | None = None
    """namespace to evaluate rules for. Required."""


class SubjectAccessReviewSpec(ApiModel):
    """SubjectAccessReviewSpec is a description of the access request. Exactly one of resourceAttributes and
    nonResourceAttributes must be set
    """

    extra: dict[str, list[str]] = {}
    """extra corresponds to the user.Info.GetExtra() method from the authenticator."""
    groups: list[str] = []
    """groups is the groups you're testing for."""
    non_resource_attributes: NonResourceAttributes | None = None
    """nonResourceAttributes describes information for a non-resource access request"""
    resource_attributes: ResourceAttributes | None = None
    """resourceAttributes describes information for a resource access request"""
    uid: str | None = None
    """uid information about the requesting user."""
    user: str | None = None
    """user is the user you're testing for. If you specify "User" but not "Groups", then is it interpreted as "What if
    User were not a member of any groups
    """


class SubjectAccessReviewStatus(ApiModel):
    """SubjectAccessReviewStatus"""

    allowed: bool
    """allowed is required. True if the action would be allowed, false otherwise."""
    denied: bool | None = None
    """denied is optional. True if the action would be denied, otherwise false. If both allowed is false and denied is
    false, then the authorizer has no opinion on whether to authorize the action. Denied may not be true if Allowed is
    true.
    """
    evaluation_error: str | None = None
    """evaluationError is an indication that some error occurred during the authorization check."""
    reason: str | None = None
    """reason is optional. It indicates why a request was allowed or denied."""


class SubjectRulesReviewStatus(ApiModel):
    """SubjectRulesReviewStatus contains the result of a rules check. This check can be incomplete depending on the set
    of authorizers the server is configured with and any errors experienced during evaluation. Because authorization
    rules are additive, if a rule appears in a list it's safe to assume the subject has that permission, even if that
    list is incomplete.
    """

    evaluation_error: str | None = None
    """evaluationError can appear in combination with Rules."""
    incomplete: bool
    """incomplete is true when the rules returned by this call are incomplete."""
    non_resource_rules: list[NonResourceRule]
    """nonResourceRules is the list of actions the subject is allowed to perform on non-resources."""
    resource_rules: list[ResourceRule]
    """resourceRules is the list of actions the subject is allowed to perform on resources."""


class LocalSubjectAccessReview(Object, ApiModel):
    """LocalSubjectAccessReview checks whether or not a user or group can perform an action in a given namespace. Having
    a namespace scoped resource makes it much easier to grant namespace scoped policy that includes permissions
    checking.
    """

    resource: ClassVar[Resource] = _table.AUTHORIZATION_V1_LOCAL_SUBJECT_ACCESS_REVIEW

    spec: SubjectAccessReviewSpec = msgspec.field(default_factory=SubjectAccessReviewSpec)
    """spec holds information about the request being evaluated. spec.namespace must be equal to the namespace you made
    the request against.
    """
    status: SubjectAccessReviewStatus = msgspec.field(default_factory=lambda: SubjectAccessReviewStatus(allowed=False))
    """status is filled in by the server and indicates whether the request is allowed or not"""


class SelfSubjectAccessReview(Object, ApiModel):
    """SelfSubjectAccessReview checks whether or the current user can perform an action. Not filling in a spec.namespace
    means "in all namespaces". Self is a special case, because users should always be able to check whether they can
    perform an action
    """

    resource: ClassVar[Resource] = _table.AUTHORIZATION_V1_SELF_SUBJECT_ACCESS_REVIEW

    spec: SelfSubjectAccessReviewSpec = msgspec.field(default_factory=SelfSubjectAccessReviewSpec)
    """spec holds information about the request being evaluated. user and groups must be empty"""
    status: SubjectAccessReviewStatus = msgspec.field(default_factory=lambda: SubjectAccessReviewStatus(allowed=False))
    """status is filled in by the server and indicates whether the request is allowed or not"""


class SelfSubjectRulesReview(Object, ApiModel):
    """SelfSubjectRulesReview enumerates the set of actions the current user can perform within a namespace. The
    returned list of actions may be incomplete depending on the server's authorization mode, and any errors experienced
    during the evaluation. SelfSubjectRulesReview should be used by UIs to show/hide actions, or to quickly let an end
    user reason about their permissions.
    """

    resource: ClassVar[Resource] = _table.AUTHORIZATION_V1_SELF_SUBJECT_RULES_REVIEW

    spec: SelfSubjectRulesReviewSpec = msgspec.field(default_factory=SelfSubjectRulesReviewSpec)
    """spec holds information about the request being evaluated."""
    status: SubjectRulesReviewStatus = msgspec.field(default_factory=lambda: SubjectRulesReviewStatus(incomplete=False, non_resource_rules=[], resource_rules=[]))
    """status is filled in by the server and indicates the set of actions a user can perform."""


class SubjectAccessReview(Object, ApiModel):
    """SubjectAccessReview checks whether or not a user or group can perform an action."""

    resource: ClassVar[Resource] = _table.AUTHORIZATION_V1_SUBJECT_ACCESS_REVIEW

    spec: SubjectAccessReviewSpec = msgspec.field(default_factory=SubjectAccessReviewSpec)
    """spec holds information about the request being evaluated"""
    status: SubjectAccessReviewStatus = msgspec.field(default_factory=lambda: SubjectAccessReviewStatus(allowed=False))
    """status is filled in by the server and indicates whether the request is allowed or not"""
