"""Sources: functions that give a controller keys of their own accord."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

from setpoint.cache.names import name_of
from setpoint.controller.caches import Caches
from setpoint.controller.handlers import binds
from setpoint.meta import ObjectKey

Keys: TypeAlias = AsyncIterator[ObjectKey | str]
Source: TypeAlias = Callable[[], Keys] | Callable[[Caches], Keys]
"""A function that returns an async iterator of keys, which may be endless: keys from outside the cluster, or, if it
takes the controller's caches, of kinds that are known only while the program runs (`Caches.informer`).
"""


def keys_of(source: Source, whose: str) -> Callable[[Caches], Keys]:
    """The source as a function that takes the caches.

    Raises:
        TypeError: the source can't be called, neither with the caches nor without an argument.
    """
    call: Any = source
    try:
        signature = inspect.signature(source)
    except ValueError:  # some built-in functions don't tell
        return lambda _: call()
    if binds(signature, 0):
        return lambda _: call()
    if binds(signature, 1):
        return call  # type: ignore[no-any-return]
    raise TypeError(f"{whose}: the source {name_of(source)}{signature} has to take nothing, or the caches")
