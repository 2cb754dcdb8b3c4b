"""Finalizers of Kubernetes, and the controllers of the control plane that remove them without declaring them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from setpoint.apiserver.strategies.definitions import CLEANUP_FINALIZER
from setpoint.cluster.controller_registry import GARBAGE_COLLECTOR
from setpoint.cluster.garbage_collection.garbage_collector import FOREGROUND, ORPHAN
from setpoint.cluster.storage.volume_protection import ATTRIBUTES, CLAIM, VOLUME
from setpoint.cluster.workloads.job_pod_tracking import FINALIZER as TRACKING
from setpoint.controller import RunningController
from setpoint.controller.explain.explanation import Removers

_API_SERVER: Final = "the API server"
_BUILT_IN: Final[Mapping[str, str]] = {
    CLAIM: "pvc-protection",
    VOLUME: "pv-protection",
    ATTRIBUTES: "vac-protection",
    TRACKING: "job-controller",
    FOREGROUND: GARBAGE_COLLECTOR,
    ORPHAN: GARBAGE_COLLECTOR,
    CLEANUP_FINALIZER: _API_SERVER,
}


def removers(controllers: Mapping[str, RunningController[Any]], others: Collection[str]) -> Removers:
    """The removers of finalizers in a cluster. ``controllers`` are the running controllers; ``others`` are the names of
    further running controllers, which have no queue.
    """
    running = {_API_SERVER, *controllers, *others}
    return Removers(controllers.values(), {name: by for name, by in _BUILT_IN.items() if by in running})
