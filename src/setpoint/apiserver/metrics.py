"""The metrics of the server (``/metrics``), under kube-apiserver's names. They are kept as plain numbers and formatted
only when they are scraped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.access.attributes import Attributes
from setpoint.apiserver.http_types import IncomingRequest
from setpoint.apiserver.resources.registry import Registry
from setpoint.apiserver.state import OpenWatch

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["RequestMetrics"]

_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0),
    *(30.0, 45.0, 60.0),
)
"""Upper bounds in seconds, as in upstream."""
_BOUNDS: Final = (*(f"{bound:g}" for bound in _BUCKETS), "+Inf")
_LABELS: Final = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
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
    is counted without the resource.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._totals: Counter[tuple[Labels, int]] = Counter()
        self._latencies: dict[Labels, list[int]] = {}
        self._seconds: dict[Labels, float] = {}
        self.in_flight = {"mutating": 0, "readOnly": 0}

    def note(self, request: IncomingRequest, asked: Attributes, code: int, seconds: float) -> None:
        """Counts a request whose response has the status ``code`` and took ``seconds``."""
        labels = self._labels(request, asked)
        self._totals[labels, code] += 1
        counts = self._latencies.get(labels)
        if counts is None:
            counts = self._latencies[labels] = [0] * len(_BOUNDS)
        counts[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[labels] = self._seconds.get(labels, 0.0) + seconds

    def _labels(self, request: IncomingRequest, asked: Attributes) -> Labels:
        dry = ",".join(value for name, value in request.query if name == "dryRun" and value == "All")
        if not asked.is_resource or self._registry.find(asked.group, asked.version, asked.resource) is None:
            verb = request.method if request.method in _METHODS else "other"
            return (verb, dry, "", "", "", asked.path if asked.path in _PATHS else "", "", "")
        verb = _VERBS.get(asked.verb, "other")
        if verb == "PATCH" and request.headers.get("content-type", "").startswith(_APPLY):
            verb = "APPLY"
        subresource = asked.subresource
        if subresource in _CONNECTED:
            verb = "GET" if subresource == "log" else "CONNECT"
        elif subresource and not self._has(asked):
            subresource = ""
        scope = "namespace" if asked.namespace else "cluster"
        if asked.name or verb in ("POST", "CONNECT"):
            scope = "resource"
        return (verb, dry, asked.group, asked.version, asked.resource, subresource, scope, "apiserver")

    def _has(self, asked: Attributes) -> bool:
        served = self._registry.find(asked.group, asked.version, asked.resource)
        return served is not None and asked.subresource in served.resource.subresources

    def text(self, accept: str, watches: Iterable[OpenWatch]) -> tuple[bytes, str]:
        """All metrics, including those of the process, in the format that ``accept`` selects, and the content type."""
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.exposition import choose_encoder

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(_Collected([*self._collect(watches)]))
        encoder, kind = choose_encoder(accept)
        return encoder(registry), kind

    def _collect(self, watches: Iterable[OpenWatch]) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        total = CounterMetricFamily(
            "apiserver_request",
            "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
            "component, and HTTP response code.",
            labels=[*_LABELS, "code"],
        )
        for (labels, code), count in self._totals.items():
            total.add_metric([*labels, str(code)], count)
        yield total
        latency = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            labels=_LABELS,
        )
        for labels, counts in self._latencies.items():
            buckets = list(zip(_BOUNDS, accumulate(counts), strict=True))
            latency.add_metric(labels, buckets, self._seconds[labels])
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
        found = Counter(watch.served.resource.gvr for watch in watches)
        for resource, count in found.items():
            running.add_metric(["WATCH", resource.group, resource.version, resource.resource], count)
        yield running


class _Collected:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics
