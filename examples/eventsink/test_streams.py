"""The event sink with a real queue: a stream of a redis-server, which is killed while Events come."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from eventsink import EventSink, EventSinkSpec, controller
from posting import Answer, Collector
from tests.ports import reserved_port

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import InProcessTransport
from setpoint.crd import crd_for
from setpoint.meta import MicroTime, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import ObjectReference
from setpoint.models.events_v1 import Event

pytestmark = pytest.mark.generated
DEADLINE = 120.0
"""Seconds after which what was waited for counts as missing. Generous: the machine may be busy."""
BATCH = 5


class Server:
    """A redis-server on a port of its own, which keeps what it has confirmed."""

    def __init__(self, folder: Path, port: int) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("there is no redis-server: apt-get install redis-server")
        self.port = port
        place = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder))
        self._command = (program, *place, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        """Returns when it answers and has read its file."""
        quiet = asyncio.subprocess.DEVNULL
        self.process = await asyncio.create_subprocess_exec(*self._command, stdout=quiet, stderr=quiet)
        await until(self.answers)

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def answers(self) -> bool:
        from redis.exceptions import RedisError

        try:
            await self.ids()
        except RedisError:
            return False
        return True

    async def ids(self) -> list[str]:
        """The ids of the entries, in their order."""
        return [fields[b"id"].decode() for _, fields in await self.ask("XRANGE", "events", "-", "+")]

    async def ask(self, *words: str) -> Any:
        from redis.asyncio import Redis

        client: Any = Redis(port=self.port)
        try:
            return await client.execute_command(*words)
        finally:
            await client.aclose()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Asks again and again until it is so."""
    async with asyncio.timeout(DEADLINE):
        while True:
            if await is_so():
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncGenerator[Server]:
    with reserved_port() as port:
        server = Server(tmp_path, port)
        await server.start()
        try:
            yield server
        finally:
            if server.process.returncode is None:
                await server.kill()


@asynccontextmanager
async def lifespan(manager: sp.Manager) -> AsyncGenerator[Collector]:
    from streams import Streams

    async with aiohttp.ClientSession() as session, Streams(session) as collector:
        yield collector


def event(number: int) -> Event:
    about = ObjectReference(api_version="v1", kind="Pod", name="web", namespace="default")
    event_ = Event.named(f"told-{number}", "default", event_time=MicroTime(2026, 5, 1, tzinfo=UTC))
    event_.reason, event_.action, event_.type, event_.note = "Told", "Tell", "Normal", f"told {number}"
    event_.regarding, event_.reporting_controller, event_.reporting_instance = about, "example.com/test", "test-1"
    return event_


async def test_all_events_are_in_the_stream_though_its_server_is_killed_and_at_most_one_batch_each_time_comes_twice(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as server, ApiServer() as api, asyncio.timeout(DEADLINE):
        client = sp.Client(InProcessTransport(api.handle))
        await client.create(from_wire(CustomResourceDefinition, crd_for(EventSink)))
        spec = EventSinkSpec(url=f"redis://127.0.0.1:{server.port}/events", batch=BATCH, gather=sp.Duration(0))
        await client.create(EventSink.named("main", spec=spec))
        expected: list[str] = []

        async def tell(number: int) -> None:
            for _ in range(number):
                event_ = await client.create(event(len(expected)))
                expected.append(f"{event_.uid}/{event_.metadata.resource_version}")

        async def some_are_there() -> bool:
            await tell(BATCH)  # so that there is always a batch on its way
            return len(await server.ids()) >= before + 4 * BATCH

        async def it_is_missed() -> bool:
            await tell(1)
            return (await client.get(EventSink, "main")).status.failures > 0

        async def all_are_there() -> bool:
            return set(expected) <= {*await server.ids()}

        before = 0
        async with sp.Manager(client, controllers=[controller], lifespan=lifespan):
            for _ in range(3):
                before = len(await server.ids())
                await until(some_are_there)
                await server.kill()
                await until(it_is_missed)
                await server.start()
                assert len(await server.ids()) >= before, "what it confirmed is still there"
                await until(all_are_there)
            delivered = await server.ids()
    assert list(dict.fromkeys(delivered)) == expected, "in their order, and nothing is missing"
    again = [number for number, uid in enumerate(delivered) if uid in delivered[:number]]
    assert len(again) <= 3 * BATCH


async def test_a_server_that_is_away_or_full_is_told_as_other_collectors_are(tmp_path: Path) -> None:
    from streams import Streams

    batch = b'[{"id": "a/1", "data": {}}]'
    async with opened(tmp_path) as server, aiohttp.ClientSession() as session, Streams(session) as collector:
        url = f"redis://127.0.0.1:{server.port}/events"
        assert await collector.post(url, batch) == Answer(202)
        assert await server.ids() == ["a/1"]
        await server.ask("CONFIG", "SET", "maxmemory", "1")
        full = await collector.post(url, batch)
        assert full.code == 503
        assert "maxmemory" in full.words
        await server.kill()
        with pytest.raises(OSError, match=r"Connection|127"):
            await collector.post(url, batch)
