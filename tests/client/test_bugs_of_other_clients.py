"""Bugs of other clients that no other test covers; see docs/parity/client.md."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from setpoint import blocking
from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, ClientConfig, InProcessTransport, NotFound, Request, TokenFile
from setpoint.models.core_v1 import ConfigMap, Namespace

from .certificates import make, server_context
from .conftest import Answer, Server, Thing, answer, failure, listening
from .test_kubeconfig_forms import encoded, reads, write


async def test_credentials_that_change_do_not_end_streams(tmp_path: Path) -> None:
    """A session that was closed to authenticate anew used to kill every watcher forever."""
    token = tmp_path / "token"
    token.write_text("old")
    go = asyncio.Event()
    valid = ["Bearer old"]

    async def stream() -> AsyncIterator[bytes]:
        yield b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
        await go.wait()
        yield b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}\n'

    def behave(request: Request) -> Answer:
        if request.headers.get("authorization") not in valid:
            return failure(401, "Unauthorized")
        return Answer(body=stream()) if dict(request.query).get("watch") else answer({"metadata": {"name": "a"}})

    async with listening(Server(behave)) as url:
        config = ClientConfig(server=url, credentials=TokenFile(token))
        async with Client.from_config(config) as client, client.watch(Thing) as events:
            await anext(events)
            token.write_text("new")
            valid[:] = ["Bearer new"]
            assert (await client.get(Thing, "a")).name == "a"
            go.set()
            assert [event.resource_version async for event in events] == ["2"]


async def test_the_client_has_no_threads() -> None:
    before = set(threading.enumerate())
    async with ApiServer() as server, HttpFront(server) as front:
        async with Client.from_config(ClientConfig(server=front.url)) as client:
            await asyncio.gather(*(client.list(ConfigMap) for _ in range(20)))
            async with client.watch(Namespace) as events:
                await anext(events)
        assert set(threading.enumerate()) == before


async def test_what_apply_sends_is_owned_and_typed() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle), field_manager="me") as client:
        applied = await client.apply(ConfigMap.named("a", "default", data={"x": "1"}))
        assert isinstance(applied, ConfigMap)
        assert [owner.manager for owner in applied.metadata.managed_fields] == ["me"]


def jwt(expires: int) -> str:
    parts = ({"alg": "none"}, {"exp": expires})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".x"


async def test_an_oidc_user_and_a_tls_server_name_of_a_kubeconfig(tmp_path: Path) -> None:
    ca = make("ca")
    context = server_context(make("server", ca, names=("elsewhere",)), tmp_path / "server")
    seen: list[str] = []

    class Noting(ApiServer):
        async def handle(self, request: Request) -> object:  # type: ignore[override]
            seen.append(request.headers.get("authorization", ""))
            return await super().handle(request)

    token = jwt(4_000_000_000)
    provider = {"idp-issuer-url": "https://127.0.0.1:1", "client-id": "c", "id-token": token, "refresh-token": "r"}
    async with Noting() as server, HttpFront(server, tls=context) as front:
        cluster = {
            "server": front.url,
            "certificate-authority-data": encoded(ca.cert_pem),
            "tls-server-name": "elsewhere",
        }
        await reads(write(tmp_path, cluster, {"auth-provider": {"name": "oidc", "config": provider}}))
    assert seen[-1] == f"Bearer {token}"  # what came before is the server's own


DOCS = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("place", range(len(EXAMPLES)))
async def test_the_examples_of_the_documentation_work(place: int) -> None:
    """Each sees ``client`` on the embedded server, with what the first one imports."""
    source = EXAMPLES[place]
    names: dict[str, object] = {}
    exec(compile(EXAMPLES[0], str(DOCS), "exec"), names)
    async with ApiServer() as server, HttpFront(server) as front:
        names["url"] = front.url
        if "blocking" in source:
            assert names["blocking"] is blocking
            await asyncio.to_thread(exec, compile(source, str(DOCS), "exec"), names)
            return
        async with Client(InProcessTransport(server.handle)) as client:
            names["client"] = client
            await client.create(ConfigMap.named("settings", "default", data={"mode": "slow"}))
            body = "".join(f"    {line}\n" for line in source.splitlines())
            exec(compile(f"async def example():\n{body}    return None\n", str(DOCS), "exec"), names)
            await names["example"]()  # type: ignore[operator]


@pytest.mark.parametrize(
    "message",
    [
        failure(404, "NotFound", message="the server could not find the requested resource"),
        Answer(404, {"content-type": "text/plain; charset=utf-8"}, b"404 page not found\n"),
    ],
    ids=["no version", "no group"],
)
async def test_what_an_older_server_does_not_serve_is_named(message: Answer) -> None:
    """Such as CronJobs of batch/v1 before 1.21, or custom resources without a CRD: API servers name nothing."""
    async with Client(InProcessTransport(Server(lambda request: message).handle)) as client:
        words = r"list things.*NotFound \(404\): .*requested resource: it does not serve things of v1$"
        with pytest.raises(NotFound, match=words):
            await client.list(Thing)
