"""Tools for tests of controllers: virtual time, and a whole cluster in a test."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .virtual_clock import (
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
    virtual_time,
    wait_all_tasks_blocked,
)

if TYPE_CHECKING:
    from .clusters import Cluster, cluster
    from .conversion_checks import check_conversions
    from .failure_reports import LostEvent, NotSettled
    from .faults import Faults
    from .object_strategies import objects_of
    from .permissions import MissingPermission

__all__ = [
    "EPOCH",
    "Cluster",
    "Deadlock",
    "Faults",
    "LeakedTasks",
    "Livelock",
    "LostEvent",
    "MissingPermission",
    "NotSettled",
    "TimeLimitExceeded",
    "UnhandledErrors",
    "VirtualTimeError",
    "VirtualTimeLoop",
    "advance",
    "check_conversions",
    "cluster",
    "now",
    "objects_of",
    "run",
    "virtual_time",
    "wait_all_tasks_blocked",
]

_HOMES = {
    "Cluster": "clusters",
    "Faults": "faults",
    "LostEvent": "failure_reports",
    "MissingPermission": "permissions",
    "NotSettled": "failure_reports",
    "check_conversions": "conversion_checks",
    "cluster": "clusters",
    "objects_of": "object_strategies",
}


if not TYPE_CHECKING:  # else a misspelt name would be of type Any to type checkers

    def __getattr__(name: str) -> Any:
        """Imports a name lazily, so that a test of a queue, for example, does not import the server."""
        if name not in _HOMES:
            raise AttributeError(f"module 'setpoint.testing' has no attribute {name!r}")
        value = getattr(import_module(f"setpoint.testing.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
