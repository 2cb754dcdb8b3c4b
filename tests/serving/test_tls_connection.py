"""TLS without sockets: however the bytes are cut, what one side writes the other reads; connections end in order."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.serving.tls_connection import LINGER, TlsConnection
from setpoint.testing import advance, virtual_time
from setpoint.testing.virtual_clock import run
from setpoint.webhook.certificate_authority import CertificateError, issue, make_authority
from setpoint.webhook.server_tls import ServerTls

pytestmark = pytest.mark.wall_clock

HANDSHAKE = 10.0
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and a client's."""
    now = datetime.now(UTC)
    authority = make_authority("test", now=now, lifetime=timedelta(days=1))
    server = ServerTls()
    server.use(issue(authority, ["localhost"], now=now, lifetime=timedelta(hours=1)))
    return server.context, ssl.create_default_context(cadata=authority.certificate.decode())


def test_client_authorities_without_a_certificate_are_refused() -> None:
    for text in (b"", b"\n", b"nonsense"):
        with pytest.raises(CertificateError, match="no usable PEM certificate"):
            ServerTls(text)
    assert ServerTls().context.verify_mode == ssl.CERT_NONE


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.closed = False
        self.aborted = False
        self.reading = True

    def write(self, data: Any) -> None:
        assert not self.closed
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Told(asyncio.BufferedProtocol):
    """Records its data, and with ``echo`` sends it back."""

    def __init__(self, *, echo: bool = False, pause: bool = False) -> None:
        self.echo = echo
        self.pause = pause
        self.got = b""
        self.transport: Any = None
        self.ended = False
        self.calls: list[str] = []
        self.buffer = bytearray(5000)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self.buffer[:nbytes])
        self.got += data
        if self.pause:
            self.transport.pause_reading()
        if self.echo:
            self.transport.write(data)

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")


class Pair:
    """A connection with a client, and nothing between them but this."""

    def __init__(self, answer: Told, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, cut: int = 1000) -> None:
        server, client = contexts()
        client.minimum_version = ssl.TLSVersion.TLSv1_2
        client.maximum_version = version
        self.cut = cut
        self.wire = Wire()
        self.told = answer
        self.scratch = memoryview(bytearray(2000))
        self.connection = TlsConnection(server, answer, HANDSHAKE, self.scratch)
        self.connection.connection_made(self.wire)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def give(self, data: bytes) -> None:
        for start in range(0, len(data), self.cut):
            part = data[start : start + self.cut]
            self.connection.get_buffer(-1)[: len(part)] = part
            self.connection.buffer_updated(len(part))

    def carry(self) -> None:
        self.give(self.outgoing.read())
        self.incoming.write(bytes(self.wire.sent))
        self.wire.sent.clear()

    def shake(self) -> None:
        for _ in range(5):
            try:
                self.client.do_handshake()
            except ssl.SSLWantReadError:
                self.carry()
            else:
                self.carry()
                return
        raise AssertionError("no handshake")

    def say(self, data: bytes) -> None:
        while data:
            data = data[self.client.write(data) :]
        self.carry()

    def read(self) -> bytes:
        """All that has come; the last part is empty after a close_notify."""
        results = []
        try:
            while part := self.client.read(1 << 16):
                results.append(part)
        except ssl.SSLWantReadError:
            pass
        return b"".join(results)

    def farewell(self) -> bool:
        """Whether the server has sent close_notify."""
        try:
            return self.client.read(1) == b""
        except ssl.SSLWantReadError:
            return False


@settings(max_examples=30, deadline=None)
@given(
    said=st.lists(st.integers(1, 40_000), min_size=1, max_size=4),
    cut=st.integers(1, 2000),
    version=st.sampled_from(VERSIONS),
)
def test_what_is_written_is_read_however_it_is_cut(said: list[int], cut: int, version: ssl.TLSVersion) -> None:
    async def exchange() -> None:
        pair = Pair(Told(echo=True), version, cut)
        pair.shake()
        assert pair.client.version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
        for number, size in enumerate(said):
            data = bytes([65 + number]) * size
            pair.told.got = b""
            pair.say(data)
            assert pair.told.got == data
            assert pair.read() == data
        assert not pair.wire.closed

    run(exchange())


@pytest.mark.parametrize("version", VERSIONS)
@virtual_time
async def test_an_answer_of_many_records_comes_whole(version: ssl.TLSVersion) -> None:
    pair = Pair(Told(), version)
    pair.shake()
    data = bytes(range(256)) * 1000
    pair.told.transport.write(data)
    pair.carry()
    assert pair.read() == data


@virtual_time
async def test_who_does_not_shake_hands_in_time_is_cut_off() -> None:
    pair = Pair(Told())
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.do_handshake()
    pair.give(pair.outgoing.read()[:50])
    await advance(HANDSHAKE - 0.1)
    assert not pair.wire.aborted
    await advance(0.2)
    assert pair.wire.aborted
    pair.connection.connection_lost(None)
    assert pair.told.transport is None
    assert not pair.told.ended


@virtual_time
async def test_a_handshake_in_time_is_never_cut_off() -> None:
    pair = Pair(Told())
    pair.shake()
    await advance(HANDSHAKE * 10)
    assert not pair.wire.aborted
    pair.say(b"here")
    assert pair.told.got == b"here"


@virtual_time
async def test_what_is_no_tls_is_told_so_and_closed() -> None:
    pair = Pair(Told())
    pair.give(b"GET / HTTP/1.1\r\n\r\n")
    assert pair.wire.closed
    assert pair.told.transport is None


@virtual_time
async def test_a_damaged_record_ends_the_connection_with_an_alert() -> None:
    pair = Pair(Told())
    pair.shake()
    pair.read()
    pair.client.write(b"something")
    record = bytearray(pair.outgoing.read())
    record[-1] ^= 1
    pair.give(bytes(record))
    assert pair.wire.closed
    assert pair.told.got == b""
    pair.incoming.write(bytes(pair.wire.sent))
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        pair.client.read(1)
    pair.told.transport.write(b"late")
    pair.connection.connection_lost(None)
    assert pair.told.ended


@pytest.mark.parametrize("version", VERSIONS)
@virtual_time
async def test_both_sides_say_good_bye_and_what_comes_in_between_is_dropped(version: ssl.TLSVersion) -> None:
    pair = Pair(Told(), version)
    pair.shake()
    pair.told.transport.write(b"the last word")
    pair.told.transport.close()
    pair.told.transport.write(b"never sent")
    assert pair.told.transport.is_closing()
    pair.say(b"more" * 10_000)
    assert pair.read() == b"the last word"
    assert pair.farewell()
    assert not pair.wire.closed
    assert pair.told.got == b""
    pair.client.unwrap()
    pair.carry()
    assert pair.wire.closed
    pair.connection.connection_lost(None)
    assert pair.told.ended
    await advance(LINGER * 2)
    assert not pair.wire.aborted


@virtual_time
async def test_who_says_no_good_bye_is_not_waited_for_long() -> None:
    pair = Pair(Told())
    pair.shake()
    pair.told.transport.close()
    await advance(LINGER - 0.1)
    assert not pair.wire.aborted
    await advance(0.2)
    assert pair.wire.aborted


@virtual_time
async def test_the_other_side_may_say_good_bye_first() -> None:
    pair = Pair(Told())
    pair.shake()
    pair.read()
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    pair.carry()
    assert pair.wire.closed
    pair.client.unwrap()  # the server's has come


@virtual_time
async def test_a_protocol_that_wants_no_more_gets_the_rest_later() -> None:
    pair = Pair(Told(pause=True), cut=2000)
    pair.shake()
    pair.client.write(b"one")
    pair.client.write(b"two")
    pair.carry()
    assert pair.told.got == b"one"
    assert not pair.wire.reading
    pair.told.pause = False
    pair.told.transport.resume_reading()
    await asyncio.sleep(0)
    assert pair.told.got == b"onetwo"
    assert pair.wire.reading


@virtual_time
async def test_a_connection_is_closed_even_while_it_is_paused() -> None:
    pair = Pair(Told(pause=True))
    pair.shake()
    pair.say(b"one")
    pair.told.transport.close()
    assert pair.wire.reading


@virtual_time
async def test_the_protocol_learns_that_answers_pile_up() -> None:
    pair = Pair(Told())
    pair.connection.pause_writing()  # in the handshake there is no protocol to tell
    pair.connection.resume_writing()
    pair.shake()
    pair.connection.pause_writing()
    pair.connection.resume_writing()
    assert pair.told.calls == ["pause", "resume"]
