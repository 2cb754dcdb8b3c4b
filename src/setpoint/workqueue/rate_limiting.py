"""The work queue with delays that grow by failure."""

from __future__ import annotations

from setpoint.workqueue.delaying import DelayingQueue
from setpoint.workqueue.metrics import QueueMetricsProvider
from setpoint.workqueue.rate_limiters import RateLimiter
from setpoint.workqueue.ready import AGEING
from setpoint.workqueue.states import K


class RateLimitingQueue(DelayingQueue[K]):
    """A `DelayingQueue` that asks a rate limiter how long to wait.

    After a failure call `add_rate_limited`, after a success `forget`: the limiter remembers a key's failures until
    then, also when the key itself is long done. `done` is due in both cases.
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
        """`add_after` with the limiter's delay for this key, which its failures so far make longer."""
        if not self._shutting_down:
            self.add_after(key, self._rate_limiter.when(key), priority=priority)

    def forget(self, key: K) -> None:
        """Let the limiter forget the key's failures. The queue itself is left as it is."""
        self._rate_limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """How often the limiter has been asked about the key since it last forgot it."""
        return self._rate_limiter.num_requeues(key)
