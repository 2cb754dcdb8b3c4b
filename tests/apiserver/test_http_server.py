"""The HTTP front: streams, disconnects, ends, and ports that are taken."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from tests.apiserver.harness import config_map
from tests.programs import DEADLINE
from yarl import URL

from setpoint.apiserver import ApiServer, HttpFront, OpenAddressError, PortTakenError
from setpoint.apiserver.http.allowed_hosts import refusal
from setpoint.apiserver.http.connection import Connections
from setpoint.apiserver.http_types import HungUp, Request, Response
from setpoint.serving import connection_limit
from setpoint.serving.body_memory import BodyMemory
from setpoint.serving.connection_limit import ConnectionLimit
from setpoint.webhook import MemoryCertificates
from setpoint.webhook.server_tls import ServerTls

MAPS = "/api/v1/namespaces/default/configmaps"


def _tls() -> ssl.SSLContext:
    source = MemoryCertificates()
    tls = ServerTls()
    assert source.current is not None
    tls.use(source.current)
    return tls.context


def raw_session(front: HttpFront) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(front.url, auto_decompress=False)


async def until(condition: Any) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)


async def test_objects_go_in_and_out() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        async with client.post(MAPS, json=config_map(data={"a": "b"})) as answer:
            assert answer.status == 201
            assert answer.content_type == "application/json"
        async with client.get(f"{MAPS}/web") as answer:
            assert (await answer.json())["data"] == {"a": "b"}
        async with client.get("/apis/none") as answer:
            assert answer.status == 404
            assert await answer.text() == "404 page not found\n"
        async with client.get("/version") as answer:
            assert (await answer.json())["gitVersion"] == "v1.37.0+setpoint"
        for path in ("/healthz", "/readyz", "/livez", "/livez/ping"):
            async with client.get(path) as answer:
                assert (answer.status, await answer.text()) == (200, "ok")
        async with client.get("/readyz?verbose") as answer:
            assert (await answer.text()).endswith("readyz check passed\n")
        async with client.get("/readyz/ping?verbose") as answer:
            assert await answer.text() == "ok"
        async with client.get("/livez?verbose&exclude=etcd&exclude=b&exclude=a") as answer:
            listed = await answer.text()
        assert "[+]etcd excluded: ok\n" in listed
        warning = 'warn: some health checks cannot be excluded: no matches for "a","b"\n'
        assert listed.endswith(f"{warning}livez check passed\n")


async def test_selectors_survive_percent_encoding() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        await client.post(MAPS, json=config_map(metadata={"labels": {"a": "b"}}))
        async with client.get(MAPS, params={"labelSelector": "a in (b,c),!d", "limit": "5"}) as answer:
            assert len((await answer.json())["items"]) == 1


async def test_a_parameter_with_a_semicolon_is_dropped() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        await client.post(MAPS, json=config_map())
        url = URL(f"{front.url}{MAPS}?labelSelector=a=b;&limit=5", encoded=True)
        async with client.get(url) as answer:
            assert len((await answer.json())["items"]) == 1


async def test_watches_of_http_1_0_end_with_the_connection() -> None:
    async with ApiServer() as server, HttpFront(server) as front, asyncio.TaskGroup() as group:
        answer = group.create_task(exchanged(front, f"GET {MAPS}?watch=1 HTTP/1.0\r\n\r\n".encode()))
        await until(lambda: server.watches)
        server.end_watches()
        head, body = await answer
    assert head.startswith(b"HTTP/1.0 200 ")
    assert body == b""


async def test_watches_stream_and_end_with_their_client() -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        async with client.get(MAPS, params={"watch": "1"}) as stream:
            await client.post(MAPS, json=config_map())
            assert json.loads(await stream.content.readline())["type"] == "ADDED"
            assert len(server.watches) == 1
            stream.close()
        await until(lambda: not server.watches)


async def test_a_front_that_closes_ends_its_watches_in_an_orderly_way() -> None:
    async with ApiServer() as server, aiohttp.ClientSession() as client:
        async with HttpFront(server) as front:
            stream = await client.get(front.url + MAPS, params={"watch": "1"})
            await until(lambda: server.watches)
        assert await stream.content.read() == b""  # the last chunk came: no broken connection
        assert not server.watches


async def test_a_taken_port_is_named() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        with pytest.raises(PortTakenError, match=f"port {front.port} of 127.0.0.1 is in use"):
            async with HttpFront(server, port=front.port):
                pass


async def test_bodies_that_are_too_long_are_refused_with_and_without_length() -> None:
    big = b'{"data":"' + b"x" * (4 << 20) + b'"}'

    async def chunks() -> Any:
        for start in range(0, len(big), 1 << 16):
            yield big[start : start + (1 << 16)]

    async with ApiServer() as server, HttpFront(server) as front:
        for body in (io.BytesIO(big), chunks()):
            async with aiohttp.ClientSession(front.url) as client:
                try:
                    async with client.post(MAPS, data=body, headers={"content-type": "application/json"}) as answer:
                        assert answer.status == 413
                        assert (await answer.json())["reason"] == "RequestEntityTooLarge"
                except aiohttp.ClientConnectionError:
                    pass  # answered and hung up before all of it was sent


async def test_long_lists_are_compressed_for_those_who_ask() -> None:
    async with ApiServer() as server, HttpFront(server) as front, raw_session(front) as client:
        for index in range(5):
            await client.post(MAPS, json=config_map(f"m{index}", data={"a": "x" * 50_000}))
        async with client.get(MAPS, headers={"accept-encoding": "gzip"}) as answer:
            assert answer.headers["content-encoding"] == "gzip"
            assert len(json.loads(gzip.decompress(await answer.read()))["items"]) == 5
        async with client.get(MAPS, headers={"accept-encoding": "identity"}) as answer:
            assert "content-encoding" not in answer.headers
            assert len((await answer.json())["items"]) == 5


async def test_the_kubeconfig_leads_here() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        document = front.kubeconfig("dev")
    assert document["clusters"] == [{"name": "dev", "cluster": {"server": front.url}}]
    assert document["current-context"] == "dev"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Host": "localhost:6443"}, 201),
        ({"Host": "[::1]:6443"}, 201),
        ({"Host": "dev.localhost"}, 201),
        ({"Host": "rebound.example.com"}, 403),
        ({"Host": "127.0.0.1.example.com:6443"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:1", "Host": "localhost:6443"}, 403),
        ({"Origin": "http://localhost:6443", "Host": "localhost:6443"}, 201),
    ],
)
async def test_web_pages_have_no_business_with_a_server_on_loopback(headers: dict[str, str], status: int) -> None:
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        body = json.dumps(config_map()).encode()
        async with client.post(MAPS, data=body, headers=headers, skip_auto_headers=["Content-Type"]) as answer:
            assert answer.status == status
            if status == 403:
                assert (await answer.json())["reason"] == "Forbidden"
        async with client.get(MAPS) as answer:
            assert len((await answer.json())["items"]) == (status == 201)


def test_a_server_for_others_answers_by_any_name_and_still_no_web_page() -> None:
    assert refusal("0.0.0.0", "cluster.example.com", None) == ""
    assert "web pages" in refusal("0.0.0.0", "cluster.example.com", "https://example.com")
    assert "web pages" in refusal("0.0.0.0", "cluster.example.com", "https://cluster.example.com")
    assert "web pages" in refusal("127.0.0.1", "", "https://example.com")
    assert "web pages" in refusal("127.0.0.1", "localhost", "https://[")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "cluster.example.com"])
def test_where_nobody_is_authenticated_nobody_else_gets_in(host: str) -> None:
    for tls in (None, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)):
        with pytest.raises(OpenAddressError, match="authenticates no client, so it can't listen on"):
            HttpFront(ApiServer(), host, tls=tls)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    HttpFront(ApiServer(), host, tls=context)


async def exchanged(front: HttpFront, data: bytes) -> tuple[bytes, bytes]:
    """Head and body of the answer to these bytes, once the server has closed the connection."""
    reader, writer = await asyncio.open_connection(front.host, front.port)
    writer.write(data)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET /api/v1/pods?x=" + b"y" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(1000)) + b"\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1_0\r\n\r\n", 400),
        (b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" % MAPS.encode(), 400),
        (b"\x16\x03\x01\x00\xa5", 400),
        (b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET http://[x/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
    ],
    ids=range(11),
)
async def test_what_is_not_http_gets_a_status_and_no_line_in_the_log(
    data: bytes, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with ApiServer() as server, HttpFront(server, grace=0.1) as front:
        head, body = await exchanged(front, data)
    status = json.loads(body)
    assert head.split()[1] == b"%d" % code
    assert (status["kind"], status["code"]) == ("Status", code)
    assert "b'" not in status["message"]
    assert not caplog.records


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (b"http://localhost/api/v1?x=y", 200),
        (b"HTTP://127.0.0.1:80/api/v1", 200),
        (b"http://localhost?x=/y", 200),
        (b"http://example.com/api/v1", 403),
    ],
)
async def test_the_host_of_a_target_has_precedence_over_the_header(target: bytes, code: int) -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        head, _ = await exchanged(front, b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target)
    assert head.split()[1] == b"%d" % code


async def test_idle_connections_make_room_for_new_ones() -> None:
    async with ApiServer() as server, contextlib.AsyncExitStack() as stack:
        front = HttpFront(server)
        await stack.enter_async_context(front)
        assert front._connections is not None
        front._connections.limit = ConnectionLimit(3)
        idle = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection(front.host, front.port)
            stack.push_async_callback(closed, writer)
            writer.write(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            idle.append(reader)
        head, _ = await exchanged(front, long_head(0) + b"\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionResetError):
                await idle[0].read()  # it ended


async def test_urls_of_a_hundred_kilobytes_are_read() -> None:
    labels = ",".join(f"x{n}!=y" for n in range(10_000))
    async with ApiServer() as server, HttpFront(server) as front:
        target = f"{MAPS}?labelSelector={quote(labels)[:100_000].rpartition('%2C')[0]}".encode()
        head, body = await exchanged(front, b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert json.loads(body)["items"] == []


def long_head(fields: int) -> bytes:
    return b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + b"".join(
        b"X-%d: %b\r\n" % (number, b"x" * 60_000) for number in range(fields)
    )


async def test_a_head_of_more_than_a_mebibyte_is_refused() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        with contextlib.suppress(ConnectionResetError):
            head, _ = await exchanged(front, long_head(100))
            assert head.startswith(b"HTTP/1.1 431 ")
        head, _ = await exchanged(front, long_head(10) + b"\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert front._memory.used == 0


async def test_the_heads_of_all_requests_together_have_a_limit() -> None:
    async with ApiServer() as server, contextlib.AsyncExitStack() as stack:
        front = HttpFront(server)
        front._memory = BodyMemory(2_000_000)
        await stack.enter_async_context(front)
        for _ in range(6):
            _, writer = await asyncio.open_connection(front.host, front.port)
            stack.push_async_callback(closed, writer)
            writer.write(long_head(12))
        await until(lambda: front._memory.used >= 2_000_000)
        head, _ = await exchanged(front, long_head(0) + b"\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert front._memory.used < 2_000_000 + (1 << 20) + 6 * 2**18


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize("data", [b"", b"GET ", b"GET / HTTP/1.1\r\nHost: loc"])
async def test_a_head_that_never_comes_ends_the_connection(data: bytes) -> None:
    async with ApiServer() as server, HttpFront(server, head_timeout=0.01) as front:
        with contextlib.suppress(ConnectionResetError):  # on a busy machine the data comes after the end
            assert await exchanged(front, data) == (b"", b"")


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"])
async def test_a_handshake_that_never_ends_ends_the_connection(data: bytes) -> None:
    async with ApiServer() as server, HttpFront(server, tls=_tls(), head_timeout=0.01) as front:
        with contextlib.suppress(ConnectionResetError):
            assert await exchanged(front, data) == (b"", b"")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
async def test_silent_connections_keep_no_client_out(tls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limit, "_MOST", 20)
    async with (
        ApiServer() as server,
        HttpFront(server, tls=_tls() if tls else None, head_timeout=DEADLINE) as front,
        contextlib.AsyncExitStack() as stack,
    ):
        for _ in range(100):
            _, writer = await asyncio.open_connection(front.host, front.port)
            stack.callback(writer.close)
        async with aiohttp.ClientSession(front.url) as session:
            for _ in range(3):
                async with session.get("/version", ssl=False) as answer:
                    assert answer.status == 200


async def test_the_bodies_of_all_requests_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        ApiServer() as server,
        HttpFront(server) as front,
        aiohttp.ClientSession(front.url) as session,
        contextlib.AsyncExitStack() as stack,
    ):
        front._memory = BodyMemory(4_000_000)
        for _ in range(4):
            _, writer = await asyncio.open_connection(front.host, front.port)
            stack.callback(writer.close)
            head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" % MAPS.encode()
            writer.write(head + b" " * 2_900_000)
        await until(lambda: front._memory.used >= 4_000_000)
        for size, name in ((10, "small"), (2_500_000, "large")):
            sending = asyncio.create_task(posted(session, name, size))
            if name == "small":
                assert await sending == 201
        assert front._memory.used < 4_000_000 + 3_000_000 + 5 * 2**18
        await stack.aclose()
        assert await sending == 201
        await until(lambda: front._memory.used == 0)


async def posted(session: aiohttp.ClientSession, name: str, size: int) -> int:
    body = json.dumps(config_map(name)).encode() + b" " * size
    async with session.post(MAPS, data=io.BytesIO(body), headers={"content-type": "application/json"}) as answer:
        return answer.status


@pytest.mark.parametrize("framing", [b"Content-Length: 5", b"Transfer-Encoding: chunked"])
async def test_a_body_that_never_comes_is_waited_for_only_so_long(framing: bytes) -> None:
    async with ApiServer() as server, HttpFront(server, body_timeout=0.01, grace=0.1) as front:
        data = b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (MAPS.encode(), framing)
        head, body = await exchanged(front, data)
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["message"] == "the body of the request did not arrive in 0.01 s"


async def test_compressed_bodies_are_refused_unread() -> None:
    bomb = gzip.compress(b"x" * (10 << 20))
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        for encoding in ("gzip", "deflate", "br", "x"):
            headers = {"content-encoding": encoding, "content-type": "application/json"}
            async with client.post(MAPS, data=bomb, headers=headers) as answer:
                assert answer.status == 415
                assert (await answer.json())["reason"] == "UnsupportedMediaType"


async def test_connect_and_options_of_the_server_itself_are_not_found() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        for line in (b"CONNECT example.com:443", b"OPTIONS *"):
            head, _ = await exchanged(front, line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 404 ")


async def test_every_impersonated_group_and_extra_value_counts() -> None:
    review = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    headers = [
        ("Content-Type", "application/json"),
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a, b"),
        ("Impersonate-Group", "c"),
        ("Impersonate-Extra-example.com%2fReason", "x"),
        ("Impersonate-Extra-example.com%2fReason", "y"),
        ("Impersonate-Extra-Scopes", "z"),
    ]
    async with ApiServer() as server, HttpFront(server) as front, aiohttp.ClientSession(front.url) as client:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with client.post(path, data=review, headers=CIMultiDict(headers)) as answer:
            user = (await answer.json())["status"]["userInfo"]
    assert user == {
        "username": "ann",
        "uid": "7",
        "groups": ["a, b", "c", "system:authenticated"],
        "extra": {"example.com/reason": ["x", "y"], "scopes": ["z"]},
    }


async def test_a_user_whose_name_is_not_unicode_is_refused() -> None:
    async with ApiServer() as server, HttpFront(server) as front:
        data = (
            b"GET %s HTTP/1.1\r\nHost: localhost\r\nImpersonate-User: \xff\r\nConnection: close\r\n\r\n" % MAPS.encode()
        )
        head, body = await exchanged(front, data)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["message"] == "the request's path, query or headers are not valid UTF-8"


async def test_a_client_that_goes_while_it_is_answered_is_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()  # as the loop does on the client's FIN, before the protocol is told
        response = web.Response(text="too late")
        await response.prepare(request)
        await response.write_eof()
        return response

    connections = Connections(answer, head_timeout=DEADLINE)
    server = await asyncio.get_running_loop().create_server(connections, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(DEADLINE):
            assert await reader.read() == b""
        writer.close()
        await connections.shutdown()
    assert not caplog.records


class Breaking:
    """A server that gives no answer, or not all of one."""

    def drain(self) -> None: ...

    async def handle(self, request: Request) -> Response:
        if request.path == "/begun":
            return Response(200, {}, self._lines())
        raise HungUp("as networks do")

    async def _lines(self) -> AsyncIterator[bytes]:
        yield b"begun\n"
        raise HungUp("as networks do")


@pytest.mark.parametrize("path", ["/", "/begun"])
async def test_a_server_can_break_a_connection_instead_of_answering(path: str) -> None:
    async with HttpFront(Breaking()) as front:
        reader, writer = await asyncio.open_connection(front.host, front.port)
        writer.write(f"GET {path} HTTP/1.1\r\nhost: {front.host}\r\n\r\n".encode())
        got = b""
        with suppress(ConnectionResetError):
            while chunk := await reader.read(1000):
                got += chunk
        writer.close()
        assert not got or (path == "/begun" and b"\r\n0\r\n" not in got)
