"""Servers listen as long as their listener is open."""

from __future__ import annotations

import asyncio

import pytest
from tests.tasks import drop

from setpoint.serving import HttpRequest, HttpService, Listener, Reply

HOST = "127.0.0.1"


def reply(status: int, text: str) -> Reply:
    return Reply(status, {}, text.encode())


def admit(_request: HttpRequest) -> int:
    return 0


@pytest.mark.parametrize("steps", range(8))
async def test_a_cancelled_start_leaves_the_port_free(steps: int) -> None:
    service = HttpService(admit, lambda _request, _body: reply(200, ""), reply)
    first = Listener(service, name="the test", host=HOST, port=0)
    await first.open()
    first.close()
    second = Listener(service, name="the test", host=HOST, port=first.port)
    opening = asyncio.create_task(second.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    if opening.done():
        second.close()
    await drop(opening)
    third = Listener(service, name="the test", host=HOST, port=first.port)
    await third.open()
    third.close()
