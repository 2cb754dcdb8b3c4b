"""A transport's waits end with it, whenever it is closed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from setpoint.client import Client, ClientConfig, InProcessTransport, Request, StaticToken, TransportError
from setpoint.client.deadline_waits import Waits
from setpoint.testing import virtual_time, wait_all_tasks_blocked

from .conftest import Answer, Server, Thing, answer, listening


@pytest.mark.parametrize("first", ["deadline", "close"])
@virtual_time
async def test_closing_in_the_turn_in_which_a_deadline_passes_ends_all_waits(first: str) -> None:
    waits = Waits()
    loop = asyncio.get_running_loop()
    if first == "close":
        loop.call_at(5.0, waits.close)

    async def wait(deadline: float | None) -> None:
        async with waits.until(deadline, "late"):
            await asyncio.Event().wait()

    tasks = [asyncio.ensure_future(wait(deadline)) for deadline in (5.0, 7.0, None)]
    await wait_all_tasks_blocked()
    if first == "deadline":
        loop.call_at(5.0, waits.close)
    await asyncio.wait(tasks)
    assert loop.time() == 5.0
    for task in tasks:
        assert isinstance(task.exception(), TransportError)
    with pytest.raises(TransportError, match="is closed"):
        await wait(None)


@virtual_time
async def test_an_answer_in_the_process_may_take_many_steps_and_can_be_cancelled_in_each() -> None:
    undone: list[str] = []

    async def behave(request: Request) -> Answer:
        try:
            for _ in range(3):
                await asyncio.sleep(1.0)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            undone.append(request.path)
            raise
        if request.path == "/broken":
            raise KeyError(request.path)
        return answer({"path": request.path})

    transport = InProcessTransport(Server(behave).handle)

    async def ask(path: str, seconds: float | None = None) -> bytes:
        async with transport.send(Request("GET", path, timeout=seconds)) as response:
            return await response.read()

    loop = asyncio.get_running_loop()
    assert b"/whole" in await ask("/whole")
    assert loop.time() == 3.0
    with pytest.raises(KeyError):
        await ask("/broken")
    with pytest.raises(TransportError, match="no answer to GET /late in time"):
        await ask("/late", 1.5)
    cancelled = asyncio.ensure_future(ask("/cancelled"))
    loop.call_later(2.0, cancelled.cancel)
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert undone == ["/late", "/cancelled"]


@virtual_time
async def test_a_transport_can_be_closed_in_the_turn_in_which_a_request_is_late() -> None:
    async def never(request: Request) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    transport = InProcessTransport(Server(never).handle)

    async def ask(seconds: float) -> None:
        async with transport.send(Request("GET", "/", timeout=seconds)):
            raise AssertionError

    tasks = [asyncio.ensure_future(ask(seconds)) for seconds in (5.0, 60.0)]
    await wait_all_tasks_blocked()
    closing: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    loop.call_at(5.0, lambda: closing.append(loop.create_task(transport.close())))
    await asyncio.wait(tasks)
    assert [type(task.exception()) for task in tasks] == [TransportError] * 2
    assert len(closing) == 1
    await closing[0]
    assert loop.time() == 5.0


class _Failing(StaticToken):
    async def close(self) -> None:
        raise RuntimeError("the source of credentials can't be closed")


async def test_connections_are_closed_although_the_credentials_fail_to_close() -> None:
    async with listening(Server(lambda request: answer({"metadata": {"name": "a"}}))) as url:
        client = Client.from_config(ClientConfig(server=url, credentials=_Failing("x")))
        await client.get(Thing, "a")
        pool = client.transport._pool  # type: ignore[attr-defined]
        assert pool.connections
        with pytest.raises(RuntimeError, match="can't be closed"):
            await client.close()
        assert not pool.connections


class Silent:
    """The server's end of a WebSocket that sends nothing."""

    protocol = "v5.channel.k8s.io"

    async def serve(self, socket: Any) -> None:
        await socket.receive()


@dataclass
class Upgraded(Answer):
    status: int = 101
    upgrade: Silent | None = None


@virtual_time
async def test_a_web_socket_within_the_process_ends_with_its_transport() -> None:
    async def handle(request: Request) -> Answer:
        return Upgraded(upgrade=Silent())

    transport = InProcessTransport(handle)
    asyncio.get_running_loop().call_at(5.0, lambda: asyncio.ensure_future(transport.close()))
    with pytest.raises(TransportError, match="the transport is closed"):
        async with transport.connect(Request("GET", "/exec"), ["v5.channel.k8s.io"]) as socket:
            await socket.receive()
    assert asyncio.get_running_loop().time() == 5.0
    with pytest.raises(TransportError, match="the transport is closed"):
        async with transport.connect(Request("GET", "/exec"), ["v5.channel.k8s.io"]):
            pass


@virtual_time
async def test_a_web_socket_that_is_not_opened_meets_its_deadline() -> None:
    async def never(request: Request) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    transport = InProcessTransport(never)
    with pytest.raises(TransportError, match="no answer to GET /exec in time") as caught:
        async with transport.connect(Request("GET", "/exec", timeout=7.0), ["v5.channel.k8s.io"]):
            pass
    assert caught.value.timed_out
    assert asyncio.get_running_loop().time() == 7.0
