"""CacheReader: the caches of one run, which mapping functions, contexts and sources read."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from setpoint.cache import CacheSyncError, Head, Informer, InformerFactory, Lister, UndeclaredRead
from setpoint.cache.function_names import name_of
from setpoint.cache.index import IndexFunction, answers
from setpoint.cache.indexes import OWNER
from setpoint.cache.lister import AnySelector
from setpoint.client import Client, Forbidden, NotFound, Unauthorized
from setpoint.meta import (
    FieldSelector,
    GroupVersionResource,
    Object,
    ObjectKey,
    Resource,
    decode,
    head_of,
    json_of,
    raw_of,
    resource_of,
)

T = TypeVar("T", bound=Object)
INSTALL: Final = "`python APP.py manifests | kubectl apply -f -`"
"""The command that installs the definitions of a program's custom resources; APP.py is the file that calls `main`."""


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


logger = logging.getLogger("setpoint.controller")


class DeclaredIndex(NamedTuple):
    """One index: its kind, its name, and the ``function`` that computes the values of an object. ``argument`` is the
    class of the function's argument: the kind, `Head`, or a smaller class that is decoded from the object.
    """

    kind: type[Object]
    name: str
    function: IndexFunction
    argument: type[Any]

    @property
    def projection(self) -> type[Any] | None:
        """The type that a store decodes for the function."""
        return None if self.argument is Head else self.argument


def _field(document: Mapping[str, Any], path: str) -> str:
    """The value of a field, as a selector compares it; ``""`` if the object has no such field."""
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


class DeclaredInformers(dict[GroupVersionResource, Informer[Any]]):
    """The informers of the kinds that a controller declares, by their resources, and the indexes that it declares of
    them. It is empty until the run is prepared.
    """

    def __init__(self, run_name: str, indexes: Sequence[DeclaredIndex] = ()) -> None:
        super().__init__()
        self.run_name = run_name
        self.indexes = indexes

    def covers(
        self,
        resource: Resource,
        key: ObjectKey,
        labels: dict[str, str] | None,
        document: Callable[[], Mapping[str, Any]] | None = None,
    ) -> bool:
        """Whether the declared cache will show the object, which is one of the reconciled objects of this process or a
        child of one. Without ``labels``, a cache with a selector or of a part of the keys is assumed to
        cover only the objects that it already shows; so is one with a selector of fields without ``document``, which
        returns the object as JSON.
        """
        informer = self.get(resource.gvr)
        if informer is None:
            return False
        shared = informer.shared
        if not shared.covers(key.namespace):
            return False
        if labels is None and shared.is_divided:
            return key in informer.store
        if not shared.has_selector:
            return True
        scope = shared.scope
        fields = {"metadata.name": key.name, "metadata.namespace": key.namespace}
        for requirement in scope.field_selector.requirements:
            if requirement.field in fields:
                continue
            if document is None or key in informer.store:
                return key in informer.store
            fields[requirement.field] = _field(document(), requirement.field)
        if not scope.field_selector.matches(fields):
            return False
        if scope.selector and labels is None:
            return key in informer.store
        return scope.selector.matches(labels)

    def is_divided(self, gvr: GroupVersionResource) -> bool:
        """Whether the declared cache leaves out objects that other processes have in theirs."""
        informer = self.get(gvr)
        return informer is not None and informer.shared.is_divided

    def document(self, resource: Resource, key: ObjectKey) -> bytes | None:
        """The document of an object in the declared cache: empty if the cache has no such object, None if there is
        no cache, or if another process may have the object in its own.
        """
        informer = self.get(resource.gvr)
        return None if informer is None else informer.store.get(key) or (None if informer.shared.is_divided else b"")


def having(objects: Iterable[T], indexes: Iterable[DeclaredIndex], index: tuple[str, str], kind: type[T]) -> list[T]:
    """Those of ``objects``, which were read live, that a lister would find in an index. ``index`` is the name of the
    index and the wanted value.

    Raises:
        KeyError: the controller declares no index of that name for ``kind``.
    """
    name, value = index
    if name == OWNER:
        return [obj for obj in objects if value in [declaration.uid for declaration in obj.metadata.owner_references]]
    resource = resource_of(kind)
    declared = [declaration for declaration in indexes if resource_of(declaration.kind) == resource]
    for declaration in declared:
        if declaration.name == name:
            return [obj for obj in objects if value in _values(declaration, obj)]
    names = ", ".join(sorted([OWNER, *(declaration.name for declaration in declared)]))
    raise KeyError(f"there is no index {name!r} of {kind.__name__}; available: {names}")


def _values(index: DeclaredIndex, obj: Object) -> tuple[str, ...]:
    try:
        raw = raw_of(obj) or json_of(obj)
        return answers(index.function)(head_of(raw) if index.argument is Head else decode(index.argument, raw))
    except Exception:  # as in a cache: one object that a function can't read must not hide the others
        logger.exception("index function %s failed for %s: it is left out", name_of(index.function), obj.key)
        return ()


MappedKeys: TypeAlias = Iterable[ObjectKey | str] | str | None
MapFunction: TypeAlias = (
    Callable[[Head], MappedKeys | Awaitable[MappedKeys]]
    | Callable[[Head, CacheReader], MappedKeys | Awaitable[MappedKeys]]
)
"""A function, written by the user, from the head of a changed object to the keys to reconcile. It may take the
controller's caches as its second argument, and it may be a coroutine function.
"""
KeyStream: TypeAlias = AsyncIterator[ObjectKey | str]
Source: TypeAlias = Callable[[], KeyStream] | Callable[[CacheReader], KeyStream]
"""A function that returns an async iterator of keys, which may be endless: keys from outside the cluster, or, if it
takes the controller's caches, of kinds that are known only while the program runs (`CacheReader.informer`).
"""


def keys_of(source: Source, whose: str) -> Callable[[CacheReader], KeyStream]:
    """The source as a function that takes the caches. It raises TypeError if the source does not return an async
    iterator.

    Raises:
        TypeError: the source can't be called, neither with the caches nor without an argument.
    """
    call: Any = source
    if not callable(source):
        raise TypeError(f"{whose}: the source {source!r} is not a function")
    with_caches = _needs_caches(source, 0, f"{whose}: the source", "has to take nothing, or the caches")

    def opened(caches: CacheReader) -> KeyStream:
        keys: Any = call(caches) if with_caches else call()
        if hasattr(keys, "__aiter__"):
            return keys  # type: ignore[no-any-return]
        if inspect.iscoroutine(keys):
            keys.close()
        raise TypeError(
            f"{whose}: the source {name_of(source)} has to return an async iterator, as an async function with yield "
            f"does; it returned {keys!r}"
        )

    return opened


REFUSED_GRACE: Final = 10.0
"""The number of seconds for which a server may refuse a list (Forbidden, NotFound, Unauthorized) before the start
fails.
"""


def why_not(informer: Informer[Any]) -> str:
    """The reason why the cache does not follow the server: the server's last answer, with advice; "" if the last
    attempt succeeded or no attempt has ended.
    """
    error, resource = informer.last_error, informer.resource
    if isinstance(error, NotFound) and "." in resource.group and not resource.group.endswith(".k8s.io"):
        return (
            f"the CustomResourceDefinition {resource.plural}.{resource.group} is not installed, or has no version "
            f"{resource.version}: {INSTALL} installs those of a program ({error})"
        )
    return str(error) if error is not None else ""


async def synced_by(
    informer: Informer[Any], deadline: float, owner: str, log: logging.LoggerAdapter[logging.Logger]
) -> None:
    """Waits until the cache has synced, but not beyond ``deadline``, a time on the loop's clock.

    Raises:
        CacheSyncError: the cache did not sync in time, or the server kept refusing its requests for `REFUSED_GRACE`
            seconds; the error has the server's last answer.
    """
    loop = asyncio.get_running_loop()
    refused_since: float | None = None
    while not informer.has_synced:
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + 1.0)):
                await informer.wait_synced()
        except TimeoutError:
            error = informer.last_error
            now = loop.time()
            if not isinstance(error, Forbidden | NotFound | Unauthorized):
                refused_since = None
            elif refused_since is None:
                refused_since = now
                log.error(
                    "the server refuses a cache that this controller needs",
                    extra={"error": why_not(informer), "gives_up_in": min(REFUSED_GRACE, deadline - now)},
                )
            if now >= deadline or (refused_since is not None and now - refused_since >= REFUSED_GRACE):
                raise CacheSyncError(
                    f"{owner}: the cache of {informer.resource} did not sync: "
                    f"{why_not(informer) or 'the server has not answered yet'}",
                    resource=informer.resource,
                    last_error=error,
                ) from error


def takes_caches(function: MapFunction, whose: str) -> bool:
    """Whether the function takes a head and the caches, and not a head alone.

    Raises:
        TypeError: the function can be called in neither way.
    """
    rule = "has to take the head of the changed object, or that and the caches"
    return _needs_caches(function, 1, f"{whose}: the mapping function", rule)


def _needs_caches(function: Callable[..., Any], arguments: int, subject: str, rule: str) -> bool:
    """Whether the function can be called only with the caches as an additional argument, behind that many others.
    ``subject`` and ``rule`` are the words of the error.
    """
    counts = (arguments, arguments + 1)
    for count in counts:
        if _takes(function, count):
            return count > arguments
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions don't tell
        return False
    for count in counts:
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count > arguments
    raise TypeError(f"{subject} {name_of(function)}{signature} {rule}")


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether the code of a function or method shows that it takes ``count`` positional arguments. Other
    callables need a signature, which takes many times as long.
    """
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or vars(plain):  # another function may be wrapped
        return False
    code = plain.__code__
    most = code.co_argcount - isinstance(function, MethodType)
    return not code.co_kwonlyargcount and most - len(plain.__defaults__ or ()) <= count <= most
