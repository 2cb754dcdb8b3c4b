"""Processes that are simulated in one event loop, in virtual time: each can be cut off, stopped and killed.

A stopped process (SIGSTOP) is one of whose tasks none takes a step; its timers have gone off when it goes on.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from random import Random
from typing import Any

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, Request, Response, Transport, TransportError
from setpoint.controller.context import current
from setpoint.manager import LeaderElection, Manager, ManagerOptions, Sharding
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.testing import EPOCH

process_of: ContextVar[Process | None] = ContextVar("process", default=None)


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class Cable:
    """The connection of a process. Cut, its requests wait forever, as in a network that drops packets."""

    def __init__(self, process: Process, inner: Transport, outside: Context) -> None:
        self.process, self.inner, self.outside = process, inner, outside
        self.cut = False
        self.refuses = False
        self.late: Callable[[Request], float] = lambda request: 0.0
        """For how many seconds a request is on its way."""
        self.lag = 0.0
        """For how many seconds what a watch says is on its way."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        if self.cut:
            await asyncio.sleep(request.timeout or 30)
            raise TransportError("timed out", sent=True, timed_out=True)
        if self.refuses:
            raise TransportError("refused", sent=False)
        await asyncio.sleep(0.003 + self.late(request))
        context = current.get()
        if context is not None and request.method != "GET":
            self.process.world.note_write(self.process, context.key)
        # The server is not part of the process: it does not stop half-way through a request because a client does.
        entering = self.inner.send(request)
        task = asyncio.get_running_loop().create_task(entering.__aenter__(), context=self.outside)
        try:
            response = await asyncio.shield(task)
            yield _Cuttable(response, self) if ("watch", "true") in request.query else response
        finally:
            if not task.done():
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is None:
                await entering.__aexit__(None, None, None)

    async def close(self) -> None:
        """The server goes on."""


class _Cuttable(Response):
    """A watch of a process whose cable is cut says nothing any more, and misses nothing: TCP sends again."""

    def __init__(self, inner: Response, cable: Cable) -> None:
        self.inner, self.cable = inner, cable
        self.status, self.headers = inner.status, inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner.chunks():
            while self.cable.cut:  # noqa: ASYNC110 - a test's network
                await asyncio.sleep(0.5)
            if self.cable.lag:
                await asyncio.sleep(self.cable.lag)
            yield chunk


class Process:
    """A manager with one controller of ConfigMaps, which takes a while for each and writes down what it saw.

    ``elects``: under leader election instead of with shards.
    """

    def __init__(self, world: World, name: str, life: int, *, elects: bool = False, **options: Any) -> None:
        self.world, self.name = world, name
        self.paused = False
        self.killed = False
        self.resumed = asyncio.Event()
        self.error: BaseException | None = None
        self.cable = Cable(self, InProcessTransport(world.server.handle), world.outside)
        # One that is cut off from the start would otherwise end after two minutes, as it should.
        controller = sp.Controller(ConfigMap, self._reconcile, workers=4, namespace="work", sync_timeout=1e6)
        self.manager = Manager(
            Client(self.cable, random=Random(1)),
            controllers=[controller],
            leader_election=LeaderElection(name="group", identity=name, **options) if elects else None,
            sharding=None if elects else Sharding(name="group", identity=name, **options),
            options=ManagerOptions(now=now, random=Random(f"{name} {life}")),
        )
        inside = copy_context()
        inside.run(process_of.set, self)
        self.task = asyncio.get_running_loop().create_task(self._run(), name=name, context=inside)

    async def _run(self) -> None:
        try:
            await self.manager.run()
        except Exception as problem:  # noqa: BLE001 - a test looks at it
            self.error = problem

    async def _reconcile(self, obj: ConfigMap, ctx: sp.Context) -> None:
        world = self.world
        world.enter(self, ctx.key, int(obj.metadata.resource_version))
        try:
            for _ in range(2):
                await asyncio.sleep(world.seconds)
            version = obj.data.get("version", "")
            answer = await ctx.patch(obj, {"metadata": {"annotations": {"seen": version}}})
            world.written[ctx.key] = int(answer.metadata.resource_version)
            await asyncio.sleep(world.seconds)
        finally:
            world.leave(self, ctx.key)

    @property
    def member(self) -> Any:
        return self.manager.shards

    @property
    def share(self) -> set[str]:
        """The keys that this process may begin now."""
        return {key for key in self.world.keys if self.member.share.owns("configmap", key)}

    def pause(self) -> None:
        self.paused = True
        self.resumed.clear()

    def resume(self) -> None:
        self.paused = False
        self.resumed.set()

    def kill(self) -> None:
        """SIGKILL: nothing of it runs again, and nothing that it had begun to send arrives."""
        self.killed = True
        self.pause()

    async def stop(self) -> None:
        """SIGTERM, and waits for the end."""
        self.manager.stop()
        await asyncio.wait([self.task])

    async def bury(self) -> None:
        """Takes a killed process out of the event loop."""
        self.cable.cut = True
        self.task.cancel()
        self.resume()
        await asyncio.wait([self.task])


class World:
    """A server, its processes, and the oracle: which process is at which key."""

    def __init__(self, server: ApiServer, keys: int, seconds: float) -> None:
        self.server = server
        self.outside = copy_context()
        self.client = Client(InProcessTransport(server.handle))
        self.keys = [sp.ObjectKey(f"work/{number}") for number in range(keys)]
        self.seconds = seconds
        self.processes: list[Process] = []
        self.at: dict[str, list[Process]] = {key: [] for key in self.keys}
        self.begins: list[tuple[float, str, str]] = []
        """When which process began which key."""
        self.written: dict[str, int] = {}
        self.violations: list[str] = []

    def start(self, name: str, **options: Any) -> Process:
        process = Process(self, name, len(self.processes), **options)
        self.processes.append(process)
        return process

    def others(self, process: Process, key: str) -> list[str]:
        """The other processes at the key; a stopped one is not: nothing of it runs."""
        return [item.name for item in self.at[key] if item is not process and not item.paused]

    def enter(self, process: Process, key: str, version: int) -> None:
        if version < self.written.get(key, 0):
            self.violations.append(f"{process.name} begins {key} without seeing what was last written for it")
        self._alone(process, "begins", key)
        self.at[key].append(process)
        self.begins.append((asyncio.get_running_loop().time(), process.name, key))

    def note_write(self, process: Process, key: str) -> None:
        self._alone(process, "writes", key)

    def _alone(self, process: Process, does: str, key: str) -> None:
        # Not raised here: a controller takes an exception for a failed reconcile, and tries again.
        if others := self.others(process, key):
            at = asyncio.get_running_loop().time()
            self.violations.append(f"at {at:.2f} s {process.name} {does} {key}, at which is {others}")

    def leave(self, process: Process, key: str) -> None:
        self.at[key].remove(process)

    async def change(self, key: str, version: str) -> None:
        await self.client.patch(ConfigMap, key.partition("/")[2], {"data": {"version": version}}, namespace="work")

    async def behind(self) -> dict[str, tuple[str, str]]:
        """The objects of which no process has seen the newest version."""
        results = {}
        for obj in (await self.client.list(ConfigMap, namespace="work")).items:
            wanted, seen = obj.data.get("version", ""), obj.metadata.annotations.get("seen", "-")
            if wanted != seen:
                results[obj.name] = wanted, seen
        return results


@asynccontextmanager
async def world(*names: str, keys: int = 24, seconds: float = 0.1, **options: Any) -> AsyncIterator[World]:
    """A server with ``keys`` ConfigMaps, and the processes. All of them are ended in the end, and none has failed."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(_factory)
    async with ApiServer(now=now, random=Random(0)) as server:
        new_world = World(server, keys, seconds)
        await new_world.client.create(Namespace.named("work"))
        for key in new_world.keys:
            await new_world.client.create(ConfigMap.named(key.name, "work", data={"version": "1"}))
        try:
            for name in names:
                new_world.start(name, **options)
            yield new_world
        finally:
            for process in new_world.processes:
                if process.killed:
                    await process.bury()
                elif not process.task.done():
                    process.cable.cut = False
                    process.resume()
                    await process.stop()
        assert new_world.violations == []
        for process in new_world.processes:
            assert process.killed or process.error is None, process.error


def _factory(
    loop: asyncio.AbstractEventLoop, coro: Any, *, context: Context | None = None, **options: Any
) -> asyncio.Task[Any]:
    process = (context or copy_context()).get(process_of)
    if process is not None:
        coro = _stoppable(coro, process)
    return asyncio.Task(coro, loop=loop, context=context, **options)


async def _stoppable(coro: Coroutine[Any, Any, Any], process: Process) -> Any:
    return await _steps(coro, process)


@types.coroutine
def _steps(coro: Coroutine[Any, Any, Any], process: Process) -> Generator[Any, Any, Any]:
    """Takes the coroutine's steps, but none while its process is stopped."""
    problem: BaseException | None = None
    while True:
        while process.paused:
            try:
                yield from process.resumed.wait().__await__()
            except BaseException as late:  # noqa: BLE001 - it is for the coroutine, when it goes on
                problem = late
        try:
            waits = coro.send(None) if problem is None else coro.throw(problem)
        except StopIteration as end:
            return end.value
        problem = None
        try:
            yield waits
        except BaseException as raised:  # noqa: BLE001 - it is for the coroutine
            problem = raised
