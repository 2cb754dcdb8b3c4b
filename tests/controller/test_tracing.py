"""Tracing: one span for a reconcile, its requests below it, and nothing where it is not set up."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.controller import telemetry
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import cluster, virtual_time

from .world import Widget, Wires, config, widget

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
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
    found = spans.get_finished_spans()
    (root,) = (span for span in found if span.name == "reconcile widget")
    assert root.parent is None
    assert root.attributes["setpoint.causes"] == ("create of Widget default/a",)
    assert 0.0 <= root.attributes["setpoint.queue_wait"] < 1.0
    assert (root.attributes["k8s.namespace.name"], root.attributes["k8s.object.name"]) == ("default", "a")
    calls = [span for span in found if span.parent is not None and span.parent.span_id == root.context.span_id]
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


def test_nothing_is_traced_without_a_provider() -> None:
    assert telemetry.find_tracer() is None
