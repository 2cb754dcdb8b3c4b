"""Resources: the resources that a server serves, each in one preferred version."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from setpoint.client import Client, Discovery
from setpoint.meta import GroupVersion, Resource

TTL: Final = 10.0
"""Seconds for which the results of discovery are remembered."""
_EVENTS: Final = frozenset({("", "events"), ("events.k8s.io", "events")})
"""The resources that upstream's garbage collector ignores; a kind Event of another group is collected."""


class ServedResources:
    """The resources that the server serves, remembered for `TTL` seconds or until `forget`.

    Each resource is included once, in the version that its group prefers. A group that can't be asked (an aggregated
    server that is down) is left out and named in ``missing``.

    Several callers may share it, each with a client of its own, if the clients are of the same server.
    """

    def __init__(self) -> None:
        self.missing: dict[GroupVersion, str] = {}
        self._preferred: tuple[Resource, ...] = ()
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._until = float("-inf")
        self._asking = asyncio.Lock()

    def forget(self) -> None:
        """Makes the next call ask the server again, because the custom resources may have changed."""
        self._until = float("-inf")

    async def __call__(self, client: Client) -> Sequence[Resource]:
        """The served resources. ``client`` asks the server unless they are remembered.

        Raises:
            ApiError, TransportError: the server can't list its groups.
        """
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now >= self._until:
                answer = await Discovery(client).resources()
                preferred: dict[tuple[str, str], Resource] = {}
                for resource in answer.resources:
                    preferred.setdefault((resource.group, resource.plural), resource)
                self._preferred = tuple(preferred.values())
                self._kinds = {(resource.group, resource.kind): resource for resource in reversed(self._preferred)}
                self.missing = answer.failed
                self._until = now + TTL
            return self._preferred

    async def find(self, client: Client, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind, in the version that the resource's group prefers; None if the kind is not served.

        Raises:
            ApiError, TransportError: the server can't list its groups.
        """
        await self(client)
        return self._kinds.get((GroupVersion.parse(api_version).group, kind))


def is_collectable(resource: Resource) -> bool:
    """Whether the garbage collector and caches can handle the resource. Events are left out."""
    return (resource.group, resource.plural) not in _EVENTS and {"delete", "list", "watch"} <= set(resource.verbs)
