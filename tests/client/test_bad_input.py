"""Any input from outside ends in one clear error, within its deadline, and nothing is left open."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import random
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import (
    ApiError,
    Client,
    ClientCertificate,
    ClientConfig,
    HttpTransport,
    InProcessTransport,
    NotFound,
    Request,
    StaticToken,
    TransportError,
)
from setpoint.client.requester import MAX_ERROR
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret
from setpoint.testing import virtual_time

from .certificates import make, server_context
from .conftest import Answer, Server, Thing, answer, listening
from .scripted_servers import Talk, once, talking

OK = answer({"kind": "Thing", "metadata": {"name": "a", "namespace": "default"}})
DEADLINE = 0.3
PATIENCE = 30.0
"""For what does not wait for the deadline: the machine may be busy."""


def deadline_of(text: str) -> float:
    """The deadline that is met where that is what is said, else one that never is."""
    return DEADLINE if f"within {DEADLINE:g} s" in text else PATIENCE


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")


@asynccontextmanager
async def leaving_nothing() -> AsyncIterator[None]:
    """Fails if there are more sockets, files or tasks afterwards than there were before."""
    await asyncio.sleep(0)
    gc.collect()
    tasks, files = asyncio.all_tasks(), open_files()
    yield
    for _ in range(200):  # closing a connection takes a few turns of the loop
        if open_files() <= files and asyncio.all_tasks() <= tasks:
            break
        await asyncio.sleep(0.005)
    gc.collect()
    assert asyncio.all_tasks() - tasks == set()
    assert open_files() <= files, [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[files:]]


def saying(*parts: bytes, hold: bool = False, half_close: bool = False, reset: bool = False) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()
        if half_close:
            writer.write_eof()
        if reset:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        if hold or half_close:
            await asyncio.Event().wait()

    return talk


def endless(head: bytes, piece: bytes, pause: float = 0.0) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return talk


HEAD = b"HTTP/1.1 200 OK\r\n"
PAGE = b"<html><h1>Sign in</h1></html>"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

ANSWERS: dict[str, tuple[Talk, type[Exception], str]] = {
    "closed at once": (saying(), TransportError, "connection to .* broke"),
    "reset at once": (saying(reset=True), TransportError, "connection to .* broke"),
    "half closed at once": (saying(half_close=True), TransportError, "connection to .* broke"),
    "no http": (saying(b"SSH-2.0-OpenSSH_9\r\n\r\n"), TransportError, "is not HTTP"),
    "no status line": (saying(b"\x16\x03\x01\x02\x00\x01"), TransportError, "is not HTTP|connection to .* broke"),
    "header without end": (endless(HEAD + b"X: ", b"y" * 4096), TransportError, "is not HTTP"),
    "headers without end": (endless(HEAD, b"X: y\r\n" * 99), TransportError, "is not HTTP|within 0.3 s"),
    "silent": (saying(hold=True), TransportError, "no complete answer .* within 0.3 s"),
    "silent within the head": (saying(HEAD, hold=True), TransportError, "within 0.3 s"),
    "silent within the body": (saying(HEAD + b"Content-Length: 9\r\n\r\n{", hold=True), TransportError, "within 0.3 s"),
    "drop by drop": (endless(HEAD + b"\r\n", b" ", 0.01), TransportError, "within 0.3 s"),
    "truncated": (saying(HEAD + b"Content-Length: 9\r\n\r\n{"), TransportError, "broke off"),
    "truncated, half closed": (
        saying(HEAD + b"Content-Length: 9\r\n\r\n{", half_close=True),
        TransportError,
        "broke off",
    ),
    "truncated chunks": (saying(CHUNKED + b"5\r\nabc"), TransportError, "broke off"),
    "reset within chunks": (saying(CHUNKED + b"5\r\nabc", reset=True), TransportError, "broke"),
    "reset within a body without a length": (
        saying(HEAD + b'\r\n{"items":[]}', reset=True),
        TransportError,
        "broke",
    ),
    "an invalid status": (
        saying(b"HTTP/1.1 000 OK\r\nContent-Length: 12\r\n\r\n" + b'{"items":[]}'),
        TransportError,
        "is not HTTP: the status 000",
    ),
    "a status beyond all": (
        saying(b"HTTP/1.1 999 OK\r\nContent-Length: 12\r\n\r\n" + b'{"items":[]}'),
        ApiError,
        r"\(999\)",
    ),
    "interim answers without end": (
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
        TransportError,
        "is not HTTP: headers of more",
    ),
    "trailers without end": (endless(CHUNKED + b"0\r\n", b"x: y\r\n" * 999), TransportError, "trailers"),
    "a chunk's extension without end": (
        endless(CHUNKED + b"1;", b"x" * 4096),
        TransportError,
        "chunk extensions",
    ),
    "depth before the items": (
        saying(HEAD + b'Content-Length: 200022\r\n\r\n{"metadata":%b%b,"items":[]}' % (b"[" * 99999, b"]" * 99999)),
        TransportError,
        "the answer is not a list|broke off",
    ),
    "nothing but depth": (
        saying(HEAD + b"Content-Length: 99999\r\n\r\n" + b"[" * 99999),
        TransportError,
        "the answer is not a list",
    ),
    "an error that is nothing but depth": (
        saying(b"HTTP/1.1 500 No\r\nContent-Length: 99999\r\n\r\n" + b"[" * 99999),
        ApiError,
        r"\(500\): the answer is not a Status",
    ),
    "invalid chunks": (saying(CHUNKED + b"zz\r\nabc"), TransportError, "broke off|is not HTTP"),
    "chunks without end": (endless(CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"), TransportError, "longer than|within"),
    "a body without end": (endless(HEAD + b"\r\n", b" " * 65536), TransportError, "longer than|within"),
    "compressed rubbish": (
        saying(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"),
        TransportError,
        "broke off",
    ),
    "compressed and truncated": (
        saying(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n" + gzip.compress(b"{}" * 99)[:20]),
        TransportError,
        "broke off|no list",
    ),
    "a page for success": (
        saying(HEAD + b"Content-Length: 29\r\n\r\n" + PAGE),
        TransportError,
        "the answer is not a list: .*<html><h1>Sign in",
    ),
    "nothing for success": (saying(HEAD + b"Content-Length: 0\r\n\r\n"), TransportError, "the answer is not a list"),
    "a page for an error": (
        saying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 29\r\n\r\n" + PAGE),
        ApiError,
        r"\(502\): the answer is not a Status .*\(text/html\): <html><h1>Sign in",
    ),
    "an error without end": (
        endless(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 65536),
        TransportError,
        f"longer than {MAX_ERROR} bytes",
    ),
    "a redirect": (
        saying(b"HTTP/1.1 302 Found\r\nLocation: https://login\r\nContent-Length: 0\r\n\r\n"),
        ApiError,
        "redirects to https://login",
    ),
}


@needs_proc
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_bad_answer_is_one_clear_error_within_its_deadline_and_leaves_nothing(name: str) -> None:
    talk, kind, message = ANSWERS[name]
    async with leaving_nothing(), talking(talk) as url, once(url) as client, asyncio.timeout(2 * PATIENCE):
        with pytest.raises(kind, match=message) as caught:
            await client.list(Thing, timeout=deadline_of(message))
        assert "\n" not in str(caught.value)


# -- certificates and proxies -----------------------------------------------------------------------------------------


@needs_proc
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("expired", "not trusted: .*expired"),
        ("of another CA", "not trusted: "),
        ("for another host", "not trusted: .*127.0.0.1"),
        ("no TLS at all", "TLS failed|broke|can.t be reached: Connection"),
        ("TLS that never ends its handshake", "within 0.3 s"),
    ],
)
async def test_a_server_that_cant_be_trusted_is_one_clear_error_and_leaves_nothing(
    tmp_path: Path, name: str, message: str
) -> None:
    ca = make("ca")
    pair = {
        "expired": make("server", ca, days=-1),
        "of another CA": make("server", make("other")),
        "for another host": make("server", ca, names=("elsewhere",)),
    }.get(name)
    tls = server_context(pair, tmp_path) if pair is not None else None

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    talk = mute if "never" in name else saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    if name == "no TLS at all":
        talk = plain
    async with (
        leaving_nothing(),
        talking(talk, tls) as url,
        once(url.replace("http:", "https:"), ca_data=ca.cert_pem) as client,
    ):
        with pytest.raises(TransportError, match=message):
            await client.request("GET", "/x", timeout=deadline_of(message))


@pytest.mark.parametrize("ended", [True, False])
async def test_over_tls_a_body_without_length_ends_with_tls_and_not_with_the_connection(
    tmp_path: Path, ended: bool
) -> None:
    ca = make("ca")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + b'{"kind": "Thing"}')
        await writer.drain()
        if ended:
            return  # closes the connection as TLS wants it
        writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        await asyncio.Event().wait()

    async with (
        talking(talk, server_context(make("server", ca), tmp_path)) as url,
        once(url, ca_data=ca.cert_pem) as client,
    ):
        request = client.request("GET", "/x", timeout=PATIENCE)
        if ended:
            assert await request == b'{"kind": "Thing"}'
        else:
            with pytest.raises(TransportError, match="close_notify"):
                await request


async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\nClient sent TLS to an HTTP server")
    await writer.drain()


@needs_proc
async def test_an_expired_client_certificate_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    ca, clients = make("ca"), make("clients")
    old = make("me", clients, days=-1)
    context = server_context(make("server", ca), tmp_path, clients=clients)
    certificate = ClientCertificate(cert_data=old.cert_pem, key_data=old.key_pem)
    async with (
        leaving_nothing(),
        listening(Server(lambda request: OK), ssl_context=context) as url,
        once(url, ca_data=ca.cert_pem, certificate=certificate) as client,
    ):
        with pytest.raises(TransportError, match=r"(?i)certificate.expired|broke"):
            await client.request("GET", "/x", timeout=PATIENCE)


@needs_proc
@pytest.mark.parametrize(
    ("name", "talk", "message"),
    [
        ("closes", saying(), r"proxy http://…@127\.0\.0\.1:\d+|connection to .* broke"),
        ("resets", saying(reset=True), r"proxy http://…@127\.0\.0\.1:\d+|connection to .* broke"),
        ("half closes", saying(half_close=True), "proxy|broke"),
        ("is silent", saying(hold=True), "within 0.3 s"),
        ("wants a login", saying(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n"), "proxy http://…@.* refused: 407"),
        ("is not a proxy", saying(b"hello\r\n\r\n"), "not HTTP"),
        (
            "answers for the server",
            saying(b"HTTP/1.1 200 OK\r\n\r\nhello, I am no TLS"),
            "TLS failed|broke|can.t be reached: Connection",
        ),
    ],
)
async def test_a_bad_proxy_is_one_clear_error_and_leaves_nothing(name: str, talk: Talk, message: str) -> None:
    async with leaving_nothing(), talking(talk) as url:
        proxy = url.replace("//", "//me:hunter2@")
        async with once("https://192.0.2.1", proxy_url=proxy) as client:
            with pytest.raises(TransportError, match=message) as caught:
                await client.request("GET", "/x", timeout=deadline_of(message))
    assert "hunter2" not in str(caught.value), name


@needs_proc
async def test_a_proxy_that_is_not_there_is_one_clear_error_and_leaves_nothing() -> None:
    async with leaving_nothing(), once("https://192.0.2.1", proxy_url="http://me:hunter2@127.0.0.1:1") as client:
        with pytest.raises(TransportError, match=r"proxy http://…@127\.0\.0\.1:1 can't be reached") as caught:
            await client.request("GET", "/x", timeout=PATIENCE)
    assert not caught.value.sent
    assert "hunter2" not in str(caught.value)


async def test_changed_certificates_that_are_no_good_are_not_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.client.http_transport.RELOAD_PERIOD", 0.0)
    ca, clients = make("ca"), make("clients")
    cert, key = make("first", clients).write(tmp_path, "me")
    context = server_context(make("server", ca), tmp_path / "s", clients=clients)
    seen: list[str] = []

    class Noting(Server):
        async def handle_http(self, request: Any) -> Any:
            seen.append(request.transport.get_extra_info("ssl_object").getpeercert()["subject"][0][0][1])
            return await super().handle_http(request)

    async with listening(Noting(lambda request: OK), ssl_context=context) as url:
        config = ClientConfig(server=url, ca_data=ca.cert_pem, certificate=ClientCertificate(cert, key))
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")
            second = make("second", clients)
            cert.write_bytes(second.cert_pem + b"\n")  # the key is not written yet
            await client.get(Thing, "a")
            key.write_bytes(second.key_pem + b"\n")
            await client.get(Thing, "a")
    assert seen == ["first", "first", "second"]


# -- giving up in the middle ------------------------------------------------------------------------------------------


async def ticking() -> AsyncIterator[bytes]:
    while True:
        yield b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("over", ["in-process", "http"])
def test_watches_abandoned_by_break_end_with_the_loop_without_a_word(over: str) -> None:
    """Event loops close what is left of all generators at once, in any order."""
    complaints: list[dict[str, Any]] = []
    kept: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        async with ApiServer() as server:
            front = HttpFront(server)
            await front.__aenter__()
            transport = HttpTransport(ClientConfig(server=front.url)) if over == "http" else None
            client = Client(transport or InProcessTransport(server.handle))
            kept.extend((client, front))
            for number in range(10):
                watch = client.watch(Namespace)
                async for _ in watch:
                    break
                if number % 2:
                    kept.append(watch)
            await client.close()
            await front.__aexit__(None, None, None)

    usual = gc.get_threshold()
    gc.set_threshold(20, 2, 2)  # the collector comes by at every moment, also the worst one
    try:
        for _ in range(5):
            asyncio.run(main())
    finally:
        gc.set_threshold(*usual)
    assert complaints == []


def test_watches_abandoned_with_all_their_surroundings_end_without_a_word() -> None:
    complaints: list[dict[str, Any]] = []
    kept: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        server = Server(lambda request: Answer(body=ticking()))
        client = Client(InProcessTransport(server.handle))
        for _ in range(10):
            watch = client.watch(Thing)
            async for _ in watch:
                break
            kept.append(watch)

    asyncio.run(main())
    gc.collect()
    assert complaints == []


async def chaos(client: Client, seed: int, *, span: float) -> dict[str, int]:
    """64 tasks that read, write, list and watch; each is cancelled at some random moment."""
    rng = random.Random(seed)
    ended: dict[str, int] = {}

    async def work(number: int) -> None:
        name = f"c{number % 8}"
        while True:
            await asyncio.sleep(rng.random() * 0.01)  # virtual time stands still while anything can go on
            match rng.randrange(6):
                case 0:
                    await client.apply(ConfigMap.named(name, data={"by": str(number)}), force=True)
                case 1:
                    await client.list(ConfigMap, namespace="default")
                case 2:
                    async with client.watch(ConfigMap, namespace="default", timeout_seconds=1) as events:
                        async for _ in events:
                            if rng.random() < 0.3:
                                break
                case 3:
                    async for _ in client.watch(ConfigMap, namespace="default"):
                        break
                case 4:
                    async for _ in client.pages(ConfigMap, namespace="default", limit=2):
                        pass
                case _:
                    with suppress(NotFound):
                        await client.get(ConfigMap, name)

    tasks = [asyncio.ensure_future(work(number)) for number in range(64)]
    for task in rng.sample(tasks, len(tasks)):
        await asyncio.sleep(rng.random() * span / len(tasks))
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        ended[type(result).__name__] = ended.get(type(result).__name__, 0) + 1
    return ended


@pytest.mark.parametrize("seed", range(2))
@virtual_time
async def test_cancelled_at_random_moments_nothing_is_left_in_process(seed: int) -> None:
    async with ApiServer() as server:
        client = Client(InProcessTransport(server.handle))
        async with client:
            assert await chaos(client, seed, span=1.5) == {"CancelledError": 64}
            limiter = client._requester._limiter
            assert (limiter.in_flight, limiter.waiting) == (0, 0)
            assert (await client.list(ConfigMap)).metadata.resource_version
    gc.collect()
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@needs_proc
@pytest.mark.parametrize("seed", range(2))
async def test_cancelled_at_random_moments_nothing_is_left_over_sockets(seed: int) -> None:
    async with leaving_nothing(), ApiServer() as server, HttpFront(server) as front:
        transport = HttpTransport(ClientConfig(server=front.url))
        async with Client(transport) as client:
            assert await chaos(client, seed, span=0.7) == {"CancelledError": 64}
            gc.collect()
            async with asyncio.timeout(PATIENCE):
                while transport._pool is not None and transport._pool.in_use:  # noqa: ASYNC110 - what was dropped ends
                    await asyncio.sleep(0.01)
            limiter = client._requester._limiter
            assert (limiter.in_flight, limiter.waiting) == (0, 0)
            assert transport._pool is not None
            assert transport._pool.in_use == 0
            assert (await client.list(ConfigMap)).metadata.resource_version


class Slow401(StaticToken):
    """Credentials that take their time to say whether asking again may help."""

    async def rejected(self, authorization: str) -> bool:
        await asyncio.Event().wait()
        return True


@needs_proc
async def test_giving_up_while_credentials_are_renewed_leaves_nothing() -> None:
    refused = answer({"kind": "Status", "code": 401, "reason": "Unauthorized"}, 401)
    async with leaving_nothing(), listening(Server(lambda request: refused)) as url:
        transport = HttpTransport(ClientConfig(server=url, credentials=Slow401("t")))
        async with Client(transport) as client:
            with pytest.raises(TransportError, match=r"within 0\.1 s"):
                await client.request("POST", "/x", timeout=0.1)
            assert transport._pool is not None
            assert transport._pool.in_use == 0


# -- odd but well-meant -----------------------------------------------------------------------------------------------


async def test_a_list_and_its_events_may_say_null_everywhere(connect: Any) -> None:
    frames = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","creationTimestamp":null}}}\n'
    frames += b'{"type":"ADDED","object":{"kind":"Thing","metadata":null,"spec":null}}\n'

    async def stream() -> AsyncIterator[bytes]:
        yield frames

    def behave(request: Request) -> Answer:
        if dict(request.query).get("watch"):
            return Answer(body=stream())
        return answer({"kind": "ThingList", "metadata": None, "items": [{"metadata": {"name": "a", "labels": None}}]})

    async with connect(behave) as (client, _):
        things = await client.list(Thing)
        assert [thing.name for thing in things] == ["a"]
        assert things.metadata.resource_version == ""
        async with client.watch(Thing) as events:
            assert [event.resource_version async for event in events] == ["7", ""]


async def test_every_warning_header_is_heard() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b'Warning: 299 - "one"\r\nWARNING: 299 k "two, \\"2\\""\r\nContent-Length: 2\r\n\r\n{}')

    events: list[str] = []
    async with (
        talking(talk) as url,
        Client(HttpTransport(ClientConfig(server=url)), on_warning=events.append) as client,
    ):
        await client.request("GET", "/x")
    assert events == ["one", 'two, "2"']


def test_a_client_that_was_never_closed_ends_with_its_program() -> None:
    code = """
import asyncio
from setpoint.client import Client, ClientConfig, TransportError
async def main():
    client = Client.from_config(ClientConfig(server="http://127.0.0.1:1"))
    try:
        await client.request("POST", "/x")
    except TransportError as error:
        print(error)
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (ended.returncode, "can't be reached" in ended.stdout) == (0, True)


async def test_half_a_character_in_an_object_is_named_with_its_object_and_place() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        wrong = ConfigMap.named("web", namespace="default", data={"a": "fine", "b": "\ud800"})
        with pytest.raises(
            ValueError, match=r"ConfigMap web: data\.b: the text '\\ud800' holds half of a surrogate pair"
        ):
            await client.create(wrong)
        stored = await client.create(ConfigMap.named("web", namespace="default", data={"a": "fine"}))
        stored.data["\udfff"] = "x"
        with pytest.raises(ValueError, match=r"ConfigMap .*web: data: the text '\\udfff' holds half"):
            await client.update(stored)
        secret = Secret.named("web", namespace="default", string_data={"a": "\udc80"})
        with pytest.raises(ValueError, match=r"Secret default/web: stringData\.a: the text '\\udc80' holds half"):
            await client.apply(secret)


@pytest.mark.parametrize("verb", ["create", "update", "replace", "apply"])
async def test_what_is_no_object_is_said_to_be_none_with_what_to_pass_instead(verb: str) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
        with pytest.raises(TypeError, match=rf"client\.{verb}: obj must be an object .* not of dict; .*from_wire"):
            await getattr(client, verb)(document)
        with pytest.raises(TypeError, match=rf"client\.{verb}: obj must be an object, not the class ConfigMap itself"):
            await getattr(client, verb)(ConfigMap)
