"""Handlers: from a changed object to the keys that have to be looked at.

A handler is called with the head before and the head after a change (one of them may be None, see `predicates`) and
returns keys. For an update both heads count: when an object moves from one owner to another, both are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from setpoint.cache import Head
from setpoint.meta import ObjectKey, Resource

Handler: TypeAlias = Callable[[Head | None, Head | None], Iterable[ObjectKey]]
MapFunction: TypeAlias = Callable[[Head], Iterable[ObjectKey | str]]


def itself(old: Head | None, new: Head | None) -> Iterable[ObjectKey]:
    """The changed object's own key."""
    head = new if new is not None else old
    return (head.key,) if head is not None else ()


def owner(resource: Resource, *, any_owner: bool = False) -> Handler:
    """The keys of the owners of that kind: only the managing controller, or with ``any_owner`` every one.

    References match by group and kind, whatever the version. The owner is looked for in the namespace of the
    dependent, or in none if its kind is cluster-scoped.
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


def mapped(function: MapFunction) -> Handler:
    """The keys that ``function`` gives for the head before and the head after, each once."""

    def handler(old: Head | None, new: Head | None) -> Iterable[ObjectKey]:
        keys: dict[ObjectKey, None] = {}
        for head in (old, new):
            if head is not None:
                for key in function(head):
                    keys[key if isinstance(key, ObjectKey) else ObjectKey(key)] = None
        return keys

    return handler
