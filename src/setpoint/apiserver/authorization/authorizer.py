"""The protocol of authorizers, which decide whether a request is allowed and list the rules that apply to a user."""

from __future__ import annotations

from typing import Protocol

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.role_rules import PolicyRule
from setpoint.apiserver.http_types import UserInfo

SUPERUSERS = "system:masters"
"""The group whose members may do everything, whatever their roles allow."""


class Decision(msgspec.Struct, frozen=True):
    """An authorizer's answer. ``reason`` names the binding that allows the request, or the missing
    roles to which the user is bound; it may be empty.
    """

    allowed: bool
    reason: str = ""


class Rules(msgspec.Struct, frozen=True):
    """The rules that apply to a user. ``lost`` has the kind and the name of each role that is bound but does not
    exist.
    """

    rules: tuple[PolicyRule, ...]
    missing: tuple[tuple[str, str], ...] = ()


class Authorizer(Protocol):
    """Decides according to the objects that are stored at the time of the call. Its methods never raise."""

    def authorize(self, attributes: Attributes) -> Decision:
        """The decision on whether ``attributes.user`` may make the request."""
        ...

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """The rules that apply to the user in ``namespace``, from cluster role bindings and from the role bindings in
        that namespace. If ``namespace`` is empty, only the rules from cluster role bindings, which apply in every
        namespace.
        """
        ...

    def role(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        """The rules of a ``Role`` in ``namespace`` or of a ``ClusterRole``; None if the role does not exist."""
        ...
