"""Discovery: the groups, versions and resources of this server (``/api``, ``/apis`` and below).

Newer clients ask for the aggregated form (``apidiscovery.k8s.io``, KEP-3352), which needs only two
requests. The legacy documents are for older clients and for browsers.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from setpoint.apiserver.errors import no_representation, not_acceptable
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.accept import MEDIA_TYPES, Clause, Media, accepted, has_representation, media_of
from setpoint.apiserver.responses.representation import respond as answer
from setpoint.meta import GroupVersionKind, Resource

_AGGREGATED: Final = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}

_STATUS_VERBS: Final = ("get", "patch", "update")
_SUBRESOURCE_VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "eviction": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": ("create", "delete", "get", "patch", "update"),
    "token": ("create",),
}
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_ORDER: Final = (
    *("", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"),
    *("autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"),
    *("storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"),
    *("coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"),
    "storagemigration.k8s.io",
)
"""Upstream's order of groups, by the priorities of their APIServices. Other groups follow, by name."""
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


class DiscoveredResource(Protocol):
    """One version of a served resource, reduced to the attributes that discovery needs."""

    custom: bool

    @property
    def resource(self) -> Resource: ...
    @property
    def stored_as(self) -> DiscoveredResource:
        """The version in which objects are stored."""
        ...


Resources = Iterable[DiscoveredResource]
"""All served resources."""


def respond(path: str, registry: Resources, accept: str) -> Response | None:
    """The response to a GET of ``path``; None if discovery has no document at the path.

    ``accept`` is the request's Accept header. The result is also None for a group or version that is not served,
    because the caller's 404 is more precise. Raises ApiStatusError (406).
    """
    parts = path.strip("/").split("/")
    if (parts[0] == "api" or len(parts) == 3) and not has_representation(accept, MEDIA_TYPES.values()):
        raise no_representation(MEDIA_TYPES.values())
    match parts:
        case ["api" | "apis" as root]:
            core = root == "api"
            media, whole = _negotiated(accept, aggregates=True)
            if whole:
                response = answer(aggregated(registry, core=core), media=media)
                # To the letter: client-go compares it as a string.
                response.headers["content-type"] += "".join(f";{key}={value}" for key, value in _AGGREGATED.items())
                return response
            return answer(legacy_versions(registry) if core else group_list(registry), media=media)
        case ["api", version]:
            document = resource_list(registry, "", version)
        case ["apis", group]:
            document = next((item for item in group_list(registry)["groups"] if item["name"] == group), None)
            document = document and {"kind": "APIGroup", "apiVersion": "v1", **document}
        case ["apis", group, version]:
            document = resource_list(registry, group, version)
        case _:
            return None
    return None if document is None else answer(document, media=_negotiated(accept)[0])


def _negotiated(accept: str, *, aggregates: bool = False) -> tuple[Media, bool]:
    """The media type of the response, and whether the client accepts aggregated discovery (v2, not v2beta1).

    Raises ApiStatusError (406).
    """
    clauses: list[tuple[Clause, Media]] = [
        (clause, media) for clause in accepted(accept) if (media := media_of(clause)) is not None
    ]
    for clause, media in clauses:
        if aggregates and clause.parameters.items() >= _AGGREGATED.items():
            return media, True
    for clause, media in clauses:
        if "as" not in clause.parameters:
            return media, False
    raise not_acceptable(MEDIA_TYPES.values())


def version_order(version: str) -> tuple[int, int, int, str]:
    """The sort key for versions in Kubernetes' order of preference: v2, v1, v1beta1, v1alpha1, then all
    others by name.
    """
    match = _VERSION.fullmatch(version)
    if not match:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0), "")


# -- legacy -----------------------------------------------------------------------------------------------------------


def legacy_versions(registry: Resources) -> dict[str, Any]:
    """The document at ``/api``."""
    return {
        "kind": "APIVersions",
        "versions": [version for group, versions in _groups(registry).items() if not group for version in versions],
        "serverAddressByClientCIDRs": [],
    }


def group_list(registry: Resources) -> dict[str, Any]:
    """The document at ``/apis``."""
    groups = [
        {
            "name": group,
            "versions": (served := [_version(group, version) for version in versions]),
            "preferredVersion": served[0],
        }
        for group, versions in _groups(registry).items()
        if group
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def resource_list(registry: Resources, group: str, version: str) -> dict[str, Any] | None:
    """The list of resources at ``/api/v1`` or ``/apis/GROUP/VERSION``; None if that version is not served."""
    served = _groups(registry).get(group, {}).get(version)
    if served is None:
        return None
    entries: list[dict[str, Any]] = []
    for entry in served:
        resource = entry.resource
        entries.append(_legacy_entry(entry))
        entries += [_legacy_subresource(resource, *item) for item in sorted(resource.subresources.items())]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": _group_version(group, version),
        "resources": entries,
    }


def _legacy_entry(served: DiscoveredResource) -> dict[str, Any]:
    resource = served.resource
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular or resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(served),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "watch" in resource.verbs:  # without it, objects are computed and not stored
        entry["storageVersionHash"] = _storage_version_hash(served.stored_as.resource)
    return entry


def _legacy_subresource(resource: Resource, name: str, kind: GroupVersionKind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind.kind,
        "verbs": list(_SUBRESOURCE_VERBS.get(name, _STATUS_VERBS)),
    }
    if (kind.group, kind.version) != (resource.group, resource.version):
        entry |= {"group": kind.group, "version": kind.version}
    return entry


def _storage_version_hash(resource: Resource) -> str:
    digest = hashlib.sha256(f"{resource.group}/{resource.version}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


# -- aggregated -------------------------------------------------------------------------------------------------------


def aggregated(registry: Resources, *, core: bool) -> dict[str, Any]:
    """The document at ``/api`` or ``/apis`` as an APIGroupDiscoveryList of ``apidiscovery.k8s.io/v2``."""
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {"version": version, "resources": [_entry(resource) for resource in resources], "freshness": "Current"}
                for version, resources in versions.items()
            ],
        }
        for group, versions in _groups(registry).items()
        if (not group) is core
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _entry(served: DiscoveredResource) -> dict[str, Any]:
    resource = served.resource
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _kind(served, resource.gvk),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular or resource.kind.lower(),
        "verbs": _verbs(served),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind(served, kind),
                "verbs": list(_SUBRESOURCE_VERBS.get(name, _STATUS_VERBS)),
            }
            for name, kind in sorted(resource.subresources.items())
        ]
    return entry


def _kind(served: DiscoveredResource, kind: GroupVersionKind) -> dict[str, str]:
    """The kind of an answer; that of a built-in resource has no group and version if it is in the resource's own."""
    resource = served.resource
    if not served.custom and (kind.group, kind.version) == (resource.group, resource.version):
        return {"group": "", "version": "", "kind": kind.kind}
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


# -- shared -----------------------------------------------------------------------------------------------------------


def _groups(registry: Resources) -> dict[str, dict[str, list[DiscoveredResource]]]:
    """The resources by group and version: groups and versions in order of preference, resources by name."""
    groups: dict[str, dict[str, list[DiscoveredResource]]] = {}
    for served in registry:
        resource = served.resource
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(served)
    return {
        group: {
            version: sorted(groups[group][version], key=lambda served: served.resource.plural)
            for version in sorted(groups[group], key=version_order)
        }
        for group in sorted(groups, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    }


def _verbs(served: DiscoveredResource) -> list[str]:
    verbs = served.resource.verbs
    return [verb for verb in _CUSTOM_VERBS if verb in verbs] if served.custom else sorted(verbs)


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def _version(group: str, version: str) -> dict[str, str]:
    return {"groupVersion": _group_version(group, version), "version": version}
