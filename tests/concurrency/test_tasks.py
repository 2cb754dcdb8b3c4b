"""Tasks that end with their block, whatever is cancelled when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.concurrency import TaskScope, end, every, first, stack_of, task_report, until
from setpoint.testing import UnhandledErrors, virtual_time, wait_all_tasks_blocked
from setpoint.testing import virtual_clock as virtual_clock


def clock() -> float:
    return asyncio.get_running_loop().time()


async def ends(after: float, result: object = None) -> object:
    await asyncio.sleep(after)
    if isinstance(result, BaseException):
        raise result
    return result


async def cleans_up(seconds: float, problem: Exception | None = None) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(seconds)
        if problem is not None:
            raise problem


async def swallows(times: int) -> None:
    while times:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            times -= 1
    await asyncio.Event().wait()


# -- end ---------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_end_waits_for_the_clean_up() -> None:
    tasks = [asyncio.ensure_future(cleans_up(seconds)) for seconds in (1.0, 7.0)]
    await wait_all_tasks_blocked()
    assert await end(tasks) == set()
    assert clock() == 7.0
    assert all(task.cancelled() for task in tasks)


@virtual_time
async def test_tasks_are_cancelled_in_the_order_in_which_they_are_given() -> None:
    order: list[int] = []

    async def waits(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(number)

    tasks = [asyncio.ensure_future(waits(number)) for number in range(40)]
    await wait_all_tasks_blocked()
    await end(reversed(tasks))
    assert order == list(reversed(range(40)))


@virtual_time
async def test_end_returns_what_still_runs_when_its_time_is_up() -> None:
    stubborn = asyncio.ensure_future(swallows(2))
    good = asyncio.ensure_future(cleans_up(3.0))
    await wait_all_tasks_blocked()
    assert await end([stubborn, good], within=10.0) == {stubborn}
    assert clock() == 10.0
    assert good.done()
    assert await end([stubborn]) == set()


@virtual_time
async def test_a_task_that_swallows_one_cancellation_is_cancelled_again_after_half_the_time() -> None:
    task = asyncio.ensure_future(swallows(1))
    await wait_all_tasks_blocked()
    assert await end([task], within=10.0) == set()
    assert clock() == 5.0


@virtual_time
async def test_a_clean_up_within_half_the_time_is_not_disturbed() -> None:
    cleaned = False

    async def work() -> None:
        nonlocal cleaned
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(4.9)
            cleaned = True

    task = asyncio.ensure_future(work())
    await wait_all_tasks_blocked()
    assert await end([task], within=10.0) == set()
    assert cleaned


@virtual_time
async def test_who_is_cancelled_while_it_ends_tasks_hurries_them_and_is_cancelled_when_they_have_ended() -> None:
    asked: list[float] = []

    async def work() -> None:
        while len(asked) < 3:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                asked.append(clock())
        await asyncio.sleep(1)

    task = asyncio.ensure_future(work())
    await wait_all_tasks_blocked()
    ending = asyncio.ensure_future(end([task]))
    await wait_all_tasks_blocked()
    for _ in range(2):
        await asyncio.sleep(1)
        ending.cancel()
    await asyncio.wait([ending])
    assert ending.cancelled()
    assert task.done()
    assert asked == [0.0, 1.0, 2.0]
    assert clock() == 3.0


@virtual_time
async def test_a_task_that_waits_for_the_task_that_ends_it_does_not_keep_both_cancelling_each_other() -> None:
    waits: list[asyncio.Task[Any]] = []

    async def work() -> None:
        await asyncio.wait({waits[0]})

    async def scoped() -> None:
        async with TaskScope() as scope:
            scope.start(work())
            await scope.all()

    async def finish() -> set[asyncio.Task[Any]]:
        return await end([task], within=10.0)

    task = asyncio.ensure_future(scoped())
    waits.append(asyncio.ensure_future(finish()))
    assert await waits[0] == set()

    async def direct() -> None:
        await waits[0]

    task = asyncio.ensure_future(direct())
    waits[0] = asyncio.ensure_future(finish())
    await asyncio.wait({task, waits[0]})
    assert (task.cancelled(), waits[0].cancelled()) == (True, True)
    assert clock() == 10.0


@virtual_time
async def test_a_task_that_would_wait_for_its_own_end_gets_an_error() -> None:
    with pytest.raises(RuntimeError, match="own end"):
        await end([asyncio.current_task()])  # type: ignore[list-item]


# -- a scope -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_what_still_runs_ends_with_the_block() -> None:
    async with TaskScope() as scope:
        task = scope.start(cleans_up(2.0), name="beside")
        await asyncio.sleep(1)
    assert task.cancelled()
    assert task.get_name() == "beside"
    assert clock() == 3.0
    with pytest.raises(RuntimeError, match="closing"):
        scope.start(cleans_up(1.0))


@virtual_time
async def test_the_failure_of_a_task_is_raised_as_it_is() -> None:
    async def block() -> None:
        async with TaskScope() as scope:
            scope.start(ends(1, KeyError("first")))
            scope.start(cleans_up(0, ValueError("second")))
            await scope.first()

    with pytest.raises(KeyError, match="first") as caught:
        await block()
    assert caught.value.__notes__ == ["and afterwards ValueError: second"]


@virtual_time
async def test_the_failure_of_the_block_tells_of_those_of_the_tasks() -> None:
    async def block() -> None:
        async with TaskScope() as scope:
            scope.start(cleans_up(0, ValueError("theirs")))
            await wait_all_tasks_blocked()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        await block()
    assert caught.value.__notes__ == ["and afterwards ValueError: theirs"]


def test_a_cancellation_is_never_replaced_and_the_failure_beside_it_never_lost() -> None:
    async def block() -> None:
        async with TaskScope() as scope:
            scope.start(cleans_up(1, ValueError("theirs")))
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(block())
        await wait_all_tasks_blocked()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    with pytest.raises(UnhandledErrors, match="the block that owns it was cancelled"):
        virtual_clock.run(main())


@virtual_time
async def test_all_waits_also_for_tasks_that_were_started_meanwhile() -> None:
    async with TaskScope() as scope:

        async def more() -> None:
            await asyncio.sleep(1)
            scope.start(ends(5))

        scope.start(more())
        await scope.all()
        assert clock() == 6.0


# -- first, until, every -----------------------------------------------------------------------------------------------


@virtual_time
async def test_the_first_ends_the_others() -> None:
    assert await first(ends(5), ends(2), cleans_up(1)) == 1
    assert clock() == 3.0


@virtual_time
async def test_of_two_that_end_together_a_failure_is_not_lost() -> None:
    with pytest.raises(KeyError, match="lost"):
        await first(ends(2), ends(2, KeyError("lost")))


@virtual_time
async def test_until_leaves_the_tasks_to_their_owner() -> None:
    event = asyncio.Event()
    failing = asyncio.ensure_future(ends(1, KeyError("theirs")))
    assert not await until(event, failing)
    assert clock() == 1.0
    running = asyncio.ensure_future(ends(50))
    asyncio.get_running_loop().call_later(1, event.set)
    assert await until(event, running)
    assert clock() == 2.0
    assert not running.done()
    await end([running])
    with pytest.raises(KeyError):
        failing.result()


@virtual_time
async def test_every_runs_each_to_its_end_although_one_fails() -> None:
    done: list[int] = []

    async def one(number: int) -> int:
        await asyncio.sleep(number)
        done.append(number)
        if number == 1:
            raise KeyError(number)
        return number

    with pytest.raises(KeyError):
        await every(one(1), one(3))
    assert done == [1, 3]
    assert await every(one(2), one(0)) == [2, 0]
    nothing: list[int] = await every()
    assert nothing == []


# -- anything, at any turn ---------------------------------------------------------------------------------------------

PLANS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 2.0]),  # ends by itself then
        st.sampled_from(["returns", "fails", "waits"]),
        st.sampled_from([0.0, 1.0]),  # its clean-up takes so long
        st.booleans(),  # and fails
    ),
    min_size=1,
    max_size=4,
)


@given(
    plans=PLANS,
    how=st.sampled_from(["first", "every", "scope", "until"]),
    cancels=st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), st.integers(0, 3)), max_size=3),
)
def test_whatever_is_cancelled_when_no_task_is_left_and_no_cancellation_lost(
    plans: list[tuple[float, str, float, bool]], how: str, cancels: list[tuple[float, int]]
) -> None:
    running = 0
    failed = 0

    async def work(after: float, kind: str, clean_up: float, fails: bool) -> None:
        nonlocal running, failed
        running += 1
        try:
            await asyncio.sleep(1000 if kind == "waits" else after)
            if kind == "fails":
                failed += 1
                raise KeyError("by itself")
        except asyncio.CancelledError:
            await asyncio.sleep(clean_up)
            if fails:
                failed += 1
                raise ValueError("in its clean-up") from None
            raise
        finally:
            running -= 1

    async def block() -> None:
        works = [work(*plan) for plan in plans]
        if how == "first":
            await first(*works)
        elif how == "every":
            await every(*works)
        else:
            async with TaskScope() as scope:
                tasks = [scope.start(work) for work in works]
                if how == "until":
                    await until(asyncio.Event(), *tasks)
                else:
                    await asyncio.sleep(1.5)

    calls: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: calls.append(context))
        task = asyncio.ensure_future(block())
        asked = False

        async def cancel(turns: int) -> None:
            nonlocal asked
            for _ in range(turns):
                await asyncio.sleep(0)
            asked = task.cancel() or asked

        helpers = []
        for when, turns in cancels:
            loop.call_at(when, lambda turns=turns: helpers.append(asyncio.ensure_future(cancel(turns))))
        await asyncio.wait([task])
        assert not running, "no task outlives its block"
        if asked:
            assert task.cancelled(), "a cancellation is never swallowed"
            assert len(calls) == failed, "nor is a failure beside it"
        elif task.exception() is not None:
            problem = task.exception()
            assert problem is not None
            assert isinstance(problem, KeyError | ValueError)
            assert 1 + len(getattr(problem, "__notes__", ())) == failed
        else:
            assert not failed, "no failure is swallowed"
        await asyncio.sleep(10)
        await asyncio.gather(*helpers)

    virtual_clock.run(main())


# -- where a task is ---------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_stack_of_a_task_names_the_lines_it_waits_at() -> None:
    async def inner() -> None:
        await asyncio.Event().wait()

    async def items() -> Any:
        await inner()
        yield 1

    async def outer() -> None:
        with suppress(asyncio.CancelledError):
            async for _ in items():
                pass

    task = asyncio.create_task(outer(), name="reader")
    await wait_all_tasks_blocked()
    lines = stack_of(task)
    assert [line.rpartition(".")[2] for line in lines] == ["outer", "items", "inner", "wait"]
    assert all(__file__ in line for line in lines[:3])
    assert task_report(task).splitlines()[0] == "  reader"
    await end([task])
    assert stack_of(task) == []


async def _innermost() -> None:
    await asyncio.Event().wait()


async def _by_await(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        await task


async def _by_wait(*tasks: asyncio.Task[None]) -> None:
    await asyncio.wait(tasks)


@pytest.mark.parametrize("waits", [_by_await, _by_wait])
async def test_the_stack_goes_on_in_the_only_task_that_is_waited_for(waits: Callable[..., Any]) -> None:
    inner = [asyncio.create_task(_innermost()) for _ in range(2)]
    outer = asyncio.create_task(waits(inner[0]))
    both = asyncio.create_task(_by_wait(*inner))
    await asyncio.sleep(0)
    assert [line.rpartition(" in ")[2] for line in stack_of(outer)][-2:] == ["_innermost", "Event.wait"]
    assert "_innermost" not in "".join(stack_of(both))
    await end([outer, both, *inner])


async def test_tasks_that_wait_for_each_other_have_stacks_that_end() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def wait_for(number: int) -> None:
        await asyncio.wait([tasks[number]])

    tasks += [asyncio.create_task(wait_for(1)), asyncio.create_task(wait_for(0))]
    await asyncio.sleep(0)
    assert len(stack_of(tasks[0])) < 8
    await end(tasks)
