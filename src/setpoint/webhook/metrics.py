"""The metrics of a webhook server, under controller-runtime's names. They are plain integers until a scrape."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

LATENCY_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The buckets in seconds: the defaults of Prometheus' client for Go, as in controller-runtime."""


class PathCounts:
    """The counts for one path: its requests in flight, and the status codes and durations of finished
    ones.
    """

    __slots__ = ("codes", "in_flight", "latencies", "seconds")

    def __init__(self) -> None:
        self.in_flight = 0
        self.codes: dict[int, int] = {}
        self.latencies = [0] * (len(LATENCY_BUCKETS) + 1)
        self.seconds = 0.0

    def finished(self, code: int, seconds: float) -> None:
        self.codes[code] = self.codes.get(code, 0) + 1
        self.latencies[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        self.seconds += seconds


class WebhookMetrics:
    """The metrics of one process's webhooks. Register them with prometheus_client: ``registry.register(metrics)``.

    Scrapes must happen in the event loop's thread. ``panics`` counts exceptions in admission functions and
    ``conversion_panics`` those in conversions; the other two counters are for reads of certificates.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.paths: dict[str, PathCounts] = {}
        self.panics = 0
        self.conversion_panics = 0
        self.certificate_reads = 0
        self.certificate_read_errors = 0
        if registry is not None:
            registry.register(self)

    def at(self, path: str) -> PathCounts:
        """The counts for ``path``, which must be a path that is served: labels must not come from clients."""
        counts = self.paths.get(path)
        if counts is None:
            counts = self.paths[path] = PathCounts()
        return counts

    def collect(self) -> Iterator[Metric]:
        """The metrics in prometheus_client's form. The registry calls this method at each scrape."""
        # Only here: webhooks without metrics don't load the library.
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        latency = HistogramMetricFamily(
            "controller_runtime_webhook_latency_seconds", "Latency of processing admission requests", labels=["webhook"]
        )
        total = CounterMetricFamily(
            "controller_runtime_webhook_requests",
            "Total number of admission requests by HTTP status code",
            labels=["webhook", "code"],
        )
        in_flight = GaugeMetricFamily(
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served",
            labels=["webhook"],
        )
        bounds = [*map(str, LATENCY_BUCKETS), "+Inf"]
        for path, counts in self.paths.items():
            buckets = list(zip(bounds, accumulate(counts.latencies), strict=True))
            latency.add_metric([path], buckets, counts.seconds)
            for code, count in sorted(counts.codes.items()):
                total.add_metric([path, str(code)], count)
            in_flight.add_metric([path], counts.in_flight)
        yield from (latency, total, in_flight)
        for name, text, value in (
            ("controller_runtime_webhook_panics", "Total number of exceptions in webhooks", self.panics),
            (
                "controller_runtime_conversion_webhook_panics",
                "Total number of exceptions in conversions",
                self.conversion_panics,
            ),
            ("certwatcher_read_certificate", "Total number of certificate reads", self.certificate_reads),
            (
                "certwatcher_read_certificate_errors",
                "Total number of certificate read errors",
                self.certificate_read_errors,
            ),
        ):
            yield CounterMetricFamily(name, text, value=value)
