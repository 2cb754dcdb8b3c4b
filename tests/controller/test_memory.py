"""A key is forgotten when its object is deleted, whatever predicates, mappings and shards say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from tests.tasks import stop

import setpoint as sp
from setpoint.cache import Head, InformerFactory
from setpoint.concurrency import Deadline
from setpoint.controller import RunningController
from setpoint.controller.environment import Process
from setpoint.controller.events import EventRecorder
from setpoint.controller.predicates import Test
from setpoint.manager.key_partition import Partition
from setpoint.meta import ObjectKey, Selector, resource_of
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, config, widget

MONTH = 30 * 24 * 3600.0
KEYS = 2_000
FEW = 300
SECRETS = resource_of(Secret).gvr
Sizes = dict[str, int]

MEMORIES: dict[str, Callable[[Any], int]] = {
    "the writes that caches do not show yet": lambda run: len(run.memory.barriers._targets),
    "the stale caches": lambda run: len(run.memory.barriers._stale),
    "the applied children": lambda run: len(run.memory.applied._keys),
    "the children without a cache": lambda run: len(run.memory.children._keys),
    "the suspect owners": lambda run: len(run.memory.suspects._suspects),
    "the counted changes": lambda run: len(run.activity.hot_loops._counts),
    "the counted reconciles without a change": lambda run: len(run.activity.hot_loops._requeues),
    "the keys that are slowed down": lambda run: len(run.activity.hot_loops.slowed),
    "the expected echoes": lambda run: len(run.memory.echoes),
    "the objects taken over": lambda run: len(run.memory._taken_over),
    "the causes": lambda run: len(run.activity.causes._causes),
    "the reconciles under way": lambda run: len(run.activity.running) + len(run.loop.started),
    "the threads": lambda run: len(run.threads.identifiers) + len(run.threads._calls),
    "the back-offs": lambda run: len(run.loop.rate_limiter._failures),
    "the queue": lambda run: len(run.queue._states) + len(run.queue._delays) + len(run.queue._priorities),
    "the delays of the queue": lambda run: len(run.queue._heap),
    "the last failures": lambda run: len(run.timeline._failed),
    "the cache": lambda run: len(run.informers[run.controller.resource.gvr].store),
    "the cache's unseen writes": lambda run: len(run.informers[run.controller.resource.gvr].shared.barriers._unseen),
    "the events' series": lambda run: len(run.env.recorder._series) + len(run.env.recorder._unwritten),
    "the events' texts": lambda run: len(run.env.recorder._similar),
    "the events' budgets": lambda run: len(run.env.recorder._buckets),
}
FILLED = {
    "the writes that caches do not show yet", "the stale caches", "the applied children",
    "the children without a cache", "the suspect owners", "the expected echoes", "the objects taken over",
    "the back-offs", "the queue", "the cache",
}  # fmt: skip
"""The memories that hold a quarter of all keys or more before the deletion; the others are bounded, or end sooner."""
NOTHING = dict.fromkeys([*MEMORIES, "the last children"], 0)


def reject_all_but_creations(old: Head | None, new: Head | None) -> bool:
    return old is None


def fail_at_deletions(old: Head | None, new: Head | None) -> bool:
    if new is None:
        raise ValueError("a mistake in a predicate")
    return old is None


class Elsewhere:
    """A shard that has all keys until they go to another process."""

    namespaces = key_shards = None

    def __init__(self) -> None:
        self.share = Partition(0, 1)
        self.leave: Callable[[], None] = lambda: None

    def on_change(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        self.leave = lambda: listener(self.share)
        return lambda: None

    def begin(self, controller: str, key: ObjectKey) -> Deadline | None:
        return Deadline() if self.share.owns(controller, key) else None

    def end(self, controller: str, key: ObjectKey) -> None:
        """Nothing is counted."""

    def elsewhere(self, controller: str, key: ObjectKey) -> str:
        return "" if self.share.owns(controller, key) else "elsewhere"

    def go(self) -> None:
        self.share = Partition(1, 1)  # no key has this index
        self.leave()


async def fill(run: RunningController[Any], obj: ConfigMap, ctx: sp.Context) -> sp.Outcome | None:
    """Puts the key into every memory."""
    memory, key, number = run.memory, obj.key, int(obj.name[1:])
    await ctx.patch(obj, {"metadata": {"annotations": {"seen": "yes"}}})
    memory.applied.of(key, SECRETS, Selector.of("a=b"))
    memory.children.note(obj, SECRETS, ObjectKey("default/child"), "uid")
    memory.suspects.note_write(f"child-{number}", deleted=False)
    memory.suspects.note_deletion(f"child-{number}", key)
    run.activity.hot_loops.count_requeue(key, obj.metadata.generation, run.controller.resource)
    memory.echoes[key] = ("1", "2")
    memory.note_taken_over(key, (SECRETS, ObjectKey("default/child")))
    if number % 10 == 0:
        ctx.event("Normal", "Seen", "it was seen")
    if number % 4 == 0:
        raise sp.TerminalError("no retry")
    if number % 4 == 1:
        return sp.retry("later", after=1000.0)
    return sp.after(365 * 24 * 3600.0) if number % 4 == 2 else None


async def after_a_month(predicate: Test, count: int, *, is_sharded: bool = False) -> tuple[Sizes, Sizes]:
    """The sizes of all memories before the deletion of ``count`` objects, and a month after it."""
    async with cluster(nodes=0, control_plane=False) as world, InformerFactory(world.client) as factory:
        shard = Elsewhere() if is_sharded else None
        recorder = EventRecorder(world.client, now=world.now, random=Random(1))

        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome | None:
            return await fill(run, obj, ctx)

        declared = sp.Controller(ConfigMap, reconcile, predicates=[predicate])
        run = declared.bind(
            world.client,
            factory,
            process=Process(now=world.now, random=Random(2)),
            recorder=recorder,
            shard=shard,
        )
        tasks = [asyncio.create_task(run.run()), asyncio.create_task(recorder.run())]
        for number in range(count):
            await world.client.create(ConfigMap.named(f"c{number}", "default"))
        await advance(10)
        for number in range(count):
            run.memory.barriers.mark_stale(ObjectKey(f"default/c{number}"), declared.resource.gvr)
        before = {name: size(run) for name, size in MEMORIES.items()}
        if shard is not None:
            shard.go()
            await advance(10)
        for number in range(count):
            await world.client.delete(ConfigMap, f"c{number}", namespace="default")
        await advance(MONTH)
        after = {name: size(run) for name, size in MEMORIES.items()}
        run.memory.suspects.note_write("the next child", deleted=False)
        after["the last children"] = len(run.memory.suspects._write_times) - 1
        await stop(*tasks)
        return before, after


@virtual_time
async def test_nothing_of_a_deleted_key_is_left_after_a_month_although_a_predicate_rejected_its_deletion() -> None:
    before, after = await after_a_month(reject_all_but_creations, KEYS)
    assert after == NOTHING
    assert {name: before[name] for name in FILLED if before[name] < KEYS // 4} == {}


@virtual_time
async def test_nothing_is_left_when_the_predicate_fails() -> None:
    _, after = await after_a_month(fail_at_deletions, FEW)
    assert after == NOTHING


@virtual_time
async def test_nothing_is_left_of_a_key_that_went_to_another_process_before_its_deletion() -> None:
    _, after = await after_a_month(reject_all_but_creations, FEW, is_sharded=True)
    assert after == NOTHING


@virtual_time
async def test_a_child_that_goes_after_its_owner_leaves_no_suspicion_of_that_owner() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [config("child")])

    def lives(old: Head | None, new: Head | None) -> bool:
        return new is not None

    controller = sp.Controller(Widget, reconcile).owns(ConfigMap, predicates=[lives])
    async with cluster(controller, control_plane=False, rbac=False) as world:
        owner = await world.create(widget())
        await world.settle()
        await world.delete(owner)
        await world.settle()
        await world.delete(await world.get(ConfigMap, "child"))
        await world.settle()
        assert not world.running("widget").memory.suspects._suspects
