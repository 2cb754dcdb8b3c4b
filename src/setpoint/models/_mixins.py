"""What generated classes are asked most often, as extra bases for them.

``_for`` names the class that gets a mixin; the generator reads it. A mixin has no fields, and questions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from setpoint.models.apiextensions_v1 import CustomResourceDefinitionStatus
    from setpoint.models.apps_v1 import DeploymentStatus
    from setpoint.models.batch_v1 import JobStatus
    from setpoint.models.core_v1 import NodeStatus, PodStatus


class _Condition(Protocol):
    @property
    def type(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...


def _holds(conditions: Sequence[_Condition], type: str) -> bool:
    return any(condition.type == type and condition.status == "True" for condition in conditions)


class PodMixin:
    __slots__ = ()
    _for: ClassVar[str] = "core_v1.Pod"

    if TYPE_CHECKING:
        status: PodStatus

    @property
    def is_ready(self) -> bool:
        """Whether the pod's ``Ready`` condition holds: all its containers and readiness gates are ready."""
        return _holds(self.status.conditions, "Ready")

    @property
    def is_running(self) -> bool:
        """Whether at least one container was started and the pod has not ended."""
        return self.status.phase == "Running"

    @property
    def is_finished(self) -> bool:
        """Whether the pod has ended for good, with success or without."""
        return self.status.phase in ("Succeeded", "Failed")


class NodeMixin:
    __slots__ = ()
    _for: ClassVar[str] = "core_v1.Node"

    if TYPE_CHECKING:
        status: NodeStatus

    @property
    def is_ready(self) -> bool:
        """Whether the node's ``Ready`` condition holds, as its kubelet last said."""
        return _holds(self.status.conditions, "Ready")


class DeploymentMixin:
    __slots__ = ()
    _for: ClassVar[str] = "apps_v1.Deployment"

    if TYPE_CHECKING:
        status: DeploymentStatus

    @property
    def is_available(self) -> bool:
        """Whether the ``Available`` condition holds: at least the minimum of replicas has been ready for long enough."""
        return _holds(self.status.conditions, "Available")


class JobMixin:
    __slots__ = ()
    _for: ClassVar[str] = "batch_v1.Job"

    if TYPE_CHECKING:
        status: JobStatus

    @property
    def is_complete(self) -> bool:
        """Whether the job has ended with success."""
        return _holds(self.status.conditions, "Complete")

    @property
    def is_failed(self) -> bool:
        """Whether the job was given up."""
        return _holds(self.status.conditions, "Failed")

    @property
    def is_finished(self) -> bool:
        """Whether the job has ended, with success or without."""
        return self.is_complete or self.is_failed


class CustomResourceDefinitionMixin:
    __slots__ = ()
    _for: ClassVar[str] = "apiextensions_v1.CustomResourceDefinition"

    if TYPE_CHECKING:
        status: CustomResourceDefinitionStatus

    @property
    def is_established(self) -> bool:
        """Whether the server serves the resource."""
        return _holds(self.status.conditions, "Established")
