"""Chronos: logs the creation, update and deletion of Pods.

It uses only informers and queues, as controllers did before there were frameworks. Handlers only put keys in a
rate-limited queue; workers take a key, read the indexer, and log the difference from the last logged state. So it does
not matter how many events arrive or what types they have, and nothing is logged twice when the informer lists again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from setpoint.apps.chronos.entry import Entry, Event, PodState
from setpoint.cache import Informer
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Pod
from setpoint.workqueue import RateLimitingQueue, ShutDown, default_controller_rate_limiter

Sink = Callable[[Entry], Awaitable[None]]


class Chronos:
    """Watches the Pods of one informer and passes each change to ``sink``.

    Args:
        pods: the Pod informer; it may be shared with other controllers.
        sink: called with an `Entry`. If it raises, the Pod is retried with back-off; only BrokenPipeError ends `run`.
        workers: the number of concurrent workers; two workers never process the same key at the same time.
        max_retries: the number of retries of a key, after which the next failure drops the key (see ``on_drop``) until
            its Pod changes again.
        resync: seconds after which every Pod is checked again, 0 for never; unchanged Pods are not logged.
        on_drop: called with a dropped key and its last error.

    Guarantees: every existing Pod is logged; several changes between two reads are logged as one ``update``; a Pod that
    was replaced by a different one of the same name is logged as ``delete`` and ``create``; a Pod that was deleted
    during an outage of the server is logged as ``delete`` afterwards.
    """

    def __init__(
        self,
        pods: Informer[Pod],
        sink: Sink,
        *,
        workers: int = 2,
        max_retries: int = 5,
        resync: float = 0,
        on_drop: Callable[[ObjectKey, Exception], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.pods = pods
        self.sink = sink
        self.workers = workers
        self.max_retries = max_retries
        self.resync = resync
        self.on_drop = on_drop
        self.now = now
        self.logged = 0
        self.queue: RateLimitingQueue[ObjectKey] = RateLimitingQueue(default_controller_rate_limiter(), name="chronos")
        self._states: dict[ObjectKey, PodState] = {}

    async def run(self) -> None:
        """Logs changes until it is cancelled."""
        add: Callable[..., None] = self._enqueue
        registration = self.pods.add_event_handler(
            on_add=add, on_update=add, on_delete=add, resync=self.resync or None, name="chronos"
        )
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.workers):
                    group.create_task(self._work(), name=f"chronos worker {number}")
        finally:
            self.queue.shut_down()
            await registration.remove()

    def _enqueue(self, *heads: Any, **_: Any) -> None:
        """Enqueues the key of an object; it handles all three types of events."""
        self.queue.add(next(head for head in reversed(heads) if hasattr(head, "key")).key)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._sync(key)
            except BrokenPipeError:
                raise  # the reader of the output has gone; a retry can't help
            except Exception as problem:  # noqa: BLE001 - any error of a sink is retried, up to max_retries times
                self._retry(key, problem)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key)

    def _retry(self, key: ObjectKey, problem: Exception) -> None:
        if self.queue.num_requeues(key) < self.max_retries:
            self.queue.add_rate_limited(key)
            return
        self.queue.forget(key)
        if self.on_drop is not None:
            self.on_drop(key, problem)

    async def _sync(self, key: ObjectKey) -> None:
        """Logs the difference from the last logged state. The new state is remembered only after the difference has
        been logged.
        """
        pod = self.pods.lister.try_get(key)
        last_state = self._states.get(key)
        if last_state is not None and (pod is None or pod.uid != last_state.uid):
            await self._log("delete", key, last_state)
            del self._states[key]
            last_state = None
        if pod is None:
            return
        state = PodState.of(pod)
        if state != last_state:
            await self._log("create" if last_state is None else "update", key, state, pod)
            self._states[key] = state

    async def _log(self, event: Event, key: ObjectKey, state: PodState, pod: Pod | None = None) -> None:
        await self.sink(Entry(event=event, key=key, time=self.now(), state=state, pod=pod))
        self.logged += 1
