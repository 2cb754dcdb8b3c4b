"""Detection of a blocked event loop, by a thread, because no code in a blocked loop can run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from setpoint.concurrency import stack_of_thread

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter

logger = logging.getLogger("setpoint.manager")
BEATS: Final = 4
"""The number of times that the loop is checked within the threshold."""
REMEMBERED: Final = 30.0
"""Seconds for which readiness fails after the loop was blocked."""


class LoopWatch:
    """Reports every time the event loop is blocked for longer than ``threshold`` seconds, with the task and its line of
    code. The report is in the log while the block lasts, in metrics, and in `problem` for `REMEMBERED` seconds
    afterwards.

    ``describe`` returns a name for the work of a task. It is called in the watching thread.

    *Caveats*: code that holds the interpreter's lock, such as some functions written in C, stops the watching thread,
    too; such a block is counted and reported afterwards, without a stack. The watch is for loops in real time: in
    virtual time no work takes time.
    """

    name = "event loop watch"
    leader_only = False
    group = "servers"

    def __init__(
        self,
        threshold: float,
        describe: Callable[[asyncio.Task[Any]], str],
        *,
        registry: CollectorRegistry | None = None,
    ) -> None:
        if threshold <= 0:
            raise ValueError(f"the threshold for a blocked event loop must be more than 0 s, not {threshold:g}")
        self.threshold = threshold
        self._describe = describe
        self._stopped = threading.Event()
        self._last_beat = 0.0
        self._blocked_by = ""
        self._last = ""
        self._last_at = float("-inf")
        self._seconds: Counter | None = None
        self._times: Counter | None = None
        if registry is not None:
            from prometheus_client import Counter

            self._seconds = Counter(
                "setpoint_event_loop_blocked_seconds",
                "Seconds for which the event loop was blocked.",
                registry=registry,
            )
            self._times = Counter(
                "setpoint_event_loop_blocked", "How many times the event loop was blocked.", registry=registry
            )

    def problem(self) -> str:
        """The cause of a recent block, for readiness checks; ``""`` if there was none."""
        age = asyncio.get_running_loop().time() - self._last_at
        return f"{self._last}, {age:.0f} s ago" if age < REMEMBERED else ""

    async def run(self) -> None:
        """Watches until the call is cancelled."""
        loop = asyncio.get_running_loop()
        pause = self.threshold / BEATS
        self._last_beat = loop.time()
        thread = threading.Thread(
            target=self._watch, args=(loop, threading.get_ident(), pause), name="event loop watch", daemon=True
        )
        thread.start()
        try:
            while True:
                await asyncio.sleep(pause)
                self._beat(loop.time(), pause)
        finally:
            self._stopped.set()

    def _beat(self, now: float, pause: float) -> None:
        late = now - self._last_beat - pause
        self._last_beat = now
        if late < self.threshold:
            return
        by, self._blocked_by = self._blocked_by, ""
        self._last = f"the event loop was blocked for {late:.1f} s" + (f" by {by}" if by else "")
        self._last_at = now
        if self._seconds is not None and self._times is not None:
            self._seconds.inc(late)
            self._times.inc()
        logger.warning(self._last, extra={"fields": {"what": by, "seconds": round(late, 3)}})

    def _watch(self, loop: asyncio.AbstractEventLoop, ident: int, pause: float) -> None:
        reported = looked = 0.0
        while not self._stopped.wait(pause):
            last_beat, before, looked = self._last_beat, looked, loop.time()
            if looked - last_beat < self.threshold + pause or reported == last_beat:
                continue
            if looked - before > self.threshold:
                continue  # this thread, too, was stopped: the whole process was
            task = asyncio.current_task(loop)
            stack = stack_of_thread(ident)
            if task is None or self._last_beat != last_beat:
                continue  # it is between two tasks, or continues
            reported = last_beat
            self._blocked_by = self._describe(task)
            logger.error(
                "the event loop is blocked: nothing else runs in this process; it is at\n%s",
                "\n".join(f"  {line}" for line in stack),
                extra={"fields": {"what": self._blocked_by, "seconds": round(looked - last_beat, 3)}},
            )
