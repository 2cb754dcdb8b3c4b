"""WebSockets to servers and proxies that are away, not trusted or in no mood: one clear error each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from wsproto.utilities import generate_accept_token

from setpoint.client import Client, Forbidden, TransportError
from setpoint.client import http_websocket as sockets

from .certificates import make, server_context
from .scripted_servers import Talk, once, talking
from .test_bad_input import saying
from .test_websocket import ended, pods

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
    assert f"proxy {url} refused: 407 Proxy Authentication Required" in str(problem)


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


def frames(
    *parts: bytes, protocol: bytes = b"v5.channel.k8s.io", key: bytes | None = None, stays: bool = False
) -> Talk:
    """A server that opens the WebSocket, sends these bytes, and hangs up once the client says something, unless it
    ``stays``; with ``key`` it answers to another request."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        match = re.search(rb"(?i)sec-websocket-key: (\S+)", head)
        assert match is not None
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n%s"
            % (generate_accept_token(key or match[1]), protocol, b"".join(parts))
        )
        await writer.drain()
        await reader.read(-1 if stays else 1)

    return talk


def frame(data: bytes, opcode: int = 2, *, final: bool = True) -> bytes:
    assert len(data) < 126
    return bytes((opcode | (0x80 if final else 0), len(data))) + data


async def test_what_comes_right_behind_the_handshake_is_read() -> None:
    async with talking(frames(frame(b"\1early"), frame(ended(0)))) as url, once(url) as client:
        assert (await client.exec("p", ["true"])).stdout == b"early"


async def test_messages_in_pieces_and_in_text_are_put_together() -> None:
    parts = frame(b"\1one, ", final=False), frame(b"", 9), frame(b"two, ", 0, final=False), frame(b"three", 0)
    async with talking(frames(*parts, frame(b"\1 and text", 1), frame(ended(0)))) as url, once(url) as client:
        assert (await client.exec("p", ["true"])).stdout == b"one, two, three and text"


async def test_a_message_that_is_too_long_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MAX_MESSAGE", 100)
    parts = frame(b"\1" * 60, final=False), frame(b"\1" * 60, 0)
    async with talking(frames(*parts)) as url, once(url) as client:
        assert "a message of more than 100 bytes" in str(await failing(client))


@pytest.mark.parametrize("sent", [b"\x83\1a", b"\xff\0", b"\x82\x81mask1", b"\x89\x7e\1\0" + bytes(256)])
async def test_what_is_not_a_frame_ends_the_connection(sent: bytes) -> None:
    async with talking(frames(sent)) as url, once(url) as client:
        assert "its data is not that of a WebSocket" in str(await failing(client))


async def test_the_answer_to_another_handshake_is_refused() -> None:
    async with talking(frames(key=b"another")) as url, once(url) as client:
        assert "a protocol other than the requested WebSocket" in str(await failing(client))
    async with talking(frames(protocol=b"chat")) as url, once(url) as client:
        assert "chose the protocol 'chat', which was not offered" in str(await failing(client))


async def test_a_refusal_is_told_in_the_servers_words() -> None:
    status = b'{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"pods p is forbidden: no"}'
    talk = saying(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(status), status))
    async with talking(talk) as url, once(url) as client:
        with pytest.raises(Forbidden, match="pods p is forbidden: no"):
            await client.exec("p", ["true"])


async def test_a_server_that_answers_no_ping_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "HEARTBEAT", 0.2)
    monkeypatch.setattr(sockets, "GOODBYE", 0.2)
    async with talking(frames(stays=True)) as url, once(url) as client:
        assert "did not answer a ping within 0.1 s" in str(await failing(client))


async def test_a_ping_of_the_server_is_answered() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frames(frame(b"there?", 9))(Once(reader), writer)  # type: ignore[arg-type]
        first, size = await reader.readexactly(2)
        assert (first, size) == (0x8A, 0x80 | 6), "a pong, masked"
        mask, text = await reader.readexactly(4), await reader.readexactly(6)
        assert bytes(byte ^ mask[index % 4] for index, byte in enumerate(text)) == b"there?"
        writer.write(frame(ended(0)))
        await reader.read(1)

    async with talking(talk) as url, once(url) as client:
        assert (await client.exec("p", ["true"])).exit_code == 0


class Once:
    """The head of a reader's request; the rest is for others."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.readuntil = reader.readuntil

    async def read(self, size: int) -> bytes:
        return b""


async def test_a_reader_that_is_slow_makes_the_server_wait() -> None:
    piece = b"\1" + bytes(1 << 15)
    waits = asyncio.Event()

    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        assert request.transport is not None
        for _ in range(2000):
            sending = asyncio.ensure_future(socket.send_bytes(piece))
            done, _waiting = await asyncio.wait((sending,), timeout=0.2)
            if not done:
                waits.set()
            await sending
        await socket.send_bytes(ended(0))

    async with pods(talk) as client, client.exec_stream("p", ["cat"]) as running:
        async with asyncio.timeout(30):
            await waits.wait()  # else 64 MiB are with the client by now
        assert sum([len(data) async for _, data in running]) == 2000 << 15
        assert running.exit_code == 0


async def test_what_was_written_before_leaving_arrives() -> None:
    body = bytearray()

    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            await asyncio.sleep(0)
            body.extend(message.data[1:])

    async with pods(talk, "v4.channel.k8s.io") as client:
        async with client.port_forward("p", 80) as port:
            for _ in range(100):
                await port.write(bytes(1 << 14))
        assert len(body) == 100 << 14


async def test_closing_the_client_ends_what_waits_on_its_sockets() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.receive()

    async with pods(talk) as client, client.exec_stream("p", ["cat"]) as running:
        waiting = asyncio.ensure_future(anext(aiter(running)))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(TransportError, match="the transport is closed"):
            await waiting
