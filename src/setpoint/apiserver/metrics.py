"""The metrics of the server (``/metrics``), under kube-apiserver's names. They are kept as plain numbers and become
families of metrics only when they are scraped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from math import frexp
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.http_types import IncomingRequest
from setpoint.apiserver.resources.registry import Registry
from setpoint.apiserver.state import OpenWatch

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.samples import NativeHistogram

_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0),
    *(30.0, 45.0, 60.0),
)
"""Upper bounds in seconds, as in upstream."""
_BOUNDS: Final = (*(f"{bound:g}" for bound in _BUCKETS), "+Inf")
_EIGHTHS: Final = tuple(0.5 * 2 ** (eighth / 8) for eighth in range(8))
_FINEST: Final = 3
"""The finest schema of native histograms: their bounds are the powers of ``2 ** (1 / 2**schema)``. Upstream's buckets
grow by at most 10 %.
"""
_MOST: Final = 160
"""The most buckets of a native histogram, as in upstream. With more, each two become one."""
_GAP: Final = 2
"""Up to so many empty buckets are cheaper than a span of their own."""
_ZERO: Final = 2.0**-128
"""Observations up to this count as zero, as in Prometheus' library for Go."""
_LABELS: Final = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
_DURATIONS: Final = "apiserver_request_duration_seconds"
_VERBS: Final = {
    "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "get": "GET", "list": "LIST",
    "watch": "WATCH", "deletecollection": "DELETECOLLECTION",
}  # fmt: skip
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"})
_CONNECTED: Final = frozenset({"exec", "attach", "portforward", "proxy", "log"})
_PATHS: Final = frozenset(
    {"/healthz", "/livez", "/readyz", "/metrics", "/version", "/openapi/v2", "/openapi/v3", "/api", "/apis"}
)
_APPLY: Final = "application/apply-patch"

Labels = tuple[str, ...]


class RequestMetrics:
    """Counts the requests from the network. A client can't invent labels: a request for a resource that is not served
    is counted without the resource. ``seats`` gives the nominal seats of each priority level.
    """

    def __init__(self, registry: Registry, seats: Callable[[], Mapping[str, int]] = dict) -> None:
        self._registry = registry
        self._seats = seats
        self._totals: Counter[tuple[Labels, int]] = Counter()
        self._latencies: dict[Labels, _Latencies] = {}
        self.in_flight = {"mutating": 0, "readOnly": 0}

    def note(self, request: IncomingRequest, attributes: Attributes, code: int, seconds: float) -> None:
        """Counts a request whose response has the status ``code`` and took ``seconds``."""
        labels = self._labels(request, attributes)
        self._totals[labels, code] += 1
        latencies = self._latencies.get(labels)
        if latencies is None:
            latencies = self._latencies[labels] = _Latencies()
        latencies.observe(seconds)

    def _labels(self, request: IncomingRequest, attributes: Attributes) -> Labels:
        dry = ",".join(value for name, value in request.query if name == "dryRun" and value == "All")
        if (
            not attributes.is_resource
            or self._registry.find(attributes.group, attributes.version, attributes.resource) is None
        ):
            verb = request.method if request.method in _METHODS else "other"
            return (verb, dry, "", "", "", attributes.path if attributes.path in _PATHS else "", "", "")
        verb = _VERBS.get(attributes.verb, "other")
        if verb == "PATCH" and request.headers.get("content-type", "").startswith(_APPLY):
            verb = "APPLY"
        subresource = attributes.subresource
        if subresource in _CONNECTED:
            verb = "GET" if subresource == "log" else "CONNECT"
        elif subresource and not self._has(attributes):
            subresource = ""
        scope = "namespace" if attributes.namespace else "cluster"
        if attributes.name or verb in ("POST", "CONNECT"):
            scope = "resource"
        return (verb, dry, attributes.group, attributes.version, attributes.resource, subresource, scope, "apiserver")

    def _has(self, attributes: Attributes) -> bool:
        served = self._registry.find(attributes.group, attributes.version, attributes.resource)
        return served is not None and attributes.subresource in served.resource.subresources

    def native_histograms(self) -> dict[str, list[tuple[dict[str, str], NativeHistogram]]]:
        """The native histograms with their labels, by the name of the family that has the same observations in classic
        buckets.
        """
        histograms: list[tuple[dict[str, str], NativeHistogram]] = [
            (dict(zip(_LABELS, labels, strict=True)), latencies.native())
            for labels, latencies in self._latencies.items()
        ]
        return {_DURATIONS: histograms}

    def families(self, watches: Iterable[OpenWatch]) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        total = CounterMetricFamily(
            "apiserver_request",
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, "
            "scope, component, and HTTP response code.",
            labels=[*_LABELS, "code"],
        )
        for (labels, code), count in self._totals.items():
            total.add_metric([*labels, str(code)], count)
        yield total
        latency = HistogramMetricFamily(
            _DURATIONS,
            "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            labels=_LABELS,
        )
        for labels, latencies in self._latencies.items():
            latency.add_metric(labels, latencies.classic(), latencies.seconds)
        yield latency
        in_flight = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Number of requests that are being answered, by kind.",
            labels=["request_kind"],
        )
        for kind, count in self.in_flight.items():
            in_flight.add_metric([kind], count)
        yield in_flight
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests",
            "Gauge of all active long-running apiserver requests broken out by verb, group, version and resource.",
            labels=["verb", "group", "version", "resource"],
        )
        counts = Counter(watch.served.resource.gvr for watch in watches)
        for resource, count in counts.items():
            running.add_metric(["WATCH", resource.group, resource.version, resource.resource], count)
        yield running
        seats = GaugeMetricFamily(
            "apiserver_flowcontrol_nominal_limit_seats",
            "[BETA] Nominal number of execution seats configured for each priority level",
            labels=["priority_level"],
        )
        for level, count in self._seats().items():
            seats.add_metric([level], count)
        yield seats


class _Latencies:
    """The times of requests with the same labels, in classic buckets and in those of native histograms."""

    __slots__ = ("_classic", "_native", "_zeros", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self._classic = [0] * len(_BOUNDS)
        self._native: Counter[int] = Counter()
        self._zeros = 0

    def observe(self, seconds: float) -> None:
        self.seconds += seconds
        self._classic[bisect_left(_BUCKETS, seconds)] += 1
        if seconds <= _ZERO:
            self._zeros += 1
        else:
            fraction, exponent = frexp(seconds)
            self._native[bisect_left(_EIGHTHS, fraction) + (exponent - 1) * 8] += 1

    def classic(self) -> list[tuple[str, int]]:
        """Upper bounds, with the number of observations up to each."""
        return list(zip(_BOUNDS, accumulate(self._classic), strict=True))

    def native(self) -> NativeHistogram:
        """The buckets as Prometheus has them: spans of neighbours, and the difference of each to the one before it."""
        from prometheus_client.samples import BucketSpan, NativeHistogram

        schema, buckets = _FINEST, self._native
        while len(buckets) > _MOST:
            schema, coarser = schema - 1, Counter[int]()
            for index, count in buckets.items():
                coarser[(index + 1) // 2] += count
            buckets = coarser
        spans: list[BucketSpan] = []
        deltas: list[int] = []
        following = last = 0
        for index in sorted(buckets):
            gap = index - following
            if not spans or gap > _GAP:
                spans.append(BucketSpan(gap, 0))
                gap = 0
            for count in (*(0,) * gap, buckets[index]):
                deltas.append(count - last)
                last = count
            spans[-1] = BucketSpan(spans[-1].offset, spans[-1].length + gap + 1)
            following = index + 1
        total = sum(self._classic)
        return NativeHistogram(total, self.seconds, schema, _ZERO, self._zeros, spans, None, deltas)
