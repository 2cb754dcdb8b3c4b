"""The metrics of a work queue, under the names that client-go and controller-runtime use.

A queue without metrics does not pay for them: it does not even read the clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from setpoint.workqueue.queue_depths import Depths

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

DURATION_BUCKETS: Final = tuple(float(f"1e{exponent}") for exponent in range(-8, 4))
"""The upper bounds of the buckets of durations, in seconds, as in controller-runtime: twelve, from 10 ns to 1000 s."""

LABELS: Final = ("name", "controller")
"""The labels that client-go and controller-runtime use for the queue's name. Both labels have that name as their value.
"""


class MeasuredQueue(Protocol):
    """A queue whose state is read at each scrape."""

    def depths(self) -> Depths:
        """The number of keys in each state."""
        ...

    def work_in_progress(self) -> list[float]:
        """For each key in processing, the number of seconds since it was handed out."""
        ...


class QueueMetrics(Protocol):
    """The metrics that one queue reports."""

    def added(self) -> None:
        """Counts a key that has become ready, or that has become dirty, so it will be ready again after `done`."""
        ...

    def handed_out(self, seconds: float) -> None:
        """Counts a key that was handed out after a wait of that many seconds."""
        ...

    def finished(self, seconds: float) -> None:
        """Counts a key that is done after that many seconds of processing."""
        ...

    def retried(self) -> None:
        """Counts a call to `DelayingQueue.add_after`, even if the delay is 0."""
        ...


class QueueMetricsProvider(Protocol):
    """A provider of metrics for queues."""

    def for_queue(self, name: str, queue: MeasuredQueue, /) -> QueueMetrics:
        """The metrics for a queue. Each queue calls this method once, when it is created; its state may be read from
        then on.
        """
        ...


class PrometheusQueueMetrics:
    """Queue metrics in a registry of prometheus_client, one provider for all queues of a process.

    Values are counted in plain integers and converted to metrics at each scrape, which must happen in the event loop's
    thread; prometheus_client's own counters and histograms cost ten times as much as the queue.

    Queues are identified by their names and reported until `remove`.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._queues: dict[str, tuple[MeasuredQueue, _Counts]] = {}
        registry.register(self)

    def for_queue(self, name: str, queue: MeasuredQueue, /) -> QueueMetrics:
        """The metrics for a queue. Raises `ValueError` if the name is taken."""
        if name in self._queues:
            raise ValueError(f"there is a queue named {name!r} already; metrics identify queues by name")
        counts = _Counts()
        self._queues[name] = (queue, counts)
        return counts

    def remove(self, name: str) -> None:
        """Stops reporting a queue. Unknown names are ignored."""
        self._queues.pop(name, None)

    def collect(self) -> Iterator[Metric]:
        """The metrics of all queues. The registry calls this method at each scrape."""
        # Only here: queues without metrics don't load the library.
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait to be handed out", labels=LABELS)
        adds = CounterMetricFamily("workqueue_adds", "Total number of adds", labels=LABELS)
        queue_duration = HistogramMetricFamily(
            "workqueue_queue_duration_seconds", "Seconds that a key waits before it is handed out", labels=LABELS
        )
        work_duration = HistogramMetricFamily(
            "workqueue_work_duration_seconds", "Seconds that a key is in processing", labels=LABELS
        )
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Seconds of work in progress that work_duration has not seen yet; grows by the number of stuck workers",
            labels=LABELS,
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "Seconds since the key that is in processing for the longest time was handed out",
            labels=LABELS,
        )
        retries = CounterMetricFamily("workqueue_retries", "Total number of retries", labels=LABELS)
        for name, (queue, counts) in self._queues.items():
            labels = (name, name)
            depths = queue.depths()
            running = queue.work_in_progress()
            depth.add_metric(labels, depths.ready + depths.dirty)
            adds.add_metric(labels, counts.adds)
            queue_duration.add_metric(labels, _cumulative(counts.waited), counts.waited_seconds)
            work_duration.add_metric(labels, _cumulative(counts.worked), counts.worked_seconds)
            unfinished.add_metric(labels, sum(running))
            longest.add_metric(labels, max(running, default=0.0))
            retries.add_metric(labels, counts.retries)
        yield from (depth, adds, queue_duration, work_duration, unfinished, longest, retries)


class _Counts:
    """The counts and times of one queue."""

    __slots__ = ("adds", "retries", "waited", "waited_seconds", "worked", "worked_seconds")

    def __init__(self) -> None:
        self.adds = 0
        self.retries = 0
        self.waited = [0] * (len(DURATION_BUCKETS) + 1)
        self.waited_seconds = 0.0
        self.worked = [0] * (len(DURATION_BUCKETS) + 1)
        self.worked_seconds = 0.0

    def added(self) -> None:
        self.adds += 1

    def handed_out(self, seconds: float) -> None:
        self.waited[bisect_left(DURATION_BUCKETS, seconds)] += 1
        self.waited_seconds += seconds

    def finished(self, seconds: float) -> None:
        self.worked[bisect_left(DURATION_BUCKETS, seconds)] += 1
        self.worked_seconds += seconds

    def retried(self) -> None:
        self.retries += 1


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    """Each bucket's upper bound, and the number of values up to it."""
    return list(zip((*map(str, DURATION_BUCKETS), "+Inf"), accumulate(counts), strict=True))
