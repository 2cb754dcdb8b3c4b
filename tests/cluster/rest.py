"""Rest: a control plane that has converged writes nothing until time itself demands it."""

from __future__ import annotations

import asyncio
import re
from types import TracebackType
from typing import Any, Final, NamedTuple

import pytest

from setpoint.apiserver import ApiServer
from setpoint.controller import RunningController
from setpoint.controller.events import SERIES_REFRESH
from setpoint.models.events_v1 import Event
from setpoint.testing import VirtualTimeLoop, advance
from setpoint.testing.clusters import Cluster

SECONDS: Final = 1200.0
"""Virtual time that is let go on: longer than tolerations, progress deadlines and quarantines."""
_FOR_EVER: Final = ("cronjob-controller", "hollow-kubelet", "job-controller")
"""The controllers that may have something to change again and again: CronJobs begin Jobs, containers crash or can't be
pulled, and Jobs whose failures don't count try once more."""
_MOMENT: Final = 0.001
"""Seconds before and after the time at which a key is due: what is written in them is what time demands."""
_EVENT: Final = re.compile(r"\S+ /apis/events\.k8s\.io/v1/namespaces/[^/]+/events/?(\S*)")
_ASKS: Final = re.compile(r"/apis/(authorization|authentication)\.k8s\.io/.*")


class Moved(AssertionError):
    """The control plane wrote to a cluster in which everything was as it would stay."""


class _Write(NamedTuple):
    text: str
    is_refused: bool

    @property
    def event(self) -> str | None:
        """The name of the event that is created (then it is empty) or changed; None for another object."""
        match = _EVENT.match(self.text)
        return match and match[1]


class Rest:
    """Notes the writes that reach servers from now on, and asserts that there are none where there are to be none."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._writes: list[_Write] = []
        handle, leave = ApiServer.handle, Cluster.__aexit__

        async def noted(server: ApiServer, request: Any) -> Any:
            answer = await handle(server, request)
            if request.method not in ("GET", "HEAD") and not _ASKS.fullmatch(request.path):
                text = f"{request.method} {request.path} {(request.body or b'')[:300].decode()}"
                self._writes.append(_Write(text, answer.status >= 400))
            return answer

        async def left(
            world: Cluster,
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
        ) -> bool | None:
            is_virtual = isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
            if error is None and world.control_plane is not None and is_virtual:
                try:
                    await self.check(world)
                except BaseException as problem:
                    await leave(world, type(problem), problem, problem.__traceback__)
                    raise
            return await leave(world, kind, error, traceback)

        patch.setattr(ApiServer, "handle", noted)
        patch.setattr(Cluster, "__aexit__", left)

    async def check(self, world: Cluster) -> None:
        """Lets time go on, and asserts that the control plane writes nothing: from now on, where nothing is put off;
        else after `SECONDS`; where something has to be changed again and again, between the moments at which a key of
        one of `_FOR_EVER` is due.

        Time demands that warnings are repeated, that keys which fail are tried again and say so, and that the counts of
        events are written late.

        Raises:
            Moved: something was written.
        """
        assert world.control_plane is not None
        running = world.control_plane.manager.controllers
        await world.settle(failing=True)
        is_delayed = any(map(_has_delayed, running.values()))
        before = len(self._writes)
        await advance(SECONDS if is_delayed else 2 * SERIES_REFRESH)
        answer = [] if is_delayed else [write for write in self._writes[before:] if not write.event]
        changing = [value for name, value in running.items() if name in _FOR_EVER]
        unasked = await self._unasked(changing if any(map(_has_delayed, changing)) else [])
        fails = any(item.queue.num_requeues(key) for item in running.values() for key in item.queue.states())
        warnings = {event.name for event in await world.list(Event) if event.type == "Warning"}
        for write in unasked:
            if write.event not in warnings and not (fails and (write.is_refused or write.event is not None)):
                answer.append(write)
        if answer:
            text = "\n  ".join(write.text for write in answer[:20])
            raise Moved(f"{len(answer)} writes in {SECONDS:g} s in which nothing was to be done:\n  {text}")

    async def _unasked(self, changing: list[RunningController[Any]]) -> list[_Write]:
        """The writes within `SECONDS`, except at the moments at which a key of one of these controllers is due."""
        loop = asyncio.get_running_loop()
        end = loop.time() + SECONDS
        unasked: list[_Write] = []
        while (now := loop.time()) < end:
            due = min((at for item in changing for at in _due(item) if at < end), default=end)
            before = len(self._writes)
            await advance(max(due - now - _MOMENT, 0.0))
            unasked += self._writes[before:]
            await advance(2 * _MOMENT)
        return unasked


def _due(running: RunningController[Any]) -> list[float]:
    """The loop's times at which keys that were put off are due."""
    return [at for key in running.queue.states() if (at := running.queue.ready_at(key)) is not None]


def _has_delayed(running: RunningController[Any]) -> bool:
    return any("delayed" in state for state in running.queue.states().values())
