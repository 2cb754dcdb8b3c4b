"""Parses paths of resources, such as ``/apis/apps/v1/namespaces/default/deployments/web/scale``."""

from __future__ import annotations

import msgspec

# below /namespaces/NAME these are subresources of the namespace, everything else is a resource in it
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class ResourcePath(msgspec.Struct, frozen=True):
    """A path below ``/api/VERSION`` or ``/apis/GROUP/VERSION``. Parts that the path does not have are empty."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    """Whether the deprecated ``/watch/`` precedes the resource."""
    surplus: bool = False
    """Whether more segments follow the subresource (as in proxies)."""


def parse_path(path: str) -> ResourcePath | None:
    """The parsed path; None for a path that does not belong to a resource, such as ``/version`` or ``/apis/apps``."""
    parts = path.split("/")[1:]
    if parts and parts[-1] == "":
        parts.pop()
    if "" in parts:
        return None
    match parts:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    watch = len(rest) > 1 and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    if not rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest[:3], "", "")[:3]
    return ResourcePath(group, version, resource, namespace, name, subresource, watch, len(rest) > 3)
