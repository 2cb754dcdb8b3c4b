"""Own writes unseen: controllers that decide by an outdated read of what they have written."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec
from setpoint.simulation import Objects, always


class BatchSpec(sp.Model):
    size: int = 1
    revision: str = "a"


class BatchStatus(sp.ConditionedStatus):
    revision: str = ""
    made: int = 0


class Batch(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A number of workers."""

    spec: BatchSpec = BatchSpec()
    status: BatchStatus = BatchStatus()


def worker(batch: Batch) -> Pod:
    spec = PodSpec(containers=[Container(name="worker", image="worker:1")])
    return Pod(metadata=sp.ObjectMeta(generate_name=f"{batch.name}-", labels={"batch": batch.name}), spec=spec)


async def create_and_grow(cluster: sp.testing.Cluster) -> None:
    for size in (1, 3):
        await cluster.apply(Batch.named("load", "default", spec=BatchSpec(size=size)))
        await cluster.settle()


# -- waits for the cache, but not forever -----------------------------------------------------------------------------


def waits_for_a_while() -> list[sp.Controller[Any]]:
    expected: dict[str, int] = {}

    async def reconcile(batch: Batch, ctx: sp.Context) -> None:
        for _ in range(10):
            there = ctx.lister(Pod).list(namespace=batch.namespace, selector={"batch": batch.name})
            if len(there) >= expected.get(batch.name, 0):
                break
            await asyncio.sleep(1)
        for _ in range(len(there), batch.spec.size):
            await ctx.create(worker(batch))
        expected[batch.name] = batch.spec.size

    return [sp.Controller(Batch, reconcile).owns(Pod)]


async def keeps(batch: Batch, ctx: sp.Context) -> None:
    await ctx.keep(Pod, [worker(batch)] * batch.spec.size)


# -- an answer that is kept, and believed forever ---------------------------------------------------------------------


async def create_and_disturb(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Batch.named("load", "default"))
    await cluster.settle()
    await cluster.client.patch(ConfigMap, "load", {"data": {"revision": "by hand"}}, namespace="default")
    await cluster.settle()


def believes_its_answers() -> list[sp.Controller[Any]]:
    answers: dict[str, ConfigMap] = {}

    async def reconcile(batch: Batch, ctx: sp.Context) -> None:
        present = answers.get(batch.uid) or await ctx.get(ConfigMap, batch.name)
        if present is None or present.data != {"revision": batch.spec.revision}:
            answers[batch.uid] = await ctx.apply(ConfigMap.named(batch.name, data={"revision": batch.spec.revision}))

    return [sp.Controller(Batch, reconcile).owns(ConfigMap)]


async def believes_the_cache(batch: Batch, ctx: sp.Context) -> None:
    present = await ctx.get(ConfigMap, batch.name)
    if present is None or present.data != {"revision": batch.spec.revision}:
        await ctx.apply(ConfigMap.named(batch.name, data={"revision": batch.spec.revision}))


# -- looked at, and used later -----------------------------------------------------------------------------------------


def slots(objects: Objects) -> list[ConfigMap]:
    return objects.list(ConfigMap, selector="slot")


async def two_batches(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Batch.named("first", "default"))
    await cluster.apply(Batch.named("second", "default"))
    await cluster.settle()


async def takes_a_slot_after_a_look(batch: Batch, ctx: sp.Context) -> Any:
    """There is one slot, and a ConfigMap names the object that has it."""
    taken = await ctx.list(ConfigMap, selector="slot")
    if any(item.data["by"] == batch.name for item in taken):
        return None
    if taken:
        return sp.after(60, "all slots are taken")
    await ctx.create(ConfigMap.named(f"slot-of-{batch.name}", labels={"slot": "1"}, data={"by": batch.name}))
    return None


async def takes_the_slot_by_name(batch: Batch, ctx: sp.Context) -> Any:
    taken = await ctx.get(ConfigMap, "slot-1")
    if taken is None:
        try:
            await ctx.create(ConfigMap.named("slot-1", labels={"slot": "1"}, data={"by": batch.name}))
        except AlreadyExists:
            return sp.retry("another worker was faster, or an earlier try of this one")
    elif taken.data["by"] != batch.name:
        return sp.after(60, "all slots are taken")
    return None


# -- a limit that is checked while it is used up -----------------------------------------------------------------------

CANDIDATES = ("north", "east", "south", "west")


def places(objects: Objects) -> list[ConfigMap]:
    return objects.list(ConfigMap, selector="place")


def within_the_limit(objects: Objects) -> bool:
    return len(places(objects)) <= max((batch.spec.size for batch in objects.list(Batch)), default=0)


def place_of(batch: Batch, name: str) -> ConfigMap:
    return ConfigMap.named(f"{batch.name}-{name}", labels={"place": name})


async def counts_before_it_writes(batch: Batch, ctx: sp.Context) -> None:
    taken = await ctx.list(ConfigMap, selector="place")
    for name in CANDIDATES:
        if len(taken) < batch.spec.size:
            await ctx.apply(place_of(batch, name))


async def counts_after_each_write(batch: Batch, ctx: sp.Context) -> None:
    """The reads of a reconcile show its own writes, whatever the cache has seen."""
    for name in CANDIDATES:
        if len(await ctx.list(ConfigMap, selector="place")) < batch.spec.size:
            await ctx.apply(place_of(batch, name))


# -- the newest revision by name ---------------------------------------------------------------------------------------


async def revise(cluster: sp.testing.Cluster) -> None:
    for revision in ("b", "a"):
        await cluster.apply(Batch.named("load", "default", spec=BatchSpec(revision=revision)))
        await cluster.settle()


def revision_of(batch: Batch) -> ConfigMap:
    config_map = ConfigMap.named(f"{batch.name}-{batch.spec.revision}", labels={"revisions-of": batch.name})
    config_map.data = {"generation": str(batch.metadata.generation), "revision": batch.spec.revision}
    return config_map


async def last_in_the_list(batch: Batch, ctx: sp.Context) -> None:
    if await ctx.get(ConfigMap, f"{batch.name}-{batch.spec.revision}") is None:
        await ctx.apply(revision_of(batch))
    revisions = await ctx.client.list(ConfigMap, namespace=batch.namespace, selector={"revisions-of": batch.name})
    batch.status.revision = revisions.items[-1].data["revision"]


async def of_the_newest_generation(batch: Batch, ctx: sp.Context) -> None:
    await ctx.apply(revision_of(batch))
    revisions = await ctx.client.list(ConfigMap, namespace=batch.namespace, selector={"revisions-of": batch.name})
    newest = max(revisions.items, key=lambda item: int(item.data["generation"]))
    batch.status.revision = newest.data["revision"]


# -- a counter in the status -------------------------------------------------------------------------------------------


async def counts_what_it_makes(batch: Batch, ctx: sp.Context) -> None:
    while batch.status.made < batch.spec.size:
        pod = worker(batch)
        await ctx.create(pod)
        batch.status.made += 1


async def counts_what_is_there(batch: Batch, ctx: sp.Context) -> None:
    batch.status.made = len(await ctx.keep(Pod, [worker(batch)] * batch.spec.size))


PAIRS = [
    Pair(
        name="cache-wait-with-timeout",
        root="R45",
        source="cluster-api #13649",
        scenario=create_and_grow,
        buggy=waits_for_a_while,
        correct=lambda: [sp.Controller(Batch, keeps).owns(Pod)],
    ),
    Pair(
        name="lookup-cached-forever",
        root="R47",
        source="argo-rollouts #4044",
        scenario=create_and_disturb,
        buggy=believes_its_answers,
        correct=lambda: [sp.Controller(Batch, believes_the_cache).owns(ConfigMap)],
    ),
    Pair(
        name="checked-then-used",
        root="R49",
        source="karpenter #2918, #2916",
        scenario=two_batches,
        buggy=lambda: [sp.Controller(Batch, takes_a_slot_after_a_look).reads(ConfigMap)],
        correct=lambda: [sp.Controller(Batch, takes_the_slot_by_name).reads(ConfigMap)],
        options={
            "predicates": [always(lambda objects: len(slots(objects)) <= 1, "there is one slot")],
            "off": {"end state": "the first writer has it"},
        },
    ),
    Pair(
        name="limit-counted-before-own-writes",
        root="R46",
        source="derived",
        scenario=create_and_grow,
        buggy=lambda: [sp.Controller(Batch, counts_before_it_writes).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Batch, counts_after_each_write).owns(ConfigMap)],
        options={"predicates": [always(within_the_limit, "there are no more places than the limit")]},
    ),
    Pair(
        name="latest-revision-by-list-order",
        root="R51",
        source="crossplane #7220",
        scenario=revise,
        buggy=lambda: [sp.Controller(Batch, last_in_the_list).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Batch, of_the_newest_generation).owns(ConfigMap)],
        options={"off": {"paths": "revisions tell of the way"}},
    ),
    Pair(
        name="counter-in-stale-status",
        root="R46",
        source="cluster-api #13649; derived",
        scenario=create_and_grow,
        buggy=lambda: [sp.Controller(Batch, counts_what_it_makes).owns(Pod)],
        correct=lambda: [sp.Controller(Batch, counts_what_is_there).owns(Pod)],
    ),
]
