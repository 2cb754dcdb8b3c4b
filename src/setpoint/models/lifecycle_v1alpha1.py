# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""lifecycle.k8s.io/v1alpha1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, Condition, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class EvictionPodReference(ApiModel):
    """EvictionPodReference contains enough information to locate the referenced pod inside the same namespace."""

    name: str
    """name of the target. This field is required."""
    uid: str
    """uid of the target. It can be found in .metadata.uid of the target and is a lowercase UUID in 8-4-4-4-12 format.
    This field is required.
    """


class EvictionRequestPodReference(ApiModel):
    """EvictionRequestPodReference contains enough information to locate the referenced pod inside the same namespace.
    """

    name: str
    """name of the target. This field is required."""
    uid: str
    """uid of the target. It can be found in .metadata.uid of the target and is a lowercase UUID in 8-4-4-4-12 format.
    This field is required.
    """


class EvictionRequestSpec(ApiModel):
    """EvictionRequestSpec is a specification of an EvictionRequest."""

    intent: str
    """intent specifies the action that should be taken for the specified target."""
    requester: str
    """requester allows you to identify the entity, that requested the eviction of the target."""
    target: EvictionRequestTarget
    """target contains a reference to an object (e.g. a pod) that should be evicted."""


class EvictionRequestStatus(ApiModel):
    """EvictionRequestStatus represents the last observed status of the eviction request."""

    conditions: list[Condition] = []
    """conditions contain information about the eviction request."""
    observed_generation: int | None = None
    """observedGeneration is EvictionRequest's .metadata.generation observed by the evictionrequest-controller."""


class EvictionRequestTarget(ApiModel):
    """EvictionRequestTarget contains a reference to an object that should be evicted."""

    pod: EvictionRequestPodReference | None = None
    """pod references a pod that is subject to eviction/termination."""


class EvictionSpec(ApiModel):
    """EvictionSpec is a specification of an Eviction."""

    target: EvictionTarget
    """target contains a reference to an object (e.g. a pod) that should be evicted."""


class EvictionStatus(ApiModel):
    """EvictionStatus represents the last observed status of the eviction request."""

    conditions: list[Condition] = []
    """conditions contain information about the eviction request."""
    observed_generation: int | None = None
    """observedGeneration is Eviction's .metadata.generation observed by the evictionrequest-controller."""
    requesters: list[Requester] = []
    """requesters allow you to identify the entities, that requested the eviction of the target."""
    responders: list[ResponderStatus] = []
    """responders represents the eviction process status of each declared responder."""
    target_responders: list[TargetResponder] = []
    """targetResponders reference responders that should eventually respond to this eviction to help with the graceful
    eviction of a target.
    """


class EvictionTarget(ApiModel):
    """EvictionTarget contains a reference to an object that should be evicted."""

    pod: EvictionPodReference | None = None
    """pod references a pod that is subject to eviction/termination."""


class Requester(ApiModel):
    """Requester allows you to identify the entity, that requested the eviction of the target."""

    intent: str
    """intent specifies the action that should be taken for the specified target."""
    name: str
    """name allows you to identify the entity, that requested the eviction of the target."""


class ResponderStatus(ApiModel):
    """ResponderStatus represents the last observed status of the eviction process of the responder. It should be only
    updated by the designated responder whose name is .name field.
    """

    completion_time: datetime | None = None
    """completionTime tracks the time at which the Responder stopped processing the eviction request."""
    expected_completion_time: datetime | None = None
    """expectedCompletionTime is the time at which the eviction process step is expected to end for the responder."""
    heartbeat_time: datetime | None = None
    """heartbeatTime is the last time at which the eviction process was reported to be in progress by the responder."""
    message: str | None = None
    """message provides human-readable details about the state of the responder and the eviction process."""
    name: str
    """name allows you to identify the responder reacting to the Eviction."""
    start_time: datetime | None = None
    """startTime tracks the time at which this responder was designated as active and should start processing the
    eviction request.
    """


class TargetResponder(ApiModel):
    """TargetResponder allows you to specify the responder reacting to the Eviction. Responders should observe and
    communicate through the Eviction API (see .state) to help with the graceful eviction of a target (e.g. termination
    of a pod).
    """

    name: str
    """name allows you to identify the responder reacting to the Eviction."""
    priority: int
    """priority for this responder. Higher priorities are selected first by the evictionrequest-controller. If there are
    responders with the same priority, the responder whose domain name comes first in the alphabetical higher domain
    order, will be picked.
    """
    state: str
    """state specifies a state that is assigned by the evictionrequest-controller."""


class Eviction(Object, ApiModel):
    """Eviction initiates an eviction process, which should ideally result in a graceful eviction of a .spec.target
    (e.g. termination of a pod).
    """

    resource: ClassVar[Resource] = _table.LIFECYCLE_V1ALPHA1_EVICTION

    spec: EvictionSpec = msgspec.field(default_factory=lambda: EvictionSpec(target=EvictionTarget()))
    """spec defines the eviction specification.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: EvictionStatus = msgspec.field(default_factory=EvictionStatus)
    """status represents the most recently observed status of the eviction."""


class EvictionRequest(Object, ApiModel):
    """EvictionRequest defines a request that should ideally result in a graceful eviction of a .spec.target (e.g.
    termination of a pod).
    """

    resource: ClassVar[Resource] = _table.LIFECYCLE_V1ALPHA1_EVICTION_REQUEST

    spec: EvictionRequestSpec = msgspec.field(default_factory=lambda: EvictionRequestSpec(intent="", requester="", target=EvictionRequestTarget()))
    """spec defines the eviction request specification.
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: EvictionRequestStatus = msgspec.field(default_factory=EvictionRequestStatus)
    """status represents the most recently observed status of the eviction request."""


class EvictionList(KindList[Eviction]):
    """EvictionList contains a list of Eviction resources."""

    api_version: ClassVar[str] = "lifecycle.k8s.io/v1alpha1"
    kind: ClassVar[str] = "EvictionList"


class EvictionRequestList(KindList[EvictionRequest]):
    """EvictionRequestList contains a list of EvictionRequests resources."""

    api_version: ClassVar[str] = "lifecycle.k8s.io/v1alpha1"
    kind: ClassVar[str] = "EvictionRequestList"
