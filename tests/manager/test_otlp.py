"""OTLP: a collector gets metrics, log records and spans, as OpenTelemetry means them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from tests.collector import collector

from setpoint.manager.otlp import OtlpMetrics
from setpoint.testing import virtual_time

resources = pytest.importorskip("opentelemetry.sdk.resources")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
RESOURCE = resources.Resource({"service.name": "garden"})

PROGRAM = """
import asyncio, logging
from contextlib import suppress
from opentelemetry import trace
from prometheus_client import CollectorRegistry, Counter
from setpoint.controller.telemetry import find_tracer
from setpoint.manager.otlp import Otlp

otlp = Otlp("garden")
registry = CollectorRegistry()
Counter("seeds", "Seeds.", registry=registry).inc(3)
with find_tracer().start_as_current_span("reconcile garden"):
    logging.getLogger("app").warning("it %s", "rains", extra={"fields": {"key": "a/b", "retry_in": 2.5}})
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("app").exception("failed", extra={"fields": {"trace_id": "0af7651916cd43dd8448eb211c80319c"}})

async def work():
    task = asyncio.ensure_future(otlp.metrics_of(registry).run())
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

asyncio.run(work())
otlp.close()
"""


def test_a_collector_gets_metrics_log_records_and_spans_of_one_service() -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with collector() as (address, bodies):
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = address
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    (trace,) = (ExportTraceServiceRequest.FromString(body) for body in bodies["/v1/traces"])
    (logs,) = (ExportLogsServiceRequest.FromString(body) for body in bodies["/v1/logs"])
    (metrics,) = (ExportMetricsServiceRequest.FromString(body) for body in bodies["/v1/metrics"])
    for part in (trace.resource_spans, logs.resource_logs, metrics.resource_metrics):
        names = {entry.key: entry.value.string_value for entry in part[0].resource.attributes}
        assert names["service.name"] == "garden"
    (span,) = trace.resource_spans[0].scope_spans[0].spans
    assert span.name == "reconcile garden"
    rain, failure = logs.resource_logs[0].scope_logs[0].log_records
    assert (rain.body.string_value, rain.severity_text, rain.severity_number) == ("it rains", "WARNING", 13)
    assert (rain.trace_id, rain.span_id) == (span.trace_id, span.span_id)
    attributes = {entry.key: entry.value for entry in rain.attributes}
    assert (attributes["key"].string_value, attributes["retry_in"].double_value) == ("a/b", 2.5)
    assert attributes["logger.name"].string_value == "app"
    assert failure.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c", "that of an attempt that has ended"
    attributes = {entry.key: entry.value for entry in failure.attributes}
    assert attributes["exception.type"].string_value == "ZeroDivisionError"
    assert "ZeroDivisionError: division by zero" in attributes["exception.stacktrace"].string_value
    (metric,) = metrics.resource_metrics[0].scope_metrics[0].metrics
    assert (metric.name, metric.description, metric.sum.is_monotonic) == ("seeds", "Seeds.", True)
    assert metric.sum.data_points[0].as_double == 3.0


class Exporter:
    """Notes what is exported."""

    def __init__(self) -> None:
        self.exported: list[Any] = []

    def export(self, data: Any) -> None:
        self.exported.append(data)


def metrics_in(data: Any) -> dict[str, Any]:
    return {metric.name: metric.data for metric in data.resource_metrics[0].scope_metrics[0].metrics}


def test_counters_gauges_and_histograms_become_those_of_otlp() -> None:
    registry = CollectorRegistry()
    Counter("mails_sent", "Mails.", ["result"], registry=registry).labels(result="ok").inc(2)
    Gauge("depth", "Depth.", registry=registry).set(-1.5)
    Gauge("is_synced", "A boolean.", registry=registry).set_function(lambda: True)
    times = Histogram("seconds", "Times.", ["step"], buckets=[1, 5], registry=registry)
    for seconds in (0.5, 3, 4, 100):
        times.labels(step="a").observe(seconds)
    metrics = metrics_in(OtlpMetrics(registry, Exporter(), RESOURCE).snapshot())
    assert set(metrics) == {"mails_sent", "depth", "is_synced", "seconds"}
    assert type(metrics["is_synced"].data_points[0].value) is float
    (mails,) = metrics["mails_sent"].data_points
    assert (mails.attributes, mails.value) == ({"result": "ok"}, 2.0)
    assert metrics["depth"].data_points[0].value == -1.5
    (point,) = metrics["seconds"].data_points
    assert not point.exemplars
    assert (point.attributes, point.count, point.sum) == ({"step": "a"}, 4, 107.5)
    assert (point.explicit_bounds, point.bucket_counts) == ([1.0, 5.0], [1, 2, 1])


def test_exemplars_have_the_ids_of_their_span_and_all_metrics_the_further_labels() -> None:
    registry = CollectorRegistry()
    Gauge("depth", "Depth.", registry=registry).set(1)
    times = Histogram("seconds", "Times.", buckets=[1, 5], registry=registry)
    times.observe(3, {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331", "user": "a"})
    metrics = metrics_in(OtlpMetrics(registry, Exporter(), RESOURCE, labels={"process": "1"}).snapshot())
    assert metrics["depth"].data_points[0].attributes == {"process": "1"}
    (point,) = metrics["seconds"].data_points
    assert point.attributes == {"process": "1"}
    (exemplar,) = point.exemplars
    assert (exemplar.value, exemplar.filtered_attributes) == (3.0, {"user": "a"})
    assert (exemplar.trace_id, exemplar.span_id) == (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)


def test_the_metrics_of_a_manager_can_be_encoded() -> None:
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics

    from setpoint.controller import LoopMetrics
    from setpoint.manager import ProcessMetrics

    metrics = ProcessMetrics()
    metrics.add_process()
    loop = LoopMetrics("garden", 1)
    loop.observe("success", 0.3)
    metrics.controllers.add(loop)
    data = OtlpMetrics(metrics.registry, Exporter(), RESOURCE).snapshot()
    (point,) = metrics_in(data)["controller_runtime_reconcile_time_seconds"].data_points
    assert (point.count, sum(point.bucket_counts)) == (1, 1)
    assert encode_metrics(data).ByteSize() > 1000


@virtual_time
async def test_metrics_are_exported_at_intervals_and_once_more_at_the_end() -> None:
    exporter, registry = Exporter(), CollectorRegistry()
    depth = Gauge("depth", "Depth.", registry=registry)
    metrics = OtlpMetrics(registry, exporter, RESOURCE, 60)
    task = asyncio.ensure_future(metrics.run())
    await asyncio.sleep(150)
    assert len(exporter.exported) == 2
    depth.set(3)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    registry.unregister(depth)
    assert len(exporter.exported) == 2, "an export would block the loop, in which controllers are stopped"
    metrics.close()
    metrics.close()
    assert len(exporter.exported) == 3
    assert metrics_in(exporter.exported[-1])["depth"].data_points[0].value == 3.0


def test_without_its_packages_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from setpoint.manager.otlp import Otlp, OtlpMissing

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(OtlpMissing, match=r"pip install 'setpoint\[otlp\]'"):
        Otlp("garden")
