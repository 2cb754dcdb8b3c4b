"""Requests that are tried again, their delays, and those that are not tried again. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.transports import Through

from setpoint.client import (
    Backoff,
    Client,
    Conflict,
    InProcessTransport,
    Request,
    Response,
    RetryPolicy,
    ServiceUnavailable,
    TooManyRequests,
    TransportError,
    retry_on_conflict,
)
from setpoint.meta import Status
from setpoint.testing import virtual_time

from .conftest import Answer, Server, Thing, answer, failure

OK = answer({"metadata": {"name": "a"}})


def now() -> float:
    return asyncio.get_running_loop().time()


def busy(code: int, seconds: int | None = 2) -> Answer:
    new_failure = failure(code, {429: "TooManyRequests", 503: "ServiceUnavailable"}.get(code, ""))
    if seconds is not None:
        new_failure.headers["retry-after"] = str(seconds)
    return new_failure


@pytest.mark.parametrize("code", [429, 503, 500])
@virtual_time
async def test_429_and_5xx_are_tried_again_exactly_when_the_server_says(code: int) -> None:
    answers = [busy(code), busy(code, 3), OK]
    server = Server(lambda request: answers.pop(0))
    async with Client(InProcessTransport(server.handle)) as client:
        await client.create(Thing.named("a"))
    assert now() == 5.0
    assert len(server.requests) == 3


@virtual_time
async def test_no_retry_without_retry_after_and_none_for_other_codes() -> None:
    for bad in (busy(503, None), busy(409), busy(404)):
        server = Server(lambda request, bad=bad: bad)  # type: ignore[misc]
        async with Client(InProcessTransport(server.handle)) as client:
            with pytest.raises(Exception):  # noqa: B017, PT011
                await client.get(Thing, "a")
        assert len(server.requests) == 1
    assert now() == 0.0


@virtual_time
async def test_after_ten_retries_the_error_is_the_callers_with_its_delay() -> None:
    server = Server(lambda request: busy(429, 1))
    async with Client(InProcessTransport(server.handle)) as client:
        with pytest.raises(TooManyRequests, match=r"retry after 1 s") as caught:
            await client.get(Thing, "a")
    assert caught.value.retry_after == 1.0
    assert len(server.requests) == 11


@virtual_time
async def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    server = Server(lambda request: busy(503, 3600))
    async with Client(InProcessTransport(server.handle)) as client:
        with pytest.raises(ServiceUnavailable) as caught:
            await client.get(Thing, "a")
    assert (caught.value.retry_after, now()) == (3600.0, 0.0)


class Breaking(Through):
    """A transport whose connection breaks the first ``times`` times."""

    def __init__(self, times: int, *, reset: bool = True) -> None:
        super().__init__(InProcessTransport(Server(lambda request: OK).handle))
        self.left = times
        self.reset = reset

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        if self.left:
            self.left -= 1
            raise TransportError("reset by peer", sent=True, reset=self.reset)
        async with self.inner.send(request) as response:
            yield response


@virtual_time
async def test_reads_are_tried_again_when_the_connection_breaks_and_writes_are_not() -> None:
    async with Client(Breaking(2)) as client:
        await client.get(Thing, "a")
        assert now() == 2.0
    async with Client(Breaking(1)) as client:
        with pytest.raises(TransportError):
            await client.create(Thing.named("a"))
    async with Client(Breaking(1, reset=False)) as client:
        with pytest.raises(TransportError):
            await client.get(Thing, "a")


@virtual_time
async def test_a_watch_is_established_with_the_same_patience() -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b'{"type":"BOOKMARK","object":{}}\n'

    answers = [busy(429), Answer(body=stream())]
    async with Client(InProcessTransport(Server(lambda request: answers.pop(0)).handle)) as client:
        assert [event.type async for event in client.watch(Thing)] == ["BOOKMARK"]
    assert now() == 2.0


@virtual_time
async def test_a_stream_whose_refusal_breaks_off_is_one_answer() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"{"
        raise TransportError("broken", sent=True)

    client = Client(InProcessTransport(Server(lambda request: Answer(403, {}, broken())).handle))
    with pytest.raises(TransportError, match="broken"):
        async with client.stream("POST", "/api"):
            pass
    assert client.answers == {("POST", "403"): 1}


@virtual_time
async def test_the_discovery_of_a_copy_shares_retries_and_answers_with_the_original() -> None:
    events: list[str] = []
    empty = Answer(200, {"warning": '299 - "old"'}, b'{"kind":"APIGroupDiscoveryList"}')
    answers = [busy(429), empty, empty]
    client = Client(Breaking(0), on_warning=events.append, retry=RetryPolicy(attempts=0))
    copy = client.over(InProcessTransport(Server(lambda request: answers.pop(0)).handle))
    with pytest.raises(TooManyRequests):
        await copy.discovery.resources()
    await copy.discovery.resources()
    assert events == ["old"]
    assert client.answers == {("GET", "429"): 1, ("GET", "200"): 2}


@virtual_time
async def test_a_request_that_is_not_answered_meets_its_deadline() -> None:
    async def never(request: Request) -> Answer:
        await asyncio.Event().wait()
        return OK

    async with Client(InProcessTransport(Server(never).handle)) as client:
        with pytest.raises(TransportError, match="no answer to GET") as caught:
            await client.get(Thing, "a")
    assert caught.value.timed_out
    assert now() == 30.0


@virtual_time
async def test_a_stream_that_falls_silent_meets_its_idle_deadline() -> None:
    async def stream() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(50)
            yield b'{"type":"BOOKMARK","object":{}}\n'
        await asyncio.Event().wait()

    async with Client(InProcessTransport(Server(lambda request: Answer(body=stream())).handle)) as client:
        with pytest.raises(TransportError, match="sent nothing"):
            async for _ in client.watch(Thing, idle_timeout=60):
                pass
    assert now() == 210.0


@virtual_time
async def test_warnings_come_once_each() -> None:
    events: list[str] = []
    deprecated = '299 - "v1beta1 is deprecated", 299 k8s "say \\"v1\\""'
    server = Server(lambda request: Answer(200, {"warning": deprecated}, OK.body))
    async with Client(InProcessTransport(server.handle), on_warning=events.append) as client:
        for _ in range(3):
            await client.get(Thing, "a")
    assert events == ["v1beta1 is deprecated", 'say "v1"']


def conflict() -> Conflict:
    return Conflict(Status(code=409, reason="Conflict", message="changed"))


@virtual_time
async def test_conflicts_are_retried_up_to_the_steps_and_then_raised() -> None:
    calls: list[float] = []

    async def attempt() -> str:
        calls.append(now())
        if len(calls) < 3:
            raise conflict()
        return "done"

    assert await retry_on_conflict(attempt) == "done"
    assert len(calls) == 3

    async def always() -> None:
        calls.append(now())
        raise conflict()

    calls.clear()
    start = now()
    with pytest.raises(Conflict):
        await retry_on_conflict(always, backoff=Backoff(steps=4, initial=0.01, factor=5.0))
    assert [round(call - start, 3) for call in calls] == [0.0, 0.01, 0.06, 0.31]


@virtual_time
async def test_other_errors_stop_a_retry_at_once() -> None:
    calls = 0

    async def attempt() -> None:
        nonlocal calls
        calls += 1
        raise KeyError

    with pytest.raises(KeyError):
        await retry_on_conflict(attempt)
    assert calls == 1
