"""Every form of kubeconfig, against the embedded server behind real TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, TransportError, Unauthorized
from setpoint.models.core_v1 import Namespace

from .certificates import Pair, make, server_context

V1 = "client.authentication.k8s.io/v1"
TOKEN = "let-me-in"


class Guarded(ApiServer):
    """Lets in who brings the token, in a header; while ``open``, everyone."""

    open = True

    async def handle(self, request: Any) -> Any:
        allowed = (f"Bearer {TOKEN}", "Basic " + base64.b64encode(b"me:" + TOKEN.encode()).decode())
        answer = await super().handle(request)
        if not self.open and request.headers.get("authorization") not in allowed:
            answer.status, answer.body = 401, b'{"kind":"Status","code":401,"reason":"Unauthorized","message":"who?"}'
        return answer


@asynccontextmanager
async def guarded(directory: Path, *, clients: Pair | None = None) -> AsyncIterator[tuple[str, Pair]]:
    ca = make("ca")
    context = server_context(make("server", ca), directory / "server", clients=clients)
    async with Guarded() as server, HttpFront(server, tls=context) as front:
        server.open = clients is not None
        yield front.url, ca


def write(directory: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    path = directory / "config"
    path.write_text(yaml.safe_dump(document))
    return path


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def plugin(directory: Path) -> dict[str, Any]:
    path = directory / "plugin"
    answer = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": {"token": TOKEN}})
    path.write_text(f"#!{sys.executable} -SE\nprint({answer!r})\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}


async def reads(path: Path) -> None:
    async with Client.from_kubeconfig(path) as client:
        assert (await client.get(Namespace, "default")).name == "default"


@pytest.mark.parametrize("form", ["token", "tokenFile", "username", "exec"])
async def test_who_brings_the_token_is_let_in(tmp_path: Path, form: str) -> None:
    (tmp_path / "token").write_text(TOKEN)
    users: dict[str, dict[str, Any]] = {
        "token": {"token": TOKEN},
        "tokenFile": {"tokenFile": "token"},
        "username": {"username": "me", "password": TOKEN},
        "exec": {"exec": plugin(tmp_path)},
    }
    async with guarded(tmp_path) as (url, ca):
        cluster = {"server": url, "certificate-authority-data": encoded(ca.cert_pem)}
        await reads(write(tmp_path, cluster, users[form]))
        with pytest.raises(Unauthorized, match="get namespaces default: Unauthorized"):
            await reads(write(tmp_path, cluster, {}))


async def test_client_certificates_in_files_and_inline(tmp_path: Path) -> None:
    clients = make("clients")
    me = make("me", clients)
    me.write(tmp_path, "me")
    async with guarded(tmp_path, clients=clients) as (url, ca):
        (tmp_path / "ca.crt").write_bytes(ca.cert_pem)
        cluster = {"server": url, "certificate-authority": "ca.crt"}
        await reads(write(tmp_path, cluster, {"client-certificate": "me.crt", "client-key": "me.key"}))
        inline = {"client-certificate-data": encoded(me.cert_pem), "client-key-data": encoded(me.key_pem)}
        await reads(write(tmp_path, cluster, inline))
        with pytest.raises(TransportError):
            async with Client.from_kubeconfig(write(tmp_path, cluster, {})) as client:
                await client.delete(Namespace, "default")


async def test_insecure_and_tls_server_name_and_a_wrong_ca(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (url, _):
        await reads(write(tmp_path, {"server": url, "insecure-skip-tls-verify": True}, {"token": TOKEN}))
        wrong = {"server": url, "certificate-authority-data": encoded(make("other").cert_pem)}
        with pytest.raises(TransportError, match="not trusted"):
            await reads(write(tmp_path, wrong, {"token": TOKEN}))


async def test_through_a_proxy(tmp_path: Path) -> None:
    asked = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split()[0])
        host, port = head.split()[1].decode().split(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, upstream_writer), pump(upstream_reader, writer))

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    async with proxy, guarded(tmp_path) as (url, ca):
        cluster = {
            "server": url,
            "certificate-authority-data": encoded(ca.cert_pem),
            "proxy-url": f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}",
        }
        await reads(write(tmp_path, cluster, {"token": TOKEN}))
    assert asked == [b"CONNECT"]
