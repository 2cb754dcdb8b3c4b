"""Indexing: the declared indexes of a controller's caches."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from setpoint.cache import Head
from setpoint.cache.function_names import name_of
from setpoint.cache.index import IndexFunction, answers
from setpoint.cache.indexes import OWNER
from setpoint.meta import Object, decode, head_of, json_of, raw_of, resource_of

T = TypeVar("T", bound=Object)
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


def having(objects: Iterable[T], indexes: Iterable[DeclaredIndex], index: tuple[str, str], kind: type[T]) -> list[T]:
    """Those of ``objects``, which were read live, that a lister would find in an index. ``index`` is the name of the
    index and the wanted value.

    Raises:
        KeyError: the controller declares no index of that name for ``kind``.
    """
    name, value = index
    if name == OWNER:
        return [obj for obj in objects if value in [each.uid for each in obj.metadata.owner_references]]
    resource = resource_of(kind)
    declared = [each for each in indexes if resource_of(each.kind) == resource]
    for each in declared:
        if each.name == name:
            return [obj for obj in objects if value in _values(each, obj)]
    there = ", ".join(sorted([OWNER, *(each.name for each in declared)]))
    raise KeyError(f"no index {name!r} of {kind.__name__}; there are: {there}")


def _values(index: DeclaredIndex, obj: Object) -> tuple[str, ...]:
    try:
        raw = raw_of(obj) or json_of(obj)
        return answers(index.function)(head_of(raw) if index.argument is Head else decode(index.argument, raw))
    except Exception:  # as in a cache: one object that a function can't read must not hide the others
        logger.exception("index function %s failed for %s: it is left out", name_of(index.function), obj.key)
        return ()
