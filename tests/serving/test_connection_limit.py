"""Clients that send requests are served, however many others send nothing."""

from __future__ import annotations

import asyncio
import resource
from contextlib import AsyncExitStack

import pytest
from tests.webhook.serving import trusting

from setpoint.serving import HttpRequest, HttpService, Listener, Refused, Reply
from setpoint.serving.connection_limit import ConnectionLimit
from setpoint.serving.tls_connection import TlsConnection
from setpoint.webhook import MemoryCertificates
from setpoint.webhook.server_tls import ServerTls

HOST = "127.0.0.1"
REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Transport:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_the_longest_silent_connection_makes_room() -> None:
    limit = ConnectionLimit(3)
    first, second, third, fourth = (Transport() for _ in range(4))
    for transport in (first, second, third):
        limit.open(transport)
    limit.activate(first)
    limit.open(fourth)
    assert [transport.aborted for transport in (first, second, third, fourth)] == [False, True, False, False]


def test_where_none_is_silent_the_new_connection_is_ended() -> None:
    limit = ConnectionLimit(2)
    first, second, new, later = (Transport() for _ in range(4))
    for transport in (first, second):
        limit.open(transport)
        limit.activate(transport)
    limit.open(new)
    assert [transport.aborted for transport in (first, second, new)] == [False, False, True]
    limit.close(first)
    limit.open(later)
    assert not later.aborted


def test_the_longest_idle_connection_makes_room_if_no_other_is_silent() -> None:
    limit = ConnectionLimit(3)
    first, second, busy, new, later = (Transport() for _ in range(5))
    for transport in (first, second, busy):
        limit.open(transport)
        limit.activate(transport)
    for transport in (first, second):
        limit.rest(transport)
    limit.activate(first)
    limit.rest(first)
    limit.open(new)
    assert [transport.aborted for transport in (first, second, busy, new)] == [False, True, False, False]
    limit.open(later)
    assert [transport.aborted for transport in (first, busy, new, later)] == [False, False, True, False]


def test_only_so_many_connections_are_silent() -> None:
    limit = ConnectionLimit(10_000)
    active = Transport()
    limit.open(active)
    limit.activate(active)
    transports = [Transport() for _ in range(1026)]
    for transport in transports:
        limit.open(transport)
    assert [transport.aborted for transport in (active, *transports)] == [False, True, True, *[False] * 1024]


def test_half_of_the_files_of_a_process_are_left_to_it() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 200), hard))
    try:
        limit = ConnectionLimit()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    transports = [Transport() for _ in range(101)]
    for transport in transports:
        limit.open(transport)
    assert [transport.aborted for transport in transports] == [True, *[False] * 100]


def complain(status: int, text: str) -> Reply:
    return Reply(status, {}, text.encode())


def admit(request: HttpRequest) -> int:
    if request.method != "GET":
        raise Refused(complain(405, "no"))
    return 0


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"\x16\x03\x01", REQUEST, REQUEST + b"GET"],
    ids=["nothing", "half a head", "half a record", "one request", "one request and a half"],
)
async def test_real_clients_are_served_beside_silent_and_idle_ones(tls: bool, sent: bytes) -> None:
    context, trusted = None, None
    if tls:
        source = MemoryCertificates()
        server = ServerTls()
        assert source.current is not None
        server.use(source.current)
        context, trusted = server.context, trusting(source.bundle)
    service = HttpService(admit, lambda _request, _body: complain(200, "here"), complain, limit=ConnectionLimit(20))
    listener = Listener(service, name="the test", host=HOST, port=0, context=context)
    await listener.open()
    try:
        async with AsyncExitStack() as stack:
            for _ in range(100):
                reader, writer = await asyncio.open_connection(HOST, listener.port)
                stack.callback(writer.close)
                writer.write(sent)
            reader, writer = await asyncio.open_connection(HOST, listener.port, ssl=trusted)
            stack.callback(writer.close)
            for _ in range(3):
                writer.write(REQUEST)
                assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200 ")
            assert len(service.connections) <= 20
    finally:
        listener.close()
        await service.drain(1)
        await service.cut()


async def test_a_connection_without_a_byte_has_no_state_of_tls() -> None:
    source = MemoryCertificates()
    server = ServerTls()
    assert source.current is not None
    server.use(source.current)
    connection = TlsConnection(server.context, asyncio.Protocol(), 10.0, memoryview(bytearray(100)))
    assert not hasattr(connection, "_tls")
    connection.connection_lost(None)
