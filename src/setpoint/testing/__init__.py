"""What tests of controllers are made of; here, virtual time."""

from __future__ import annotations

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

__all__ = [
    "EPOCH",
    "Deadlock",
    "LeakedTasks",
    "Livelock",
    "TimeLimitExceeded",
    "UnhandledErrors",
    "VirtualTimeError",
    "VirtualTimeLoop",
    "advance",
    "now",
    "run",
    "settle",
    "virtual_time",
]
