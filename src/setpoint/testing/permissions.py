"""The role that controllers under test have, and the permissions that this role lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from setpoint.apiserver import AccessRecord, Attributes, Decision, Rbac, Storage, UserInfo
from setpoint.apiserver.authorization.authorizer import Rules
from setpoint.apiserver.authorization.role_rules import PolicyRule, allows
from setpoint.client.permission_needs import VERBS
from setpoint.permissions import EVERYBODY, Grant, declaration, rules

USER: Final = "system:serviceaccount:default:controllers"
"""The user name under which the controllers under test send their requests."""
_EVERYTHING: Final = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), non_resource_urls=("*",)))
_SELF: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
_EVERYBODY: Final = (
    PolicyRule(("create",), ("authorization.k8s.io",), _SELF),
    PolicyRule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
    PolicyRule(("get",), non_resource_urls=EVERYBODY),
)
"""The rules of ``system:basic-user``, ``system:discovery`` and ``system:public-info-viewer``, the roles that every
account has.
"""


class MissingPermission(AssertionError):
    """A request of the controllers was refused; the message names the request and the line that declares the
    permission.
    """


class RoleOfControllers:
    """An authorizer that allows the controllers what ``grants`` and the roles in the server allow, and allows all other
    users everything.

    The grants are not stored in the server as a role, so tests see only their own objects.
    """

    def __init__(self, storage: Storage, grants: Iterable[Grant]) -> None:
        self._stored = Rbac(storage)
        self._rules = (*msgspec.convert(rules(grants), tuple[PolicyRule, ...]), *_EVERYBODY)
        self._allowed_by_key: dict[tuple[str, ...], bool] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        if attributes.user.name != USER:
            return Decision(True)
        key = (attributes.verb, attributes.group, attributes.combined, attributes.name, attributes.path)
        allowed = self._allowed_by_key.get(key)
        if allowed is None:
            allowed = self._allowed_by_key[key] = any(allows(rule, attributes) for rule in self._rules)
        # A test may bind a role of its own to the controllers.
        return Decision(True) if allowed else self._stored.authorize(attributes)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        if user.name != USER:
            return Rules(_EVERYTHING)
        stored = self._stored.rules_for(user, namespace)
        return Rules((*self._rules, *stored.rules), stored.missing)

    def role(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        return self._stored.role(kind, name, namespace)


def report(record: AccessRecord, kind_of: Callable[[str, str, str], str | None]) -> str:
    """The refused requests of the controllers, each with the missing declaration, as text; ``""`` if there were none.

    ``kind_of`` returns the kind of a group, version and plural if it is served, otherwise None.
    """
    refused = [request for request, _ in record.refused if request.user.name == USER]
    if not refused:
        return ""
    lines = [f"  {_describe(request)}: {_missing(request, kind_of)}" for request in refused]
    text = "the controllers sent requests that their declarations don't cover (nor does the role of `manifests`):"
    return "\n".join((text, *lines, "to allow everything, use cluster(..., rbac=False)"))


def _describe(request: Attributes) -> str:
    if not request.is_resource:
        return f"{request.verb} {request.path}"
    resource = f"{request.combined}.{request.group}" if request.group else request.combined
    name = f" {request.name}" if request.name else ""
    scope = f" in namespace {request.namespace}" if request.namespace else ""
    return f"{request.verb} {resource}{name}{scope}"


def _missing(request: Attributes, kind_of: Callable[[str, str, str], str | None]) -> str:
    if not request.is_resource:
        return f"add controller{declaration(Grant('', '', request.verb, url=request.path), [request.verb], '')}"
    is_special = request.verb not in VERBS  # declared by a rule, without a class
    kind = "" if is_special else kind_of(request.group, request.version, request.resource)
    if kind is None:
        return "no declaration covers it; give the account an additional role"
    return f"add controller{declaration(Grant(request.group, request.combined, request.verb), [request.verb], kind)}"
