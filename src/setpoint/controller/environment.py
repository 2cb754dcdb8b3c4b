"""Environment: the objects that all parts of one run of a controller share, made of its declaration and its host."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, Protocol, TypeVar

import msgspec

from setpoint.cache import InformerFactory
from setpoint.cache.key_shard import KeyShard
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.client import ApiError, Client, TransportError
from setpoint.concurrency import Deadline
from setpoint.controller.cache_reader import CacheReader, DeclaredInformers
from setpoint.controller.controls import PausedControllers
from setpoint.controller.declaration import Declaration
from setpoint.controller.events import EventRecorder
from setpoint.controller.predicates import Test
from setpoint.controller.telemetry import BoundLogger, ControllerMetrics
from setpoint.meta import GroupVersionResource, Head, Object, ObjectKey, Resource

T = TypeVar("T")
_NOTHING: Final = object()
_LOGGER: Final = logging.getLogger("setpoint.controller")


class ProgramState:
    """The object that a program's lifespan yields. It is available only while controllers run."""

    __slots__ = ("_value",)

    def __init__(self, value: Any = _NOTHING) -> None:
        self._value = value

    def open(self, value: Any) -> None:
        """Makes ``value`` available to reconciles."""
        self._value = value

    def close(self) -> None:
        """Makes the value unavailable to reconciles."""
        self._value = _NOTHING

    def of(self, kind: type[T]) -> T:
        """The object, which is an instance of ``kind``.

        Raises:
            LookupError: there is no object.
            TypeError: the object is of another class.
        """
        value = self._value
        if isinstance(value, kind):
            return value
        if value is _NOTHING:
            raise LookupError(
                f"there is no {kind.__name__} for reconciles: give the program a lifespan that yields one, "
                "as lifespan= of sp.main, sp.Operator, sp.Manager or testing.cluster"
            )
        raise TypeError(f"the program's lifespan yields a {type(value).__name__}, not a {kind.__name__}")


class Share(Protocol):
    """The keys of this process. A share never changes; a new share replaces it."""

    @property
    def empty(self) -> bool: ...

    def owns(self, controller: str, key: ObjectKey) -> bool: ...


class Shard(Protocol):
    """The keys on which this process may act, and until when: for one of several processes that share the keys of their
    controllers, or that elect a leader, which has all keys.
    """

    @property
    def share(self) -> Share:
        """The current share: the keys whose reconciles may begin now."""
        ...

    @property
    def namespaces(self) -> NamespaceShard | None:
        """The namespaces whose keys this process may have, if processes share the keys by namespace; else None."""
        ...

    @property
    def key_shards(self) -> dict[tuple[str, GroupVersionResource], KeyShard] | None:
        """The shards of this process's caches, by the name of the cluster and the resource, if the caches hold only the
        objects that concern its keys; else None.
        """
        ...

    @property
    def until(self) -> float:
        """The loop time from which another process may take over; in the past if this process has no keys."""
        ...

    def may_act(self, work: tuple[str, ObjectKey] | None = None) -> bool:
        """Whether no other process can have taken over yet, according to this process's clock. With ``work`` (the name
        of a controller and a key), also whether the key's reconcile is running here by permission of `begin`.
        """
        ...

    def on_change(self, listener: Callable[[Share], None]) -> Callable[[], None]:
        """Calls ``listener`` with the new share at every change of the share. The returned function removes the
        listener.
        """
        ...

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        """Notes that a reconcile begins, and returns its deadline; None if the reconcile must not begin. The deadline
        expires when another process wants the key. If a deadline was returned, the caller must call `end` when the
        reconcile has ended.
        """
        ...

    def end(self, controller: str, key: ObjectKey) -> None: ...

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        """The reason why the key is not reconciled in this process; ``""`` if it may be reconciled here."""
        ...


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """The things that one process provides to all runs of its controllers, in any cluster: ``now`` returns the time of
    day, ``random`` is for jitter and names, ``metrics`` take the figures of the runs, ``state`` has the object of the
    program's lifespan, ``paused`` the controllers that people have paused, and
    ``resync`` the period of controllers that declare none.
    """

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: Random = msgspec.field(default_factory=Random)
    metrics: ControllerMetrics | None = None
    state: ProgramState = msgspec.field(default_factory=lambda: ProgramState())
    paused: PausedControllers | None = None
    resync: float = 0.0


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The things that are provided to one run: those of its process and those of its cluster.

    ``recorder`` sends events; without it they are only logged. ``shard`` is set if another process may take over keys
    of this run, because processes share the keys or elect a leader. ``cluster`` is the name of the cluster in a fleet,
    ``""`` for the manager's own.
    """

    client: Client
    factory: InformerFactory
    process: Process
    recorder: EventRecorder | None = None
    shard: Shard | None = None
    cluster: str = ""


class Environment:
    """The names, client, clock, caches and log of one run. Nothing in it belongs to a single key."""

    __slots__ = (
        "_full_name",
        "_paused",
        "caches",
        "client",
        "cluster",
        "controller",
        "controls",
        "field_manager",
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
        "resync",
    )

    def __init__(self, declaration: Declaration[Any], host: Host) -> None:
        self.controller = declaration.name
        """The controller's name."""
        self.cluster = cluster = host.cluster
        """The name of the cluster in a fleet; ``""`` is the manager's own."""
        self.name = f"{self.controller}@{cluster}" if cluster else self.controller
        """The name that distinguishes this run from all others of its manager."""
        self.resource = declaration.resource
        """The resource of the objects that are reconciled."""
        self.field_manager = declaration.field_manager
        self.resync = host.process.resync if declaration.resync is None else declaration.resync
        """The number of seconds after which every object is reconciled again; 0 for never."""
        self.controls = declaration.controls
        """The annotations with which people control the reconciles of an object."""
        self.reporter = declaration.reporter
        self.client = host.client
        self.now = host.process.now
        self.random = host.process.random
        self.recorder = host.recorder
        names = {"controller": self.controller, "kind": self.resource.kind}
        self.log = BoundLogger(_LOGGER, {**names, "cluster": cluster} if cluster else names)
        self.program = host.process.state
        self.is_guarded = host.shard is not None
        """Whether another process may take over keys of this run, because processes share the keys or elect a leader.
        """
        self._paused = host.process.paused
        self._full_name = declaration.full_name
        self.informers = DeclaredInformers(self.name, declaration.indexes)
        """The informers of all declared kinds, once the run is prepared."""
        self.caches = CacheReader(self.informers, host.factory, self.name, host.client, cluster)

    def controller_pause(self) -> str:
        """A sentence that says why people have paused the controller as a whole; ``""`` if it is not paused."""
        paused = self._paused
        why = (paused.reason(self._full_name) or paused.reason(self.controller)) if paused is not None else ""
        return f"the controller is paused: {why}" if why else ""

    def on_controller_pause(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls ``listener`` whenever controllers were paused or resumed. The returned function removes it."""
        return self._paused.on_change(listener) if self._paused is not None else lambda: None

    def accepts(self, predicates: Iterable[Test], key: ObjectKey, head: Head | None) -> bool:
        """Whether the predicates accept the object as one that appears. A predicate that raises an exception counts as
        a rejection, as it does for events.
        """
        try:
            return head is not None and all(test(None, head) for test in predicates)
        except Exception:  # one odd object must not end the controller
            self.log.exception("a predicate failed for %s; it is not reconciled", key)
            return False

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
