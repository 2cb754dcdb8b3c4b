"""The cache against the embedded API server, over a transport with faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tasks import drop

from setpoint.apiserver.server import ApiServer
from setpoint.cache import InformerFactory, WatchOptions
from setpoint.client.client import Client
from setpoint.client.errors import ApiError
from setpoint.client.in_process_transport import InProcessTransport
from setpoint.client.transport import Request, Response, Transport, TransportError
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, now, virtual_time, wait_all_tasks_blocked

from .test_soak import Judge


class FaultyTransport:
    """Passes requests on, and does to each what the next fault says."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.faults: list[str] = []
        self.open: set[_Fragile] = set()

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "refuse":
            raise TransportError("connection refused", sent=False)
        if fault == "reset":
            raise TransportError("connection reset", sent=True, reset=True)
        if fault == "slow":
            await asyncio.sleep(20)
        async with self._inner.send(request) as response:
            fragile = _Fragile(response, request, fault)
            self.open.add(fragile)
            try:
                yield fragile
            finally:
                self.open.discard(fragile)

    def strike(self, what: str) -> None:
        for item in self.open:
            item.fate = what
            item.struck.set()

    async def close(self) -> None:
        await self._inner.close()


class _Fragile(Response):
    """An answer that may break off, be cut within a piece, or fall silent."""

    def __init__(self, response: Response, request: Request, fault: str) -> None:
        self.status, self.headers = response.status, response.headers
        self._response = response
        self._idle_timeout = request.idle_timeout
        self.fate = "silent" if fault == "silent" else ""
        self.struck = asyncio.Event()
        self._truncate = fault == "truncate"

    async def chunks(self) -> AsyncIterator[bytes]:
        pieces = self._response.chunks()
        while True:
            piece = asyncio.ensure_future(anext(pieces, b""))
            struck = asyncio.ensure_future(self.struck.wait())
            try:
                await asyncio.wait([piece, struck], return_when=asyncio.FIRST_COMPLETED)
                if self.fate == "silent":
                    await asyncio.sleep(self._idle_timeout or 30)
                    raise TransportError("nothing came", sent=True, timed_out=True)
                if self.fate == "break":
                    raise TransportError("connection reset", sent=True, reset=True)
                chunk = await piece
            finally:
                await drop(piece, struck)
            if not chunk:
                return
            if self._truncate:
                yield chunk[: len(chunk) // 2]
                raise TransportError("broke off", sent=True, reset=True)
            yield chunk


FAULTS = ("refuse", "reset", "slow", "silent", "truncate")
STRIKES = ("break", "silent")
STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "put", "delete"]), st.integers(0, 7)),
    st.tuples(st.sampled_from(["put", "put", "put", "delete"]), st.integers(0, 7)),
    st.tuples(st.sampled_from(FAULTS + STRIKES), st.just(0)),
    st.tuples(st.sampled_from(["compact", "quiet"]), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([0, 0, 1, 10, 200])),
)


def quiet_seconds(delay: float) -> float:
    """The time until all is quiet: an idle deadline, the longest back-off, and what handlers with that delay need."""
    return 700 + 50 * delay


@settings(max_examples=160, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps=st.lists(STEPS, min_size=60, max_size=70), streams=st.booleans(), delay=st.sampled_from([0, 0.5, 30]))
@virtual_time
async def test_at_every_quiet_point_the_store_equals_the_embedded_server(
    steps: list[tuple[str, Any]], streams: bool, delay: float
) -> None:
    judge = Judge(delay)
    async with ApiServer(now=now, random=Random(1)) as server, Client(InProcessTransport(server.handle)) as writer:
        transport = FaultyTransport(InProcessTransport(server.handle))
        async with (
            Client(transport) as reader,
            InformerFactory(
                reader, random=Random(2), watch_options=WatchOptions(streaming_lists=streams, page_size=3)
            ) as factory,
        ):
            maps = factory.informer(ConfigMap, namespace="default")
            maps.add_event_handler(on_add=judge.added, on_update=judge.updated, on_delete=judge.deleted)
            for place, (action, argument) in enumerate([*steps, ("quiet", 0)]):
                name = f"m{argument}"
                match action:
                    case "put":
                        await put(writer, name, str(place))
                    case "delete":
                        if (await names(writer)).get(f"default/{name}"):
                            await writer.delete(ConfigMap, name, namespace="default")
                    case "compact":
                        server.storage.compact(server.storage.revision)
                    case "wait":
                        await (advance(argument) if argument else wait_all_tasks_blocked())
                    case "quiet":
                        transport.faults.clear()
                        await advance(quiet_seconds(delay))
                        truth = await names(writer)
                        assert {key: maps.store.resource_version(key) for key in maps.store} == truth
                        assert judge.verdicts == []
                        assert {f"default/{name}": at for name, (_, at) in judge.alive.items()} == truth
                    case _ if action in STRIKES and place % 2:
                        transport.strike(action)
                    case _:
                        transport.faults.append(action)
        assert transport.open == set()


async def put(client: Client, name: str, text: str) -> None:
    wanted = ConfigMap.named(name, "default", data={"text": text})
    try:
        await client.create(wanted)
    except ApiError:
        await client.patch(ConfigMap, name, {"data": {"text": text}}, namespace="default")


async def names(client: Client) -> dict[str, int]:
    return {
        config_map.key: int(config_map.metadata.resource_version)
        for config_map in await client.list(ConfigMap, namespace="default")
    }


@virtual_time
async def test_the_clients_own_writes_are_awaited() -> None:
    async with (
        ApiServer(now=now, random=Random(1)) as server,
        Client(InProcessTransport(server.handle)) as client,
        InformerFactory(client, random=Random(2)) as factory,
    ):
        maps = factory.informer(ConfigMap)
        await factory.wait_for_cache_sync()
        config_map = await client.create(ConfigMap.named("a", "default", data={"n": "1"}))
        assert await factory.caught_up(ConfigMap, config_map.key)
        assert maps.lister.get(config_map.key).data == {"n": "1"}
        config_map.data["n"] = "2"
        changed = await client.update(config_map)
        assert await factory.observed(ConfigMap, changed.key, changed.metadata.resource_version)
        cached = maps.lister.get(config_map.key)
        assert cached.data == {"n": "2"}
        cached.data["n"] = "3"
        await client.update(cached)
        assert await factory.caught_up(ConfigMap, config_map.key)
        await client.delete(maps.lister.get(config_map.key))
        assert await factory.caught_up(ConfigMap, config_map.key)
        assert maps.lister.try_get(config_map.key) is None
