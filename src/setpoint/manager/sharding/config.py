"""Sharding: the configuration of a group of processes that share their controllers' keys.

For the protocol, and the reason why no key is in two processes, see `setpoint.manager.sharding.shard_member`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from setpoint.manager.leader_election.config import LeaderElection
from setpoint.manager.sharding.rendezvous_hashing import point
from setpoint.meta.names import dns1123_subdomain

_IDENTITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """The configuration of a group of processes.

    ``name`` and ``namespace`` are those of the group; ``identity`` names this process and must be unique. Times are in
    seconds:

    - ``lease_duration``: others take over the keys of a process this long after its last sign of life;
    - ``renew_deadline``: a process gives up its keys after this time without a successful renewal;
    - ``retry_period``: all members renew and list this often;
    - ``drain_timeout``: a reconcile of a key that now belongs to another process is cancelled after this time.

    ``by`` says what is shared out: single keys, or namespaces with all their keys. With ``"namespace"``, caches of the
    reconciled kinds and of their children hold the process's own namespaces only. Keys of cluster-scoped kinds are
    always shared out one by one. Members of a group may differ in it, as during a rolling update.

    Raises:
        ValueError: ``lease_duration > renew_deadline > 1.2 * retry_period > 0`` does not hold, ``lease_duration`` is
            less than 1, ``drain_timeout`` is negative, or ``name``, ``identity`` or ``by`` is invalid.
    """

    name: str
    identity: str
    namespace: str = "default"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    drain_timeout: float = 10.0
    by: Literal["key", "namespace"] = "key"

    def __post_init__(self) -> None:
        if not _IDENTITY.fullmatch(self.identity):
            raise ValueError(
                f"sharding: identity {self.identity!r} is not made of letters, digits, '-', '_' and '.'; "
                "no two processes may share one"
            )
        if problems := dns1123_subdomain(self.lease):
            raise ValueError(f"sharding: name {self.name!r}: {problems[0]}")
        if len(self.name) > 63:
            raise ValueError(
                f"sharding: name {self.name!r} is too long: it becomes the value of a label, which has at most 63 "
                "characters"
            )
        if self.by not in ("key", "namespace"):
            raise ValueError(f"sharding: by={self.by!r} is neither 'key' nor 'namespace'")
        if self.drain_timeout < 0:
            raise ValueError(f"sharding: drain_timeout must be 0 s or more, not {self.drain_timeout:g}")
        LeaderElection(
            name=self.lease,
            identity=self.identity,
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
        )  # the same times, the same rules

    @property
    def lease(self) -> str:
        """The name of this process's Lease."""
        return f"{self.name}-{point(self.identity):016x}"
