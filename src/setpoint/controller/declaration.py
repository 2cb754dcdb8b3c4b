"""Declaration: what a controller declares, which is its kinds, options, indexes, sources and permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from math import isfinite
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from setpoint.cache.indexes import OWNER
from setpoint.client.permission_needs import Need, need_of_kind, need_of_rule
from setpoint.controller.cache_reader import (
    CacheReader,
    DeclaredIndex,
    KeyStream,
    MapFunction,
    Source,
    keys_of,
    takes_caches,
)
from setpoint.controller.controls import Controls, control_annotation
from setpoint.controller.hotloop import HotLoopLimits
from setpoint.controller.predicates import Test, check_predicates
from setpoint.meta import ApiModel, FieldSelector, LabelSelector, Object, ObjectKey, Selector, resource_of
from setpoint.meta.names import dns1123_subdomain
from setpoint.workqueue import RateLimiter

if TYPE_CHECKING:
    from setpoint.models.rbac_v1 import PolicyRule


K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
P = TypeVar("P")
Values: TypeAlias = Iterable[str] | str | None
AnySelector: TypeAlias = str | Mapping[str, str] | LabelSelector | Selector | None
AnyFieldSelector: TypeAlias = str | Mapping[str, str] | FieldSelector | None
MANAGER_LENGTH: Final = 128
"""The maximum length of a field manager's name on API servers, in characters."""
MIN_RESYNC: Final = 1.0
"""The shortest period of resyncs, in seconds."""
CONDITION_LENGTH: Final = 316
"""The maximum length of a condition's type in upstream's schemas, in characters."""

RECONCILED = "Reconciled"
"""The condition that reports the failure of the last reconcile and the reason, for a controller that is named after its
kind. Every other controller has a condition of its own, `Controller.failure_condition`.
"""


class ControllerOptions(TypedDict, total=False):
    """The options of a controller; `Controller` says what each of them means."""

    name: str | None
    workers: int
    timeout: float | None
    rate_limiter: Callable[[], RateLimiter[ObjectKey]] | None
    predicates: Sequence[Test]
    namespace: str | None
    selector: AnySelector
    field_selector: AnyFieldSelector
    metadata_only: bool
    reconcile_deleting: bool
    owns_status: bool | None
    leader_only: bool
    sync_timeout: float
    hot_loop: HotLoopLimits | None
    pause_annotation: str | None
    request_annotation: str | None
    resync: float | timedelta | None
    event_filter: Sequence[Test]


_DEFAULTS: Final[ControllerOptions] = {
    "name": None,
    "workers": 8,
    "timeout": None,
    "rate_limiter": None,
    "predicates": (),
    "namespace": None,
    "selector": None,
    "field_selector": None,
    "metadata_only": False,
    "reconcile_deleting": False,
    "owns_status": None,
    "leader_only": True,
    "sync_timeout": 120.0,
    "hot_loop": HotLoopLimits(),
    "pause_annotation": None,
    "request_annotation": None,
    "resync": None,
    "event_filter": (),
}


class WatchedKind(NamedTuple):
    """One declared cache: the objects in it, and the effect of their changes on the controller's keys."""

    kind: type[Object]
    role: Literal["for", "owns", "watches", "reads"]
    any_owner: bool = False
    """Whether a change to a child of ``owns`` concerns every owner, and not only the managing controller."""
    map: MapFunction | None = None
    """The mapping function of ``watches``."""
    predicates: tuple[Test, ...] = ()
    namespace: str | None = None
    selector: AnySelector = None
    field_selector: AnyFieldSelector = None
    metadata_only: bool = False

    @property
    def cache(self) -> tuple[Any, ...]:
        """The options of the cache: two watches of the same kind must have the same options."""
        return (self.namespace, self.selector, self.field_selector, self.metadata_only)


class Declaration(Generic[K]):
    """The declaration of a reconcile loop: kinds, functions, limits. It holds no state; `Controller` adds the functions
    that the loop calls, and runs it.
    """

    def __init__(self, kind: type[K], reconcile: Callable[..., Any], **options: Unpack[ControllerOptions]) -> None:
        if unknown := options.keys() - ControllerOptions.__annotations__.keys():
            raise TypeError(f"Controller() got an unexpected keyword argument {min(unknown)!r}")
        chosen: ControllerOptions = {**_DEFAULTS, **options}
        self.kind = kind
        self.resource = resource_of(kind)
        self.reconcile = reconcile
        self.name = chosen["name"] or self.resource.kind.lower()
        if problems := dns1123_subdomain(self.name):
            raise ValueError(f"controller name {self.name!r}: {problems[0]}")
        self.workers = chosen["workers"]
        if self.workers < 1:
            raise ValueError(f"controller {self.name!r}: workers must be at least 1, not {self.workers}")
        self.timeout = timeout = chosen["timeout"]
        if timeout is not None and timeout <= 0:
            raise ValueError(f"controller {self.name!r}: timeout must be more than 0 seconds, not {timeout}")
        resync = chosen["resync"]
        self.resync = resync.total_seconds() if isinstance(resync, timedelta) else resync
        if self.resync is not None and (not isfinite(self.resync) or self.resync < 0 or 0 < self.resync < MIN_RESYNC):
            raise ValueError(f"controller {self.name!r}: resync must be 0 or at least 1 second, not {resync}")
        self._event_filter = check_predicates(chosen["event_filter"], "event_filter")
        self.rate_limiter = chosen["rate_limiter"]
        self.reconcile_deleting = chosen["reconcile_deleting"]
        self.metadata_only = metadata_only = chosen["metadata_only"]
        own = "status" in kind.__struct_fields__ and not issubclass(kind, ApiModel) and not metadata_only
        self.owns_status = own if chosen["owns_status"] is None else chosen["owns_status"]
        if self.owns_status and metadata_only:
            raise ValueError(f"controller {self.name!r}: it can't own the status, which metadata_only hides")
        self.leader_only = chosen["leader_only"]
        self.sync_timeout = chosen["sync_timeout"]
        self.hot_loop = chosen["hot_loop"]
        self.controls = Controls(
            pause=control_annotation("paused", chosen["pause_annotation"], self.resource),
            request=control_annotation("reconcile-at", chosen["request_annotation"], self.resource),
        )
        """The annotations with which people control the reconciles of an object."""
        self.reports_failures = True
        """Whether failed reconciles are reported as events about their objects."""
        self.watched: list[WatchedKind] = [
            WatchedKind(
                kind,
                "for",
                predicates=(*self._event_filter, *check_predicates(chosen["predicates"])),
                namespace=chosen["namespace"],
                selector=chosen["selector"],
                field_selector=chosen["field_selector"],
                metadata_only=metadata_only,
            )
        ]
        self.indexes: list[DeclaredIndex] = []
        self.needed: list[Need] = []
        self.sources: list[Callable[[CacheReader], KeyStream]] = []
        self.finalizer = ""
        self.finalizer_function: Callable[..., Any] | None = None
        self.defaulters: list[Callable[..., Any]] = []
        self.validators: list[Callable[..., Any]] = []

    @property
    def full_name(self) -> str:
        """The name with the API group of a custom kind, which distinguishes controllers of different groups."""
        built_in = issubclass(self.kind, ApiModel) or not self.resource.group
        return self.name if built_in else f"{self.name}.{self.resource.group}"

    @property
    def field_manager(self) -> str:
        """The field manager under which contexts write: the full name, truncated to `MANAGER_LENGTH` characters."""
        return self.full_name[:MANAGER_LENGTH]

    @property
    def failure_condition(self) -> str:
        """The type of the condition that gives the reason why the last reconcile failed: ``Reconciled`` for a
        controller that is named after its kind, otherwise a type that includes the controller's name, such as
        ``backup.grp.example.com/Reconciled``. Controllers that share an object therefore never remove each other's
        reports, even if they run in different processes.
        """
        if self.name == self.resource.kind.lower():
            return RECONCILED
        return f"{self.full_name[: CONDITION_LENGTH - len(RECONCILED) - 1].rstrip('-.')}/{RECONCILED}"

    @property
    def reporter(self) -> str:
        """The qualified name of the controller in events, such as ``grp.example.com/mykind``."""
        name = self.name[:63].rstrip("-.")
        return name if self.full_name == self.name else f"{self.resource.group}/{name}"

    def owns(
        self,
        kind: type[Object],
        *,
        predicates: Sequence[Test] = (),
        any_owner: bool = False,
        selector: AnySelector = None,
    ) -> Self:
        """Declares a kind whose objects are children of the reconciled objects. A change to a child leads to a
        reconcile of the owner that is its managing controller (with ``any_owner``: of every owner of the reconciled
        kind), and `Context.owned` reads the children from the cache.

        Raises:
            ValueError: the controller has declared the kind before, with a different namespace, selector or
                ``metadata_only``.
        """
        tests = check_predicates(predicates)
        return self._declare(
            WatchedKind(
                kind, "owns", any_owner=any_owner, predicates=tests, namespace=self._scope(kind), selector=selector
            )
        )

    def watches(
        self,
        kind: type[Object],
        map: MapFunction,
        *,
        predicates: Sequence[Test] = (),
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        metadata_only: bool = False,
    ) -> Self:
        """Declares a kind on which objects depend. ``map(head)`` returns the keys to reconcile for a changed object;
        it is called for the state before and the state after the change. It may return any number of keys, a single one
        or None; tuples of namespace and name, and objects of the reconciled kind, stand for their keys.

        A function of two arguments, ``map(head, caches)``, also gets the listers of all declared kinds; with an
        `index`, a lister finds the objects that refer to the changed object. A coroutine function is awaited: each
        watch makes one call at a time, while other watches and the reconciles go on. When ``map`` raises an exception,
        or returns something other than keys, the exception is logged, the event is dropped, and the next event is
        delivered as usual. A function that depends on an unreliable service has to retry on its own.

        To watch one object: ``field_selector={"metadata.name": "settings"}, namespace="default"``.

        Raises:
            TypeError: ``map`` takes arguments other than a head, or a head and the caches.
            ValueError: the controller has declared the kind before, with a different namespace, selector or
                ``metadata_only``.
        """
        takes_caches(map, f"controller {self.name!r}")
        return self._declare(
            WatchedKind(
                kind,
                "watches",
                map=map,
                predicates=check_predicates(predicates),
                namespace=self._scope(kind) if namespace is None else namespace,
                selector=selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
            )
        )

    def reads(
        self,
        kind: type[Object],
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        metadata_only: bool = False,
    ) -> Self:
        """Declares a kind whose objects are cached for reads. Changes to these objects do not lead to reconciles.

        Raises:
            ValueError: the controller has declared the kind before, with a different namespace, selector or
                ``metadata_only``.
        """
        space = self._scope(kind) if namespace is None else namespace
        return self._declare(
            WatchedKind(kind, "reads", namespace=space, selector=selector, metadata_only=metadata_only)
        )

    @overload
    def needs(
        self, subject: type[Object], *verbs: str, subresource: str = "", names: Sequence[str] | str | None = None
    ) -> Self: ...
    @overload
    def needs(self, subject: PolicyRule) -> Self: ...

    def needs(
        self,
        subject: type[Object] | PolicyRule,
        *verbs: str,
        subresource: str = "",
        names: Sequence[str] | str | None = None,
    ) -> Self:
        """Declares permissions that no other declaration implies, for the program's role: verbs on a kind, on one of
        its subresources, or on objects with certain names; or a complete rule of RBAC.

            .needs(Secret, "create", "patch")
            .needs(Pod, "get", subresource="log")
            .needs(ConfigMap, "get", "patch", names=["settings"])
            .needs(PolicyRule(api_groups=["*"], resources=["*/scale"], verbs=["get", "patch"]))
            .needs(PolicyRule(non_resource_urls=["/metrics"], verbs=["get"]))

        A `PolicyRule` (of `setpoint.models.rbac_v1`) is for kinds that are unknown before the program runs, for
        non-resource URLs, and for special verbs, such as ``approve`` on ``signers``.

        This declaration makes no cache. ``setpoint rbac`` finds missing permissions.

        Raises:
            ValueError: there is no verb; or an API server would not accept the rule; or the rule would allow nothing
                (``create`` or ``deletecollection`` of objects with certain names, or a resource ``pods/*``); or
                ``names`` or one of the names is empty, which would mean all names.
        """
        prefix = f"controller {self.name!r}"
        if isinstance(subject, type):
            self.needed.append(need_of_kind(prefix, subject, verbs, subresource, names))
        elif verbs or subresource or names is not None:
            raise ValueError(
                f"{prefix}: a PolicyRule contains its verbs, subresources and names: leave out the other arguments"
            )
        else:
            self.needed.append(need_of_rule(prefix, subject))
        return self

    @overload
    def index(self, name: str, function: Callable[[K], Values]) -> Self: ...
    @overload
    def index(self, name: str, function: Callable[[T], Values], *, of: type[T]) -> Self: ...
    @overload
    def index(
        self, name: str, function: Callable[[P], Values], *, of: type[Object] | None = None, as_: type[P]
    ) -> Self: ...

    def index(
        self,
        name: str,
        function: Callable[[Any], Values],
        *,
        of: type[Object] | None = None,
        as_: type[Any] | None = None,
    ) -> Self:
        """Declares an index of this controller's kind (with ``of``: of another declared kind). The index maps each
        value that ``function(object)`` returns to the objects that have this value.

        ``lister.list(index=(name, value))``, ``heads``, ``keys`` and `Context.list` look the value up instead of
        searching. The function returns any number of strings, such as ``f"{namespace}/{name}"``, a single plain string,
        or None. ``function`` must depend on its argument alone. It is called whenever an object of the kind has
        changed; with ``as_`` its argument is an instance of a smaller class, decoded from the object, or the object's
        `Head`, which costs least.

        *Guarantees*: the index and the cache change in one step, so an object that a lister finds by the index has the
        value. The index is built from the cache: after a restart, for a new leader, and in every shard and cluster it
        is complete when the cache has synced.

        *Caveats*: if ``function`` raises an exception for an object, the exception is logged, and only this object is
        left out of the index.

        Raises:
            ValueError: another index of that kind has the name, or ``name`` is that of the built-in index by owner.
        """
        kind = of or self.kind
        index = DeclaredIndex(kind, name, function, as_ or kind)
        for present in self.indexes:
            if present.name == name and resource_of(present.kind) == resource_of(kind):
                raise ValueError(f"controller {self.name!r} has two indexes {name!r} of {kind.__name__}")
        if name == OWNER:
            raise ValueError(
                f"controller {self.name!r}: the index name {name!r} is reserved: every cache has it, for the uids of "
                "owners"
            )
        self.indexes.append(index)
        return self

    def source(self, source: Source) -> Self:
        """Declares a source of keys: ``source()`` returns an async iterator of keys from outside the cluster. The
        iterator may end; if it raises an exception, the controller fails. An item that is not a key of the reconciled
        kind is logged and dropped.

        A source that takes an argument, ``source(caches)``, gets the controller's `CacheReader`. With
        `CacheReader.informer` it can follow kinds that become known only while the program runs, and let them go again.

        Raises:
            TypeError: the source takes more than the caches.
        """
        self.sources.append(keys_of(source, f"controller {self.name!r}"))
        return self

    def _scope(self, kind: type[Object]) -> str | None:
        """The namespace in which another kind is watched. A controller that is limited to one namespace watches other
        namespaced kinds only there.
        """
        return self.watched[0].namespace if resource_of(kind).namespaced else None

    def _declare(self, watch: WatchedKind) -> Self:
        resource = resource_of(watch.kind)
        for present in self.watched:
            if resource_of(present.kind) == resource and present.cache != watch.cache:
                raise ValueError(
                    f"controller {self.name!r} declares {resource.kind} twice, with a different namespace, selector, "
                    "field_selector or metadata_only; it has one cache of each kind"
                )
        filters = self._event_filter if watch.role != "reads" else ()
        self.watched.append(watch._replace(predicates=(*filters, *watch.predicates)))
        return self

    def __repr__(self) -> str:
        return f"Controller({self.kind.__name__}, name={self.name!r})"


def watched_kinds(controllers: Iterable[Declaration[Any]]) -> list[type[Object]]:
    """The kinds that the controllers watch or read, without duplicates."""
    return list(dict.fromkeys(watch.kind for controller in controllers for watch in controller.watched))
