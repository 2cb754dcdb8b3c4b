"""Sharding by namespace: memory divides, and the new owner of a namespace has it in its caches before it works."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.manager.simulated import now
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, Request, Response, TransportError
from setpoint.manager import Manager, ManagerOptions, Sharding
from setpoint.manager.sharding.rendezvous_hashing import SLOTS, Members, ranges_of
from setpoint.meta.shard_ranges import HASHES, ShardRanges, hash_of
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret, ServiceAccount
from setpoint.testing import advance, virtual_time

SPACES = ("auth", "billing", "cache", "catalog", "mail", "orders", "queue", "search", "shipping", "users")
PER_SPACE = 3
_METADATA = "as=PartialObjectMetadata"


class Line:
    """A connection that can be cut, so that later requests get no answer. Lists and watches of whole children
    arrive after ``lag`` seconds.
    """

    def __init__(self, server: ApiServer) -> None:
        self._inner = InProcessTransport(server.handle)
        self.cut = False
        self.lag = 0.0

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        if self.cut:
            await asyncio.sleep(request.timeout or 30)
            raise TransportError("timed out", sent=True, timed_out=True)
        is_late = (
            request.path.endswith("/secrets") and request.method == "GET" and _METADATA not in str(request.headers)
        )
        await asyncio.sleep(0.003 + self.lag * is_late)
        async with self._inner.send(request) as response:
            yield response

    async def close(self) -> None:
        """The server goes on."""


class Replica:
    def __init__(self, cluster: Shards, name: str, by: Any = "namespace") -> None:
        self.name, self.cluster = name, cluster
        self.line = Line(cluster.server)
        self.elsewhere: list[bool] = []
        controller = sp.Controller(ConfigMap, self.reconcile, workers=4, selector="app=x", owns_status=False)
        controller.owns(Secret).watches(ServiceAccount, self.all_of_them)
        self.manager = Manager(
            Client(self.line, random=Random(1)),
            controllers=[controller],
            sharding=Sharding(name="group", identity=name, by=by),
            options=ManagerOptions(now=now, random=Random(name)),
        )
        self.task = asyncio.get_running_loop().create_task(self.manager.run(), name=name)

    def all_of_them(self, head: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
        return list(caches.lister(ConfigMap).keys())

    async def reconcile(self, obj: ConfigMap, ctx: sp.Context) -> None:
        """Makes one child with a name that the server draws: a cache without the child would lead to a second one."""
        assert ctx.key not in self.cluster.under_way, "a key is in two processes"
        self.cluster.under_way.add(ctx.key)
        try:
            await asyncio.sleep(self.cluster.seconds)
            if not ctx.owned(Secret):
                child = Secret.named("", obj.namespace)
                child.metadata.generate_name = f"{obj.name}-"
                await ctx.create(child)
            other = SPACES[(SPACES.index(obj.namespace) + 1) % len(SPACES)]
            self.elsewhere.append(await ctx.get(ConfigMap, "m0", namespace=other) is not None)
            self.cluster.reconciled[ctx.key] = self.name
        finally:
            self.cluster.under_way.discard(ctx.key)

    def held(self, kind: type[sp.Object]) -> set[str]:
        """The keys in the cache."""
        (informer,) = (
            informer
            for gvr, informer in self.manager.controllers["configmap"].informers.items()
            if gvr == sp.meta.resource_of(kind).gvr
        )
        return set(informer.store)

    def spaces(self) -> set[str]:
        """The namespaces of its keys."""
        assert self.manager.shards is not None
        share = self.manager.shards.share
        return {space for space in SPACES if share.owns("configmap", sp.ObjectKey.of(space, "m0"))}


class Shards:
    """A server and replicas of one operator."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client = Client(InProcessTransport(server.handle))
        self.replicas: list[Replica] = []
        self.under_way: set[str] = set()
        self.reconciled: dict[str, str] = {}
        self.seconds = 0.01

    def start(self, name: str, **options: Any) -> Replica:
        self.replicas.append(Replica(self, name, **options))
        return self.replicas[-1]

    async def settled(self, *replicas: Replica) -> None:
        """Waits, and checks that the replicas share all objects, in memory too, and that each parent has one child."""
        await advance(60)
        assert all(not replica.task.done() for replica in replicas)
        assert sorted(space for replica in replicas for space in replica.spaces()) == sorted(SPACES)
        secrets = [secret async for secret in self.client.pages(Secret)]
        owners = Counter((secret.namespace, secret.metadata.owner_references[0].name) for secret in secrets)
        assert set(owners.values()) == {1}
        assert len(owners) == len(SPACES) * PER_SPACE
        for replica in replicas:
            spaces = replica.spaces()
            assert replica.held(ConfigMap) == {f"{space}/m{i}" for space in spaces for i in range(PER_SPACE)}
            assert replica.held(Secret) == {secret.key for secret in secrets if secret.namespace in spaces}
            assert all(replica.elsewhere), "a read of a namespace that is not cached asks the server"


@asynccontextmanager
async def shards(*, knows: bool = True) -> AsyncIterator[Shards]:
    async with ApiServer(now=now, random=Random(3)) as server:
        server.state.serves_shards = knows
        new_shards = Shards(server)
        for space in SPACES:
            await new_shards.client.create(Namespace.named(space))
            for number in range(PER_SPACE):
                await new_shards.client.create(ConfigMap.named(f"m{number}", space, labels={"app": "x"}))
        try:
            yield new_shards
        finally:
            await stop(*(replica.task for replica in new_shards.replicas if not replica.task.done()))


def test_the_slots_of_a_limited_number_of_namespaces_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.manager.sharding.rendezvous_hashing._MAX_NAMESPACES", 10)
    ids = ["a@n1", "b@n2"]
    members = Members(ids)
    for number in range(50):
        key = f"space-{number}/a"
        assert members.owner("c", key) == Members(ids).owner("c", key)
        assert len(members._places or ()) <= 10


@pytest.mark.parametrize("knows", [True, False])
@virtual_time
async def test_caches_divide_and_follow_the_shares_also_where_the_server_does_not_know_shards(knows: bool) -> None:
    async with shards(knows=knows) as new_shards:
        one = new_shards.start("a")
        await new_shards.settled(one)
        two, three = new_shards.start("b"), new_shards.start("c")
        await new_shards.settled(one, two, three)
        assert len(one.spaces()) < len(SPACES)
        one.manager.stop()
        await new_shards.settled(two, three)
        three.line.cut = True
        await new_shards.settled(two)
        three.line.cut = False
        await new_shards.settled(two, three)


@pytest.mark.parametrize("lag", [0.0, 5.0])
@virtual_time
async def test_a_range_that_changes_hands_in_the_middle_of_work_leads_to_no_second_child(lag: float) -> None:
    async with shards() as new_shards:
        new_shards.seconds = 1.0
        first = new_shards.start("a")
        await advance(2.5)
        second = new_shards.start("b")
        second.line.lag = lag
        await advance(4.5 + 5 * lag)
        first.manager.stop()
        third = new_shards.start("c")
        third.line.lag = 1.5 * lag
        await new_shards.settled(second, third)
        fourth = new_shards.start("d")
        fourth.line.lag = lag
        await new_shards.settled(second, third, fourth)
        assert fourth.spaces()


@virtual_time
async def test_a_change_to_a_watched_object_of_any_namespace_reaches_all_processes() -> None:
    async with shards() as new_shards:
        one, two = new_shards.start("a"), new_shards.start("b")
        await new_shards.settled(one, two)
        new_shards.reconciled.clear()
        await new_shards.client.create(ServiceAccount.named("settings", "default"))
        await advance(5)
        spaces = {key.partition("/")[0]: name for key, name in new_shards.reconciled.items()}
        assert len(new_shards.reconciled) == len(SPACES) * PER_SPACE
        assert {space for space, name in spaces.items() if name == "a"} == one.spaces()


@virtual_time
async def test_replicas_that_share_by_namespace_and_by_key_have_no_key_in_common_during_a_rolling_update() -> None:
    async with shards() as new_shards:
        old, new = new_shards.start("a", by="key"), new_shards.start("b")
        await advance(60)
        keys = [sp.ObjectKey.of(space, f"m{i}") for space in SPACES for i in range(PER_SPACE)]
        owners = Counter(new_shards.reconciled[key] for key in keys)
        assert set(owners) == {"a", "b"}
        assert old.held(ConfigMap) == new.held(ConfigMap) == set(keys)
        old.manager.stop()
        await new_shards.settled(new, new_shards.start("c"))


IDENTITIES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), unique_by=lambda pair: pair[0], max_size=6)


@given(IDENTITIES, IDENTITIES, st.sampled_from([f"{space}/m{i}" for space in SPACES for i in range(9)]))
def test_two_members_of_two_views_never_have_the_same_key(
    one: list[tuple[str, bool]], two: list[tuple[str, bool]], key: str
) -> None:
    views = [
        Members(f"{name}@{'n' if ord(name) % 2 else ''}0.{int(flag)}" for name, flag in view) for view in (one, two)
    ]
    owners = {view.owner("c", key) for view in views}
    assert len(owners) == 1 or any(not {*owners} <= view.ids for view in views)


@given(IDENTITIES, st.sampled_from(SPACES), st.integers(0, 50))
def test_every_key_of_a_member_is_in_its_ranges(members: list[tuple[str, bool]], space: str, number: int) -> None:
    view = Members(f"{name}@{'n' if by_namespace else ''}0.1" for name, by_namespace in members)
    owner = view.owner("c", f"{space}/m{number}")
    if owner.partition("@")[2].startswith("n"):
        assert ShardRanges("namespace", ranges_of(view.slots(owner))).has(space)
        assert view.owner("other", f"{space}/another") in (owner, *(id for id in view.ids if "@0" in id))
    slots = [slot for id in view.ids for slot in view.slots(id)]
    assert sorted(slots) == (list(range(SLOTS)) if any(by for _, by in members) else [])


@given(st.sets(st.integers(0, SLOTS - 1)), st.text())
def test_ranges_have_the_values_of_their_slots_and_do_not_touch(slots: set[int], value: str) -> None:
    ranges = ranges_of(slots)
    assert ShardRanges("namespace", ranges).has(value) == (hash_of(value) * SLOTS // HASHES in slots)
    assert all(end < start for (_, end), (start, _) in pairwise(ranges))
