"""The work queue: an ordered queue of the keys that need work."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Final, Generic

from setpoint.workqueue.metrics import QueueMetrics, QueueMetricsProvider
from setpoint.workqueue.queue_depths import DELAYED, PROCESSING, READY, STATE_NAMES, Depths, K
from setpoint.workqueue.ready_list import AGEING, ReadyList

LOW_PRIORITY: Final = -100
"""The priority of keys from first syncs and resyncs. It is lower than 0, the priority of keys with changes."""
HIGH_PRIORITY: Final = 100
"""The priority of keys whose reconciles people have requested."""


class ShutDown(Exception):
    """The queue was shut down and no key is ready."""


class WorkQueue(Generic[K]):
    """A queue of keys that need work; each key is in it at most once.

    *Guarantees*

    - There is one entry per key, however often the key is added, with the highest of its priorities.
    - Two workers never have the same key: a key added while it is processed is handed out again after `done`, not
      before.
    - Keys with higher priorities come first; keys with equal priorities come in the order in which they became ready.
      No key starves: while keys of several priorities wait, one of every ``ageing`` keys that are handed out has a
      lower priority than the highest, and the lower priorities alternate (`ReadyList`).
    - Waiting workers are served in the order of their calls. No key is lost when a waiting worker is cancelled.
    - After `shut_down`, ready keys are still handed out; after that, `get` raises `ShutDown`.
    - The queue starts no task and no thread; memory is bounded by the number of distinct keys.

    *Caveats*

    - A key that `get` has returned belongs to the caller, who must call `done` (`item` does); otherwise the key is
      never handed out again.
    - A queue belongs to one event loop, which it looks up when it first needs the loop; before that, it can be created
      and keys can be added. It is not thread-safe: from other threads use ``loop.call_soon_threadsafe(queue.add,
      key)``.

    ``name`` identifies the queue in metrics and errors. It is required with ``metrics``; see
    `setpoint.workqueue.metrics`.
    """

    def __init__(self, *, name: str = "", metrics: QueueMetricsProvider | None = None, ageing: int = AGEING) -> None:
        if metrics is not None and not name:
            raise ValueError("a queue with metrics needs a name: it identifies the queue's metrics")
        self.name = name
        self._states: dict[K, int] = {}
        self._priorities: dict[K, int] = {}  # only of keys whose priority is not 0
        self._ready: ReadyList[K] = ReadyList(ageing)
        self._fifo = self._ready.fifo
        # Ready keys are free, or promised to a worker that was woken and has not run yet.
        self._free = 0
        self._promised = 0
        self._delayed = 0  # keys that are DELAYED and not PROCESSING
        self._dirty = 0
        self._waiters: deque[asyncio.Future[bool]] = deque()
        self._drainers: list[asyncio.Future[None]] = []
        self._shutting_down = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._metrics: QueueMetrics | None = None
        if metrics is not None:
            self._added_at: dict[K, float] = {}
            self._started_at: dict[K, float] = {}
            self._metrics = metrics.for_queue(name, self)

    # The interface. `add`, `get` and `done` inline the common cases of the methods below.

    def add(self, key: K, *, priority: int = 0) -> None:
        """Marks the key as needing work now. A delayed key becomes ready. The call is ignored after `shut_down`."""
        if self._shutting_down:
            return
        if key in self._states:
            self._add_known(key, priority)
            return
        self._states[key] = READY
        if self._metrics is not None:
            self._count_add(key)
        if priority:
            self._priorities[key] = priority
            self._ready.push(key, priority)
        elif self._ready.plain:
            self._fifo.append(key)
        else:
            self._ready.push(key, 0)
        if self._waiters:
            self._wake()
        else:
            self._free += 1

    async def get(self) -> K:
        """Waits for the next ready key and returns it. The caller must call `done` with this key.

        Raises `ShutDown` when the queue is shut down and no key is ready.
        """
        if self._free:
            self._free -= 1
        else:
            await self._wait()
        key = self._fifo.popleft() if self._ready.plain else self._ready.pop()
        self._states[key] = PROCESSING
        if self._metrics is not None:
            self._count_get(key)
        return key

    def done(self, key: K) -> None:
        """Ends the processing of a key from `get`. If the key was added in the meantime, it becomes ready again.

        Raises `ValueError` when the key is not being processed.
        """
        state = self._states.pop(key, 0)
        if state == PROCESSING:
            if self._priorities:
                self._priorities.pop(key, None)
            if self._drainers and not self._states:
                self._end_drains()
        else:
            if not state & PROCESSING:
                if state:
                    self._states[key] = state
                raise ValueError(f"done({key!r}): in queue {self.name!r} the key is not being processed")
            if state & READY:
                self._dirty -= 1
                self._make_ready(key)
            else:
                self._states[key] = DELAYED
                self._delayed += 1
        if self._metrics is not None:
            self._count_done(key)

    def item(self) -> Item[K]:
        """A context manager: ``async with queue.item() as key:`` calls `get`, which may raise `ShutDown`, and calls
        `done` at the end of the block.
        """
        return Item(self)

    def shut_down(self) -> None:
        """Ignores all further adds and drops delayed keys. Ready keys are still handed out; after that, `get` raises
        `ShutDown`, which tells the workers to end.

        The call returns at once. It ends a running `shut_down_with_drain`.
        """
        self._stop()
        self._end_drains()

    async def shut_down_with_drain(self) -> None:
        """Does the same as `shut_down`, and waits until every key that was ready or in processing is done.

        Keys that were added while they were processed are handed out and awaited once more. Workers must continue to
        call `get` and `done`; `shut_down` ends the wait. A worker that calls this method for a key of its own must call
        `done` first, because it would wait for itself.
        """
        self._stop()
        if not self._states:
            return
        drained: asyncio.Future[None] = self._running_loop().create_future()
        self._drainers.append(drained)
        try:
            await drained
        finally:
            self._drainers.remove(drained)

    @property
    def shutting_down(self) -> bool:
        """Whether `shut_down` or `shut_down_with_drain` was called."""
        return self._shutting_down

    # Introspection.

    def __len__(self) -> int:
        """The number of keys that are ready to be handed out."""
        return self._free + self._promised

    def state(self, key: K) -> str | None:
        """``ready``, ``delayed``, ``processing``, ``processing+dirty`` (ready again after `done`),
        ``processing+delayed`` (delayed after `done`), or None for a key that is not in the queue.
        """
        state = self._states.get(key)
        return None if state is None else STATE_NAMES[state]

    def states(self) -> dict[K, str]:
        """Every key in the queue, with its `state`."""
        return {key: STATE_NAMES[state] for key, state in self._states.items()}

    def priority(self, key: K) -> int | None:
        """The priority of a waiting key. For a key in processing, it is the priority with which the key was handed out
        or, if the key has been added again since, with which it will be handed out next. None for a key that is not in
        the queue.
        """
        return self._priorities.get(key, 0) if key in self._states else None

    def depths(self) -> Depths:
        """The number of keys in each state."""
        ready = self._free + self._promised
        return Depths(ready, self._delayed, len(self._states) - ready - self._delayed, self._dirty)

    def work_in_progress(self) -> list[float]:
        """For each key in processing, the number of seconds since it was handed out. Empty without metrics, because
        only metrics need these times.
        """
        loop = self._loop
        if loop is None or self._metrics is None:
            return []
        now = loop.time()
        return [now - started for started in self._started_at.values()]

    # Internals.

    def _add_known(self, key: K, priority: int) -> None:
        """Carries out `add` for a key that is already in the queue."""
        if self._states[key] != PROCESSING:
            self._raise_priority(key, priority)
            return
        self._states[key] = PROCESSING | READY
        self._set_priority(key, priority)
        self._dirty += 1
        if self._metrics is not None:
            self._count_add(key)

    def _set_priority(self, key: K, priority: int) -> None:
        if priority:
            self._priorities[key] = priority
        else:
            self._priorities.pop(key, None)

    def _raise_priority(self, key: K, priority: int) -> None:
        """Raises the key's priority; a ready key moves to the end of the line of its new priority. A priority that is
        not higher changes nothing.
        """
        old = self._priorities.get(key, 0)
        if priority > old:
            self._set_priority(key, priority)
            if self._states[key] == READY:
                self._ready.move(key, old, priority)

    def _make_ready(self, key: K) -> None:
        self._states[key] = READY
        self._ready.push(key, self._priorities.get(key, 0))
        if self._waiters:
            self._wake()
        else:
            self._free += 1

    def _wake(self) -> None:
        """Promises a free ready key to the worker that has waited longest."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(True)
                self._promised += 1
                return
        self._free += 1

    async def _wait(self) -> None:
        """Waits until a ready key belongs to the caller. Raises `ShutDown`."""
        if self._shutting_down:
            raise ShutDown(f"queue {self.name!r} is shut down")
        waiter: asyncio.Future[bool] = self._running_loop().create_future()
        self._waiters.append(waiter)
        try:
            promised = await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                if waiter in self._waiters:  # `_wake` may have woken it first
                    self._waiters.remove(waiter)
            elif waiter.result():
                self._promised -= 1
                self._wake()
            raise
        if not promised:
            raise ShutDown(f"queue {self.name!r} is shut down")
        self._promised -= 1

    def _stop(self) -> None:
        self._shutting_down = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(False)
        self._waiters.clear()

    def _end_drains(self) -> None:
        for drained in self._drainers:
            if not drained.done():
                drained.set_result(None)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(f"queue {self.name!r} belongs to another event loop: {self._loop!r}")
        return loop

    # Metrics; not called without metrics.

    def _now(self) -> float | None:
        """The loop's time, or None before there is a loop."""
        if self._loop is None:
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                return None
        return self._loop.time()

    def _count_add(self, key: K) -> None:
        assert self._metrics is not None
        now = self._now()
        if now is not None:
            self._added_at[key] = now
        self._metrics.added()

    def _count_get(self, key: K) -> None:
        assert self._metrics is not None
        now = self._now()
        assert now is not None
        self._started_at[key] = now
        added = self._added_at.pop(key, None)
        if added is not None:
            self._metrics.handed_out(now - added)

    def _count_done(self, key: K) -> None:
        assert self._metrics is not None
        now = self._now()
        assert now is not None
        self._metrics.finished(now - self._started_at.pop(key))


class Item(Generic[K]):
    """One key that is taken for the duration of an ``async with`` block."""

    __slots__ = ("_key", "_queue")

    def __init__(self, queue: WorkQueue[K]) -> None:
        self._queue = queue

    async def __aenter__(self) -> K:
        self._key = await self._queue.get()
        return self._key

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._key)
