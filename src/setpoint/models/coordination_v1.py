# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""coordination.k8s.io/v1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, MicroTime, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class LeaseSpec(ApiModel):
    """LeaseSpec is a specification of a Lease."""

    acquire_time: MicroTime | None = None
    """acquireTime is a time when the current lease was acquired."""
    holder_identity: str | None = None
    """holderIdentity contains the identity of the holder of a current lease."""
    lease_duration_seconds: int | None = None
    """leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it."""
    lease_transitions: int | None = None
    """leaseTransitions is the number of transitions of a lease between holders."""
    preferred_holder: str | None = None
    """preferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up."""
    renew_time: MicroTime | None = None
    """renewTime is a time when the current holder of a lease has last updated the lease."""
    strategy: str | None = None
    """strategy indicates the strategy for picking the leader for coordinated leader election."""


class Lease(Object, ApiModel):
    """Lease defines a lease concept."""

    resource: ClassVar[Resource] = _table.COORDINATION_V1_LEASE

    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
    """spec contains the specification of the Lease."""


class LeaseList(KindList[Lease]):
    """LeaseList is a list of Lease objects."""

    api_version: ClassVar[str] = "coordination.k8s.io/v1"
    kind: ClassVar[str] = "LeaseList"
