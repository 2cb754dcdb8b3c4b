"""HTTP/1.1 as it comes over one connection, and what becomes of connections between requests."""

from __future__ import annotations

import asyncio
import gzip
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programs import DEADLINE

from setpoint.client import (
    ApiError,
    Client,
    ClientConfig,
    HttpTransport,
    InProcessTransport,
    Request,
    RetryPolicy,
    StaticToken,
    TransportError,
)
from setpoint.client.dialer import Dialer
from setpoint.client.http_connection import Broken, Connection
from setpoint.serving.request_head import HttpRequest
from setpoint.testing import virtual_time

from .certificates import make, server_context
from .conftest import Answer, Server, Thing, answer, listening
from .scripted_servers import once, talking

OK = answer({"metadata": {"name": "a"}})


class Wire(asyncio.Transport):
    """Takes what is written, and no more."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def connected() -> Connection:
    connection = Connection(asyncio.get_running_loop())
    connection.connection_made(Wire())
    return connection


@given(
    body=st.binary(max_size=300),
    form=st.sampled_from(["length", "chunked", "to the end"]),
    interim=st.booleans(),
    cuts=st.lists(st.integers(0, 600), max_size=12),
)
def test_an_answer_is_the_same_however_it_is_cut(body: bytes, form: str, interim: bool, cuts: list[int]) -> None:
    head = b"HTTP/1.1 200 OK\r\nX-One: a\r\nWarning: b\r\nwarning: c\r\n"
    if form == "length":
        data = head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    elif form == "chunked":
        pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
        data = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    else:
        data = head + b"\r\n" + body
    if interim:
        data = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + data
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    async def main() -> None:
        connection = connected()
        for _ in range(1 if form == "to the end" else 2):  # and again on the same connection
            connection.send(b"GET / HTTP/1.1\r\n\r\n")
            for start, end in pairwise(edges):
                if start < end:
                    connection.data_received(data[start:end])
            if form == "to the end":
                connection.eof_received()
            await connection.head(None, None)
            assert connection.status == 200
            assert connection.headers["x-one"] == "a"
            assert connection.headers["warning"] == "b, c"
            assert "link" not in connection.headers
            assert await connection.rest(1 << 20, None, None) == body
            assert connection.complete
            assert connection.usable is (form != "to the end")

    asyncio.run(main())


async def test_an_answer_that_ends_together_with_its_connection_is_whole() -> None:
    """TLS brings the last chunk and close_notify in one turn of the loop, before a waiting reader has its own."""
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    assert await connection.chunk(None, None) == b"a"
    reading = asyncio.create_task(connection.chunk(None, None))
    await asyncio.sleep(0)
    connection.data_received(b"0\r\n\r\n")
    connection.eof_received()
    assert await reading == b""
    assert not connection.usable


@pytest.mark.parametrize(
    ("form", "size"), [(b"1\r\n%c\r\n", 1), (b"1;extension=of-a-chunk\r\n%c\r\n", 1), (b"fff\r\n%b\r\n", 4095)]
)
async def test_a_body_takes_the_memory_of_its_bytes_however_small_its_chunks_are(form: bytes, size: int) -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    chunk = form % (b"x" * size)
    count = 400_000 // size
    data = chunk * (len(chunk) and 8192 // len(chunk) + 1)
    tracemalloc.start()
    try:
        connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(count * len(chunk) // len(data) + 1):
            connection.data_received(data)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    connection.data_received(b"0\r\n\r\n")
    body = await connection.rest(1 << 20, None, None)
    assert body == b"x" * len(body)
    assert len(body) >= 400_000
    assert kept < 2 * len(body)


async def answered(connection: Connection) -> bytes:
    await connection.head(None, None)
    return await connection.rest(1 << 20, None, None)


HEAD = b"HTTP/1.1 200 OK\r\n"
TO_THE_END = HEAD + b"\r\n[1, 2"


@pytest.mark.parametrize(
    ("head", "piece", "why"),
    [
        (HEAD, b"x: y\r\n", "more than 1000 headers"),
        (HEAD + b"x: ", b"y" * 1000, "headers of more than 262144 bytes"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n", "more than 1000 headers"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "headers of more than 262144 bytes"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"x: yyyy\r\n" * 50, "trailers"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx:", b"y" * 500, "trailers"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1;", b"y" * 500, "chunk extensions"),
    ],
)
async def test_what_is_no_part_of_a_body_has_an_end(head: bytes, piece: bytes, why: str) -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    count = len(head)
    if head:
        connection.data_received(head)
    while not connection.ended:
        connection.data_received(piece)
        count += len(piece)
        assert count < 300_000
    connection.connection_lost(None)
    with pytest.raises(Broken, match=why) as caught:
        await answered(connection)
    assert caught.value.is_malformed


async def test_bodies_of_any_length_may_come_in_small_chunks() -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(30_000):
        connection.data_received(b"1;a=bcdefghijklmnop\r\n")
        connection.data_received(b"x\r\n")
    connection.data_received(b"0\r\n\r\n")
    assert await answered(connection) == b"x" * 30_000


@pytest.mark.parametrize("status", [b"000", b"001", b"099"])
async def test_a_status_that_is_none_is_no_success(status: bytes) -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(b"HTTP/1.1 %b OK\r\nContent-Length: 2\r\n\r\n{}" % status)
    with pytest.raises(Broken, match=f"the status {status.decode()}"):
        await connection.head(None, None)


@pytest.mark.parametrize("problem", [ConnectionResetError(104, "Connection reset by peer"), None])
async def test_a_body_without_a_length_is_whole_only_where_the_other_side_ended_it(problem: OSError | None) -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(TO_THE_END)
    connection.connection_lost(problem)
    with pytest.raises(Broken, match="Connection reset by peer" if problem else "the server reset it"):
        await answered(connection)
    assert not connection.complete


async def test_who_speaks_without_being_asked_is_hung_up_on() -> None:
    fresh = connected()
    fresh.data_received(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
    assert not fresh.usable
    more = connected()
    more.send(b"GET / HTTP/1.1\r\n\r\n")
    more.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb")
    assert await more.rest(10, None, None) == b"a"
    assert not more.usable


async def test_an_answer_to_head_has_no_body_whatever_it_says() -> None:
    connection = connected()
    connection.send(b"HEAD / HTTP/1.1\r\n\r\n", bare_head=True)
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
    assert await connection.rest(10, None, None) == b""
    assert not connection.usable


async def test_a_switch_to_another_protocol_is_refused() -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0")
    with pytest.raises(Broken):
        await connection.head(None, None)


# -- over sockets -----------------------------------------------------------------------------------------------------


async def asked(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().splitlines():
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))
    return head


FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def test_a_connection_serves_many_requests_and_one_whose_answer_was_not_read_none() -> None:
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await asked(reader):
            writer.write(FINE)

    async with talking(talk) as url, once(url) as client:
        for _ in range(5):
            await client.request("GET", "/x")
            await client.request("POST", "/x", body=b"{}" * 50_000)
        assert connections == 1
        await asyncio.gather(*(client.request("GET", "/x") for _ in range(3)))
        assert connections == 3
    connections = 0

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await asked(reader):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")

    async with talking(half) as url, once(url) as client:
        for _ in range(3):
            async with client.stream("GET", "/x") as response:
                assert response.status == 200
        assert connections == 3


@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_a_kept_connection_that_the_server_ends_costs_a_read_nothing_and_a_write_is_never_sent_twice(
    method: str,
) -> None:
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request and hangs up on the second, as if its idle time had just run out."""
        seen.append(await asked(reader))
        writer.write(FINE)
        seen.append(await asked(reader))

    async with talking(talk) as url, once(url) as client:
        await client.request(method, "/x", body=None if method == "GET" else b"{}")
        if method == "GET":
            assert await client.request("GET", "/x") == b"{}"
            assert len(seen) == 3
        else:
            with pytest.raises(TransportError, match=r"connection to .* broke") as caught:
                await client.request("PATCH", "/x", body=b"{}")
            assert caught.value.sent
            assert len(seen) == 2


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("then", ["waits", "hangs up"])
async def test_an_answer_that_comes_before_a_big_body_is_sent_is_told_and_its_connection_not_kept(
    then: str, tls: bool, tmp_path: Path
) -> None:
    ca = make("ca")
    heads: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if b"POST" not in heads[-1]:
            writer.write(FINE)
            return
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        if then == "waits":
            await asyncio.Event().wait()

    context = server_context(make("server", ca), tmp_path) if tls else None
    async with talking(talk, context) as url, once(url, ca_data=ca.cert_pem if tls else b"") as client:
        with pytest.raises(ApiError) as caught:
            await client.request("POST", "/x", body=b"x" * (64 << 20))
        assert caught.value.code == 413
        assert await client.request("GET", "/x", timeout=DEADLINE) == b"{}"
        assert len(heads) == 2


async def test_trailers_say_nothing_and_are_not_kept() -> None:
    connection = connected()
    connection.send(b"GET / HTTP/1.1\r\n\r\n")
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;ext=1\r\na\r\n0\r\n")
    await connection.head(None, None)
    message = dict(connection.headers)
    for number in range(100):
        connection.data_received(b"Content-Encoding: gzip\r\nX-%d: y\r\n" % number)
    connection.data_received(b"\r\n")
    assert connection.headers == message
    assert await connection.rest(10, None, None) == b"a"
    assert connection.usable


async def test_closing_ends_also_what_began_before_the_certificates_changed_twice(tmp_path: Path) -> None:
    ca, slow = make("ca"), asyncio.Event()
    asked_for = asyncio.Event()

    class Dialing(Dialer):
        async def dial(self, on_lost: Callable[[Connection], None]) -> Connection:
            await slow.wait()
            return await super().dial(on_lost)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked_for.set()
        await asyncio.Event().wait()

    async with talking(talk, server_context(make("server", ca), tmp_path)) as url:
        config = ClientConfig(server=url, ca_data=ca.cert_pem)
        transport = HttpTransport(config)
        pool = await transport._current()
        pool.dialer = Dialing(config, pool.dialer.context)
        async with Client(transport, retry=RetryPolicy(attempts=0)) as client:
            request = asyncio.ensure_future(client.request("GET", "/x", timeout=None))
            await asyncio.sleep(0)
            for _ in range(2):
                await asyncio.sleep(0)
                transport._retire()
                await transport._current()
            slow.set()
            await asked_for.wait()
        async with asyncio.timeout(DEADLINE):
            with pytest.raises(TransportError, match="the transport is closed"):
                await request


async def test_connections_that_nobody_needs_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.client.connection_pool.KEEP_ALIVE", 0.02)
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await asked(reader):
                writer.write(FINE)
        finally:
            ended.set()

    async with talking(talk) as url, once(url) as client:
        await client.request("GET", "/x")
        async with asyncio.timeout(DEADLINE):
            await ended.wait()
        assert await client.request("GET", "/x") == b"{}"


@pytest.mark.parametrize("value", ["a\r\nx-other: b", "a\nb", "a\rb", "a\0b"])
async def test_a_header_that_would_begin_another_is_not_sent(value: str) -> None:
    async with listening(Server(lambda request: OK)) as url, once(url) as client:
        with pytest.raises(TransportError, match="line break or a zero byte") as caught:
            await client.request("GET", "/x", headers={"x-mine": value})
        assert not caught.value.sent
        assert "a" in (await client.get(Thing, "a")).name


async def test_what_is_compressed_is_unpacked_and_never_beyond_the_limit() -> None:
    text = b'{"metadata":{"name":"' + b"a" * 3_000_000 + b'"}}'

    def packed(data: bytes) -> Answer:
        return Answer(200, {"content-encoding": "gzip"}, data)

    async with (
        listening(Server(lambda request: packed(gzip.compress(text[:100]) + gzip.compress(text[100:])))) as url,
        once(url) as client,
    ):
        assert await client.request("GET", "/x") == text
        async with client.stream("GET", "/x") as response:
            assert b"".join([chunk async for chunk in response.chunks()]) == text
        async with client.stream("GET", "/x") as response:
            with pytest.raises(TransportError, match="longer than 1000000 bytes"):
                await response.read(1_000_000)
    deflated = Answer(200, {"content-encoding": "deflate"}, zlib.compress(text))
    async with listening(Server(lambda request: deflated)) as url, once(url) as client:
        with pytest.raises(TransportError, match="encoding 'deflate', which was not requested"):
            await client.request("GET", "/x")


async def test_user_information_in_the_servers_url_is_basic_authentication_where_there_is_no_other() -> None:
    server = Server(lambda request: OK)
    async with listening(server) as url:
        with_user = url.replace("//", "//me:p%40w@")
        async with once(with_user) as client:
            await client.get(Thing, "a")
        config = ClientConfig(server=with_user, credentials=StaticToken("t"))
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")
    assert [request.headers["authorization"] for request in server.requests] == ["Basic bWU6cEB3", "Bearer t"]
    assert "@" not in server.requests[0].headers["host"]


async def test_a_proxy_of_an_http_server_gets_the_whole_url_and_its_own_credentials() -> None:
    heads: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await asked(reader):
            heads.append(head)
            writer.write(FINE)

    async with talking(talk) as proxy:
        config = ClientConfig(server="http://192.0.2.1:8080/a%20b/%C3%BC/", proxy_url=proxy.replace("//", "//me:pw@"))
        async with Client.from_config(config) as client:
            await client.request("GET", "/x", query=(("a", "b c"),))
    (head,) = heads
    assert head.startswith(b"GET http://192.0.2.1:8080/a%20b/%C3%BC/x?a=b+c HTTP/1.1\r\n")
    assert b"\r\nhost: 192.0.2.1:8080\r\n" in head
    assert head.count(b"Proxy-Authorization: Basic bWU6cHc=") == 1


async def test_a_proxy_may_itself_be_reached_over_tls(tmp_path: Path) -> None:
    ca = make("ca")
    connects: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        connects.append(head)
        host, port = head.split()[1].decode().split(":")
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    server = Server(lambda request: OK)
    async with (
        listening(server, ssl_context=server_context(make("server", ca), tmp_path / "s")) as url,
        talking(talk, server_context(make("proxy", ca), tmp_path / "p")) as proxy,
    ):
        config = ClientConfig(server=url, ca_data=ca.cert_pem, proxy_url=proxy, credentials=StaticToken("secret"))
        async with Client.from_config(config) as client:
            assert (await client.get(Thing, "a")).name == "a"
            assert (await client.get(Thing, "a")).name == "a"
    assert len(connects) == 1
    assert b"secret" not in connects[0]
    assert server.requests[0].headers["authorization"] == "Bearer secret"


async def test_gzip_in_thousands_of_parts_is_unpacked_in_time_or_refused() -> None:
    parts = gzip.compress(b"x") * 20_000
    empty = gzip.compress(b"") * 20_000
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def given(request: object) -> Answer:
        return Answer(200, {"Content-Encoding": "gzip"}, empty if "empty" in str(request) else parts)

    async with listening(Server(given)) as url, Client.from_config(ClientConfig(server=url)) as client:
        task = asyncio.create_task(others())
        assert await client.request("GET", "/full") == b"x" * 20_000
        task.cancel()
        assert turns > len(parts) >> 17
        with pytest.raises(TransportError, match="its gzip has too many empty members"):
            await client.request("GET", "/empty")


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPCNT"), reason="the system has no such options")
async def test_a_connection_into_nowhere_is_noticed_by_the_system_after_a_minute() -> None:
    async with listening(Server(lambda request: OK)) as url:
        connection = await Dialer(ClientConfig(server=url), None).dial(lambda connection: None)
        raw = connection.transport.get_extra_info("socket")
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle, every, times = (
            raw.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
        )
        assert idle + every * times == 60
        connection.abort()
        await connection.disconnected


@virtual_time
async def test_how_long_a_stream_may_be_silent_can_be_changed_while_it_is_read() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"
        await asyncio.Event().wait()

    class Given(NamedTuple):
        status: int
        headers: dict[str, str]
        body: AsyncIterator[bytes]

    async def handle(request: Request) -> Given:
        return Given(200, {}, body())

    transport, loop = InProcessTransport(handle), asyncio.get_running_loop()
    async with transport.send(Request("GET", "/x", timeout=None, idle_timeout=300)) as response:
        assert response.idle_timeout == 300
        chunks = response.chunks()
        assert await anext(chunks) == b"a"
        response.idle_timeout = 10
        assert await anext(chunks) == b"b"
        before = loop.time()
        with pytest.raises(TransportError, match="sent nothing for 10 s"):
            await anext(chunks)
        assert loop.time() - before == 10


async def test_how_long_a_stream_may_be_silent_can_be_changed_over_http() -> None:
    held = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"a"
        await held.wait()

    async with (
        listening(Server(lambda request: Answer(body=body()))) as url,
        Client.from_config(ClientConfig(server=url)) as client,
        client.stream("GET", "/x", idle_timeout=300) as response,
    ):
        chunks = response.chunks()
        assert await anext(chunks) == b"a"
        response.idle_timeout = 0.01
        try:
            with pytest.raises(TransportError, match=r"sent nothing for 0\.01 s"):
                await anext(chunks)
        finally:
            held.set()


def test_what_is_shown_of_a_request_holds_no_secrets() -> None:
    request = Request(
        "POST",
        "/api/v1/namespaces/default/secrets",
        (("command", "hunter2"), ("dryRun", "All")),
        {"authorization": "Bearer hunter2"},
        b'{"data":{"password":"hunter2"}}',
    )
    assert repr(request) == "Request(POST /api/v1/namespaces/default/secrets?command&dryRun, 31 bytes)"
    assert "hunter2" not in str([request])
    assert repr(Request("GET", "/livez")) == "Request(GET /livez)"
    assert repr(HttpRequest("POST", "/x", {"authorization": "Bearer hunter2"})) == "HttpRequest(POST /x)"
