"""Concurrent writers: several controllers write the same object, and each assumes to be the only one."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists, PatchType
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret
from setpoint.simulation import External, Objects, always, call, eventually

HOLD, CLEAN, BACKUP = "corpus.example.com/hold", "corpus.example.com/clean", "corpus.example.com/backup"


class PoolSpec(sp.Model):
    secret: str = ""
    mode: str = "a"
    limit: int = 1
    burst: bool = False
    amount: int = 0


class PoolStatus(sp.ConditionedStatus):
    phase: str = ""


class Pool(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A node pool."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()


# -- a finalizer by its place ------------------------------------------------------------------------------------------


async def delete_while_held(cluster: sp.testing.Cluster) -> None:
    pool = Pool.named("pool", "default")
    pool.metadata.finalizers = [HOLD, CLEAN, BACKUP]
    await cluster.create(pool)
    await cluster.settle()
    await cluster.delete(await cluster.get(Pool, "pool"))
    await cluster.settle()
    pool = await cluster.get(Pool, "pool")
    pool.metadata.finalizers = [finalizer for finalizer in pool.metadata.finalizers if finalizer != HOLD]
    await cluster.update(pool)
    await cluster.settle()
    await cluster.apply(ConfigMap.named("backups-are-open", "default"))
    await cluster.settle()


async def nothing(pool: Pool, ctx: sp.Context) -> None:
    pass


async def back_up(pool: Pool, ctx: sp.Context) -> Any:
    if await ctx.get(ConfigMap, "backups-are-open") is None:
        return sp.retry("backups are closed")
    await ctx.apply(ConfigMap.named("final-backup", data={"of": pool.name}), controlled=False)
    return None


async def clean_by_place(pool: Pool, ctx: sp.Context) -> None:
    if pool.is_deleting and CLEAN in pool.metadata.finalizers:
        place = pool.metadata.finalizers.index(CLEAN)
        await ctx.patch(pool, [{"op": "remove", "path": f"/metadata/finalizers/{place}"}], type=PatchType.JSON)


async def clean_by_name(pool: Pool, ctx: sp.Context) -> None:
    if pool.is_deleting and CLEAN in pool.metadata.finalizers:
        pool.metadata.finalizers.remove(CLEAN)
        await ctx.client.update(pool)


def cleaned(clean: Any) -> Any:
    def pools(head: sp.Head) -> list[str]:
        return [f"{head.namespace}/pool"]

    return lambda: [
        sp.Controller(Pool, clean, name="cleaner", reconcile_deleting=True),
        sp.Controller(Pool, nothing, name="backup").watches(ConfigMap, pools).finalize(back_up, name=BACKUP),
    ]


# -- two look at one limit ---------------------------------------------------------------------------------------------


async def burst(cluster: sp.testing.Cluster) -> None:
    for bursting in (False, True):
        await cluster.apply(Pool.named("pool", "default", spec=PoolSpec(burst=bursting)))
        await cluster.settle()


def machine(name: str) -> Pod:
    spec = PodSpec(containers=[Container(name="machine", image="machine:1")])
    return Pod.named(name, labels={"machine": "yes"}, spec=spec)


def by_counting(sort: str) -> Any:
    async def reconcile(pool: Pool, ctx: sp.Context) -> None:
        if sort == "burst" and not pool.spec.burst:
            return
        there = ctx.lister(Pod).list(namespace=pool.namespace, selector="machine")
        if len(there) < pool.spec.limit:
            await ctx.apply(machine(f"{pool.name}-{sort}"))

    return reconcile


def by_name(sort: str) -> Any:
    async def reconcile(pool: Pool, ctx: sp.Context) -> None:
        if sort == "burst" and not pool.spec.burst:
            return
        for number in range(pool.spec.limit):
            if await ctx.get(Pod, f"{pool.name}-{number}") is None:
                await ctx.apply(machine(f"{pool.name}-{number}"))

    return reconcile


def two_of(reconcile: Any) -> Any:
    return lambda: [
        sp.Controller(Pool, reconcile("static"), name="static").owns(Pod),
        sp.Controller(Pool, reconcile("burst"), name="burst").owns(Pod),
    ]


def within_the_limit(objects: Objects) -> bool:
    return len(objects.list(Pod, selector="machine")) <= 1


# -- replaced, with all that others wrote ------------------------------------------------------------------------------


async def annotate_and_change(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Pool.named("pool", "default", spec=PoolSpec(mode="a")))
    await cluster.settle()
    await cluster.client.patch(ConfigMap, "pool", {"data": {"ca": "injected"}}, namespace="default")
    await cluster.settle()
    await cluster.apply(Pool.named("pool", "default", spec=PoolSpec(mode="b")))
    await cluster.settle()


async def replaces(pool: Pool, ctx: sp.Context) -> None:
    present = await ctx.get(ConfigMap, pool.name)
    if present is None:
        await ctx.create(ConfigMap.named(pool.name, data={"mode": pool.spec.mode}))
    elif present.data["mode"] != pool.spec.mode:
        whole = ConfigMap.named(pool.name, pool.namespace, data={"mode": pool.spec.mode})
        whole.metadata.owner_references = present.metadata.owner_references
        await ctx.client.replace(whole)


async def applies(pool: Pool, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(pool.name, data={"mode": pool.spec.mode}))


def keeps_what_was_injected(objects: Objects) -> bool:
    config_map = objects.get(ConfigMap, "pool")
    return config_map is not None and config_map.data.get("ca") == "injected"


# -- there already, so it must be mine ---------------------------------------------------------------------------------


async def two_pools_one_secret(cluster: sp.testing.Cluster) -> None:
    for name in ("first", "second"):
        await cluster.apply(Pool.named(name, "default", spec=PoolSpec(secret="token")))
        await cluster.settle()


async def takes_it_for_its_own(pool: Pool, ctx: sp.Context) -> None:
    if pool.status.phase != "Ready":
        try:
            await ctx.create(Secret.named(pool.spec.secret, string_data={"pool": pool.name}))
        except AlreadyExists:
            ctx.log.info("made it before")
        pool.status.phase = "Ready"


async def looks_whose_it_is(pool: Pool, ctx: sp.Context) -> None:
    try:
        await ctx.create(Secret.named(pool.spec.secret, string_data={"pool": pool.name}))
    except AlreadyExists:
        secret = await ctx.client.get(Secret, pool.spec.secret, namespace=pool.namespace)
        mine = secret.metadata.controller is not None and secret.metadata.controller.uid == pool.uid
        pool.status.phase = "Ready" if mine else "SecretIsTaken"
    else:
        pool.status.phase = "Ready"


def ready_ones_have_their_secret(objects: Objects) -> bool:
    owners = {
        secret.metadata.controller.uid for secret in objects.list(Secret) if secret.metadata.controller is not None
    }
    return all(pool.uid in owners for pool in objects.list(Pool) if pool.status.phase == "Ready")


# -- a leader that was one once ----------------------------------------------------------------------------------------


class Bank(External):
    """Payments, each with what it is for."""

    def __init__(self) -> None:
        self.paid: list[str] = []

    @call
    async def has_paid(self, purpose: str) -> bool:
        return purpose in self.paid

    @call
    async def pay(self, purpose: str) -> None:
        self.paid.append(purpose)

    @call
    async def pay_once(self, purpose: str) -> None:
        if purpose not in self.paid:
            self.paid.append(purpose)


bank = Bank()


async def pays_as_a_leader(pool: Pool, ctx: sp.Context) -> None:
    if pool.spec.amount and not await bank.has_paid(pool.name):
        await asyncio.sleep(1)  # the paperwork
        await bank.pay(pool.name)
    pool.status.phase = "Paid"


async def pays_with_a_key(pool: Pool, ctx: sp.Context) -> None:
    if pool.spec.amount:
        await asyncio.sleep(1)  # the paperwork
        await bank.pay_once(pool.name)
    pool.status.phase = "Paid"


async def pay(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Pool.named("pool", "default", spec=PoolSpec(amount=5)))

    async def paid() -> bool:
        return (await cluster.get(Pool, "pool")).status.phase == "Paid"

    await cluster.until(paid)
    await cluster.settle()


PAIRS = [
    Pair(
        name="finalizer-removed-by-index",
        root="R53",
        source="guarded against in kube-rs finalizer.rs",
        scenario=delete_while_held,
        buggy=cleaned(clean_by_place),
        correct=cleaned(clean_by_name),
        options={"off": {"paths": "the user holds back what is deleted"}},
    ),
    Pair(
        name="two-controllers-count-against-one-limit",
        root="R55",
        source="karpenter #2916, #2915",
        scenario=burst,
        buggy=two_of(by_counting),
        correct=two_of(by_name),
        options={"predicates": [always(within_the_limit, "no more machines than the limit")]},
    ),
    Pair(
        name="replace-drops-fields-of-others",
        root="R57",
        source="anvil, notes on the Kubernetes model: updates without a resource version",
        scenario=annotate_and_change,
        buggy=lambda: [sp.Controller(Pool, replaces).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Pool, applies).owns(ConfigMap)],
        options={
            "predicates": [eventually(keeps_what_was_injected, "what was injected stays")],
            "off": {"user": "the injector waits for the config map"},
        },
    ),
    Pair(
        name="existing-object-taken-as-own",
        root="R59",
        source="quarkus-operator-sdk #1161",
        scenario=two_pools_one_secret,
        buggy=lambda: [sp.Controller(Pool, takes_it_for_its_own).owns(Secret)],
        correct=lambda: [sp.Controller(Pool, looks_whose_it_is).owns(Secret)],
        options={
            "predicates": [always(ready_ones_have_their_secret, "a pool that is ready has its secret")],
            "off": {"end state": "the first writer has it", "paths": "so it is here"},
        },
    ),
    Pair(
        name="paused-leader-pays-twice",
        root="R61",
        source="KubeOps #784",
        scenario=pay,
        buggy=lambda: [sp.Controller(Pool, pays_as_a_leader)],
        correct=lambda: [sp.Controller(Pool, pays_with_a_key)],
        options={"externals": [bank], "leader_election": True},
    ),
]
