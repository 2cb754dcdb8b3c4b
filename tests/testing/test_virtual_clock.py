"""Virtual time: what its loop promises."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import inspect
import math
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.simulation.sandbox.event_loop import SimulationLoop
from setpoint.testing import (
    EPOCH,
    Deadlock,
    LeakedTasks,
    Livelock,
    TimeLimitExceeded,
    UnhandledErrors,
    VirtualTimeLoop,
    advance,
    now,
    run,
    virtual_time,
    wait_all_tasks_blocked,
)


def loop_time() -> float:
    return asyncio.get_running_loop().time()


def test_a_long_sleep_takes_no_real_time() -> None:
    async def main() -> float:
        assert loop_time() == 0.0
        await asyncio.sleep(1000)
        return loop_time()

    before = time.perf_counter()
    assert run(main()) == 1000.0
    assert time.perf_counter() - before < 100.0  # whatever else the machine does


@virtual_time
async def test_sleepers_wake_in_the_order_of_their_deadlines_at_exactly_these() -> None:
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append((name, loop_time()))

    async with asyncio.TaskGroup() as group:
        for name, seconds in [("c", 3.3), ("a", 0.1), ("b", 1e5), ("d", 0.0)]:
            group.create_task(sleeper(name, seconds))
    assert woken == [("d", 0.0), ("a", 0.1), ("c", 3.3), ("b", 1e5)]


def test_the_same_program_takes_the_same_steps() -> None:
    async def main() -> list[tuple[int, float]]:
        steps: list[tuple[int, float]] = []
        lock = asyncio.Lock()

        async def worker(number: int) -> None:
            for turn in range(5):
                await asyncio.sleep((number * 7 + turn * 3) % 5)
                async with lock:
                    await asyncio.sleep(0.5)
                    steps.append((number, loop_time()))

        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(worker(number))
        return steps

    assert run(main()) == run(main())


@virtual_time
async def test_timeouts_fire_at_their_virtual_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await asyncio.sleep(50)
    assert loop_time() == 5.0
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 10)
    assert loop_time() == 15.0
    assert await asyncio.wait_for(asyncio.sleep(1, "in time"), 10) == "in time"
    done, pending = await asyncio.wait([asyncio.ensure_future(asyncio.sleep(100))], timeout=2)
    assert not done
    for task in pending:
        task.cancel()
    assert loop_time() == 18.0


@virtual_time
async def test_call_at_runs_at_exactly_its_time() -> None:
    called: list[float] = []
    loop = asyncio.get_running_loop()
    loop.call_at(7.25, lambda: called.append(loop.time()))
    loop.call_later(0.1 + 0.2, lambda: called.append(loop.time()))
    await asyncio.sleep(10)
    assert called == [0.1 + 0.2, 7.25]


@pytest.mark.parametrize("end", [0.1, 1e6, 1e9, 5e-324])
@virtual_time(limit=None)
async def test_no_timer_runs_before_its_time_however_close_it_is(end: float) -> None:
    loop = asyncio.get_running_loop()
    before = math.nextafter(end, 0)
    called: list[float] = []
    for when in (end, before, end):
        loop.call_at(when, lambda: called.append(loop.time()))
    await asyncio.sleep(end)
    assert called == [before, end, end]


@virtual_time
async def test_the_clock_stands_still_while_a_thread_works() -> None:
    release = threading.Event()

    def job() -> str:
        assert release.wait(10)
        return "done"

    async def impatient() -> None:
        await asyncio.sleep(60)
        overtaken.append(loop_time())

    overtaken: list[float] = []
    sleeper = asyncio.create_task(impatient())
    working = asyncio.create_task(asyncio.to_thread(job))
    for _ in range(10):
        await asyncio.sleep(0)
    threading.Timer(0.02, release.set).start()
    assert await working == "done"
    assert loop_time() == 0.0
    assert not overtaken
    await sleeper
    assert overtaken == [60.0]


@virtual_time
async def test_errors_of_threads_pass_through() -> None:
    def job() -> None:
        raise LookupError("in the thread")

    with pytest.raises(LookupError, match="in the thread"):
        await asyncio.to_thread(job)


@virtual_time
async def test_a_cancelled_job_still_counts_until_its_thread_ends() -> None:
    loop = asyncio.get_running_loop()
    ended: list[float] = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        started, release = threading.Event(), threading.Event()

        def job() -> None:
            started.set()
            release.wait(10)
            loop.call_soon_threadsafe(lambda: ended.append(loop.time()))

        future = loop.run_in_executor(pool, job)
        started.wait(10)
        future.cancel()
        threading.Timer(0.02, release.set).start()
        await asyncio.sleep(5)
    assert ended == [0.0]
    assert loop.time() == 5.0


@pytest.mark.parametrize("make_loop", [VirtualTimeLoop, SimulationLoop])
def test_jobs_that_wait_for_the_loop_or_for_a_free_thread_let_time_pass(make_loop: type[VirtualTimeLoop]) -> None:
    async def main() -> tuple[list[int], float]:
        loop = asyncio.get_running_loop()

        def job(number: int) -> int:
            return asyncio.run_coroutine_threadsafe(asyncio.sleep(10, number), loop).result()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return await asyncio.gather(*(loop.run_in_executor(pool, job, n) for n in range(5))), loop.time()

    loop = make_loop()
    assert loop.run_until_complete(main()) == ([0, 1, 2, 3, 4], 30.0)
    loop.close()


def test_many_short_jobs_never_look_like_a_deadlock() -> None:
    async def main() -> list[int]:
        return await asyncio.gather(*[asyncio.to_thread(lambda n=n: n) for n in range(300)])

    assert run(main()) == list(range(300))


def test_a_program_that_can_never_go_on_is_reported_with_its_tasks() -> None:
    async def waits_for_nobody() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits_for_nobody(), name="the-stuck-one")

    with pytest.raises(Deadlock) as caught:
        run(main())
    report = str(caught.value)
    assert "the-stuck-one" in report
    assert "in test_a_program_that_can_never_go_on_is_reported_with_its_tasks.<locals>.waits_for_nobody" in report
    assert "locks.py" in report, "the innermost line it waits at"
    assert __file__ in report


def test_a_deadlock_is_found_after_the_last_timer() -> None:
    async def main() -> None:
        await asyncio.sleep(30)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match=r"at 30\.0 s"):
        run(main())


def test_clean_up_runs_after_a_deadlock() -> None:
    cleaned: list[float] = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append(loop_time())

    with pytest.raises(Deadlock):
        run(main())
    assert cleaned == [1.0]


def test_a_hot_loop_is_reported() -> None:
    async def main() -> None:
        while True:  # noqa: ASYNC110 -- a hot loop is the point
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="iterated 1000 times"):
        run(main(), loop_factory=lambda limit: VirtualTimeLoop(limit=limit, max_turns=1000))


def test_the_limit_of_virtual_time_holds() -> None:
    reached: list[float] = []

    @virtual_time(limit=3600)
    async def forever() -> None:
        while True:
            await asyncio.sleep(600)
            reached.append(loop_time())

    with pytest.raises(TimeLimitExceeded, match="limit of 3600 s"):
        forever()
    assert reached[-1] == 3600.0


def test_tasks_left_running_fail_the_test_by_name() -> None:
    keep: list[asyncio.Task[None]] = []

    async def main() -> None:
        keep.append(asyncio.create_task(asyncio.sleep(5), name="the-leaked-one"))

    with pytest.raises(LeakedTasks, match="the-leaked-one"):
        run(main())
    assert keep[0].cancelled(), "it was cancelled and awaited all the same"


def test_a_task_that_is_just_ending_is_no_leak() -> None:
    async def main() -> str:
        task = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        task.cancel()
        return "fine"

    assert run(main()) == "fine"


def test_exceptions_pass_through_and_are_not_masked_by_leaks() -> None:
    async def main() -> None:
        task = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(1)
        raise LookupError(task.get_name())

    with pytest.raises(LookupError):
        run(main())


def test_cancellation_passes_through() -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(main())


def test_errors_in_callbacks_are_not_lost() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1, lambda: {}["missing"])
        await asyncio.sleep(2)

    with pytest.raises(UnhandledErrors, match="missing") as caught:
        run(main())
    assert isinstance(caught.value.__cause__, KeyError)


def test_errors_of_forgotten_tasks_are_not_lost() -> None:
    async def fails() -> None:
        raise LookupError("nobody looked")

    async def main() -> None:
        task = asyncio.create_task(fails())
        await asyncio.sleep(1)
        assert task.done()
        del task
        gc.collect()

    with pytest.raises(UnhandledErrors, match="nobody looked"):
        run(main())


def test_sockets_are_refused_in_clear_words() -> None:
    async def serve() -> None:
        await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)

    async def connect() -> None:
        await asyncio.open_connection("127.0.0.1", 1)

    async def watch() -> None:
        asyncio.get_running_loop().add_reader(0, lambda: None)

    async def spawn() -> None:
        await asyncio.create_subprocess_exec("true")

    for attempt in (serve, connect, watch, spawn):
        with pytest.raises(RuntimeError, match="not supported on a VirtualTimeLoop"):
            run(attempt())


@virtual_time
async def test_settle_runs_all_that_is_ready_and_moves_no_clock() -> None:
    steps: list[int] = []

    async def chain() -> None:
        for step in range(50):
            await asyncio.sleep(0)
            steps.append(step)
        await asyncio.sleep(10)
        steps.append(-1)

    task = asyncio.create_task(chain())
    await wait_all_tasks_blocked()
    assert steps == list(range(50))
    assert loop_time() == 0.0
    await task


@virtual_time
async def test_settle_waits_for_threads() -> None:
    results: list[str] = []

    async def work() -> None:
        results.append(await asyncio.to_thread(lambda: time.sleep(0.01) or "worked"))

    task = asyncio.create_task(work())
    await wait_all_tasks_blocked()
    assert results == ["worked"]
    await task


@virtual_time
async def test_of_several_that_settle_each_finds_the_others_idle() -> None:
    log: list[str] = []

    async def settler(name: str) -> None:
        await wait_all_tasks_blocked()
        for step in range(3):
            log.append(f"{name}{step}")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(settler("a"))
        group.create_task(settler("b"))
    assert log == ["a0", "a1", "a2", "b0", "b1", "b2"]


@virtual_time
async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    task = asyncio.create_task(wait_all_tasks_blocked())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(1)
    assert task.cancelled()
    assert loop_time() == 1.0


@virtual_time
async def test_after_advance_all_that_was_due_has_happened() -> None:
    log: list[str] = []

    async def later() -> None:
        await asyncio.sleep(10)
        for _ in range(5):
            await asyncio.sleep(0)
        log.append("consequence")

    task = asyncio.create_task(later())
    await advance(9)
    assert log == []
    await advance(1)
    assert log == ["consequence"]
    assert loop_time() == 10.0
    with pytest.raises(ValueError, match="back"):
        await advance(-1)
    await task


@virtual_time
async def test_wall_clock_follows_the_loop() -> None:
    assert now() == EPOCH
    await asyncio.sleep(86400.5)
    assert now() == EPOCH + timedelta(days=1, milliseconds=500)
    assert now().isoformat() == "2026-01-02T00:00:00.500000+00:00"


async def test_settle_says_what_it_needs_on_another_loop() -> None:
    with pytest.raises(RuntimeError, match="VirtualTimeLoop"):
        await wait_all_tasks_blocked()


@given(delays=st.lists(st.floats(0, 1e6, allow_nan=False), max_size=10))
@settings(max_examples=30, deadline=None)
@virtual_time
async def test_hypothesis_works_above_the_decorator(delays: list[float]) -> None:
    async with asyncio.TaskGroup() as group:
        for delay in delays:
            group.create_task(asyncio.sleep(delay))
    assert loop_time() == max(delays, default=0.0)


@pytest.fixture
def seven() -> int:
    return 7


@pytest.mark.parametrize("factor", [1, 2])
@virtual_time
async def test_fixtures_and_parameters_work(seven: int, factor: int) -> None:
    await asyncio.sleep(seven * factor)
    assert loop_time() == seven * factor


def test_the_signature_stays() -> None:
    @virtual_time
    async def documented(one: int, *, two: str = "2") -> str:
        """Doc."""
        return f"{one}{two}"

    assert not inspect.iscoroutinefunction(documented)
    assert str(inspect.signature(documented)) == "(one: 'int', *, two: 'str' = '2') -> 'str'"
    assert documented.__doc__ == "Doc."
    assert documented(1) == "12"


def test_only_coroutine_functions_are_decorated() -> None:
    def plain() -> None: ...

    decorate: Callable[..., object] = virtual_time
    with pytest.raises(TypeError, match="async def"):
        decorate(plain)
