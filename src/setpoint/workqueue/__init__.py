"""The work queue: keys without duplicates, with delays, rate limits and priorities. It is independent of Kubernetes."""

from __future__ import annotations

from setpoint.workqueue.delaying_queue import DelayingQueue
from setpoint.workqueue.metrics import PrometheusQueueMetrics, QueueMetrics, QueueMetricsProvider
from setpoint.workqueue.queue import LOW_PRIORITY, ShutDown, WorkQueue
from setpoint.workqueue.queue_depths import Depths
from setpoint.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    JitterRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from setpoint.workqueue.rate_limiting_queue import RateLimitingQueue
from setpoint.workqueue.ready_list import AGEING

__all__ = [
    "AGEING",
    "LOW_PRIORITY",
    "BucketRateLimiter",
    "DelayingQueue",
    "Depths",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "JitterRateLimiter",
    "MaxOfRateLimiter",
    "PrometheusQueueMetrics",
    "QueueMetrics",
    "QueueMetricsProvider",
    "RateLimiter",
    "RateLimitingQueue",
    "ShutDown",
    "WithMaxWaitRateLimiter",
    "WorkQueue",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
]
