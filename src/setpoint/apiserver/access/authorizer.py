"""The protocol of authorizers, which decide whether a request is allowed and list the rules of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from setpoint.apiserver.access.attributes import Attributes
from setpoint.apiserver.access.rules import Rule
from setpoint.apiserver.http_types import UserInfo

__all__ = ["SUPERUSERS", "Authorizer", "Decision", "Rules"]

SUPERUSERS = "system:masters"
"""The group whose members may do everything, whatever roles say."""


@dataclass(frozen=True, slots=True)
class Decision:
    """``reason`` says which rule allows it, or which roles could not be found."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """``lost`` are the kinds and names of roles that are bound and do not exist; the rules of the others are here."""

    rules: tuple[Rule, ...]
    lost: tuple[tuple[str, str], ...] = ()


class Authorizer(Protocol):
    """Decides by the objects that are stored now. Methods never raise."""

    def authorize(self, attributes: Attributes) -> Decision:
        """Whether ``attributes.user`` may do it."""
        ...

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """All rules that hold for the user in the namespace (without one: in all of them)."""
        ...

    def role(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a ``Role`` of that namespace or a ``ClusterRole``; None if there is none."""
        ...
