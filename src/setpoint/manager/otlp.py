"""OTLP: sends the metrics, log records and spans of a process to an OpenTelemetry collector.

The OpenTelemetry SDK sends them from threads of its own. Its environment variables say where to and as what:
``OTEL_EXPORTER_OTLP_ENDPOINT`` (by default ``http://localhost:4318``), ``OTEL_EXPORTER_OTLP_HEADERS``,
``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``, ``OTEL_METRIC_EXPORT_INTERVAL``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric as Family
    from prometheus_client.samples import Exemplar

logger = logging.getLogger("setpoint.manager")
INTERVAL: Final = 60.0
"""Seconds between two exports of metrics, unless ``OTEL_METRIC_EXPORT_INTERVAL`` (milliseconds) says otherwise."""
_SEVERITIES: Final = ((logging.CRITICAL, 21), (logging.ERROR, 17), (logging.WARNING, 13), (logging.INFO, 9))
_DEBUG: Final = 5
_OWN_LOGGERS: Final = ("opentelemetry", "urllib3")
"""The loggers whose records are not sent: a failed export would cause the next one."""


class OtlpMissing(Exception):
    """The packages of the extra ``setpoint[otlp]`` are not installed."""


class Otlp:
    """The exporters of one process, which begin to work when the object is made. ``service`` is the name of the program
    unless ``OTEL_SERVICE_NAME`` gives another one. The instance (``service.instance.id``) is the name of the host,
    which in a cluster is that of the pod, unless ``OTEL_RESOURCE_ATTRIBUTES`` has another one. ``process`` is the index
    of a child process, or ``supervisor``; it becomes the attribute ``setpoint.process`` of all that is sent, and the
    attribute ``process`` of metrics, as in ``/metrics``.

    Make it before the controllers run: spans are made only with a tracer provider, which this object sets.

    Raises:
        OtlpMissing: the packages of the extra ``otlp`` are not installed.
    """

    def __init__(self, service: str, process: str = "") -> None:
        try:
            base = "opentelemetry.exporter.otlp.proto.http"
            spans, records, metrics = (
                import_module(f"{base}.{name}") for name in ("trace_exporter", "_log_exporter", "metric_exporter")
            )
            sdk_trace, sdk_logs = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.sdk._logs")
        except ImportError:
            raise OtlpMissing("--otlp needs more packages: pip install 'setpoint[otlp]'") from None
        trace_export = import_module("opentelemetry.sdk.trace.export")
        log_export = import_module("opentelemetry.sdk._logs.export")
        resources = import_module("opentelemetry.sdk.resources")
        # The variables take precedence: create() merges them over the attributes only for those that are not given.
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": service}
        if "service.instance.id=" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
            named["service.instance.id"] = socket.gethostname()
        if process:
            named["setpoint.process"] = process
        self._process = process
        self.resource = resources.Resource.create(named)
        self._tracers = sdk_trace.TracerProvider(resource=self.resource)
        self._tracers.add_span_processor(trace_export.BatchSpanProcessor(spans.OTLPSpanExporter()))
        import_module("opentelemetry.trace").set_tracer_provider(self._tracers)
        self._loggers = sdk_logs.LoggerProvider(resource=self.resource)
        self._loggers.add_log_record_processor(log_export.BatchLogRecordProcessor(records.OTLPLogExporter()))
        self._handler = LogHandler(self._loggers.get_logger("setpoint"))
        logging.getLogger().addHandler(self._handler)
        self._metrics = metrics.OTLPMetricExporter()
        self._exports: list[OtlpMetrics] = []

    def metrics_of(self, registry: CollectorRegistry) -> OtlpMetrics:
        interval = os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")
        seconds = float(interval) / 1000 if interval.isdecimal() and int(interval) else INTERVAL
        labels = {"process": self._process} if self._process else {}
        self._exports.append(OtlpMetrics(registry, self._metrics, self.resource, seconds, labels))
        return self._exports[-1]

    def close(self) -> None:
        """Sends what has not been sent yet. It blocks until that is done, or the exporters give up."""
        logging.getLogger().removeHandler(self._handler)
        for export in self._exports:
            export.close()
        self._tracers.shutdown()
        self._loggers.shutdown()
        self._metrics.shutdown()


class LogHandler(logging.Handler):
    """Sends log records with their fields as attributes, and with the ids of the span in which they were made."""

    def __init__(self, sink: Any) -> None:
        super().__init__()
        self._sink = sink
        self._record = import_module("opentelemetry._logs").LogRecord
        self._severity = import_module("opentelemetry._logs").SeverityNumber
        self._trace = import_module("opentelemetry.trace")

    def emit(self, record: logging.LogRecord) -> None:
        """Passes the record to the SDK, which sends it later."""
        if record.name.partition(".")[0] in _OWN_LOGGERS:
            return
        try:
            self._sink.emit(self._converted(record))
        except Exception:  # noqa: BLE001 - as handlers of logging do: the program goes on
            self.handleError(record)

    def _converted(self, record: logging.LogRecord) -> Any:
        fields = getattr(record, "fields", None)
        attributes: dict[str, str | int | float] = {"logger.name": record.name}
        for name, value in (fields if isinstance(fields, Mapping) else {}).items():
            if value is not None and value != "":
                attributes[name] = value if isinstance(value, str | bool | int | float) else str(value)
        if record.exc_info and record.exc_info[1] is not None:
            attributes["exception.type"] = type(record.exc_info[1]).__name__
            attributes["exception.message"] = str(record.exc_info[1])
            attributes["exception.stacktrace"] = logging.Formatter().formatException(record.exc_info)
        span = self._trace.get_current_span().get_span_context()
        ids = {name: int(str(attributes.pop(name, "")) or "0", 16) for name in ("trace_id", "span_id")}
        number = next((number for level, number in _SEVERITIES if record.levelno >= level), _DEBUG)
        return self._record(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time_ns(),
            trace_id=span.trace_id if span.is_valid else ids["trace_id"],
            span_id=span.span_id if span.is_valid else ids["span_id"],
            trace_flags=span.trace_flags,
            severity_text=record.levelname,
            severity_number=self._severity(number),
            body=record.getMessage(),
            attributes=attributes,
        )


class OtlpMetrics:
    """Exports the metrics of a registry, with further ``labels``, every ``interval`` seconds. A failed export is logged
    by the SDK, and the next one has the same counters. The last export has the metrics at the time at which the manager
    began to stop, because a controller that has ended has none.
    """

    name = "otlp metrics"
    leader_only = False
    group = "others"

    def __init__(
        self,
        registry: CollectorRegistry,
        exporter: Any,
        resource: Any,
        interval: float = INTERVAL,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self._registry = registry
        self._exporter = exporter
        self._resource = resource
        self._interval = interval
        self._labels = dict(labels or {})
        self._started = time_ns()
        self._last: Any = None

    async def run(self) -> None:
        """Exports until the call is cancelled."""
        try:
            while True:
                await asyncio.sleep(self._interval)
                await asyncio.to_thread(self._exporter.export, self.snapshot())
        finally:
            self._last = self.snapshot()

    def close(self) -> None:
        """Exports the last metrics. It blocks until that is done, or the exporter gives up."""
        if self._last is not None:
            self._exporter.export(self._last)
            self._last = None

    def snapshot(self) -> Any:
        """The metrics as they are now, in the classes of the SDK."""
        sdk = import_module("opentelemetry.sdk.metrics.export")
        scope = import_module("opentelemetry.sdk.util.instrumentation").InstrumentationScope("setpoint")
        now = time_ns()
        metrics = [metric for family in self._registry.collect() for metric in self._converted(sdk, family, now)]
        scoped = sdk.ScopeMetrics(scope=scope, metrics=metrics, schema_url="")
        return sdk.MetricsData([sdk.ResourceMetrics(resource=self._resource, scope_metrics=[scoped], schema_url="")])

    def _converted(self, sdk: Any, family: Family, now: int) -> Iterator[Any]:
        if family.type in ("histogram", "gaugehistogram"):
            points = list(self._histograms(sdk, family, now))
            if points:
                yield self._metric(
                    sdk, family.name, family, sdk.Histogram(points, sdk.AggregationTemporality.CUMULATIVE)
                )
            return
        by_name: dict[str, list[Any]] = {}
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                point = sdk.NumberDataPoint(self._labels | sample.labels, self._started, now, float(sample.value))
                by_name.setdefault(sample.name, []).append(point)
        for name, points in by_name.items():
            if family.type == "counter":
                data = sdk.Sum(points, sdk.AggregationTemporality.CUMULATIVE, is_monotonic=True)
                yield self._metric(sdk, name.removesuffix("_total"), family, data)
            else:
                yield self._metric(sdk, name, family, sdk.Gauge(points))

    def _metric(self, sdk: Any, name: str, family: Family, data: Any) -> Any:
        return sdk.Metric(name=name, description=family.documentation, unit=family.unit, data=data)

    def _histograms(self, sdk: Any, family: Family, now: int) -> Iterator[Any]:
        """The histograms of a family, one for each set of labels. Prometheus' buckets are cumulative, those of OTLP are
        not.
        """
        series: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
        for sample in family.samples:
            labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
            parts = series.setdefault(labels, {"buckets": [], "exemplars": []})
            if sample.exemplar is not None:
                parts["exemplars"].append(_exemplar(sample.exemplar, now))
            if sample.name.endswith("_bucket"):
                parts["buckets"].append((float(sample.labels["le"]), sample.value))
            elif sample.name.endswith(("_sum", "_count")):
                parts[sample.name.rpartition("_")[2]] = float(sample.value)
        for labels, parts in series.items():
            buckets = sorted(parts["buckets"])
            counts = _differences(count for _, count in buckets)
            yield sdk.HistogramDataPoint(
                attributes=self._labels | dict(labels),
                start_time_unix_nano=self._started,
                time_unix_nano=now,
                count=int(parts.get("count", buckets[-1][1] if buckets else 0)),
                sum=parts.get("sum", 0.0),
                bucket_counts=counts,
                explicit_bounds=[bound for bound, _ in buckets[:-1]],
                min=None,
                max=None,
                exemplars=parts["exemplars"],
            )


def _exemplar(exemplar: Exemplar, now: int) -> Any:
    """An exemplar of prometheus_client in the class of the SDK, which has the ids of the span apart from its other
    labels.
    """
    labels = dict(exemplar.labels)
    ids = {name: int(labels.pop(name), 16) for name in ("trace_id", "span_id") if name in labels}
    return import_module("opentelemetry.sdk.metrics").Exemplar(
        filtered_attributes=labels,
        value=float(exemplar.value),
        time_unix_nano=now if exemplar.timestamp is None else int(float(exemplar.timestamp) * 1e9),
        span_id=ids.get("span_id"),
        trace_id=ids.get("trace_id"),
    )


def _differences(cumulated: Iterable[float]) -> list[int]:
    counts, before = [], 0
    for count in map(int, cumulated):
        counts.append(count - before)
        before = count
    return counts
