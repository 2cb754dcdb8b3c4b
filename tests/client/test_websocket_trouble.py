"""WebSockets to servers and proxies that are away, not trusted or in no mood: one clear error each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from setpoint.client import Client, Forbidden, TransportError

from .certificates import make, server_context
from .test_bad_input import once, saying, talking
from .test_websocket import ended

LOGIN = b"proxy-authorization: basic bwu6ahvudgvymg=="


@asynccontextmanager
async def tls_pods(home: Path, *names: str) -> AsyncIterator[tuple[str, bytes]]:
    """Pods behind TLS, with a certificate for these names; the URL and the authority."""
    authority = make("ca")

    async def handle(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
        await socket.prepare(request)
        await socket.send_bytes(b"\1over TLS")
        await socket.send_bytes(ended(0))
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/{tail:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    context = server_context(make("server", authority, names=names), home)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    assert site._server is not None
    try:
        yield f"https://127.0.0.1:{site._server.sockets[0].getsockname()[1]}", authority.cert_pem
    finally:
        await runner.cleanup()


async def failing(client: Client) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await client.exec("p", ["true"])
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
    return caught.value


async def test_a_server_that_is_away_is_named() -> None:
    async with once("http://127.0.0.1:1") as client:
        problem = await failing(client)
    assert "http://127.0.0.1:1 can't be reached: " in str(problem)
    assert not problem.sent


async def test_a_server_that_hangs_up_broke_the_connection() -> None:
    async with talking(saying()) as url, once(url) as client:
        problem = await failing(client)
    assert f"the connection to {url} broke" in str(problem)
    assert problem.sent


async def test_a_certificate_for_the_name_that_was_asked_for_is_trusted(tmp_path: Path) -> None:
    async with tls_pods(tmp_path, "elsewhere") as (url, ca):
        async with once(url, ca_data=ca, tls_server_name="elsewhere") as client:
            assert (await client.exec("p", ["true"])).stdout == b"over TLS"
        async with once(url, ca_data=ca) as client:
            problem = await failing(client)
    assert "the server's certificate is not trusted" in str(problem)
    assert not problem.sent


async def test_a_server_of_another_authority_is_not_trusted(tmp_path: Path) -> None:
    async with tls_pods(tmp_path, "127.0.0.1") as (url, _), once(url, ca_data=make("other").cert_pem) as client:
        assert "the server's certificate is not trusted" in str(await failing(client))


async def test_a_proxy_that_is_away_is_named_without_its_password() -> None:
    async with once("https://192.0.2.1", proxy_url="http://me:hunter2@127.0.0.1:1") as client:
        problem = await failing(client)
    assert "proxy http://…@127.0.0.1:1 can't be reached: " in str(problem)
    assert not problem.sent


async def test_a_proxy_that_refuses_is_named() -> None:
    talk = saying(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")
    async with talking(talk) as url, once("https://192.0.2.1", proxy_url=url) as client:
        problem = await failing(client)
    assert f"proxy {url} refused: 407 Who" in str(problem)


async def test_a_proxy_is_told_who_asks() -> None:
    heads: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with talking(talk) as url, once("http://192.0.2.1", proxy_url=url.replace("//", "//me:hunter2@")) as client:
        with pytest.raises(Forbidden):
            await client.exec("p", ["true"])
    assert LOGIN in heads[0].lower()
    assert heads[0].startswith(b"GET http://192.0.2.1/api/v1/namespaces/default/pods/p/exec?")


async def test_a_proxy_of_an_encrypted_connection_is_told_who_asks_and_nobody_else_is() -> None:
    heads: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with talking(talk) as url, once("https://192.0.2.1", proxy_url=url.replace("//", "//me:hunter2@")) as client:
        await failing(client)
    assert heads[0].startswith(b"CONNECT 192.0.2.1:443 ")
    assert LOGIN in heads[0].lower()
