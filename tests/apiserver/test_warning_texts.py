"""Texts of warnings reach clients as they were written, over a socket and without one."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from tests.apiserver.harness import MAPS
from tests.apiserver.test_admission import VALIDATING, configuration, hooked, webhook

from setpoint.apiserver import HttpFront
from setpoint.client import Client, ClientConfig, HttpTransport, InProcessTransport
from setpoint.models.core_v1 import ConfigMap
from setpoint.webhook import Review

SENT = [
    "größer als 5 – 太大",
    'a "quoted" word, a \\ and 299 - "more"',
    "\N{GRINNING FACE}",
    "",
    "two\nlines",
    "a\ttab",
    "an escape \x1b[31m",
    "next\x85line",
]
SHOWN = SENT[:3]
"""The texts that a kube-apiserver would show: it drops empty ones and those with control characters."""


def warn(request: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True, "warnings": SENT}


@pytest.mark.parametrize("is_socket", [True, False])
async def test_a_warning_arrives_as_it_was_written(is_socket: bool) -> None:
    async with hooked(a=warn) as (api, _), HttpFront(api.server) as front:
        (await api.post(VALIDATING, configuration(webhook()))).ok()
        shown: list[str] = []
        config = ClientConfig(server=front.url)
        transport = HttpTransport(config) if is_socket else InProcessTransport(api.server.handle)
        async with Client(transport, on_warning=shown.append) as client:
            await client.create(ConfigMap.named("a", "default"))
        assert shown == SHOWN


async def test_each_warning_is_a_header_in_utf_8_as_kubectl_reads_it() -> None:
    async with hooked(a=warn) as (api, _), HttpFront(api.server) as front:
        (await api.post(VALIDATING, configuration(webhook()))).ok()
        body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
        host, port = front.url.removeprefix("http://").split(":")
        head = f"POST {MAPS} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        answer = await exchange(host, int(port), f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        lines = [line for line in answer.split(b"\r\n") if line.lower().startswith(b"warning: ")]
        assert [line.partition(b": ")[2].decode() for line in lines] == [
            '299 - "größer als 5 – 太大"',
            '299 - "a \\"quoted\\" word, a \\\\ and 299 - \\"more\\""',
            '299 - "\N{GRINNING FACE}"',
        ]


async def exchange(host: str, port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(host, port, family=socket.AF_INET)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("too large", ["too large"]),
        ("größer\n  als 5\r\n", ["größer als 5"]),
        ("an escape \x1b[31m", ["an escape [31m"]),
        (" \n", []),
    ],
)
def test_a_warning_of_a_check_is_a_line_that_servers_show(text: str, warnings: list[str]) -> None:
    review: Review[Any] = Review()
    review.warn(text)
    assert review.warnings == warnings
