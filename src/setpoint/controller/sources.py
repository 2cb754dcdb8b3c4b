"""Sources: functions that give a controller keys of their own accord."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

from setpoint.cache.function_names import name_of
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.handlers import binds
from setpoint.meta import ObjectKey

Keys: TypeAlias = AsyncIterator[ObjectKey | str]
Source: TypeAlias = Callable[[], Keys] | Callable[[CacheReader], Keys]
"""A function that returns an async iterator of keys, which may be endless: keys from outside the cluster, or, if it
takes the controller's caches, of kinds that are known only while the program runs (`CacheReader.informer`).
"""


def keys_of(source: Source, whose: str) -> Callable[[CacheReader], Keys]:
    """The source as a function that takes the caches. It raises TypeError if the source does not return an async
    iterator.

    Raises:
        TypeError: the source can't be called, neither with the caches nor without an argument.
    """
    call: Any = source
    if not callable(source):
        raise TypeError(f"{whose}: the source {source!r} is not a function")
    with_caches = _takes_caches(source, whose)

    def opened(caches: CacheReader) -> Keys:
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


def _takes_caches(source: Source, whose: str) -> bool:
    try:
        signature = inspect.signature(source)
    except ValueError:  # some built-in functions don't tell
        return False
    if binds(signature, 0):
        return False
    if binds(signature, 1):
        return True
    raise TypeError(f"{whose}: the source {name_of(source)}{signature} has to take nothing, or the caches")
