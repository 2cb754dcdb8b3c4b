"""Discovery of a server's resources: aggregated (KEP-3352) if possible, otherwise one request per group version."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from msgspec import Struct

from setpoint.client.base import ClientBase
from setpoint.client.errors import ApiError, NotFound
from setpoint.client.requester import JSON, build_request
from setpoint.client.transport import TransportError
from setpoint.meta import GroupVersion, GroupVersionKind, Resource

TIMEOUT = 32.0
"""Seconds for each request of a discovery, as in client-go."""
_FORM = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
AGGREGATED = ",".join((_FORM.format("v2"), _FORM.format("v2beta1"), JSON))


class Discovered(msgspec.Struct, frozen=True):
    """The resources of a server.

    Attributes:
        resources: the resources in the server's order of groups; within a group the preferred version comes first.
        failed: the group versions that could not be discovered, with the reasons (for example, an aggregated API server
            is down).
    """

    resources: tuple[Resource, ...]
    failed: dict[GroupVersion, str] = msgspec.field(default_factory=dict)


class _Kind(Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(Struct, rename="camel"):
    subresource: str
    response_kind: _Kind | None = None


class _AggregatedResource(Struct, rename="camel"):
    resource: str
    response_kind: _Kind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _AggregatedVersion(Struct):
    version: str
    resources: list[_AggregatedResource] | None = None
    freshness: str = ""


class _Name(Struct):
    name: str = ""


class _AggregatedGroup(Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_AggregatedVersion] | None = None


class _GroupVersion(Struct, rename="camel"):
    version: str
    group_version: str = ""


class _Group(Struct, rename="camel"):
    name: str
    versions: list[_GroupVersion]
    preferred_version: _GroupVersion | None = None


class _Root(Struct):
    """An answer from ``/api`` or ``/apis``. The ``kind`` of an aggregated answer is ``APIGroupDiscoveryList``."""

    kind: str = ""
    items: list[_AggregatedGroup] | None = None
    groups: list[_Group] | None = None
    versions: list[str] | None = None


class _LegacyResource(Struct, rename="camel"):
    name: str
    kind: str = ""
    namespaced: bool = False
    singular_name: str = ""
    group: str = ""
    version: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(Struct):
    kind: str = ""
    resources: list[_LegacyResource] | None = None


_Document = TypeVar("_Document", _Root, _ResourceList)
_KINDS = frozenset(("", "APIGroupDiscoveryList", "APIGroupList", "APIResourceList", "APIVersions"))
"""The kinds of discovery documents. A proxy may answer with a Status and the code 200."""


class Discovery:
    """Discovers a server's resources. Each call asks the server; `setpoint.client.RestMapper` caches the answers.

    A group version whose discovery fails does not affect the others; `Discovered.failed` has the reason.
    """

    def __init__(self, client: ClientBase) -> None:
        self._client = client

    async def resources(self) -> Discovered:
        """All resources of the server.

        Raises:
            ApiError: the server refuses even the list of groups.
            TransportError: there was no list of groups, or it can't be read.
        """
        resources: list[Resource] = []
        failed: dict[GroupVersion, str] = {}
        legacy: list[GroupVersion] = []
        for path in ("/api", "/apis"):
            try:
                root = await self._get(path, _Root, AGGREGATED)
            except NotFound:  # a server without the core group, or without any other
                continue
            if root.kind == "APIGroupDiscoveryList":
                for group in root.items or ():
                    _add_aggregated(group, resources, failed)
            legacy += [GroupVersion("", version) for version in root.versions or ()]
            for listed in root.groups or ():
                versions = [entry.version for entry in listed.versions]
                preferred = listed.preferred_version
                if preferred is not None and preferred.version in versions:
                    versions.insert(0, versions.pop(versions.index(preferred.version)))
                legacy += [GroupVersion(listed.name, version) for version in versions]
        if legacy:
            async with asyncio.TaskGroup() as group_tasks:
                tasks = [group_tasks.create_task(self._legacy(version)) for version in legacy]
            for version, task in zip(legacy, tasks, strict=True):
                result = task.result()
                if isinstance(result, str):
                    failed[version] = result
                else:
                    resources += result
        return Discovered(tuple(resources), failed)

    async def _legacy(self, version: GroupVersion) -> list[Resource] | str:
        """The resources of one group version, or the reason why discovery failed."""
        path = f"/apis/{version.group}/{version.version}" if version.group else f"/api/{version.version}"
        try:
            listed = await self._get(path, _ResourceList, JSON)
        except (ApiError, TransportError) as problem:
            return str(problem)
        subresources: dict[str, dict[str, GroupVersionKind]] = {}
        for entry in listed.resources or ():
            parent, slash, name = entry.name.partition("/")
            if slash:
                subresources.setdefault(parent, {})[name] = GroupVersionKind(
                    entry.group or version.group, entry.version or version.version, entry.kind
                )
        return [
            Resource(
                group=version.group,
                version=version.version,
                kind=entry.kind,
                plural=entry.name,
                namespaced=entry.namespaced,
                singular=entry.singular_name or entry.kind.lower(),
                list_kind=f"{entry.kind}List",
                short_names=tuple(entry.short_names or ()),
                categories=tuple(entry.categories or ()),
                verbs=tuple(entry.verbs or ()),
                subresources=subresources.get(entry.name, {}),
            )
            for entry in listed.resources or ()
            if "/" not in entry.name
        ]

    async def _get(self, path: str, kind: type[_Document], accept: str) -> _Document:
        body = await self._client._requester.request(build_request("GET", path, accept=accept, timeout=TIMEOUT))
        try:
            document = msgspec.json.decode(body, type=kind)
            if document.kind not in _KINDS:
                raise msgspec.DecodeError(f"it is a {document.kind}")
            if document == kind():
                raise msgspec.DecodeError("it has no kind and no content")
            return document
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            excerpt = body[:200].decode("utf-8", "replace")
            raise TransportError(
                f"GET {path}: the answer is not a discovery document: {problem}: {excerpt}", sent=True
            ) from None


def _add_aggregated(group: _AggregatedGroup, resources: list[Resource], failed: dict[GroupVersion, str]) -> None:
    name = group.metadata.name
    for version in group.versions or ():
        if version.freshness == "Stale":
            failed[GroupVersion(name, version.version)] = "the aggregated API server that serves it does not answer"
        for entry in version.resources or ():
            kind = entry.response_kind
            if kind is None or not kind.kind:
                continue
            resources.append(
                Resource(
                    group=name,
                    version=version.version,
                    kind=kind.kind,
                    plural=entry.resource,
                    namespaced=entry.scope == "Namespaced",
                    singular=entry.singular_resource or kind.kind.lower(),
                    list_kind=f"{kind.kind}List",
                    short_names=tuple(entry.short_names or ()),
                    categories=tuple(entry.categories or ()),
                    verbs=tuple(entry.verbs or ()),
                    subresources={
                        sub.subresource: GroupVersionKind(
                            sub.response_kind.group or name,
                            sub.response_kind.version or version.version,
                            sub.response_kind.kind,
                        )
                        for sub in entry.subresources or ()
                        if sub.response_kind is not None
                    },
                )
            )
