"""Delivery: the path from a change of an object to the keys to reconcile.

An event passes the predicates and the mapping; each resulting key gets one cause and is added to the queue.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeAlias, cast

from setpoint.cache import HandlerRegistration, Head, HeadUpdate
from setpoint.controller.cause import Cause
from setpoint.controller.environment import Environment
from setpoint.controller.handlers import itself, mapped
from setpoint.controller.memory import Memory
from setpoint.controller.predicates import name_of
from setpoint.controller.told import Told
from setpoint.controller.watch import WatchedKind
from setpoint.meta import ObjectKey, resource_of
from setpoint.workqueue import LOW_PRIORITY, RateLimitingQueue

UnlessStopped: TypeAlias = Callable[[Coroutine[Any, Any, None]], Awaitable[None]]


def subscribe(
    watch: WatchedKind,
    env: Environment,
    memory: Memory,
    told: Told,
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
    owners = watch.owners or itself
    mapping = mapped(watch.map, env.caches, f"controller {env.name!r}", env.resource) if watch.map is not None else None
    causes, metrics, seen = told.causes, told.metrics, told.seen
    echoes, orphans = memory.echoes, memory.orphans
    clock = asyncio.get_running_loop().time

    asks = wants if primary else None

    def deliver(
        changed: ObjectKey, old: Head | None, new: Head | None, change: str, version: str, priority: int
    ) -> Coroutine[Any, Any, None] | None:
        cause = Cause(change, kind, changed, version, clock())  # type: ignore[arg-type]
        for test in predicates:
            if not test(old, new):
                metrics.filtered += 1
                for key in (changed,) if primary else owners(old, new) if owns else ():
                    seen.filtered(key, name_of(test), cause)
                return None
        if primary:
            causes.add(changed, cause)
            queue.add(changed, priority=priority)
            return None
        if mapping is None:
            keys = owners(old, new)
        else:
            found = mapping(old, new)
            if inspect.iscoroutine(found):
                return deliver_later(found, cause, priority)
            keys = cast("Iterable[ObjectKey]", found)
        for key in keys:
            if wants is None or wants(key):
                causes.add(key, cause)
                queue.add(key, priority=priority)
        return None

    async def deliver_later(found: Coroutine[Any, Any, Iterable[ObjectKey]], cause: Cause, priority: int) -> None:
        async def deliver_keys() -> None:
            for key in await found:
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
            needs_old = bool(predicates)
        else:
            needs_old = bool(predicates) or not owns or not heads.same_owners
        return deliver(key, heads.old if needs_old else new, new, "update", version, 0)

    def on_delete(head: Head, final_state_unknown: bool) -> Coroutine[Any, Any, None] | None:
        key, version = head.key, head.resource_version
        if primary:
            seen.deleted(key)
            told.timeline.deleted(key)
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
                    orphans.went(head.uid, owner)
        return deliver(key, head, None, "delete", version, 0)

    return informer.add_event_handler(on_add=on_add, on_change=on_change, on_delete=on_delete, name=env.name)
