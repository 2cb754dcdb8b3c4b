"""The rules of roles: whether a rule allows a request, and whether some rules cover others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.meta.text_escaping import quote


class PolicyRule(msgspec.Struct, frozen=True, rename="camel"):
    """One entry of ``rules`` in a Role or ClusterRole."""

    verbs: tuple[str, ...] | None = None
    api_groups: tuple[str, ...] | None = None
    resources: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] | None = None
    non_resource_urls: tuple[str, ...] | None = msgspec.field(default=None, name="nonResourceURLs")


def allows(rule: PolicyRule, attributes: Attributes) -> bool:
    if not _has(rule.verbs, attributes.verb):
        return False
    if not attributes.is_resource:
        return any(_url_matches(url, attributes.path) for url in rule.non_resource_urls or ())
    names = rule.resource_names
    return (
        _has(rule.api_groups, attributes.group)
        and _has_resource(rule.resources, attributes.combined, attributes.subresource)
        and (not names or attributes.name in names)
    )


def covers(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> bool:
    """Whether ``owned`` allows everything that ``wanted`` allows."""
    return not missing(owned, wanted)


def missing(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The permissions in ``wanted`` that ``owned`` does not cover. Each is a rule with one verb and either one
    resource, with at most one name, or one non-resource URL.
    """
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(whole, part) for whole in owned)]


def compact(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The rules, with those for the same resource and name merged into one rule with all their verbs.
    Rules for several groups, resources or names, or for non-resource URLs, are unchanged and come
    first.
    """
    simple: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    compacted: list[PolicyRule] = []
    for rule in rules:
        groups, resources, names = rule.api_groups or (), rule.resources or (), rule.resource_names or ()
        if len(names) > 1 or rule.non_resource_urls or len(groups) != 1 or len(resources) != 1:
            compacted.append(rule)
        else:
            simple.setdefault((groups[0], resources[0], names), []).extend(rule.verbs or ())
    for (group, resource, names), verbs in simple.items():
        compacted.append(PolicyRule(tuple(verbs), (group,), (resource,), names or None))
    return compacted


def described(rule: PolicyRule) -> str:
    """The rule as escalation errors show it: ``{APIGroups:[""], Resources:["pods"], Verbs:["get"]}``."""
    fields = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.non_resource_urls,
        "ResourceNames": rule.resource_names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in fields.items() if values) + "}"


def quoted(values: Iterable[str]) -> str:
    """A list of strings as Go's ``%q`` shows it."""
    return f"[{' '.join(map(quote, values))}]"


def _has(values: Sequence[str] | None, wanted: str) -> bool:
    return values is not None and (wanted in values or "*" in values)


def _has_resource(values: Sequence[str] | None, combined: str, subresource: str) -> bool:
    return _has(values, combined) or bool(values and subresource and f"*/{subresource}" in values)


def _url_matches(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _parts(rule: PolicyRule) -> Iterator[PolicyRule]:
    for group in rule.api_groups or ():
        for resource in rule.resources or ():
            for verb in rule.verbs or ():
                if not rule.resource_names:
                    yield PolicyRule((verb,), (group,), (resource,))
                for name in rule.resource_names or ():
                    yield PolicyRule((verb,), (group,), (resource,), (name,))
    for url in rule.non_resource_urls or ():
        for verb in rule.verbs or ():
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _covers(whole: PolicyRule, part: PolicyRule) -> bool:
    """Whether ``whole`` allows ``part``, which is a result of `_parts`."""
    if not _has(whole.verbs, (part.verbs or ("",))[0]):
        return False
    if part.non_resource_urls:
        return any(_url_matches(url, part.non_resource_urls[0]) for url in whole.non_resource_urls or ())
    resource = (part.resources or ("",))[0]
    names = whole.resource_names
    return (
        _has(whole.api_groups, (part.api_groups or ("",))[0])
        and _has_resource(whole.resources, resource, resource.partition("/")[2])
        and (not names or bool(part.resource_names and part.resource_names[0] in names))
    )
