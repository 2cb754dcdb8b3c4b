"""Limits and progress: disruption limits, vanished instances, limits per batch, sizes, progress of a startup."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair
from tests.simulation.corpus.store_operators import DERIVED, Store, StoreSpec, changes, found, made, member

import setpoint as sp
from setpoint.meta import LabelSelector
from setpoint.models.apps_v1 import StatefulSet, StatefulSetSpec
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec
from setpoint.simulation import External, Objects, always, call, eventually

# -- a budget that each reconcile has for itself -----------------------------------------------------------------------


async def replaces_within_a_reconcile(store: Store, ctx: sp.Context) -> None:
    budget = 1
    if len(ctx.owned(Pod)) == store.spec.replicas:
        store.status.phase = "Whole"
    for number in range(store.spec.replicas):
        pod = await found(Pod, f"{store.name}-{number}", ctx)
        if pod is None:
            await ctx.create(member(store, number))
        elif pod.spec.containers[0].image != store.spec.image and not pod.is_deleting and budget:
            budget -= 1
            await ctx.delete(pod)


async def replaces_when_all_are_there(store: Store, ctx: sp.Context) -> Any:
    pods = [await found(Pod, f"{store.name}-{number}", ctx) for number in range(store.spec.replicas)]
    for number, pod in enumerate(pods):
        if pod is None:
            await ctx.create(member(store, number))
    if any(pod is None or pod.is_deleting or not pod.is_ready for pod in pods):
        return sp.after(1, "members are on their way")
    store.status.phase = "Whole"
    newest = await found(Store, store.name, ctx)
    for pod in pods:
        if newest is not None and pod.spec.containers[0].image != newest.spec.image:
            await ctx.delete(pod)
            return sp.after(1, "one is replaced")
    return None


def two_of_three_are_ready(objects: Objects) -> bool:
    whole = [store for store in objects.list(Store) if store.status.phase == "Whole"]
    return not whole or sum(pod.is_ready and not pod.is_deleting for pod in objects.list(Pod)) >= 2


# -- a record of an instance that is gone ------------------------------------------------------------------------------


class Instances(External):
    """Instances by the uid of the store that they belong to. Users may end them, too."""

    def __init__(self) -> None:
        self.instances: list[str] = []

    @call
    async def start(self, uid: str) -> None:
        if uid not in self.instances:
            self.instances.append(uid)

    @call
    async def is_there(self, uid: str) -> bool:
        return uid in self.instances

    @call
    async def end(self, uid: str) -> None:
        if uid in self.instances:
            self.instances.remove(uid)


instances = Instances()


async def starts_once(store: Store, ctx: sp.Context) -> None:
    if await ctx.get(ConfigMap, f"{store.name}-instance") is None:
        await instances.start(store.uid)
        await ctx.apply(ConfigMap.named(f"{store.name}-instance", data={"id": store.uid}))


async def looks_again(store: Store, ctx: sp.Context) -> Any:
    if not await instances.is_there(store.uid):
        await instances.start(store.uid)
    await ctx.apply(ConfigMap.named(f"{store.name}-instance", data={"id": store.uid}))
    return sp.after(30, "instances may end by themselves")


async def an_instance_ends(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    store = await cluster.get(Store, "main")
    await instances.end(store.uid)
    await cluster.settle()


def every_store_has_an_instance(objects: Objects) -> bool:
    return all(store.uid in instances.instances for store in objects.list(Store))


# -- a limit that is looked at once a batch ----------------------------------------------------------------------------

LIMIT = 2


async def fills_by_the_batch(store: Store, ctx: sp.Context) -> None:
    pods = await ctx.list(Pod, selector={"store": store.name})
    if len(pods) >= LIMIT:
        return
    for number in range(store.spec.replicas):
        if all(pod.name != f"{store.name}-{number}" for pod in pods):
            await ctx.create(member(store, number))


async def fills_one_by_one(store: Store, ctx: sp.Context) -> None:
    await ctx.keep(Pod, [member(store, number) for number in range(min(store.spec.replicas, LIMIT))])


# -- a size that differs -----------------------------------------------------------------------------------------------


def sized(store: Store) -> StatefulSet:
    labels = {"store": store.name}
    pod = PodSpec(containers=[Container(name="main", image="queue")])
    template = PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod)
    spec = StatefulSetSpec(
        service_name=store.name, selector=LabelSelector(match_labels=labels), template=template, replicas=1
    )
    return StatefulSet.named(store.name, annotations={"size": str(store.spec.replicas)}, spec=spec)


async def anew_for_another_size(store: Store, ctx: sp.Context) -> Any:
    there = await ctx.get(StatefulSet, store.name)
    if there is not None and there.annotations.get("size") != str(store.spec.replicas):
        await ctx.delete(there)
        return sp.after(1, "it is made anew")
    await ctx.apply(sized(store))
    return None


async def anew_for_a_larger_size(store: Store, ctx: sp.Context) -> Any:
    there = await found(StatefulSet, store.name, ctx)
    if there is not None and int(there.annotations.get("size", "0")) < store.spec.replicas:
        newest = await found(Store, store.name, ctx)
        if newest is None or newest.spec.replicas != store.spec.replicas:
            return sp.retry("the cache is behind")
        await ctx.delete(there)
        return sp.after(1, "it is made anew")
    if there is None:
        await ctx.apply(sized(store))
    return None


# -- steps of a beginning ----------------------------------------------------------------------------------------------

STEPS = ("schema", "accounts", "seeds")


class Initializer:
    """Remembers how far it has come with a store."""

    def __init__(self) -> None:
        self.left: dict[str, list[str]] = {}

    async def reconcile(self, store: Store, ctx: sp.Context) -> Any:
        if store.status.phase == "Ready":
            return None
        if store.status.phase == "":
            self.left[store.uid] = list(STEPS)
            await ctx.patch(store, {"status": {"phase": "Initializing"}}, subresource="status")
            store.status.phase = "Initializing"
        left = self.left.get(store.uid, [])
        if left:
            await ctx.apply(ConfigMap.named(f"{store.name}-{left.pop(0)}"))
            return sp.after(1, "the next step")
        store.status.phase = "Ready"
        return None


async def all_steps_each_time(store: Store, ctx: sp.Context) -> None:
    for step in STEPS:
        await ctx.apply(ConfigMap.named(f"{store.name}-{step}"))
    store.status.phase = "Ready"


# -- a limit of attempts -----------------------------------------------------------------------------------------------

ATTEMPTS = 3


class Imports(External):
    """Imports of data, all of which fail; each has a number."""

    def __init__(self) -> None:
        self.failed: list[int] = []

    @call
    async def run(self, number: int) -> None:
        if number not in self.failed:
            self.failed.append(number)


imports = Imports()


class CountsInMemory:
    """Tries an import three times, as far as this process knows."""

    def __init__(self) -> None:
        self.attempts: dict[str, int] = {}

    async def reconcile(self, store: Store, ctx: sp.Context) -> Any:
        if self.attempts.get(store.uid, 0) < ATTEMPTS and not store.status.phase:
            await ctx.ensure_current()
            await imports.run(store.status.count)
            self.attempts[store.uid] = self.attempts.get(store.uid, 0) + 1
            store.status.count += 1
            return sp.after(60, "another attempt")
        store.status.phase = "Failed"
        return None


async def counts_in_the_status(store: Store, ctx: sp.Context) -> Any:
    if store.status.count < ATTEMPTS:
        await ctx.ensure_current()
        await imports.run(store.status.count)
        store.status.count += 1
        return sp.after(60, "another attempt")
    store.status.phase = "Failed"
    return None


PAIRS = [
    Pair(
        name="disruption-limit-per-reconcile",
        root="R49",
        source="karpenter #2917",
        scenario=changes(StoreSpec(replicas=3), StoreSpec(replicas=3, image="store:2")),
        buggy=made(replaces_within_a_reconcile, Pod),
        correct=made(replaces_when_all_are_there, Pod),
        options={"predicates": [always(two_of_three_are_ready, "two of three are ready")]},
    ),
    Pair(
        name="status-of-vanished-instance",
        root="R48",
        source="karpenter #2919",
        scenario=an_instance_ends,
        buggy=made(starts_once, ConfigMap),
        correct=made(looks_again, ConfigMap),
        options={
            "externals": [instances],
            "predicates": [eventually(every_store_has_an_instance, "every store has an instance")],
        },
    ),
    Pair(
        name="limit-checked-once-per-batch",
        root="R55",
        source="karpenter #2915",
        scenario=changes(StoreSpec(replicas=1), StoreSpec(replicas=4)),
        buggy=made(fills_by_the_batch, Pod),
        correct=made(fills_one_by_one, Pod),
        options={"predicates": [always(lambda objects: len(objects.list(Pod)) <= LIMIT, "not more than the limit")]},
    ),
    Pair(
        name="recreated-for-stale-smaller-size",
        root="R12",
        source="rabbitmq/cluster-operator #653",
        scenario=changes(StoreSpec(replicas=1), StoreSpec(replicas=2)),
        buggy=made(anew_for_another_size, StatefulSet),
        correct=made(anew_for_a_larger_size, StatefulSet),
    ),
    Pair(
        name="startup-progress-in-memory",
        root="R20",
        source="kcp #3926",
        scenario=changes(StoreSpec()),
        buggy=lambda: [sp.Controller(Store, Initializer().reconcile).owns(ConfigMap)],
        correct=made(all_steps_each_time, ConfigMap),
    ),
    Pair(
        name="attempts-counted-in-memory",
        root="R20",
        source=DERIVED,
        scenario=changes(StoreSpec()),
        buggy=lambda: [sp.Controller(Store, CountsInMemory().reconcile)],
        correct=made(counts_in_the_status),
        options={"externals": [imports]},
    ),
]
