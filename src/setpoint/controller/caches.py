"""Caches: the declared caches of one run, which mapping functions and contexts read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from setpoint.cache import Informer, Lister, UndeclaredRead
from setpoint.client import Client
from setpoint.meta import GroupVersionResource, Object, resource_of

T = TypeVar("T", bound=Object)


class Caches:
    """The caches of every kind that a controller declares, for its mapping functions.

    A cache may be slightly behind the server. When a change to an object is mapped, the cache of the object's kind
    shows that change or a newer state. An object that appears in another cache later causes an event of its own.
    """

    __slots__ = ("_informers", "_name", "client", "cluster")

    def __init__(
        self, informers: Mapping[GroupVersionResource, Informer[Any]], name: str, client: Client, cluster: str
    ) -> None:
        self._informers = informers
        self._name = name
        self.client = client
        """The client. Mapping functions that are coroutine functions can use it for reads that no cache can answer."""
        self.cluster = cluster
        """The name of the cluster in a fleet; ``""`` is the manager's own."""

    def lister(self, kind: type[T]) -> Lister[T]:
        """The cache of a declared kind.

        Raises:
            UndeclaredRead: the controller declares no cache of that kind.
        """
        informer = self._informers.get(resource_of(kind).gvr)
        if informer is None:
            name = kind.__name__
            raise UndeclaredRead(
                f"controller {self._name!r} declares no cache of {name}: add .owns({name}), .watches({name}, ...) "
                f"or .reads({name}), or read live with the client"
            )
        lister: Lister[T] = informer.lister
        return lister
