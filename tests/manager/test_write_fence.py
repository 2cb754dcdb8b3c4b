"""The fence: asked at the last moment, and about everything that can change something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from setpoint.client import Client, ClientConfig, HttpTransport, StaticToken, TransportError
from setpoint.manager import FencedTransport, WriteRefused
from setpoint.manager.key_partition import WHOLE
from setpoint.manager.processes import ParentLease
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap


class Lease(ParentLease):
    """A lease with a switch."""

    def __init__(self) -> None:
        super().__init__(WHOLE)
        self.leads = True

    def may_act(self, work: tuple[str, ObjectKey] | None = None) -> bool:
        return self.leads


class Slow(StaticToken):
    """Credentials during which the lease is lost."""

    def __init__(self, lease: Lease, *, loses: bool = True) -> None:
        super().__init__("t")
        self.lease, self.loses = lease, loses

    async def authorization(self) -> str:
        self.lease.leads = self.lease.leads and not self.loses
        return await super().authorization()


@asynccontextmanager
async def server() -> AsyncIterator[tuple[str, list[str]]]:
    """Its URL and the requests that came."""
    came: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        came.append(f"{request.method} {request.path}")
        if "upgrade" in request.headers.get("connection", "").lower():
            socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
            await socket.prepare(request)
            await socket.send_bytes(b"\3" + b'{"status": "Success"}')
            await socket.close()
            return socket
        return web.json_response({"metadata": {"name": "a", "namespace": "default"}})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}", came
    finally:
        await runner.cleanup()


async def test_a_write_whose_credentials_took_longer_than_the_lease_never_leaves() -> None:
    async with server() as (url, came):
        lease = Lease()
        async with Client.from_config(ClientConfig(server=url, credentials=Slow(lease))) as client:
            fenced = client.over(FencedTransport(client.transport, lease))
            with pytest.raises(WriteRefused):
                await fenced.create(ConfigMap.named("a"))
            assert came == []
            assert (await fenced.get(ConfigMap, "a")).name == "a", "reads pass"


async def test_a_write_whose_connection_took_longer_than_the_lease_never_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with server() as (url, came):
        lease = Lease()
        transport = HttpTransport(ClientConfig(server=url))
        async with Client(transport) as client:
            fenced = client.over(FencedTransport(transport, lease))
            loop = asyncio.get_running_loop()
            connect = loop.create_connection

            async def slowly(*args: object, **options: object) -> object:
                result = await connect(*args, **options)  # type: ignore[call-overload]
                lease.leads = False
                return result

            monkeypatch.setattr(loop, "create_connection", slowly)
            with pytest.raises(WriteRefused):
                await fenced.create(ConfigMap.named("a"))
            assert came == []
            assert transport._pool is not None
            assert transport._pool.in_use == 0
            lease.leads = True
            monkeypatch.undo()
            await fenced.create(ConfigMap.named("a"))
            assert came == ["POST /api/v1/namespaces/default/configmaps"]


async def test_a_leader_runs_commands_in_pods_and_who_lost_its_lease_does_not() -> None:
    async with server() as (url, came):
        lease = Lease()
        credentials = Slow(lease, loses=False)
        async with Client.from_config(ClientConfig(server=url, credentials=credentials)) as client:
            fenced = client.over(FencedTransport(client.transport, lease))
            assert (await fenced.exec("p", ["true"])).exit_code == 0
            credentials.loses = True
            with pytest.raises(WriteRefused, match=r"pods/p/exec refused"):
                await fenced.exec("p", ["true"])
            assert len(came) == 1
            with pytest.raises(WriteRefused):
                async with fenced.port_forward("p", 80):
                    raise AssertionError
            assert len(came) == 1


async def test_a_transport_without_websockets_says_so_through_the_fence() -> None:
    class Plain:
        def send(self, request: object) -> object:
            raise AssertionError

        async def close(self) -> None: ...

    client = Client(Plain())  # type: ignore[arg-type]
    with pytest.raises(TransportError, match="Plain has no WebSockets"):
        await client.over(FencedTransport(client.transport, Lease())).exec("p", ["true"])
