"""Removers: the running controllers that are known to remove a finalizer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from setpoint.apiserver.custom.definitions import CLEANUP_FINALIZER
from setpoint.cluster.catalog import GARBAGE_COLLECTOR
from setpoint.cluster.garbage_collector import FOREGROUND, ORPHAN
from setpoint.cluster.job_pods import FINALIZER as TRACKING
from setpoint.cluster.volume_protection import ATTRIBUTES, CLAIM, VOLUME
from setpoint.controller import RunningController
from setpoint.meta import GroupResource

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
"""The controllers of the control plane that remove finalizers which they do not declare."""


class Removers:
    """The controllers that remove finalizers, of the running ones and of ``others``, which have no queue."""

    def __init__(self, controllers: Iterable[RunningController[Any]], others: Collection[str] = ()) -> None:
        self._running = {_API_SERVER, *others}
        self._declared: dict[tuple[GroupResource, str], str] = {}
        for run in controllers:
            self._running.add(run.name)
            if run.controller.finalizer:
                self._declared[run.controller.resource.group_resource, run.controller.finalizer] = run.name

    def of(self, resource: GroupResource, finalizer: str) -> str:
        """The name of the controller that removes this finalizer from such objects; ``""`` if none is known."""
        known = self._declared.get((resource, finalizer)) or _BUILT_IN.get(finalizer, "")
        return known if known in self._running else ""

    def sentence(self, resource: GroupResource, finalizers: Iterable[str]) -> str:
        """The sentence that tells for which finalizers an object waits, and which controllers remove them."""
        parts = [f"{name}, which {self._who(resource, name)}" for name in finalizers]
        return (
            f"waits for the finalizer {parts[0]}" if len(parts) == 1 else f"waits for the finalizers {'; '.join(parts)}"
        )

    def _who(self, resource: GroupResource, finalizer: str) -> str:
        found = self.of(resource, finalizer)
        return f"{found} removes" if found else "no controller here is known to remove"
