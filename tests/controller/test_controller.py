"""The promises of a controller, against a whole cluster in virtual time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.apps.error_reports import reported
from setpoint.cache import CacheSyncError, Head, InformerFactory, UndeclaredRead
from setpoint.client import ApiError, Client, Conflict, InProcessTransport, Request, TransportError
from setpoint.controller import Cause, SyncContext
from setpoint.controller import predicates as p
from setpoint.controller.cache_reader import INSTALL
from setpoint.controller.explain.explanation import explain, summary
from setpoint.meta import ObjectKey, is_condition_true, resource_of
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    Endpoints,
    Namespace,
    Node,
    Pod,
    PodSpec,
    Secret,
    Service,
    ServiceAccount,
    ServicePort,
)
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, Wires, config, lost_answer, widget


async def nothing(obj: Any, ctx: sp.Context) -> None:
    """A reconcile function that finds everything as it should be."""


def bare(*controllers: sp.Controller[Any], **options: Any) -> Any:
    """A cluster without a control plane."""
    return cluster(*controllers, control_plane=False, rbac=False, **options)


# -- what leads to a reconcile -----------------------------------------------------------------------------------------


@virtual_time
async def test_every_object_that_is_there_at_the_start_is_reconciled_once() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.name)
        assert [cause.change for cause in ctx.causes] == ["sync"]

    controller = sp.Controller(ConfigMap, reconcile)
    async with bare(controller, objects=[config("a"), config("b"), config("c")]) as world:
        await world.settle()
        assert sorted(seen) == ["a", "b", "c"]


@virtual_time
async def test_creates_and_updates_are_reconciled_and_deletes_are_not() -> None:
    seen: list[tuple[str, str]] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append((obj.data.get("x", ""), ctx.causes[-1].change))

    async with bare(sp.Controller(ConfigMap, reconcile)) as world:
        new_config = await world.create(config("a", x="1"))
        await world.settle()
        new_config.data["x"] = "2"
        await world.update(new_config)
        await world.settle()
        await world.delete(new_config)
        await world.settle()
        assert seen == [("1", "create"), ("2", "update")]


@virtual_time
async def test_many_events_are_one_reconcile_of_the_newest_state() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.data.get("x", ""))
        await asyncio.sleep(1)

    async with bare(sp.Controller(ConfigMap, reconcile)) as world:
        new_config = await world.create(config("a", x="0"))
        await world.settle(0, failing=True)
        for number in range(1, 10):
            new_config.data["x"] = str(number)
            new_config = await world.update(new_config)
        await world.settle()
        assert seen == ["0", "9"]


@virtual_time
async def test_children_lead_to_their_controller_and_so_do_both_owners_when_one_moves() -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        one, two = await world.create(widget("one")), await world.create(widget("two"))
        child = config("child")
        child.metadata.namespace = "default"
        child.metadata.owner_references = [one.owner_reference()]
        child = await world.create(child)
        await world.settle()
        seen.clear()
        child.metadata.owner_references = [two.owner_reference()]
        child = await world.update(child)
        await world.settle()
        assert sorted(seen) == ["one", "two"]
        seen.clear()
        await world.delete(child)
        await world.settle()
        assert seen == ["two"]


@virtual_time
async def test_mapped_objects_lead_to_the_keys_that_the_function_names() -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)
        assert all(isinstance(cause, Cause) for cause in ctx.causes)

    def users_of(head: Head) -> list[str]:
        return [f"{head.namespace}/{name}" for name in head.annotations.get("users", "").split(",") if name]

    async with bare(sp.Controller(Widget, reconcile).watches(ConfigMap, users_of)) as world:
        for name in "abc":
            await world.create(widget(name))
        await world.settle()
        seen.clear()
        settings = ConfigMap.named("settings")
        settings.metadata.annotations = {"users": "a,b"}
        settings = await world.create(settings)
        await world.settle()
        settings.metadata.annotations = {"users": "c"}
        await world.update(settings)
        await world.settle()
        assert sorted(seen) == ["a", "a", "b", "b", "c"], "an object that used it before is reconciled as well"


@virtual_time
async def test_one_object_can_be_watched_by_name() -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(str(ctx.causes[-1]))

    controller = sp.Controller(Widget, reconcile).watches(
        ConfigMap, lambda head: ["default/a"], namespace="default", field_selector={"metadata.name": "settings"}
    )
    async with bare(controller) as world:
        await world.create(widget())
        await world.settle()
        seen.clear()
        await world.create(config("other"))
        await world.create(config("settings"))
        await world.settle()
        assert seen == ["create of ConfigMap default/settings"]
        assert len(world.running("widget").informers[ConfigMap.resource.gvr].store) == 1


@virtual_time
async def test_predicates_keep_events_from_the_queue_and_are_counted() -> None:
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    async with bare(sp.Controller(Widget, reconcile, predicates=[p.generation_changed])) as world:
        new_widget = await world.create(widget())
        await world.settle()
        seen.clear()
        new_widget = await world.get(Widget, "a")
        new_widget.metadata.labels["x"] = "y"
        new_widget = await world.update(new_widget)
        await world.settle()
        assert seen == []
        assert world.running("widget").metrics.filtered == 1
        new_widget.spec.size = 2
        await world.update(new_widget)
        await world.settle()
        assert seen == ["a"]


@virtual_time
async def test_external_sources_give_keys() -> None:
    seen: list[str] = []
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def keys() -> AsyncIterator[str]:
        while (key := await queue.get()) != "end":
            yield key

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.extend(cause.change for cause in ctx.causes)

    async with bare(sp.Controller(ConfigMap, reconcile).source(keys), objects=[config("a")]) as world:
        await world.settle()
        seen.clear()
        queue.put_nowait("default/a")
        queue.put_nowait("default/gone")
        await world.settle()
        assert seen == ["external"]
        queue.put_nowait("end")
        await world.settle()
        assert world.running("configmap").state == "running", "a source may end"


@virtual_time
async def test_a_source_may_follow_kinds_that_are_only_known_at_run_time_and_let_them_go() -> None:
    """Watches that come and go: one informer, shared with its other users, gone with the last of them."""
    seen: list[str] = []
    wanted: asyncio.Queue[type[sp.Object] | None] = asyncio.Queue()

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        seen.append(obj.name)

    async def found(caches: sp.CacheReader) -> AsyncIterator[sp.ObjectKey]:
        keys: asyncio.Queue[sp.ObjectKey] = asyncio.Queue()
        while (kind := await wanted.get()) is not None:
            async with caches.informer(kind) as informer:
                informer.add_event_handler(on_add=lambda head, _: keys.put_nowait(head.key))
                while wanted.empty():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(1):
                            yield await keys.get()

    async with bare(sp.Controller(Widget, reconcile).source(found)) as world:
        await world.create(widget("a"))
        await world.create(config("a"))
        await world.settle()
        assert seen == ["a"]
        wanted.put_nowait(ConfigMap)
        await advance(3)
        assert seen == ["a", "a"]
        assert {informer.scope.resource.kind for informer in world.manager.factory.informers} == {"Widget", "ConfigMap"}
        wanted.put_nowait(None)
        await advance(3)
        assert {informer.scope.resource.kind for informer in world.manager.factory.informers} == {"Widget"}


def test_a_source_that_takes_more_than_the_caches_is_refused() -> None:
    async def found(caches: sp.CacheReader, more: object) -> AsyncIterator[str]:
        yield "x"

    with pytest.raises(TypeError, match=r"controller 'configmap': the source .*found\(caches.* or the caches"):
        sp.Controller(ConfigMap, nothing).source(found)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"controller 'configmap': the source 42 is not a function"):
        sp.Controller(ConfigMap, nothing).source(42)  # type: ignore[arg-type]


@virtual_time
async def test_a_source_that_does_not_return_an_async_iterator_is_told_so() -> None:
    async def keys(_caches: sp.CacheReader) -> list[str]:
        return ["default/a"]

    async def run() -> None:
        async with bare(sp.Controller(ConfigMap, nothing).source(keys)):  # type: ignore[arg-type]
            await advance(5)

    with pytest.raises(TypeError, match=r"keys has to return an async iterator, .* it returned <coroutine"):
        await run()


@virtual_time
async def test_a_source_that_fails_fails_the_controller() -> None:
    async def keys() -> AsyncIterator[str]:
        await asyncio.sleep(1)
        raise RuntimeError("the source broke")
        yield "x"

    async def run() -> None:
        async with bare(sp.Controller(ConfigMap, nothing).source(keys)):
            await advance(5)

    with pytest.raises(RuntimeError, match="the source broke"):
        await run()


@virtual_time
async def test_metadata_only_controllers_read_no_more_than_metadata() -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append((obj.labels.get("x", ""), obj.data))

    labelled = ConfigMap.named("a", "default", {"x": "y"}, data={"big": "x" * 1000})
    async with bare(sp.Controller(ConfigMap, reconcile, metadata_only=True), objects=[labelled]) as world:
        await world.settle()
        assert seen == [("y", {})]


@virtual_time
async def test_fresh_changes_overtake_what_was_there_at_the_start() -> None:
    seen: list[str] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        seen.append(obj.name)
        await asyncio.sleep(1)

    objects = [config(f"old-{number:02}") for number in range(20)]
    async with bare(sp.Controller(ConfigMap, reconcile, workers=1), objects=objects) as world:
        await world.settle(0, failing=True)
        await world.create(config("new"))
        await advance(3)
        assert "new" in seen[:3]
        await world.settle(60)
        assert len(seen) == 21, "nothing starves"


# -- the function ------------------------------------------------------------------------------------------------------


@virtual_time
async def test_plain_functions_run_in_threads_with_a_context_that_blocks() -> None:
    def reconcile(obj: Widget, ctx: Any) -> sp.Outcome:
        assert ctx.get(ConfigMap, "nothing") is None
        ctx.apply(config(f"{obj.name}-child", size=str(obj.spec.size)))
        obj.status.ready = len(ctx.owned(ConfigMap))
        return sp.done()

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget(size=3))
        await world.settle()
        child = await world.get(ConfigMap, "a-child")
        assert child.data == {"size": "3"}
        assert (await world.get(Widget, "a")).status.ready == 1


@virtual_time
async def test_a_context_that_blocks_has_all_that_a_context_has() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    # Attributes of the framework itself in the context are not for functions.
    inside = {"age", "guarded", "kept", "live", "object", "reads", "run_name", "cache_wait", "warning", "writes"}
    inside |= {"causes", "cluster", "key", "log"}  # set when it is made
    assert public(sp.Context) - public(SyncContext) <= inside
    seen: dict[str, Any] = {}

    def reconcile(obj: Widget, ctx: SyncContext) -> None:
        if seen:
            return
        config_map = ctx.keep(ConfigMap, [config(f"{obj.name}-{number}") for number in range(obj.spec.size)])
        seen["kept"] = [child.name for child in config_map]
        seen["live"] = sorted(child.name for child in ctx.client.list(ConfigMap, namespace="default"))
        lister = ctx.lister(ConfigMap)
        while len(lister.keys()) < 2:
            pass  # the cache is about to see it
        seen["cached"] = sorted(lister.keys(namespace="default"))
        seen["heads"] = sorted(head.name for head in lister.heads()), lister.try_get("nothing", "default")
        seen["read"] = [lister.get(child.key) == child for child in lister.list()], len(lister.by_owner(obj.uid))
        seen["head"] = lister.head("default/a-0")
        ctx.client.patch(ConfigMap, "a-0", {"data": {"x": "1"}}, namespace="default")
        ctx.set_condition("Ready", True, "Fine")
        seen["about"] = (ctx.object is obj, ctx.controller, ctx.key, ctx.failures, ctx.now().year)
        ctx.event("Normal", "Seen", "all is well", related=obj)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget(size=2))
        await world.settle()
        assert seen["kept"] == ["a-0", "a-1"]
        assert seen["live"] == ["a-0", "a-1"]
        assert seen["cached"] == ["default/a-0", "default/a-1"]
        assert seen["heads"] == (["a-0", "a-1"], None)
        assert seen["read"] == ([True, True], 2)
        assert seen["head"].name == "a-0"
        assert seen["about"] == (True, "widget", "default/a", 0, 2026)
        assert is_condition_true((await world.get(Widget, "a")).status.conditions, "Ready")
        attempts = world.running("widget").timeline.of("default/a")
        assert [write.verb for write in attempts[0].writes][:3] == ["apply", "apply", "patch"], "its client's, too"


@virtual_time
async def test_a_mistake_in_an_event_is_raised_in_the_thread_that_makes_it() -> None:
    raised: list[str] = []

    def reconcile(obj: Widget, ctx: SyncContext) -> None:
        for type_, reason in (("Error", "Seen"), ("Normal", "")):
            try:
                ctx.event(type_, reason, "all is well")
            except ValueError as problem:
                raised.append(str(problem).partition(",")[0])

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle()
        assert raised == [
            "an event's type is Normal or Warning",
            "an event's reason is one CamelCase word of at most 128 characters",
        ]


@pytest.mark.parametrize("ends", ["returns", "raises"])
async def test_a_key_is_never_in_two_threads_though_the_first_took_too_long(ends: str) -> None:
    lock, go_on = threading.Lock(), threading.Event()
    calls, at_once, most = 0, 0, 0

    def reconcile(obj: ConfigMap, ctx: Any) -> None:
        nonlocal calls, at_once, most
        with lock:
            calls, at_once = calls + 1, at_once + 1
            most = max(most, at_once)
        go_on.wait(60)
        with lock:
            at_once -= 1
        if ends == "raises":
            raise OSError

    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a"))
        controller = sp.Controller(ConfigMap, reconcile, timeout=0.01, workers=4)
        async with sp.Manager(client, controllers=[controller]) as manager, asyncio.timeout(60):
            metrics = manager.controllers["configmap"].metrics
            while metrics.timeouts < 4:  # noqa: ASYNC110 - threads know no virtual time
                await asyncio.sleep(0.01)
            assert (calls, most) == (1, 1)
            go_on.set()
            while calls < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert most == 1


@virtual_time
async def test_a_thread_whose_reconcile_is_over_can_write_nothing_more() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    problems: list[str] = []

    def reconcile(obj: Widget, ctx: SyncContext) -> None:
        begun.set()
        go_on.wait()
        for act in (
            lambda: ctx.apply(config("late")),
            lambda: ctx.client.get(Widget, "a", namespace="default"),
            lambda: ctx.event("Normal", "Late", "too late"),
        ):
            try:
                act()
            except RuntimeError as problem:
                problems.append(str(problem))
        ended.set()

    async with bare(objects=[widget()], crds=[Widget]) as world, InformerFactory(world.client) as factory:
        controller = sp.Controller(Widget, reconcile)
        running = asyncio.ensure_future(controller.run(world.client, factory))
        while not begun.is_set():  # noqa: ASYNC110 - the clock stands still as long as the thread works
            await asyncio.sleep(0)
        await stop(running)
        go_on.set()
        assert ended.wait(10)
        assert len(problems) == 3
        assert await world.list(ConfigMap) == []


@virtual_time
async def test_a_reconcile_that_takes_too_long_is_cancelled_and_counted_and_retried() -> None:
    attempts = 0

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            await asyncio.sleep(100)

    async with bare(sp.Controller(ConfigMap, reconcile, timeout=5), objects=[config("a")]) as world:
        await world.settle()
        metrics = world.running("configmap").metrics
        assert (attempts, metrics.timeouts, metrics.errors) == (2, 1, 1)
        assert asyncio.get_running_loop().time() < 10


@virtual_time
async def test_a_timeout_of_the_functions_own_is_no_reconcile_timeout() -> None:
    attempts = 0

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            async with asyncio.timeout(1):
                await asyncio.sleep(2)

    async with bare(sp.Controller(ConfigMap, reconcile, timeout=5), objects=[config("a")]) as world:
        await world.settle()
        metrics = world.running("configmap").metrics
        assert (attempts, metrics.timeouts, metrics.errors) == (2, 0, 1)


@virtual_time
async def test_returning_nonsense_is_an_error_that_says_what_to_return() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> Any:
        return True

    async with bare(sp.Controller(ConfigMap, reconcile), objects=[config("a")]) as world:
        await world.settle(0, failing=True)
        (attempt,) = world.running("configmap").timeline.of("default/a")
        assert "return done()" in attempt.detail


@virtual_time
async def test_objects_that_are_being_deleted_are_left_alone_unless_asked_for() -> None:
    seen: dict[str, list[str]] = {"plain": [], "deleting": []}

    def recorder(name: str) -> Any:
        async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
            seen[name].append("deleting" if obj.is_deleting else "living")

        return reconcile

    async with bare(
        sp.Controller(ConfigMap, recorder("plain"), name="plain"),
        sp.Controller(ConfigMap, recorder("deleting"), name="deleting", reconcile_deleting=True),
    ) as world:
        held = config("a")
        held.metadata.finalizers = ["example.com/hold"]
        result = await world.create(held)
        await world.settle()
        await world.delete(result)
        await world.settle()
        assert seen == {"plain": ["living"], "deleting": ["living", "deleting"]}


# -- reading -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_declared_reads_come_from_the_cache_and_others_from_the_server() -> None:
    wires = Wires()
    results: list[Any] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        before = len(wires.wire.requests)
        results.append(await ctx.get(ConfigMap, "settings"))
        results.append(await ctx.list(ConfigMap))
        results.append(await ctx.get(ConfigMap, "absent"))
        assert len(wires.wire.requests) == before
        results.append(await ctx.get(Secret, "secret"))
        results.append(await ctx.list(Secret, namespace="*"))
        assert len(wires.wire.requests) == before + 2
        with pytest.raises(UndeclaredRead, match=r"add .owns\(Secret\)"):
            ctx.owned(Secret)

    controller = sp.Controller(Widget, reconcile).reads(ConfigMap)
    async with bare(controller, objects=[config("settings"), Secret.named("secret")]).over(wires) as world:
        await world.create(widget())
        await world.settle()
        assert results[0].name == "settings"
        assert [item.name for item in results[1]] == ["settings"]
        assert results[2] is None
        assert results[3].name == "secret"
        assert len(results[4]) == 1
        assert world.running("widget").metrics.errors == 0


@virtual_time
async def test_a_cache_of_one_namespace_answers_for_no_other() -> None:
    results: list[Any] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        results.append(await ctx.get(ConfigMap, "there", namespace="other"))
        results.append(len(await ctx.list(ConfigMap, namespace="*")))

    controller = sp.Controller(Widget, reconcile, namespace="default").reads(ConfigMap)
    objects = [Namespace.named("other"), ConfigMap.named("there", "other"), config("here")]
    async with bare(controller, objects=objects) as world:
        await world.create(widget())
        await world.create(widget("elsewhere", namespace="other"))
        await world.settle()
        assert results[0].name == "there"
        assert results[1] >= 2
        assert len(results) == 2, "objects in other namespaces are not this controller's"


@virtual_time
async def test_reads_give_copies() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        settings = await ctx.get(ConfigMap, "settings")
        assert settings is not None
        settings.data["spoilt"] = "yes"
        again = await ctx.get(ConfigMap, "settings")
        assert again is not None
        assert "spoilt" not in again.data

    async with bare(sp.Controller(Widget, reconcile).reads(ConfigMap), objects=[config("settings")]) as world:
        await world.create(widget())
        await world.settle()
        assert world.running("widget").metrics.results["success"] == 1


@virtual_time
async def test_a_cache_that_the_server_refuses_fails_the_start_with_its_answer() -> None:
    controller = sp.Controller(Widget, nothing)

    async def run() -> None:
        async with bare(controller, crds=[]):
            await advance(60)

    with pytest.raises(CacheSyncError, match="widgets") as caught:
        await run()
    assert isinstance(caught.value.last_error, ApiError)


@virtual_time
async def test_a_definition_that_is_not_installed_is_named_with_the_command_that_installs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = (
        "the CustomResourceDefinition widgets.test.example.com is not installed, or has no version v1: "
        "`python APP.py manifests | kubectl apply -f -` installs those of a program"
    )

    async def run() -> None:
        async with bare(sp.Controller(Widget, nothing), crds=[]) as world:
            await advance(3)
            running = world.running("widget")
            assert words in running.readiness()
            assert words in explain(running, "default/a").text
            assert words in summary(running).caches[0].error
            fields = [record.fields for record in caplog.records if "refuses a cache" in record.getMessage()]  # type: ignore[attr-defined]
            assert [words in field["error"] for field in fields] == [True], "long before the start is given up"
            await advance(60)

    with caplog.at_level(logging.ERROR), pytest.raises(CacheSyncError) as caught:
        await run()
    assert words in str(caught.value)


def test_a_program_advises_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), reported("my_operator.py"):
        raise CacheSyncError(f"no definition: {INSTALL}", resource=Widget.resource, last_error=None)
    assert "`python my_operator.py manifests | kubectl apply -f -`" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["pods", "Pod", None, 5])
@virtual_time
async def test_a_kind_that_is_no_class_is_refused_with_what_to_pass(kind: Any) -> None:
    async with bare() as world:
        calls: list[Any] = [lambda: anext(aiter(world.client.watch(kind)))]
        if not isinstance(kind, str):  # which the other verbs take for a name
            calls += [
                lambda: world.client.get(kind, "x"),
                lambda: world.client.list(kind),
                lambda: world.client.delete(kind, "x"),
                lambda: world.client.patch(kind, "x", {}),
            ]
        for call in calls:
            with pytest.raises(TypeError, match=r"a kind is a class such as .*Pod, not .*rest_mapper.resource"):
                await call()
    with pytest.raises(TypeError, match="a kind is a class"):
        sp.Controller(kind, nothing)


# -- writing -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_children_are_applied_with_owner_namespace_and_field_manager() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(config(f"{obj.name}-child"))

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        new_widget = await world.create(widget())
        await world.settle()
        child = await world.get(ConfigMap, "a-child")
        assert child.namespace == "default"
        assert [
            (owner_reference.uid, owner_reference.controller) for owner_reference in child.metadata.owner_references
        ] == [(new_widget.uid, True)]
        assert [
            (managed_field.manager, managed_field.operation) for managed_field in child.metadata.managed_fields
        ] == [("widget.test.example.com", "Apply")]


@virtual_time
async def test_applying_leaves_what_is_given_alone() -> None:
    template = config("child")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.apply(template)

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        assert template.metadata.owner_references == []
        assert template.namespace == ""


@virtual_time
async def test_deletes_hit_the_object_that_was_looked_at_and_no_other() -> None:
    outcomes: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        victim = await ctx.get(ConfigMap, "victim")
        if victim is None:
            return
        other = await ctx.client.get(ConfigMap, "victim", namespace="default")
        if not outcomes:
            await ctx.client.delete(other)
            await ctx.client.create(config("victim", who="another"))
        outcomes.append("deleting")
        await ctx.delete(victim)

    async with bare(sp.Controller(Widget, reconcile).reads(ConfigMap), objects=[config("victim")]) as world:
        await world.create(widget())
        await world.settle()
        assert (await world.get(ConfigMap, "victim")).data == {"who": "another"}
        assert world.running("widget").metrics.errors == 0
        assert outcomes == ["deleting"]


@virtual_time
async def test_a_conflict_is_quiet_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    attempts = 0

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            other = await ctx.client.get(ConfigMap, "a", namespace="default")
            other.data["other"] = "x"
            await ctx.client.update(other)
        if "mine" not in obj.data:
            obj.data["mine"] = "y"
            await ctx.client.update(obj)

    with caplog.at_level(logging.INFO):
        async with bare(sp.Controller(ConfigMap, reconcile), objects=[config("a")]) as world:
            await world.settle()
            assert (await world.get(ConfigMap, "a")).data == {"mine": "y", "other": "x"}
            metrics = world.running("configmap").metrics
            assert (metrics.conflicts, metrics.errors) == (1, 0)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


# -- read your writes --------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_next_reconcile_sees_what_the_last_one_wrote() -> None:
    """Without that, a controller that creates under generated names makes children twice."""
    wires = Wires()

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        missing = obj.spec.size - len(ctx.owned(ConfigMap))
        for _ in range(missing):
            child = ConfigMap()
            child.metadata.generate_name = f"{obj.name}-"
            await ctx.create(child)
        return sp.retry("look again") if missing > 0 else sp.done()

    controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
    async with bare(controller).over(wires) as world:
        wires.wire.delays["configmaps"] = 3.0
        await world.create(widget(size=3))
        await world.settle()
        assert len(await world.list(ConfigMap)) == 3
        assert world.running("widget").metrics.stale_reads == 0


@virtual_time
async def test_a_cache_that_stays_behind_is_not_waited_for_for_ever_but_read_past() -> None:
    wires = Wires()

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        children = ctx.owned(ConfigMap)
        missing = obj.spec.size - len(children)
        for _ in range(missing):
            child = ConfigMap()
            child.metadata.generate_name = f"{obj.name}-"
            await ctx.create(child)
        obj.status.ready = len(children)
        return sp.retry("look again") if missing > 0 else sp.done()

    controller = sp.Controller(Widget, reconcile).owns(ConfigMap)
    async with bare(controller).over(wires) as world:
        wires.wire.delays["configmaps"] = 1e6
        await world.create(widget(size=3))
        await world.eventually(lambda: world.running("widget").metrics.stale_reads > 0, within=30)
        await advance(1)
        assert len(await world.list(ConfigMap)) == 3
        assert (await world.get(Widget, "a")).status.ready == 3
        assert 10 <= asyncio.get_running_loop().time() < 13


@virtual_time
async def test_what_is_read_past_caches_is_read_in_the_same_order_in_every_process() -> None:
    wires = Wires()
    kinds: list[type[Any]] = [ConfigMap, Secret, Service, ServiceAccount, Pod, Endpoints]
    plurals = [resource_of(kind).plural for kind in kinds]

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        if obj.spec.size == 1:
            for kind in (ConfigMap, Secret, Service, ServiceAccount, Endpoints):
                child: Any = kind()
                child.metadata.generate_name = f"{obj.name}-"
                if isinstance(child, Service):
                    child.spec.ports = [ServicePort(port=80)]
                await ctx.create(child)
            pod = Pod.named(obj.name, spec=PodSpec(containers=[Container(name="c", image="i")]))
            await ctx.create(pod)
        return None

    controller = sp.Controller(Widget, reconcile)
    for kind in kinds:
        controller.owns(kind)
    async with bare(controller).over(wires) as world:
        for plural in plurals:
            wires.wire.delays[plural] = 1e6
        await world.create(widget(size=1))
        await advance(1)
        new_widget = await world.get(Widget, "a")
        new_widget.spec.size = 2
        await world.update(new_widget)
        await world.eventually(lambda: world.running("widget").metrics.stale_reads > 0, within=30)
        wanted = [f"/api/v1/namespaces/default/{plural}" for plural in sorted(plurals)]
        lists = [request.path for request in wires.wire.requests if request.method == "GET" and request.path in wanted]
        assert lists == wanted


@virtual_time
async def test_other_keys_do_not_wait_for_a_keys_barrier() -> None:
    wires = Wires()
    seen: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        seen.append(obj.name)
        if obj.name == "a" and not ctx.owned(ConfigMap):
            await ctx.apply(config("child"))
            return sp.retry("look again")
        return None

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.delays["configmaps"] = 5.0
        await world.create(widget("a"))
        await advance(1)
        await world.create(widget("b"))
        await advance(1)
        assert seen == ["a", "b"]
        await world.settle()
        assert seen[:3] == ["a", "b", "a"]


@virtual_time
async def test_a_create_whose_answer_was_lost_is_not_made_twice() -> None:
    wires = Wires()

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        if not ctx.owned(ConfigMap):
            child = ConfigMap()
            child.metadata.generate_name = f"{obj.name}-"
            await ctx.create(child)
        return None

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        lost = 0

        def after(request: Request) -> None:
            nonlocal lost
            if request.method == "POST" and "configmaps" in request.path and not lost:
                lost += 1
                lost_answer(request)

        wires.wire.after = after
        wires.wire.delays["configmaps"] = 2.0
        await world.create(widget())
        await world.settle()
        assert lost == 1
        assert len(await world.list(ConfigMap)) == 1


@virtual_time
async def test_a_write_that_the_cache_will_never_show_is_not_waited_for() -> None:
    """Outside of the cache's namespace, or of what it selects."""
    moments: list[float] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        moments.append(asyncio.get_running_loop().time())
        if len(moments) > 1:
            return None
        for child in (config("unlabelled"), ConfigMap.named("labelled", "", {"app": "web"})):
            await ctx.apply(child)
        await ctx.apply(Secret.named("there", "other"), controlled=False)
        return sp.retry("look again")

    controller = (
        sp.Controller(Widget, reconcile)
        .owns(ConfigMap, selector="app=web")
        .watches(Secret, lambda head: [], namespace="default")
    )
    wires = Wires()
    async with bare(controller, objects=[Namespace.named("other")]).over(wires) as world:
        wires.wire.delays["configmaps"] = 2.0
        await world.create(widget())
        await world.settle()
        assert moments[1] == pytest.approx(2.0), "what the cache will show is waited for, and nothing else"


@virtual_time
async def test_stopping_does_not_wait_for_a_cache() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        await ctx.apply(config("child", turn=str(len(ctx.causes))))
        return sp.retry("look again")

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        wires.wire.delays["configmaps"] = 8.0
        await world.create(widget())
        await advance(1)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() == began


# -- status ------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_status_is_written_once_and_only_if_it_changed_and_its_echo_is_no_event() -> None:
    wires = Wires()
    calls = 0

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        nonlocal calls
        calls += 1
        for number in range(obj.spec.size + 1):
            obj.status.ready = number
        ctx.set_condition("Ready", True, "AsWanted")

    async with bare(sp.Controller(Widget, reconcile)).over(wires) as world:
        new_widget = await world.create(widget(size=4))
        await world.settle()
        current_widget = await world.get(Widget, "a")
        assert (current_widget.status.ready, current_widget.status.observed_generation) == (4, 1)
        assert is_condition_true(current_widget.status.conditions, "Ready")
        assert wires.wire.writes() == ["PATCH /apis/test.example.com/v1/namespaces/default/widgets/a/status"]
        assert calls == 1
        assert world.running("widget").metrics.suppressed == 1
        new_widget = await world.get(Widget, "a")
        new_widget.metadata.labels["x"] = "y"
        await world.update(new_widget)
        await world.settle()
        assert (calls, len(wires.wire.writes())) == (2, 1)


@virtual_time
async def test_a_failure_is_reported_in_the_status_and_its_report_does_not_end_the_backoff() -> None:
    moments: list[float] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        moments.append(asyncio.get_running_loop().time())
        if len(moments) < 12:
            raise sp.testing.VirtualTimeError(f"attempt {len(moments)}")

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await advance(1)
        failing = await world.get(Widget, "a")
        assert not is_condition_true(failing.status.conditions, "Reconciled")
        assert failing.status.observed_generation is None
        await advance(60)
        gaps = [later - earlier for earlier, later in pairwise(moments)]
        assert gaps == pytest.approx([0.005 * 2**number for number in range(11)], abs=1e-6)
        healed = await world.get(Widget, "a")
        assert healed.status.conditions == []


@virtual_time
async def test_somebody_elses_change_between_read_and_status_write_is_not_taken_for_an_echo() -> None:
    calls: list[int] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        calls.append(obj.spec.size)
        if len(calls) == 1:
            other = await ctx.client.get(Widget, "a", namespace="default")
            other.spec.size = 7
            await ctx.client.update(other)
        obj.status.ready = obj.spec.size

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget(size=1))
        await world.settle()
        assert calls[-1] == 7
        assert (await world.get(Widget, "a")).status.ready == 7


@virtual_time
async def test_an_object_that_goes_while_it_is_reconciled_is_no_error() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        await ctx.client.delete(Widget, "a", namespace="default")
        obj.status.ready = 3

    async with bare(sp.Controller(Widget, reconcile)) as world:
        await world.create(widget())
        await world.settle()
        assert world.running("widget").metrics.results["success"] >= 1
        assert world.running("widget").metrics.errors == 0


# -- finalizers --------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_finalizer_is_there_before_the_first_act_and_goes_after_the_last() -> None:
    wires = Wires()
    outside: list[str] = []

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        stored = await ctx.client.get(Widget, obj.name, namespace=obj.namespace)
        assert "test.example.com/widget" in stored.metadata.finalizers
        if obj.name not in outside:
            outside.append(obj.name)
        obj.status.ready = 1

    tries = 0

    async def clean_up(obj: Widget, ctx: sp.Context) -> sp.Outcome | None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise RuntimeError("the world is not ready")
        if tries == 2:
            return sp.retry("nearly")
        outside.remove(obj.name)
        obj.status.ready = 0
        return None

    controller = sp.Controller(Widget, reconcile).finalize(clean_up)
    async with bare(controller).over(wires) as world:
        new_widget = await world.create(widget())
        await world.settle()
        assert outside == ["a"]
        await world.delete(new_widget)
        await world.settle()
        assert (outside, tries) == ([], 3)
        assert await world.find(Widget, "a") is None
        assert wires.wire.writes()[-1].endswith("/widgets/a"), "nothing is written after the finalizer is gone"


@virtual_time
async def test_a_finalizer_of_somebody_else_survives_ours() -> None:
    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        other = await ctx.client.get(Widget, "a", namespace="default")
        if "example.com/late" not in other.metadata.finalizers:
            other.metadata.finalizers.append("example.com/late")
            await ctx.client.update(other)

    held = widget()
    held.metadata.finalizers = ["example.com/hold", "example.com/late"]
    async with bare(sp.Controller(Widget, nothing).finalize(clean_up)) as world:
        result = await world.create(held)
        await world.settle()
        await world.delete(result)
        await world.settle()
        assert (await world.get(Widget, "a")).metadata.finalizers == ["example.com/hold", "example.com/late"]


@virtual_time
async def test_an_object_without_our_finalizer_is_not_cleaned_up() -> None:
    cleaned: list[str] = []

    async def clean_up(obj: Widget, ctx: sp.Context) -> None:
        cleaned.append(obj.name)

    held = widget()
    held.metadata.finalizers = ["example.com/hold"]
    wires = Wires()
    async with bare(sp.Controller(Widget, nothing).finalize(clean_up)).over(wires) as world:
        wires.wire.before = lambda request: lost_answer(request) if request.method == "PATCH" else None
        result = await world.create(held)
        await world.settle(1, failing=True)
        await world.delete(result)
        wires.wire.before = lambda request: None
        await world.settle()
        assert cleaned == []
        assert (await world.get(Widget, "a")).metadata.finalizers == ["example.com/hold"]


# -- crash -------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_crash_between_creates_heals() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        present = {child.name for child in ctx.owned(ConfigMap)}
        for number in range(obj.spec.size):
            if f"{obj.name}-{number}" not in present:
                await ctx.apply(config(f"{obj.name}-{number}"))

    wires = Wires()
    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)).over(wires) as world:
        writes = 0

        def before(request: Request) -> None:
            nonlocal writes
            if request.method == "PATCH" and "configmaps" in request.path:
                writes += 1
                if writes == 3:
                    raise TransportError("the process died here", sent=False)

        wires.wire.before = before
        await world.create(widget(size=5))
        await world.settle()
        assert [child.name for child in await world.list(ConfigMap)] == [f"a-{number}" for number in range(5)]


# -- hot loops ---------------------------------------------------------------------------------------------------------


# -- the rest ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_timeline_tells_causes_writes_and_outcome() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> sp.Outcome:
        await ctx.apply(config("child"))
        return sp.after(600, "to look again")

    async with bare(sp.Controller(Widget, reconcile).owns(ConfigMap)) as world:
        await world.create(widget())
        await world.settle()
        first, second = world.running("widget").timeline.of("default/a")
        assert [str(cause) for cause in first.causes] == ["create of Widget default/a"]
        write = first.writes[0]
        assert (write.verb, write.kind, write.key) == ("apply", "ConfigMap", "default/child")
        assert "create of ConfigMap default/child" in [str(cause) for cause in second.causes]
        assert (second.result, second.detail, second.next_in) == ("requeue_after", "to look again", 600)


@virtual_time
async def test_two_runs_of_one_declaration_share_nothing() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        await ctx.client.patch(ConfigMap, obj.name, {"data": {"seen": "yes"}}, namespace=obj.namespace)

    controller = sp.Controller(ConfigMap, reconcile)
    async with bare(controller, objects=[config("a")]) as one, bare(controller, objects=[config("b")]) as two:
        await one.settle()
        await two.settle()
        assert [config_map.name for config_map in await one.list(ConfigMap)] == ["a"]
        assert (await two.get(ConfigMap, "b")).data == {"seen": "yes"}


@virtual_time
async def test_cluster_scoped_objects_are_reconciled_and_own_namespaced_ones() -> None:
    async def reconcile(obj: Namespace, ctx: sp.Context) -> None:
        child = config("child")
        child.metadata.namespace = obj.name
        await ctx.apply(child)
        with pytest.raises(ValueError, match="pass namespace="):
            await ctx.get(Pod, "x")

    controller = sp.Controller(Namespace, reconcile, predicates=[p.named("default")]).owns(ConfigMap)
    async with bare(controller) as world:
        await world.settle()
        child = await world.get(ConfigMap, "child")
        assert child.metadata.owner_references[0].kind == "Namespace"


@virtual_time
async def test_declarations_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="workers must be at least 1"):
        sp.Controller(Widget, nothing, workers=0)
    with pytest.raises(ValueError, match="timeout must be more than 0"):
        sp.Controller(Widget, nothing, timeout=0)
    with pytest.raises(ValueError, match="controller name"):
        sp.Controller(Widget, nothing, name="Not A Name")
    with pytest.raises(ValueError, match="has a finalizer already"):
        sp.Controller(Widget, nothing).finalize(nothing).finalize(nothing)
    with pytest.raises(ValueError, match=r"declares ConfigMap twice, with .* field_selector or metadata_only"):
        sp.Controller(Widget, nothing).owns(ConfigMap).reads(ConfigMap, selector="a=b")
    with pytest.raises(TypeError):
        sp.Controller(sp.Object, nothing)
    assert sp.Controller(Node, nothing).name == "node"
    assert ObjectKey("default/a").name == "a"
    assert issubclass(Conflict, ApiError)
