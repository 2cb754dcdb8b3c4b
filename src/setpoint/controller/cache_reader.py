"""CacheReader: the caches of one run, which mapping functions, contexts and sources read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from setpoint.cache import Informer, InformerFactory, Lister, UndeclaredRead
from setpoint.cache.lister import AnySelector
from setpoint.client import Client
from setpoint.meta import FieldSelector, GroupVersionResource, Object, resource_of

T = TypeVar("T", bound=Object)


class CacheReader:
    """The caches of every kind that a controller declares, for its mapping functions and sources.

    A cache may be slightly behind the server. When a change to an object is mapped, the cache of the object's kind
    shows that change or a newer state. An object that appears in another cache later causes an event of its own.
    """

    __slots__ = ("_factory", "_informers", "_name", "client", "cluster")

    def __init__(
        self,
        informers: Mapping[GroupVersionResource, Informer[Any]],
        factory: InformerFactory,
        name: str,
        client: Client,
        cluster: str,
    ) -> None:
        self._informers = informers
        self._factory = factory
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

    def informer(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: str | Mapping[str, str] | FieldSelector | None = None,
        metadata_only: bool = False,
    ) -> Informer[T]:
        """An informer of any kind, for kinds that become known only while the program runs; see `dynamic` for kinds
        without a class. It shares its watch and its cache with all other informers of the manager that have the same
        scope. The watch ends when the last of them is closed, so callers close the informer, or use ``async with``.

        The arguments are those of `InformerFactory.informer`. The program's role needs ``list`` and ``watch`` on the
        kind (`Controller.needs`).

        Raises:
            InformerStopped: the manager has ended.
            SelectorError: a selector is not valid.
            TypeError: ``kind`` has no resource.
        """
        return self._factory.informer(
            kind,
            namespace=namespace,
            selector=selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
        )
