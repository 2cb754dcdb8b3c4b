"""Resources: what a server serves, in one preferred version each, and classes for kinds that nobody has modelled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from setpoint.client import ApiError, Client
from setpoint.meta import GroupVersion, Object, Resource
from setpoint.meta.model import ModelMeta

TTL: Final = 10.0
"""Seconds for which an answer of discovery is believed."""
_EVENTS: Final = "events"


class _ApiResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool = False
    verbs: list[str] = []
    singular_name: str = ""


class _ApiResourceList(msgspec.Struct):
    resources: list[_ApiResource] = []


class _VersionEntry(msgspec.Struct, rename="camel"):
    group_version: str
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_VersionEntry] = []
    preferred_version: _VersionEntry | None = None


class _GroupList(msgspec.Struct):
    groups: list[_Group] = []


class ServedResources:
    """Asks the server what it serves, and remembers the answer for `TTL` seconds or until `forget`.

    Each resource comes once, in the version that its group prefers. Subresources are left out. A group that can't be
    asked (an aggregated server that is down) is left out and listed in ``missing``.
    """

    def __init__(self, client: Client) -> None:
        self.missing: dict[str, str] = {}
        self._client = client
        self._found: tuple[Resource, ...] = ()
        self._until = float("-inf")
        self._asking: asyncio.Lock = asyncio.Lock()

    def forget(self) -> None:
        """Ask anew next time: something about custom resources has changed."""
        self._until = float("-inf")

    async def __call__(self) -> Sequence[Resource]:
        """Raises `ApiError` or `TransportError` if the server can't say which groups there are."""
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now >= self._until:
                self._found = await self._ask()
                self._until = now + TTL
            return self._found

    async def find(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind, in exactly that version or, if that is not served, in the preferred one."""
        group = GroupVersion.parse(api_version).group
        return next((found for found in await self() if found.kind == kind and found.group == group), None)

    async def _ask(self) -> tuple[Resource, ...]:
        groups = msgspec.json.decode(await self._client.request("GET", "/apis"), type=_GroupList).groups
        versions = [("", ["v1"])]
        for group in groups:
            names = [entry.group_version.rpartition("/")[2] for entry in group.versions]
            preferred = group.preferred_version
            first = preferred.group_version.rpartition("/")[2] if preferred is not None else names[0]
            versions.append((group.name, [first, *(name for name in names if name != first)]))
        found: dict[tuple[str, str], Resource] = {}
        self.missing = {}
        for group_name, names in versions:
            for version in names:
                for resource in await self._list(group_name, version):
                    found.setdefault((resource.group, resource.plural), resource)
        return tuple(found.values())

    async def _list(self, group: str, version: str) -> list[Resource]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = msgspec.json.decode(await self._client.request("GET", path), type=_ApiResourceList)
        except ApiError as problem:
            self.missing[f"{group}/{version}"] = problem.message
            return []
        return [
            Resource(
                group=group,
                version=version,
                kind=entry.kind,
                plural=entry.name,
                singular=entry.singular_name,
                namespaced=entry.namespaced,
                verbs=tuple(entry.verbs),
            )
            for entry in answer.resources
            if "/" not in entry.name
        ]


def is_collectable(resource: Resource) -> bool:
    """Whether the garbage collector and caches can deal with it. Events are no part of anything."""
    return resource.plural != _EVENTS and {"delete", "list", "watch"} <= set(resource.verbs)


def kind_of(resource: Resource) -> type[Object]:
    """A class for a resource of which only the metadata matters."""
    made: Any = ModelMeta(
        resource.kind, (Object,), {"__doc__": f"A {resource.kind}, of which only the metadata counts."}
    )
    made.resource = resource
    kind: type[Object] = made
    return kind
