"""A control plane that can be ended after any of its writes, and what the cluster looks like in the end."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from tests.tasks import stop
from tests.transports import Through

from setpoint.client import Client, InProcessTransport, Request, Response, Transport
from setpoint.cluster import ControlPlane
from setpoint.meta import Object, raw_of
from setpoint.simulation.execution.fork_server import fork
from setpoint.testing import Cluster, cluster, run

Scenario = Callable[["Restartable"], Awaitable[None]]
Counted = Callable[[Request], bool]
Branch = Callable[[], bool]
_IDENTITY = "uid resourceVersion creationTimestamp managedFields generation observedGeneration deletionTimestamp"
_TIMES = (
    "lastHeartbeatTime timeAdded "
    "lastTransitionTime lastPhaseTransitionTime lastUpdateTime startTime completionTime startedAt finishedAt "
    "lastScheduleTime lastScaleTime lastProbeTime acquireTime renewTime"
)
_PLACES = "podIP podIPs hostIP hostIPs nodeName containerID imageID addresses"
_DRAWN = "batch.kubernetes.io/controller-uid controller-uid collisionCount"
_VOLATILE = frozenset(f"{_IDENTITY} {_TIMES} lastSuccessfulTime {_PLACES} {_DRAWN}".split())


class _Counting(Through):
    """Lets ``left`` writes of controllers through; what is asked after the last of them is never answered. Calls
    ``branch`` after each counted write; if it returns True, this write is the last.
    """

    def __init__(self, inner: Transport, left: int | None, counts: Counted, branch: Branch) -> None:
        super().__init__(inner)
        self._left = left
        self._counts = counts
        self._branch = branch
        self.writes: list[str] = []
        self.crashed = asyncio.Event()

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        if self.crashed.is_set():
            await asyncio.Event().wait()
        async with self.inner.send(request) as answer:
            if self._counts(request) and answer.status < 400:
                self.writes.append(f"{request.method} {request.path}")
                if (self._left is not None and len(self.writes) >= self._left) or self._branch():
                    self.crashed.set()
                    await asyncio.Event().wait()
            yield answer


def any_write(request: Request) -> bool:
    """Whether it is a write of a controller, the scheduler or a kubelet, and not an event."""
    return request.method != "GET" and "/events" not in request.path


def of_controllers(request: Request) -> bool:
    """Whether it is a write of a controller, and neither an event nor the scheduler's or a kubelet's."""
    return (
        any_write(request)
        and "/binding" not in request.path
        and ("fieldManager", "hollow-kubelet") not in request.query
        and b'"gracePeriodSeconds":0' not in (request.body or b"")
    )


class Restartable:
    """A cluster whose control plane ends after its write number ``crash`` and is replaced by another one."""

    def __init__(
        self,
        world: Cluster,
        controllers: Sequence[str],
        crash: int | None,
        counts: Counted,
        branch: Branch = lambda: False,
    ) -> None:
        self.world = world
        self._counts = counts
        self._branch = branch
        self.controllers = controllers
        self.crash = crash
        self.writes: list[str] = []
        self._transport: _Counting
        self._running: asyncio.Task[None]

    async def start(self) -> None:
        self._transport = _Counting(
            InProcessTransport(self.world.server.handle), self.crash, self._counts, self._branch
        )
        client = Client(self._transport, namespace="default", random=self.world.random)
        plane = ControlPlane(
            client, controllers=self.controllers, now=self.world.now, random=self.world.random
        )  # fmt: skip
        self.world.control_plane = plane
        self.world.server.kubelets = plane.kubelets
        self._running = asyncio.ensure_future(plane.run())
        await asyncio.sleep(0)

    async def end(self) -> None:
        self.writes += self._transport.writes
        await stop(self._running)

    async def restart(self) -> None:
        """Another control plane takes over, which does not crash."""
        await self.end()
        self.crash = None
        await self.start()

    def writes_of_all(self) -> list[str]:
        """Every write of a controller so far."""
        return [*self.writes, *self._transport.writes]

    async def settle(self) -> None:
        """Until nothing is left to do, whatever crashes meanwhile."""
        settling = asyncio.ensure_future(self.world.settle())
        crashed = asyncio.ensure_future(self._transport.crashed.wait())
        await asyncio.wait((settling, crashed), return_when=asyncio.FIRST_COMPLETED)
        if crashed.done():
            await stop(settling)
            await self.restart()
            await self.world.settle()
        else:
            await stop(crashed)
            settling.result()

    async def picture(self, *kinds: type[Object]) -> list[str]:
        """A picture of all objects, without times and random names."""
        pictures, drawn = [], []
        for kind in kinds:
            for obj in await self.world.list(kind):
                raw = raw_of(obj)
                assert raw is not None
                if obj.metadata.generate_name:
                    drawn.append((obj.name, f"{obj.metadata.generate_name}*"))
                drawn.append((obj.uid, f"uid of {kind.__name__} {obj.name}"))
                pictures.append(msgspec.json.encode(_plain(msgspec.json.decode(raw)), order="sorted").decode())
        for name, instead in drawn:
            pictures = [re.sub(rf"\b{re.escape(name)}\b", instead, picture) for picture in pictures]
        return sorted(pictures)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one_value) for name, one_value in value.items() if name not in _VOLATILE}
    return [_plain(item) for item in value] if isinstance(value, list) else value


class Play(NamedTuple):
    """Actions, the controllers that run, the kinds that are equal in the end, and the writes after which it crashes."""

    scenario: Scenario
    controllers: Sequence[str]
    kinds: tuple[type[Object], ...]
    counts: Counted = of_controllers


async def played(play: Play, crash: int | None = None, branch: Branch = lambda: False) -> tuple[Any, Any]:
    """The end of a scenario with some controllers of the control plane, and the writes that led to it."""
    async with cluster(control_plane=False) as world:
        plane = Restartable(world, play.controllers, crash, play.counts, branch)
        await plane.start()
        await plane.settle()
        await play.scenario(plane)
        await plane.settle()
        picture = await plane.picture(*play.kinds)
        await plane.end()
        world.control_plane = None
        return picture, plane.writes


def played_with_every_crash(play: Play) -> tuple[Any, list[str], list[Any]]:
    """The end of a scenario, the writes that led to it, and for each write the end of the same scenario if the control
    plane crashes after that write, or the traceback of what failed there.

    Everything before a write is played once: a process that is forked at the write plays the rest with the crash.
    """
    ends: list[Any] = []
    results: int | None = None  # the pipe to the parent process, in a forked process

    def branch() -> bool:
        nonlocal results
        if results is not None:
            return False
        source, sink = os.pipe()
        child = fork()
        if child == 0:
            os.close(source)
            gc.disable()  # collecting would copy the parent's memory
            asyncio._set_running_loop(loop)  # a running loop is known by its process
            results = sink
            return True
        os.close(sink)
        with open(source, "rb") as pipe:
            ends.append(json.loads(pipe.read() or '"the process ended without a result"'))
        os.waitpid(child, 0)
        return False

    async def play_here() -> tuple[Any, Any]:
        nonlocal loop
        loop = asyncio.get_running_loop()
        return await played(play, branch=branch)

    loop: asyncio.AbstractEventLoop
    try:
        expected, writes = run(play_here())
        end = expected
    except BaseException:
        if results is None:
            raise
        end = traceback.format_exc()
    if results is not None:
        with open(results, "w", encoding="utf-8") as pipe:
            json.dump(end, pipe)
        os._exit(0)
    return expected, writes, ends
