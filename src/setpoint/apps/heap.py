"""Keeps garbage collection from slowing down a server program."""

from __future__ import annotations

import gc

__all__ = ["freeze_heap"]


def freeze_heap() -> None:
    """Excludes all objects that exist now from garbage collection. Programs call this function when they begin to
    serve.

    A request of a few megabytes creates enough objects to trigger a collection. Without this function, each collection
    would traverse the whole server, and no other request would be answered for almost a tenth of a second.
    """
    gc.collect()
    gc.freeze()
