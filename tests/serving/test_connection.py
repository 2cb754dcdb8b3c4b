"""HTTP/1.1, without sockets: however the bytes are cut, the answers are the same; whatever is not HTTP is refused."""

from __future__ import annotations

import asyncio
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.serving.body_memory import BodyMemory
from setpoint.serving.http_connection import HttpConnection, HttpService, Refused
from setpoint.serving.http_response import Reply
from setpoint.serving.request_head import HttpRequest
from setpoint.testing import advance, virtual_time
from setpoint.testing.virtual_clock import run

READ, IDLE = 10.0, 120.0


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False
        self.reading = True

    def write(self, data: Any) -> None:
        assert not self.closed
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Peer:
    """A connection and what it was asked."""

    def __init__(self, *, limit: int = 1000, answer: Any = None, memory: BodyMemory | None = None) -> None:
        self.seen: list[HttpRequest] = []
        self.limit = limit
        self.wire = Wire()
        self.held = asyncio.Event()
        self.held.set()
        self.scratch = memoryview(bytearray(1000))
        service = HttpService(
            self.admit, answer or self.answer, self.complain, READ, IDLE, set(), asyncio.Event(), self.scratch,
            memory or BodyMemory(),
        )  # fmt: skip
        self.connections = service.connections
        self.connection = HttpConnection(service)
        self.connection.connection_made(self.wire)

    def admit(self, request: HttpRequest) -> int:
        if request.target == "/refused":
            raise Refused(Reply(404, {}, b"no"))
        return self.limit

    async def answer(self, request: HttpRequest, body: bytes) -> Reply:
        self.seen.append(request)
        await self.held.wait()
        return Reply(200, {"x": "y"}, request.target.encode() + b"|" + body)

    @staticmethod
    def complain(status: int, text: str) -> Reply:
        return Reply(status, {}, text.encode())

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), len(self.scratch)):
            if not self.wire.closed:
                part = data[start : start + len(self.scratch)]
                self.connection.get_buffer(-1)[: len(part)] = part
                self.connection.buffer_updated(len(part))
        for _ in range(8):
            await asyncio.sleep(0)

    def lose(self) -> None:
        self.connection.connection_lost(None)


def ok(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"x: y", *headers, b"content-length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


STREAM = (
    b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    b"\r\nGET /b HTTP/1.1\r\nhost:x\r\nX-Two: 1\r\nx-two: 2\r\n\r\n"
    b"POST /c HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;ext=1\r\nabc\r\n0a\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"
    b"POST /d HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    b"HEAD /e HTTP/1.1\r\nhost: x\r\n\r\n"
    b"POST /f HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\nnever read"
)
ANSWERS = (
    ok(b"/a?b=c|hello")
    + ok(b"/b|")
    + ok(b"/c|abc0123456789")
    + ok(b"/d|")
    + ok(b"/e|")[: -len(b"/e|")]
    + ok(b"/f|", b"connection: close")
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_however_the_bytes_are_cut_the_answers_are_the_same(cuts: list[int]) -> None:
    async def scenario() -> None:
        peer = Peer()
        rest = STREAM
        for cut in cuts:
            await peer.send(rest[:cut])
            rest = rest[cut:]
        await peer.send(rest)
        for _ in range(40):
            await asyncio.sleep(0)
        assert peer.wire.sent == ANSWERS
        assert peer.wire.closed
        assert peer.seen[1].headers["x-two"] == "1, 2"
        peer.lose()
        assert not peer.connections

    run(scenario())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET x HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET ftp://x/ HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET http:///a HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET http://user@x/ HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET http://x/#a HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nhost: x\n\n\r\n\r\n", 400),
        (b"get / HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nhost: x\r\nname\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nna me: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nname : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: b\x00c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\nx", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1, 1\r\n\r\nx", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +1\r\n\r\nx", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0x1\r\n\r\nx", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\nx", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1 x\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * 300, 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n", 413),
        (
            b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"64\r\n"
            + (b"x" * 100 + b"\r\n64\r\n") * 11,
            413,
        ),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 4000, 431),
        (b"POST / HTTP/1.1\r\nhost: x\r\nexpect: tea\r\ncontent-length: 1\r\n\r\nx", 417),
        (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 17_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b" " * 17_000, 431),
        (b"GET /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n", 404),
    ],
)
@virtual_time
async def test_what_is_not_sound_is_refused_and_ends_the_connection(sent: bytes, status: int) -> None:
    peer = Peer()
    await peer.send(sent)
    await peer.send(b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n")
    assert peer.wire.sent.startswith(b"HTTP/1.1 %d " % status), peer.wire.sent
    assert b"connection: close" in peer.wire.sent
    assert peer.wire.closed
    assert peer.seen == []
    peer.lose()


@pytest.mark.parametrize(
    ("sent", "target", "host"),
    [
        (b"GET http://proxied:80/a?b=c HTTP/1.1\r\nHost: other\r\n\r\n", "/a?b=c", "proxied:80"),
        (b"GET HTTPS://proxied HTTP/1.1\r\nHost: proxied\r\n\r\n", "/", "proxied"),
        (b"GET http://[::1]?b=/c HTTP/1.1\r\nHost: proxied\r\n\r\n", "/?b=/c", "[::1]"),
        (b"GET /a HTTP/1.1\r\nHost:\r\n\r\n", "/a", ""),
        (b"GET /a HTTP/1.0\r\n\r\n", "/a", None),
    ],
)
@virtual_time
async def test_targets_with_a_host_and_old_requests_without_one_are_answered(
    sent: bytes, target: str, host: str | None
) -> None:
    peer = Peer()
    await peer.send(sent)
    (request,) = peer.seen
    assert (request.target, request.headers.get("host")) == (target, host)
    peer.lose()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet="GET /POHTP1.\r\n:0aclength-trsfdig ", max_size=200))
def test_no_bytes_whatever_raise(junk: bytes | str) -> None:
    async def scenario() -> None:
        peer = Peer()
        await peer.send(junk if isinstance(junk, bytes) else junk.encode())
        await peer.send(STREAM)
        peer.lose()
        await asyncio.sleep(0)

    run(scenario())


@virtual_time
async def test_silence_is_cut_after_the_read_timeout_and_idleness_after_the_longer_one() -> None:
    silent, idle, slow = Peer(), Peer(), Peer()
    await idle.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await slow.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await advance(9.9)
    assert not silent.wire.closed
    await advance(0.1)
    assert silent.wire.closed
    await advance(60)
    for byte in b"GET / HTTP/1.1\r\nhost: x\r\n":  # a byte a second is too slow, however long it goes on
        if not slow.wire.closed:
            await slow.send(bytes([byte]))
            await advance(1)
    assert slow.wire.closed
    assert not idle.wire.closed
    await advance(IDLE)
    assert idle.wire.closed


@virtual_time
async def test_a_slow_body_is_told_so() -> None:
    peer = Peer()
    await advance(9)
    await peer.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
    await advance(9)
    assert not peer.wire.closed
    await advance(1)
    assert peer.wire.sent.startswith(b"HTTP/1.1 408 Request Timeout")
    assert peer.wire.sent.endswith(b"the body did not arrive within 10 s")
    assert peer.wire.closed


def large(size: int, chunked: bool) -> bytes:
    if chunked:
        return (
            b"POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"3e8\r\n%b\r\n" % (b"c" * 1000) * (size // 1000)
            + b"0\r\n\r\n"
        )
    return b"POST /l HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + b"l" * size


@pytest.mark.parametrize("chunked", [False, True])
@virtual_time
async def test_large_bodies_wait_for_room_until_others_are_answered(chunked: bool) -> None:
    memory = BodyMemory(200_000)
    first, second, small = (Peer(limit=400_000, memory=memory) for _ in range(3))
    first.held.clear()
    await first.send(large(200_000, chunked))
    assert len(first.seen) == 1
    rest = large(150_000, chunked)
    while second.wire.reading:
        await second.send(rest[:1000])
        rest = rest[1000:]
    assert 60_000 < len(rest) < 100_000
    await small.send(large(50_000, chunked))
    assert small.wire.sent.startswith(b"HTTP/1.1 200 ")
    first.held.set()
    await asyncio.sleep(0.1)
    assert second.wire.reading
    await second.send(rest)
    assert second.wire.sent.startswith(b"HTTP/1.1 200 ")
    assert memory.used == 0
    for peer in (first, second, small):
        peer.lose()


@virtual_time
async def test_a_body_in_small_chunks_takes_no_more_memory_than_its_bytes() -> None:
    peer = Peer(limit=1_000_000)
    await peer.send(b"POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
    tracemalloc.start()
    try:
        for _ in range(100):
            await peer.send(b"2\r\ncc\r\n" * 500)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 5 * 100_000
    await peer.send(b"0\r\n\r\n")
    assert peer.wire.sent.endswith(b"/c|" + b"c" * 100_000)
    peer.lose()


@virtual_time
async def test_a_body_for_which_there_is_no_room_is_refused_and_one_whose_client_goes_takes_none() -> None:
    memory = BodyMemory(200_000)
    first, second, third = (Peer(limit=400_000, memory=memory) for _ in range(3))
    first.held.clear()
    await first.send(large(200_000, False))
    for peer in (second, third):
        await peer.send(large(150_000, False)[:70_000])
        assert not peer.wire.reading
    third.lose()
    await advance(READ + 1)
    assert second.wire.sent.startswith(b"HTTP/1.1 503 ")
    assert b"the memory for bodies was used by other requests for 10 s" in second.wire.sent
    assert second.wire.closed
    first.lose()
    first.held.set()
    await asyncio.sleep(0.1)
    second.lose()
    assert memory.used == 0


@virtual_time
async def test_a_request_may_take_as_long_as_it_takes_and_the_next_one_waits() -> None:
    peer = Peer()
    peer.held.clear()
    await peer.send(b"GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\n")
    await advance(1000)
    assert not peer.wire.closed
    assert [request.target for request in peer.seen] == ["/1"]
    await peer.send(b"GET /3 HTTP/1.1\r\nhost: x\r\n\r\n" * 4000)
    assert not peer.wire.reading  # what comes early is not piled up
    peer.held.set()
    await advance(1)
    assert [request.target for request in peer.seen] == ["/1", "/2", *["/3"] * 4000]
    assert peer.wire.reading


@virtual_time
async def test_who_does_not_read_its_answers_gets_no_more() -> None:
    peer = Peer()
    peer.connection.pause_writing()
    await peer.send(b"GET /1 HTTP/1.1\r\nhost: x\r\n\r\n" * 4000)
    assert peer.seen == []
    assert not peer.wire.reading
    peer.connection.resume_writing()
    await advance(1)
    assert len(peer.seen) == 4000
    assert peer.wire.reading
    peer.connection.pause_writing()
    await advance(READ + 1)
    assert peer.wire.closed


@pytest.mark.parametrize("options", [b"close", b"Close", b"TE, close", b"close,keep-alive"])
@virtual_time
async def test_a_client_that_asks_for_it_has_its_connection_closed_after_the_answer(options: bytes) -> None:
    peer = Peer()
    await peer.send(
        b"GET /1 HTTP/1.1\r\nhost: x\r\nconnection: " + options + b"\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\n"
    )
    assert [request.target for request in peer.seen] == ["/1"]
    assert peer.wire.closed


@virtual_time
async def test_ending_waits_for_the_answer() -> None:
    idle, busy = Peer(), Peer()
    busy.held.clear()
    await busy.send(b"GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\n")
    for peer in (idle, busy):
        peer.connection.end()
    assert idle.wire.closed
    assert not busy.wire.closed
    busy.held.set()
    await advance(0)
    assert busy.wire.sent == ok(b"/1|").replace(b"x: y\r\n", b"x: y\r\nconnection: close\r\n")
    assert busy.wire.closed


@virtual_time
async def test_one_who_goes_away_does_not_disturb() -> None:
    peer = Peer()
    peer.held.clear()
    await peer.send(b"GET /1 HTTP/1.1\r\nhost: x\r\n\r\n")
    peer.lose()
    assert peer.connections  # its function still runs, and must be waited for
    peer.held.set()
    await advance(0)
    assert not peer.connections
    assert peer.wire.sent == b""


@virtual_time
async def test_the_client_may_ask_whether_to_go_on() -> None:
    peer = Peer()
    await peer.send(b"POST /a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
    assert peer.wire.sent == b"HTTP/1.1 100 Continue\r\n\r\n"
    await peer.send(b"ab")
    assert peer.wire.sent.endswith(ok(b"/a|ab"))


@virtual_time
async def test_a_defect_is_answered_and_ends_the_connection() -> None:
    async def fails(request: HttpRequest, body: bytes) -> Reply:
        raise KeyError("oops")

    peer = Peer(answer=fails)
    await peer.send(b"GET /a HTTP/1.0\r\n\r\n")
    assert peer.wire.sent.startswith(b"HTTP/1.1 500 ")
    assert peer.wire.closed
