"""Leader election on Leases (``coordination.k8s.io/v1``), with client-go's rules: its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from setpoint.meta.names import dns1123_subdomain

JITTER_FACTOR: Final = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """The configuration of an election.

    ``name`` and ``namespace`` are those of the Lease; ``identity`` names this candidate and must be unique. Times are
    in seconds: other candidates wait ``lease_duration`` before they take over, a leader gives up after
    ``renew_deadline`` without a successful renewal, and all candidates try to get or renew the lease every
    ``retry_period``. With ``release_on_cancel``, a leader that stops releases its lease.

    ``lost_lease`` says what a process does that has lost its lease: it ends (``exit``), or it becomes a candidate again
    without anything of its time as the leader (``standby``; see `setpoint.Manager`).

    Raises:
        ValueError: ``lease_duration > renew_deadline > 1.2 * retry_period > 0`` does not hold, ``lease_duration`` is
            less than 1, or ``name`` or ``identity`` is invalid.
    """

    name: str
    identity: str
    namespace: str = "default"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    release_on_cancel: bool = True
    labels: dict[str, str] = field(default_factory=dict)
    lost_lease: Literal["exit", "standby"] = "exit"

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("leader election: identity must not be empty, and no two candidates may share one")
        if problems := dns1123_subdomain(self.name):
            raise ValueError(f"leader election: name {self.name!r}: {problems[0]}")
        if self.lease_duration < 1:
            raise ValueError(f"leader election: lease_duration must be at least 1 s, not {self.lease_duration:g}")
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"leader election: lease_duration ({self.lease_duration:g} s) must be greater than renew_deadline "
                f"({self.renew_deadline:g} s), or two processes could lead at the same time"
            )
        if self.retry_period <= 0 or self.renew_deadline <= JITTER_FACTOR * self.retry_period:
            raise ValueError(
                f"leader election: renew_deadline ({self.renew_deadline:g} s) must be greater than retry_period "
                f"({self.retry_period:g} s) times {JITTER_FACTOR}, and both greater than 0"
            )

    @property
    def request_timeout(self) -> float:
        """The timeout of one request in seconds: half of the renew deadline, but at least 1."""
        return max(1.0, self.renew_deadline / 2)
