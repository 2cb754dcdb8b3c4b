"""Needs: permissions that a controller asks for beyond those that its other declarations imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from setpoint.meta import Object, resource_of

if TYPE_CHECKING:
    from setpoint.models.rbac_v1 import PolicyRule


VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""The verbs of RBAC for objects."""
_NAMELESS: Final = ("create", "deletecollection")
"""The verbs of requests in which an authorizer sees no name."""


class Need(NamedTuple):
    """A rule of RBAC: verbs on resources of API groups, for all objects or for those with certain names; or verbs on
    URLs.
    """

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


def need_of_kind(
    prefix: str, kind: type[Object], verbs: Sequence[str], subresource: str, names: Sequence[str] | str | None
) -> Need:
    """The need for verbs on a kind or on one of its subresources.

    Raises:
        ValueError: the need is not valid; the message begins with ``prefix``.
    """
    unknown = sorted({*verbs} - {*VERBS})
    if not verbs or unknown:
        problem = f"not {', '.join(map(repr, unknown))}" if verbs else "and at least one is needed"
        raise ValueError(f"{prefix}: the verbs on {kind.__name__} are {', '.join(VERBS)}, {problem}")
    resource = resource_of(kind)
    chosen = (names,) if isinstance(names, str) else tuple(names or ())
    if names is not None and not chosen:
        # For RBAC no names are all names, and a program whose list of them came out empty does not mean that.
        raise ValueError(f"{prefix}: names is empty, which would grant all {resource.plural}; leave it out for that")
    whole = f"{resource.plural}/{subresource}".rstrip("/")
    return _checked(prefix, Need((resource.group,), (whole,), tuple(verbs), chosen))


def need_of_rule(prefix: str, rule: PolicyRule) -> Need:
    """The need for a rule of RBAC.

    Raises:
        ValueError: an API server would not accept the rule, or the rule would allow nothing; the message begins with
            ``prefix``.
    """
    # The rules of validation are those of pkg/apis/rbac/validation.
    if not rule.verbs:
        raise ValueError(f"{prefix}: verbs must contain at least one value")
    if rule.non_resource_urls:
        if rule.api_groups or rule.resources or rule.resource_names:
            raise ValueError(f"{prefix}: rules cannot apply to both regular resources and non-resource URLs")
    elif not rule.api_groups:
        raise ValueError(f"{prefix}: resource rules must supply at least one api group, such as '' or 'apps'")
    elif not rule.resources:
        raise ValueError(f"{prefix}: resource rules must supply at least one resource")
    lists = (rule.api_groups, rule.resources, rule.verbs, rule.resource_names, rule.non_resource_urls)
    return _checked(prefix, Need(*map(tuple, lists)))


def _checked(prefix: str, need: Need) -> Need:
    """``need``, if it is valid.

    Raises:
        ValueError: a name is empty (which would allow all names), a URL is malformed, or a resource or verb would allow
            nothing.
    """
    if "" in need.names:
        raise ValueError(f"{prefix}: names contains an empty name, which would grant all objects: remove it")
    for resource in need.resources:
        kind, _, subresource = resource.partition("/")
        if subresource == "*":
            raise ValueError(
                f"{prefix}: {resource!r} allows nothing: RBAC accepts '*', '*/scale' and {kind!r}; name subresources"
            )
        useless = sorted({*need.verbs} & {*_NAMELESS}) if need.names and not subresource else []
        if useless:
            raise ValueError(
                f"{prefix}: {' and '.join(useless)} can't be limited to names, because such a request has no name: "
                "declare it without names"
            )
    for url in need.urls:
        if not url.startswith("/") and url != "*":
            raise ValueError(f"{prefix}: the non-resource URL {url!r} must begin with '/', or be '*'")
        if "*" in url[:-1]:
            raise ValueError(f"{prefix}: the non-resource URL {url!r} may have a '*' only at its end")
    return need
