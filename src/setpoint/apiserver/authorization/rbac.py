"""Role-based access control: finds the permissions that the stored roles and bindings grant."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.authorizer import SUPERUSERS, Decision, Rules
from setpoint.apiserver.authorization.role_rules import PolicyRule, allows
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.storage import Storage, Subscription
from setpoint.meta.text_escaping import quote

T = TypeVar("T")
_log = logging.getLogger(__name__)
_GROUP: Final = "rbac.authorization.k8s.io"
_KINDS: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
_MOST: Final = 8192
"""The maximum number of remembered decisions; when it is reached, all decisions are forgotten."""


class _Role(msgspec.Struct, frozen=True):
    rules: tuple[PolicyRule, ...] | None = None


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def is_of(self, user: UserInfo, namespace: str) -> bool:
        if self.kind == "User":
            return self.name == user.name
        if self.kind == "Group":
            return self.name in user.groups
        place = self.namespace or namespace
        return (
            self.kind == "ServiceAccount" and bool(place) and user.name == f"system:serviceaccount:{place}:{self.name}"
        )

    def text(self, namespace: str) -> str:
        if self.kind == "ServiceAccount":
            return f"{self.kind} {quote(f'{self.name}/{self.namespace or namespace}')}"
        return f"{self.kind} {quote(self.name)}"


class _Reference(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: _Reference = _Reference()
    subjects: tuple[_Subject, ...] | None = None


class _Bound(NamedTuple):
    """A binding that applies to a user; ``rules`` is None if its role does not exist."""

    name: str
    namespace: str
    role: tuple[str, str]
    subject: _Subject
    rules: tuple[PolicyRule, ...] | None

    @property
    def source(self) -> str:
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        role, named = self.role
        return f"{kind} {quote(name)} of {role} {quote(named)} to {self.subject.text(self.namespace)}"


_ROLE: Final = msgspec.json.Decoder(_Role)
_BINDING: Final = msgspec.json.Decoder(_Binding)


class Rbac:
    """Decides according to the roles and bindings in ``storage``; a write takes effect with the next request.

    Members of ``system:masters`` may do everything. `close` ends the subscription to the storage.

    Decisions are remembered until any role or binding changes, because most requests repeat earlier ones.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._decisions: dict[tuple[object, ...], Decision] = {}
        self._cluster_bindings: list[tuple[str, _Binding]] | None = None
        self._bindings: dict[str, list[tuple[str, _Binding]]] = {}
        self._roles: dict[tuple[str, str, str], tuple[PolicyRule, ...] | None] = {}
        self._following: list[Subscription] = [
            storage.subscribe(f"{kind}.{_GROUP}", storage.revision, self._forget) for kind in _KINDS
        ]

    def close(self) -> None:
        for subscription in self._following:
            subscription.close()
        self._following.clear()

    def authorize(self, attributes: Attributes) -> Decision:
        user = attributes.user
        if SUPERUSERS in user.groups:
            return Decision(True)
        key = (
            *(user.name, user.groups, attributes.verb, attributes.group, attributes.combined),
            *(attributes.namespace, attributes.name, attributes.path),
        )
        decision = self._decisions.get(key)
        if decision is None:
            if len(self._decisions) >= _MOST:
                self._decisions.clear()
            decision = self._decisions[key] = self._decide(attributes)
        return decision

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        rules: list[PolicyRule] = []
        missing: list[tuple[str, str]] = []
        for grant in self._visited(user, namespace):
            if grant.rules is None:
                missing.append(grant.role)
            else:
                rules += grant.rules
        return Rules(tuple(rules), tuple(missing))

    def role(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        if kind not in ("Role", "ClusterRole"):
            return None
        key = (kind, "" if kind == "ClusterRole" else namespace, name)
        if key not in self._roles:
            record = self._storage.get(f"{kind.lower()}s.{_GROUP}", *key[1:])
            self._roles[key] = None if record is None else (_decoded(_ROLE, record.value).rules or ())
        return self._roles[key]

    def _forget(self) -> None:
        self._decisions.clear()
        self._cluster_bindings = None
        self._bindings.clear()
        self._roles.clear()

    def _decide(self, attributes: Attributes) -> Decision:
        missing: list[tuple[str, str]] = []
        for grant in self._visited(attributes.user, attributes.namespace):
            if grant.rules is None:
                missing.append(grant.role)
            elif any(allows(rule, attributes) for rule in grant.rules):
                return Decision(True, f"RBAC: allowed by {grant.source}")
        return Decision(False, f"rbac: RBAC: {not_found(missing)}" if missing else "")

    def _visited(self, user: UserInfo, namespace: str) -> Iterator[_Bound]:
        """The bindings that apply to the user: cluster role bindings and, if ``namespace`` is not empty, the role
        bindings in it.
        """
        if self._cluster_bindings is None:
            self._cluster_bindings = self._read("clusterrolebindings", None)
        yield from self._those_of(user, self._cluster_bindings, "")
        if namespace:
            bindings = self._bindings.get(namespace)
            if bindings is None:
                bindings = self._bindings[namespace] = self._read("rolebindings", namespace)
            yield from self._those_of(user, bindings, namespace)

    def _read(self, plural: str, namespace: str | None) -> list[tuple[str, _Binding]]:
        return [
            (record.name, _decoded(_BINDING, record.value))
            for record in self._storage.scan(f"{plural}.{_GROUP}", namespace)
        ]

    def _those_of(self, user: UserInfo, bindings: Iterable[tuple[str, _Binding]], namespace: str) -> Iterator[_Bound]:
        for name, binding in bindings:
            subject = next(
                (candidate for candidate in binding.subjects or () if candidate.is_of(user, namespace)), None
            )
            if subject is None:
                continue
            reference = binding.role_ref
            rules = self.role(reference.kind, reference.name, namespace)
            yield _Bound(name, namespace, (reference.kind, reference.name), subject, rules)


def _decoded(decoder: msgspec.json.Decoder[T], value: bytes) -> T:
    """A stored role or binding, decoded. A damaged object is logged and read as an empty one, which grants nothing."""
    try:
        return decoder.decode(value)
    except msgspec.MsgspecError as problem:
        _log.error("a role or binding can't be read and allows nothing: %s", problem)
        return decoder.decode(b"{}")


def not_found(roles: Sequence[tuple[str, str]], plural: str = "") -> str:
    """The error message for roles that are bound but do not exist; empty if ``roles`` is empty. Each
    role is named once, by its kind and name; ``plural``, if given, replaces the kind.
    """
    texts = dict.fromkeys(f"{plural or kind.lower()}.{_GROUP} {quote(name)} not found" for kind, name in roles)
    return next(iter(texts)) if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
