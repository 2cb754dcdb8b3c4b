# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""coordination.k8s.io/v1beta1."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, MicroTime, Object, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList


class LeaseCandidateSpec(ApiModel):
    """LeaseCandidateSpec is a specification of a Lease."""

    binary_version: str
    """binaryVersion is the binary version. It must be in a semver format without leading `v`. This field is required.
    """
    emulation_version: str | None = None
    """emulationVersion is the emulation version."""
    lease_name: str
    """leaseName is the name of the lease for which this candidate is contending."""
    ping_time: MicroTime | None = None
    """pingTime is the last time that the server has requested the LeaseCandidate to renew."""
    renew_time: MicroTime | None = None
    """renewTime is the time that the LeaseCandidate was last updated."""
    strategy: str
    """strategy is the strategy that coordinated leader election will use for picking the leader."""


class LeaseCandidate(Object, ApiModel):
    """LeaseCandidate defines a candidate for a Lease object. Candidates are created such that coordinated leader
    election will pick the best leader from the list of candidates.
    """

    resource: ClassVar[Resource] = _table.COORDINATION_V1BETA1_LEASE_CANDIDATE

    spec: LeaseCandidateSpec = msgspec.field(default_factory=lambda: LeaseCandidateSpec(binary_version="", lease_name="", strategy=""))
    """spec contains the specification of the Lease."""


class LeaseCandidateList(KindList[LeaseCandidate]):
    """LeaseCandidateList is a list of Lease objects."""

    api_version: ClassVar[str] = "coordination.k8s.io/v1beta1"
    kind: ClassVar[str] = "LeaseCandidateList"
