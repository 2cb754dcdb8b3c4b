"""A small server to talk to: a function from request to answer, in process or behind a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from aiohttp import web

from setpoint.client import Client, ClientConfig, HttpTransport, InProcessTransport, Request
from setpoint.meta import ApiModel, Object, Resource


class Container(ApiModel):
    name: str
    image: str | None = None


class ThingSpec(ApiModel):
    containers: list[Container] = []
    replicas: int | None = None
    options: dict[str, str] = {}


class ThingStatus(ApiModel):
    phase: str | None = None


class Thing(Object, omit_defaults=True):
    resource: ClassVar[Resource] = Resource(group="", version="v1", kind="Thing", plural="things")

    spec: ThingSpec = ThingSpec()
    status: ThingStatus = ThingStatus()


class Globe(Object, omit_defaults=True):
    resource: ClassVar[Resource] = Resource(
        group="x.example.com", version="v1beta1", kind="Globe", plural="globes", namespaced=False
    )


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterator[bytes] = b"{}"


def answer(document: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(document).encode()
    )


def echo(document: Any, request: Request) -> Answer:
    """``document`` as the object that ``request`` is about: with the name and the namespace of its path or body."""
    _, _, rest = request.path.partition("/namespaces/")
    namespace, *parts = rest.split("/") if rest else ("", *request.path.split("/")[-2:])
    sent = json.loads(request.body or b"{}") if request.method == "POST" else {}
    name = sent.get("metadata", {}).get("name") or (parts[1] if len(parts) > 1 else "")
    metadata = {**document.get("metadata", {}), "name": name, **({"namespace": namespace} if namespace else {})}
    return answer({**document, "metadata": metadata})


def failure(code: int, reason: str, message: str = "no", **details: Any) -> Answer:
    return answer(
        {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, "details": details},
        code,
    )


Behaviour = Callable[[Request], Answer | Awaitable[Answer]]


class Server:
    """Answers with ``behave`` and keeps every request that came."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.requests: list[Request] = []

    async def handle(self, request: Request) -> Answer:
        self.requests.append(request)
        result = self.behave(request)
        return result if isinstance(result, Answer) else await result

    async def handle_http(self, request: web.Request) -> web.StreamResponse:
        result = await self.handle(
            Request(
                request.method,
                request.path,
                tuple(request.query.items()),
                {name.lower(): value for name, value in request.headers.items()},
                await request.read(),
            )
        )
        if isinstance(result.body, bytes):
            return web.Response(status=result.status, headers=result.headers, body=result.body)
        response = web.StreamResponse(status=result.status, headers=result.headers)
        await response.prepare(request)
        async for chunk in result.body:
            await response.write(chunk)
        await response.write_eof()
        return response


@asynccontextmanager
async def listening(server: Server, **options: Any) -> AsyncIterator[str]:
    """The URL at which ``server`` listens, for as long as the context lasts."""
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{tail:.*}", server.handle_http)
    runner = web.AppRunner(app, shutdown_timeout=0.1, auto_decompress=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, **options)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if 'ssl_context' in options else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


Connect = Callable[..., Any]


@pytest.fixture(params=["in-process", "http"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """A function that makes a client and its server, over each transport."""

    @asynccontextmanager
    async def run(behave: Behaviour, **options: Any) -> AsyncIterator[tuple[Client, Server]]:
        server = Server(behave)
        if request.param == "in-process":
            async with Client(InProcessTransport(server.handle), **options) as client:
                yield client, server
        else:
            async with listening(server) as url, Client(HttpTransport(ClientConfig(server=url)), **options) as client:
                yield client, server
        await asyncio.sleep(0)

    return run
