"""Death is SIGKILL: nothing of what died runs any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar

import pytest

from setpoint.simulation.execution.in_process import suppress_destructor_errors
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import SimulationLoop


@pytest.fixture
def loop() -> Iterator[SimulationLoop]:
    with suppress_destructor_errors():
        loop = SimulationLoop()
        yield loop
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()


def in_it(loop: SimulationLoop, story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story()

    loop.run_until_complete(whole())


def test_no_finally_of_a_killed_process_runs(loop: SimulationLoop) -> None:
    calls: list[str] = []
    dying, living = Actor("dying", "x"), Actor("living", "x")

    async def work(name: str) -> None:
        try:
            for _ in range(3):
                await asyncio.sleep(1.0)
                calls.append(name)
        finally:
            calls.append(f"{name} ends")

    async def story() -> None:
        dying.start(work("dying"))
        living.start(work("living"))
        await asyncio.sleep(1.5)
        loop.kill(dying)
        await asyncio.sleep(10.0)

    in_it(loop, story)
    assert calls == ["dying", "living", "living", "living", "living ends"]


def test_what_others_do_for_the_dead_wakes_nobody(loop: SimulationLoop) -> None:
    calls: list[str] = []
    actor = Actor("dying", "x")

    async def story() -> None:
        event = asyncio.Event()

        async def wait() -> None:
            await event.wait()
            calls.append("woken")

        actor.start(wait())
        await asyncio.sleep(1.0)
        loop.kill(actor)
        event.set()
        await asyncio.sleep(1.0)

    in_it(loop, story)
    assert calls == []


def test_a_paused_process_goes_on_with_all_that_is_overdue(loop: SimulationLoop) -> None:
    times: list[float] = []
    actor = Actor("paused", "x")

    async def tick() -> None:
        while True:
            await asyncio.sleep(1.0)
            times.append(loop.time())

    async def story() -> None:
        actor.start(tick())
        await asyncio.sleep(2.5)
        loop.pause(actor)
        await asyncio.sleep(10.0)
        assert times == [1.0, 2.0]
        loop.resume(actor)
        await asyncio.sleep(1.5)
        loop.kill(actor)

    in_it(loop, story)
    assert times == [1.0, 2.0, 12.5, 13.5]


def test_a_process_has_none_of_the_context_of_the_one_that_is_killed(loop: SimulationLoop) -> None:
    request = ContextVar("request", default="none")
    values: list[str] = []

    async def work() -> None:
        values.append(request.get())

    async def story() -> None:
        request.set("that of the reconcile in which the process was killed")
        await Actor("next", "x").start(work())

    in_it(loop, story)
    assert values == ["none"]
