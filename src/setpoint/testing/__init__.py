"""What tests of controllers are made of: virtual time, and a whole cluster in a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clock import (
    EPOCH,
    Deadlock,
    LeakedTasks,
    Livelock,
    TimeLimitExceeded,
    UnhandledErrors,
    VirtualTimeError,
    VirtualTimeLoop,
    advance,
    now,
    run,
    settle,
    virtual_time,
)

if TYPE_CHECKING:
    from .clusters import Cluster, cluster

__all__ = [
    "EPOCH",
    "Cluster",
    "Deadlock",
    "LeakedTasks",
    "Livelock",
    "TimeLimitExceeded",
    "UnhandledErrors",
    "VirtualTimeError",
    "VirtualTimeLoop",
    "advance",
    "cluster",
    "now",
    "run",
    "settle",
    "virtual_time",
]


def __getattr__(name: str) -> Any:
    """A test of a queue does not pay for the server."""
    if name not in ("Cluster", "cluster"):
        raise AttributeError(f"module 'setpoint.testing' has no attribute {name!r}")
    from . import clusters

    found = getattr(clusters, name)
    globals()[name] = found
    return found
