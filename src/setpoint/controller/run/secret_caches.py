"""Warnings about caches that hold all Secrets of a cluster, of which the controller needs few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from setpoint.cache import Informer
from setpoint.controller.declaration import Declaration, WatchedKind
from setpoint.controller.history import MAX_CAUSES, Timeline
from setpoint.meta import GroupVersionResource, resource_of

__all__ = ["JUDGED_AFTER", "MANY_SECRETS", "reads_all_secrets", "unneeded_secrets", "unread_secrets"]

MANY_SECRETS: Final = 200
"""The number of Secrets from which a cache of all Secrets is worth a warning."""
JUDGED_AFTER: Final = 300.0
"""Seconds after the start of the workers at which the reads of a controller are judged."""
_SAMPLE: Final = 200
_READ: Final = ("reads", "watches")
_FEW: Final = 10
"""A controller needs few Secrets if it needs less than one of this many."""


def reads_all_secrets(declaration: Declaration[Any]) -> bool:
    """Whether the controller reads or watches Secrets, whole ones and in all namespaces."""
    return any(True for watch in _all_secrets(declaration, _READ) if not watch.metadata_only)


def unneeded_secrets(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]]
) -> Iterator[str]:
    """A warning for a cache with all Secrets of a cluster of which less than a tenth of a sample are children of
    objects of the controller's kind, as it declares. This is known as soon as the cache has synced.
    """
    resource = declaration.resource
    for watch, informer in _caches_of_all(declaration, informers, ("owns",)):
        store = informer.store
        step = max(len(store) // _SAMPLE, 1)
        heads = [head for key in list(store)[::step] if (head := store.head(key)) is not None]
        owned = sum(any(owner.kind == resource.kind for owner in head.owner_references) for head in heads)
        if owned * _FEW < len(heads):
            yield (
                f"{_cached(informer)}, and about {owned * 100 // len(heads)} % of them belong to a {resource.kind}: "
                f'give the children a label, and declare .owns({watch.kind.__name__}, selector="...")'
            )


def unread_secrets(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]], timeline: Timeline
) -> Iterator[str]:
    """A warning for a cache with all Secrets of a cluster that the controller reads or watches, and of which its
    remembered reconciles needed less than a tenth.

    For each key this takes the attempt with the most reads, and the Secrets whose events caused attempts; keys that are
    not remembered count as the others do. There is no warning if the number is not known: if no reconcile read a Secret
    through its context (a lister's reads are not recorded), or if an attempt had more causes than are remembered.
    """
    for watch, informer in _caches_of_all(declaration, informers, _READ):
        if watch.metadata_only:
            continue
        kind, reads, needed, keys = resource_of(watch.kind).kind, 0, 0, timeline.keys()
        for key in keys:
            attempts = timeline.of(key)
            causes = {cause.key for attempt in attempts for cause in attempt.causes if cause.kind == kind}
            if causes and any(len(attempt.causes) >= MAX_CAUSES for attempt in attempts):
                return
            totals = [sum(read.objects for read in attempt.reads if read.kind == kind) for attempt in attempts]
            reads += sum(totals)
            needed += max(totals, default=0) + len(causes)
        if not reads:
            continue
        objects = max(len(informers[declaration.resource.gvr].store), len(keys))
        needed = needed * objects // len(keys)
        if needed * _FEW < len(informer.store):
            name = watch.kind.__name__
            yield (
                f"{_cached(informer)}, and its reconciles have needed about {needed} of them so far: declare "
                f'.{watch.role}({name}, ..., selector="...") or a namespace=, or no cache but '
                f'.needs({name}, "get"), with which ctx.get asks the server for a {kind} by its name'
            )


def _all_secrets(declaration: Declaration[Any], roles: tuple[str, ...]) -> Iterator[WatchedKind]:
    """The declarations of these roles whose caches hold all Secrets of a cluster."""
    for watch in declaration.watched:
        kind = resource_of(watch.kind)
        limited = watch.namespace or watch.selector or watch.field_selector
        if watch.role in roles and (kind.group, kind.plural) == ("", "secrets") and not limited:
            yield watch


def _caches_of_all(
    declaration: Declaration[Any], informers: Mapping[GroupVersionResource, Informer[Any]], roles: tuple[str, ...]
) -> Iterator[tuple[WatchedKind, Informer[Any]]]:
    """The same with their caches, if there are many Secrets."""
    for watch in _all_secrets(declaration, roles):
        informer = informers[resource_of(watch.kind).gvr]
        if len(informer.store) >= MANY_SECRETS:
            yield watch, informer


def _cached(informer: Informer[Any]) -> str:
    store = informer.store
    return (
        f"this process caches all {len(store)} Secrets of the cluster ({store.raw_bytes / 1e6:.1f} MB from the server)"
    )
