"""One run for all who wait."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.concurrency import Shared
from setpoint.testing import virtual_time, wait_all_tasks_blocked


@virtual_time
async def test_who_asks_meanwhile_shares_the_result_and_who_asks_later_does_not() -> None:
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        await asyncio.sleep(1)
        return runs

    shared = Shared(work)
    assert await asyncio.gather(*(shared() for _ in range(5))) == [1] * 5
    assert await shared() == 2


@virtual_time
async def test_a_failure_is_shared_too() -> None:
    runs = 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        await asyncio.sleep(1)
        raise KeyError("no")

    shared = Shared(work)
    answers = await asyncio.gather(*(shared() for _ in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [KeyError] * 5
    assert runs == 1
    with pytest.raises(KeyError):
        await shared()
    assert runs == 2


@given(
    callers=st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 0.0, 0.5, 1.0, 1.5])), min_size=1, max_size=6
    ),
    fails=st.booleans(),
)
@virtual_time
async def test_whoever_is_cancelled_the_others_get_an_answer(
    callers: list[tuple[float, float | None]], fails: bool
) -> None:
    under_way = 0

    async def work() -> str:
        nonlocal under_way
        under_way += 1
        assert under_way == 1, "never two at a time"
        try:
            await asyncio.sleep(1)
            if fails:
                raise KeyError("no")
            return "yes"
        finally:
            under_way -= 1

    shared = Shared(work)
    loop = asyncio.get_running_loop()

    async def caller(after: float) -> str:
        await asyncio.sleep(after)
        return await shared()

    tasks = [asyncio.ensure_future(caller(after)) for after, _ in callers]
    for task, (_, cancel) in zip(tasks, callers, strict=True):
        if cancel is not None:
            loop.call_at(cancel, task.cancel)
    await asyncio.sleep(20)
    await wait_all_tasks_blocked()
    for task, (_, cancel) in zip(tasks, callers, strict=True):
        assert task.done()
        if task.cancelled():
            assert cancel is not None
        elif fails:
            assert isinstance(task.exception(), KeyError)
        else:
            assert task.result() == "yes"
