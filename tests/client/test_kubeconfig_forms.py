"""Every form of kubeconfig, against the embedded server behind real TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, TransportError, Unauthorized, in_cluster_config
from setpoint.models.core_v1 import Namespace

from .certificates import Pair, make, server_context

V1 = "client.authentication.k8s.io/v1"
TOKEN = "let-me-in"


class Guarded(ApiServer):
    """Lets in who brings the token, in a header; while ``open``, everyone."""

    open = True
    token = TOKEN

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    async def handle(self, request: Any) -> Any:
        self.asked.append(request)
        allowed = (f"Bearer {self.token}", "Basic " + base64.b64encode(b"me:" + TOKEN.encode()).decode())
        answer = await super().handle(request)
        if not self.open and request.headers.get("authorization") not in allowed:
            answer.status, answer.body = 401, b'{"kind":"Status","code":401,"reason":"Unauthorized","message":"who?"}'
        return answer


@asynccontextmanager
async def guarded(directory: Path, *, clients: Pair | None = None) -> AsyncIterator[tuple[str, Pair]]:
    ca = make("ca")
    context = server_context(make("server", ca), directory / "server", clients=clients)
    async with guard(context, clients) as (url, _):
        yield url, ca


@asynccontextmanager
async def guard(context: ssl.SSLContext, clients: Pair | None = None) -> AsyncIterator[tuple[str, Guarded]]:
    async with Guarded() as server, HttpFront(server, tls=context) as front:
        server.open = clients is not None
        yield front.url, server


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


async def test_a_client_certificate_of_a_plugin_and_its_successor(tmp_path: Path) -> None:
    ca, clients = make("ca"), make("clients")
    context = server_context(make("server", ca), tmp_path / "server", clients=clients)
    for name in ("first", "second"):
        me = make(name, clients)
        status = {"clientCertificateData": me.cert_pem.decode(), "clientKeyData": me.key_pem.decode()}
        answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
        if name == "first":  # has expired as soon as it is there
            status["expirationTimestamp"] = "2020-01-01T00:00:00Z"
        (tmp_path / f"{name}.json").write_text(json.dumps(answer))
    runs = tmp_path / "runs"
    script = f"""#!{sys.executable} -SE
import os
name = "second" if os.path.exists({str(runs)!r}) else "first"
open({str(runs)!r}, "a").close()
print(open(os.path.join({str(tmp_path)!r}, name + ".json")).read())
"""
    (tmp_path / "plugin").write_text(script)
    (tmp_path / "plugin").chmod(0o700)
    seen: list[str] = []

    class Noting(HttpFront):
        async def _handle(self, http: Any) -> Any:
            seen.append(http.transport.get_extra_info("ssl_object").getpeercert()["subject"][0][0][1])
            return await super()._handle(http)

    async with Guarded() as server, Noting(server, tls=context) as front:
        cluster = {"server": front.url, "certificate-authority-data": encoded(ca.cert_pem)}
        user = {"exec": {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}}
        async with Client.from_kubeconfig(write(tmp_path, cluster, user)) as client:
            for _ in range(3):
                assert (await client.get(Namespace, "default")).name == "default"
    assert seen[-1] == "second"
    assert set(seen) <= {"first", "second"}


async def test_cluster_and_user_from_two_files_of_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with guarded(tmp_path) as (url, ca):
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "ca.crt").write_bytes(ca.cert_pem)
        clusters = {"clusters": [{"name": "k", "cluster": {"server": url, "certificate-authority": "ca.crt"}}]}
        (tmp_path / "sub" / "clusters").write_text(yaml.safe_dump(clusters))
        users = {
            "current-context": "c",
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        }
        (tmp_path / "users").write_text(yaml.safe_dump(users))
        paths = (tmp_path / "gone", tmp_path / "users", tmp_path / "sub" / "clusters")
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)))
        async with Client.from_kubeconfig() as client:
            assert (await client.get(Namespace, "default")).name == "default"


async def test_impersonation_goes_with_every_request_and_streams_and_is_no_login(tmp_path: Path) -> None:
    ca = make("ca")
    context = server_context(make("server", ca), tmp_path / "server")
    other = {"as": "jane é", "as-uid": "u1", "as-groups": ["dev", "ops"], "as-user-extra": {"a/b": ["1", "2"]}}
    async with guard(context) as (url, server):
        cluster = {"server": url, "certificate-authority-data": encoded(ca.cert_pem)}
        async with Client.from_kubeconfig(write(tmp_path, cluster, {"token": TOKEN, **other})) as client:
            await client.get(Namespace, "default")
            async with client.watch(Namespace) as events:
                await anext(events)
        with pytest.raises(Unauthorized):
            await reads(write(tmp_path, cluster, other))
    requests = [request for request in server.asked if "impersonate-user" in request.headers]
    assert len(requests) == 3
    for request in requests:
        assert request.headers["impersonate-user"] == "jane é"
        assert request.headers["impersonate-uid"] == "u1"
        assert "ops" in request.headers["impersonate-group"] or "dev" in request.headers["impersonate-group"]
        assert "impersonate-extra-a%2fb" in request.headers


async def test_in_a_pod_the_mounted_token_is_used_and_its_successor_too(tmp_path: Path) -> None:
    ca = make("ca")
    context = server_context(make("server", ca), tmp_path / "server")
    account = tmp_path / "serviceaccount"
    account.mkdir()
    (account / "token").write_text(TOKEN + "\n")
    (account / "ca.crt").write_bytes(ca.cert_pem)
    (account / "namespace").write_text("kube-system")
    async with guard(context) as (url, server):
        host, port = url.removeprefix("https://").split(":")
        environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        config = in_cluster_config(environ=environ, service_account=account)
        async with Client.from_config(config) as client:
            assert client.namespace == "kube-system"
            assert (await client.get(Namespace, "default")).name == "default"
            server.token = "its-successor"
            (account / "token").write_text("its-successor")
            assert (await client.get(Namespace, "default")).name == "default"
        (account / "ca.crt").write_bytes(make("other").cert_pem)
        async with Client.from_config(config) as client:
            with pytest.raises(TransportError, match="not trusted"):
                await client.get(Namespace, "default")


async def test_insecure_and_tls_server_name_and_a_wrong_ca(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (url, _):
        await reads(write(tmp_path, {"server": url, "insecure-skip-tls-verify": True}, {"token": TOKEN}))
        wrong = {"server": url, "certificate-authority-data": encoded(make("other").cert_pem)}
        with pytest.raises(TransportError, match="not trusted"):
            await reads(write(tmp_path, wrong, {"token": TOKEN}))


async def test_through_a_proxy(tmp_path: Path) -> None:
    requests = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        requests.append(head.split()[0])
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
    assert requests == [b"CONNECT"]
