"""LeaderShard: leader election as a shard in which one process has all keys."""

from __future__ import annotations

from collections.abc import Callable

from setpoint.concurrency import Deadline
from setpoint.controller.shard import Share
from setpoint.manager.leader_election import LeaderElector
from setpoint.meta import ObjectKey


class LeaderShard:
    """All keys, while this process leads: a `setpoint.controller.shard.Shard` and a `Fence`.

    ``leader_only`` controllers are started when the process leads, so it needs no other share. This class adds the
    hand-over: before a reconcile starts, the caches show the last leader's writes; and none is started by a process
    that was stopped for longer than its lease and doesn't know yet.
    """

    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector

    @property
    def share(self) -> Share:
        return _Everything()

    def on_change(self, listener: Callable[[Share], None]) -> Callable[[], None]:
        """Does nothing: the share never changes, as a process that loses the lease ends its controllers."""
        return lambda: None

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        """None if another process may lead by now."""
        return Deadline() if self._elector.may_act() else None

    def may_act(self) -> bool:
        """See `LeaderElector.may_act`."""
        return self._elector.may_act()

    def may_write(self, controller: str, key: ObjectKey) -> bool:
        """As `may_act`: the leader has all keys."""
        return self._elector.may_act()

    def end(self, controller: str, key: ObjectKey) -> None:
        """Does nothing: no process waits for single keys."""

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        """``""``: a process that does not lead has not started the controller, which `explain` reports."""
        return ""


class _Everything:
    empty = False

    def owns(self, controller: str, key: ObjectKey) -> bool:
        return True
