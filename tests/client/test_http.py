"""The HTTP transport: TLS, proxies, deadlines, broken answers. Real sockets, loopback only."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.programs import DEADLINE

from setpoint.client import (
    ApiError,
    Client,
    ClientCertificate,
    ClientConfig,
    ConfigError,
    Impersonation,
    Request,
    ServiceUnavailable,
    StaticToken,
    TransportError,
)

from .certificates import make, server_context
from .conftest import Answer, Server, Thing, answer, listening
from .scripted_servers import Talk, talking

pytestmark = pytest.mark.wall_clock

OK = answer({"metadata": {"name": "a"}})


def connected(url: str) -> Client:
    return Client.from_config(ClientConfig(server=url))


def saying(text: bytes, *, then_wait: bool = False) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()
        if then_wait:
            await asyncio.Event().wait()

    return talk


async def failing(url: str, *, timeout: float = DEADLINE, method: str = "POST") -> TransportError:
    async with connected(url) as client:
        with pytest.raises(TransportError) as caught:
            await client.request(method, "/x", timeout=timeout)
    return caught.value


def test_importing_the_client_does_not_import_aiohttp_or_yaml() -> None:
    code = "import sys, setpoint.client; print([m for m in ('aiohttp', 'yaml', 'setpoint.patch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_requests_do_without_aiohttp() -> None:
    code = """
import asyncio, sys
from setpoint.client import Client, ClientConfig, TransportError

async def main():
    async with Client.from_config(ClientConfig(server="http://127.0.0.1:1")) as client:
        try:
            await client.request("GET", "/x")
        except TransportError as error:
            print("can't be reached" in str(error), "aiohttp" in sys.modules)

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "True False\n"


# -- TLS --------------------------------------------------------------------------------------------------------------


async def test_client_certificates_in_files_and_inline_and_a_ca_inline(tmp_path: Path) -> None:
    ca, clients = make("ca"), make("clients")
    me = make("me", clients)
    cert, key = me.write(tmp_path, "me")
    context = server_context(make("server", ca), tmp_path / "s", clients=clients)
    async with listening(Server(lambda request: OK), ssl_context=context) as url:
        for certificate in (
            ClientCertificate(cert, key),
            ClientCertificate(cert_data=me.cert_pem, key_data=me.key_pem),
        ):
            config = ClientConfig(server=url, ca_data=ca.cert_pem, certificate=certificate)
            async with Client.from_config(config) as client:
                assert (await client.get(Thing, "a")).name == "a"
        async with Client.from_config(ClientConfig(server=url, ca_data=ca.cert_pem)) as client:
            with pytest.raises(TransportError):
                await client.create(Thing.named("a"))


async def test_a_server_that_is_not_trusted_is_refused(tmp_path: Path) -> None:
    ca = make("ca")
    for server, message in (
        (make("server", make("other")), "not trusted: .*(self.signed|unable to get local issuer)"),
        (make("server", ca, days=-1), "not trusted: .*expired"),
        (make("server", ca, names=("elsewhere",)), "not trusted: .*127.0.0.1"),
    ):
        context = server_context(server, tmp_path)
        async with (
            listening(Server(lambda request: OK), ssl_context=context) as url,
            Client.from_config(ClientConfig(server=url, ca_data=ca.cert_pem)) as client,
        ):
            with pytest.raises(TransportError, match=message) as caught:
                await client.get(Thing, "a")
            assert not caught.value.sent


async def test_tls_server_name_stands_in_for_the_host(tmp_path: Path) -> None:
    ca = make("ca")
    context = server_context(make("server", ca, names=("elsewhere",)), tmp_path)
    async with listening(Server(lambda request: OK), ssl_context=context) as url:
        config = ClientConfig(server=url, ca_data=ca.cert_pem, tls_server_name="elsewhere")
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")


async def test_insecure_is_possible_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    context = server_context(make("server", make("ca")), tmp_path)
    async with listening(Server(lambda request: OK), ssl_context=context) as url:
        with caplog.at_level(logging.WARNING, "setpoint.client"):
            async with Client.from_config(ClientConfig(server=url, verify=False)) as client:
                await client.get(Thing, "a")
    assert "insecure-skip-tls-verify" in caplog.text


async def test_certificates_that_change_on_disk_are_used_and_streams_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.client.http_transport.RELOAD_PERIOD", 0.0)
    ca, clients = make("ca"), make("clients")
    make("first", clients).write(tmp_path, "me")
    cert, key = tmp_path / "me.crt", tmp_path / "me.key"
    context = server_context(make("server", ca), tmp_path / "s", clients=clients)
    go = asyncio.Event()
    seen: list[str] = []

    async def stream() -> AsyncIterator[bytes]:
        yield b'{"type":"BOOKMARK","object":{}}\n'
        await go.wait()
        yield b'{"type":"BOOKMARK","object":{}}\n'

    def behave(request: Request) -> Answer:
        return Answer(body=stream()) if dict(request.query).get("watch") else OK

    class Noting(Server):
        async def handle_http(self, request):  # type: ignore[no-untyped-def]
            name = request.transport.get_extra_info("ssl_object").getpeercert()["subject"][0][0][1]
            seen.append(name)
            return await super().handle_http(request)

    async with listening(Noting(behave), ssl_context=context) as url:
        config = ClientConfig(server=url, ca_data=ca.cert_pem, certificate=ClientCertificate(cert, key))
        async with Client.from_config(config) as client, client.watch(Thing) as events:
            await anext(events)
            make("second", clients).write(tmp_path, "me")
            os.utime(cert, ns=(1, 1))
            await client.get(Thing, "a")
            go.set()
            assert (await anext(events)).type == "BOOKMARK"
    assert seen == ["first", "second"]


async def test_a_rotated_authority_is_trusted_once_its_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.client.http_transport.RELOAD_PERIOD", 0.0)
    old, new = make("old"), make("new")
    (tmp_path / "ca.crt").write_bytes(old.cert_pem)
    context = server_context(make("server", old), tmp_path)
    async with listening(Server(lambda request: OK), ssl_context=context) as url:
        config = ClientConfig(server=url, ca_file=tmp_path / "ca.crt")
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")
            context.load_cert_chain(*make("server", new).write(tmp_path, "server"))
            (tmp_path / "ca.crt").write_bytes(old.cert_pem + new.cert_pem)
            await client.get(Thing, "a")
        async with Client.from_config(ClientConfig(server=url, ca_data=old.cert_pem)) as client:
            with pytest.raises(TransportError, match="certificate"):
                await client.get(Thing, "a")


async def test_certificates_that_cant_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_text("rubbish")
    one, other = make("a"), make("b")
    for config, message in (
        (
            ClientConfig(server="https://127.0.0.1:1", ca_file=tmp_path / "rubbish", source="S"),
            r"rubbish .*no usable PEM.*\(S\)",
        ),
        (ClientConfig(server="https://127.0.0.1:1", ca_data=b"x"), "certificate-authority-data contains no usable PEM"),
        (ClientConfig(server="https://127.0.0.1:1", ca_file=tmp_path / "gone"), "gone can't be read: No such file"),
        (
            ClientConfig(
                server="https://127.0.0.1:1",
                certificate=ClientCertificate(cert_data=one.cert_pem, key_data=other.key_pem),
            ),
            "inline certificate with inline key can't be used: key values mismatch",
        ),
    ):
        async with Client.from_config(config) as client:
            with pytest.raises(ConfigError, match=message):
                await client.get(Thing, "a")


# -- proxies ----------------------------------------------------------------------------------------------------------


def tunnel(bodies: list[bytes], *, refuse: bool = False) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        bodies.append(head)
        if refuse:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        host, port = head.split()[1].decode().split(":")
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, up_writer))
            group.create_task(pump(up_reader, writer))

    return talk


async def test_a_proxy_is_used_and_gets_its_own_credentials_only(tmp_path: Path) -> None:
    ca = make("ca")
    context = server_context(make("server", ca), tmp_path)
    requests: list[bytes] = []
    async with listening(Server(lambda request: OK), ssl_context=context) as url, talking(tunnel(requests)) as proxy:
        config = ClientConfig(server=url, ca_data=ca.cert_pem, proxy_url=proxy.replace("//", "//me:pw@"))
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")
    assert requests[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"Proxy-Authorization: Basic" in requests[0]


async def test_what_is_wrong_with_a_proxy_is_said() -> None:
    async with talking(tunnel([], refuse=True)) as proxy:
        for proxy_url, message in (
            (proxy, "proxy .* refused: 407"),
            ("http://me:pw@127.0.0.1:1", "proxy http://…@127.0.0.1:1 can't be reached"),
        ):
            async with Client.from_config(ClientConfig(server="https://127.0.0.1:2", proxy_url=proxy_url)) as client:
                with pytest.raises(TransportError, match=message) as caught:
                    await client.get(Thing, "a")
                assert "pw" not in str(caught.value)
    for proxy_url, message in (
        ("socks5://h", "socks5 proxies are not supported"),
        ("h:3128", "without a scheme is not supported, only http"),
        ("http://h:99999", "is not a URL with a host"),
    ):
        with pytest.raises(ConfigError, match=message):
            ClientConfig(server="https://h", proxy_url=proxy_url)


# -- what can go wrong on a connection --------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    error = await failing("http://127.0.0.1:1")
    assert "http://127.0.0.1:1 can't be reached" in str(error)
    assert not error.sent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "connection to .* broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "broke off"),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "not HTTP"),
    ],
)
async def test_an_answer_that_breaks_off_is_one_clear_error(text: bytes, message: str) -> None:
    async with talking(saying(text)) as url:
        error = await failing(url)
    assert error.sent
    assert re.search(message, str(error)), error


@pytest.mark.parametrize("text", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
async def test_a_server_that_says_nothing_more_meets_the_deadline(text: bytes) -> None:
    async with talking(saying(text, then_wait=True)) as url:
        error = await failing(url, timeout=0.5, method="GET")
    assert error.timed_out
    assert "no complete answer from http://127.0.0.1" in str(error)
    assert "within 0.5 s" in str(error)


async def test_a_stream_that_falls_silent_meets_the_idle_deadline() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n"
    async with (
        talking(saying(head, then_wait=True)) as url,
        connected(url) as client,
    ):
        with pytest.raises(TransportError, match=r"sent nothing for 0\.1 s") as caught:
            async with client.stream("GET", "/x", idle_timeout=0.1) as response:
                assert [line async for line in response.lines()] == [b"{}"]
        assert caught.value.timed_out


async def test_an_endless_body_ends_at_its_limit() -> None:
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with talking(talk) as url, connected(url) as client:
        with pytest.raises(TransportError, match="longer than 1000000 bytes"):
            async with client.stream("GET", "/x") as response:
                await response.read(1_000_000)
    assert sent < 32_000_000, "what is more than the limit is in the buffers of the system"


async def test_a_load_balancers_page_is_an_error_that_shows_it() -> None:
    page = Answer(502, {"content-type": "text/html"}, b"<html><h1>Bad   Gateway</h1></html>")
    async with (
        listening(Server(lambda request: page)) as url,
        connected(url) as client,
    ):
        with pytest.raises(ServiceUnavailable, match=r"not a Status .*\(text/html\): <html><h1>Bad Gateway"):
            await client.get(Thing, "a")


async def test_a_redirect_is_not_followed() -> None:
    moved = Answer(302, {"location": "https://login.example.com/"}, b"")
    async with (
        listening(Server(lambda request: moved)) as url,
        connected(url) as client,
    ):
        with pytest.raises(ApiError, match=r"redirects to https://login\.example\.com/; redirects are not"):
            await client.get(Thing, "a")


async def test_a_good_answer_that_is_no_json_is_an_error() -> None:
    page = Answer(200, {}, b"<html>")
    async with (
        listening(Server(lambda request: page)) as url,
        connected(url) as client,
    ):
        with pytest.raises(ValueError, match="not a JSON object"):
            await client.get(Thing, "a")
        with pytest.raises(TransportError, match="the answer is not a list"):
            await client.list(Thing)


async def test_many_watches_do_not_keep_requests_waiting() -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b'{"type":"BOOKMARK","object":{}}\n'
        await asyncio.Event().wait()

    def behave(request: Request) -> Answer:
        return Answer(body=stream()) if dict(request.query).get("watch") else OK

    async with listening(Server(behave)) as url, connected(url) as client:
        watches = [client.watch(Thing) for _ in range(150)]
        await asyncio.gather(*(anext(watch) for watch in watches))
        await client.get(Thing, "a")
        for watch in watches:
            await watch.aclose()


async def test_nothing_leaks(recwarn: pytest.WarningsRecorder) -> None:
    before = len(asyncio.all_tasks())
    async with listening(Server(lambda request: OK)) as url:
        async with connected(url) as client:
            await asyncio.gather(*(client.get(Thing, "a") for _ in range(20)))
            await failing("http://127.0.0.1:1")
        await client.close()
    await asyncio.sleep(0)
    gc.collect()
    assert len(asyncio.all_tasks()) == before
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == []


@pytest.mark.parametrize(
    ("field_manager", "user_agent"),
    [
        ("shop.example.com", "shop.example.com (setpoint)"),
        ("setpoint", "setpoint (setpoint)"),
        ("sch\u00f6n", "setpoint"),
    ],
)
async def test_the_user_agent_is_the_name_of_the_program(field_manager: str, user_agent: str) -> None:
    server = Server(lambda request: OK)
    async with (
        listening(server) as url,
        Client.from_config(ClientConfig(server=url), field_manager=field_manager) as client,
    ):
        await client.get(Thing, "a")
    assert server.requests[0].headers["user-agent"] == user_agent


async def test_credentials_and_impersonation_go_with_every_request() -> None:
    server = Server(lambda request: OK)
    async with listening(server) as url:
        config = ClientConfig(
            server=url, credentials=StaticToken("t"), impersonate=Impersonation("jane"), user_agent="me/1"
        )
        async with Client.from_config(config) as client:
            await client.get(Thing, "a")
            await client.request("GET", "/x", headers={"authorization": "Bearer mine"})
    first, second = server.requests
    assert (first.headers["authorization"], first.headers["impersonate-user"]) == ("Bearer t", "jane")
    assert first.headers["user-agent"] == "me/1"
    assert second.headers["authorization"] == "Bearer mine"
