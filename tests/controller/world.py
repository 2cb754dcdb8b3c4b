"""A small custom kind, and transports that watch, delay and break what goes through them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.transports import Through

import setpoint as sp
from setpoint.client import Request, Response, Transport, TransportError
from setpoint.models.core_v1 import ConfigMap


class WidgetSpec(sp.Model):
    size: int = 1


class WidgetStatus(sp.ConditionedStatus):
    ready: int = 0


class Widget(sp.CustomResource, group="test.example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


def widget(name: str = "a", size: int = 1, namespace: str = "default") -> Widget:
    return Widget.named(name, namespace, spec=WidgetSpec(size=size))


def config(name: str, **data: str) -> ConfigMap:
    return ConfigMap.named(name, data=data)


class Wire(Through):
    """A transport that notes requests and does to them what a test wants.

    ``before(request)`` may raise instead of sending; ``after(request)`` may raise after it was done. The events of a
    plural's watches come ``delays[plural]`` seconds late.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.requests: list[Request] = []
        self.delays: dict[str, float] = {}
        self.before: Callable[[Request], Any] = lambda request: None
        self.after: Callable[[Request], Any] = lambda request: None

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        self.requests.append(request)
        self.before(request)
        async with self.inner.send(request) as response:
            self.after(request)
            plural = request.path.rpartition("/")[2]
            yield _Late(response, self, plural) if ("watch", "true") in request.query else response

    def writes(self, word: str = "") -> list[str]:
        """The writes so far: ``METHOD path``."""
        return [
            f"{request.method} {request.path}"
            for request in self.requests
            if request.method != "GET" and word in request.path
        ]


class _Late(Response):
    def __init__(self, inner: Response, wire: Wire, plural: str) -> None:
        self.inner, self.wire, self.plural = inner, wire, plural
        self.status, self.headers = inner.status, inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner.chunks():
            await asyncio.sleep(self.wire.delays.get(self.plural, 0.0))
            yield chunk


class Wires:
    """Makes `Wire`s for `testing.cluster(...).over(...)` and keeps the last one."""

    def __init__(self) -> None:
        self.wire: Wire

    def __call__(self, inner: Transport) -> Transport:
        self.wire = Wire(inner)
        return self.wire


def lost_answer(request: Request) -> None:
    """The request was done, but the client does not know."""
    raise TransportError(f"no answer to {request.method} {request.path}", sent=True)
