"""A cache of a shard holds the objects of the shard's namespaces, and knows which of them it has listed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from tests.transports import Through

from setpoint.apiserver import ApiServer
from setpoint.cache import Informer, InformerFactory
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.client import Client, InProcessTransport, Request, Response
from setpoint.meta.shard_ranges import HASHES
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.testing import advance, virtual_time

LOW, HIGH = (0, HASHES // 2), (HASHES // 2, HASHES)
SPACES = {"billing": LOW, "cache": LOW, "catalog": HIGH, "queue": HIGH}


class Gate(Through):
    """A transport whose requests wait while it is closed; it records their queries."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(InProcessTransport(server.handle))
        self.opened = asyncio.Event()
        self.opened.set()
        self.queries: list[dict[str, str]] = []

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        self.queries.append(dict(request.query))
        await self.opened.wait()
        async with self.inner.send(request) as response:
            yield response


class World:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client = Client(InProcessTransport(server.handle))
        self.gate = Gate(server)
        self.shard = NamespaceShard()

    @asynccontextmanager
    async def cache(self) -> AsyncIterator[Informer[ConfigMap]]:
        client = Client(self.gate, random=Random(1))
        async with InformerFactory(client, random=Random(1)) as factory:
            yield factory.informer(ConfigMap, shard=self.shard)

    async def write(self, name: str) -> None:
        for space in SPACES:
            await self.client.create(ConfigMap.named(name, space))


@asynccontextmanager
async def world(*, knows: bool = True) -> AsyncIterator[World]:
    async with ApiServer() as server:
        server.state.serves_shards = knows
        new_world = World(server)
        for space in SPACES:
            await new_world.client.create(Namespace.named(space))
        await new_world.write("a")
        yield new_world


def spaces_of(informer: Informer[ConfigMap]) -> set[str]:
    return {key.partition("/")[0] for key in informer.store}


def spaces_in(*ranges: tuple[int, int]) -> set[str]:
    return {space for space, place in SPACES.items() if place in ranges}


@pytest.mark.parametrize("knows", [True, False])
@virtual_time
async def test_a_cache_follows_its_shard_whether_or_not_the_server_knows_shards(knows: bool) -> None:
    async with world(knows=knows) as new_world, new_world.cache() as informer:
        events: list[tuple[str, str]] = []
        informer.add_event_handler(
            on_add=lambda head, initial: events.append(("add", head.key)),
            on_delete=lambda head, unknown: events.append(("delete", head.key)),
        )
        await informer.wait_synced()
        assert spaces_of(informer) == set(), "a shard has no namespaces at first"
        for number, ranges in enumerate(([LOW], [LOW, HIGH], [HIGH], [])):
            new_world.shard.assign(ranges)
            await new_world.write(f"b{number}")
            await advance(1)
            assert spaces_of(informer) == spaces_in(*ranges)
            assert len(informer.store) == len(spaces_in(*ranges)) * (number + 2)
            alive: set[str] = set()
            for change, key in events:
                (alive.add if change == "add" else alive.discard)(key)
            assert alive == set(informer.store), "handlers are told what comes and goes"
            await new_world.write(f"c{number}")
            await advance(1)
            assert spaces_of(informer) == spaces_in(*ranges)
            for space in SPACES:
                await new_world.client.delete(ConfigMap, f"c{number}", namespace=space)
            await advance(1)


@virtual_time
async def test_a_namespace_is_covered_from_its_list_until_it_leaves() -> None:
    async with world() as new_world, new_world.cache() as informer:
        shared = informer.shared
        new_world.shard.assign([LOW])
        await shared.wait_listed()
        assert [shared.covers(space) for space in SPACES] == [True, True, False, False]
        assert not shared.covers(""), "which stands for all namespaces"
        new_world.gate.opened.clear()
        new_world.shard.assign([LOW, HIGH])
        await advance(5)
        assert [shared.covers(space) for space in SPACES] == [True, True, False, False], "it is not listed yet"
        new_world.gate.opened.set()
        await shared.wait_listed()
        assert [shared.covers(space) for space in SPACES] == [True] * 4
        new_world.shard.assign([HIGH])
        assert [shared.covers(space) for space in SPACES] == [False, False, True, True], "at once"
        await shared.wait_listed()
        assert not shared.covers(""), "although the hash of the empty text is in the range"
        new_world.shard.assign([(0, HASHES)])
        await shared.wait_listed()
        assert shared.covers(""), "a process that is alone has all"


@virtual_time
async def test_a_list_that_was_asked_for_before_the_shard_changed_replaces_nothing() -> None:
    async with world() as new_world, new_world.cache() as informer:
        new_world.shard.assign([LOW, HIGH])
        await informer.shared.wait_listed()
        new_world.shard.assign([LOW])
        informer.shared.begin()
        new_world.shard.assign([LOW, HIGH])
        informer.shared.finish("99999")
        assert spaces_of(informer) == set(SPACES)
        await advance(1)
        assert spaces_of(informer) == set(SPACES)


@virtual_time
async def test_own_writes_outside_of_the_shard_are_not_waited_for() -> None:
    async with world() as new_world, InformerFactory(new_world.client, random=Random(1)) as factory:
        informer = factory.informer(ConfigMap, shard=new_world.shard)
        new_world.shard.assign([LOW])
        await informer.shared.wait_listed()
        await new_world.client.create(ConfigMap.named("mine", "catalog"))
        assert await factory.caught_up(ConfigMap, "catalog/mine", timeout=0.001)


@virtual_time
async def test_the_server_is_asked_for_the_ranges_only() -> None:
    async with world() as new_world, new_world.cache() as informer:
        new_world.shard.assign([LOW])
        await informer.shared.wait_listed()
        await advance(1)
        selector = "shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')"
        assert new_world.gate.queries[-1]["shardSelector"] == selector
        assert informer.shared.events["ADDED"] == 0
        await new_world.write("b")
        await advance(1)
        assert informer.shared.events["ADDED"] == 2
