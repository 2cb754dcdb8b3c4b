"""Processes that divide their caches by keys: each holds its own objects and their children, and works as if it had
all.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.manager.simulated import now
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller.outcome import AdoptionError
from setpoint.manager import Manager, ManagerOptions
from setpoint.manager.processes import ParentLease, Partition
from setpoint.meta import resource_of, to_wire
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret, ServiceAccount
from setpoint.testing import advance, virtual_time

PARENTS = tuple(f"m{number}" for number in range(8))


def wants(obj: ConfigMap) -> str:
    return (obj.data or {}).get("shared", "")


class Member:
    """One process: a manager with the keys of one partition."""

    def __init__(self, group: Group, index: int) -> None:
        self.group, self.index = group, index
        self.errors: Counter[str] = Counter()
        self.lists: list[int] = []
        self.gets: list[int] = []
        controller = sp.Controller(ConfigMap, self.reconcile, name="beat", workers=4, owns_status=False)
        controller.owns(Secret).watches(ServiceAccount, self.all_of_them)
        controller.index("wants", wants)
        if group.reads:
            controller.reads(ConfigMap)
        lease = ParentLease(Partition(index, group.count), divides_caches=True)
        lease.lead(float("inf"))
        self.manager = Manager(
            Client(InProcessTransport(group.server.handle), random=Random(index)),
            controllers=[controller],
            leader_election=lease,
            options=ManagerOptions(now=now, random=Random(index)),
        )
        self.task = asyncio.get_running_loop().create_task(self.manager.run(), name=f"process {index}")

    def all_of_them(self, head: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
        return list(caches.lister(ConfigMap).keys())

    async def reconcile(self, obj: ConfigMap, ctx: sp.Context) -> None:
        """Keeps as many children of drawn names as the object says, one of a fixed name, and perhaps one of a name that
        other objects want, too.
        """
        assert ctx.key not in self.group.under_way, "a key is in two processes"
        self.group.under_way.add(ctx.key)
        data = obj.data or {}
        try:
            await asyncio.sleep(0.01)
            drawn = Secret.named("", obj.namespace, labels={"drawn": "yes"})
            drawn.metadata.generate_name = f"{obj.name}-"
            count = int(data.get("count", "1"))
            await ctx.keep(Secret, [drawn] * count, selector="drawn")
            kept = Secret.named(f"{obj.name}.fixed", obj.namespace, labels={"kept": "yes"})
            await ctx.keep(Secret, [kept], selector="kept")
            assert len(await ctx.list(Secret, selector="drawn")) >= count, "a list has the objects of all processes"
            self.lists.append(len(await ctx.list(ConfigMap)))
            if shared := data.get("shared"):
                assert obj.key in {other.key for other in await ctx.list(ConfigMap, index=("wants", shared))}
                child = Secret.named(shared, obj.namespace, string_data={"by": obj.name})
                if data.get("keeps"):
                    child.metadata.labels = {"shared": "yes"}
                    await ctx.keep(Secret, [child], selector="shared")
                else:
                    await ctx.apply(child)
            present = [name for name in PARENTS if await ctx.get(ConfigMap, name) is not None]
            self.gets.append(len(present))
            self.group.reconciled[ctx.key] = self.index
        except AdoptionError:
            self.errors[ctx.key] += 1
            raise
        finally:
            self.group.under_way.discard(ctx.key)

    def held(self, kind: type[sp.Object]) -> set[str]:
        """The keys in the cache."""
        return set(self.manager.controllers["beat"].informers[resource_of(kind).gvr].store)


class Group:
    """A server and the processes of one program."""

    def __init__(self, server: ApiServer, count: int, reads: bool) -> None:
        self.server, self.count, self.reads = server, count, reads
        self.client = Client(InProcessTransport(server.handle))
        self.under_way: set[str] = set()
        self.reconciled: dict[str, int] = {}
        self.members = [Member(self, index) for index in range(count)]

    async def replace(self, index: int) -> None:
        """Ends a process in the middle of its work, and starts the next one with its partition."""
        await stop(self.members[index].task)
        self.under_way.clear()
        self.members[index] = Member(self, index)

    async def check(self) -> None:
        """Every parent has its children, and each process holds its own parents and their children."""
        assert all(not member.task.done() for member in self.members)
        parents = {parent.key: parent for parent in (await self.client.list(ConfigMap, namespace="work")).items}
        secrets = (await self.client.list(Secret, namespace="work")).items
        drawn = Counter(owners_of(secret)[0] for secret in secrets if "drawn" in (secret.labels or {}))
        assert drawn == {
            key: int((parent.data or {}).get("count", "1"))
            for key, parent in parents.items()
            if (parent.data or {}).get("count") != "0"
        }
        names = {secret.name: secret for secret in secrets}
        for parent in parents.values():
            assert owners_of(names[f"{parent.name}.fixed"]) == [parent.key]
            if shared := (parent.data or {}).get("shared"):
                assert shared in names
        for member in self.members:
            partition = Partition(member.index, self.count)
            own = {key for key in parents if partition.owns("beat", sp.ObjectKey(key))}
            theirs = {secret.key for secret in secrets if own & set(owners_of(secret))}
            assert member.held(ConfigMap) == own
            assert member.held(Secret) == theirs
            assert len(member.held(ServiceAccount)) == 1, "a kind that is watched with a function stays whole"


def owners_of(secret: Secret) -> list[str]:
    return [f"work/{owner.name}" for owner in secret.metadata.owner_references]


@asynccontextmanager
async def group(count: int = 2, *, reads: bool = False) -> AsyncIterator[Group]:
    async with ApiServer(now=now, random=Random(3)) as server:
        client = Client(InProcessTransport(server.handle))
        await client.create(Namespace.named("work"))
        await client.create(ServiceAccount.named("settings", "work"))
        for name in PARENTS:
            await client.create(ConfigMap.named(name, "work"))
        new_group = Group(server, count, reads)
        try:
            yield new_group
        finally:
            await stop(*(member.task for member in new_group.members if not member.task.done()))


STEPS = st.one_of(
    st.tuples(st.just("count"), st.sampled_from(PARENTS), st.sampled_from(["0", "1", "3"])),
    st.tuples(st.just("delete"), st.sampled_from(PARENTS), st.just("")),
    st.tuples(st.just("take"), st.sampled_from(PARENTS), st.sampled_from(PARENTS)),
    st.tuples(st.just("orphan"), st.sampled_from(PARENTS), st.just("")),
    st.tuples(st.just("lose"), st.sampled_from(PARENTS), st.just("")),
    st.tuples(st.just("replace"), st.integers(0, 2), st.just("")),
    st.tuples(st.just("compact"), st.just(""), st.just("")),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.02, 1.0, 30.0]), st.just("")),
)


@virtual_time
async def test_an_object_that_is_being_deleted_is_not_taken_over_though_the_divided_cache_does_not_show_it() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        await ctx.keep(Secret, [Secret.named("child", obj.namespace, string_data={"k": "v"})], adopt=True)

    async with ApiServer(now=now, random=Random(3)) as server, Client(InProcessTransport(server.handle)) as client:
        leaving = Secret.named("child")
        leaving.metadata.finalizers = ["example.com/slow"]
        await client.create(leaving)
        await client.delete(Secret, "child")
        before = await client.get(Secret, "child")
        await client.create(ConfigMap.named("parent"))
        lease = ParentLease(Partition(0, 1), divides_caches=True)
        lease.lead(float("inf"))
        controller = sp.Controller(ConfigMap, reconcile, name="beat", owns_status=False).owns(Secret)
        options = ManagerOptions(now=now, random=Random(0))
        manager = Manager(client, controllers=[controller], leader_election=lease, options=options)
        running = asyncio.ensure_future(manager.run())
        await advance(30)
        assert await client.get(Secret, "child") == before
        await stop(running)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=15))
@virtual_time
async def test_processes_with_a_part_of_the_objects_each_do_what_one_with_all_does(steps: list[Any]) -> None:
    async with group(3) as new_group:
        client = new_group.client
        await advance(30)
        for action, first, second in steps:
            match action:
                case "count":
                    data = {"count": second}
                    await client.apply(ConfigMap.named(first, "work", data=data), field_manager="user", force=True)
                case "delete":
                    await delete_with_children(client, first)
                case "take":
                    await own(client, first, second)
                case "orphan":
                    await own(client, first, "")
                case "lose":
                    for secret in (await client.list(Secret, namespace="work")).items:
                        if f"work/{first}" in owners_of(secret):
                            await client.delete(Secret, secret.name, namespace="work")
                case "replace":
                    await new_group.replace(first)
                case "compact":
                    new_group.server.storage.compact(new_group.server.storage.revision)
                case "wait":
                    await advance(first)
        await advance(600)
        for name in PARENTS:  # children that others have taken are theirs; those without an owner are in the way
            await own(client, name, "", drops=True)
        await advance(600)
        await new_group.check()


async def own(client: Client, name: str, by: str, *, drops: bool = False) -> None:
    """Makes ``by`` the owner of the drawn children of ``name``, or leaves them without one. With ``drops``, deletes
    those that have none.
    """
    present = {parent.name: parent for parent in (await client.list(ConfigMap, namespace="work")).items}
    for secret in (await client.list(Secret, namespace="work")).items:
        if drops and not owners_of(secret):
            await client.delete(Secret, secret.name, namespace="work")
        elif not drops and owners_of(secret) == [f"work/{name}"] and "drawn" in (secret.labels or {}):
            if by and by not in present:
                continue
            owners = [to_wire(present[by].owner_reference(controller=True))] if by else None
            patch = {"metadata": {"ownerReferences": owners}}
            await client.patch(Secret, secret.name, patch, namespace="work")


async def delete_with_children(client: Client, name: str) -> None:
    """Deletes an object and, as the garbage collector would, its children."""
    if name not in {parent.name for parent in (await client.list(ConfigMap, namespace="work")).items}:
        return
    await client.delete(ConfigMap, name, namespace="work")
    await advance(5)
    for secret in (await client.list(Secret, namespace="work")).items:
        if f"work/{name}" in owners_of(secret):
            await client.delete(Secret, secret.name, namespace="work")


@virtual_time
async def test_of_two_objects_of_different_processes_that_want_one_child_one_gets_it_and_keeps_it() -> None:
    for keeps in ("", "yes"):
        async with group() as new_group:
            await advance(5)
            for name in PARENTS:
                data = {"shared": "wanted", "keeps": keeps}
                await new_group.client.apply(ConfigMap.named(name, "work", data=data), field_manager="user", force=True)
                await advance(1)
            await advance(120)
            child = await new_group.client.get(Secret, "wanted", namespace="work")
            assert owners_of(child) == ["work/m0"], "the first one has it, and no other has written to it"
            refused = new_group.members[0].errors + new_group.members[1].errors
            assert set(refused) == {f"work/{name}" for name in PARENTS[1:]}
            assert all(member.errors for member in new_group.members)


@virtual_time
async def test_reads_beyond_the_cache_ask_the_server() -> None:
    async with group() as new_group:
        await advance(30)
        for member in new_group.members:
            assert 0 < len(member.held(ConfigMap)) < len(PARENTS)
            assert set(member.lists) == set(member.gets) == {len(PARENTS)}
        assert set(new_group.reconciled.values()) == {0, 1}


@virtual_time
async def test_a_kind_that_is_also_declared_as_read_stays_whole() -> None:
    async with group(reads=True) as new_group:
        await advance(30)
        for member in new_group.members:
            assert len(member.held(ConfigMap)) == len(PARENTS)
            assert len(member.held(Secret)) < 2 * len(PARENTS)
        assert set(new_group.reconciled.values()) == {0, 1}


@virtual_time
async def test_an_event_of_a_watched_object_reaches_the_keys_of_all_processes() -> None:
    async with group() as new_group:
        await advance(30)
        new_group.reconciled.clear()
        await new_group.client.patch(ServiceAccount, "settings", {"metadata": {"labels": {"a": "b"}}}, namespace="work")
        await advance(5)
        assert set(new_group.reconciled) == {f"work/{name}" for name in PARENTS}


@virtual_time
async def test_an_object_among_whose_owners_is_one_of_this_process_is_read_as_its_child() -> None:
    """Also if another object is its controller, or no object is."""
    async with group() as new_group:
        await advance(30)
        first = await new_group.client.get(ConfigMap, "m0", namespace="work")
        guest = Secret.named("guest", "work")
        guest.metadata.owner_references = [first.owner_reference(controller=False)]
        await new_group.client.create(guest)
        await advance(1)
        holders = {member.index for member in new_group.members if "work/guest" in member.held(Secret)}
        assert holders == {new_group.reconciled["work/m0"]}
