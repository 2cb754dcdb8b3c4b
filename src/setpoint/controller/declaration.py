"""Declaration: the kinds that a controller watches, and the functions that it calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeAlias, TypeVar, overload

from setpoint.cache.indexes import OWNER
from setpoint.controller import handlers
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.context import Context
from setpoint.controller.finalizer import checked_name, finalizer_name
from setpoint.controller.handlers import MapFunction
from setpoint.controller.hotloop import HotLoopLimits
from setpoint.controller.indexing import DeclaredIndex
from setpoint.controller.needs import Need, need_of_kind, need_of_rule
from setpoint.controller.outcome import Outcome
from setpoint.controller.predicates import Test, check_predicates
from setpoint.controller.sources import Keys, Source, keys_of
from setpoint.controller.status import RECONCILED
from setpoint.controller.watch import AnyFieldSelector, AnySelector, WatchedKind
from setpoint.meta import ApiModel, Object, ObjectKey, resource_of
from setpoint.meta.names import dns1123_subdomain
from setpoint.workqueue import RateLimiter

if TYPE_CHECKING:
    from setpoint.controller.checks import CheckFunction
    from setpoint.models.rbac_v1 import PolicyRule

K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
P = TypeVar("P")
Values: TypeAlias = Iterable[str] | str | None
_HOT_LOOP = HotLoopLimits()
MANAGER_LENGTH: Final = 128
"""The maximum length of a field manager's name on API servers, in characters."""
CONDITION_LENGTH: Final = 316
"""The maximum length of a condition's type in upstream's schemas, in characters."""

Reconcile: TypeAlias = Callable[[K, Context], Awaitable[Outcome | None]]
"""A coroutine function, written by the user, that compares the wanted state of an object with its actual state and
brings the actual state one step closer to the wanted state.
"""

SyncReconcile: TypeAlias = Callable[[K, Any], Outcome | None]
"""A `Reconcile` that is an ordinary function. It runs in a thread, with a `SyncContext`."""


class Declaration(Generic[K]):
    """The declaration of a reconcile loop: kinds, functions, limits. It holds no state; `Controller` runs it."""

    def __init__(
        self,
        kind: type[K],
        reconcile: Reconcile[K] | SyncReconcile[K],
        *,
        name: str | None = None,
        workers: int = 8,
        timeout: float | None = None,
        rate_limiter: Callable[[], RateLimiter[ObjectKey]] | None = None,
        predicates: Sequence[Test] = (),
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        metadata_only: bool = False,
        reconcile_deleting: bool = False,
        owns_status: bool | None = None,
        leader_only: bool = True,
        sync_timeout: float = 120.0,
        hot_loop: HotLoopLimits | None = _HOT_LOOP,
    ) -> None:
        self.kind = kind
        self.resource = resource_of(kind)
        self.reconcile = reconcile
        self.name = name or self.resource.kind.lower()
        if problems := dns1123_subdomain(self.name):
            raise ValueError(f"controller name {self.name!r}: {problems[0]}")
        if workers < 1:
            raise ValueError(f"controller {self.name!r}: workers must be at least 1, not {workers}")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"controller {self.name!r}: timeout must be more than 0 seconds, not {timeout}")
        self.workers = workers
        self.timeout = timeout
        self.rate_limiter = rate_limiter
        self.reconcile_deleting = reconcile_deleting
        has_status = "status" in kind.__struct_fields__
        self.owns_status = has_status and not issubclass(kind, ApiModel) if owns_status is None else owns_status
        self.leader_only = leader_only
        self.sync_timeout = sync_timeout
        self.hot_loop = hot_loop
        self.reports_failures = True
        """Whether failed reconciles are reported as events about their objects."""
        self.watched: list[WatchedKind] = [
            WatchedKind(
                kind,
                "for",
                predicates=check_predicates(predicates),
                namespace=namespace,
                selector=selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
            )
        ]
        self.indexes: list[DeclaredIndex] = []
        self.needed: list[Need] = []
        self.sources: list[Callable[[CacheReader], Keys]] = []
        self.finalizer = ""
        self.finalizer_function: Reconcile[K] | SyncReconcile[K] | None = None
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
        handler = handlers.owner(self.resource, any_owner=any_owner)
        tests = check_predicates(predicates)
        return self._declare(
            WatchedKind(kind, "owns", handler, None, tests, namespace=self._scope(kind), selector=selector)
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
        handlers.takes_caches(map, f"controller {self.name!r}")
        return self._declare(
            WatchedKind(
                kind,
                "watches",
                None,
                map,
                check_predicates(predicates),
                self._scope(kind) if namespace is None else namespace,
                selector,
                field_selector,
                metadata_only,
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
        self, what: type[Object], *verbs: str, subresource: str = "", names: Sequence[str] | str | None = None
    ) -> Self: ...
    @overload
    def needs(self, what: PolicyRule) -> Self: ...

    def needs(
        self,
        what: type[Object] | PolicyRule,
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
        where = f"controller {self.name!r}"
        if isinstance(what, type):
            self.needed.append(need_of_kind(where, what, verbs, subresource, names))
        elif verbs or subresource or names is not None:
            raise ValueError(f"{where}: a PolicyRule has its verbs and names in itself")
        else:
            self.needed.append(need_of_rule(where, what))
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
            raise ValueError(f"controller {self.name!r}: every cache has an index {name!r}, of the uids of owners")
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

    def finalize(self, function: Reconcile[K] | SyncReconcile[K], *, name: str | None = None) -> Self:
        """Declares the function that cleans up whatever an object leaves behind outside the cluster.

        When the deletion of an object is requested, ``function(object, context)`` is called until it returns `done` (or
        None); only then is the object removed. To guarantee this, a finalizer is added before the first reconcile of
        every object. The function must be safe to run again after it has succeeded, because a crash may come before the
        finalizer is removed. It is also called for an object that does not fit its class, because a bound was tightened
        for example: a field that does not fit then holds the plain JSON value as it was read
        (`setpoint.meta.decode_as_read`).

        ``name`` is the name of the finalizer, by default ``GROUP/CONTROLLER``.

        Raises:
            ValueError: the name is not valid, or the controller already has a clean-up function.
        """
        if self.finalizer_function is not None:
            raise ValueError(f"controller {self.name!r} has a finalizer already; call one function from the other")
        self.finalizer = checked_name(name) if name else finalizer_name(self.resource, self.name)
        self.finalizer_function = function
        return self

    def defaults(self, function: CheckFunction[K]) -> Self:
        """Declares a function that sets defaults in the object before every reconcile and clean-up. Several functions
        are called in the order of their declarations.

        This declaration is for clusters without webhooks and takes the same functions as `setpoint.webhook.Admission`.
        The function changes the copy that the reconcile function gets, never the object on the server. Do not pass that
        copy to `Client.update`, which would write the defaults to the server.

        Raises:
            TypeError: the function takes arguments other than the object, or the object and a `Check`.
        """
        return self._check(self.defaulters, function)

    def validates(self, function: CheckFunction[K]) -> Self:
        """Declares a function that checks the object after all defaults, before every reconcile.

        An object that the function refuses is not reconciled until it changes; a condition (`failure_condition`) and an
        event give the reason. An object that is being deleted is not checked. An exception that the function raises
        does not refuse the object; it is a failure of the reconcile like any other.

        Raises:
            TypeError: the function takes arguments other than the object, or the object and a `Check`.
        """
        return self._check(self.validators, function)

    def _check(self, functions: list[Callable[..., Any]], function: CheckFunction[K]) -> Self:
        from setpoint.controller.checks import accepted  # loads the schema room, which few controllers need

        functions.append(accepted(function, f"controller {self.name!r}"))
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
        self.watched.append(watch)
        return self

    def __repr__(self) -> str:
        return f"Controller({self.kind.__name__}, name={self.name!r})"


def watched_kinds(controllers: Iterable[Declaration[Any]]) -> list[type[Object]]:
    """The kinds that the controllers watch or read, without duplicates."""
    return list(dict.fromkeys(watch.kind for controller in controllers for watch in controller.watched))
