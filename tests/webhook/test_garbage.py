"""A webhook server as a process of its own, and everything that must not take it down."""

from __future__ import annotations

import asyncio
import io
import os
import random
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.ports import reserved_port
from tests.programs import Program, program

from setpoint.webhook.certificate_authority import issue, make_authority

from .mykind import document, encoded, review
from .serving import HOST, trusting

pytestmark = pytest.mark.wall_clock

APP = Path(__file__).parents[2] / "examples" / "mykind" / "mykinds.py"
MUTATE = "/mutate-grp-example-com-v1alpha2-mykind"
VALIDATE = "/validate-grp-example-com-v1alpha2-mykind"
CONVERT = "/convert"
HEADERS = {"content-type": "application/json"}


class Served:
    """The process, and how to reach it."""

    def __init__(self, running: Program, port: int, context: ssl.SSLContext, session: aiohttp.ClientSession) -> None:
        self.running = running
        self.port = port
        self.context = context
        self.session = session

    async def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        async with self.session.post(path, data=io.BytesIO(body), headers={**HEADERS, **headers}) as answer:
            return answer.status, await answer.json()

    async def still_answers(self) -> None:
        status, answer = await self.post(VALIDATE, encoded(review(document(replicas=1))))
        assert (status, answer["response"]["allowed"]) == (200, True)

    def memory(self) -> int:
        """Bytes that are resident."""
        statm = Path(f"/proc/{self.running.process.pid}/statm").read_text()
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[Served]:
    authority = make_authority("x", now=datetime.now(UTC), lifetime=timedelta(days=1))
    pair = issue(authority, [HOST], now=datetime.now(UTC), lifetime=timedelta(hours=1))
    (home / "tls.crt").write_bytes(pair.certificate)
    (home / "tls.key").write_bytes(pair.key)
    options = ("--cert-dir", home, "--host", HOST, "--drain-delay", "0")
    with reserved_port() as port:
        async with program("-m", "setpoint", "webhook", APP, *options, "--port", port, home=home) as running:
            await running.until(lambda p: any("are served" in line for line in p.err), "line that says that it serves")
            context = trusting(authority.certificate)
            connector = aiohttp.TCPConnector(ssl=context, limit=0)
            async with aiohttp.ClientSession(f"https://{HOST}:{port}", connector=connector) as session:
                yield Served(running, port, context, session)
            assert await running.signalled(signal.SIGTERM) == 0
            assert not any("Traceback" in line for line in running.err), running.printed()


def conversion(**changes: Any) -> bytes:
    request = {"uid": "1", "desiredAPIVersion": "grp.example.com/v1alpha1", "objects": [document()], **changes}
    return encoded({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


def nested(depth: int) -> bytes:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    return encoded(review(document(template={"spec": {"containers": [], "x": "DEEP"}}))).replace(b'"DEEP"', deep)


async def test_what_is_no_review_is_refused_by_its_reason(tmp_path: Path) -> None:
    good = encoded(review(document()))
    beta = good.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1")
    old = conversion().replace(b"k8s.io/v1", b"k8s.io/v1beta1")
    other = encoded(review({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}))
    async with serving(tmp_path) as served:
        for path, body, headers, status, says in (
            (VALIDATE, good, {"content-type": "text/plain"}, 415, "must be application/json"),
            (VALIDATE, good, {"content-encoding": "gzip"}, 415, "must not be set"),
            (VALIDATE, good[:-40], {}, 400, "truncated"),
            (VALIDATE, b"", {}, 400, "the body is not a valid AdmissionReview"),
            (VALIDATE, b"\x00" * 1000, {}, 400, "the body is not a valid AdmissionReview"),
            (VALIDATE, b" " * (7 * 1024 * 1024 + 1), {}, 413, "the body is larger than"),
            (VALIDATE, beta, {}, 400, "v1: admissionReviewVersions must be [v1]"),
            (CONVERT, old, {}, 400, "v1: conversionReviewVersions must be [v1]"),
            (CONVERT, good, {}, 400, "takes only ConversionReview of apiextensions.k8s.io/v1"),
            ("/nowhere", good, {}, 404, "there is no webhook at /nowhere"),
        ):
            try:
                current_result, answer = await served.post(path, body, **headers)
            except aiohttp.ClientConnectionError:
                if status != 413:
                    raise
                continue  # the answer came while the body was still being sent
            assert (current_result, answer["kind"]) == (status, "Status"), (path, body[:80], answer)
            assert says in answer["message"]
            await served.still_answers()
        deep = ("nested too deeply", "allowed")  # it depends on how much the parser's stack holds
        for request, outcomes in (
            (other, ("this webhook is for grp.example.com/v1alpha2 Mykind, not for v1 Pod",)),
            (good.replace(b'"CREATE"', b'"EXPLODE"'), ("unknown operation 'EXPLODE'",)),
            (nested(900), deep),
            (nested(100_000), deep),
        ):
            for path in (MUTATE, VALIDATE):
                _, answer = await served.post(path, request)
                response = answer.get("response", {"status": answer})
                words = response.get("status", {}).get("message", "allowed")
                assert any(outcome in words for outcome in outcomes), answer
                await served.still_answers()
        for changes, says in (
            ({"desiredAPIVersion": "grp.example.com/v9"}, "there is no version v9"),
            ({"desiredAPIVersion": "other.example.com/v1"}, "the groups differ"),
            ({"objects": [document(), 7]}, "object 1 of the request is not an object but int"),
            ({"objects": [{**document(), "kind": "Other"}]}, "no conversion for Other"),
        ):
            status, answer = await served.post(CONVERT, conversion(**changes))
            result = answer["response"]["result"]
            assert (status, result["status"]) == (200, "Failure")
            assert says in result["message"]


async def test_a_thousand_connections_are_answered_while_others_say_nothing(tmp_path: Path) -> None:
    body = encoded(review(document(replicas=0)))
    async with serving(tmp_path) as served:
        await served.still_answers()
        before = served.memory()
        silent = [await asyncio.open_connection(HOST, served.port) for _ in range(200)]  # not even a handshake
        slow = [await asyncio.open_connection(HOST, served.port, ssl=served.context) for _ in range(50)]
        for number, (_, writer) in enumerate(slow):
            writer.write(b"POST /convert HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{"[: 5 + number * 2])
        head = f"POST {VALIDATE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        asked = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

        async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(asked)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            rest = await reader.readuntil(b"\r\n\r\n")
            assert b"nothing will run" in await reader.readexactly(int(rest.rpartition(b"content-length: ")[2]))

        many = []
        for _ in range(20):  # a client that is silent for ten seconds is cut off, so each asks at once
            opening = (asyncio.open_connection(HOST, served.port, ssl=served.context) for _ in range(50))
            opened = await asyncio.gather(*opening)
            await asyncio.gather(*(ask(*item) for item in opened))
            many += opened
        await asyncio.gather(*(ask(*item) for item in many))
        assert served.memory() - before < 1250 * 60_000
        slow += many
        for _, writer in (*silent, *slow):
            writer.transport.abort()
        await served.still_answers()


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00" + b"\x00" * 512, b"GET / HTTP/1.1\r\n\r\n", random.Random(1).randbytes(4096)]
)
async def test_what_is_no_tls_is_cut_off(tmp_path: Path, garbage: bytes) -> None:
    async with serving(tmp_path) as served:
        reader, writer = await asyncio.open_connection(HOST, served.port)
        writer.write(garbage)
        with suppress(ConnectionError):
            assert len(await reader.read()) < 100  # an alert, or nothing
        writer.close()
        await served.still_answers()
