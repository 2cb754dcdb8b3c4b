# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""rbac.authorization.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class AggregationRule(ApiModel):
    """AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole"""

    cluster_role_selectors: list[LabelSelector] = []
    """clusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules."""


class PolicyRule(ApiModel):
    """PolicyRule holds information that describes a policy rule, but does not contain information about who the rule
    applies to or which namespace the rule applies to.
    """

    api_groups: list[str] = []
    """apiGroups is the name of the APIGroup that contains the resources."""
    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default=[])
    """nonResourceURLs is a set of partial urls that a user should have access to. *s are allowed, but only as the full,
    final step in the path Since non-resource URLs are not namespaced, this field is only applicable for ClusterRoles
    referenced from a ClusterRoleBinding.
    """
    resource_names: list[str] = []
    """resourceNames is an optional white list of names that the rule applies to."""
    resources: list[str] = []
    """resources is a list of resources this rule applies to."""
    verbs: list[str]
    """verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule."""


class RoleRef(ApiModel):
    """RoleRef contains information that points to the role being used"""

    api_group: str | None = None
    """apiGroup is the group for the resource being referenced"""
    kind: str
    """kind is the type of resource being referenced"""
    name: str
    """name is the name of resource being referenced"""


class Subject(ApiModel):
    """Subject contains a reference to the object or user identities a role binding applies to. This can either hold a
    direct API object reference, or a value for non-objects such as user and group names.
    """

    api_group: str | None = None
    """apiGroup holds the API group of the referenced subject. Defaults to "" for ServiceAccount subjects. Defaults to
    "rbac.authorization.k8s.io" for User and Group subjects.
    """
    kind: str
    """kind of object being referenced. Values defined by this API group are "User", "Group", and "ServiceAccount". If
    the Authorizer does not recognized the kind value, the Authorizer should report an error.
    """
    name: str
    """name of the object being referenced."""
    namespace: str | None = None
    """namespace of the referenced object. If the object kind is non-namespace, such as "User" or "Group", and this
    value is not empty the Authorizer should report an error.
    """


class ClusterRole(Object, ApiModel):
    """ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding
    or ClusterRoleBinding.
    """

    resource: ClassVar[Resource] = _table.RBAC_V1_CLUSTER_ROLE

    aggregation_rule: AggregationRule | None = None
    """aggregationRule is an optional field that describes how to build the Rules for this ClusterRole."""
    rules: list[PolicyRule] = []
    """rules holds all the PolicyRules for this ClusterRole"""


class ClusterRoleBinding(Object, ApiModel):
    """ClusterRoleBinding references a ClusterRole, but not contain it. It can reference a ClusterRole in the global
    namespace, and adds who information via Subject.
    """

    resource: ClassVar[Resource] = _table.RBAC_V1_CLUSTER_ROLE_BINDING

    role_ref: RoleRef
    """roleRef can only reference a ClusterRole in the global namespace."""
    subjects: list[Subject] = []
    """subjects holds references to the objects the role applies to."""


class Role(Object, ApiModel):
    """Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding."""

    resource: ClassVar[Resource] = _table.RBAC_V1_ROLE

    rules: list[PolicyRule] = []
    """rules holds all the PolicyRules for this Role"""


class RoleBinding(Object, ApiModel):
    """RoleBinding references a role, but does not contain it. It can reference a Role in the same namespace or a
    ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which
    namespace it exists in. RoleBindings in a given namespace only have effect in that namespace.
    """

    resource: ClassVar[Resource] = _table.RBAC_V1_ROLE_BINDING

    role_ref: RoleRef
    """roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace."""
    subjects: list[Subject] = []
    """subjects holds references to the objects the role applies to."""


class ClusterRoleBindingList(KindList[ClusterRoleBinding]):
    """ClusterRoleBindingList is a collection of ClusterRoleBindings"""

    api_version: ClassVar[str] = "rbac.authorization.k8s.io/v1"
    kind: ClassVar[str] = "ClusterRoleBindingList"


class ClusterRoleList(KindList[ClusterRole]):
    """ClusterRoleList is a collection of ClusterRoles"""

    api_version: ClassVar[str] = "rbac.authorization.k8s.io/v1"
    kind: ClassVar[str] = "ClusterRoleList"


class RoleBindingList(KindList[RoleBinding]):
    """RoleBindingList is a collection of RoleBindings"""

    api_version: ClassVar[str] = "rbac.authorization.k8s.io/v1"
    kind: ClassVar[str] = "RoleBindingList"


class RoleList(KindList[Role]):
    """RoleList is a collection of Roles"""

    api_version: ClassVar[str] = "rbac.authorization.k8s.io/v1"
    kind: ClassVar[str] = "RoleList"
