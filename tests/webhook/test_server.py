"""Real sockets and TLS on loopback: what is refused, what survives, how it stops."""

from __future__ import annotations

import asyncio
import io
import json
import resource
import ssl
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiohttp
import pytest
from tests.programs import DEADLINE

from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller import Controller
from setpoint.crd import crd_for
from setpoint.manager import Manager
from setpoint.meta import from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.serving.body_memory import LIMIT
from setpoint.webhook import Admission, MemoryCertificates, WebhookLimits, Webhooks, WebhookServer

from .mykind import MUTATE, VALIDATE, Mykind, document, encoded, mykind_admission, review
from .serving import HOST, served, trusting
from .test_conversion import Renames

JSON = {"content-type": "application/json"}
SHORT = 0.5
"""Seconds after which what a client does not say is cut off, and enough for a handshake on a busy machine."""
BODY = encoded(review(document()))


async def test_reviews_are_answered_over_tls() -> None:
    async with served(Webhooks(mykind_admission())) as (_, session):
        async with session.post(f"{MUTATE}?timeout=10s", data=BODY, headers=JSON) as answer:
            assert answer.status == 200
            assert answer.headers["content-type"] == "application/json"
            assert (await answer.json())["response"]["patchType"] == "JSONPatch"
        async with session.post(VALIDATE, data=chunks(BODY), headers=JSON) as answer:
            assert (await answer.json())["response"]["allowed"] is True
        async with session.get("/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get("/readyz") as answer:
            assert answer.status == 200


async def chunks(body: bytes) -> Any:
    for start in range(0, len(body), 100):
        yield body[start : start + 100]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "says"),
    [
        ("POST", "/nothing-here", JSON, 404, "there is no webhook at /nothing-here"),
        ("GET", "/nothing-here", JSON, 404, "there is no webhook at /nothing-here"),
        ("GET", VALIDATE, JSON, 405, "GET is not allowed, use POST"),
        ("DELETE", "/readyz", JSON, 405, "DELETE is not allowed, use GET"),
        (
            "POST",
            VALIDATE,
            {"content-type": "text/yaml"},
            415,
            "content-type must be application/json, not 'text/yaml'",
        ),
        ("POST", VALIDATE, {"content-type": ""}, 415, "content-type must be application/json, not ''"),
        ("POST", VALIDATE, {**JSON, "content-encoding": "gzip"}, 415, "content-encoding must not be set, not 'gzip'"),
    ],
)
async def test_wrong_requests_are_refused(
    method: str, path: str, headers: dict[str, str], status: int, says: str
) -> None:
    async with (
        served(Webhooks(mykind_admission())) as (_, session),
        session.request(method, path, data=BODY, headers=headers, skip_auto_headers=["content-type"]) as answer,
    ):
        assert answer.status == status
        assert (await answer.json())["message"] == says


@pytest.mark.parametrize("path", [VALIDATE, "/convert"])
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_huge_body_is_refused_before_it_is_read(chunked: bool, path: str) -> None:
    webhooks = Webhooks(mykind_admission(), Renames())
    async with served(webhooks, limits=WebhookLimits(max_body=10_000)) as (_, session):
        huge = b"x" * 1_000_000
        for _ in range(3):
            try:
                async with session.post(path, data=chunks(huge) if chunked else huge, headers=JSON) as answer:
                    assert answer.status == 413
                    assert (await answer.json())["message"] == "the body is larger than 10000 bytes"
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                pass  # the connection was closed while the body was still being sent
        async with session.post(VALIDATE, data=BODY, headers=JSON) as answer:
            assert answer.status == 200


async def raw(server: WebhookServer, source: MemoryCertificates) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HOST, server.port, ssl=trusting(source.bundle))


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 5000 + b"\r\n",
        b"A" * 100_000,
        f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{".encode(),  # noqa: E501
    ],
)
async def test_garbage_on_the_wire_takes_nothing_down(sent: bytes) -> None:
    source = MemoryCertificates()
    async with served(Webhooks(mykind_admission()), source, limits=WebhookLimits(read_timeout=SHORT)) as (
        server,
        session,
    ):
        reader, writer = await raw(server, source)
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), DEADLINE)  # to the end: the server closes it
        assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 505")), answer
        writer.close()
        async with session.post(VALIDATE, data=BODY, headers=JSON) as good:
            assert good.status == 200


async def test_plain_http_on_the_tls_port_is_cut() -> None:
    async with served(Webhooks(mykind_admission())) as (server, session):
        reader, writer = await asyncio.open_connection(HOST, server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"200" not in await asyncio.wait_for(reader.read(), DEADLINE)
        writer.close()
        async with session.get("/healthz") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("message", [b"", b"POST /x HTT", b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-le"])
async def test_slow_clients_are_cut_off(message: bytes) -> None:
    source = MemoryCertificates()
    async with served(Webhooks(mykind_admission()), source, limits=WebhookLimits(read_timeout=SHORT)) as (server, _):
        reader, writer = await raw(server, source)
        writer.write(message)
        assert await asyncio.wait_for(reader.read(), DEADLINE) == b""
        writer.close()


async def test_a_slow_body_is_told_so_and_cut_off() -> None:
    source = MemoryCertificates()
    async with served(Webhooks(mykind_admission()), source, limits=WebhookLimits(read_timeout=SHORT)) as (server, _):
        reader, writer = await raw(server, source)
        head = f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"
        writer.write(head.encode() + b"{")
        answer = await asyncio.wait_for(reader.read(), DEADLINE)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"the body did not arrive within 0.5 s" in answer
        writer.close()


@pytest.mark.parametrize("chunked", [False, True])
async def test_the_bodies_of_all_requests_together_have_a_limit(chunked: bool) -> None:
    """Other requests are answered meanwhile, also large ones: later."""
    source = MemoryCertificates()
    size = 6_000_000
    async with (
        served(Webhooks(mykind_admission()), source, limits=WebhookLimits(read_timeout=DEADLINE)) as (server, session),
        AsyncExitStack() as stack,
    ):
        framing = "transfer-encoding: chunked" if chunked else f"content-length: {size}"
        head = f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{framing}\r\n\r\n"
        part = b"ffff\r\n" + b" " * 0xFFFF + b"\r\n" if chunked else b" " * 0xFFFF
        sending = []
        for _ in range(12):
            _, writer = await raw(server, source)
            stack.push_async_callback(leave, writer)
            writer.write(head.encode())
            sending.append(asyncio.create_task(sent_slowly(writer, part, 90)))
        while server._service.memory.used < LIMIT:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)
        for _ in range(3):
            async with session.post(VALIDATE, data=BODY, headers=JSON) as answer:
                assert answer.status == 200
            assert server._service.memory.used <= LIMIT + size + 13 * 2**17
        large = asyncio.create_task(posted(session, BODY + b" " * 5_000_000))
        for task in sending:
            task.cancel()
        await asyncio.wait(sending)
        await stack.aclose()  # the clients go, and the memory is free again
        assert await large == 200
        while server._service.memory.used:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)


async def leave(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def sent_slowly(writer: asyncio.StreamWriter, part: bytes, times: int) -> None:
    for _ in range(times):
        writer.write(part)
        await writer.drain()


async def posted(session: aiohttp.ClientSession, body: bytes) -> int:
    async with session.post(VALIDATE, data=io.BytesIO(body), headers=JSON) as answer:
        return answer.status


async def test_a_thousand_connections_that_say_nothing_keep_nobody_out() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2500:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2500), hard))
    writers: list[asyncio.StreamWriter] = []
    readers: list[asyncio.StreamReader] = []
    try:
        async with served(Webhooks(mykind_admission()), limits=WebhookLimits(read_timeout=1.0)) as (server, session):
            for _ in range(1000):
                reader, writer = await asyncio.open_connection(HOST, server.port)
                readers.append(reader)
                writers.append(writer)
            async with session.post(VALIDATE, data=BODY, headers=JSON) as answer:
                assert answer.status == 200
            for reader in readers:
                await asyncio.wait_for(reader.read(), DEADLINE)
            async with session.post(VALIDATE, data=BODY, headers=JSON) as answer:
                assert answer.status == 200
    finally:
        for writer in writers:
            writer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_stopping_fails_readiness_first_and_finishes_what_is_under_way() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def waits(_mykind: Mykind) -> None:
        entered.set()
        await leave.wait()

    webhooks = Webhooks(Admission(Mykind).validates(waits))
    async with served(webhooks, drain_delay=2.0) as (server, session):
        assert server.problem() == ""

        async def ask() -> Any:
            async with session.post(VALIDATE, data=BODY, headers=JSON) as answer:
                assert answer.headers["connection"] == "close"
                return await answer.json()

        asking = asyncio.create_task(ask())
        await entered.wait()
        server.stop()
        assert server.problem() == "the webhook server is stopping"
        async with session.get("/readyz") as answer:  # still answered, and by its words not ready
            assert (answer.status, await answer.text()) == (503, "the webhook server is stopping")
        async with asyncio.timeout(DEADLINE):
            while True:
                try:
                    _, writer = await asyncio.open_connection(HOST, server.port)
                except ConnectionError:
                    break
                writer.close()
                await asyncio.sleep(0.01)
        assert not asking.done()
        leave.set()
        assert (await asking)["response"]["allowed"] is True


async def test_what_takes_longer_than_the_grace_is_cut_off() -> None:
    entered = asyncio.Event()

    async def never(_mykind: Mykind) -> None:
        entered.set()
        await asyncio.Event().wait()

    async with served(Webhooks(Admission(Mykind).validates(never)), grace=0.1) as (server, session):

        async def ask() -> None:
            async with session.post(VALIDATE, data=BODY, headers=JSON):
                pass

        asking = asyncio.create_task(ask())
        await entered.wait()
        server.stop()
        with pytest.raises(aiohttp.ClientError):
            await asking


async def test_the_certificate_changes_without_dropping_a_connection() -> None:
    class Changing(MemoryCertificates):
        def renew(self) -> None:
            self._state = None
            self.check()

    source = Changing()
    old = source.bundle
    async with served(Webhooks(mykind_admission()), source) as (server, _):
        reader, writer = await raw(server, source)
        request = f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"  # noqa: E501
        for _ in range(2):
            writer.write(request.encode() + BODY)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["response"]["allowed"] is True
            source.renew()
        writer.close()
        assert source.bundle != old
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(HOST, server.port, ssl=trusting(old))
        _, writer = await asyncio.open_connection(HOST, server.port, ssl=trusting(source.bundle))
        writer.close()


async def test_an_address_that_is_taken_is_named() -> None:
    async with served(Webhooks(mykind_admission())) as (server, _):
        second = WebhookServer(Webhooks(mykind_admission()), MemoryCertificates(), host=HOST, port=server.port)
        with pytest.raises(OSError, match=f"the webhook server can't listen on {HOST}:{server.port}"):
            await second.run()


async def test_a_manager_has_webhooks_up_before_its_caches_and_until_its_end() -> None:
    source = MemoryCertificates()
    server = WebhookServer(Webhooks(mykind_admission()), source, host=HOST, port=0)
    up: list[bool] = []

    class Asking(InProcessTransport):
        def send(self, request: Any) -> Any:
            up.append(server.ready.is_set())
            return super().send(request)

    async def nothing(_mykind: Mykind, _ctx: Any) -> None: ...

    async with ApiServer() as api, Client(Asking(api.handle)) as client:
        await client.create(from_wire(CustomResourceDefinition, crd_for(Mykind)))
        up.clear()
        manager = Manager(client, controllers=[Controller(Mykind, nothing)])
        manager.add(server)
        async with manager:
            connector = aiohttp.TCPConnector(ssl=trusting(source.bundle))
            async with (
                aiohttp.ClientSession(f"https://{HOST}:{server.port}", connector=connector) as session,
                session.post(VALIDATE, data=BODY, headers=JSON) as answer,
            ):
                assert answer.status == 200
        assert up
        assert all(up)
        assert not server.ready.is_set()
