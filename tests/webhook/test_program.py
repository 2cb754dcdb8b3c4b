"""Webhooks as a program of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from tests.programs import DEADLINE

from setpoint.apiserver import ApiServer
from setpoint.cache import InformerFactory
from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.webhook import Admission, MemoryCertificates, Review, Webhooks, WebhookServer
from setpoint.webhook.certificate_authority import issue, make_authority
from setpoint.webhook.webhook_program import serve_webhooks

from .mykind import VALIDATE, Mykind, document, encoded, mykind_admission, review
from .serving import HOST, trusting

pytestmark = pytest.mark.wall_clock

APP = textwrap.dedent(
    """
    from setpoint.crd import CustomResource
    from setpoint.meta import Model
    from setpoint.webhook import Admission

    class MykindSpec(Model):
        replicas: int = 1

    class Mykind(CustomResource, group="grp.example.com", version="v1alpha2"):
        spec: MykindSpec = MykindSpec()

    def check(mykind, review):
        if mykind.spec.replicas > 3:
            review.invalid("spec.replicas", mykind.spec.replicas, "at most 3")

    admission = Admission(Mykind).validates(check)
    the_same = admission
    """
)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: x, user: {}}]
"""


async def run(*arguments: Any) -> asyncio.subprocess.Process:
    main = "import sys; from setpoint.cli.webhook import command; command(sys.argv[1:])"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", main, *map(str, arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def test_the_program_serves_from_files_and_drains_when_told_to(tmp_path: Path, port: int) -> None:
    (app := tmp_path / "app.py").write_text(APP)
    authority = make_authority("x", now=datetime.now(UTC), lifetime=timedelta(days=1))
    pair = issue(authority, [HOST], now=datetime.now(UTC), lifetime=timedelta(hours=1))
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    program = await run(app, "--cert-dir", tmp_path, "--host", HOST, "--port", port, "--drain-delay", 0)
    try:
        connector = aiohttp.TCPConnector(ssl=trusting(authority.certificate))
        async with aiohttp.ClientSession(f"https://{HOST}:{port}", connector=connector) as session:
            async with asyncio.timeout(DEADLINE):
                while True:
                    try:
                        async with session.get("/readyz") as answer:
                            assert answer.status == 200
                            break
                    except aiohttp.ClientConnectorError:
                        assert program.returncode is None
                        await asyncio.sleep(0.05)
            body = encoded(review(document(replicas=4)))
            headers = {"content-type": "application/json"}
            async with session.post(VALIDATE, data=body, headers=headers) as answer:
                assert (await answer.json())["response"]["status"]["code"] == 422
        os.kill(program.pid, signal.SIGTERM)
        _, errors = await asyncio.wait_for(program.communicate(), DEADLINE)
        assert program.returncode == 0, errors.decode()
    finally:
        if program.returncode is None:
            program.kill()
            await program.communicate()


async def test_manifests_print_the_configurations(tmp_path: Path) -> None:
    (app := tmp_path / "app.py").write_text(APP)
    program = await run("manifests", app, "--service", "mykind", "--namespace", "system")
    printed, errors = await program.communicate()
    assert program.returncode == 0, errors.decode()
    (document,) = yaml.safe_load_all(printed)
    assert document["kind"] == "ValidatingWebhookConfiguration"
    assert document["metadata"]["name"] == "grp.example.com"
    assert document["webhooks"][0]["clientConfig"]["service"]["name"] == "mykind"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cert-dir", "/nowhere"], "the serving certificate can't be read: /nowhere/tls.crt: No such file"),
        (["--cert-dir", "/nowhere", "--url", "https://x"], "give exactly one of --cert-dir, --service and --url"),
        (["--url", "http://x"], "'http://x' must be of the form https://"),
    ],
)
async def test_failures_are_one_line(tmp_path: Path, arguments: list[str], says: str) -> None:
    (app := tmp_path / "app.py").write_text(APP)
    (kubeconfig := tmp_path / "config").write_text(KUBECONFIG)
    program = await run(app, *arguments, "--kubeconfig", kubeconfig)
    _, errors = await program.communicate()
    assert program.returncode == 1
    assert errors.decode().startswith(f"setpoint webhook: {says}")
    assert errors.count(b"\n") == 1


async def test_reads_wait_for_their_caches_and_nothing_else_does() -> None:
    async def pool_exists(mykind: Mykind, review: Review[Mykind]) -> None:
        if await review.get(ConfigMap, mykind.spec.pool) is None:
            review.not_found("spec.pool", mykind.spec.pool)
        assert [config_map.name for config_map in await review.list(ConfigMap)] == ["a"]

    class Slow(InProcessTransport):
        let_go = asyncio.Event()

        def send(self, request: Any) -> Any:
            return (
                _After(self.let_go, super().send(request)) if "watch" in dict(request.query) else super().send(request)
            )

    async with ApiServer(now=lambda: datetime.now(UTC)) as api:
        transport = Slow(api.handle)
        async with Client(transport) as client:
            await client.create(Namespace.named("other"))
            await client.create(ConfigMap.named("a", "default"))
            await client.create(ConfigMap.named("b", "other"))
            factory = InformerFactory(client)
            reading = Admission(Mykind, name="reads").validates(pool_exists).reads(ConfigMap)
            webhooks = Webhooks(mykind_admission(), reading, factory=factory)
            server = WebhookServer(webhooks, MemoryCertificates(), host=HOST, port=0)
            serving = asyncio.create_task(serve_webhooks(server, factory=factory))
            await server.ready.wait()
            asked = encoded(review(document(pool="a")))
            assert (await webhooks.handle_review(VALIDATE, asked)).status == 200
            late = await webhooks.handle_review(f"{VALIDATE}-reads", asked, timeout=0.1)
            assert json.loads(late.body)["message"] == (
                "the webhook did not answer within 0.1 s; the cache of configmaps has not synced"
            )
            waiting = asyncio.create_task(webhooks.handle_review(f"{VALIDATE}-reads", asked))
            transport.let_go.set()
            assert json.loads((await waiting).body)["response"]["allowed"] is True
            asked = encoded(review(document(pool="b")))
            refused = await webhooks.handle_review(f"{VALIDATE}-reads", asked)
            assert json.loads(refused.body)["response"]["status"]["details"]["causes"][0]["field"] == "spec.pool"
            server.stop()
            await serving


class _After:
    def __init__(self, event: asyncio.Event, inner: Any) -> None:
        self.event = event
        self.inner = inner

    async def __aenter__(self) -> Any:
        await self.event.wait()
        return await self.inner.__aenter__()

    async def __aexit__(self, *error: Any) -> Any:
        return await self.inner.__aexit__(*error)


async def test_a_read_that_was_not_declared_is_a_defect(caplog: pytest.LogCaptureFixture) -> None:
    async def peeks(mykind: Mykind, review: Review[Mykind]) -> None:
        await review.get(Namespace, "default")

    reply = await Webhooks(Admission(Mykind).validates(peeks)).handle_review(VALIDATE, encoded(review(document())))
    assert reply.status == 500
    assert "Namespace was not declared: add .reads(Namespace)" in caplog.text
