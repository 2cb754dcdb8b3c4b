"""Limits on the number of requests under way at once."""

from __future__ import annotations

import asyncio

import pytest
from tests.tasks import stop

from setpoint.client import AdaptiveLimiter, Client, InProcessTransport, Request, TooManyRequests
from setpoint.testing import virtual_time, wait_all_tasks_blocked

from .conftest import Answer, Server, Thing, answer, echo, failure

OK = answer({"metadata": {"name": "a"}})


@virtual_time
async def test_no_more_than_the_limit_are_under_way_and_all_get_through() -> None:
    most = now = 0

    async def slow(request: Request) -> Answer:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(1)
        now -= 1
        return echo({}, request)

    async with Client(InProcessTransport(Server(slow).handle), limiter=AdaptiveLimiter(most=5)) as client:
        await asyncio.gather(*(client.get(Thing, str(i)) for i in range(20)))
    assert most == 5
    assert asyncio.get_running_loop().time() == 4.0


@virtual_time
async def test_a_burst_of_429_halves_the_limit_once_and_answers_raise_it_again() -> None:
    limiter = AdaptiveLimiter(most=16)
    for _ in range(16):
        await limiter.enter()
    for _ in range(16):
        limiter.leave(throttled=True)
    assert limiter.limit == 8
    for _ in range(200):
        await limiter.enter()
        limiter.leave(throttled=False)
    assert limiter.limit == 16
    for _ in range(10):
        await limiter.enter()
        limiter.leave(throttled=True)
    assert limiter.limit == 1, "never below least"


@virtual_time
async def test_leases_never_wait() -> None:
    async def answering(request: Request) -> Answer:
        if "leases" not in request.path:
            await asyncio.Event().wait()
        return OK

    async with Client(InProcessTransport(Server(answering).handle), limiter=AdaptiveLimiter(most=1)) as client:
        stuck = asyncio.create_task(client.get(Thing, "a"))
        await wait_all_tasks_blocked()
        await client.request("GET", "/apis/coordination.k8s.io/v1/namespaces/x/leases/y")
        await stop(stuck)


@virtual_time
async def test_a_waiter_that_is_cancelled_takes_no_place() -> None:
    limiter = AdaptiveLimiter(most=1)
    await limiter.enter()
    waiting = [asyncio.create_task(limiter.enter()) for _ in range(3)]
    await wait_all_tasks_blocked()
    waiting[0].cancel()
    limiter.leave(throttled=False)
    waiting[1].cancel()  # its place has come already
    await asyncio.wait(waiting)
    assert [task.cancelled() for task in waiting] == [True, True, False]
    assert limiter.in_flight == 1


@virtual_time
async def test_waiters_that_are_cancelled_together_are_cancelled_and_do_not_fail() -> None:
    limiter = AdaptiveLimiter(most=2)
    for _ in range(2):
        await limiter.enter()
    waiting = [asyncio.create_task(limiter.enter()) for _ in range(5)]
    await wait_all_tasks_blocked()
    for task in waiting:
        task.cancel()
    limiter.leave(throttled=None)  # the first of them makes place for the next, which is cancelled, too
    await asyncio.wait(waiting)
    assert all(task.cancelled() for task in waiting)
    assert limiter.in_flight == 1
    await limiter.enter()


@virtual_time
async def test_a_throttled_request_slows_the_client_down() -> None:
    limiter = AdaptiveLimiter(most=8)
    server = Server(lambda request: failure(429, "TooManyRequests"))
    async with Client(InProcessTransport(server.handle), limiter=limiter) as client:
        with pytest.raises(TooManyRequests):
            await client.get(Thing, "a")
    assert (limiter.limit, limiter.in_flight) == (4, 0)
