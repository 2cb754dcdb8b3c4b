"""Environment: the objects that all parts of one run of a controller share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

import msgspec

from setpoint.cache import Informer, InformerFactory
from setpoint.client import ApiError, Client, TransportError
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.events import EventRecorder
from setpoint.controller.indexing import DeclaredIndex
from setpoint.controller.log import BoundLogger
from setpoint.controller.state import ProgramState
from setpoint.meta import GroupVersionResource, Object, ObjectKey, Resource


class Environment:
    """The names, client, clock, caches and log of one run. Nothing in it belongs to a single key."""

    __slots__ = (
        "caches",
        "client",
        "cluster",
        "controller",
        "field_manager",
        "indexes",
        "informers",
        "is_guarded",
        "log",
        "name",
        "now",
        "program",
        "random",
        "recorder",
        "reporter",
        "resource",
    )

    def __init__(
        self,
        *,
        controller: str,
        cluster: str,
        resource: Resource,
        field_manager: str,
        reporter: str,
        indexes: Sequence[DeclaredIndex],
        client: Client,
        factory: InformerFactory,
        now: Callable[[], datetime],
        random: Random,
        recorder: EventRecorder | None,
        log: BoundLogger,
        program: ProgramState,
        is_guarded: bool,
    ) -> None:
        self.controller = controller
        """The controller's name."""
        self.cluster = cluster
        """The name of the cluster in a fleet; ``""`` is the manager's own."""
        self.name = f"{controller}@{cluster}" if cluster else controller
        """The name that distinguishes this run from all others of its manager."""
        self.resource = resource
        """The resource of the objects that are reconciled."""
        self.field_manager = field_manager
        self.reporter = reporter
        self.indexes = indexes
        self.client = client
        self.now = now
        self.random = random
        self.recorder = recorder
        self.log = log
        self.program = program
        self.is_guarded = is_guarded
        """Whether another process may take over keys of this run, because processes share the keys or elect a leader.
        """
        self.informers: dict[GroupVersionResource, Informer[Any]] = {}
        """The informers of all declared kinds, once the run is prepared."""
        self.caches = CacheReader(self.informers, factory, self.name, client, cluster)

    def new_id(self) -> str:
        """An id for one reconcile."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def covers(self, resource: Resource, key: ObjectKey, labels: dict[str, str] | None) -> bool:
        """Whether the declared cache will show the object. Without ``labels``, a cache with a selector is assumed to
        cover only the objects that it already shows.
        """
        informer = self.informers.get(resource.gvr)
        if informer is None:
            return False
        scope = informer.shared.scope
        if scope.namespace and key.namespace != scope.namespace:
            return False
        if not scope.selector and not scope.field_selector:
            return True
        fields = {"metadata.name": key.name, "metadata.namespace": key.namespace}
        if any(requirement.field not in fields for requirement in scope.field_selector.requirements):
            return key in informer.store
        if not scope.field_selector.matches(fields):
            return False
        if scope.selector and labels is None:
            return key in informer.store
        return scope.selector.matches(labels)

    def known(self, resource: Resource, key: ObjectKey) -> bytes | None:
        """The document of an object in the declared cache: empty if the cache has no such object, None if there is
        no cache.
        """
        informer = self.informers.get(resource.gvr)
        return None if informer is None else informer.store.get(key) or b""

    async def read_document(self, resource: Resource, key: ObjectKey) -> dict[str, Any] | None:
        """Reads the object from the server and returns it as decoded JSON; None if it cannot be read."""
        try:
            body = await self.client.request("GET", resource.path(namespace=key.namespace, name=key.name))
        except (ApiError, TransportError):
            return None
        document: dict[str, Any] = msgspec.json.decode(body)
        return document

    def event(
        self, obj: Object, type: str, reason: str, message: str, *, action: str = "", related: Object | None = None
    ) -> None:
        """See `Context.event`. Without a recorder the event is only logged."""
        if self.recorder is not None:
            self.recorder.event(obj, type, reason, message, action=action or reason, related=related, by=self.reporter)
        else:
            self.log.info(message, extra={"key": obj.key, "event": type, "reason": reason})
