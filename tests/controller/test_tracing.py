"""Tracing: one span for a reconcile, its requests below it, and nothing where it is not set up."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics import exposition as openmetrics

import setpoint as sp
from setpoint.controller import ControllerMetrics, telemetry
from setpoint.manager.logging import configure
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import cluster, virtual_time

from .world import Widget, Wires, config, widget

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
sampling = pytest.importorskip("opentelemetry.sdk.trace.sampling")
export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The finished spans of a provider that is set for this test alone."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter = export.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


@virtual_time
async def test_requests_are_spans_below_their_reconcile_and_carry_its_trace(spans: Any) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(config("child"))
        assert await ctx.get(Secret, "absent") is None

    wires = Wires()
    async with cluster(sp.Controller(Widget, reconcile), control_plane=False, rbac=False).over(wires) as world:
        await world.create(widget())
        await world.settle()
    finished_spans = spans.get_finished_spans()
    (root,) = (span for span in finished_spans if span.name == "reconcile widget")
    assert root.parent is None
    assert root.attributes["setpoint.causes"] == ("create of Widget default/a",)
    assert 0.0 <= root.attributes["setpoint.queue_wait"] < 1.0
    assert (root.attributes["k8s.namespace.name"], root.attributes["k8s.object.name"]) == ("default", "a")
    calls = [span for span in finished_spans if span.parent is not None and span.parent.span_id == root.context.span_id]
    assert [(call.name, call.attributes["http.response.status_code"]) for call in calls] == [
        ("GET", 404),  # nothing is declared about it, so it is looked for once
        ("PATCH", 201),
        ("GET", 404),
        ("PATCH", 200),
    ]
    assert not calls[2].status.is_ok
    _, sent = (request for request in wires.wire.requests if "configmaps" in request.path)
    assert f"{root.context.trace_id:032x}" in sent.headers["traceparent"]


@virtual_time
async def test_a_failed_reconcile_is_a_failed_span(spans: Any) -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        raise sp.TerminalError("no way")

    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False, objects=[config("a")]) as world:
        await world.settle()
    (root,) = (span for span in spans.get_finished_spans() if span.name.startswith("reconcile"))
    assert not root.status.is_ok
    assert root.events[0].attributes["exception.message"] == "no way"


@virtual_time
async def test_log_records_of_a_reconcile_and_about_its_end_have_its_trace(spans: Any) -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        ctx.log.info("at work")
        raise sp.TerminalError("no way")

    stream = io.StringIO()
    handler = configure("json", stream=stream)
    try:
        async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False, objects=[config("a")]) as world:
            await world.settle()
    finally:
        logging.getLogger().removeHandler(handler)
    (root,) = (span for span in spans.get_finished_spans() if span.name.startswith("reconcile"))
    records = {record["msg"]: record for record in map(json.loads, stream.getvalue().splitlines())}
    trace_id, span_id = f"{root.context.trace_id:032x}", f"{root.context.span_id:016x}"
    assert (records["at work"]["trace_id"], records["at work"]["span_id"]) == (trace_id, span_id)
    failed = records["reconcile failed"]
    assert (failed["trace_id"], failed["span_id"]) == (trace_id, span_id)
    assert "trace_id" not in records["controller started"]


@virtual_time
async def test_the_histogram_of_reconcile_times_has_traces_as_exemplars(spans: Any) -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        await asyncio.sleep(0.65)

    registry = CollectorRegistry()
    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False, objects=[config("a")]) as world:
        ControllerMetrics(registry).add(world.running("configmap").metrics)
        await world.settle()
        text = openmetrics.generate_latest(registry).decode()
    (root,) = (span for span in spans.get_finished_spans() if span.name.startswith("reconcile"))
    (line,) = (line for line in text.splitlines() if " # {" in line)
    assert line.startswith('controller_runtime_reconcile_time_seconds_bucket{controller="configmap",le="0.7"} 1.0')
    ids = f'span_id="{root.context.span_id:016x}",trace_id="{root.context.trace_id:032x}"'
    assert f"# {{{ids}}} 0.65" in line


def test_a_trace_that_is_not_sampled_is_no_exemplar() -> None:
    provider = sdk.TracerProvider(sampler=sampling.ALWAYS_OFF)
    with provider.get_tracer("x").start_as_current_span("y") as span:
        assert telemetry.sampled_trace(span) == {}
    assert telemetry.sampled_trace(None) == {}


def test_nothing_is_traced_without_a_provider() -> None:
    assert telemetry.find_tracer() is None
