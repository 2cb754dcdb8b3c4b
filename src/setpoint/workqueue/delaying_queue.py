"""A work queue in which keys can be added with a delay."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from math import inf, isfinite, nextafter

from setpoint.workqueue.metrics import QueueMetricsProvider
from setpoint.workqueue.queue import WorkQueue
from setpoint.workqueue.queue_depths import DELAYED, PROCESSING, READY, K
from setpoint.workqueue.ready_list import AGEING


class DelayingQueue(WorkQueue[K]):
    """A `WorkQueue` with `add_after`.

    *Guarantees*

    - There is still one entry per key: the earliest of several delays counts, and `add` makes a delayed key ready at
      once, which ends its delay.
    - Keys become ready in the order of their times; keys with equal times, in the order of the calls.
    - The queue starts no task: it uses one timer of the loop, for the earliest key. Its heap contains at most as many
      outdated items as there are delayed keys.

    *Caveats*: `shut_down` drops delayed keys.
    """

    def __init__(self, *, name: str = "", metrics: QueueMetricsProvider | None = None, ageing: int = AGEING) -> None:
        super().__init__(name=name, metrics=metrics, ageing=ageing)
        self._heap: list[tuple[float, int, K]] = []  # loop time, number of the call, key
        self._delays: dict[K, tuple[float, int, K]] = {}  # the valid ones of the heap's items; the others are outdated
        self._calls = 0
        self._timer: asyncio.TimerHandle | None = None

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Makes the key ready after that many seconds, or at once if ``seconds <= 0``. The call is ignored after
        `shut_down`.

        A key that is already ready stays ready, and a key with an earlier time keeps that time; in both cases the
        higher priority counts. For a key in processing, too, the delay begins with the call; if it ends before `done`,
        the key is ready at `done`. The call counts as a retry in metrics and needs a running loop. Raises `ValueError`
        for infinity and NaN.
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
        now = loop.time()
        when = now + seconds
        if when == now:  # too short for a float: a rest would be waited for again and again in virtual time
            when = nextafter(now, inf)
        state = self._states.get(key)
        if state is None:
            self._states[key] = DELAYED
            self._set_priority(key, priority)
            self._delayed += 1
        elif state == PROCESSING:
            self._states[key] = PROCESSING | DELAYED
            self._set_priority(key, priority)
        else:
            self._raise_priority(key, priority)
            if state & READY or when >= self._delays[key][0]:
                return
        self._calls += 1
        self._delays[key] = item = (when, self._calls, key)
        heappush(self._heap, item)
        if self._heap[0] is item:
            self._set_timer(loop)
        self._sweep()

    def ready_at(self, key: K) -> float | None:
        """The loop time (seconds) at which a delayed key becomes ready; None for keys that are not delayed."""
        item = self._delays.get(key)
        return None if item is None else item[0]

    def _add_known(self, key: K, priority: int) -> None:
        if self._states[key] & DELAYED:
            self._raise_priority(key, priority)
            self._end_delay(key)
            self._sweep()
        else:
            super()._add_known(key, priority)

    def _end_delay(self, key: K) -> None:
        """Ends the key's delay: the key becomes ready, or dirty if it is in processing."""
        del self._delays[key]
        if self._metrics is not None:
            self._count_add(key)
        if self._states[key] & PROCESSING:
            self._states[key] = PROCESSING | READY
            self._dirty += 1
        else:
            self._delayed -= 1
            self._make_ready(key)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets a timer for the first item of the heap, and cancels the present timer if there is one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(self._heap[0][0], self._fire)

    def _fire(self) -> None:
        loop = self._running_loop()
        now = loop.time()
        self._timer = None
        while self._heap:
            item = self._heap[0]
            if self._delays.get(item[2]) is item:
                if item[0] > now:
                    self._set_timer(loop)
                    break
                self._end_delay(item[2])
            heappop(self._heap)
        self._sweep()

    def _sweep(self) -> None:
        """Removes the outdated items from the heap when they outnumber the valid ones."""
        if len(self._heap) <= 2 * len(self._delays):
            return
        self._heap = list(self._delays.values())
        heapify(self._heap)
        # A timer that fires too early does no harm, but without a delayed key there should be none.
        if not self._heap and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop(self) -> None:
        super()._stop()
        for key in self._delays:
            if self._states[key] == DELAYED:
                del self._states[key]
                self._priorities.pop(key, None)
                self._delayed -= 1
            else:
                self._states[key] = PROCESSING
        self._delays.clear()
        self._sweep()
