"""`Context.keep`: children as they are wanted, and nothing written when they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.transports import Through

import setpoint as sp
from setpoint.cache import UndeclaredRead
from setpoint.client import Client, InProcessTransport, PatchType, Request, Response, Transport, TransportError
from setpoint.controller import AdoptionError, OwnerError
from setpoint.controller.outcome import describe
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, lost_answer, widget

Want = Callable[[Widget], Iterable[ConfigMap]]


def keeping(want: Want, seen: list[list[str]] | None = None, **options: Any) -> sp.Controller[Any]:
    """A controller that keeps config maps and says in its status how many there are."""

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        children = await ctx.keep(ConfigMap, want(obj), **options)
        obj.status.ready = len(children)
        if seen is not None:
            seen.append([child.name for child in children])

    return sp.Controller(Widget, reconcile, reconcile_deleting=True).owns(ConfigMap)


def as_many_as_said(obj: Widget) -> list[ConfigMap]:
    return [config(f"{obj.name}-{number}", n=str(number)) for number in range(obj.spec.size)]


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    return cluster(*controllers, control_plane=False, **options)


def generated(prefix: str, **data: str) -> ConfigMap:
    config_map = ConfigMap(data=data)
    config_map.metadata.generate_name = prefix
    return config_map


# -- level ------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_what_is_missing_is_made_and_what_is_not_wanted_goes() -> None:
    seen: list[list[str]] = []
    async with bare(keeping(as_many_as_said, seen)) as world:
        new_widget = await world.create(widget(size=3))
        await world.settle()
        children = await world.list(ConfigMap)
        assert sorted(child.name for child in children) == ["a-0", "a-1", "a-2"]
        assert all(child.metadata.controller.uid == new_widget.uid for child in children)
        assert seen[0] == ["a-0", "a-1", "a-2"], "what was just made is returned, in the order in which it was wanted"
        current = await world.get(Widget, "a")
        current.spec.size = 1
        await world.update(current)
        await world.settle()
        assert [child.name for child in await world.list(ConfigMap)] == ["a-0"]
        assert (await world.get(Widget, "a")).status.ready == 1


@virtual_time
async def test_a_reconcile_that_finds_all_in_order_sends_nothing() -> None:
    wires = Wires()
    async with bare(keeping(as_many_as_said)).over(wires) as world:
        await world.create(widget(size=3))
        await world.settle()
        before = len(wires.wire.requests)
        for _ in range(3):
            world.running("widget").enqueue(ObjectKey("default/a"), sp.controller.Cause("external"))
            await world.settle()
        assert len(wires.wire.requests) == before


@virtual_time
async def test_deletions_come_first() -> None:
    wires = Wires()
    async with bare(keeping(lambda obj: [config(f"{obj.name}-{obj.spec.size}")])).over(wires) as world:
        new_widget = await world.create(widget(size=1))
        await world.settle()
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 2
        await world.update(new_widget)
        await world.settle()
        path = "/api/v1/namespaces/default/configmaps"
        assert wires.wire.writes("configmaps") == [f"PATCH {path}/a-1", f"DELETE {path}/a-1", f"PATCH {path}/a-2"]


@virtual_time
async def test_a_field_that_another_manager_changed_is_what_was_wanted_again() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        await world.create(widget(size=1))
        await world.settle()
        await world.client.patch(
            ConfigMap, "a-0", {"data": {"n": "7", "theirs": "x"}}, type=PatchType.MERGE, field_manager="kubectl-edit"
        )
        await world.settle()
        child = await world.get(ConfigMap, "a-0")
        assert child.data == {"n": "0", "theirs": "x"}, "and what is theirs stays"


@virtual_time
async def test_somebody_elses_fields_cause_no_request() -> None:
    wires = Wires()
    async with bare(keeping(as_many_as_said)).over(wires) as world:
        await world.create(widget(size=1))
        await world.settle()
        before = wires.wire.writes()
        for number in range(3):
            await world.client.patch(ConfigMap, "a-0", {"data": {"theirs": str(number)}}, field_manager="other")
            await world.settle()
        assert wires.wire.writes() == before


@virtual_time
async def test_a_field_that_is_no_longer_wanted_is_removed() -> None:
    def want(obj: Widget) -> list[ConfigMap]:
        return [config("child", **({"extra": "x"} if obj.spec.size > 1 else {}), n="0")]

    async with bare(keeping(want)) as world:
        new_widget = await world.create(widget(size=2))
        await world.settle()
        assert (await world.get(ConfigMap, "child")).data == {"extra": "x", "n": "0"}
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 1
        await world.update(new_widget)
        await world.settle()
        assert (await world.get(ConfigMap, "child")).data == {"n": "0"}


@virtual_time
async def test_a_child_that_was_deleted_by_hand_comes_back_and_one_that_is_being_deleted_is_waited_for() -> None:
    seen: list[list[str]] = []
    async with bare(keeping(as_many_as_said, seen)) as world:
        await world.create(widget(size=1))
        await world.settle()
        child = await world.get(ConfigMap, "a-0")
        await world.client.patch(ConfigMap, "a-0", {"metadata": {"finalizers": ["example.com/hold"]}})
        await world.delete(child)
        await world.settle()
        assert seen[-1] == [], "it is going"
        assert (await world.get(ConfigMap, "a-0")).uid == child.uid
        await world.client.patch(ConfigMap, "a-0", {"metadata": {"finalizers": None}})
        await world.settle()
        assert (await world.get(ConfigMap, "a-0")).uid != child.uid
        assert seen[-1] == ["a-0"]


@virtual_time
async def test_owner_references_that_were_taken_away_come_back() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        new_widget = await world.create(widget(size=1))
        await world.settle()
        await world.client.patch(ConfigMap, "a-0", {"metadata": {"ownerReferences": None}}, field_manager="other")
        await world.settle()
        assert (await world.get(ConfigMap, "a-0")).metadata.controller.uid == new_widget.uid


@virtual_time
async def test_a_new_process_applies_every_child_once_and_changes_nothing() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        await world.create(widget(size=2))
        await world.settle()
        before = {child.name: child.metadata.resource_version for child in await world.list(ConfigMap)}
        wires = Wires()
        client = Client(wires(InProcessTransport(world.server.handle)), random=Random(0))
        async with sp.Manager(
            client, controllers=[keeping(as_many_as_said)], options=sp.ManagerOptions(now=world.now, random=Random(0))
        ):
            await world.settle()
        assert len(wires.wire.writes("configmaps")) == 2
        after = {child.name: child.metadata.resource_version for child in await world.list(ConfigMap)}
        assert after == before


@virtual_time
async def test_nothing_is_made_for_an_object_that_is_being_deleted() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        new_widget = widget(size=2)
        new_widget.metadata.finalizers = ["example.com/hold"]
        new_widget = await world.create(new_widget)
        await world.settle()
        await world.delete(new_widget)
        await world.settle()
        await world.delete(await world.get(ConfigMap, "a-0"))
        await world.settle()
        assert [child.name for child in await world.list(ConfigMap)] == ["a-1"]


# -- whose ------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_what_belongs_to_nobody_is_taken_over_only_when_asked_for() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        await world.create(config("a-0", precious="yes"))
        await world.create(widget(size=1))
        await world.settle(1, failing=True)
        assert (await world.get(ConfigMap, "a-0")).data == {"precious": "yes"}
        condition = (await world.get(Widget, "a")).status.conditions[0]
        assert (condition.reason, condition.status) == ("AdoptionError", "False")
        assert "adopt=True" in condition.message
        assert "ConfigMap default/a-0" in condition.message
    async with bare(keeping(as_many_as_said, adopt=True)) as world:
        await world.create(config("a-0", precious="yes"))
        new_widget = await world.create(widget(size=1))
        await world.settle()
        child = await world.get(ConfigMap, "a-0")
        assert child.data == {"precious": "yes", "n": "0"}
        assert child.metadata.controller.uid == new_widget.uid


@virtual_time
async def test_an_object_that_another_client_made_under_the_name_of_a_deleted_child_is_not_adopted() -> None:
    go_on = asyncio.Event()
    go_on.set()

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await go_on.wait()
        await ctx.keep(ConfigMap, as_many_as_said(obj))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget(size=1))
        await world.settle()
        go_on.clear()
        await world.client.patch(Widget, "a", {"metadata": {"labels": {"x": "y"}}})
        await advance(1)
        await world.delete(await world.get(ConfigMap, "a-0"))
        theirs = await world.create(config("a-0", precious="yes"))
        await advance(1)
        go_on.set()
        await world.settle(1, failing=True)
        assert await world.get(ConfigMap, "a-0") == theirs
        condition = (await world.get(Widget, "a")).status.conditions[0]
        assert condition.reason == "AdoptionError"


@virtual_time
async def test_a_child_that_is_not_wanted_is_deleted_once_however_long_its_end_takes() -> None:
    wires = Wires()
    async with bare(keeping(as_many_as_said)).over(wires) as world:
        await world.create(widget(size=1))
        await world.settle()
        await world.client.patch(ConfigMap, "a-0", {"metadata": {"finalizers": ["example.com/hold"]}})
        await world.client.patch(Widget, "a", {"spec": {"size": 0}})
        for number in range(3):
            await world.settle()
            await world.client.patch(Widget, "a", {"metadata": {"labels": {"number": str(number)}}})
        await world.settle()
        assert [write for write in wires.wire.writes("configmaps") if write.startswith("DELETE")] == [
            "DELETE /api/v1/namespaces/default/configmaps/a-0"
        ]
        assert (await world.get(ConfigMap, "a-0")).is_deleting


@virtual_time
async def test_what_belongs_to_another_object_is_never_touched() -> None:
    async with bare(keeping(as_many_as_said, adopt=True)) as world:
        other = await world.create(ConfigMap.named("other"))
        child = config("a-0", precious="yes")
        child.metadata.owner_references = [other.owner_reference()]
        await world.create(child)
        await world.create(widget(size=1))
        await world.settle(1, failing=True)
        assert (await world.get(ConfigMap, "a-0")).data == {"precious": "yes"}
        condition = (await world.get(Widget, "a")).status.conditions[0]
        assert condition.reason == "AdoptionError"
        assert "is controlled by ConfigMap other" in condition.message


@virtual_time
async def test_the_children_of_an_earlier_object_of_that_name_are_waited_out() -> None:
    async with cluster(keeping(as_many_as_said)) as world:
        first = await world.create(widget(size=2))
        await world.settle()
        before = {child.uid for child in await world.list(ConfigMap, namespace="default")}
        await world.delete(first)
        await world.create(widget(size=2))
        await world.settle()
        mine = [child for child in await world.list(ConfigMap, namespace="default") if child.name.startswith("a-")]
        assert sorted(child.name for child in mine) == ["a-0", "a-1"]
        assert not before & {child.uid for child in mine}
        assert (await world.get(Widget, "a")).status.ready == 2


@virtual_time
async def test_a_selector_tells_two_sorts_of_children_apart() -> None:
    def sort(obj: Widget, name: str) -> list[ConfigMap]:
        configs = [config(f"{obj.name}-{name}-{number}") for number in range(obj.spec.size)]
        for child in configs:
            child.metadata.labels = {"sort": name}
        return configs

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        for name in ("x", "y"):
            await ctx.keep(ConfigMap, sort(obj, name), selector={"sort": name})

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        new_widget = await world.create(widget(size=2))
        await world.settle()
        assert len(wires.wire.writes("configmaps")) == 4
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 1
        await world.update(new_widget)
        await world.settle()
        assert sorted(child.name for child in await world.list(ConfigMap)) == ["a-x-0", "a-y-0"]
        assert len(wires.wire.writes("configmaps")) == 6


@virtual_time
async def test_what_makes_no_sense_is_said_at_once() -> None:
    problems: dict[str, str] = {}

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        async def tried(name: str, kind: type[Any], wanted: Any, **options: Any) -> None:
            ctx._keep_calls.clear()
            try:
                await ctx.keep(kind, wanted, **options)
            except (ValueError, TypeError, LookupError) as problem:
                problems[name] = f"{type(problem).__name__}: {problem}"

        await tried("twice", ConfigMap, [config("x"), config("x")])
        await tried("nameless", ConfigMap, [ConfigMap()])
        await tried("unlike", ConfigMap, [generated("x-"), generated("x-", a="b")])
        await tried("unlabelled", ConfigMap, [config("x")], selector="app=web")
        await tried("another kind", ConfigMap, [Secret.named("x")])
        await tried("no list", ConfigMap, config("x"))
        await tried("nothing", ConfigMap, None)
        await tried("undeclared", Secret, [Secret.named("x")])
        await tried("not ours", ConfigMap, [ConfigMap.named("x", "other")])
        await tried("not namespaced", Namespace, [Namespace.named("x")])
        ctx._keep_calls.clear()
        await ctx.keep(ConfigMap, [config("x")], selector="!other")
        with pytest.raises(ValueError, match="was called before in this reconcile"):
            await ctx.keep(ConfigMap, [config("y")])

    controller = sp.Controller(Widget, reconcile, namespace="default").owns(ConfigMap).reads(Namespace)
    async with bare(controller) as world:
        await world.create(widget())
        await world.settle()
        assert (await world.get(Widget, "a")).status.conditions == []
        assert "is wanted twice" in problems["twice"]
        assert "neither a name nor a generate_name" in problems["nameless"]
        assert "generate_name 'x-' differ" in problems["unlike"]
        assert "don't match the selector app=web" in problems["unlabelled"]
        assert "got a Secret" in problems["another kind"]
        assert "takes a list of the wanted objects, not a ConfigMap" in problems["no list"]
        assert "takes a list of the wanted objects, not a NoneType" in problems["nothing"]
        assert problems["undeclared"].startswith(UndeclaredRead.__name__)
        assert problems["not ours"].startswith(OwnerError.__name__)
        assert problems["not namespaced"].startswith(OwnerError.__name__)


@virtual_time
async def test_what_the_declared_cache_would_not_show_is_refused() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        with pytest.raises(ValueError, match="would not be in the cache"):
            await ctx.keep(ConfigMap, [config("x")])
        labelled = config("x")
        labelled.metadata.labels = {"app": "web"}
        assert [child.name for child in await ctx.keep(ConfigMap, [labelled])] == ["x"]

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap, selector="app=web")) as world:
        await world.create(widget())
        await world.settle()
        assert (await world.get(Widget, "a")).status.conditions == []
        assert (await world.get(ConfigMap, "x")).labels == {"app": "web"}


# -- generated names --------------------------------------------------------------------------------------------------


def unnamed(obj: Widget) -> list[ConfigMap]:
    return [generated(f"{obj.name}-", size="x") for _ in range(obj.spec.size)]


@virtual_time
async def test_generated_names_are_a_matter_of_number() -> None:
    async with bare(keeping(unnamed)) as world:
        await world.create(widget(size=3))
        await world.settle()
        first = {child.name for child in await world.list(ConfigMap)}
        assert len(first) == 3
        assert all(name.startswith("a-") and len(name) == 7 for name in first)
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 2
        await world.update(new_widget)
        await world.settle()
        second = {child.name for child in await world.list(ConfigMap)}
        assert len(second) == 2
        assert second < first
        await world.delete(await world.get(ConfigMap, min(second)))
        await world.settle()
        third = {child.name for child in await world.list(ConfigMap)}
        assert len(third) == 2
        assert max(second) in third


@virtual_time
async def test_under_generated_names_what_is_as_wanted_stays_before_what_is_not() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.spec.size != 5:  # paused
            await ctx.keep(ConfigMap, unnamed(obj))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget(size=2))
        await world.settle()
        oldest, youngest = sorted(child.name for child in await world.list(ConfigMap))
        for size in (5, 1):
            new_widget = await world.get(Widget, "a")
            new_widget.spec.size = size
            await world.update(new_widget)
            await world.settle()
            if size == 5:
                await world.client.patch(ConfigMap, oldest, {"data": {"size": "other"}}, field_manager="other")
                await world.settle()
        assert [child.name for child in await world.list(ConfigMap)] == [youngest]


@pytest.mark.parametrize("late", [0.0, 3.0, 30.0])
@virtual_time
async def test_a_lost_answer_never_makes_one_too_many(late: float) -> None:
    wires = Wires()
    lost = 0

    def after(request: Request) -> None:
        nonlocal lost
        if request.method == "PATCH" and "configmaps" in request.path and lost < 3:
            lost += 1
            lost_answer(request)

    async with bare(keeping(unnamed)).over(wires) as world:
        wires.wire.delays["configmaps"] = late
        wires.wire.after = after
        await world.create(widget(size=3))
        for _ in range(200):
            await advance(0.5)
            assert len(await world.list(ConfigMap)) <= 3
        assert lost == 3
        assert len(await world.list(ConfigMap)) == 3
        assert (await world.get(Widget, "a")).status.ready == 3


class SlowAnswers(Through):
    """Writes are done at once, and answered five seconds later."""

    slow = True

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        async with self.inner.send(request) as response:
            if self.slow and request.method in ("POST", "PATCH") and "configmaps" in request.path:
                await asyncio.sleep(5)
            yield response


async def one_by_create(obj: Widget, ctx: sp.Context) -> None:
    if not ctx.owned(ConfigMap):
        await ctx.create(generated("a-"))


async def one_by_keep(obj: Widget, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [generated("a-")])


@pytest.mark.parametrize("reconcile", [one_by_create, one_by_keep])
@virtual_time
async def test_a_write_whose_answer_a_deadline_cut_off_never_makes_one_too_many(reconcile: Any) -> None:
    wires = Wires()
    slow: list[SlowAnswers] = []

    def transport(inner: Transport) -> Transport:
        slow.append(SlowAnswers(inner))
        return wires(slow[0])

    controller = sp.Controller(Widget, reconcile, timeout=1.0).owns(ConfigMap)
    async with bare(controller).over(transport) as world:
        wires.wire.delays["configmaps"] = 3.0
        await world.create(widget())
        await advance(1.5)
        slow[0].slow = False
        for _ in range(40):
            await advance(0.5)
            assert len(await world.list(ConfigMap)) == 1


# -- failures ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_what_the_server_refuses_is_asked_for_by_one_child_when_the_key_has_failed_before() -> None:
    wires = Wires()

    def want(obj: Widget) -> list[ConfigMap]:
        return [config(f"not_a_name_{number}") for number in range(20)]

    async with bare(keeping(want)).over(wires) as world:
        await world.create(widget())
        await world.settle(0, failing=True)
        await advance(1)
        attempts = len(world.running("widget").timeline.of("default/a"))
        assert attempts > 3
        assert len(wires.wire.writes("configmaps")) == 8 + attempts - 1


@virtual_time
async def test_of_several_failures_each_is_told() -> None:
    wires = Wires()

    def before(request: Request) -> None:
        if request.method == "PATCH" and "configmaps" in request.path and not request.path.endswith("a-0"):
            raise TransportError("no way", sent=False)

    problems: list[ExceptionGroup[Exception]] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        try:
            await ctx.keep(ConfigMap, as_many_as_said(obj))
        except ExceptionGroup as group:
            problems.append(group)
            raise

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.before = before
        await world.create(widget(size=9))
        await world.settle(0, failing=True)
        assert [str(problem) for problem in problems[0].exceptions] == ["no way"] * 7
        assert describe(problems[0]) == "keep(ConfigMap): 7 children failed: TransportError: no way"
        wires.wire.before = lambda request: None
        await world.settle()
        assert len(await world.list(ConfigMap)) == 9


@virtual_time
async def test_what_a_key_applied_is_forgotten_with_its_object() -> None:
    async with bare(keeping(as_many_as_said)) as world:
        new_widget = await world.create(widget(size=2))
        await world.settle()
        running = world.running("widget")
        assert running.memory.applied._keys
        await world.delete(new_widget)
        await world.settle()
        assert not running.memory.applied._keys


# -- against a model --------------------------------------------------------------------------------------------------

NAMES = ("p", "q", "r", "s")
_step = st.one_of(
    st.tuples(st.just("want"), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2)), st.integers(0, 3)),
    st.tuples(st.just("edit"), st.sampled_from(NAMES), st.sampled_from(["n", "theirs"])),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("disown"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("pause"), st.floats(0, 3), st.none()),
    st.tuples(st.just("lose"), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("late"), st.sampled_from([0.0, 1.0, 15.0]), st.none()),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@example(steps=[("want", {"s": 0}, 0), ("pause", 0.0, None), ("lose", 1, False), ("disown", "s", None)], seed=424)
@given(steps=st.lists(_step, max_size=12), seed=st.integers(0, 1000))
def test_in_the_end_exactly_the_wanted_children_are_there_and_nothing_is_written_any_more(
    steps: list[tuple[Any, Any, Any]], seed: int
) -> None:
    named: dict[str, int] = {}
    count = 0

    def want(obj: Widget) -> list[ConfigMap]:
        return [
            *(config(name, n=str(number)) for name, number in named.items()),
            *(generated("g-", n="g") for _ in range(count)),
        ]

    @virtual_time(limit=None)
    async def run() -> None:
        nonlocal named, count
        wires = Wires()
        to_lose = [0, True]

        def before(request: Request) -> None:
            if to_lose[0] and not to_lose[1] and request.method != "GET":
                to_lose[0] -= 1
                raise TransportError("lost on the way there", sent=False)

        def after(request: Request) -> None:
            if to_lose[0] and to_lose[1] and request.method != "GET":
                to_lose[0] -= 1
                lost_answer(request)

        world = bare(keeping(want))
        world.random.seed(seed)
        world.server.random.seed(seed)
        async with world.over(wires):
            wires.wire.before, wires.wire.after = before, after
            new_widget = await world.create(widget())
            for action, one, other in steps:
                child = None if action in ("want", "pause", "lose", "late") else await world.find(ConfigMap, one)
                if action == "want":
                    named, count = one, other
                    new_widget = await world.get(Widget, "a")
                    new_widget.spec.size += 1
                    await world.update(new_widget)
                elif action == "pause":
                    await advance(one)
                elif action == "lose":
                    to_lose[:] = [one, other]
                elif action == "late":
                    wires.wire.delays["configmaps"] = one
                elif child is None:
                    continue
                elif action == "edit":
                    await world.client.patch(ConfigMap, one, {"data": {other: "edited"}}, field_manager="editor")
                elif action == "delete":
                    await world.delete(child)
                else:
                    # Between two settled states: an owner whose reference was lost before this process had applied
                    # the child has no way to know it, and one that stopped wanting it meanwhile lets it go.
                    await world.settle()
                    gone = {"metadata": {"ownerReferences": None}}
                    if one in named and await world.find(ConfigMap, one) is not None:
                        await world.client.patch(ConfigMap, one, gone, field_manager="editor")
                        await advance(60)
            to_lose[0] = 0
            await advance(120)
            await world.settle()
            children = {child.name: child for child in await world.list(ConfigMap)}
            assert {name for name in children if not name.startswith("g-")} == set(named)
            for name, number in named.items():
                assert children[name].data["n"] == str(number)
            assert sum(name.startswith("g-") for name in children) == count
            assert all(child.metadata.controller.uid == new_widget.uid for child in children.values())
            assert (await world.get(Widget, "a")).status.ready == len(named) + count
            writes = len(wires.wire.writes())
            world.running("widget").enqueue(ObjectKey("default/a"), sp.controller.Cause("external"))
            await advance(60)
            await world.settle()
            assert len(wires.wire.writes()) == writes

    run()


def test_adoption_is_an_owners_problem() -> None:
    assert issubclass(AdoptionError, OwnerError)
