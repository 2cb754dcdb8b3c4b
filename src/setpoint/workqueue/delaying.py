"""The work queue with keys that become ready later."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from math import isfinite

from .entry import DELAYED, PROCESSING, READY, Entry, K
from .metrics import QueueMetricsProvider
from .queue import AGEING, WorkQueue


class DelayingQueue(WorkQueue[K]):
    """A `WorkQueue` with `add_after`.

    *Guarantees*

    - Still one entry a key: of several delays the earliest counts, and `add` makes a delayed key ready at once, which
      ends its delay.
    - Keys become ready in the order of their times, equal times in the order of the calls.
    - No task: one timer of the loop, for the earliest key. At most as many void heap items as delayed keys.

    *Caveats*: `shut_down` forgets what is delayed.
    """

    def __init__(self, *, name: str = "", metrics: QueueMetricsProvider | None = None, ageing: int = AGEING) -> None:
        super().__init__(name=name, metrics=metrics, ageing=ageing)
        self._heap: list[tuple[float, int, Entry[K]]] = []
        self._void = 0  # items in the heap whose entry has another timer, or none
        self._timers = 0
        self._handle: asyncio.TimerHandle | None = None

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Make the key ready after that many seconds, at once if ``seconds <= 0``. Ignored after `shut_down`.

        A key that is ready, or will be earlier, stays so; it takes the higher of the priorities. For a key in
        processing the delay runs from now on, too: when it ends before `done`, the key is ready at `done`.
        Counts as a retry in metrics. Needs a running loop. Raises `ValueError` for infinity and NaN.
        """
        if self._shutting_down:
            return
        if self._metrics is not None:
            self._metrics.retried()
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        if not isfinite(seconds):
            raise ValueError(f"add_after({key!r}, {seconds}): the delay must be a finite number of seconds")
        loop = self._loop or self._running_loop()
        when = loop.time() + seconds
        entry = self._entries.get(key)
        if entry is None:
            self._entries[key] = entry = Entry(key, priority, DELAYED)
            self._delayed += 1
        elif entry.state == PROCESSING:
            entry.state = PROCESSING | DELAYED
            entry.priority = priority
        else:
            if priority > entry.priority:
                self._raise(entry, priority)
            if entry.state & READY or when >= entry.ready_at:
                return
            self._void += 1
        entry.ready_at = when
        self._timers = entry.timer = self._timers + 1
        heappush(self._heap, (when, entry.timer, entry))
        if self._heap[0][1] == entry.timer:
            self._arm(loop)
        if self._void * 2 > len(self._heap):
            self._sweep()

    def _add_known(self, entry: Entry[K], priority: int) -> None:
        if not entry.state & DELAYED:
            super()._add_known(entry, priority)
            return
        if priority > entry.priority:
            entry.priority = priority
        self._void += 1
        self._end_delay(entry)
        if self._void * 2 > len(self._heap):
            self._sweep()

    def _end_delay(self, entry: Entry[K]) -> None:
        """The entry is ready, or dirty, from now on; its item in the heap, if it is still there, is void."""
        entry.timer = 0
        if self._metrics is not None:
            self._count_add(entry)
        if entry.state & PROCESSING:
            entry.state = PROCESSING | READY
            self._dirty += 1
        else:
            entry.state = READY
            self._delayed -= 1
            self._hand_over(entry)

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the timer for the first item of the heap, which is earlier than what it was set for."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = loop.call_at(self._heap[0][0], self._fire)

    def _fire(self) -> None:
        loop = self._running_loop()
        now = loop.time()
        self._handle = None
        heap = self._heap
        while heap:
            when, timer, entry = heap[0]
            if entry.timer != timer:
                self._void -= 1
            elif when <= now:
                self._end_delay(entry)
            else:
                self._arm(loop)
                break
            heappop(heap)

    def _sweep(self) -> None:
        """Void items outnumber the valid ones: drop them."""
        self._heap = [item for item in self._heap if item[2].timer == item[1]]
        heapify(self._heap)
        self._void = 0
        # A timer that is too early only finds nothing to do, but with nothing to wait for there should be none.
        if not self._heap and self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _stop(self) -> None:
        super()._stop()
        for _, timer, entry in self._heap:
            if entry.timer == timer:
                entry.timer = 0
                if entry.state == DELAYED:
                    del self._entries[entry.key]
                    self._delayed -= 1
                else:
                    entry.state = PROCESSING
        self._heap.clear()
        self._void = 0
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
