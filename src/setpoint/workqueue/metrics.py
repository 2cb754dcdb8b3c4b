"""A work queue's metrics, under the names that dashboards know from client-go and controller-runtime.

A queue without metrics pays nothing for them, not even the clock's reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from .queue import WorkQueue

DURATION_BUCKETS: Final = tuple(float(f"1e{exponent}") for exponent in range(-8, 4))
"""controller-runtime's: twelve, from 10 ns to 1000 s (seconds)."""

LABELS: Final = ("name", "controller")
"""client-go's and controller-runtime's label for the queue's name; both carry it."""


class QueueMetrics(Protocol):
    """What one queue reports."""

    def added(self) -> None:
        """A key has begun to wait for being handed out (now or after `done`)."""
        ...

    def got(self, seconds: float) -> None:
        """A key was handed out, that long after it was added."""
        ...

    def finished(self, seconds: float) -> None:
        """A key is done, that long after it was handed out."""
        ...

    def retried(self) -> None:
        """A key was added with a delay."""
        ...


class QueueMetricsProvider(Protocol):
    """Makes the metrics of queues."""

    def for_queue(self, name: str, queue: WorkQueue[Any], /) -> QueueMetrics:
        """Called once by each queue when it is made; the queue's state may be read from then on."""
        ...


class PrometheusQueueMetrics:
    """Queue metrics in a registry of prometheus_client, one provider for all queues of a process.

    Depth, unfinished work and the longest running processor are read from the queues when they are scraped, which must
    happen in the event loop's thread. Two queues must not have the same name. A queue is kept until `remove`.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        # Only here: queues without metrics don't load the library.
        from prometheus_client import Counter, Histogram

        self._adds = Counter("workqueue_adds", "Total number of adds", LABELS, registry=registry)
        self._retries = Counter("workqueue_retries", "Total number of retries", LABELS, registry=registry)
        self._queue_duration = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds that a key waits before it is handed out",
            LABELS,
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self._work_duration = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds that a key is in processing",
            LABELS,
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self._queues: dict[str, WorkQueue[Any]] = {}
        registry.register(self)

    def for_queue(self, name: str, queue: WorkQueue[Any], /) -> QueueMetrics:
        """Raises `ValueError` for a name that is taken."""
        if name in self._queues:
            raise ValueError(f"there is a queue named {name!r} already; names tell queues apart in metrics")
        self._queues[name] = queue
        return _PrometheusQueue(
            self._adds.labels(name, name),
            self._retries.labels(name, name),
            self._queue_duration.labels(name, name),
            self._work_duration.labels(name, name),
        )

    def remove(self, name: str) -> None:
        """Report a queue no more. Unknown names are ignored."""
        if self._queues.pop(name, None) is not None:
            for metric in (self._adds, self._retries, self._queue_duration, self._work_duration):
                metric.remove(name, name)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry at each scrape."""
        from prometheus_client.core import GaugeMetricFamily

        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait to be handed out", labels=LABELS)
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Seconds of work in progress that work_duration has not seen yet; grows by the number of stuck workers",
            labels=LABELS,
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "Seconds that the key which has been in processing longest has been so",
            labels=LABELS,
        )
        for name, queue in self._queues.items():
            labels = (name, name)
            depths = queue.depths()
            running = queue.work_in_progress()
            depth.add_metric(labels, depths.ready + depths.dirty)
            unfinished.add_metric(labels, sum(running))
            longest.add_metric(labels, max(running, default=0.0))
        yield from (depth, unfinished, longest)


class _PrometheusQueue:
    """The children of one queue's labels, bound."""

    def __init__(self, adds: Any, retries: Any, queue_duration: Any, work_duration: Any) -> None:
        self.added = adds.inc
        self.retried = retries.inc
        self.got = queue_duration.observe
        self.finished = work_duration.observe
