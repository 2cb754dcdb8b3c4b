"""A fair semaphore whose waiters may be cancelled."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.concurrency import FairSemaphore, end
from setpoint.testing import virtual_time, wait_all_tasks_blocked


@virtual_time
async def test_two_waiters_cancelled_together_leave_the_queue() -> None:
    semaphore = FairSemaphore(1)
    await semaphore.acquire()
    waiting = [asyncio.ensure_future(semaphore.acquire()) for _ in range(3)]
    await wait_all_tasks_blocked()
    waiting[0].cancel()
    waiting[1].cancel()
    semaphore.release()
    await wait_all_tasks_blocked()
    assert [task.cancelled() for task in waiting] == [True, True, False]
    assert waiting[2].done()
    assert (semaphore.held_places, semaphore.waiting) == (1, 0)


@virtual_time
async def test_a_place_given_to_a_cancelled_waiter_goes_to_the_next() -> None:
    semaphore = FairSemaphore(1)
    await semaphore.acquire()
    waiting = [asyncio.ensure_future(semaphore.acquire()) for _ in range(2)]
    await wait_all_tasks_blocked()
    semaphore.release()
    waiting[0].cancel()
    await wait_all_tasks_blocked()
    assert waiting[0].cancelled()
    assert waiting[1].done()
    assert semaphore.held_places == 1


@virtual_time
async def test_more_places_let_more_through_and_fewer_take_none_away() -> None:
    semaphore = FairSemaphore(1)
    tasks = [asyncio.ensure_future(semaphore.acquire()) for _ in range(5)]
    await wait_all_tasks_blocked()
    semaphore.resize(3)
    await wait_all_tasks_blocked()
    assert [task.done() for task in tasks] == [True, True, True, False, False]
    semaphore.resize(1)
    semaphore.release()
    semaphore.release()
    await wait_all_tasks_blocked()
    assert not tasks[3].done()
    semaphore.release()
    await wait_all_tasks_blocked()
    assert tasks[3].done()
    await end(tasks)


@virtual_time
async def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one place"):
        FairSemaphore(0)
    semaphore = FairSemaphore(1)
    with pytest.raises(ValueError, match="at least one place"):
        semaphore.resize(0)
    with pytest.raises(RuntimeError, match="more often"):
        semaphore.release()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.just(0)),
        st.tuples(st.just("cancel"), st.integers(0, 7)),
        st.tuples(st.just("leave"), st.integers(0, 7)),
        st.tuples(st.just("resize"), st.integers(1, 4)),
        st.tuples(st.just("turn"), st.integers(1, 3)),
    ),
    max_size=40,
)


@given(places=st.integers(1, 3), steps=STEPS)
@virtual_time
async def test_no_place_is_lost_and_none_is_overtaken_whoever_is_cancelled_in_whatever_turn(
    places: int, steps: list[tuple[str, int]]
) -> None:
    semaphore = FairSemaphore(places)
    tasks: list[asyncio.Task[None]] = []
    leave: list[asyncio.Event] = []
    called: list[int] = []
    admitted: set[int] = set()
    inside: set[int] = set()

    async def holder(number: int) -> None:
        called.append(number)
        await semaphore.acquire()
        admitted.add(number)
        later = set(called[called.index(number) :]) - admitted
        assert semaphore.waiting <= len(later), "each that came earlier has a place, or has gone"
        inside.add(number)
        try:
            await leave[number].wait()
        finally:
            inside.discard(number)
            semaphore.release()

    most = places
    for what, which in steps:
        if what == "enter":
            leave.append(asyncio.Event())
            tasks.append(asyncio.ensure_future(holder(len(tasks))))
        elif what == "cancel" and which < len(tasks):
            tasks[which].cancel()
        elif what == "leave" and which < len(leave):
            leave[which].set()
        elif what == "resize":
            semaphore.resize(which)
            most = max(most, which)
        elif what == "turn":
            for _ in range(which):
                await asyncio.sleep(0)
        assert len(inside) <= most
        assert len(inside) <= semaphore.held_places
    await wait_all_tasks_blocked()
    assert semaphore.held_places == len(inside)
    unfinished = [number for number, task in enumerate(tasks) if not task.done()]
    assert semaphore.waiting == len(unfinished) - len(inside)
    assert not semaphore.waiting or semaphore.held_places >= semaphore.places, "a free place is given away"
    for event in leave:
        event.set()
    await wait_all_tasks_blocked()
    assert (semaphore.held_places, semaphore.waiting) == (0, 0)
    for task in tasks:
        assert task.done()
        assert task.cancelled() or task.exception() is None
