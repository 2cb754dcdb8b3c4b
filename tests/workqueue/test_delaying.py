"""Keys that become ready later."""

from __future__ import annotations

import asyncio
import math

import pytest

from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked
from setpoint.workqueue import LOW_PRIORITY, DelayingQueue, Depths, ShutDown

from .test_queue import taken


def loop_time() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_simple_queue() -> None:
    """Not visible before its time, there at its time, and not once more after `done`."""
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 0.05)
    assert queue.depths() == Depths(0, 1, 0, 0)
    assert queue.state("foo") == "delayed"
    assert queue.ready_at("foo") == 0.05
    await advance(0.049)
    assert len(queue) == 0
    await advance(0.001)
    assert len(queue) == 1
    assert queue.ready_at("foo") is None
    assert await queue.get() == "foo"
    queue.done("foo")
    await advance(1000)
    assert queue.states() == {}


@virtual_time
async def test_a_waiting_worker_gets_the_key_at_exactly_its_time() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 12.5)
    assert await queue.get() == "foo"
    assert loop_time() == 12.5


@virtual_time
async def test_deduping() -> None:
    """Of several delays the earliest counts."""
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("later second", 50)
    queue.add_after("later second", 70)
    queue.add_after("earlier second", 50)
    queue.add_after("earlier second", 30)
    assert await queue.get() == "earlier second"
    assert loop_time() == 30
    queue.done("earlier second")
    assert await queue.get() == "later second"
    assert loop_time() == 50
    queue.done("later second")
    await advance(1000)
    assert queue.states() == {}


@virtual_time
async def test_add_two_fire_early() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("first", 1)
    queue.add_after("second", 0.05)
    assert await queue.get() == "second"
    queue.add_after("third", 2)
    assert await queue.get() == "first"
    assert loop_time() == 1
    assert await queue.get() == "third"
    assert loop_time() == 2.05


@virtual_time
async def test_copy_shifting() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for key, seconds in [("first", 1), ("second", 0.5), ("third", 0.25)]:
        queue.add_after(key, seconds)
    await advance(2)
    assert taken(queue) == ["third", "second", "first"]


@virtual_time
async def test_equal_times_become_ready_in_the_order_of_the_calls() -> None:
    queue: DelayingQueue[int] = DelayingQueue()
    for number in range(100):
        queue.add_after(number, 5)
    assert [await queue.get() for _ in range(100)] == list(range(100))


@virtual_time
async def test_delaying_a_key_again_to_the_same_time_keeps_its_place() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for key in ("foo", "bar", "foo"):
        queue.add_after(key, 5)
    assert [await queue.get(), await queue.get()] == ["foo", "bar"]


@virtual_time
async def test_a_delay_that_is_over_is_an_add() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("zero", 0)
    queue.add_after("negative", -5)
    assert taken(queue) == ["zero", "negative"]


@virtual_time
async def test_an_event_makes_a_delayed_key_ready() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 3600)
    queue.add("foo")
    assert queue.state("foo") == "ready"
    assert taken(queue) == ["foo"]
    queue.done("foo")
    await advance(4000)
    assert queue.states() == {}, "its delay has ended with the event"
    assert loop_time() == 4000


@virtual_time
async def test_delaying_a_ready_key_changes_nothing_but_its_priority() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("foo")
    queue.add("bar")
    queue.add_after("foo", 3600)
    queue.add_after("bar", 3600, priority=1)
    assert queue.depths() == Depths(2, 0, 0, 0)
    assert taken(queue) == ["bar", "foo"]


@virtual_time
async def test_a_key_delayed_in_processing_is_delayed_after_done() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("foo")
    await queue.get()
    queue.add_after("foo", 10)
    assert queue.state("foo") == "processing+delayed"
    assert queue.depths() == Depths(0, 0, 1, 0)
    await advance(4)
    queue.done("foo")
    assert queue.state("foo") == "delayed"
    assert queue.depths() == Depths(0, 1, 0, 0)
    assert await queue.get() == "foo"
    assert loop_time() == 10


@virtual_time
async def test_a_delay_that_ends_in_processing_makes_the_key_dirty() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("foo")
    await queue.get()
    queue.add_after("foo", 10)
    await advance(20)
    assert queue.state("foo") == "processing+dirty"
    assert len(queue) == 0
    queue.done("foo")
    assert taken(queue) == ["foo"]


@virtual_time
async def test_an_event_during_processing_ends_the_delay_too() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("foo")
    await queue.get()
    queue.add_after("foo", 10, priority=LOW_PRIORITY)
    queue.add("foo")
    assert queue.state("foo") == "processing+dirty"
    queue.add_after("foo", 10)
    assert queue.state("foo") == "processing+dirty"
    queue.done("foo")
    assert taken(queue) == ["foo"]
    queue.done("foo")
    await advance(100)
    assert queue.states() == {}


@virtual_time
async def test_a_delayed_key_keeps_the_highest_priority() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 10, priority=1)
    queue.add_after("foo", 5, priority=LOW_PRIORITY)
    queue.add_after("foo", 20, priority=2)
    queue.add_after("bar", 5, priority=1)
    queue.add("baz", priority=1)
    await advance(5)
    assert queue.priority("foo") == 2
    assert taken(queue) == ["foo", "baz", "bar"]


@virtual_time
async def test_a_high_priority_key_that_becomes_ready_overtakes_a_low_one() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("high", 1, priority=1)
    queue.add("low", priority=LOW_PRIORITY)
    await advance(1)
    assert taken(queue) == ["high", "low"]


@virtual_time
async def test_an_earlier_key_added_while_a_worker_waits_is_handed_out_at_its_time() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("late", 100)
    worker = asyncio.create_task(queue.get())
    await advance(10)
    queue.add_after("early", 20)
    await advance(19.5)
    assert not worker.done()
    assert await worker == "early"
    assert loop_time() == 30


@virtual_time
async def test_items_with_delays_do_not_affect_each_other() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 1000)
    queue.add_after("bar", 1)
    queue.add("bar")
    assert queue.state("foo") == "delayed"
    assert queue.ready_at("foo") == 1000


@virtual_time
async def test_shut_down_forgets_what_is_delayed() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("held")
    await queue.get()
    queue.add_after("held", 5, priority=3)
    queue.add_after("foo", 5, priority=3)
    queue.shut_down()
    queue.add_after("bar", 5)
    assert queue.states() == {"held": "processing"}
    queue.done("held")
    assert queue.states() == {}
    await advance(10)
    with pytest.raises(ShutDown):
        await queue.get()
    assert not queue._priorities


@virtual_time
async def test_drain_does_not_wait_for_what_is_delayed() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add("foo")
    await queue.get()
    queue.add_after("foo", 3600)
    queue.add_after("bar", 3600)
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await wait_all_tasks_blocked()
    queue.done("foo")
    await drain
    assert loop_time() == 0


@virtual_time
async def test_the_clock_moves_for_the_shortest_delay() -> None:
    """A caller that waits for the rest of a period, which is tiny after rounding, comes to its end."""
    queue: DelayingQueue[str] = DelayingQueue()
    await asyncio.sleep(0.001)
    began = loop_time()
    await asyncio.sleep(1.0)
    rests = 0
    while (rest := 1.0 - (loop_time() - began)) > 0 and rests < 9:
        queue.add_after("foo", rest)
        assert await queue.get() == "foo"
        queue.done("foo")
        rests += 1
    assert rests == 1


@virtual_time
async def test_a_delay_is_a_finite_number() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for seconds in (math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            queue.add_after("foo", seconds)
    assert queue.states() == {}


def test_delays_need_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        DelayingQueue[str]().add_after("foo", 1)


@virtual_time
async def test_many_delays_of_few_keys_keep_memory_bounded() -> None:
    queue: DelayingQueue[int] = DelayingQueue()
    for number in range(50_000):
        queue.add_after(number % 100, 1e6 - number)  # each earlier than the last
        assert len(queue._heap) <= 200
    for number in range(50_000):
        queue.add_after(number % 100, 1000)
        if number % 3 == 0:
            queue.add(number % 100)
            assert len(queue._heap) <= 200
    assert len(queue.states()) == 100


@virtual_time
async def test_memory_stays_bounded_when_keys_become_ready() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for key, seconds in [("a", 1), ("b", 90), ("c", 80)]:
        queue.add_after(key, seconds)
    for key, seconds in [("d", 1000), ("e", 2000)]:
        queue.add_after(key, seconds)
        queue.add(key)  # leaves a void item, to come after all others
    assert len(queue._heap) == 5
    await advance(80)
    assert len(queue._heap) <= 2, "one key is delayed still"


@virtual_time
async def test_a_queue_that_waits_for_nothing_sets_no_timer() -> None:
    """Otherwise it would keep a virtual clock running, and a real loop waking up."""
    queue: DelayingQueue[str] = DelayingQueue()
    queue.add_after("foo", 3600)
    queue.add("foo")
    assert queue._timer is None
    queue.add_after("bar", 3600)
    assert queue._timer is not None
    queue.shut_down()
    assert queue._timer is None


@virtual_time
async def test_a_delay_of_nothing_keeps_the_priority() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    assert queue.name == ""
    queue.add_after("foo", 0, priority=3)
    assert queue.priority("foo") == 3


@virtual_time
async def test_delays_that_end_while_their_keys_are_processed_are_counted_each() -> None:
    queue: DelayingQueue[str] = DelayingQueue(ageing=2)
    for key in ("foo", "bar"):
        queue.add(key)
        await queue.get()
        queue.add_after(key, 1)
    await advance(1)
    assert queue.depths() == Depths(0, 0, 2, 2)
    queue.done("foo")
    queue.done("bar")
    assert queue.depths() == Depths(2, 0, 0, 0)


@virtual_time
async def test_nothing_is_delayed_in_a_queue_that_was_shut_down() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    for key in ("foo", "bar", "baz"):
        queue.add_after(key, 1)
    queue.add("baz")
    await queue.get()
    queue.add_after("baz", 1)
    queue.shut_down()
    assert queue.depths() == Depths(0, 0, 1, 0)
    assert queue.states() == {"baz": "processing"}


@virtual_time
async def test_ageing_is_as_it_was_asked_for() -> None:
    queue: DelayingQueue[str] = DelayingQueue(ageing=2)
    for key, priority in (("low", 0), ("a", 1), ("b", 1)):
        queue.add_after(key, 0, priority=priority)
    assert taken(queue) == ["a", "low", "b"]
