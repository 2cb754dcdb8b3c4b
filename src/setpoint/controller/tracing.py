"""Tracing: OpenTelemetry spans of reconciles and of their requests, if OpenTelemetry's API is installed and configured.

A span ``reconcile CONTROLLER`` lasts from the reading of the object to the outcome. It records the cause of the
reconcile and the number of seconds in the queue (``setpoint.queue_wait``). The requests of the reconcile are its
children and carry its trace to the API server (W3C ``traceparent``).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from setpoint.client import Client, Request, Response, Transport, WebSocket, connect_over
from setpoint.controller.cause import waited

if TYPE_CHECKING:
    from setpoint.controller.context import Context


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


def traced(client: Client, tracer: Any) -> Client:
    """A client like ``client`` that makes a span for each request."""
    return client.over(TracedTransport(client.transport, tracer))


def reconcile_span(tracer: Any, controller: str, context: Context) -> AbstractContextManager[Any]:
    """The span of one reconcile, as a context manager; the span records an exception that ends the reconcile."""
    span: AbstractContextManager[Any] = tracer.start_as_current_span(
        f"reconcile {controller}",
        attributes={
            "setpoint.controller": controller,
            "setpoint.causes": [str(cause) for cause in context.causes],
            "setpoint.failures": context.failures,
            "setpoint.queue_wait": waited(context.causes, asyncio.get_running_loop().time()) or 0.0,
            "k8s.object.kind": context.object.kind,
            "k8s.object.name": context.key.name,
            "k8s.namespace.name": context.key.namespace,
            "k8s.object.resource_version": context.object.metadata.resource_version,
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
