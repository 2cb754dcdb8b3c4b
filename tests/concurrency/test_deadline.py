"""A deadline that may be moved, expired and cancelled at any moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.concurrency import Deadline, end
from setpoint.testing import virtual_time


def clock() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_a_block_ends_at_its_deadline() -> None:
    deadline = Deadline(5.0)
    with pytest.raises(TimeoutError):
        async with deadline:
            await asyncio.sleep(10)
    assert clock() == 5.0
    assert deadline.expired


@virtual_time
async def test_a_deadline_may_be_moved_before_within_and_after_its_block() -> None:
    deadline = Deadline()
    deadline.move(3.0)

    async def block() -> None:
        async with deadline:
            deadline.move(None)
            await asyncio.sleep(10)
            deadline.move(12.0)
            await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        await block()
    assert clock() == 12.0
    deadline.move(99.0)
    deadline.expire()
    assert deadline.at == 12.0


@virtual_time
async def test_a_block_entered_after_its_deadline_was_expired_ends_at_its_first_wait() -> None:
    deadline = Deadline(100.0)
    deadline.expire()
    deadline.move(200.0)
    with pytest.raises(TimeoutError):
        async with deadline:
            await asyncio.sleep(10)
    assert clock() == 0.0


@virtual_time
async def test_a_deadline_that_has_just_passed_may_be_moved_and_expired() -> None:
    deadline = Deadline(5.0)

    async def block() -> None:
        async with deadline:
            await asyncio.Event().wait()

    task = asyncio.ensure_future(block())
    # Between the timer and the turn in which the block's task learns of it.
    asyncio.get_running_loop().call_at(5.0, deadline.expire)
    asyncio.get_running_loop().call_at(5.0, deadline.move, 50.0)
    with pytest.raises(TimeoutError):
        await task
    assert clock() == 5.0


@virtual_time
async def test_the_failure_of_the_block_is_what_is_raised_also_after_the_deadline() -> None:
    deadline = Deadline(1.0)

    async def block() -> None:
        async with deadline:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(10)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await block()
    assert deadline.expired


@virtual_time
async def test_a_deadline_is_for_one_block() -> None:
    deadline = Deadline()
    async with deadline:
        pass
    with pytest.raises(RuntimeError, match="one block"):
        async with deadline:
            pass


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0]),
        st.sampled_from(["expire", "move", "forget", "cancel", "finish", "tick"]),
        st.sampled_from([0.0, 1.0, 2.0, 4.0]),
    ),
    max_size=8,
)


@given(at=st.sampled_from([None, 0.0, 1.0, 2.0]), actions=ACTIONS)
@virtual_time
async def test_whatever_happens_in_whatever_turn_the_block_ends_as_it_was_asked_first(
    at: float | None, actions: list[tuple[float, str, float]]
) -> None:
    loop = asyncio.get_running_loop()
    deadline = Deadline(at)
    finish = asyncio.Event()
    entered = False

    async def block() -> str:
        nonlocal entered
        async with deadline:
            entered = True
            await finish.wait()
        return "finished"

    task = asyncio.ensure_future(block())
    cancelled = False

    def act(what: str, by: float) -> None:
        nonlocal cancelled
        if what == "expire":
            deadline.expire()
        elif what == "move":
            deadline.move(loop.time() + by)
        elif what == "forget":
            deadline.move(None)
        elif what == "cancel":
            cancelled = task.cancel() or cancelled
        elif what == "finish":
            finish.set()

    for when, what, by in actions:
        loop.call_at(when, act, what, by)
    await asyncio.sleep(10)
    if not task.done():
        assert not cancelled
        assert not finish.is_set()
        assert not deadline.expired
        finish.set()
    outcome = (await asyncio.gather(task, return_exceptions=True))[0]
    if isinstance(outcome, asyncio.CancelledError):
        assert cancelled, "only who was cancelled says so"
    elif isinstance(outcome, TimeoutError):
        assert deadline.expired
        assert not cancelled, "a cancellation from outside counts more than the deadline"
    else:
        assert outcome == "finished"
        assert not deadline.expired
    assert await end([task]) == set()
