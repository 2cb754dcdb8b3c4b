"""FleetEvents: changes in the clusters of a fleet, as keys for a controller in the manager's own cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol, TypeAlias

from setpoint.cache import Head
from setpoint.controller.predicates import Test
from setpoint.controller.run.delivery import items_in
from setpoint.manager.fleet.fleet_cluster import FleetCluster
from setpoint.meta import Object, ObjectKey

logger = logging.getLogger("setpoint.fleet")
ClusterMap: TypeAlias = Callable[[str, Head], Iterable[ObjectKey | str]]
"""A function, ``map(cluster, head)``, that returns the keys in the manager's own cluster for an object in a cluster of
the fleet.
"""


class FleetListener(Protocol):
    """The interface of objects that are notified when clusters join or leave."""

    def on_join(self, cluster: FleetCluster) -> None: ...

    def on_leave(self, cluster: FleetCluster) -> None:
        """Called when the cluster is about to leave; its caches can still be read."""
        ...


class FleetEvents:
    """A `Source`. Each call first yields the keys for all existing objects, and then those for every change.

    *Guarantees*: a pending key is stored once, so memory is bounded by the number of keys.
    """

    def __init__(
        self,
        listen: Callable[[FleetListener], Callable[[], None]],
        kind: type[Object],
        map: ClusterMap,
        predicates: tuple[Test, ...],
    ) -> None:
        self._listen = listen
        self._kind = kind
        self._map = map
        self._predicates = predicates

    async def __call__(self) -> AsyncIterator[ObjectKey | str]:
        listener = _Listener(self._kind, self._map, self._predicates)
        remove = self._listen(listener)
        try:
            while True:
                await listener.some.wait()
                while listener.keys:
                    key = next(iter(listener.keys))
                    del listener.keys[key]
                    yield key
                listener.some.clear()
        finally:
            remove()
            listener.close()


class _Listener:
    def __init__(self, kind: type[Object], map: ClusterMap, predicates: tuple[Test, ...]) -> None:
        self.keys: dict[ObjectKey | str, None] = {}
        self.some = asyncio.Event()
        self._kind, self._map, self._predicates = kind, map, predicates
        self._removals: dict[FleetCluster, Callable[[], None]] = {}

    def on_join(self, cluster: FleetCluster) -> None:
        name = cluster.name

        def deliver(old: Head | None, new: Head | None) -> None:
            if all(test(old, new) for test in self._predicates):
                for head in (old, new):
                    if head is not None:
                        self.keys.update(dict.fromkeys(items_in(self._map(name, head))))
                if self.keys:
                    self.some.set()

        registration = cluster.informer(self._kind).add_event_handler(
            on_add=lambda head, _initial: deliver(None, head),
            on_update=deliver,
            on_delete=lambda head, _unknown: deliver(head, None),
            name=f"events of {name}",
        )
        self._removals[cluster] = registration.detach

    def on_leave(self, cluster: FleetCluster) -> None:
        self._removals.pop(cluster)()
        store = cluster.informer(self._kind).store
        for key in list(store):
            if (head := store.head(key)) is None:
                continue
            try:
                self.keys.update(dict.fromkeys(items_in(self._map(cluster.name, head))))
            except Exception:  # as in a cache's own handlers: a failure for one object does not affect others
                extra = {"fields": {"cluster": cluster.name, "object": f"{self._kind.__name__} {key}"}}
                logger.exception("an object of a removed cluster can't be mapped to keys", extra=extra)
        if self.keys:
            self.some.set()

    def close(self) -> None:
        for remove in self._removals.values():
            remove()
