"""RestMapper: finds resources by the names that kubectl accepts, or by kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from difflib import get_close_matches

from setpoint.client.discovery import Discovered, Discovery
from setpoint.client.errors import ApiError
from setpoint.client.transport import TransportError
from setpoint.concurrency import FairSemaphore
from setpoint.meta import GroupKind, GroupVersion, GroupVersionKind, Resource

REFRESH_PERIOD = 1.0
"""The least number of seconds between the beginnings of two discoveries that unknown names cause."""
MAX_AGE = 30.0
"""Seconds after which a look-up discovers anew, because versions may no longer be served: the period at which
kube-controller-manager's garbage collector does so.
"""


class NoMatchError(LookupError):
    """The server has no such resource. The message names the resource, and the groups whose discovery failed."""


class AmbiguousMatchError(LookupError):
    """Several custom groups have a resource with the requested name. The message lists them, each in an unambiguous
    form.
    """


class RestMapper:
    """Finds resources by kind, plural, singular, short name or category. The first look-up runs discovery.

    *Guarantees*

    - An unknown name counts as absent only after a discovery that began after the look-up, so a new
      CustomResourceDefinition is found. Such discoveries begin at least a second apart; a look-up waits for the next.
    - A version that the server has stopped serving is found for at most 30 seconds more, and not after a request of
      this client that failed because of it. While discovery fails, for the whole server or for a group, the last
      result is used.
    - Concurrent callers share discoveries.
    - If several groups have a resource of that name, built-in groups win over custom ones, and among built-in groups
      the first in the server's order wins (the core group comes first). If there are several groups and all are custom,
      the name is ambiguous. If a group has several versions, its preferred version is used.
    """

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._discovered = Discovered(())
        self._started_at = float("-inf")
        self._fresh_until = float("-inf")
        self._unserved = 0
        """The number of answers about resources that are not served, before the last discovery."""
        self._runs = 0
        """The number of discoveries that have begun."""
        self._turn = FairSemaphore(1)  # not an asyncio.Lock, which belongs to the first loop that waits for it

    async def resource(self, name: str) -> Resource:
        """The resource that kubectl would find under ``name``: ``po``, ``pod``, ``pods``, ``Pod``,
        ``deployments.apps``, ``deployments.v1.apps``.

        Raises:
            NoMatchError: the server has no such resource.
            AmbiguousMatchError: several custom groups have a resource with this name.
        """
        resources = await self._find(lambda discovered: _by_name(discovered, name), name)
        if len(resources) > 1:
            exact = " or ".join(f"{entry.plural}.{entry.group}" for entry in resources)
            raise AmbiguousMatchError(f"the server has several resources {name!r}: use {exact}")
        return resources[0]

    async def for_kind(self, kind: GroupVersionKind | GroupKind) -> Resource:
        """The resource of a kind, in the kind's version or, for a `GroupKind`, in the preferred version.

        Raises:
            NoMatchError: the server has no such kind.
        """
        version = kind.version if isinstance(kind, GroupVersionKind) else ""
        return (await self._find(lambda discovered: _by_kind(discovered, kind.group, version, kind.kind), str(kind)))[0]

    async def category(self, name: str) -> list[Resource]:
        """Every resource of a category such as ``all``, each in its preferred version.

        Raises:
            NoMatchError: the category is empty.
        """
        return await self._find(lambda discovered: _preferred(discovered, lambda entry: name in entry.categories), name)

    async def refresh(self) -> Discovered:
        """Runs discovery again, and returns its result."""
        await self._turn.acquire()
        try:
            return await self._discover()
        finally:
            self._turn.release()

    def _is_fresh(self) -> bool:
        is_young = asyncio.get_running_loop().time() < self._fresh_until
        return is_young and self._unserved == self._discovery._client._requester.unserved

    async def _discover(self) -> Discovered:
        started_at, unserved = asyncio.get_running_loop().time(), self._discovery._client._requester.unserved
        self._runs += 1
        fresh = await self._discovery.resources()
        listed = {(entry.group, entry.version) for entry in fresh.resources}
        remembered = [
            entry
            for entry in self._discovered.resources
            if GroupVersion(entry.group, entry.version) in fresh.failed and (entry.group, entry.version) not in listed
        ]
        self._discovered = Discovered((*fresh.resources, *remembered), fresh.failed)
        self._started_at, self._fresh_until, self._unserved = started_at, started_at + MAX_AGE, unserved
        return self._discovered

    async def _find(self, search: Callable[[Discovered], list[Resource]], name: str) -> list[Resource]:
        loop, runs = asyncio.get_running_loop(), self._runs
        resources = search(self._discovered)
        if resources and self._is_fresh():
            return resources
        await self._turn.acquire()
        try:
            resources = search(self._discovered)
            is_due = not self._is_fresh() and loop.time() >= self._started_at + REFRESH_PERIOD
            if (resources and is_due) or (not resources and self._runs == runs):
                await asyncio.sleep(max(0.0, self._started_at + REFRESH_PERIOD - loop.time()))
                try:
                    resources = search(await self._discover())
                except (ApiError, TransportError):
                    if not resources:
                        raise
                    self._fresh_until = loop.time() + MAX_AGE
        finally:
            self._turn.release()
        if resources:
            return resources
        discovered = self._discovered
        text = f"the server has no resource {name!r}{_suggestion(discovered, name)}"
        if discovered.failed:
            text += "; the discovery of these groups failed: " + "; ".join(
                f"{version}: {why}" for version, why in discovered.failed.items()
            )
        raise NoMatchError(text)


def _by_name(discovered: Discovered, name: str) -> list[Resource]:
    plural, _, rest = name.partition(".")
    if rest:
        version, _, group = rest.partition(".")
        exact = [
            entry
            for entry in discovered.resources
            if _called(entry, plural) and ((entry.group == rest) or (entry.version == version and entry.group == group))
        ]
        return exact[:1]
    for fits in (_called, _short):
        by_group: dict[str, Resource] = {}
        for entry in discovered.resources:
            if fits(entry, plural):
                by_group.setdefault(entry.group, entry)
        if by_group:
            own = [entry for group, entry in by_group.items() if "." not in group or group.endswith(".k8s.io")]
            return own[:1] or list(by_group.values())
    return []


def _suggestion(discovered: Discovered, name: str) -> str:
    spelt = dict.fromkeys(
        f"{entry.plural}.{entry.group}" if "." in name else entry.plural for entry in discovered.resources
    )
    matches = get_close_matches(name.lower(), spelt, 1, 0.75)
    return f" (is {matches[0]} meant?)" if matches else ""


def _by_kind(discovered: Discovered, group: str, version: str, kind: str) -> list[Resource]:
    return [
        entry
        for entry in discovered.resources
        if entry.kind == kind and entry.group == group and (not version or entry.version == version)
    ][:1]


def _preferred(discovered: Discovered, fits: Callable[[Resource], bool]) -> list[Resource]:
    preferred: dict[tuple[str, str], Resource] = {}
    for entry in discovered.resources:
        if fits(entry):
            preferred.setdefault((entry.group, entry.plural), entry)
    return list(preferred.values())


def _called(entry: Resource, name: str) -> bool:
    lower = name.lower()
    return lower in (entry.plural, entry.singular, entry.kind.lower())


def _short(entry: Resource, name: str) -> bool:
    return name in entry.short_names
