"""First objects: which resources of a server in this process have no objects, so that nothing has to watch them yet."""

from __future__ import annotations

from collections.abc import Callable

from setpoint.apiserver import ApiServer
from setpoint.meta import Resource


class FirstObjects:
    """The first objects of a server's resources. Most resources of a cluster have no objects, and a watch of each of
    them would cost more than everything else that a new cluster does.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def stores(self, resource: Resource) -> bool:
        """Whether the server stores the resource. Otherwise it is not served, or another server serves it (an
        APIService).
        """
        return self._server.registry.find(resource.group, resource.version, resource.plural) is not None

    def expect(self, resource: Resource, appeared: Callable[[], None]) -> Callable[[], None] | None:
        """If the server stores the resource and has no object of it, ``appeared`` is called once, after the first
        object is stored and before its writer has the answer. The result is a function that ends this.

        None if there are objects, or if the server does not store the resource.
        """
        served = self._server.registry.find(resource.group, resource.version, resource.plural)
        storage = self._server.storage
        if served is None or storage.scan_from("", served.collection)[1]:
            return None

        def wake() -> None:
            subscription.close()
            appeared()

        subscription = storage.subscribe(served.collection, storage.revision, wake)
        return subscription.close
