"""Leadership: the shard of a process that has all keys of a partition while it leads in an election."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from setpoint.cache.key_shard import KeyShard
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.concurrency import Deadline
from setpoint.controller.environment import Share
from setpoint.manager.key_partition import WHOLE, Partition
from setpoint.meta import GroupVersionResource, ObjectKey
from setpoint.models.coordination_v1 import Lease


class LeadershipLost(Exception):
    """The lease could not be renewed in time, so another process may already lead. All work was cancelled."""


class _Endless(Deadline):
    """A deadline that never passes. A single instance serves any number of blocks.

    A reconcile of a leader needs no deadline, because no other process waits for the leader's keys. A block with this
    deadline costs an eighth of one with a `Deadline` that may be moved.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing."""


_ENDLESS: Final = _Endless()


class Leadership(ABC):
    """A `setpoint.controller.environment.Shard`: an election in which at most one process leads at any time. While this
    process or its supervisor leads, this process has the keys of ``partition``, by default all keys.

    ``leader_only`` controllers are started when the process leads and ended when it does not lead any more, so the
    share never changes. A reconcile starts only when the caches show the last leader's writes, and never in a process
    that was suspended for longer than its lease and has not yet noticed that the lease has expired.

    All times are on the running loop's clock.
    """

    partition: Partition = WHOLE
    namespaces: NamespaceShard | None = None
    """Always None: a leader has the keys of all namespaces."""
    key_shards: dict[tuple[str, GroupVersionResource], KeyShard] | None = None
    rejoins = False
    """Whether a process that has lost its lease may `acquire` it again."""
    rest = 0.0
    """Seconds for which a process that was asked to step down leaves the lease to others."""

    # -- the election --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def identity(self) -> str:
        """The name of this process in the election."""

    @property
    @abstractmethod
    def lease(self) -> Lease | None:
        """The Lease to report events about, as last observed; None if there is none yet."""

    @property
    @abstractmethod
    def is_leader(self) -> bool:
        """Whether this process leads, as far as it knows."""

    @property
    @abstractmethod
    def until(self) -> float:
        """The time from which another process may lead. It is in the past if this process does not lead."""

    @property
    @abstractmethod
    def grace(self) -> float:
        """The number of seconds between the failure of `renew` and the time from which another process may lead."""

    @property
    @abstractmethod
    def release_on_cancel(self) -> bool:
        """Whether the lease is released when the process stops normally."""

    @abstractmethod
    def check(self, tolerance: float) -> str:
        """The reason for a failing health check; ``""`` if there is none."""

    @abstractmethod
    async def acquire(self) -> None:
        """Waits until this process leads."""

    @abstractmethod
    async def renew(self) -> None:
        """Keeps the lease until the call is cancelled.

        Raises:
            LeadershipLost: this process does not lead any more.
        """

    @abstractmethod
    async def release(self) -> None:
        """Releases the lease if this process holds it."""

    # -- the shard -----------------------------------------------------------------------------------------------------

    @property
    def share(self) -> Share:
        return self.partition

    def may_act(self, work: tuple[str, ObjectKey] | None = None) -> bool:
        """Whether this process leads, and no other process can have taken over yet, according to the local clock. The
        key of ``work`` needs no check: its reconcile has begun, so it is in the partition.
        """
        return asyncio.get_running_loop().time() < self.until

    def on_change(self, listener: Callable[[Share], None]) -> Callable[[], None]:
        """Does nothing: the share never changes."""
        return lambda: None

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        """The scope of a reconcile; None if the key is in another partition, or another process may already lead."""
        return _ENDLESS if self.may_act() and self.partition.owns(controller, key) else None

    def end(self, controller: str, key: ObjectKey) -> None:  # noqa: B027 - a subclass need not override it
        """Does nothing: no process waits for the end of work on single keys."""

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        """The reason why this process does not reconcile the key: another process has its partition. ``""`` if this
        process has it. Before this process leads, its controllers have not been started; `explain` reports that.
        """
        owner = self.partition.of(controller, key)
        if owner == self.partition.index:
            return ""
        return f"it is in the partition of process {owner}, this is process {self.partition.index}"
