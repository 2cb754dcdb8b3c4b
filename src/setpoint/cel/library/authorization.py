"""``authorizer``: checks whether a user may do something. The caller of the evaluation provides the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from setpoint.cel.declarations import Library, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import BOOL, STRING, Type, struct
from setpoint.cel.values import Opaque
from setpoint.meta import names

AUTHORIZER: Final = struct("kubernetes.authorization.Authorizer")
_PATH: Final = struct("kubernetes.authorization.PathCheck")
_GROUP: Final = struct("kubernetes.authorization.GroupCheck")
_RESOURCE: Final = struct("kubernetes.authorization.ResourceCheck")
_DECISION: Final = struct("kubernetes.authorization.Decision")


class Attributes(msgspec.Struct, frozen=True):
    """A permission check for ``path`` or for a resource. ``user`` is the full name of a service account, or empty for
    the user of the request.
    """

    verb: str
    user: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Decision(Opaque):
    """The answer to a permission check."""

    allowed: bool
    reason: str = ""
    error: str = ""

    @property
    def kind(self) -> Type:
        return _DECISION

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Decision) and (self.allowed, self.reason) == (other.allowed, other.reason)


class Authorizer(Protocol):
    """The source of the answers to permission checks."""

    def decide(self, attributes: Attributes) -> Decision:
        """The decision on the permission check."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class AuthorizerValue(Opaque):
    """The value of ``authorizer``, or of ``authorizer.serviceAccount(...)``, for which ``user`` is set."""

    source: Authorizer
    user: str = ""

    @property
    def kind(self) -> Type:
        return AUTHORIZER

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, AuthorizerValue) and (self.source, self.user) == (other.source, other.user)


@dataclass(frozen=True, slots=True, eq=False)
class Check(Opaque):
    """A permission check that still lacks its verb."""

    checked_type: Type
    source: Authorizer
    attributes: Attributes

    @property
    def kind(self) -> Type:
        return self.checked_type

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Check) and (self.source, self.attributes) == (other.source, other.attributes)


def request_resource(source: Authorizer, attributes: Attributes) -> Check:
    return Check(_RESOURCE, source, attributes)


def _path(authorizer: AuthorizerValue, path: str) -> Check:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return Check(_PATH, authorizer.source, Attributes("", authorizer.user, path=path))


def _group(authorizer: AuthorizerValue, group: str) -> Check:
    return Check(_GROUP, authorizer.source, Attributes("", authorizer.user, group=group))


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if names.dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if names.dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.source, f"system:serviceaccount:{namespace}:{name}")


def _resource(check: Check, resource: str) -> Check:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return Check(_RESOURCE, check.source, replace(check.attributes, resource=resource))


def _narrowed(name: str) -> Callable[[Check, str], Check]:
    def narrow(check: Check, value: str) -> Check:
        return Check(_RESOURCE, check.source, replace(check.attributes, **{name: value}))

    return narrow


def _decide(check: Check, verb: str) -> Decision:
    return check.source.decide(replace(check.attributes, verb=verb))


RESOURCE_CHECK: Final = _RESOURCE

AUTHORIZATION: Final = Library(
    (
        method("path", "authorizer_path", (AUTHORIZER, STRING), _PATH, _path),
        method("group", "authorizer_group", (AUTHORIZER, STRING), _GROUP, _group),
        method("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _service_account),  # noqa: E501
        method("resource", "groupcheck_resource", (_GROUP, STRING), _RESOURCE, _resource),
        method("subresource", "resourcecheck_subresource", (_RESOURCE, STRING), _RESOURCE, _narrowed("subresource")),
        method("namespace", "resourcecheck_namespace", (_RESOURCE, STRING), _RESOURCE, _narrowed("namespace")),
        method("name", "resourcecheck_name", (_RESOURCE, STRING), _RESOURCE, _narrowed("name")),
        method("fieldSelector", "authorizer_fieldselector", (_RESOURCE, STRING), _RESOURCE, _narrowed("field_selector")),  # noqa: E501
        method("labelSelector", "authorizer_labelselector", (_RESOURCE, STRING), _RESOURCE, _narrowed("label_selector")),  # noqa: E501
        method("check", "pathcheck_check", (_PATH, STRING), _DECISION, _decide),
        method("check", "resourcecheck_check", (_RESOURCE, STRING), _DECISION, _decide),
        method("errored", "decision_errored", (_DECISION,), BOOL, lambda decision: bool(decision.error)),
        method("error", "decision_error", (_DECISION,), STRING, lambda decision: decision.error),
        method("allowed", "decision_allowed", (_DECISION,), BOOL, lambda decision: decision.allowed),
        method("reason", "decision_reason", (_DECISION,), STRING, lambda decision: decision.reason),
    )
)  # fmt: skip
