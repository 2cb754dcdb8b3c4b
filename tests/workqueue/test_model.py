"""The queue against the simplest model of it, in virtual time."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from setpoint.testing import VirtualTimeLoop, wait_all_tasks_blocked
from setpoint.workqueue import DelayingQueue, Depths, ShutDown

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.sampled_from([-100, 0, 0, 0, 7])
SECONDS = st.integers(1, 20).map(float)
STRICT = 10**9


class Queue(RuleBasedStateMachine):
    """Ready keys are a list in the order of becoming ready; waiting ones and those in work are dicts."""

    @initialize()
    def start(self) -> None:
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.queue: DelayingQueue[str] = DelayingQueue(ageing=STRICT)
        self.ready: list[str] = []
        self.priority: dict[str, int] = {}  # of what is ready or waits
        self.ready_at: dict[str, tuple[float, int]] = {}
        self.calls = 0
        self.in_work: set[str] = set()
        self.dirty: set[str] = set()
        self.workers: list[asyncio.Task[str]] = []
        self.shut_down = False

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for worker in self.workers:
                worker.cancel()
            self.runner.close()

    def time(self) -> float:
        return self.runner.get_loop().time()

    # The model

    def become_ready(self, key: str) -> None:
        if key in self.in_work:
            self.dirty.add(key)
        else:
            self.ready.append(key)

    def model_raise(self, key: str, priority: int) -> None:
        if priority > self.priority[key]:
            self.priority[key] = priority
            if key in self.ready:
                self.ready.remove(key)
                self.ready.append(key)

    def model_add(self, key: str, priority: int) -> None:
        if self.shut_down:
            return
        if key in self.ready or key in self.dirty:
            self.model_raise(key, priority)
        elif key in self.ready_at:
            self.model_raise(key, priority)
            del self.ready_at[key]
            self.become_ready(key)
        else:
            self.priority[key] = priority
            self.become_ready(key)

    def model_get(self) -> str:
        key = max(self.ready, key=lambda key: self.priority[key])
        self.ready.remove(key)
        del self.priority[key]
        self.in_work.add(key)
        return key

    def hand_out(self) -> None:
        """Checks the keys that waiting workers have got, in the order they came."""
        self.runner.run(wait_all_tasks_blocked())
        while self.workers and self.ready:
            assert self.workers.pop(0).result() == self.model_get()
        assert not any(worker.done() for worker in self.workers)

    # The steps

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.model_add(key, priority)
        self.hand_out()

    @rule(key=KEYS, priority=PRIORITIES, seconds=SECONDS)
    def add_after(self, key: str, priority: int, seconds: float) -> None:
        async def call() -> None:
            self.queue.add_after(key, seconds, priority=priority)

        when = self.time() + seconds
        self.runner.run(call())
        if self.shut_down:
            return
        if key in self.ready or key in self.dirty:
            self.model_raise(key, priority)
        elif key in self.ready_at:
            self.model_raise(key, priority)
            if when < self.ready_at[key][0]:
                self.calls += 1
                self.ready_at[key] = (when, self.calls)
        else:
            self.calls += 1
            self.ready_at[key] = (when, self.calls)
            self.priority[key] = priority

    @rule(seconds=SECONDS)
    def advance(self, seconds: float) -> None:
        end = self.time() + seconds
        for key, (when, _) in sorted(self.ready_at.items(), key=lambda item: item[1]):
            if when <= end:
                del self.ready_at[key]
                self.become_ready(key)
                # A worker that waits takes each key at its own time, before a later one may overtake.
                if self.workers and self.ready:
                    self.runner.run(asyncio.sleep(when - self.time()))
                    at_once = [k for k, (w, _) in self.ready_at.items() if w == when]
                    if not at_once:
                        self.hand_out()
        self.runner.run(asyncio.sleep(end - self.time()))
        self.hand_out()

    @precondition(lambda self: self.ready)
    @rule()
    def get(self) -> None:
        assert self.runner.run(self.queue.get()) == self.model_get()

    @precondition(lambda self: not self.ready and not self.shut_down)
    @rule()
    def wait(self) -> None:
        async def start() -> None:
            self.workers.append(asyncio.ensure_future(self.queue.get()))
            await wait_all_tasks_blocked()

        self.runner.run(start())

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), key=KEYS, add=st.booleans())
    def cancel(self, data: st.DataObject, key: str, add: bool) -> None:
        """A waiting worker is cancelled, perhaps in the very moment it is to get a key."""
        worker = self.workers.pop(data.draw(st.integers(0, len(self.workers) - 1)))

        async def cancel() -> None:
            if add:
                self.queue.add(key)
            worker.cancel()
            await wait_all_tasks_blocked()

        self.runner.run(cancel())
        assert worker.cancelled()
        if add:
            self.model_add(key, 0)
        self.hand_out()

    @precondition(lambda self: self.in_work)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.in_work)))
        self.queue.done(key)
        self.in_work.discard(key)
        if key in self.dirty:
            self.dirty.discard(key)
            self.ready.append(key)
        self.hand_out()

    @rule(key=KEYS)
    def done_too_often(self, key: str) -> None:
        if key not in self.in_work:
            with pytest.raises(ValueError, match="not being processed"):
                self.queue.done(key)

    @precondition(lambda self: len(self.in_work) > 3)
    @rule()
    def shut(self) -> None:
        self.queue.shut_down()
        self.shut_down = True
        self.ready_at.clear()
        self.runner.run(wait_all_tasks_blocked())
        for worker in self.workers:
            assert isinstance(worker.exception(), ShutDown)
        self.workers.clear()

    @precondition(lambda self: self.shut_down and not self.ready)
    @rule()
    def get_after_the_end(self) -> None:
        with pytest.raises(ShutDown):
            self.runner.run(self.queue.get())

    # Invariants

    @invariant()
    def states_agree(self) -> None:
        expected = dict.fromkeys(self.ready, "ready")
        expected |= dict.fromkeys(self.ready_at, "delayed")
        for key in self.in_work:
            expected[key] = (
                "processing+dirty"
                if key in self.dirty
                else "processing+delayed"
                if key in self.ready_at
                else "processing"
            )
        assert self.queue.states() == expected
        assert {key: self.queue.state(key) for key in expected} == expected
        delayed = sum(state == "delayed" for state in expected.values())
        assert self.queue.depths() == Depths(len(self.ready), delayed, len(self.in_work), len(self.dirty))
        assert len(self.queue) == len(self.ready)
        for key in expected:
            if key in self.priority:
                assert self.queue.priority(key) == self.priority[key]
            assert self.queue.ready_at(key) == (self.ready_at[key][0] if key in self.ready_at else None)

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.queue._heap) <= 2 * len(self.ready_at)
        assert len(self.queue._priorities) <= len(self.queue._states)
        assert len(self.queue._waiters) == len(self.workers)
        assert (self.queue._timer is None) or self.ready_at


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
