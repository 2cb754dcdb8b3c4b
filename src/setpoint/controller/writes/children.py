"""Children: the objects of one kind that an object controls, and the writes that bring them into their wanted state.
`Context.keep` is the public form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Set
from hashlib import blake2b
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from setpoint.cache import Lister
from setpoint.cache.indexes import OWNER
from setpoint.client import ApiError, TooManyRequests
from setpoint.client.apply_configuration import configuration_of
from setpoint.concurrency import every
from setpoint.controller.memory import Applied, KeepCall
from setpoint.controller.outcome import AdoptionError, TooManyDeletions, maybe_done
from setpoint.controller.telemetry import BoundLogger
from setpoint.controller.writes.ownership import ObjectWriter, owned_copy, standing_of
from setpoint.meta import (
    GroupVersionResource,
    Object,
    ObjectKey,
    Selector,
    decode_as_read,
    raw_of,
    resource_of,
    to_wire,
)

T = TypeVar("T", bound=Object)
Write: TypeAlias = Callable[[], Awaitable[None]]

AT_ONCE: Final = 8
"""The maximum number of writes of one reconcile that are under way at the same time."""
MAX_NAMES: Final = 5
"""The maximum number of children that a message names."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_MAX_PREFIX: Final = 63 - _SUFFIX
_encode = msgspec.json.Encoder(order="deterministic").encode


class Reconciled(Protocol):
    """One reconcile, as the parts of a context see it: its object, its reads and requests so far, and its methods.
    `Context` implements it.
    """

    object: Object
    key: ObjectKey
    _live: dict[GroupVersionResource, list[Any]] | None
    _keep_calls: list[KeepCall]
    age: float | None
    failures: int

    @property
    def log(self) -> BoundLogger: ...
    def lister(self, kind: type[T]) -> Lister[T]: ...
    def owned(self, kind: type[T]) -> list[T]: ...
    async def delete(self, obj: Object, *, propagation: str | None = None) -> None: ...
    async def ensure_current(self) -> None: ...
    def _check_open(self) -> None: ...
    def _document_of(self, gvr: GroupVersionResource, key: ObjectKey) -> bytes | None: ...


class _Child(NamedTuple, Generic[T]):
    """One wanted child: the object as it is wanted, the body to send for it, and the object as it is now."""

    key: ObjectKey
    wanted: T
    body: dict[str, Any]
    payload: bytes
    digest: bytes
    present: T | None
    new_name: bool


class Children(Generic[T]):
    """The work of one call to `Context.keep`."""

    def __init__(
        self,
        context: Reconciled,
        writer: ObjectWriter,
        kind: type[T],
        selector: Selector,
        *,
        adopt: bool,
        force: bool,
    ) -> None:
        self._context = context
        self._writer = writer
        self._kind = kind
        self._resource = resource_of(kind)
        self._lister = context.lister(kind)
        self._selector = selector
        self._adopt = adopt
        self._force = force
        self._applied, self._failed, self._drawn = writer.memory.applied.of(context.key, self._resource.gvr, selector)
        self._live: dict[ObjectKey, T] | None = None

    async def keep(self, wanted: Iterable[T], *, prune: bool = True, at_most_deletions: int | None = None) -> list[T]:
        """See `Context.keep`."""
        if at_most_deletions is not None and at_most_deletions < 0:
            raise ValueError(
                f"keep({self._kind.__name__}): at_most_deletions must be 0 or more, not {at_most_deletions}"
            )
        if not isinstance(wanted, Iterable):
            kind = self._kind.__name__
            raise TypeError(f"keep({kind}) takes a list of the wanted objects, not a {type(wanted).__name__}")
        prepared = [self._prepared(obj) for obj in wanted]
        self._claim(prepared, prune)
        mine = {
            child.key: child for child in self._owned() if self._is_mine(child) and self._selector.matches(child.labels)
        }
        self._drawn.difference_update(mine)
        children = list(self._placed(prepared, mine))
        keys = {child.key for child in children}
        for key in [key for key in self._applied if key not in keys and (prune or key not in mine)]:
            del self._applied[key]
        surplus = [child for key, child in mine.items() if prune and key not in keys and not child.is_deleting]
        if at_most_deletions is not None and len(surplus) > at_most_deletions:
            raise TooManyDeletions(_too_many(self._kind.__name__, surplus, len(mine), at_most_deletions))
        self._failed.intersection_update(keys | mine.keys())
        if surplus or any(child.present is None for child in children):
            await self._look_again()
        problems = await self._all({child.key: self._deletion(child) for child in surplus})

        result: dict[ObjectKey, T] = {}
        writes: dict[ObjectKey, Write] = {}
        for child in children:
            present = child.present
            try:
                if present is not None and (present.is_deleting or not self._settle_owner(child, present)):
                    continue  # its end is an event, which leads to the next reconcile
            except AdoptionError as problem:
                problems.append(problem)
                continue
            if present is not None and self._carries(child, present):
                result[child.key] = present
            elif not self._context.object.is_deleting:  # the garbage collector would take what is made now
                writes[child.key] = self._write(child, result)
            elif present is not None:
                result[child.key] = present
        if all(map(_is_its_own, problems)):
            problems += await self._all(writes)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise ExceptionGroup(f"keep({self._kind.__name__}): {len(problems)} children failed", problems)
        return [result[child.key] for child in children if child.key in result]

    async def _look_again(self) -> None:
        """If caches may begin with lists of any age, checks before a deletion or a creation that the owner is unchanged
        on the server, because such a cache may show a state from before this program's start. Raises `Outdated` if the
        owner has changed.
        """
        if self._context.age is not None and self._writer.may_begin_old:
            await self._context.ensure_current()

    # -- wanted children -----------------------------------------------------------------------------------------------

    def _prepared(self, obj: T) -> T:
        if type(obj) is not self._kind:
            raise TypeError(f"keep({self._kind.__name__}) got a {type(obj).__name__} among the wanted objects")
        child = owned_copy(self._context.object, obj)
        name = child.name or child.metadata.generate_name
        if not name:
            raise ValueError(f"keep({self._kind.__name__}): a wanted object has neither a name nor a generate_name")
        labels = child.labels
        if not self._selector.matches(labels):
            raise ValueError(
                f"keep({self._kind.__name__}): the labels of {name} don't match the selector {self._selector}: "
                "it would not be found again"
            )
        key = ObjectKey.of(child.namespace, name)
        if not self._writer.informers.covers(self._resource, key, labels, lambda: to_wire(child)):
            raise ValueError(
                f"keep({self._kind.__name__}): {name} would not be in the cache of {self._kind.__name__} that "
                f"controller {self._writer.informers.run_name!r} declares: its namespace, labels or fields are "
                "outside of that"
            )
        return child

    def _claim(self, prepared: list[T], prune: bool) -> None:
        """Refuses a call that wants objects which an earlier call in this reconcile would delete, or that would delete
        objects which an earlier call wants.
        """
        labels = [obj.labels for obj in prepared]
        for gvr, selector, others in self._context._keep_calls:
            if gvr == self._resource.gvr and (
                (selector is not None and any(map(selector.matches, labels)))
                or (prune and any(map(self._selector.matches, others)))
            ):
                raise ValueError(
                    f"keep({self._kind.__name__}) was called before in this reconcile, and one call would delete what "
                    "the other one wants: pass everything in one call, or give each a selector of its own"
                )
        self._context._keep_calls.append((self._resource.gvr, self._selector if prune else None, labels))

    def _placed(self, prepared: list[T], mine: Mapping[ObjectKey, T]) -> Iterator[_Child[T]]:
        """Every wanted object with its name and with the object that exists under that name."""
        named: dict[ObjectKey, T] = {}
        groups: dict[str, list[T]] = {}
        for obj in prepared:
            if not obj.name:
                groups.setdefault(obj.metadata.generate_name, []).append(obj)
            elif (key := obj.key) in named:
                raise ValueError(f"keep({self._kind.__name__}): {key} is wanted twice")
            else:
                named[key] = obj
        for key, obj in named.items():
            present = mine.get(key)
            yield self._child(obj, present if present is not None else self._cached(key))
        for prefix, group in groups.items():
            yield from self._grouped(prefix, group, mine, named.keys())

    def _grouped(
        self, prefix: str, group: list[T], mine: Mapping[ObjectKey, T], named: Set[ObjectKey]
    ) -> Iterator[_Child[T]]:
        """The children with one ``generate_name``. They are all alike, so only their number matters."""
        if len({_encode(_body(member)) for member in group}) > 1:
            raise ValueError(
                f"keep({self._kind.__name__}): the wanted objects with generate_name {prefix!r} differ: "
                "give each variant a generate_name of its own"
            )
        candidates = [
            (self._child(_renamed(group[0], child.name), child), child)
            for key, child in mine.items()
            if key not in named
            and child.metadata.generate_name == prefix
            and child.namespace == group[0].namespace
            and not child.is_deleting
        ]
        # Children that are as they should be stay before those that have to be changed, the older before the younger.
        candidates.sort(key=lambda pair: (not self._carries(*pair), _age(pair[1])))
        yield from (child for child, _ in candidates[: len(group)])
        names = set(named)
        for obj in group[len(candidates) :]:
            name = self._new_name(prefix, obj.namespace, names)
            yield self._child(_renamed(obj, name), None, new_name=True)

    def _new_name(self, prefix: str, namespace: str, names: set[ObjectKey]) -> str:
        """A new name with the prefix. It is drawn here and not by the server: a write whose answer was lost is
        repeated under the same name, so it does not matter whether or when the first write is carried out.
        """
        random, start = self._writer.random, prefix[:_MAX_PREFIX]
        for key in sorted(self._drawn - names):
            alike = key.namespace == namespace and key.name.startswith(start)
            if alike and len(key.name) == len(start) + _SUFFIX and self._cached(key) is None:
                names.add(key)
                return key.name
        while True:
            name = start + "".join(random.choice(_LETTERS) for _ in range(_SUFFIX))
            key = ObjectKey.of(namespace, name)
            if key not in names and self._cached(key) is None:
                names.add(key)
                return name

    def _child(self, obj: T, present: T | None, *, new_name: bool = False) -> _Child[T]:
        body = _body(obj)
        payload = _encode(body)
        return _Child(obj.key, obj, body, payload, _digest(payload), present, new_name)

    # -- existing children ---------------------------------------------------------------------------------------------

    def _cached(self, key: ObjectKey) -> T | None:
        """The object with this ``key``, whatever its owner; None if it does not exist. It comes from the cache, or from
        the live reads if this reconcile reads the kind live.
        """
        live = self._context._live
        if live is not None and self._resource.gvr in live:
            if self._live is None:
                self._live = {item.key: item for item in live[self._resource.gvr]}
            return self._live.get(key)
        document = self._context._document_of(self._resource.gvr, key)
        return None if document is None else decode_as_read(self._kind, document)[0]

    def _owned(self) -> list[T]:
        """The owned children. Those in the cache that do not fit their class are among them, with their values as read,
        since they are deleted or mended like any other.
        """
        owned = self._context.owned(self._kind)
        live = self._context._live
        if live is None or self._resource.gvr not in live:
            keys = {child.key for child in owned}
            for key in self._lister.keys(index=(OWNER, self._context.object.uid)):
                if key not in keys and (child := self._cached(key)) is not None:
                    owned.append(child)
        return owned

    def _is_mine(self, child: T) -> bool:
        controller = child.metadata.controller
        return controller is not None and controller.uid == self._context.object.uid

    def _settle_owner(self, child: _Child[T], present: Object) -> bool:
        """Whether ``present`` may be written now.

        Raises:
            AdoptionError: ``present`` may never be written.
        """
        owner = self._context.object
        child_name = f"{child.wanted.kind} {child.key}"
        standing = standing_of(owner, child.wanted, present.metadata.controller)
        if standing == "earlier":
            self._context.log.info(
                "a child waits until an object of its name, which belongs to an earlier owner, is deleted",
                extra={"child": child_name},
            )
            return False
        if standing == "own" or self._adopt:
            return True
        applied = self._applied.get(child.key)
        if applied is not None and applied.uid == present.uid:
            return True
        raise AdoptionError(
            f"{child_name} exists already and has no controller, so {owner.kind} {owner.key} does not change it: "
            "delete it, choose another name, or take it over with keep(..., adopt=True)"
        )

    def _carries(self, child: _Child[T], present: T) -> bool:
        """Whether the wanted fields of ``present`` are as this process left them."""
        applied = self._applied.get(child.key)
        if applied is None or applied.desired != child.digest or applied.uid != present.uid:
            return False
        version = present.metadata.resource_version
        if applied.version == version:
            return True
        if applied.carried != _carried(child.body, present):
            return False
        self._applied[child.key] = applied._replace(version=version)
        return True

    # -- writing -------------------------------------------------------------------------------------------------------

    def _deletion(self, child: T) -> Write:
        # Said, since the server's default for jobs would leave their pods behind.
        return lambda: self._context.delete(child, propagation="Background")

    def _write(self, child: _Child[T], result: dict[ObjectKey, T]) -> Write:
        async def write() -> None:
            present: Object | None = child.present
            before, writer = b"" if present is None else raw_of(present), self._writer
            self._context._check_open()
            if present is None and writer.informers.is_divided(self._resource.gvr):
                # The children of other owners may be in the caches of other processes.
                present, before = await writer.read(child.wanted), None
                if present is not None and (present.is_deleting or not self._settle_owner(child, present)):
                    return
            # Whether this request succeeds or not, the child's content is now unknown; its owner is not.
            applied = self._applied.get(child.key)
            if applied is not None:
                self._applied[child.key] = applied._replace(desired=b"", version="")
            uid = "" if present is None else present.uid
            try:
                answer = await writer.apply(child.wanted, child.body, uid, force=self._force, before=before)
            except BaseException as problem:
                if child.new_name and maybe_done(problem):
                    self._drawn.add(child.key)
                raise
            version = answer.metadata.resource_version
            self._applied[child.key] = Applied(answer.uid, child.digest, _carried(child.body, answer), version)
            result[child.key] = answer

        return write

    async def _all(self, writes: Mapping[ObjectKey, Write]) -> list[Exception]:
        """Makes the writes in batches and returns the failures.

        After a failed reconcile of the parent, the first batch is a single write and each later batch is twice as large
        as the one before, so the server is not flooded with writes that it refuses. Children that failed last time come
        last, so they do not block others forever. A batch with a failure is the last.
        """
        size = AT_ONCE if self._context.failures == 0 else 1
        pending = sorted(writes, key=self._failed.__contains__)
        while pending:
            batch, pending = pending[:size], pending[size:]
            size = min(2 * size, AT_ONCE)
            problems: list[Exception] = []
            for key, problem in zip(batch, await every(*(_tried(writes[key]) for key in batch)), strict=True):
                if problem is None:
                    self._failed.discard(key)
                else:
                    problems.append(problem)
                    self._failed.add(key)
            if problems:
                return problems
        return []


def _too_many(kind: str, surplus: list[T], present: int, bound: int) -> str:
    names = ", ".join(sorted(child.name for child in surplus)[:MAX_NAMES])
    more = f" and {len(surplus) - MAX_NAMES} more" if len(surplus) > MAX_NAMES else ""
    return (
        f"keep({kind}) would delete {len(surplus)} of {present} children, but at_most_deletions is {bound}, so nothing "
        f"was written. Correct the list, delete the children ({names}{more}) yourself, or raise the bound"
    )


def _is_its_own(problem: Exception) -> bool:
    """Whether the cause of a child's failure is the child itself and not the server."""
    if isinstance(problem, ApiError):
        return problem.code < 500 and not isinstance(problem, TooManyRequests)
    return isinstance(problem, AdoptionError)


async def _tried(write: Write) -> Exception | None:
    """Makes a write; returns the exception that it raised, or None if it succeeded."""
    try:
        await write()
    except Exception as problem:  # noqa: BLE001 - the caller judges it
        return problem
    return None


def _renamed(obj: T, name: str) -> T:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, name=name))


def _body(obj: Object) -> dict[str, Any]:
    return configuration_of(obj, obj.namespace, "")


def _age(obj: Object) -> tuple[float, str]:
    created = obj.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0, obj.name)


def _digest(document: bytes) -> bytes:
    return blake2b(document, digest_size=16).digest()


def _carried(body: dict[str, Any], obj: Object) -> bytes:
    """A digest of the values that ``obj`` has in the fields that ``body`` names. A list counts as one value."""
    raw = raw_of(obj)
    assert raw is not None
    return _digest(_encode(_common(body, msgspec.json.decode(raw))))


def _common(wanted: Any, present: Any) -> Any:
    if isinstance(wanted, dict) and isinstance(present, dict):
        return {name: _common(value, present[name]) for name, value in wanted.items() if name in present}
    return present
