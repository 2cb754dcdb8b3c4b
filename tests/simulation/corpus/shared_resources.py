"""Shared resources: numbered machines, two writers, timers, the order of lists, namespaces of tenants."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from tests.simulation.corpus.pair import Pair
from tests.simulation.corpus.store_operators import DERIVED, Store, StoreSpec, changes, found, made, member, pod

import setpoint as sp
from setpoint.meta import Head
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Namespace,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
)
from setpoint.simulation import External, call

MADE_AND_GONE = changes(StoreSpec(), StoreSpec(replicas=2), deletes=True)


# -- machines with numbers ---------------------------------------------------------------------------------------------


class Vms(External):
    """Machines by ids that are counted out."""

    def __init__(self) -> None:
        self.vms: dict[str, dict[str, str]] = {}
        self.next_id = 1

    @call
    async def create(self, tag: str) -> str:
        name = f"vm-{self.next_id}"
        self.next_id += 1
        self.vms[name] = {"tag": tag}
        return name

    @call
    async def find(self, tag: str) -> str | None:
        return next((name for name, machine in self.vms.items() if machine["tag"] == tag), None)

    @call
    async def destroy(self, name: str) -> None:
        self.vms.pop(name, None)


vms = Vms()


async def by_the_status(store: Store, ctx: sp.Context) -> None:
    if not store.status.current:
        store.status.current = await vms.create(store.uid)
    store.status.phase = "Running"


async def by_the_tag(store: Store, ctx: sp.Context) -> None:
    store.status.current = await vms.find(store.uid) or await vms.create(store.uid)
    store.status.phase = "Running"


async def destroys_by_the_status(store: Store, ctx: sp.Context) -> None:
    if store.status.current:
        await vms.destroy(store.status.current)


async def destroys_by_the_tag(store: Store, ctx: sp.Context) -> None:
    while (name := await vms.find(store.uid)) is not None:
        await vms.destroy(name)


# -- two writers of conditions -----------------------------------------------------------------------------------------


async def networks(store: Store, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"{store.name}-network", data=store.spec.settings))
    ctx.set_condition("Network", True, "Made")


async def disks_replace_all(store: Store, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"{store.name}-disk", data=store.spec.settings))
    now = "2026-01-01T00:00:00Z"
    mine = [{"type": "Disk", "status": "True", "reason": "Made", "message": "", "lastTransitionTime": now}]
    await ctx.patch(store, {"status": {"conditions": mine}}, subresource="status")


async def disks_set_their_own(store: Store, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"{store.name}-disk", data=store.spec.settings))
    ctx.set_condition("Disk", True, "Made")


def both(disks: Any) -> Any:
    return lambda: [
        sp.Controller(Store, networks, name="networks").owns(ConfigMap),
        sp.Controller(Store, disks, name="disks").owns(ConfigMap),
    ]


# -- timers ------------------------------------------------------------------------------------------------------------

TTL = 40.0


class InTheBackground:
    """Forgets a store's cache after a while, by a task."""

    def __init__(self) -> None:
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def reconcile(self, store: Store, ctx: sp.Context) -> None:
        if store.status.phase == "Cold":
            return
        if store.uid not in self.tasks:
            await ctx.apply(ConfigMap.named(f"{store.name}-cache"))
            self.tasks[store.uid] = asyncio.create_task(self.forget(store, ctx))

    async def forget(self, store: Store, ctx: sp.Context) -> None:
        await asyncio.sleep(TTL)
        cache = await ctx.get(ConfigMap, f"{store.name}-cache")
        if cache is not None:
            await ctx.delete(cache)
        await ctx.patch(store, {"status": {"phase": "Cold"}}, subresource="status")


async def by_its_age(store: Store, ctx: sp.Context) -> Any:
    created = store.metadata.creation_timestamp
    since = created if isinstance(created, datetime) else datetime.fromisoformat(str(created).replace("Z", "+00:00"))
    left = TTL - (ctx.now() - since).total_seconds()
    if left > 0:
        await ctx.keep(ConfigMap, [ConfigMap.named(f"{store.name}-cache")])
        return sp.after(left, "the cache's end")
    await ctx.keep(ConfigMap, [])
    store.status.phase = "Cold"
    return None


async def is_cold(cluster: sp.testing.Cluster) -> bool:
    return (await cluster.get(Store, "main")).status.phase == "Cold"


async def until_cold(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    await cluster.until(lambda: is_cold(cluster))


# -- a password that changes -------------------------------------------------------------------------------------------


async def copies_the_password(store: Store, ctx: sp.Context) -> None:
    secret = await ctx.get(Secret, "password")
    value = (secret.data.get("password") or b"").decode() if secret is not None else "none"
    await ctx.apply(ConfigMap.named(f"{store.name}-conf", data={"password": value}))


def all_stores(head: Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return [item.key for item in caches.lister(Store).list()]


async def password_comes_later(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    for value in ("1", "2"):
        await cluster.apply(Secret.named("password", "default", string_data={"password": value}))
        await cluster.settle()


# -- the order of members ----------------------------------------------------------------------------------------------


async def lists_members(store: Store, ctx: sp.Context) -> None:
    await ctx.keep(Pod, [member(store, number) for number in range(store.spec.replicas)])
    there = await ctx.list(Pod, selector={"store": store.name})
    await ctx.apply(ConfigMap.named(f"{store.name}-members", data={"members": ",".join(item.name for item in there)}))


async def lists_members_in_order(store: Store, ctx: sp.Context) -> None:
    await ctx.keep(Pod, [member(store, number) for number in range(store.spec.replicas)])
    names = sorted(pod.name for pod in await ctx.list(Pod, selector={"store": store.name}) if not pod.is_deleting)
    await ctx.apply(ConfigMap.named(f"{store.name}-members", data={"members": ",".join(names)}))


# -- spaces of tenants -------------------------------------------------------------------------------------------------


async def spaces_by_the_status(store: Store, ctx: sp.Context) -> None:
    for space in store.spec.spaces:
        await ctx.apply(Namespace.named(f"t-{space}", labels={"store": store.name}), controlled=False)
    gone = [space for space in store.status.members if space not in store.spec.spaces]
    store.status.members = list(store.spec.spaces)
    await ctx.patch(store, {"status": {"members": store.spec.spaces}}, subresource="status")
    for space in gone:
        there = await ctx.get(Namespace, f"t-{space}")
        if there is not None:
            await ctx.delete(there)


async def spaces_by_their_label(store: Store, ctx: sp.Context) -> None:
    for space in store.spec.spaces:
        await ctx.apply(Namespace.named(f"t-{space}", labels={"store": store.name}), controlled=False)
    newest = await found(Store, store.name, ctx)
    if newest is None or newest.metadata.generation != store.metadata.generation:
        return
    for there in await ctx.list(Namespace, selector={"store": store.name}):
        if there.name.removeprefix("t-") not in store.spec.spaces and not there.is_deleting:
            await ctx.delete(there)


# -- done when the job is done -----------------------------------------------------------------------------------------


def load(store: Store) -> Job:
    template = PodTemplateSpec(spec=PodSpec(containers=pod("load").containers, restart_policy="Never"))
    return Job.named(f"{store.name}-load", spec=JobSpec(template=template))


async def waits_for_the_job(store: Store, ctx: sp.Context) -> None:
    job = await ctx.apply(load(store))
    store.status.phase = "Done" if job.status.succeeded else "Loading"


# -- a list that several controllers report to -------------------------------------------------------------------------


async def another_one_reports(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    store = await cluster.get(Store, "main")
    store.status.members.append("of another controller")
    await cluster.client.update_status(store)
    await cluster.settle()


async def the_list_as_a_whole(store: Store, ctx: sp.Context) -> None:
    store.status.members = ["mine"]


async def its_own_entry(store: Store, ctx: sp.Context) -> None:
    if "mine" not in store.status.members:
        store.status.members.append("mine")


PAIRS = [
    Pair(
        name="machine-id-only-in-status",
        root="R26",
        source=DERIVED,
        scenario=MADE_AND_GONE,
        buggy=made(by_the_status, finalize=destroys_by_the_status),
        correct=made(by_the_tag, finalize=destroys_by_the_tag),
        options={"externals": [vms]},
    ),
    Pair(
        name="machine-leaked-on-deletion",
        root="R26",
        source=DERIVED,
        scenario=changes(StoreSpec(), StoreSpec(replicas=2)),
        buggy=made(by_the_status),
        correct=made(by_the_tag),
        options={"externals": [vms]},
    ),
    Pair(
        name="conditions-list-replaced",
        root="R57",
        source=DERIVED,
        scenario=changes(StoreSpec(settings={"a": "1"}), StoreSpec(settings={"a": "2"})),
        buggy=both(disks_replace_all),
        correct=both(disks_set_their_own),
    ),
    Pair(
        name="timer-task-in-memory",
        root="R20",
        source=DERIVED,
        scenario=until_cold,
        buggy=lambda: [sp.Controller(Store, InTheBackground().reconcile).owns(ConfigMap)],
        correct=made(by_its_age, ConfigMap),
    ),
    Pair(
        name="secret-not-watched",
        root="R41",
        source=DERIVED,
        scenario=password_comes_later,
        buggy=lambda: [sp.Controller(Store, copies_the_password).owns(ConfigMap).reads(Secret)],
        correct=lambda: [sp.Controller(Store, copies_the_password).owns(ConfigMap).watches(Secret, all_stores)],
    ),
    Pair(
        name="members-in-list-order",
        root="R51",
        source=DERIVED,
        scenario=changes(StoreSpec(replicas=2), StoreSpec(replicas=3)),
        buggy=made(lists_members, Pod, ConfigMap),
        correct=made(lists_members_in_order, Pod, ConfigMap),
    ),
    Pair(
        name="namespaces-to-delete-from-status",
        root="R23",
        source=DERIVED,
        scenario=changes(StoreSpec(spaces=["a", "b"]), StoreSpec(spaces=["a"])),
        buggy=lambda: [sp.Controller(Store, spaces_by_the_status).reads(Namespace)],
        correct=lambda: [sp.Controller(Store, spaces_by_their_label).reads(Namespace)],
    ),
    Pair(
        name="job-not-watched",
        root="R42",
        source=DERIVED,
        scenario=changes(StoreSpec()),
        buggy=made(waits_for_the_job),
        correct=made(waits_for_the_job, Job),
    ),
    Pair(
        name="entry-of-another-controller-removed",
        root="R57",
        source="cloudflare-tunnel-gateway-controller #434",
        scenario=another_one_reports,
        buggy=made(the_list_as_a_whole),
        correct=made(its_own_entry),
    ),
]
