"""LeaderShard: leader election as a shard in which one process has all keys."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from setpoint.concurrency import Deadline
from setpoint.controller.environment import Share
from setpoint.manager.key_partition import WHOLE, Partition
from setpoint.manager.leader_election.leadership import Leadership
from setpoint.meta import ObjectKey


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


class LeaderShard:
    """A `setpoint.controller.environment.Shard` and a `Fence`: while this process leads, it has the keys of a
    partition, by default all keys.

    ``leader_only`` controllers are started when the process leads, so the share never changes. This class adds the
    hand-over: a reconcile starts only when the caches show the last leader's writes, and never in a process that was
    suspended for longer than its lease and has not yet noticed that the lease has expired.
    """

    def __init__(self, leadership: Leadership, partition: Partition = WHOLE) -> None:
        self._leadership = leadership
        self._partition = partition

    @property
    def share(self) -> Share:
        return self._partition

    def on_change(self, listener: Callable[[Share], None]) -> Callable[[], None]:
        """Does nothing: the share never changes, because a process that loses the lease ends its controllers."""
        return lambda: None

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        """The scope of a reconcile; None if the key is in another partition, or another process may already lead."""
        return _ENDLESS if self._leadership.may_act() and self._partition.owns(controller, key) else None

    def may_act(self) -> bool:
        """See `Leadership.may_act`."""
        return self._leadership.may_act()

    def may_write(self, controller: str, key: ObjectKey) -> bool:
        """Whether `may_act` is true. The key needs no check: its reconcile has begun, so the key is in the partition,
        which never changes.
        """
        return self._leadership.may_act()

    def end(self, controller: str, key: ObjectKey) -> None:
        """Does nothing: no process waits for the end of work on single keys."""

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        """The reason why this process does not reconcile the key: another process has its partition. ``""`` if this
        process has it. Before this process leads, its controllers have not been started; `explain` reports that.
        """
        owner = self._partition.of(controller, key)
        if owner == self._partition.index:
            return ""
        return f"it is in the partition of process {owner}, this is process {self._partition.index}"
