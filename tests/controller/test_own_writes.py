"""The reads of a reconcile see its own writes, and `Context.caught_up` those of the whole process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import setpoint as sp
from setpoint.controller import Outdated
from setpoint.meta import Head, ObjectKey, ObjectMeta
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod, PodSpec, Secret
from setpoint.testing import Cluster, advance, cluster, virtual_time

from .world import Widget, widget

NAMES = ("a", "b", "c")
KEEP = "test.example.com/keep"
Step = tuple[str, str, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("apply", "create", "label", "data", "update", "keep", "hold", "release", "delete")),
        st.sampled_from(NAMES),
        st.sampled_from(("x", "y")),
    ),
    max_size=8,
)


class Data(sp.Model):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


async def take(ctx: sp.Context, step: Step) -> None:
    """Makes one write with the context, if the object is in a state in which it can be made."""
    verb, name, value = step
    obj = await ctx.client.get(ConfigMap, name, namespace="default") if name in await names_there(ctx) else None
    if verb == "apply" and (obj is None or obj.metadata.controller is not None) and not (obj and obj.is_deleting):
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name=name, labels={"tier": value}), data={"size": value}))
    elif verb == "create" and obj is None:
        created = ConfigMap(metadata=ObjectMeta(name=name, labels={"tier": value}), data={"size": value})
        await ctx.create(created, controlled=value == "x")
    elif verb == "keep":
        if ctx._keep_calls:
            return  # a second call with the same selector is refused
        wanted = ConfigMap(
            metadata=ObjectMeta(name="kept", labels={"set": "kept", "tier": value}), data={"size": value}
        )
        await ctx.keep(ConfigMap, [wanted] if value == "x" else [], selector="set=kept")
    elif obj is None:
        return
    elif verb == "label":
        await ctx.patch(obj, {"metadata": {"labels": {"tier": value}}})
    elif verb == "data":
        await ctx.patch(obj, [{"op": "replace", "path": "/data", "value": {"size": value}}])
    elif verb == "update":
        obj.data = {"size": value}
        await ctx.client.update(obj)
    elif verb == "hold" and not obj.is_deleting:
        await ctx.patch(obj, {"metadata": {"finalizers": [KEEP]}})
    elif verb == "release":
        await ctx.patch(obj, {"metadata": {"finalizers": None}})
    elif verb == "delete":
        await ctx.delete(obj)


async def names_there(ctx: sp.Context) -> set[str]:
    return {obj.name for obj in (await ctx.client.list(ConfigMap, namespace="default")).items}


def versions(objects: Sequence[Any]) -> dict[str, str]:
    """The versions of the objects by their keys, and whether they are being deleted. Each key occurs once."""
    shown = {
        f"{obj.metadata.namespace}/{obj.metadata.name}": (
            f"{obj.metadata.resource_version} {'deleting' if obj.metadata.deletion_timestamp else ''}"
        )
        for obj in objects
    }
    assert len(shown) == len(objects)
    return shown


async def compare(ctx: sp.Context) -> None:
    """Compares every way to read with what the server has."""
    there = [
        obj
        for obj in (await ctx.client.list(ConfigMap, namespace="default")).items
        if obj.name in (*NAMES, "kept", "old")
    ]
    lister = ctx.lister(ConfigMap)
    assert versions(await ctx.list(ConfigMap)) == versions(there)
    assert versions(await ctx.list(ConfigMap, namespace="*")) == versions(there)
    assert versions(lister.list(namespace="default")) == versions(there)
    assert versions(lister.list(as_=Data)) == versions(there)
    assert set(lister.keys()) == {obj.key for obj in there}
    assert len(lister) == len(there)
    assert await ctx.list(ConfigMap, namespace="kube-system") == []
    owned = [obj for obj in there if any(owner.uid == ctx.object.uid for owner in obj.metadata.owner_references)]
    assert versions(ctx.owned(ConfigMap)) == versions(owned)
    for value in ("x", "y"):
        chosen = [obj for obj in there if obj.labels.get("tier") == value]
        assert versions(await ctx.list(ConfigMap, selector=f"tier={value}")) == versions(chosen)
        others = [obj for obj in there if obj.labels.get("tier") != value]
        assert versions(await ctx.list(ConfigMap, selector=f"tier!={value}")) == versions(others)
        sized = [obj for obj in there if (obj.data or {}).get("size") == value]
        assert versions(await ctx.list(ConfigMap, index=("size", value))) == versions(sized)
        assert {head.key for head in lister.heads(index=("size", value))} == {obj.key for obj in sized}
    for name in (*NAMES, "kept", "old"):
        expected = next((obj for obj in there if obj.name == name), None)
        obj = await ctx.get(ConfigMap, name)
        small = lister.try_get(name, "default", as_=Data)
        head = lister.head(name, "default")
        if expected is None:
            assert (obj, small, head) == (None, None, None)
        else:
            assert obj is not None
            assert small is not None
            assert head is not None
            assert obj.data == small.data == expected.data
            assert {obj.metadata.resource_version, head.resource_version} == {expected.metadata.resource_version}
            assert obj.is_deleting == head.is_deleting == expected.is_deleting


def run_steps(steps: Sequence[Step], *, shown_after: int | None) -> None:
    """Makes the writes in one reconcile whose cache shows nothing of them, or everything after a number of them."""

    @virtual_time
    async def run() -> None:
        compared = 0

        async def reconcile(obj: Widget, ctx: sp.Context) -> None:
            nonlocal compared
            if compared:
                return
            for number, step in enumerate(steps):
                if number == shown_after:
                    hold.release()
                    await advance(1)
                await take(ctx, step)
                await compare(ctx)
            compared += 1

        controller = (
            sp.Controller(Widget, reconcile)
            .owns(ConfigMap, selector="set!=system")
            .index("size", lambda result: (result.data or {}).get("size"), of=ConfigMap)
        )
        async with cluster(controller, control_plane=False, rbac=False) as world:
            await world.create(ConfigMap(metadata=ObjectMeta(name="old", labels={"tier": "x"}), data={"size": "y"}))
            await world.settle()
            hold = world.faults.hold(ConfigMap)
            await world.create(widget())
            await advance(5)
            assert compared == 1, world.running("widget").timeline.of(ObjectKey("default/a"))
            hold.release()
            await world.settle()

    run()


@settings(max_examples=30, deadline=None)
@example([("apply", "a", "x"), ("hold", "a", "x"), ("delete", "a", "x"), ("release", "a", "x")])
@given(STEPS)
def test_reads_see_every_write_of_the_reconcile_while_the_cache_shows_none(steps: list[Step]) -> None:
    run_steps(steps, shown_after=None)


@settings(max_examples=15, deadline=None)
@example([("apply", "a", "x"), ("hold", "a", "x"), ("delete", "a", "x"), ("release", "a", "x")], 3)
@given(STEPS, st.integers(0, 4))
def test_reads_see_every_write_of_the_reconcile_while_the_cache_catches_up(steps: list[Step], shown_after: int) -> None:
    run_steps(steps, shown_after=shown_after)


Check = Callable[[Cluster, sp.Context], Awaitable[None]]


async def reconcile_once(check: Check, declare: Callable[[sp.Controller[Widget]], object], *held: type) -> None:
    """Runs ``check`` in one reconcile while the caches of the kinds ``held`` receive nothing."""
    done: list[bool] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if not done:
            await check(world, ctx)
            done.append(True)

    controller = sp.Controller(Widget, reconcile)
    declare(controller)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await world.settle()
        for kind in held:
            world.faults.hold(kind)
        await world.create(widget())
        await advance(5)
        assert done, world.running("widget").timeline.of(ObjectKey("default/a"))


@virtual_time
async def test_an_object_that_a_write_takes_out_of_the_selector_of_the_cache_is_gone_from_its_lists() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        web = await ctx.create(ConfigMap(metadata=ObjectMeta(name="web", labels={"app": "web"})))
        await ctx.create(ConfigMap(metadata=ObjectMeta(name="other", labels={"app": "other"})))
        assert [obj.name for obj in await ctx.list(ConfigMap)] == ["web"]
        await ctx.patch(web, {"metadata": {"labels": {"app": "other"}}})
        assert await ctx.list(ConfigMap) == []
        config_map = await ctx.get(ConfigMap, "web")
        assert config_map is not None
        assert config_map.labels == {"app": "other"}, "the server is asked, as before"

    await reconcile_once(check, lambda controller: controller.owns(ConfigMap, selector="app=web"), ConfigMap)


@virtual_time
async def test_field_selectors_of_the_cache_apply_to_written_objects() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        for node in ("one", "two"):
            await ctx.create(Pod.named(node, "default", spec=PodSpec(node_name=node, containers=[sp_container()])))
        assert [pod.name for pod in await ctx.list(Pod)] == ["one"]

    def declare(controller: sp.Controller[Widget]) -> object:
        return controller.watches(Pod, lambda head: None, field_selector={"spec.nodeName": "one"})

    await reconcile_once(check, declare, Pod)


def sp_container() -> Any:
    from setpoint.models.core_v1 import Container

    return Container(name="main", image="example.com/main:1")


@virtual_time
async def test_a_cache_of_metadata_shows_written_objects_without_the_rest() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        await ctx.create(Secret.named("password", data={"key": b"value"}))
        (secret,) = await ctx.list(Secret)
        assert (secret.name, secret.data) == ("password", {})

    await reconcile_once(check, lambda controller: controller.reads(Secret, metadata_only=True), Secret)


@virtual_time
async def test_a_lister_from_before_a_write_shows_the_write() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        lister = ctx.lister(ConfigMap)
        assert len(lister) == 0
        await ctx.apply(ConfigMap.named("late", "default"))
        assert [head.name for head in lister.heads()] == ["late"]
        assert "default/late" in lister

    await reconcile_once(check, lambda controller: controller.owns(ConfigMap), ConfigMap)


@virtual_time
async def test_a_namespace_that_is_terminating_is_there_after_a_write_to_it() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        team = await ctx.client.create(Namespace.named("team"))
        await advance(1)
        await ctx.delete(team)
        for number in range(3):
            await ctx.patch(Namespace.named("team"), {"metadata": {"labels": {"turn": str(number)}}})
            await ctx.caught_up(Namespace)
            shown = await ctx.get(Namespace, "team")
            assert shown is not None
            assert (shown.is_deleting, shown.labels["turn"]) == (True, str(number))

    await reconcile_once(check, lambda controller: controller.reads(Namespace))


@virtual_time
async def test_a_newer_state_in_the_cache_replaces_what_was_written() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named("shared", "default", data={"by": "me"}))
        await world.client.patch(ConfigMap, "shared", {"data": {"by": "another"}}, namespace="default")
        await advance(1)
        config_map = await ctx.get(ConfigMap, "shared")
        assert config_map is not None
        assert config_map.data == {"by": "another"}

    await reconcile_once(check, lambda controller: controller.owns(ConfigMap))


class Counting:
    """Two keys that count all ConfigMaps before they create one of their own, at most one in all."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.counts: list[int] = []

    async def reconcile(self, obj: Widget, ctx: sp.Context) -> None:
        if self.waits:
            await ctx.caught_up(ConfigMap)
        self.counts.append(len(await ctx.list(ConfigMap, namespace="*")))
        if not self.counts[-1]:
            await ctx.apply(ConfigMap.named(obj.name, "default"))


@pytest.mark.parametrize("waits", [True, False])
@virtual_time
async def test_a_count_over_all_keys_is_not_behind_its_own_process_after_caught_up(waits: bool) -> None:
    counting = Counting(waits=waits)
    controller = sp.Controller(Widget, counting.reconcile, workers=1).owns(ConfigMap)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await world.settle()
        with world.faults.hold(ConfigMap):
            await world.create(widget("a"))
            await world.create(widget("b"))
            await advance(5)
        await world.settle()
        assert len(await world.list(ConfigMap)) == (1 if waits else 2)


@virtual_time
async def test_a_cache_that_stays_behind_puts_the_reconcile_off() -> None:
    problems: list[str] = []

    async def check(world: Cluster, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named("late", "default"))
        with pytest.raises(Outdated) as refused:
            await ctx.caught_up(ConfigMap, timeout=0.5)
        problems.append(str(refused.value))
        await ctx.caught_up(Widget)

    await reconcile_once(check, lambda controller: controller.owns(ConfigMap), ConfigMap)
    assert problems == ["the caches (configmaps) do not show the writes of this process after 0.5 s"]


@virtual_time
async def test_caught_up_names_a_kind_without_a_cache() -> None:
    async def check(world: Cluster, ctx: sp.Context) -> None:
        with pytest.raises(LookupError, match="declares no cache of Secret"):
            await ctx.caught_up(Secret)

    await reconcile_once(check, lambda controller: controller.owns(ConfigMap))


@virtual_time
async def test_a_plain_function_in_a_thread_sees_its_writes() -> None:
    shown: list[str] = []

    def reconcile(obj: Widget, ctx: sp.SyncContext) -> None:
        ctx.apply(ConfigMap.named("child", "default"))
        shown.extend(child.name for child in ctx.owned(ConfigMap))
        head: Head | None = ctx.lister(ConfigMap).head("child", "default")
        assert head is not None

    async with cluster(sp.Controller(Widget, reconcile).owns(ConfigMap), control_plane=False) as world:
        await world.settle()
        with world.faults.hold(ConfigMap):
            await world.create(widget())
            await advance(1)
            assert shown == ["child"]
