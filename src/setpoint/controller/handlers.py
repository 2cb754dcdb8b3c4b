"""Handlers: functions from a changed object to the keys to reconcile.

A handler is called with the head before and the head after a change (one of them may be None, see `predicates`) and
returns keys. For an update both heads count: when an object moves from one owner to another, both owners are
reconciled.

Users write a `MapFunction`, which gets one head and, if it takes a second argument, the controller's caches. It may be
a coroutine function.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, Final, TypeAlias

from setpoint.cache import Head
from setpoint.cache.function_names import name_of, place_of
from setpoint.controller.cache_reader import CacheReader
from setpoint.meta import Object, ObjectKey, Resource, resource_of

Handler: TypeAlias = Callable[[Head | None, Head | None], Iterable[ObjectKey]]
Keys: TypeAlias = Iterable[ObjectKey | str] | str | None
MapFunction: TypeAlias = (
    Callable[[Head], Keys | Awaitable[Keys]] | Callable[[Head, CacheReader], Keys | Awaitable[Keys]]
)
Found: TypeAlias = Iterable[ObjectKey] | Coroutine[Any, Any, Iterable[ObjectKey]]
_READY: Final = frozenset({list, tuple, dict, set})
Mapping: TypeAlias = Callable[[Head | None, Head | None], Found]
"""A `Handler` whose answer may have to be awaited."""


def itself(old: Head | None, new: Head | None) -> Iterable[ObjectKey]:
    """The changed object's own key."""
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


def takes_caches(function: MapFunction, whose: str) -> bool:
    """Whether the function takes a head and the caches, and not a head alone.

    Raises:
        TypeError: the function can be called in neither way.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions don't tell
        return False
    if binds(signature, 1):
        return False
    if binds(signature, 2):
        return True
    raise TypeError(
        f"{whose}: the mapping function {name_of(function)}{signature} has to take the head of the changed object, "
        "or that and the caches"
    )


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

    def answer(head: Head) -> Keys | Awaitable[Keys]:
        found: Keys | Awaitable[Keys] = call(head, caches) if with_caches else call(head)
        return found

    def mapping(old: Head | None, new: Head | None) -> Any:
        keys: dict[ObjectKey, None] = {}
        for head in (old, new):
            if head is not None:
                found: Any = answer(head)
                if type(found) not in _READY and inspect.isawaitable(found):  # which takes a microsecond to tell
                    return awaited(found, new if head is old else None, keys)
                keys.update(dict.fromkeys(keys_in(found, resource, name)))
        return keys

    async def awaited(found: Awaitable[Keys], rest: Head | None, keys: dict[ObjectKey, None]) -> Iterable[ObjectKey]:
        keys.update(dict.fromkeys(keys_in(await found, resource, name)))
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
        raise TypeError(f"{whose} returned {_shown(result)}: it has to return the keys of {resource.kind}s") from None
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
        raise TypeError(f"{whose} returned {_shown(item)}, which is not the key of a {kind}: {_example(namespaced)}")
    namespace, slash, name = item.partition("/")
    if bool(slash) != namespaced or "/" in name or (namespaced and not (namespace and name)) or not item:
        scope = "is namespaced" if namespaced else "is cluster-scoped"
        raise ValueError(f"{whose} returned {_shown(item)}, but {kind} {scope}: {_example(namespaced)}")
    return item if isinstance(item, ObjectKey) else ObjectKey(item)


def _example(namespaced: bool) -> str:
    return "return ObjectKey.of(namespace, name)" if namespaced else 'return ObjectKey.of("", name)'


def _shown(item: Any) -> str:
    if isinstance(item, Object):
        return f"the {type(item).__name__} {item.key}"
    if isinstance(item, Head):
        return f"the head of {item.key}"
    return reprlib.repr(item)


def binds(signature: inspect.Signature, count: int) -> bool:
    """Whether a function with this signature can be called with that number of positional arguments."""
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
