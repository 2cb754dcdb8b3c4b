"""Caches that divide a collection by keys: together they are the whole, whatever the server, the network and the owners
of the objects do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setpoint.apiserver import ApiServer
from setpoint.cache import Head, Informer, InformerFactory, WatchOptions
from setpoint.cache.key_shard import KeyShard
from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap, Pod
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked

from .fakes import FakeServer
from .test_soak import FAULTS, STRIKES, FaultyServer, Judge

COUNT = 3
OWNERS = ("o0", "o1", "o2", "o3", "")


def owned_by(owner: str) -> Any:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}"}
    return {"ownerReferences": [reference]} if owner else {}


def concerns(index: int) -> Callable[[Head], bool]:
    """The children of the owners with this index, modulo `COUNT`."""
    return lambda head: any(int(owner.name[1:]) % COUNT == index for owner in head.owner_references)


def process_of(document: Any) -> int | None:
    owners = document["metadata"].get("ownerReferences")
    return int(owners[0]["name"][1:]) % COUNT if owners else None


STEPS = st.one_of(
    *[st.tuples(st.just("put"), st.tuples(st.integers(0, 11), st.sampled_from(OWNERS)))] * 3,
    st.tuples(st.just("delete"), st.integers(0, 11)),
    st.tuples(st.sampled_from(FAULTS), st.just(0)),
    st.tuples(st.sampled_from(STRIKES), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([0, 0, 0.1, 1, 10, 200])),
    st.tuples(st.just("quiet"), st.just(0)),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    steps=st.lists(STEPS, min_size=60, max_size=70),
    streams=st.booleans(),
    delays=st.tuples(*[st.sampled_from([0, 0, 0.5, 30])] * COUNT),
    late=st.integers(0, COUNT - 1),
)
@virtual_time
async def test_at_every_quiet_point_the_parts_are_the_server_whatever_owners_and_faults_do(
    steps: list[tuple[str, Any]], streams: bool, delays: tuple[float, ...], late: int
) -> None:
    """Each process has a server of its own with the same objects, so that each has its own faults."""
    servers = [FaultyServer(streams_lists=streams) for _ in range(COUNT)]
    judges, caches, draw = [Judge(delay) for delay in delays], list[Informer[Pod]](), Random(len(steps))
    shards = [KeyShard() for _ in range(COUNT)]
    factories = [
        InformerFactory(server, random=Random(index), watch_options=WatchOptions(page_size=None if streams else 5))
        for index, server in enumerate(servers)
    ]
    for index, (factory, shard, judge) in enumerate(zip(factories, shards, judges, strict=True)):
        caches.append(factory.informer(Pod, shard=shard))
        caches[-1].add_event_handler(on_add=judge.added, on_update=judge.updated, on_delete=judge.deleted)
        if index != late:
            shard.claim("c", concerns(index))
    async with factories[0], factories[1], factories[2]:
        for number, (action, argument) in enumerate([*steps, ("quiet", 0)]):
            if number == len(steps) // 2:
                shards[late].claim("c", concerns(late))
            match action:
                case "put":
                    name, owner = cast("tuple[int, str]", argument)
                    for server in servers:
                        server.put(f"p{name}", uid="", metadata=owned_by(owner))
                case "delete":
                    for server in servers:
                        if f"default/p{argument}" in server.objects:
                            server.delete(f"p{argument}")
                case "wait":
                    await (advance(argument) if argument else wait_all_tasks_blocked())
                case "quiet":
                    for server in servers:
                        server.faults.clear()
                    await advance(700 + 50 * max(delays))
                    truth = servers[0].objects
                    for index, (cache, judge) in enumerate(zip(caches, judges, strict=True)):
                        if index == late and number < len(steps) // 2:
                            assert len(cache.store) == 0, "nothing was claimed yet"
                            continue
                        part = {
                            key: int(document["metadata"]["resourceVersion"])
                            for key, document in truth.items()
                            if process_of(document) == index
                        }
                        assert {key: cache.store.resource_version(key) for key in cache.store} == part
                        assert judge.verdicts == []
                        assert {f"default/{name}": at for name, (_, at) in judge.alive.items()} == part
                case _ if action in FAULTS:
                    draw.choice(servers).faults.append(action)
                case _:
                    draw.choice(servers).strike(action)


@virtual_time
async def test_a_child_that_changes_its_owner_ends_here_with_its_old_owner_and_begins_there() -> None:
    server = FakeServer()
    seen: list[tuple[int, str, str]] = []

    def watch(index: int) -> Informer[Pod]:
        shard = KeyShard()
        shard.claim("c", concerns(index))
        informer = factory.informer(Pod, shard=shard)

        def tell(what: str, head: Head) -> None:
            seen.append((index, what, head.owner_references[0].name))

        informer.add_event_handler(
            on_add=lambda head, initial: tell("add", head),
            on_update=lambda old, new: tell("update", new),
            on_delete=lambda head, unknown: tell("delete", head),
        )
        return informer

    async with InformerFactory(server, random=Random(1)) as factory:
        one, other = watch(0), watch(1)
        server.put("a", metadata=owned_by("o0"))
        await advance(1)
        assert list(one.store) == ["default/a"]
        server.put("a", metadata=owned_by("o3"))
        server.put("a", metadata=owned_by("o1"))
        await advance(1)
        assert list(one.store) == []
        assert list(other.store) == ["default/a"]
        assert seen == [(0, "add", "o0"), (0, "update", "o3"), (0, "delete", "o3"), (1, "add", "o1")]
        server.delete("a")
        await advance(1)
        assert seen[4:] == [(1, "delete", "o1")]


@virtual_time
async def test_a_deletion_is_seen_although_it_is_the_first_event_with_the_new_owner() -> None:
    server = FakeServer()
    async with InformerFactory(server, random=Random(1)) as factory:
        shard = KeyShard()
        shard.claim("c", concerns(0))
        informer = factory.informer(Pod, shard=shard)
        ended: list[str] = []
        informer.add_event_handler(on_delete=lambda head, unknown: ended.append(head.owner_references[0].name))
        server.put("a", metadata=owned_by("o0"))
        await advance(1)
        server.objects["default/a"]["metadata"].update(owned_by("o1"))
        server.delete("a")
        await advance(1)
        assert ended == ["o0"]
        assert list(informer.store) == []


@virtual_time
async def test_own_writes_are_waited_for_if_the_cache_will_show_them_or_show_that_the_object_has_left() -> None:
    async with (
        ApiServer() as server,
        Client(InProcessTransport(server.handle)) as client,
        InformerFactory(client, random=Random(1)) as factory,
    ):
        shard = KeyShard()
        shard.claim("c", lambda head: head.name.startswith("mine") and not head.labels)
        informer = factory.informer(ConfigMap, shard=shard)
        await factory.wait_for_cache_sync()
        await client.create(ConfigMap.named("theirs", "default"))
        assert informer.shared.barriers.unseen("default/theirs") is None, "no reader will get it from here"
        await client.create(ConfigMap.named("mine", "default"))
        assert informer.shared.barriers.unseen("default/mine") is not None
        assert await factory.caught_up(ConfigMap, "default/mine")
        assert "default/mine" in informer.store
        await client.patch(ConfigMap, "mine", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
        assert informer.shared.barriers.unseen("default/mine") is not None
        assert await factory.caught_up(ConfigMap, "default/mine", timeout=1)
        assert "default/mine" not in informer.store
        written = await client.create(ConfigMap.named("theirs-2", "default"))
        version = written.metadata.resource_version
        assert await factory.observed(ConfigMap, "default/theirs-2", version, timeout=1)


@virtual_time
async def test_a_part_that_one_controller_needs_whole_is_whole_for_all() -> None:
    server = FakeServer()
    for number in range(4):
        server.put(f"p{number}", metadata=owned_by(f"o{number}"))
    async with InformerFactory(server, random=Random(1)) as factory:
        shard = KeyShard()
        shard.claim("one", concerns(0))
        informer = factory.informer(Pod, shard=shard)
        await informer.wait_synced()
        assert sorted(informer.store) == ["default/p0", "default/p3"]
        assert informer.shared.is_divided
        shard.claim("two", concerns(1))
        await informer.shared.wait_listed()
        assert sorted(informer.store) == ["default/p0", "default/p1", "default/p3"]
        shard.claim("three", None)
        assert informer.shared.is_divided, "until it is listed"
        await informer.shared.wait_listed()
        assert len(informer.store) == 4
        assert not informer.shared.is_divided
        await asyncio.sleep(0)
