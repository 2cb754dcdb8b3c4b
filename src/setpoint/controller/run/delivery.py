"""Delivery: the path from a change of an object to the keys to reconcile.

An event passes the predicates and the mapping; each resulting key gets one cause and is added to the queue.
"""

from __future__ import annotations

import asyncio
import inspect
import reprlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, Final, TypeAlias, cast

from setpoint.cache import HandlerRegistration, Head, HeadUpdate
from setpoint.cache.function_names import name_of, place_of
from setpoint.controller.cache_reader import CacheReader, MapFunction, MappedKeys, takes_caches
from setpoint.controller.declaration import WatchedKind
from setpoint.controller.environment import Environment
from setpoint.controller.history import Cause
from setpoint.controller.memory import Memory
from setpoint.controller.predicates import last_known
from setpoint.controller.predicates import name_of as name_of_predicate
from setpoint.controller.run.activity_records import Activity
from setpoint.meta import Object, ObjectKey, Resource, resource_of
from setpoint.workqueue import LOW_PRIORITY, RateLimitingQueue
from setpoint.workqueue.queue import HIGH_PRIORITY

UnlessStopped: TypeAlias = Callable[[Coroutine[Any, Any, None]], Awaitable[None]]


def subscribe(
    watch: WatchedKind,
    env: Environment,
    memory: Memory,
    activity: Activity,
    queue: RateLimitingQueue[ObjectKey],
    unless_stopped: UnlessStopped,
    forget: Callable[[ObjectKey], None],
    wants: Callable[[ObjectKey], bool] | None = None,
) -> HandlerRegistration | None:
    """Registers the handlers of one declared watch with its informer and returns the registration; None for a watch
    whose changes lead to no reconciles.

    ``unless_stopped`` runs a mapping function that has to be awaited. ``forget`` is called with the key of a deleted
    object that is not in the queue, whatever the predicates say and whichever process has the key. ``wants`` returns
    False for keys that belong to other processes.
    """
    if watch.role == "reads":
        return None
    kind = resource_of(watch.kind).kind
    informer = env.informers[resource_of(watch.kind).gvr]
    objects = env.informers[env.resource.gvr].store
    predicates, owns = watch.predicates, watch.role == "owns"
    primary = watch.role == "for"
    owners = owner(env.resource, any_owner=watch.any_owner) if owns else itself
    mapping = mapped(watch.map, env.caches, f"controller {env.name!r}", env.resource) if watch.map is not None else None
    causes, metrics, history = activity.causes, activity.metrics, activity.events
    echoes, suspects = memory.echoes, memory.suspects
    clock = asyncio.get_running_loop().time

    asks = wants if primary else None
    controls = env.controls

    def deliver(
        changed: ObjectKey, old: Head | None, new: Head | None, change: str, version: str, priority: int
    ) -> Coroutine[Any, Any, None] | None:
        cause = Cause(change, kind, changed, version, clock())  # type: ignore[arg-type]
        for test in predicates:
            if not test(old, new):
                metrics.filtered += 1
                for key in (changed,) if primary else owners(old, new) if owns else ():
                    history.add_filtered(key, name_of_predicate(test), cause)
                return None
        if primary:
            causes.add(changed, cause)
            queue.add(changed, priority=priority)
            return None
        if mapping is None:
            keys = owners(old, new)
        else:
            mapped_keys = mapping(old, new)
            if inspect.iscoroutine(mapped_keys):
                return deliver_later(mapped_keys, cause, priority)
            keys = cast("Iterable[ObjectKey]", mapped_keys)
        for key in keys:
            if wants is None or wants(key):
                causes.add(key, cause)
                queue.add(key, priority=priority)
        return None

    async def deliver_later(mapped_keys: Coroutine[Any, Any, Iterable[ObjectKey]], cause: Cause, priority: int) -> None:
        async def deliver_keys() -> None:
            for key in await mapped_keys:
                if wants is None or wants(key):
                    causes.add(key, cause)
                    queue.add(key, priority=priority)

        await unless_stopped(deliver_keys())

    def on_add(head: Head, initial: bool) -> Coroutine[Any, Any, None] | None:
        key = head.key
        if asks is not None and not asks(key):
            return None
        if initial:
            return deliver(key, None, head, "sync", head.resource_version, LOW_PRIORITY)
        return deliver(key, None, head, "create", head.resource_version, 0)

    def on_change(heads: HeadUpdate) -> Coroutine[Any, Any, None] | None:
        new = heads.new
        key = new.key
        if asks is not None and not asks(key):
            return None  # before the old state is decoded: most events of a fleet are for other processes
        version = new.resource_version
        if heads.same_version:
            return deliver(key, new, new, "sync", version, LOW_PRIORITY)
        if primary:
            if echoes:
                own = echoes.get(key)
                if own is not None and version in own and heads.old.resource_version in own:
                    metrics.suppressed += 1
                    return None
            if new.annotations and controls.is_requested(heads):
                queue.forget(key)
                activity.hot_loops.forget(key)
                return deliver(key, None, new, "request", version, HIGH_PRIORITY)
            needs_old = bool(predicates)
            if needs_old and controls.pauses_differ(heads.old, new):
                return deliver(key, None, new, "update", version, 0)  # predicates of changes don't know the controls
        else:
            needs_old = bool(predicates) or not owns or not heads.same_owners
        return deliver(key, heads.old if needs_old else new, new, "update", version, 0)

    def on_delete(head: Head, final_state_unknown: bool) -> Coroutine[Any, Any, None] | None:
        key, version = head.key, head.resource_version
        if final_state_unknown and predicates:
            head = last_known(head)
        if primary:
            history.add_deletion(key)
            activity.timeline.deleted(key)
            try:
                if asks is None or asks(key):
                    deliver(key, head, None, "delete", version, 0)
            finally:
                if queue.state(key) is None:
                    forget(key)
                else:
                    queue.add(key)  # the attempt under way writes perhaps; the next finds that the object is gone
            return None
        if owns:
            for owner in owners(head, None):
                if owner in objects:
                    suspects.note_deletion(head.uid, owner)
        return deliver(key, head, None, "delete", version, 0)

    return informer.add_event_handler(on_add=on_add, on_change=on_change, on_delete=on_delete, name=env.name)


Handler: TypeAlias = Callable[[Head | None, Head | None], Iterable[ObjectKey]]
Found: TypeAlias = Iterable[ObjectKey] | Coroutine[Any, Any, Iterable[ObjectKey]]
_READY: Final = frozenset({list, tuple, dict, set})
Mapping: TypeAlias = Callable[[Head | None, Head | None], Found]
"""A `Handler` whose answer may have to be awaited."""


def itself(old: Head | None, new: Head | None) -> Iterable[ObjectKey]:
    head = new if new is not None else old
    return (head.key,) if head is not None else ()


def owner(resource: Resource, *, any_owner: bool = False) -> Handler:
    """A handler that returns the keys of an object's owners that are of the kind ``resource``: only the managing
    controller or, with ``any_owner``, every owner.

    References are compared by group and kind; the version may differ. The owner is in the namespace of the dependent,
    or in no namespace if its kind is cluster-scoped.
    """
    group, kind, namespaced = resource.group, resource.kind, resource.namespaced
    group_prefix = f"{group}/" if group else ""

    def owners(head: Head) -> list[ObjectKey]:
        keys = []
        for reference in head.owner_references:
            if reference.kind != kind or not (any_owner or reference.controller):
                continue
            version = reference.api_version
            if version.startswith(group_prefix) if group else "/" not in version:
                keys.append(ObjectKey.of(head.namespace if namespaced else "", reference.name))
        return keys

    def handler(old: Head | None, new: Head | None) -> Iterable[ObjectKey]:
        if old is None or new is None or old.owner_references == new.owner_references:
            head = new if new is not None else old
            if head is None or not head.owner_references:
                return ()
            keys = owners(head)
            return keys if len(keys) < 2 else dict.fromkeys(keys)
        return dict.fromkeys([*owners(old), *owners(new)])

    return handler


def mapped(function: MapFunction, caches: CacheReader, whose: str, resource: Resource) -> Mapping:
    """A handler that calls ``function`` for the head before and the head after a change, and returns all keys of
    ``resource`` without duplicates.

    Raises (when called):
        TypeError: ``function`` returned something other than keys of ``resource``; see `keys_in`.
        ValueError: a key lacks its namespace, or has one although the kind is cluster-scoped.
    """
    call: Any = function
    name = f"{whose}: the mapping function {name_of(function)} {place_of(function)}".rstrip()
    with_caches = takes_caches(function, whose)

    def answer(head: Head) -> MappedKeys | Awaitable[MappedKeys]:
        keys: MappedKeys | Awaitable[MappedKeys] = call(head, caches) if with_caches else call(head)
        return keys

    def mapping(old: Head | None, new: Head | None) -> Any:
        keys: dict[ObjectKey, None] = {}
        for head in (old, new):
            if head is not None:
                answered: Any = answer(head)
                if type(answered) not in _READY and inspect.isawaitable(answered):  # which takes a microsecond to tell
                    return awaited(answered, new if head is old else None, keys)
                keys.update(dict.fromkeys(keys_in(answered, resource, name)))
        return keys

    async def awaited(
        answered: Awaitable[MappedKeys], rest: Head | None, keys: dict[ObjectKey, None]
    ) -> Iterable[ObjectKey]:
        keys.update(dict.fromkeys(keys_in(await answered, resource, name)))
        if rest is not None:
            more = answer(rest)
            more = await more if inspect.isawaitable(more) else more
            keys.update(dict.fromkeys(keys_in(more, resource, name)))
        return keys

    return mapping


def keys_in(result: Any, resource: Resource, whose: str) -> Iterator[ObjectKey]:
    """The keys in the result of a user's function: any number of keys, a single one, or None for no key. Instead of a
    key, the result may have an object of the kind, or a namespace and a name as a tuple. ``whose`` is the beginning of
    error messages.

    Raises:
        TypeError: the result has something that is not a key.
        ValueError: a key lacks its namespace, or has one although the kind is cluster-scoped.
    """
    try:
        items = items_in(result)
    except TypeError:
        raise TypeError(
            f"{whose} returned {_describe(result)}: it has to return the keys of {resource.kind}s"
        ) from None
    for item in items:
        yield key_of(item, resource, whose)


def items_in(result: Any) -> Iterable[Any]:
    """The items of the result of a user's function: a single key is one item, and None stands for none. Raises
    `TypeError` if the result can't be iterated.
    """
    if result is None:
        return ()
    return (result,) if isinstance(result, str | Object | Head) else iter(result)


def key_of(item: Any, resource: Resource, whose: str) -> ObjectKey:
    """The key that one item of a result means; see `keys_in`."""
    kind, namespaced = resource.kind, resource.namespaced
    if isinstance(item, Object) and resource_of(type(item)).group_resource == resource.group_resource:
        item = item.key
    elif isinstance(item, tuple) and len(item) == 2 and namespaced and all(isinstance(part, str) for part in item):
        item = ObjectKey.of(*item)
    if not isinstance(item, str):
        raise TypeError(f"{whose} returned {_describe(item)}, which is not the key of a {kind}: {_example(namespaced)}")
    namespace, slash, name = item.partition("/")
    if bool(slash) != namespaced or "/" in name or (namespaced and not (namespace and name)) or not item:
        scope = "is namespaced" if namespaced else "is cluster-scoped"
        raise ValueError(f"{whose} returned {_describe(item)}, but {kind} {scope}: {_example(namespaced)}")
    return item if isinstance(item, ObjectKey) else ObjectKey(item)


def _example(namespaced: bool) -> str:
    return "return ObjectKey.of(namespace, name)" if namespaced else 'return ObjectKey.of("", name)'


def _describe(item: Any) -> str:
    if isinstance(item, Object):
        return f"the {type(item).__name__} {item.key}"
    if isinstance(item, Head):
        return f"the head of {item.key}"
    return reprlib.repr(item)
