"""The basic queue: dedupe, hand-out, shutting down, cancellation."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import weakref

import pytest

from setpoint.testing import virtual_time, wait_all_tasks_blocked
from setpoint.workqueue import DelayingQueue, Depths, ShutDown, WorkQueue


def taken(queue: WorkQueue[str]) -> list[str]:
    """All that is ready, in order; stays in processing."""
    keys: list[str] = []
    while len(queue):
        try:
            queue.get().send(None)
        except StopIteration as returned:
            keys.append(returned.value)
        else:
            raise AssertionError("get() waited although a key is ready")
    return keys


@pytest.mark.parametrize("drain", [False, True])
@virtual_time
async def test_basic(drain: bool) -> None:
    """50 producers, 10 workers: every key is processed, none by two at a time."""
    queue: WorkQueue[int] = WorkQueue()
    processed: dict[int, int] = {}
    in_work: set[int] = set()
    rng = random.Random(1)

    async def produce(number: int) -> None:
        for _ in range(50):
            queue.add(number)
            await asyncio.sleep(rng.random() / 1000)

    async def work() -> None:
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            assert key not in in_work
            in_work.add(key)
            await asyncio.sleep(rng.random() * 3 / 1000)
            processed[key] = processed.get(key, 0) + 1
            in_work.discard(key)
            queue.done(key)

    async with asyncio.TaskGroup() as workers:
        for _ in range(10):
            workers.create_task(work())
        async with asyncio.TaskGroup() as producers:
            for number in range(50):
                producers.create_task(produce(number))
        if drain:
            await queue.shut_down_with_drain()
        else:
            queue.shut_down()
        queue.add(-1)
    assert sorted(processed) == list(range(50)), "after shut_down nothing is taken in, before it nothing is lost"
    assert queue.depths() == Depths(0, 0, 0, 0)


def test_keys_are_handed_out_in_order() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "abcabc":
        queue.add(key)
    assert taken(queue) == ["a", "b", "c"]


def test_len_counts_keys_not_adds() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    assert len(queue) == 1
    queue.add("bar")
    assert len(queue) == 2
    queue.add("foo")
    assert len(queue) == 2


def test_adds_before_get_collapse() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(1000):
        queue.add("bar")
    assert taken(queue) == ["bar"]
    queue.done("bar")
    assert len(queue) == 0
    assert queue.state("bar") is None


def test_reinsert() -> None:
    """Added while it is processed, a key is handed out again after `done`, once."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    assert taken(queue) == ["foo"]
    queue.add("foo")
    queue.add("foo")
    assert len(queue) == 0
    assert queue.state("foo") == "processing+dirty"
    queue.done("foo")
    assert taken(queue) == ["foo"]
    queue.done("foo")
    assert len(queue) == 0
    assert queue.states() == {}


@virtual_time
async def test_collapse_while_processing() -> None:
    """A second worker waits for `done`, however often the key is added."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("bar")
    assert await queue.get() == "bar"
    for _ in range(10):
        queue.add("bar")
    second = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    assert not second.done()
    queue.done("bar")
    assert await second == "bar"
    queue.done("bar")
    assert queue.depths() == Depths(0, 0, 0, 0)


def test_a_key_in_processing_is_not_handed_out_and_keeps_no_one_waiting() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    assert taken(queue) == ["foo"]
    queue.add("foo")
    queue.add("bar")
    queue.add("baz")
    queue.done("foo")
    assert taken(queue) == ["bar", "baz", "foo"]


def test_done_needs_a_key_in_processing() -> None:
    queue: WorkQueue[str] = WorkQueue(name="pods")
    with pytest.raises(ValueError, match=r"done\('foo'\): in queue 'pods' the key is not being processed"):
        queue.done("foo")
    queue.add("foo")
    with pytest.raises(ValueError, match="not being processed"):
        queue.done("foo")
    assert taken(queue) == ["foo"]
    queue.done("foo")
    with pytest.raises(ValueError, match="not being processed"):
        queue.done("foo")


@virtual_time
async def test_get_is_unblocked_by_shut_down() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await wait_all_tasks_blocked()
    queue.shut_down()
    assert queue.shutting_down
    for worker in workers:
        with pytest.raises(ShutDown):
            await worker
    with pytest.raises(ShutDown):
        await queue.get()


@virtual_time
async def test_what_was_ready_is_still_handed_out_after_shut_down() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    queue.shut_down()
    queue.add("bar")
    assert await queue.get() == "foo"
    with pytest.raises(ShutDown):
        await queue.get()


@virtual_time
async def test_no_queue_drainage_using_shut_down() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    queue.shut_down()
    queue.done("foo")


@virtual_time
async def test_queue_drainage_using_shut_down_with_drain() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in ("foo", "bar", "still waiting"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["foo", "bar"]
    drain = asyncio.create_task(queue.shut_down_with_drain())
    for key in ("foo", "bar"):
        await wait_all_tasks_blocked()
        assert not drain.done()
        queue.done(key)
    assert await queue.get() == "still waiting"
    await wait_all_tasks_blocked()
    assert not drain.done()
    queue.done("still waiting")
    await drain


@virtual_time
async def test_queue_drainage_using_shut_down_with_drain_with_dirty_item() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    queue.add("foo")
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await wait_all_tasks_blocked()
    queue.done("foo")
    await wait_all_tasks_blocked()
    assert not drain.done(), "it was added while it was processed, and must be processed again"
    assert await queue.get() == "foo"
    queue.done("foo")
    await drain


@virtual_time
async def test_force_queue_shutdown_using_shut_down() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    drains = [asyncio.create_task(queue.shut_down_with_drain()) for _ in range(2)]
    await wait_all_tasks_blocked()
    queue.shut_down()
    await asyncio.gather(*drains)
    queue.done("foo")


@virtual_time
async def test_draining_an_idle_queue_returns_at_once() -> None:
    await WorkQueue[str]().shut_down_with_drain()


@virtual_time
async def test_a_cancelled_drain_leaves_a_queue_that_can_be_drained_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    await queue.get()
    drain = asyncio.create_task(queue.shut_down_with_drain())
    await wait_all_tasks_blocked()
    drain.cancel()
    again = asyncio.create_task(queue.shut_down_with_drain())
    await wait_all_tasks_blocked()
    assert drain.cancelled()
    queue.done("foo")
    await again


@virtual_time
async def test_shutting_down_while_handing_out_does_not_deadlock() -> None:
    for ready in range(4):
        queue: WorkQueue[int] = WorkQueue()
        workers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await wait_all_tasks_blocked()
        for key in range(ready):
            queue.add(key)
        queue.shut_down()
        got = await asyncio.gather(*workers, return_exceptions=True)
        assert [end for end in got if not isinstance(end, ShutDown)] == list(range(min(ready, 3)))


# Waiting and cancellation


@virtual_time
async def test_workers_are_served_in_the_order_they_came() -> None:
    queue: WorkQueue[int] = WorkQueue()
    log: list[tuple[str, int]] = []

    async def worker(name: str) -> None:
        log.append((name, await queue.get()))

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(worker(name))
        await wait_all_tasks_blocked()
        queue.add(0)
        queue.add(1)
        group.create_task(worker("late"))
        await wait_all_tasks_blocked()
        queue.add(2)
        queue.add(3)
    assert log == [("a", 0), ("b", 1), ("c", 2), ("late", 3)]


@virtual_time
async def test_a_worker_that_comes_late_can_not_steal_what_is_promised() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.add("foo")  # wakes `first`, which has not run yet
    late = asyncio.create_task(queue.get())
    late_too = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    assert first.done()
    assert not late.done()
    queue.add("bar")
    queue.add("baz")
    assert [await first, await late, await late_too] == ["foo", "bar", "baz"]


@virtual_time
async def test_a_woken_worker_gets_what_is_first_by_then() -> None:
    queue: WorkQueue[str] = WorkQueue()
    worker = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.add("ordinary")
    queue.add("urgent", priority=1)
    assert await worker == "urgent"
    assert await queue.get() == "ordinary"


@virtual_time
async def test_a_worker_cancelled_while_it_waits_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    first.cancel()
    await wait_all_tasks_blocked()
    queue.add("foo")
    assert await second == "foo"
    assert first.cancelled()
    assert queue.depths() == Depths(0, 0, 1, 0)


@virtual_time
async def test_a_worker_cancelled_right_after_an_add_loses_no_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    worker = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.add("foo")
    worker.cancel()
    await wait_all_tasks_blocked()
    assert worker.cancelled()
    assert len(queue) == 1
    assert await queue.get() == "foo"


@virtual_time
async def test_a_worker_cancelled_right_before_an_add_loses_no_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    worker, other = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    worker.cancel()
    queue.add("foo")
    assert await other == "foo"
    assert len(queue) == 0


@virtual_time
async def test_what_was_promised_to_a_cancelled_worker_goes_to_the_next() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await wait_all_tasks_blocked()
    queue.add("foo")
    workers[0].cancel()
    await wait_all_tasks_blocked()
    assert await workers[1] == "foo"
    workers[2].cancel()
    queue.add("bar")
    assert await queue.get() == "bar"


@virtual_time
async def test_a_worker_cancelled_during_shut_down_passes_its_promise_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    worker = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.add("foo")
    queue.shut_down()
    worker.cancel()
    await wait_all_tasks_blocked()
    assert await queue.get() == "foo"
    with pytest.raises(ShutDown):
        await queue.get()


@virtual_time
async def test_waiting_with_a_timeout_for_ever_leaves_nothing_behind() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await queue.get()
    assert len(queue._waiters) == 0


@virtual_time(limit=1e6)
async def test_no_key_is_lost_whenever_workers_are_cancelled() -> None:
    """Workers are cancelled at arbitrary moments and replaced; all keys are processed, none by two at a time."""
    rng = random.Random(7)
    queue: DelayingQueue[int] = DelayingQueue()
    in_work: set[int] = set()
    processed: set[int] = set()

    async def worker() -> None:
        while True:
            async with queue.item() as key:
                assert key not in in_work
                in_work.add(key)
                try:
                    await asyncio.sleep(rng.choice([0, 0, 0.5]))
                    processed.add(key)
                except asyncio.CancelledError:
                    queue.add(key)
                    raise
                finally:
                    in_work.discard(key)

    workers = [asyncio.create_task(worker()) for _ in range(4)]
    for number in range(2000):
        queue.add_after(number, rng.choice([0, 0, 0.3]))
        if rng.random() < 0.5:
            await asyncio.sleep(rng.choice([0, 0, 0, 0.1]))
        victim = rng.randrange(4)
        if rng.random() < 0.5:
            workers[victim].cancel()
            if rng.random() < 0.5:
                queue.add(number)
            await asyncio.wait([workers[victim]])
            workers[victim] = asyncio.create_task(worker())
    await asyncio.sleep(5000)
    assert processed == set(range(2000))
    assert queue.depths() == Depths(0, 0, 0, 0)
    for task in workers:
        task.cancel()
    await asyncio.wait(workers)


@virtual_time
async def test_item_is_done_however_the_block_ends() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")
    async with queue.item() as key:
        assert key == "foo"
        assert queue.state("foo") == "processing"
    assert queue.state("foo") is None

    queue.add("foo")
    with pytest.raises(LookupError):
        async with queue.item():
            raise LookupError
    assert queue.state("foo") is None

    async def hold() -> None:
        async with queue.item():
            await asyncio.Event().wait()

    queue.add("foo")
    holder = asyncio.create_task(hold())
    await wait_all_tasks_blocked()
    assert queue.state("foo") == "processing"
    holder.cancel()
    await wait_all_tasks_blocked()
    assert queue.state("foo") is None

    queue.shut_down()
    with pytest.raises(ShutDown):
        async with queue.item():
            raise AssertionError("there is no item")


# Life and memory


def test_a_queue_is_made_and_filled_before_the_loop_runs() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo")

    async def main() -> str:
        return await queue.get()

    assert asyncio.run(main()) == "foo"


def test_a_queue_belongs_to_one_loop() -> None:
    queue: WorkQueue[str] = WorkQueue(name="pods")

    async def main() -> None:
        async with asyncio.timeout(0):
            await queue.get()

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    with pytest.raises(RuntimeError, match="queue 'pods' belongs to another event loop"):
        asyncio.run(main())


def test_done_keys_are_not_retained() -> None:
    class Key:
        pass

    queue: WorkQueue[Key] = WorkQueue()
    gone: list[weakref.ref[Key]] = []
    for priority in (0, 5, -5):
        key = Key()
        gone.append(weakref.ref(key))
        queue.add(key)
        queue.add(key, priority=priority)
        with pytest.raises(StopIteration):
            queue.get().send(None)
        queue.done(key)
        del key
    gc.collect()
    assert [ref() for ref in gone] == [None, None, None]


def test_a_million_adds_of_few_keys_keep_memory_bounded() -> None:
    queue: WorkQueue[int] = WorkQueue()
    for number in range(1_000_000):
        queue.add(number % 100)
    assert len(queue) == 100
    assert sys.getsizeof(queue._fifo) < 10_000
    assert sys.getsizeof(queue._states) < 10_000


def test_keys_of_any_hashable_type() -> None:
    queue: WorkQueue[object] = WorkQueue()
    keys: list[object] = ["a", 0, None, ("ns", "name"), frozenset({1})]
    for key in keys:
        queue.add(key)
    for key in keys:
        assert queue.state(key) == "ready"
    with pytest.raises(TypeError, match="unhashable"):
        queue.add([])
    assert len(queue) == len(keys)


@virtual_time
async def test_the_end_says_which_queue_it_was() -> None:
    queue: WorkQueue[str] = WorkQueue(name="pods")
    waiting = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.shut_down()
    with pytest.raises(ShutDown, match="queue 'pods' is shut down"):
        await waiting
    with pytest.raises(ShutDown, match="queue 'pods' is shut down"):
        await queue.get()


@virtual_time
async def test_a_key_promised_to_a_worker_is_ready_until_it_has_it() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    queue.add("foo")
    assert queue.depths() == Depths(1, 0, 0, 0)
    await waiting
    assert queue.depths() == Depths(0, 0, 1, 0)


@virtual_time
async def test_a_worker_that_is_cancelled_leaves_its_key_to_those_that_come_later() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.get())
    await wait_all_tasks_blocked()
    for key in ("foo", "bar", "baz"):
        queue.add(key)
    waiting.cancel()
    await wait_all_tasks_blocked()
    assert waiting.cancelled()
    assert len(queue) == 3
    assert [await queue.get() for _ in range(3)] == ["foo", "bar", "baz"]


@virtual_time
async def test_a_key_that_is_promised_to_a_worker_counts_until_the_worker_takes_it() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.ensure_future(queue.get())
    await wait_all_tasks_blocked()
    queue.add("promised")
    queue.add("free")
    assert len(queue) == 2
    assert await waiting == "promised"
    assert len(queue) == 1


@virtual_time
async def test_keys_that_were_delayed_while_they_were_processed_are_counted_each() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    keys = ["a", "b", "c"]
    for key in keys:
        queue.add(key)
    assert taken(queue) == keys
    for key in keys:
        queue.add_after(key, 10)
    for key in keys:
        queue.done(key)
    assert queue.depths() == Depths(ready=0, delayed=3, processing=0, dirty=0)


def test_a_queue_with_metrics_needs_a_name_and_says_so() -> None:
    with pytest.raises(ValueError, match=r"^a queue with metrics needs a name: it identifies the queue's metrics$"):
        WorkQueue(metrics=object())  # type: ignore[arg-type]
