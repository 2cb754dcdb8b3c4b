"""Prevention of privilege escalation: users who write roles or bindings can't grant permissions that they lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.authorizer import SUPERUSERS, Authorizer
from setpoint.apiserver.authorization.rbac import not_found as describe_missing
from setpoint.apiserver.authorization.role_rules import PolicyRule, compact, covers, described, missing, quoted
from setpoint.apiserver.errors import forbidden, not_found
from setpoint.apiserver.http_types import UserInfo
from setpoint.meta import GroupResource
from setpoint.meta.text_escaping import quote
from setpoint.schema import json_equal

JsonObject = dict[str, Any]
_GROUP: Final = "rbac.authorization.k8s.io"
_EVERYTHING: Final = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), non_resource_urls=("*",)))
_COLLECTED: Final = ("ownerReferences", "finalizers", "selfLink", "managedFields")
"""The metadata that the garbage collector writes. A change to this metadata alone needs no permission other than the
one to write the object.
"""


def check_role(
    authorizer: Authorizer,
    user: UserInfo,
    name: str,
    new: JsonObject,
    old: JsonObject | None,
    *,
    namespaced: bool,
    note_refusal: Callable[[Attributes], None],
) -> None:
    """Refuses a role that grants more than ``user`` has, unless the user may ``escalate`` the role or the write changes
    only the metadata that the garbage collector writes. A ClusterRole that has an aggregation rule before or after the
    write counts as granting everything.

    ``name`` is the role's name in the request's path; it is empty for a POST. ``note_refusal`` is called, before a
    refusal, with the permission that would have been sufficient.

    Raises:
        ApiStatusError: 403, naming the permissions that the user lacks.
    """
    plural = "roles" if namespaced else "clusterroles"
    namespace = new["metadata"].get("namespace", "") if namespaced else ""
    attributes = Attributes(user, "escalate", _GROUP, "*", plural, "", namespace, name)
    if SUPERUSERS in user.groups or authorizer.authorize(attributes).allowed or only_collected(new, old):
        return
    resource = GroupResource(_GROUP, plural)
    _check(authorizer, user, resource, new, _rules_of(new), namespace, lambda: note_refusal(attributes))
    aggregates = not namespaced and (_aggregates(new) or (old is not None and _aggregates(old)))
    if aggregates and not covers(authorizer.rules_for(user, "").rules, _EVERYTHING):
        note_refusal(attributes)
        text = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(resource, new["metadata"].get("name", ""), text)


def check_binding(
    authorizer: Authorizer,
    user: UserInfo,
    new: JsonObject,
    old: JsonObject | None,
    *,
    namespaced: bool,
    note_refusal: Callable[[Attributes], None],
) -> None:
    """Refuses a binding to a role that grants more than ``user`` has, unless the user may ``bind`` the role. A write
    that changes only the metadata that the garbage collector writes is allowed. ``note_refusal`` is called as by
    `check_role`.

    Raises:
        ApiStatusError: 403, naming the permissions that the user lacks, or 404 if the role does not exist.
    """
    if SUPERUSERS in user.groups or only_collected(new, old):
        return
    namespace = new["metadata"].get("namespace", "") if namespaced else ""
    reference = new.get("roleRef") or {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    group = reference.get("apiGroup", "") or _GROUP
    attributes = Attributes(user, "bind", group, "*", f"{kind.lower()}s", "", namespace, name)
    if kind in ("Role", "ClusterRole") and authorizer.authorize(attributes).allowed:
        return
    resource = GroupResource(_GROUP, "rolebindings" if namespaced else "clusterrolebindings")
    rules = authorizer.role(kind, name, namespace)
    if rules is None:
        raise not_found(resource, name)  # upstream names the binding's resource and the role
    _check(authorizer, user, resource, new, rules, namespace, lambda: note_refusal(attributes))


def _check(
    authorizer: Authorizer,
    user: UserInfo,
    resource: GroupResource,
    obj: JsonObject,
    wanted: tuple[PolicyRule, ...],
    namespace: str,
    before_refusal: Callable[[], None],
) -> None:
    owned = authorizer.rules_for(user, namespace)
    lacking = missing(owned.rules, wanted)
    if not lacking:
        return
    before_refusal()
    user_text = f"user {quote(user.name)} (groups={quoted(user.groups)})"
    lines = sorted({described(rule) for rule in compact(lacking)})
    text = "\n".join((f"{user_text} is attempting to grant RBAC permissions not currently held:", *lines))
    if owned.missing:  # named after the resource that is written, as upstream does
        text += f"; resolution errors: [{describe_missing(owned.missing, resource.resource)}]"
    raise forbidden(resource, obj["metadata"].get("name", ""), text)


def _rules_of(role: JsonObject) -> tuple[PolicyRule, ...]:
    return msgspec.convert(role.get("rules") or (), tuple[PolicyRule, ...])


def _aggregates(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def only_collected(new: JsonObject, old: JsonObject | None) -> bool:
    """Whether a change affects only metadata that the garbage collector writes, such as owner references and
    finalizers. False if ``old`` is None.
    """
    return old is not None and json_equal(_without(new), _without(old))


def _without(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in (*_COLLECTED, "resourceVersion")}
    return {**obj, "metadata": metadata}
