"""A test is green only if the controllers have done their work: nothing hangs, waits or was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import setpoint as sp
from setpoint.cache import Head
from setpoint.controller import CacheReader
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret
from setpoint.testing import LostEvent, NotSettled, cluster, virtual_time

HERE = "test_settling.py"
External = dict[str, str]


class Recorder:
    """A controller of ``kind`` that records its keys."""

    def __init__(self, map: Any = None, kind: Any = ConfigMap) -> None:
        self.keys: list[str] = []

        async def reconcile(obj: Any, ctx: sp.Context) -> None:
            self.keys.append(obj.key)

        self.controller = sp.Controller(kind, reconcile)
        if map is not None:
            self.controller.watches(Secret, map)


@virtual_time
async def test_a_reconcile_that_hangs_is_told_with_its_line() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        await asyncio.Event().wait()

    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False) as world:
        await world.create(ConfigMap.named("a", "default"))
        with pytest.raises(NotSettled) as caught:
            await world.settle()
        text = str(caught.value)
        assert "configmap: the reconcile of default/a has not ended after all timers that were due:" in text
        assert f"{HERE}:{reconcile.__code__.co_firstlineno + 1}" in text
        await world.settle(failing=True)


@virtual_time
async def test_a_mapping_function_that_hangs_is_told() -> None:
    async def nowhere(head: Head) -> list[ObjectKey]:
        await asyncio.Event().wait()
        return []

    async with cluster(Recorder(nowhere).controller, control_plane=False) as world:
        await world.create(Secret.named("a", "default"))
        with pytest.raises(NotSettled, match="configmap: a mapping function has not ended"):
            await world.settle()


@virtual_time
async def test_a_controller_whose_caches_do_not_sync_is_told() -> None:
    class Unserved(sp.CustomResource, group="settling.example.com", version="v1"): ...

    async with cluster(Recorder(kind=Unserved).controller, crds=[], control_plane=False) as world:
        with pytest.raises(NotSettled, match="unserved: it has not started: cache of unserveds not synced"):
            await world.settle(5)


def journaled(
    visible_within: float, seconds_until_visible: float, begins_after: float = 0.0
) -> tuple[sp.Controller[ConfigMap], External]:
    """A controller whose external system loses the answer to the first create."""
    journal = sp.Journal("cloud.example.com/thing", visible_within=visible_within)
    things: External = {}

    async def create(token: str) -> str:
        loop = asyncio.get_running_loop()
        loop.call_later(seconds_until_visible, things.setdefault, token, "thing-1")
        if token in things:
            return things[token]
        raise TimeoutError("no answer")

    async def find(token: str) -> str | None:
        return things.get(token)

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        await asyncio.sleep(begins_after)
        await journal.ensure(ctx, create=create, find=find)

    async def clean_up(obj: ConfigMap, ctx: sp.Context) -> None: ...

    return sp.Controller(ConfigMap, reconcile).finalize(clean_up, name="example.com/thing"), things


@virtual_time
async def test_a_journal_that_waits_longer_than_the_tests_patience_is_told() -> None:
    controller, _ = journaled(3600, 7200)
    async with cluster(controller, control_plane=False) as world:
        await world.create(ConfigMap.named("a", "default"))
        with pytest.raises(
            NotSettled,
            match=r"default/a waits: Unconfirmed: it will be known in 3600 s whether cloud\.example\.com/thing of",
        ):
            await world.settle()


@pytest.mark.parametrize("patience", [[], [30]])
def test_a_journal_with_its_usual_wait_is_no_false_alarm(patience: list[float]) -> None:
    @virtual_time
    async def check() -> None:
        controller, things = journaled(sp.Journal("cloud.example.com/thing").visible_within, 29.9, 0.2)
        async with cluster(controller, control_plane=False) as world:
            await world.create(ConfigMap.named("a", "default"))
            await world.settle(*patience)
            assert len(things) == 1
            journal = sp.Journal("cloud.example.com/thing")
            assert journal.id(await world.get(ConfigMap, "a")) == "thing-1"

    check()


def one_key(head: Head) -> str:
    return ObjectKey.of(head.namespace, "a")


async def none_later(head: Head) -> None: ...


def lazily(head: Head) -> Iterable[ObjectKey]:
    yield ObjectKey.of(head.namespace, "a")


CLEAR: dict[str, Callable[[Head], Any]] = {
    "one key": one_key,
    "a str": lambda head: "default/a",
    "a list": lambda head: [ObjectKey("default/a")],
    "a generator": lazily,
    "a dict": lambda head: {"default/a": 1},
    "pairs": lambda head: [("default", "a")],
    "an object": lambda head: ConfigMap.named("a", "default"),
    "objects": lambda head: [ConfigMap.named("a", "default")],
}


@pytest.mark.parametrize("name", CLEAR)
def test_keys_are_taken_in_every_clear_form(name: str) -> None:
    @virtual_time
    async def check() -> None:
        recorder = Recorder(CLEAR[name])
        async with cluster(recorder.controller, control_plane=False) as world:
            await world.create(ConfigMap.named("a", "default"))
            await world.settle()
            await world.create(Secret.named("s", "default"))
            await world.settle()
            assert recorder.keys == ["default/a", "default/a"]

    check()


@pytest.mark.parametrize("map", [lambda head: None, none_later, lambda head: (), lambda head: []])
def test_no_keys_are_no_mistake(map: Any) -> None:
    @virtual_time
    async def check() -> None:
        async with cluster(Recorder(map).controller, control_plane=False) as world:
            await world.create(Secret.named("s", "default"))
            await world.settle()

    check()


async def head_later(head: Head) -> Any:
    return [head]


WRONG: dict[str, tuple[Callable[[Head], Any], str]] = {
    "a bare name": (lambda head: head.name, "returned 's', but ConfigMap is namespaced: return ObjectKey.of(namespace"),
    "bare names": (lambda head: [head.name], "returned 's', but ConfigMap is namespaced"),
    "a pair": (lambda head: ("default", "a"), "returned 'default', but ConfigMap is namespaced"),
    "an empty key": (lambda head: "", "returned '', but ConfigMap is namespaced"),
    "an empty name": (lambda head: "default/", "returned 'default/', but"),
    "three parts": (lambda head: ["a/b/c"], "returned 'a/b/c', but"),
    "a head": (head_later, "returned the head of default/s, which is not the key of a ConfigMap"),
    "another kind": (
        lambda head: Secret.named("s", "x"),
        "returned the Secret x/s, which is not the key of a",
    ),
    "a number": (lambda head: 3, "returned 3: it has to return the keys of ConfigMaps"),
    "numbers": (lambda head: [3], "returned 3, which is not the key of a ConfigMap"),
    "True": (lambda head: head.name == "s", "returned True: it has to return the keys"),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_result_of_a_mapping_fails_the_test_with_the_function_and_its_line(name: str) -> None:
    map, text = WRONG[name]

    @virtual_time
    async def check() -> None:
        async with cluster(Recorder(map).controller, control_plane=False) as world:
            await world.create(Secret.named("s", "default"))
            with pytest.raises(LostEvent) as caught:
                await world.settle()
            assert text in str(caught.value)
            assert "configmap: an event of default/s was lost: " in str(caught.value)
            assert f"({HERE}:{map.__code__.co_firstlineno})" in str(caught.value)

    check()


@virtual_time
async def test_a_namespace_for_a_cluster_scoped_kind_is_told() -> None:
    async with cluster(Recorder(lambda head: head.key, Namespace).controller, control_plane=False) as world:
        await world.create(Secret.named("s", "default"))
        with pytest.raises(LostEvent, match="returned 'default/s', but Namespace is cluster-scoped: return"):
            await world.settle()


def broken(head: Head) -> list[ObjectKey]:
    return [ObjectKey.of(head.namespace, head.labels["app"])]


async def broken_later(head: Head) -> list[ObjectKey]:
    return broken(head)


def with_caches(head: Head, caches: CacheReader) -> list[ObjectKey]:
    return broken(head)


LINE = f"KeyError: 'app' ({HERE}:{broken.__code__.co_firstlineno + 1})"


@pytest.mark.parametrize("map", [broken, broken_later, with_caches])
@pytest.mark.parametrize("settles", [True, False])
def test_an_exception_in_a_mapping_fails_the_test_with_its_line(map: Any, settles: bool) -> None:
    @virtual_time
    async def check() -> None:
        with pytest.raises(LostEvent) as caught:  # noqa: PT012 - the end of the block raises, too
            async with cluster(Recorder(map).controller, control_plane=False) as world:
                await world.create(Secret.named("s", "default"))
                if settles:
                    await world.settle()
                else:
                    await asyncio.sleep(1)
        assert LINE in str(caught.value)

    check()


@virtual_time
async def test_an_exception_in_an_index_fails_the_test_with_its_line() -> None:
    controller = Recorder(lambda head: ()).controller
    controller.index("app", lambda head: [head.labels["app"]], of=Secret, as_=Head)
    with pytest.raises(LostEvent) as caught:  # noqa: PT012 - the end of the block raises
        async with cluster(controller, control_plane=False) as world:
            await world.create(Secret.named("s", "default"))
            await asyncio.sleep(1)
    assert "failed for default/s, which is not indexed: KeyError: 'app' (test_settling.py:" in str(caught.value)


@virtual_time
async def test_an_exception_in_a_predicate_fails_the_test() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    def test(old: Head | None, new: Head | None) -> bool:
        raise ValueError("odd")

    async with cluster(sp.Controller(ConfigMap, reconcile, predicates=[test]), control_plane=False) as world:
        await world.create(ConfigMap.named("a", "default"))
        with pytest.raises(LostEvent, match="an event of default/a was lost: ValueError: odd"):
            await world.settle()


@virtual_time
async def test_a_test_about_failures_may_lose_events() -> None:
    recorder = Recorder(broken)
    async with cluster(recorder.controller, control_plane=False) as world:
        await world.create(Secret.named("s", "default"))
        await world.settle(failing=True)
        await world.create(ConfigMap.named("a", "default"))
        await world.settle()
        assert recorder.keys == ["default/a"], "the controller goes on"


@virtual_time
async def test_lost_events_are_added_to_the_tests_own_failure() -> None:
    with pytest.raises(RuntimeError) as caught:  # noqa: PT012 - the end of the block adds a note
        async with cluster(Recorder(broken).controller, control_plane=False) as world:
            await world.create(Secret.named("s", "default"))
            await asyncio.sleep(1)
            raise RuntimeError("the test's own")
    assert LINE in "\n".join(caught.value.__notes__)


@pytest.mark.parametrize("key", ["a", ("x",), 3])
def test_a_source_with_wrong_keys_fails_the_test_and_not_the_controller(key: Any) -> None:
    @virtual_time
    async def check() -> None:
        async def source() -> Any:
            yield key
            yield ("default", "a")
            await asyncio.Event().wait()

        recorder = Recorder()
        async with cluster(recorder.controller.source(source), control_plane=False) as world:
            with pytest.raises(LostEvent, match="configmap: a source returned"):
                await world.settle()
            await world.create(ConfigMap.named("a", "default"))
            await world.settle()
            assert recorder.keys == ["default/a"]

    check()
