"""Keeps garbage collection from slowing down a server program."""

from __future__ import annotations

import gc
from typing import Final

_THRESHOLDS: Final = (20_000, 10, 100)
"""The number of new objects after which the youngest are traversed, and the numbers of such collections after which
older ones are traversed, too. By default, 700, 10 and 10.
"""


def freeze_heap() -> None:
    """Excludes all objects that exist now from garbage collection, and makes collections rarer. Programs call this
    function when they begin to serve.

    A request of a few megabytes creates enough objects to trigger many collections. Without this function, each of them
    would traverse the whole server or all objects of the request, and no other request would be answered for almost a
    tenth of a second. The garbage of a start is frozen, too: less than 1 MB, which is not worth a full
    collection.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
