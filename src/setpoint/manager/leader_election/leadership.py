"""Leadership: a manager's interface to an election in which either this process or its supervisor is a candidate."""

from __future__ import annotations

from typing import Protocol

from setpoint.models.coordination_v1 import Lease


class LeadershipLost(Exception):
    """The lease could not be renewed in time, so another process may already lead. All work was cancelled."""


class Leadership(Protocol):
    """An election in which at most one process leads at any time.

    All times are on the running loop's clock.
    """

    @property
    def identity(self) -> str:
        """The name of this process in the election."""
        ...

    @property
    def lease(self) -> Lease | None:
        """The Lease to report events about, as last observed; None if there is none yet."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether this process leads, as far as it knows."""
        ...

    @property
    def until(self) -> float:
        """The time from which another process may lead. It is in the past if this process does not lead."""
        ...

    @property
    def grace(self) -> float:
        """The number of seconds between the failure of `renew` and the time from which another process may lead."""
        ...

    @property
    def release_on_cancel(self) -> bool:
        """Whether the lease is released when the process stops normally."""
        ...

    def may_act(self) -> bool:
        """Whether this process leads, and no other process can have taken over yet, according to the local clock."""
        ...

    def check(self, tolerance: float) -> str:
        """The reason for a failing health check; ``""`` if there is none."""
        ...

    async def acquire(self) -> None:
        """Waits until this process leads."""
        ...

    async def renew(self) -> None:
        """Keeps the lease until the call is cancelled.

        Raises:
            LeadershipLost: this process does not lead any more.
        """
        ...

    async def release(self) -> None:
        """Releases the lease if this process holds it."""
        ...
