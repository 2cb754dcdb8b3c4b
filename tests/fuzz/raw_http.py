"""Bytes on a connection: HTTP that is nearly right, or not at all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence

from hypothesis import strategies as st
from tests.apiserver.harness import Api, serving
from tests.fuzz.judge import FoundError, NoHooks, complaints, furnish
from tests.fuzz.requests import METHODS

from setpoint.apiserver import HttpFront

_STATUS = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3}) [^\r\n]*\r\n")
_BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}'
_LINES = (
    b"Host: 127.0.0.1",
    b"Host: evil.example.com",
    b"Origin: http://evil.example.com",
    b"Content-Type: application/json",
    b"Content-Encoding: gzip",
    b"Content-Encoding: deflate",
    b"Content-Encoding: br",
    b"Content-Length: 5",
    b"Content-Length: 0",
    b"Content-Length: -1",
    b"Content-Length: 1_0",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 63",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: x",
    b"Expect: 100-continue",
    b"Expect: x",
    b"Connection: Upgrade",
    b"Upgrade: websocket",
    b"Sec-WebSocket-Key: x",
    b"Connection: close",
    b"Impersonate-User: \xff\xfe",
    b"Impersonate-User: a",
    b"Impersonate-Group: a",
    b"Impersonate-Group: b",
    b"Impersonate-Extra-x%2fy: a",
    b"Impersonate-Uid: a",
    b"Accept: application/yaml",
    b"Accept-Encoding: gzip",
    b"X: " + b"x" * 9_000,
    b"X: " + b"x" * 100_000,
    b"\xff: x",
    b": x",
    b" folded",
    b"no colon",
    b"A: \x00",
)
_TARGETS = (
    b"/api/v1/namespaces/default/configmaps",
    b"/api/v1/namespaces/default/configmaps/web",
    b"/api/v1/pods?watch=1&timeoutSeconds=0",
    b"/api/v1/pods?limit=%D9%A3",
    b"/%ff%fe",
    b"/\xff",
    b"*",
    b"host:443",
    b"http://evil/api",
    b"//evil/api",
    b"/api/v1/pods?" + b"x=y&" * 3_000,
    b"/" + b"x" * 9_000,
    b"/" + b"x" * 200_000,
    b"/a b",
    b"/a#b",
    b"",
)
_CHUNKS = (b"3f\r\n%s\r\n0\r\n\r\n" % _BODY, b"1\r\nx\r\n" * 500, b"x\r\n", b"-1\r\n", b"ffffffffffffffff\r\nx", b"0\r\nA: b\r\n\r\n", b"0\r\n" + b"A: b\r\n" * 5_000, b"1;" + b"x" * 9_000 + b"\r\n")  # fmt: skip  # noqa: E501


@st.composite
def connections(draw: st.DrawFn) -> bytes:
    """All that one client sends."""
    sent = b""
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 9)) == 0:
            sent += draw(st.binary(max_size=60) | st.just(b"\x16\x03\x01\x00\xa5\x01\x00") | st.just(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))  # fmt: skip  # noqa: E501
            continue
        method = draw(st.sampled_from(METHODS)).encode()
        version = draw(st.sampled_from([b"HTTP/1.1"] * 6 + [b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"x", b""]))
        sent += b"%s %s %s\r\n" % (method, draw(st.sampled_from(_TARGETS)), version)
        lines = draw(st.lists(st.sampled_from(_LINES), max_size=4))
        if draw(st.integers(0, 9)) == 0:
            lines += [b"X-%d: y" % n for n in range(draw(st.sampled_from([200, 5_000])))]
        sent += b"".join(line + b"\r\n" for line in lines) + b"\r\n"
        sent += draw(st.just(b"") | st.just(_BODY) | st.sampled_from(_CHUNKS) | st.binary(max_size=70))
    return sent


_SILENCE = 0.5
_PATIENCE = 0.1
"""Seconds that the client and the server wait for more."""


async def raw_session(sent: Sequence[bytes]) -> None:
    """Each on a connection of its own. Raises FoundError."""
    async with (
        serving(webhook_caller=NoHooks()) as api,
        HttpFront(api.server, grace=0.5, head_timeout=_PATIENCE, body_timeout=_PATIENCE) as front,
    ):
        await furnish(api)
        for data in sent:
            await _connection(api, front, data)


async def _connection(api: Api, front: HttpFront, data: bytes) -> None:
    told = f"{len(data)} bytes {data[:600]!r}"
    with complaints("setpoint", "aiohttp", "asyncio") as errors:
        try:
            async with asyncio.timeout(30):
                answer = await _exchange(front, data)
        except TimeoutError:
            raise FoundError("no end", told) from None
    for record in errors:
        problem = record.exc_info[1] if record.exc_info else None
        raise FoundError(
            f"log {type(problem).__name__} {record.getMessage()[:40]}", f"{told}: {problem!r}"
        ) from problem
    for match in _STATUS.finditer(answer):
        if match[1] == b"500":
            raise FoundError("500", f"{told}: {answer[match.start() : match.start() + 600]!r}")
    for text in (b"Traceback", b"aiohttp", b"b'", b"b&#39;"):
        if text in answer:
            raise FoundError(f"Python shows through: {text!r}", f"{told}: {answer[:800]!r}")
    if answer and not _STATUS.match(answer):
        raise FoundError("not HTTP", f"{told}: {answer[:200]!r}")
    head, _, body = answer.partition(b"\r\n\r\n")
    if answer and head.split(b" ")[1][:1] in (b"4", b"5") and b"application/json" in head:
        length = re.search(rb"(?i)content-length: ([0-9]+)", head)
        try:
            json.loads(body[: int(length[1])] if length else body)
        except ValueError as problem:
            if b"HEAD" not in data:
                raise FoundError("no Status", f"{told}: {answer[:600]!r}") from problem
    if (await api.get("/livez")).status != 200:
        raise FoundError("not alive", told)


async def _exchange(front: HttpFront, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(front.host, front.port)
    answer = b""
    try:
        writer.write(data)
        await writer.drain()
        while chunk := await asyncio.wait_for(reader.read(1 << 16), _SILENCE):
            answer = (answer + chunk)[: 1 << 20]
    except (ConnectionError, TimeoutError):
        pass  # the server may close as soon as it has seen enough, and waits for more where it has not
    finally:
        writer.close()
    return answer
