"""Whether the owner that an object names exists: by the graph of owners, or else by the server."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from setpoint.client import Client, NotFound, dynamic
from setpoint.cluster.garbage_collection.owner_graph import Graph
from setpoint.cluster.served_resources import ServedResources
from setpoint.meta import ObjectKey, OwnerReference, Resource

MAX_ABSENT: Final = 4096
"""The number of absent owners that are remembered; the server is not asked about them again."""


class OwnerLookup:
    """Looks owners up in ``graph``, and asks the server only about those that the graph does not contain. Owners that
    the server does not have are remembered: a uid never comes back.
    """

    def __init__(self, client: Client, resources: ServedResources, graph: Graph) -> None:
        self._client = client
        self._resources = resources
        self._graph = graph
        self._absent: OrderedDict[tuple[str, str, str, str], None] = OrderedDict()

    async def exists(self, reference: OwnerReference, dependent: Resource, namespace: str) -> bool:
        """Whether the owner exists, according to the graph or, if the graph does not contain it, according to the
        server.

        Raises:
            UnknownOwner: the server does not serve the owner's kind now.
            InvalidOwner: the owner's kind is namespaced, and the dependent is cluster-scoped.
        """
        owner = self._graph.get(reference.uid)
        resource = await self._resources.find(self._client, reference.api_version, reference.kind)
        if resource is None:
            raise UnknownOwner(
                f"{reference.kind} {reference.name} ({reference.api_version}) owns {dependent.kind}s in namespace "
                f"{namespace!r}, but the server serves no such kind"
            )
        if resource.namespaced and not namespace:
            raise InvalidOwner(
                f"a cluster-scoped {dependent.kind} can't be owned by the namespaced {reference.kind} {reference.name}"
            )
        space = namespace if resource.namespaced else ""
        place_of_owner = (resource.group, resource.plural, ObjectKey.of(space, reference.name))
        if owner is not None and (owner.gvr.group, owner.gvr.resource, owner.key) == place_of_owner:
            return True
        place = (reference.uid, str(resource), space, reference.name)
        if place in self._absent:
            self._absent.move_to_end(place)
            return False
        kind = dynamic(resource)
        try:
            candidate = await self._client.get(kind, reference.name, namespace=space or None)
        except NotFound:
            candidate = None
        if candidate is not None and candidate.uid == reference.uid:
            return True
        self._absent[place] = None
        if len(self._absent) > MAX_ABSENT:
            self._absent.popitem(last=False)
        return False


class UnknownOwner(Exception):
    """It is impossible to check now whether an owner exists: the server does not serve its kind."""


class InvalidOwner(Exception):
    """The owner's kind is namespaced, and the dependent is cluster-scoped, so there is no namespace to look in."""
