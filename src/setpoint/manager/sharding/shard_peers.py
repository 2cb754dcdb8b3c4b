"""One process's knowledge of the other members, and the share of the keys that follows from it."""

from __future__ import annotations

from typing import Final, NamedTuple

from setpoint.manager.sharding.rendezvous_hashing import Members
from setpoint.meta import ObjectKey
from setpoint.models.coordination_v1 import Lease

LABEL: Final = "sharding.setpoint.io/group"
VIEW: Final = "sharding.setpoint.io/members"
CONTROLLERS: Final = "sharding.setpoint.io/controllers"
"""The annotation of a Lease with the names of the process's controllers, separated by commas."""


class Keys(NamedTuple):
    """A `Share`: the keys that belong to ``me`` in all views."""

    me: str = ""
    views: tuple[Members, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.views

    def owns(self, controller: str, key: ObjectKey) -> bool:
        return bool(self.views) and all(view.owner(controller, key) == self.me for view in self.views)


class Peer:
    """The last known version of another process's Lease, and the time since which it has not changed."""

    __slots__ = ("controllers", "duration", "id", "observed_at", "record", "resource_version", "uid", "view")

    def __init__(self, lease: Lease, observed_at: float) -> None:
        spec = lease.spec
        self.id = spec.holder_identity or ""
        self.duration = float(spec.lease_duration_seconds or 0)
        self.view = Members.parse(lease.metadata.annotations.get(VIEW, ""))
        names = lease.metadata.annotations.get(CONTROLLERS)
        self.controllers = None if names is None else frozenset(names.split(","))
        """None for a process that does not tell."""
        self.uid = lease.uid
        self.resource_version = lease.metadata.resource_version
        self.record = record_of(lease)
        self.observed_at = observed_at

    def gone(self, requested_at: float) -> bool:
        """Whether the peer has released its Lease, or was already dead at ``requested_at``: the loop time just before a
        request whose answer still showed this version of the Lease.
        """
        return not self.id or requested_at - self.observed_at >= self.duration


def record_of(lease: Lease) -> object:
    """The fields of a Lease that a live process changes."""
    return lease.uid, lease.spec, lease.metadata.annotations.get(VIEW, "")
