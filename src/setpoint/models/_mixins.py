"""What generated classes are asked most often, as extra bases for them.

``_for`` names the class that gets a mixin; the generator reads it. A mixin has no fields, and questions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol


class _Condition(Protocol):
    @property
    def type(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...


class _Conditions(Protocol):
    @property
    def conditions(self) -> Sequence[_Condition]: ...


class _Phase(_Conditions, Protocol):
    @property
    def phase(self) -> str | None: ...


class _WithConditions(Protocol):
    """An object whose status has conditions."""

    @property
    def status(self) -> _Conditions: ...


class _WithPhase(Protocol):
    """An object whose status has a phase and conditions."""

    @property
    def status(self) -> _Phase: ...


def _holds(conditions: Sequence[_Condition], type: str) -> bool:
    return any(condition.type == type and condition.status == "True" for condition in conditions)


class PodMixin:
    __slots__ = ()
    _for: ClassVar[str] = "core_v1.Pod"

    @property
    def is_ready(self: _WithPhase) -> bool:
        """Whether the pod's ``Ready`` condition holds: all its containers and readiness gates are ready."""
        return _holds(self.status.conditions, "Ready")

    @property
    def is_running(self: _WithPhase) -> bool:
        """Whether at least one container was started and the pod has not ended."""
        return self.status.phase == "Running"

    @property
    def is_finished(self: _WithPhase) -> bool:
        """Whether the pod has ended for good, with success or without."""
        return self.status.phase in ("Succeeded", "Failed")


class NodeMixin:
    __slots__ = ()
    _for: ClassVar[str] = "core_v1.Node"

    @property
    def is_ready(self: _WithConditions) -> bool:
        """Whether the node's ``Ready`` condition holds, as its kubelet last said."""
        return _holds(self.status.conditions, "Ready")


class DeploymentMixin:
    __slots__ = ()
    _for: ClassVar[str] = "apps_v1.Deployment"

    @property
    def is_available(self: _WithConditions) -> bool:
        """Whether the ``Available`` condition holds: at least the minimum of replicas has been ready for long enough."""
        return _holds(self.status.conditions, "Available")


class JobMixin:
    __slots__ = ()
    _for: ClassVar[str] = "batch_v1.Job"

    @property
    def is_complete(self: _WithConditions) -> bool:
        """Whether the job has ended with success."""
        return _holds(self.status.conditions, "Complete")

    @property
    def is_failed(self: _WithConditions) -> bool:
        """Whether the job was given up."""
        return _holds(self.status.conditions, "Failed")

    @property
    def is_finished(self: _WithConditions) -> bool:
        """Whether the job has ended, with success or without."""
        return _holds(self.status.conditions, "Complete") or _holds(self.status.conditions, "Failed")


class CustomResourceDefinitionMixin:
    __slots__ = ()
    _for: ClassVar[str] = "apiextensions_v1.CustomResourceDefinition"

    @property
    def is_established(self: _WithConditions) -> bool:
        """Whether the server serves the resource."""
        return _holds(self.status.conditions, "Established")
