"""What the queue knows about one key."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

READY: Final = 1
"""To be handed out; together with PROCESSING: to be handed out again after `done` ("dirty")."""

DELAYED: Final = 2
"""To become ready at ``ready_at``; together with PROCESSING: or dirty, should it still be in processing by then."""

PROCESSING: Final = 4
"""In the hands of a worker."""

STATE_NAMES: Final = {
    READY: "ready",
    DELAYED: "delayed",
    PROCESSING: "processing",
    PROCESSING | READY: "processing+dirty",
    PROCESSING | DELAYED: "processing+delayed",
}


class Entry(Generic[K]):
    """One key from its first `add` until it is done; ``state`` is a set of the bits above, never READY with DELAYED.

    ``ticket``, ``ready_at``, ``timer`` and the times are set when they begin to mean something.
    """

    __slots__ = ("added_at", "alive", "key", "priority", "ready_at", "started_at", "state", "ticket", "timer")

    key: K
    priority: int  # of what is waiting; of what was taken, while nothing is
    state: int
    ticket: int  # place in the order of all that became ready
    alive: bool  # False: a successor with a higher priority has taken its place
    ready_at: float  # loop time, while DELAYED
    timer: int  # the ticket of the valid item in the delay heap, while DELAYED
    added_at: float | None  # loop time, for metrics
    started_at: float | None  # loop time, for metrics

    def __init__(self, key: K, priority: int, state: int) -> None:
        self.key = key
        self.priority = priority
        self.state = state
        self.alive = True
