"""Removers: the running controllers that are known to remove a finalizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from setpoint.controller.running import RunningController
from setpoint.meta import GroupResource


class Removers:
    """The running controllers of one cluster, by the finalizers that they remove.

    A controller declares its own finalizer (`Controller.finalize`), which applies only to objects of the controller's
    kind. ``others`` maps further finalizers, on objects of any kind, to the names of the controllers that remove them.
    """

    def __init__(self, controllers: Iterable[RunningController[Any]], others: Mapping[str, str] | None = None) -> None:
        self._others = others or {}
        self._declared = {
            (run.controller.resource.group_resource, run.controller.finalizer): run.name
            for run in controllers
            if run.controller.finalizer
        }

    def of(self, resource: GroupResource, finalizer: str) -> str:
        """The name of the controller that removes the finalizer from objects of ``resource``; ``""`` if unknown."""
        return self._declared.get((resource, finalizer)) or self._others.get(finalizer, "")

    def sentence(self, resource: GroupResource, finalizers: Iterable[str]) -> str:
        """A sentence that names the finalizers for which an object waits, and the controllers that remove them."""
        parts = [f"{name}, which {self._who(resource, name)}" for name in finalizers]
        return f"waits for the finalizer{'s' if len(parts) > 1 else ''} {'; '.join(parts)}"

    def _who(self, resource: GroupResource, finalizer: str) -> str:
        found = self.of(resource, finalizer)
        return (
            f"{found} removes"
            if found
            else "no controller here is known to remove (start the one that does, or take it off by hand)"
        )
