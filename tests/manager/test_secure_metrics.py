"""Secure metrics: TLS, and only users whom the API server allows."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.client.certificates import Pair, make, tolerant
from tests.tasks import stop

from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, Request, Response, Transport, TransportError
from setpoint.manager import Manager, Serving
from setpoint.manager.authorization import ALLOWED_FOR, MAX_REMEMBERED, REFUSED_FOR, TokenAccess
from setpoint.manager.http_server import LOOK_EVERY, HttpServer
from setpoint.testing import advance, virtual_time

pytestmark = pytest.mark.wall_clock


class Answered(Response):
    def __init__(self, body: bytes) -> None:
        self.status, self.headers, self.body = 201, {"content-type": "application/json"}, body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body


class Judge:
    """A transport whose server knows some tokens and lets the user ``scraper`` in."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.asked: list[dict[str, Any]] = []
        self.users = {"good": "scraper", "other": "visitor"}
        self.allows: Callable[[Mapping[str, Any]], bool] = lambda spec: bool(spec["user"] == "scraper")
        self.before: Callable[[], None] = lambda: None

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        if not request.path.endswith("reviews"):
            async with self.inner.send(request) as response:
                yield response
            return
        self.before()
        document = json.loads(request.body or b"")
        self.asked.append(document["spec"])
        if request.path.endswith("tokenreviews"):
            user = self.users.get(document["spec"]["token"])
            status: dict[str, Any] = {"authenticated": user is not None, "user": {"username": user, "groups": ["g"]}}
            document["status"] = status if user else {"authenticated": False}
        else:
            document["status"] = {"allowed": self.allows(document["spec"])}
        yield Answered(json.dumps(document).encode())

    async def close(self) -> None:
        await self.inner.close()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def judged() -> AsyncIterator[tuple[TokenAccess, Judge]]:
    async with ApiServer() as server:
        judge = Judge(InProcessTransport(server.handle))
        yield TokenAccess(Client(judge)), judge


@virtual_time
async def test_only_known_tokens_of_users_who_may_read_the_path_get_in() -> None:
    async with judged() as (access, judge):
        assert await access.check("/metrics", bearer("good")) is None
        assert judge.asked == [
            {"token": "good"},
            {"groups": ["g"], "nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "scraper"},
        ]
        for headers, status in (
            ({}, 401),
            ({"authorization": "Basic Z29vZA=="}, 401),
            ({"authorization": "Bearer "}, 401),
            (bearer("unknown"), 401),
            (bearer("other"), 403),
        ):
            refusal = await access.check("/metrics", headers)
            assert refusal is not None
            assert refusal.status == status


@virtual_time
async def test_answers_are_remembered_for_a_while_and_not_many() -> None:
    async with judged() as (access, judge):
        assert await access.check("/metrics", bearer("good")) is None
        assert await access.check("/metrics", bearer("unknown")) is not None
        count = len(judge.asked)
        judge.users = {"unknown": "scraper"}
        assert await access.check("/metrics", bearer("good")) is None
        assert await access.check("/metrics", bearer("unknown")) is not None
        assert len(judge.asked) == count
        await asyncio.sleep(REFUSED_FOR)
        assert await access.check("/metrics", bearer("unknown")) is None
        await asyncio.sleep(ALLOWED_FOR - REFUSED_FOR)
        assert await access.check("/metrics", bearer("good")) is not None
        for number in range(MAX_REMEMBERED + 10):
            await access.check("/metrics", bearer(str(number)))
        assert len(access._remembered) == MAX_REMEMBERED


@virtual_time
async def test_nobody_gets_in_while_the_server_can_not_be_asked() -> None:
    def lost() -> None:
        raise TransportError("no route", sent=False)

    async with judged() as (access, judge):
        judge.before = lost
        refusal = await access.check("/metrics", bearer("good"))
        assert refusal is not None
        assert (refusal.status, refusal.body) == (500, b"the request to the API server failed: no route\n")
        judge.before = lambda: None
        assert await access.check("/metrics", bearer("good")) is None


async def test_metrics_over_tls_with_a_token(tmp_path: Path) -> None:
    authority = make("authority")
    cert, key = make("metrics", authority).write(tmp_path, "tls")
    assert (cert.name, key.name) == ("tls.crt", "tls.key")
    trust = tolerant(ssl.create_default_context(cadata=authority.cert_pem.decode()))
    async with ApiServer() as server, aiohttp.ClientSession() as session:
        client = Client(Judge(InProcessTransport(server.handle)))
        manager = Manager(client, serving=Serving(metrics_bind_address="127.0.0.1:0", metrics_cert_dir=tmp_path))
        async with manager:
            assert manager.metrics_server is not None
            url = f"https://127.0.0.1:{manager.metrics_server.port}/metrics"
            async with session.get(url, ssl=trust, headers=bearer("good")) as answer:
                assert answer.status == 200
                assert "process_cpu_seconds_total" in await answer.text()
            async with session.get(url, ssl=trust) as answer:
                assert answer.status == 401


async def test_certificates_that_can_not_be_used_fail_the_start_and_are_named(tmp_path: Path) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        with pytest.raises(ValueError, match="metrics_cert_dir is for the server of the metrics"):
            Serving(metrics_cert_dir=tmp_path)
        manager = Manager(client, serving=Serving(metrics_bind_address="127.0.0.1:0", metrics_cert_dir=tmp_path))
        with pytest.raises(OSError, match=r"the metrics server can't use tls\.crt and tls\.key in"):
            await manager.run()


def shown(context: ssl.SSLContext, authority: Pair) -> bytes:
    """The certificate that a client is shown, over no wire."""
    trust = tolerant(ssl.create_default_context(cadata=authority.cert_pem.decode()))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return client.getpeercert(binary_form=True) or b""


@virtual_time
async def test_new_certificates_are_taken_up_and_damaged_ones_are_not(tmp_path: Path) -> None:
    authority = make("authority")
    first, second = make("first", authority), make("second", authority)
    first.write(tmp_path, "tls")
    server = HttpServer("127.0.0.1:0", name="metrics", cert_dir=tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    seen = server._load(context, tmp_path)
    following = asyncio.create_task(server._follow(context, tmp_path, seen))
    expected = [ssl.PEM_cert_to_DER_cert(pair.cert_pem.decode()) for pair in (first, second)]
    assert shown(context, authority) == expected[0]
    (tmp_path / "tls.crt").write_bytes(second.cert_pem)  # the key is still that of the first
    await advance(LOOK_EVERY)
    assert shown(context, authority) == expected[0]
    (tmp_path / "tls.key").unlink()
    await advance(LOOK_EVERY)
    assert shown(context, authority) == expected[0]
    second.write(tmp_path, "tls")
    await advance(LOOK_EVERY)
    assert shown(context, authority) == expected[1]
    await stop(following)
