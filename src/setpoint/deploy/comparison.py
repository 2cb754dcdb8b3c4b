"""The comparison of three things: permissions that are declared, that were asked for, and that a role grants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from setpoint.permissions import Grant

__all__ = ["Comparison", "Granted", "compare", "granted_in", "shown"]

Document = dict[str, Any]
_ANY: Final = "*"
_LIKE: Final = ("get", "list", "watch", "update")
_SELF: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
"""Every user may ask about itself."""


@dataclass(frozen=True)
class Granted:
    """A rule of a role, taken apart: one group, resource, verb and name each, any of which may be ``*``."""

    grant: Grant

    def covers(self, grant: Grant) -> bool:
        """Whether it allows the grant. A rule with names does not allow what is asked of all objects."""
        mine = self.grant
        group = mine.group in (_ANY, grant.group)
        verb = mine.verb in (_ANY, grant.verb)
        _, _, subresource = grant.resource.partition("/")
        resource = mine.resource in (_ANY, grant.resource, f"*/{subresource}" if subresource else _ANY)
        return group and verb and resource and mine.name in ("", grant.name)


@dataclass
class Comparison:
    """The missing and the excessive grants, each in order."""

    undeclared: list[Grant] = field(default_factory=list)
    """Asked for, and not declared."""
    ungranted: list[Grant] = field(default_factory=list)
    """Declared or asked for, and not granted by the role."""
    unused: list[Grant] = field(default_factory=list)
    """Declared, and never asked for."""
    excessive: list[Grant] = field(default_factory=list)
    """Granted by the role, and neither declared nor asked for."""

    @property
    def is_missing(self) -> bool:
        """Whether the program would be refused something."""
        return bool(self.undeclared or self.ungranted)

    @property
    def is_exceeding(self) -> bool:
        """Whether the program may do more than it needs."""
        return bool(self.unused or self.excessive)


def compare(
    declared: set[Grant],
    asked: Iterable[Grant],
    granted: Sequence[Granted] | None = None,
    *,
    besides: Iterable[Grant] = (),
    stand_ins: Collection[str] = (),
) -> Comparison:
    """Compares what is declared with what was asked for, and both with what a role grants, if there is one.

    ``besides`` are grants that tests do not show, such as those of an election: declared, but never unused.
    ``stand_ins`` are names of objects in these that whoever deploys the program chooses: a rule about one object of
    any other name grants as much.
    """
    # A declaration is about all objects of a kind, and so is a role's rule for it.
    wanted = {grant._replace(name="") for grant in asked if grant.resource not in _SELF}
    known = declared | set(besides)
    found = Comparison()
    found.undeclared = sorted(grant for grant in wanted if not any(Granted(each).covers(grant) for each in known))
    if wanted:
        touched = {(grant.group, grant.resource) for grant in wanted}
        found.unused = sorted(
            each
            for each in declared - wanted - set(besides)
            # Which of the ways to read a kind is taken depends on the server, and an update may be a patch.
            if each.verb not in _LIKE or (each.group, each.resource) not in touched
        )
    if granted is not None:
        needed = known | wanted
        found.ungranted = sorted(
            grant
            for grant in needed
            if not any(rule.covers(grant) or (grant.name in stand_ins and _same(rule.grant, grant)) for rule in granted)
        )
        found.excessive = sorted({
            rule.grant
            for rule in granted
            if _ANY in rule.grant[:3] or not any(rule.covers(grant) or _same(rule.grant, grant) for grant in needed)
        })  # fmt: skip
    return found


def granted_in(documents: Iterable[Document]) -> list[Granted]:
    """The rules of the roles among the documents: of those that are bound, if there are bindings, else of all."""
    roles = {}
    bound = set()
    for document in documents:
        kind, metadata = document.get("kind"), document.get("metadata") or {}
        if kind in ("Role", "ClusterRole"):
            roles[kind, metadata.get("name")] = document.get("rules") or []
        elif kind in ("RoleBinding", "ClusterRoleBinding"):
            reference = document.get("roleRef") or {}
            bound.add((reference.get("kind"), reference.get("name")))
    return [
        Granted(Grant(group, resource, verb, name))
        for key, rules in roles.items()
        if key in bound or not bound
        for rule in rules
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
        for verb in rule.get("verbs") or ()
        for name in rule.get("resourceNames") or ("",)
    ]


def shown(grants: Iterable[Grant]) -> list[str]:
    """A line for each resource: ``configmaps: create, patch``."""
    verbs: dict[str, set[str]] = defaultdict(set)
    for grant in grants:
        resource, slash, subresource = grant.resource.partition("/")
        whole = f"{resource}.{grant.group}" if grant.group else resource
        verbs[f"{whole}{slash}{subresource}" + (f" {grant.name!r}" if grant.name else "")].add(grant.verb)
    return [f"{name}: {', '.join(sorted(found))}" for name, found in sorted(verbs.items())]


def _same(one: Grant, other: Grant) -> bool:
    """Whether they differ in the name alone, as a certificate's Secret does that is called otherwise."""
    return bool(one.name) and bool(other.name) and one[:3] == other[:3]
