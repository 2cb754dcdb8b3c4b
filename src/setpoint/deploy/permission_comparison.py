"""Compares the permissions that a program declares, those that it asked for in a run, and those that a role grants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from setpoint.client.permission_needs import VERBS
from setpoint.permissions import EVERYBODY, WRITE, Grant

Document = dict[str, Any]
_ANY: Final = "*"
_LIKE: Final = ("get", "list", "watch", "update")
_CHECKED_BY: Final = {"bind": ("rolebindings", "clusterrolebindings"), "escalate": ("roles", "clusterroles")}
"""The resources whose writes need a verb that no request has."""
_SELF: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
"""The reviews of a caller's own identity and permissions, which every user may create."""
_EVERYBODY: Final = tuple(Grant("", "", "get", url=url) for url in EVERYBODY)


@dataclass
class Comparison:
    """The missing and the excessive grants, as sorted lists."""

    undeclared: list[Grant] = field(default_factory=list)
    """The grants that were asked for but are not declared."""
    ungranted: list[Grant] = field(default_factory=list)
    """The grants that were declared or asked for but are not given by the role."""
    unused: list[Grant] = field(default_factory=list)
    """The grants that are declared but were never asked for."""
    excessive: list[Grant] = field(default_factory=list)
    """The grants of the role that were neither declared nor asked for."""

    @property
    def is_missing(self) -> bool:
        """Whether the program needs a permission that is not declared or not granted."""
        return bool(self.undeclared or self.ungranted)

    @property
    def is_exceeding(self) -> bool:
        """Whether the program may do more than it needs."""
        return bool(self.unused or self.excessive)


def compare(
    declared: set[Grant],
    requests: Iterable[Grant],
    granted: Sequence[Grant] | None = None,
    *,
    besides: Iterable[Grant] = (),
    stand_ins: Collection[str] = (),
) -> Comparison:
    """Compares the declared grants with those that were asked for, and both with those of a role, if ``granted`` is
    given.

    ``besides`` are grants that tests do not exercise, such as those for a leader election: they count as declared, but
    never as unused. ``stand_ins`` are placeholders in the declared grants for names that are chosen at deployment;
    where a declared grant has a placeholder, the role's rule may have any name.
    """
    wanted = {grant for grant in requests if grant.resource not in _SELF and not _covered(_EVERYBODY, grant)}
    allowed = declared | set(besides)
    comparison = Comparison()
    # Tests have names of their own: what is said of them is about all objects of the kind.
    comparison.undeclared = sorted({grant._replace(name="") for grant in wanted if not _covered(allowed, grant)})
    if wanted:
        comparison.unused = sorted(
            declaration
            for declaration in declared - set(besides)
            if not any(declaration.covers(grant) for grant in wanted)
            and not _may_be_read_otherwise(declaration, wanted)
            and not _is_asked_by_the_server(declaration, wanted)
        )
    if granted is not None:
        needed = allowed | set(comparison.undeclared)
        comparison.ungranted = sorted(
            grant
            for grant in needed
            if not _covered(granted, grant) and not (grant.name in stand_ins and any(_same(r, grant) for r in granted))
        )
        comparison.excessive = sorted({
            rule
            for rule in granted
            if rule not in needed
            and (
                _ANY in rule[:3]
                or rule.url.endswith(_ANY)
                or not any(rule.covers(grant) or _same(rule, grant) for grant in needed)
            )
        })  # fmt: skip
    return comparison


def granted_in(documents: Iterable[Document]) -> list[Grant]:
    """The grants of the roles among the documents. If there are bindings, only the roles that they bind count."""
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
        grant
        for key, rules in roles.items()
        if key in bound or not bound
        for rule in rules
        for grant in _grants_of(rule)
    ]


def _grants_of(rule: Document) -> Iterator[Grant]:
    """The grants of a role's rule: one for each group, resource, verb and name, or for each URL and verb."""
    for verb in rule.get("verbs") or ():
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield Grant(group, resource, verb, name)
        for url in rule.get("nonResourceURLs") or ():
            yield Grant("", "", verb, url=url)


def describe(grants: Iterable[Grant]) -> list[str]:
    """A line for each resource: ``configmaps: create, patch``."""
    verbs: dict[str, set[str]] = defaultdict(set)
    for grant in grants:
        resource, slash, subresource = grant.resource.partition("/")
        whole = f"{resource}.{grant.group}" if grant.group else resource
        text = grant.url or f"{whole}{slash}{subresource}"
        verbs[text + (f" {grant.name!r}" if grant.name else "")].add(grant.verb)
    return [f"{name}: {', '.join(sorted(resources))}" for name, resources in sorted(verbs.items())]


def _covered(rules: Iterable[Grant], grant: Grant) -> bool:
    return any(rule.covers(grant) for rule in rules)


def _may_be_read_otherwise(declared: Grant, wanted: Iterable[Grant]) -> bool:
    """Whether the resource was used with a different verb, in which case the declared verb does not count as unused:
    the server decides how objects are read, and an update may be sent as a patch.
    """
    return declared.verb in _LIKE and any(declared._replace(verb=other.verb).covers(other) for other in wanted)


def _is_asked_by_the_server(declared: Grant, wanted: Iterable[Grant]) -> bool:
    """Whether the verb is one that no request has, so that its absence among the requests says nothing. Servers check
    it on their own: ``bind`` and ``escalate`` when a binding or a role is written.
    """
    if declared.url or declared.verb in (_ANY, *VERBS):
        return False
    resources = _CHECKED_BY.get(declared.verb)
    return resources is None or any(grant.verb in WRITE and grant.resource in resources for grant in wanted)


def _same(left: Grant, right: Grant) -> bool:
    """Whether both grants are for one named object and differ at most in its name, for example because a deployment
    gives a certificate's Secret a different name.
    """
    return bool(left.name) and bool(right.name) and left[:3] == right[:3]
