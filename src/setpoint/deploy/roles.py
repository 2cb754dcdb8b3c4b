"""Roles: the operator's account, its permissions, and permissions for users of its kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from setpoint.deploy.installation import Installation
from setpoint.manager.pause_switch import PAUSE_SWITCH
from setpoint.meta import Resource, resource_of
from setpoint.permissions import (
    READ,
    WRITE,
    Grant,
    access_reviews,
    by_namespace,
    certificates,
    injection,
    leases,
    pause_switch,
    registrations,
    rules,
)
from setpoint.webhook.registration import converters_of, definition_name, trusting

Document = dict[str, Any]
_API: Final = "rbac.authorization.k8s.io/v1"
_GROUP: Final = "rbac.authorization.k8s.io"
_USERS: Final = {
    "admin": (*READ, *WRITE, "deletecollection"),
    "edit": (*READ, *WRITE, "deletecollection"),
    "view": READ,
}


def role_of_declarations(grants: Iterable[Grant], name: str) -> Document:
    """A ClusterRole with these grants, for a program that runs outside the cluster under any account."""
    return _role("ClusterRole", {"name": name}, rules(grants))


def roles(operator: Installation) -> list[Document]:
    """The ServiceAccount, its roles and their bindings.

    The controllers' permissions are in a ClusterRole, and those for kinds that are read in one namespace only are in a
    Role there. If the controllers see only some namespaces, all these permissions are in a Role in each of them, except
    those for cluster-scoped kinds and URLs. The permissions for Leases, and for the Secret with the certificates that
    the operator issues itself, are in Roles in the operator's namespace.
    """
    grants, confined = by_namespace(operator.controllers, operator.served)
    if operator.namespaces:
        grants = grants.union(*confined.values())
    documents = [_account(operator), *_granted(operator, grants, operator.namespaces)]
    for namespace, inside in confined.items() if not operator.namespaces else ():
        documents += _bound(operator, _role_in(operator, namespace, inside))
    if operator.controllers:
        grants = leases() | pause_switch(PAUSE_SWITCH)
        documents += _bound(operator, _role("Role", operator.metadata("leader-election", "rbac"), rules(grants)))
    if operator.served and operator.certificates == "own":
        grants = certificates(operator.secret)
        documents += _bound(operator, _role("Role", operator.metadata("certificates", "rbac"), rules(grants)))
        grants = injection(trusting(operator.served, operator.configuration))
        documents += _bound(
            operator, _role("ClusterRole", operator.metadata("certificates", "rbac", wide=True), rules(grants))
        )
    metrics = _role("ClusterRole", operator.metadata("metrics-auth", "rbac", wide=True), rules(access_reviews()))
    documents += _bound(operator, metrics)
    documents.append(
        {
            "apiVersion": _API,
            "kind": "ClusterRole",
            "metadata": operator.metadata("metrics-reader", "rbac", wide=True),
            "rules": [{"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]}],
        }
    )
    return documents


def uninstaller_roles(operator: Installation, job: Installation) -> list[Document]:
    """The account with which ``job`` removes ``operator`` as far as Helm doesn't, its roles and their bindings."""
    grants = {Grant(kind.group, kind.plural, verb) for kind in operator.own_resources for verb in ("delete", "list")}
    grants |= registrations(operator.configuration, map(definition_name, converters_of(operator.served)))
    inside = {
        Grant("apps", "deployments", "delete", operator.name),
        Grant("coordination.k8s.io", "leases", "delete", operator.program),
        Grant("", "secrets", "delete", operator.secret),
        Grant("", "pods", "list"),
    }
    role = _role("Role", job.metadata("", "rbac"), rules(inside))
    spaces = () if job.watch_namespace is None else (job.watch_namespace,)
    return [_account(job), *_granted(job, grants, spaces), *_bound(job, role)]


def _account(operator: Installation) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": operator.metadata("", "rbac"),
        "automountServiceAccountToken": False,  # the pods ask for it
    }


def _granted(operator: Installation, grants: set[Grant], namespaces: Sequence[str]) -> list[Document]:
    """The grants, in a ClusterRole or, where they suffice, in a Role in each of the namespaces if any, bound."""
    if not grants:
        return []  # a program of webhooks that look at nothing else
    if not namespaces:
        metadata = operator.metadata("", "rbac", wide=True)
        return _bound(operator, _role("ClusterRole", metadata, rules(grants)))
    # A Role can't grant anything that belongs to no namespace.
    kinds = _kinds_without_namespaces(operator)
    outside = {grant for grant in grants if grant.url or (grant.group, grant.resource.partition("/")[0]) in kinds}
    documents = []
    for namespace in namespaces:
        documents += _bound(operator, _role_in(operator, namespace, grants - outside))
    if outside:
        documents += _bound(operator, _role("ClusterRole", operator.metadata("", "rbac", wide=True), rules(outside)))
    return documents


def _role_in(operator: Installation, namespace: str, grants: set[Grant]) -> Document:
    return _role("Role", operator.metadata("manager", "rbac") | {"namespace": namespace}, rules(grants))


def _kinds_without_namespaces(operator: Installation) -> set[tuple[str, str]]:
    """The groups and plurals of the cluster-scoped kinds among the built-in kinds and the watched ones."""
    from setpoint.models import BUILTIN

    watched = [resource_of(watch.kind) for controller in operator.controllers for watch in controller.watched]
    return {(resource.group, resource.plural) for resource in (*BUILTIN, *watched) if not resource.namespaced}


def user_roles(operator: Installation) -> list[Document]:
    """ClusterRoles for the users of the operator's kinds. Kubernetes aggregates them into its own roles
    admin, edit and view.
    """
    documents = []
    for resource in operator.own_resources:
        for level, verbs in _USERS.items():
            metadata = operator.metadata(f"{resource.plural}-{level}", "rbac", wide=True)
            metadata["labels"] |= {f"{_GROUP}/aggregate-to-{level}": "true"}
            documents.append(_role("ClusterRole", metadata, _rules_of_users(resource, verbs)))
    return documents


def _rules_of_users(resource: Resource, verbs: Iterable[str]) -> list[Document]:
    grants = {Grant(resource.group, resource.plural, verb) for verb in verbs}
    if "status" in resource.subresources:
        grants.add(Grant(resource.group, f"{resource.plural}/status", "get"))
    if "scale" in resource.subresources:
        changes = ("get", "patch", "update") if "update" in verbs else ("get",)
        grants.update(Grant(resource.group, f"{resource.plural}/scale", verb) for verb in changes)
    return rules(grants)


def _role(kind: str, metadata: Document, rules: list[Document]) -> Document:
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "rules": rules}


def _bound(operator: Installation, role: Document) -> list[Document]:
    """The role, and its binding to the operator's account under the same name."""
    subject = {"kind": "ServiceAccount", "name": operator.name, "namespace": operator.namespace}
    binding = {
        "apiVersion": _API,
        "kind": f"{role['kind']}Binding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": _GROUP, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [subject],
    }
    return [role, binding]
