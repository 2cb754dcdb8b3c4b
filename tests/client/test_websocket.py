"""Commands in pods and connections to their ports, against a server that speaks the protocols."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web

from setpoint import blocking
from setpoint.client import Client, ClientConfig, Forbidden, InProcessTransport, NotFound, StaticToken, TransportError

from .conftest import Server, answer

Talk = Callable[[web.Request, web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def pods(talk: Talk, protocol: str = "v5.channel.k8s.io") -> AsyncIterator[Client]:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != "Bearer t":
            return web.Response(status=403)
        if "/gone/" in request.path:
            return web.Response(status=404)
        socket = web.WebSocketResponse(protocols=(protocol,))
        await socket.prepare(request)
        await talk(request, socket)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/{tail:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]
    config = ClientConfig(server=f"http://127.0.0.1:{port}", credentials=StaticToken("t"))
    try:
        async with Client.from_config(config) as client:
            yield client
    finally:
        await runner.cleanup()


def ended(code: int) -> bytes:
    if code == 0:
        return b"\3" + json.dumps({"status": "Success"}).encode()
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return b"\3" + json.dumps(status).encode()


async def test_a_command_gives_its_output_and_exit_code() -> None:
    requests: list[web.Request] = []

    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        requests.append(request)
        for message in (b"\1", b"\2", b"\1out\xff", b"\2err", b"\1more", ended(3)):
            await socket.send_bytes(message)

    async with pods(talk) as client:
        result = await client.exec("p", ["sh", "-c", "a & b"], namespace="ns", container="c")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\xffmore", b"err")
    assert requests[0].path == "/api/v1/namespaces/ns/pods/p/exec"
    assert requests[0].query.getall("command") == ["sh", "-c", "a & b"]
    assert requests[0].query["container"] == "c"


async def test_standard_input_is_written_and_ended() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        text = b""
        async for message in socket:
            assert message.type == WSMsgType.BINARY
            if message.data == b"\xff\0":
                break
            assert message.data[:1] == b"\0"
            text += message.data[1:]
        await socket.send_bytes(b"\1" + text.upper())
        await socket.send_bytes(ended(0))

    async with pods(talk) as client:
        assert (await client.exec("p", ["cat"], stdin=b"hello")).stdout == b"HELLO"


async def test_a_command_that_answers_while_it_reads_waits_for_nobody() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.data == b"\xff\0":
                break
            await socket.send_bytes(b"\1" + message.data[1:])
        await socket.send_bytes(ended(0))

    stdin = b"0123456789abcdef" * (1 << 20)
    async with pods(talk) as client:
        assert (await client.exec("p", ["cat"], stdin=stdin, timeout=30)).stdout == stdin


async def test_a_command_may_end_without_reading_its_input() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\1enough")
        await socket.send_bytes(ended(0))
        await asyncio.Event().wait()  # it reads nothing and does not close either

    async with pods(talk) as client:
        result = await client.exec("p", ["head", "-c0"], stdin=bytes(64 << 20), timeout=30)
        assert (result.exit_code, result.stdout) == (0, b"enough")


async def test_an_old_server_says_that_it_cant_end_standard_input() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.receive()

    async with pods(talk, "v4.channel.k8s.io") as client:
        with pytest.raises(TransportError, match=r"that needs Kubernetes 1\.30"):
            await client.exec("p", ["cat"], stdin=b"hello")


async def test_what_goes_wrong_with_a_command_is_said() -> None:
    async def cut(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\1half")

    async def refused(request: web.Request, socket: web.WebSocketResponse) -> None:
        status = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no shell here"}
        await socket.send_bytes(b"\3" + json.dumps(status).encode())

    async def silent(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.receive()

    async with pods(cut) as client:
        with pytest.raises(TransportError, match="ended before the command did"):
            await client.exec("p", ["true"])
        with pytest.raises(NotFound):
            await client.exec("gone", ["true"])
        with pytest.raises(ValueError, match="list of arguments"):
            await client.exec("p", "true")
    async with pods(refused) as client:
        with pytest.raises(Forbidden, match=r"exec pods default/p: .*no shell here"):
            await client.exec("p", ["true"])
    async with pods(silent) as client:
        with pytest.raises(TransportError, match=r"longer than 0\.1 s"):
            await client.exec("p", ["sleep", "9"], timeout=0.1)
    async with Client(InProcessTransport(Server(lambda request: answer({})).handle)) as client:
        with pytest.raises(TransportError, match="exec: this handler has no WebSockets"):
            await client.exec("p", ["true"])


async def test_a_port_is_talked_to() -> None:
    async def echo(request: web.Request, socket: web.WebSocketResponse) -> None:
        port = struct.pack("<H", int(request.query["ports"]))
        await socket.send_bytes(b"\0" + port)
        await socket.send_bytes(b"\1" + port)
        async for message in socket:
            await socket.send_bytes(b"\0" + message.data[1:].upper())
            return

    async with pods(echo, "v4.channel.k8s.io") as client, client.port_forward("p", 8080) as stream:
        await stream.write(b"hello")
        assert await stream.read() == b"HELLO"
        assert await stream.read() == b""


async def test_a_port_where_nothing_listens_is_an_error() -> None:
    async def refuse(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\1\x90\x1f")
        await socket.send_bytes(b"\1connection refused\n")

    async with pods(refuse, "v4.channel.k8s.io") as client, client.port_forward("p", 8080) as stream:
        with pytest.raises(TransportError, match=r"port 8080 of pod default/p: connection refused$"):
            await stream.read()


async def test_commands_and_ports_are_reached_without_await() -> None:
    async def talk(request: web.Request, socket: web.WebSocketResponse) -> None:
        if request.path.endswith("/portforward"):
            await socket.send_bytes(b"\0\x90\x1f")
            message = await socket.receive()
            await socket.send_bytes(b"\0" + message.data[1:].upper())
            return
        data = (await socket.receive()).data[1:]
        assert (await socket.receive()).data[:1] == b"\4"
        assert (await socket.receive()).data == b"\xff\0"
        await socket.send_bytes(b"\1" + data.upper())
        await socket.send_bytes(ended(7))

    def use(config: ClientConfig) -> None:
        with blocking.Client.from_config(config) as client:
            with client.exec_stream("p", ["cat"], stdin=True, tty=True) as command:
                command.write(b"hello")
                command.resize(80, 25)
                command.close_stdin()
                assert command.exit_code is None
                assert list(command) == [("stdout", b"HELLO")]
                assert command.exit_code == 7
            with client.port_forward("p", 8080) as port:
                port.write(b"ping")
                assert port.read() == b"PING"
                assert port.read() == b""
            with pytest.raises(NotFound), client.port_forward("gone", 8080):
                pass

    async with pods(talk) as client:
        assert client.config is not None
        await asyncio.to_thread(use, client.config)
