"""A work queue with delays that grow with each failure of a key."""

from __future__ import annotations

from setpoint.workqueue.delaying_queue import DelayingQueue
from setpoint.workqueue.metrics import QueueMetricsProvider
from setpoint.workqueue.queue_depths import K
from setpoint.workqueue.rate_limiters import RateLimiter
from setpoint.workqueue.ready_list import AGEING


class RateLimitingQueue(DelayingQueue[K]):
    """A `DelayingQueue` with delays from a rate limiter.

    Call `add_rate_limited` after a failure and `forget` after a success: the limiter remembers the key's failures until
    `forget`, even after `done`. `done` is required in both cases.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter[K],
        *,
        name: str = "",
        metrics: QueueMetricsProvider | None = None,
        ageing: int = AGEING,
    ) -> None:
        super().__init__(name=name, metrics=metrics, ageing=ageing)
        self._rate_limiter = rate_limiter

    def add_rate_limited(self, key: K, *, priority: int = 0) -> None:
        """Calls `add_after` with the limiter's delay for this key, which grows with the key's failures."""
        if not self._shutting_down:
            self.add_after(key, self._rate_limiter.when(key), priority=priority)

    def forget(self, key: K) -> None:
        """Resets the key's failures in the limiter. The queue itself does not change."""
        self._rate_limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """The number of failures that the limiter has counted since the last `forget`."""
        return self._rate_limiter.num_requeues(key)
