"""Logs, metrics and traces of controllers."""

from __future__ import annotations

import asyncio
import logging
import sys
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from setpoint.client import Client, Request, Response, Transport, WebSocket, connect_over
from setpoint.controller.history import Cause, waited
from setpoint.meta import Object
from setpoint.workqueue import PrometheusQueueMetrics

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric


RESULTS: Final = ("success", "error", "requeue", "requeue_after")
BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
"""The upper bounds of the buckets of reconcile times, in seconds, as in controller-runtime."""


class LoopMetrics:
    """The counts of one controller. They can be read at any time; `ControllerMetrics` exports them to Prometheus."""

    __slots__ = (
        "active_workers", "buckets", "conflicts", "errors", "exemplars", "filtered", "hot_loops", "max_concurrent",
        "name", "panics", "paused", "results", "seconds", "stale_reads", "started_at", "suppressed", "terminal_errors",
        "timeouts",
    )  # fmt: skip

    def __init__(self, name: str, max_concurrent: int) -> None:
        self.name = name
        self.max_concurrent = max_concurrent
        self.active_workers = 0
        self.results: dict[str, int] = dict.fromkeys(RESULTS, 0)
        self.errors = 0
        self.terminal_errors = 0
        self.panics = 0
        self.timeouts = 0
        self.conflicts = 0
        self.filtered = 0
        self.suppressed = 0
        self.stale_reads = 0
        self.hot_loops = 0
        self.paused = 0
        self.started_at: float | None = None
        """The Unix time at which the workers began; None before."""
        self.seconds = 0.0
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.exemplars: dict[int, tuple[Mapping[str, str], float, float]] = {}
        """For each bucket, the last traced reconcile: the ids of its span, its seconds, and the time of its end."""

    def observe(self, result: str, seconds: float) -> None:
        """Counts a reconcile that has ended."""
        self.results[result] += 1
        self.seconds += seconds
        self.buckets[bisect_left(BUCKETS, seconds)] += 1

    def note_trace(self, ids: Mapping[str, str], seconds: float, ended_at: float) -> None:
        """Notes the ids of a reconcile's span (see `sampled_trace`), as the exemplar of its bucket."""
        self.exemplars[bisect_left(BUCKETS, seconds)] = (ids, seconds, ended_at)


class ControllerMetrics:
    """The metrics of all controllers of one process, and of their queues, in one registry of prometheus_client. The
    names of the controllers must differ.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._loops: dict[str, LoopMetrics] = {}
        registry.register(self)
        self.queues = PrometheusQueueMetrics(registry)

    def add(self, metrics: LoopMetrics) -> None:
        """Adds the metrics of a controller. Raises `ValueError` if the name is taken."""
        if metrics.name in self._loops:
            raise ValueError(
                f"there is a controller named {metrics.name!r} already: give one of them another name=, "
                "since the name tells them apart in metrics and logs"
            )
        self._loops[metrics.name] = metrics

    def remove(self, name: str) -> None:
        self._loops.pop(name, None)
        self.queues.remove(name)

    def collect(self) -> Iterator[Metric]:
        """The metrics of all controllers. The registry calls this method at each scrape."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
        from prometheus_client.samples import Exemplar

        label = ["controller"]
        total = CounterMetricFamily(
            "controller_runtime_reconcile",
            "Total number of reconciliations per controller",
            labels=["controller", "result"],
        )
        seconds = HistogramMetricFamily(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            labels=label,
        )
        counters = [
            (CounterMetricFamily(name, text, labels=label), attribute)
            for name, text, attribute in (
                ("controller_runtime_reconcile_errors", "Total number of reconciliation errors", "errors"),
                (
                    "controller_runtime_terminal_reconcile_errors",
                    "Total number of terminal reconciliation errors",
                    "terminal_errors",
                ),
                ("controller_runtime_reconcile_panics", "Total number of reconciliation panics", "panics"),
                ("controller_runtime_reconcile_timeouts", "Total number of reconciliation timeouts", "timeouts"),
                ("setpoint_reconcile_conflicts", "Reconciles that met a conflict and were tried again", "conflicts"),
                ("setpoint_events_filtered", "Events that no predicate let through", "filtered"),
                ("setpoint_events_suppressed", "Events that were the echo of an own status write", "suppressed"),
                ("setpoint_stale_reads", "Reconciles that read live because the cache was behind", "stale_reads"),
                ("setpoint_hot_loops", "Times that a key was slowed down because it was in a hot loop", "hot_loops"),
            )
        ]
        gauges = [
            (GaugeMetricFamily(name, text, labels=label), attribute)
            for name, text, attribute in (
                (
                    "controller_runtime_max_concurrent_reconciles",
                    "Maximum number of concurrent reconciles",
                    "max_concurrent",
                ),
                ("controller_runtime_active_workers", "Number of currently used workers", "active_workers"),
                ("setpoint_paused_objects", "Objects that wait for people to resume them", "paused"),
                (
                    "setpoint_controller_start_time_seconds",
                    "Unix time at which the workers began: after the start, the election and the first lists",
                    "started_at",
                ),
            )
        ]
        for loop in self._loops.values():
            for result, count in loop.results.items():
                total.add_metric([loop.name, result], count)
            cumulated: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
            running = 0
            for place, (bound, count) in enumerate(zip((*map(str, BUCKETS), "+Inf"), loop.buckets, strict=True)):
                running += count
                trace = loop.exemplars.get(place)
                if trace is None:
                    cumulated.append((bound, float(running)))
                else:
                    cumulated.append((bound, float(running), Exemplar(dict(trace[0]), trace[1], trace[2])))
            seconds.add_metric([loop.name], cumulated, loop.seconds)
            for counter, attribute in counters:
                counter.add_metric([loop.name], getattr(loop, attribute))
            for gauge, attribute in gauges:
                value = getattr(loop, attribute)
                if value is not None:
                    gauge.add_metric([loop.name], value)
        yield total
        yield seconds
        yield from (counter for counter, _ in counters)
        yield from (gauge for gauge, _ in gauges)


_ARGUMENTS: Final = frozenset({"exc_info", "extra", "stack_info", "stacklevel"})
"""The keyword arguments that `logging` takes; any other keyword argument is a field."""


class BoundLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that adds its fields to every record. The record has them as ``record.fields``, which the formatters of
    `setpoint.manager.logging` print.

    ``log.info("scaled", replicas=3)`` adds fields to one record. ``extra={"replicas": 3}`` does the same, and also
    takes names that are arguments of `logging`, such as ``exc_info``. ``log.bind(pod=name)`` returns a new logger with
    more fields.
    """

    def __init__(self, logger: logging.Logger, fields: dict[str, Any] | None = None) -> None:
        super().__init__(logger, {})
        self.fields = fields or {}

    def bind(self, **fields: Any) -> BoundLogger:
        """A logger with more fields."""
        return BoundLogger(self.logger, {**self.fields, **fields})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        passed = {name: value for name, value in kwargs.items() if name in _ARGUMENTS}
        own = {name: value for name, value in kwargs.items() if name not in _ARGUMENTS}
        return msg, {**passed, "extra": {"fields": {**self.fields, **own, **(passed.get("extra") or {})}}}


def find_tracer() -> Any:
    """The tracer of the process's tracer provider; None if there is no provider.

    Set the provider before the controller is bound. Without a provider nothing is traced, and tracing costs nothing.
    """
    if "opentelemetry" not in sys.modules and find_spec("opentelemetry") is None:
        return None
    try:
        trace = import_module("opentelemetry.trace")
    except ImportError:  # another package of that namespace
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):  # none has been set
        return None
    return provider.get_tracer("setpoint")


def sampled_trace(span: Any) -> Mapping[str, str]:
    """The ``trace_id`` and ``span_id`` of a span whose trace is recorded; empty if it is not, and without a span."""
    if span is None:
        return {}
    context = span.get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def traced(client: Client, tracer: Any) -> Client:
    """A client like ``client`` that makes a span for each request."""
    return client.over(TracedTransport(client.transport, tracer))


def reconcile_span(
    tracer: Any, controller: str, obj: Object, causes: tuple[Cause, ...], failures: int
) -> AbstractContextManager[Any]:
    """The span of one reconcile, as a context manager; the span records an exception that ends the reconcile."""
    span: AbstractContextManager[Any] = tracer.start_as_current_span(
        f"reconcile {controller}",
        attributes={
            "setpoint.controller": controller,
            "setpoint.causes": [str(cause) for cause in causes],
            "setpoint.failures": failures,
            "setpoint.queue_wait": waited(causes, asyncio.get_running_loop().time()) or 0.0,
            "k8s.object.kind": obj.kind,
            "k8s.object.name": obj.name,
            "k8s.namespace.name": obj.namespace,
            "k8s.object.resource_version": obj.metadata.resource_version,
        },
    )
    return span


class TracedTransport:
    """A transport that makes a span for each request, as a child of the current span."""

    def __init__(self, transport: Transport, tracer: Any) -> None:
        self._transport = transport
        self._tracer = tracer
        self._kind = import_module("opentelemetry.trace").SpanKind.CLIENT
        self._status = import_module("opentelemetry.trace").StatusCode.ERROR
        self._inject = import_module("opentelemetry.propagate").inject

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        attributes = {"http.request.method": request.method, "url.path": request.path}
        with self._tracer.start_as_current_span(request.method, kind=self._kind, attributes=attributes) as span:
            headers = dict(request.headers)
            self._inject(headers)
            async with self._transport.send(replace(request, headers=headers)) as response:
                span.set_attribute("http.response.status_code", response.status)
                if response.status >= 400:
                    span.set_status(self._status)
                yield response

    @asynccontextmanager
    async def connect(self, request: Request, protocols: Sequence[str]) -> AsyncIterator[WebSocket]:
        """Opens a WebSocket; the span lasts as long as the WebSocket."""
        attributes = {"http.request.method": request.method, "url.path": request.path}
        with self._tracer.start_as_current_span(request.method, kind=self._kind, attributes=attributes):
            async with connect_over(self._transport, request, protocols) as socket:
                yield socket

    async def close(self) -> None:
        """Does nothing: the wrapped transport has another owner."""
