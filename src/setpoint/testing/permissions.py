"""The role that controllers under test have, and the permissions that this role lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from setpoint.apiserver import AccessRecord, Attributes, Decision, Rbac, Storage, UserInfo
from setpoint.apiserver.authorization.authorizer import Rules
from setpoint.apiserver.authorization.role_rules import PolicyRule, allows
from setpoint.controller.permissions import VERBS
from setpoint.permissions import EVERYBODY, Grant, declaration, rules

__all__ = ["USER", "MissingPermission", "RoleOfControllers", "told"]

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
        self._known: dict[tuple[str, ...], bool] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        if attributes.user.name != USER:
            return Decision(True)
        key = (attributes.verb, attributes.group, attributes.combined, attributes.name, attributes.path)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = any(allows(rule, attributes) for rule in self._rules)
        # A test may bind a role of its own to the controllers.
        return Decision(True) if known else self._stored.authorize(attributes)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        if user.name != USER:
            return Rules(_EVERYTHING)
        stored = self._stored.rules_for(user, namespace)
        return Rules((*self._rules, *stored.rules), stored.lost)

    def role(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        return self._stored.role(kind, name, namespace)


def told(record: AccessRecord, kind_of: Callable[[str, str, str], str | None]) -> str:
    """The refused requests of the controllers, each with the missing declaration, as text; ``""`` if there were none.

    ``kind_of`` returns the kind of a group, version and plural if it is served, otherwise None.
    """
    refused = [asked for asked, _ in record.refused if asked.user.name == USER]
    if not refused:
        return ""
    lines = [f"  {_shown(asked)}: {_missing(asked, kind_of)}" for asked in refused]
    text = "the controllers sent requests that their declarations don't cover (nor does the role of `manifests`):"
    return "\n".join((text, *lines, "cluster(..., rbac=False) allows everything"))


def _shown(asked: Attributes) -> str:
    if not asked.is_resource:
        return f"{asked.verb} {asked.path}"
    what = f"{asked.combined}.{asked.group}" if asked.group else asked.combined
    name = f" {asked.name}" if asked.name else ""
    where = f" in namespace {asked.namespace}" if asked.namespace else ""
    return f"{asked.verb} {what}{name}{where}"


def _missing(asked: Attributes, kind_of: Callable[[str, str, str], str | None]) -> str:
    if not asked.is_resource:
        return f"add controller{declaration(Grant('', '', asked.verb, url=asked.path), [asked.verb], '')}"
    is_special = asked.verb not in VERBS  # declared by a rule, without a class
    kind = "" if is_special else kind_of(asked.group, asked.version, asked.resource)
    if kind is None:
        return "no declaration covers it; give the account an additional role"
    return f"add controller{declaration(Grant(asked.group, asked.combined, asked.verb), [asked.verb], kind)}"
