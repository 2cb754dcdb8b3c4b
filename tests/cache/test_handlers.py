"""The promises to handlers of a shared informer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.cache import Head, HeadUpdate, Informer, InformerFactory, InformerStopped
from setpoint.models.core_v1 import Pod
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked

from .fakes import FakeServer, broken, event, status


class Recorder:
    """Calls, as text; slow if told to be."""

    def __init__(self, *, delay: float = 0.0) -> None:
        self.calls: list[str] = []
        self.delay = delay
        self.gate = asyncio.Event()
        self.gate.set()

    def handlers(self) -> dict[str, Any]:
        if self.delay:
            return {"on_add": self._slow_add, "on_update": self._slow_update, "on_delete": self._slow_delete}
        return {"on_add": self.add, "on_update": self.update, "on_delete": self.delete}

    def add(self, head: Head, initial: bool) -> None:
        self.calls.append(f"{'list' if initial else 'add'} {head.name}")

    def update(self, old: Head, new: Head) -> None:
        assert old.uid == new.uid
        self.calls.append(f"{'sync' if old.resource_version == new.resource_version else 'update'} {new.name}")

    def delete(self, head: Head, unknown: bool) -> None:
        self.calls.append(f"{'lost' if unknown else 'delete'} {head.name}")

    async def _slow_add(self, head: Head, initial: bool) -> None:
        await self._wait()
        self.add(head, initial)

    async def _slow_update(self, old: Head, new: Head) -> None:
        await self._wait()
        self.update(old, new)

    async def _slow_delete(self, head: Head, unknown: bool) -> None:
        await self._wait()
        self.delete(head, unknown)

    async def _wait(self) -> None:
        await asyncio.sleep(self.delay)
        await self.gate.wait()


@asynccontextmanager
async def informing(server: FakeServer, **options: Any) -> AsyncIterator[Informer[Pod]]:
    async with InformerFactory(server, random=Random(1), **options) as factory:
        yield factory.informer(Pod)


@virtual_time
async def test_the_first_list_comes_as_initial_adds_and_what_follows_does_not() -> None:
    server, recorder = FakeServer(), Recorder()
    server.put("a")
    async with informing(server) as pods:
        pods.add_event_handler(**recorder.handlers())
        await pods.wait_synced()
        server.put("b")
        server.put("a")
        server.delete("b")
        await wait_all_tasks_blocked()
    assert recorder.calls == ["list a", "add b", "update a", "delete b"]


@virtual_time
async def test_the_store_and_its_indexes_have_the_state_before_the_handler_is_told() -> None:
    server, seen = FakeServer(), []
    async with informing(server) as pods:
        await pods.wait_synced()

        def on_add(head: Head, initial: bool) -> None:
            seen.append(
                (
                    pods.lister.get(head.key).metadata.resource_version == head.resource_version,
                    [item.name for item in pods.lister.by_owner("me")],
                )
            )

        pods.add_event_handler(on_add=on_add, on_delete=lambda head, _: seen.append((head.key in pods.lister, [])))
        server.put("a", owner="me")
        await wait_all_tasks_blocked()
        server.delete("a")
        await wait_all_tasks_blocked()
    assert seen == [(True, ["a"]), (False, [])]


@virtual_time
async def test_a_delete_carries_the_last_state_at_the_version_at_which_it_is_gone() -> None:
    server, heads = FakeServer(), []
    async with informing(server) as pods:
        pods.add_event_handler(on_delete=lambda head, unknown: heads.append(head))
        server.put("a", labels={"last": "words"})
        await pods.wait_synced()
        server.delete("a")
        await wait_all_tasks_blocked()
    assert (heads[0].labels, heads[0].resource_version) == ({"last": "words"}, str(server.version))


@virtual_time
async def test_what_was_missed_during_a_gap_is_told_by_the_difference() -> None:
    server, plain, reminded = FakeServer(), Recorder(), Recorder()
    for name in "abcd":
        server.put(name)
    async with informing(server) as pods:
        pods.add_event_handler(**plain.handlers())
        pods.add_event_handler(**reminded.handlers(), resync=3600)
        await pods.wait_synced()
        plain.calls.clear()
        reminded.calls.clear()
        watchers, server.watchers = server.watchers, []
        server.put("b")
        server.delete("c")
        server.put("e")
        server.delete("d")
        server.put("d", uid="another")
        server.forget()
        for stream, _ in watchers:
            stream.send(event("ERROR", status(410, "Expired")))
        await advance(5)
        assert pods.last_sync_resource_version == str(server.version)
    assert plain.calls == ["lost c", "update b", "add e", "lost d", "add d"] or sorted(plain.calls) == sorted(
        ["lost c", "update b", "add e", "lost d", "add d"]
    )
    assert plain.calls[0] == "lost c", "what is gone comes first"
    assert plain.calls.index("lost d") < plain.calls.index("add d")
    assert [call for call in reminded.calls if "sync" in call] == ["sync a"]


@virtual_time
async def test_deleted_and_made_again_is_a_delete_and_an_add_never_an_update() -> None:
    server, recorder, slow = FakeServer(), Recorder(), Recorder(delay=1)
    server.put("a")
    async with informing(server) as pods:
        pods.add_event_handler(**recorder.handlers())
        pods.add_event_handler(**slow.handlers())
        await pods.wait_synced()
        await advance(2)
        server.put("a")
        await wait_all_tasks_blocked()
        server.put("a")
        server.delete("a")
        server.put("a")
        await advance(10)
    assert recorder.calls == ["list a", "update a", "update a", "delete a", "add a"]
    assert slow.calls == ["list a", "update a", "delete a", "add a"]


@virtual_time
async def test_a_late_handler_is_told_of_what_is_there_without_gap_or_duplicate() -> None:
    server, late = FakeServer(), Recorder(delay=0.1)
    for number in range(20):
        server.put(f"p{number}")
    async with informing(server) as pods:
        await pods.wait_synced()
        registration = pods.add_event_handler(**late.handlers())
        server.put("p3")
        server.delete("p4")
        server.put("new")
        assert not registration.has_synced
        await advance(1)
        assert not registration.has_synced
        await registration.wait_synced()
        await advance(5)
    assert sorted(late.calls) == sorted([f"list p{n}" for n in range(20) if n != 4] + ["add new"])


@virtual_time
async def test_each_handler_has_synced_when_it_has_been_told_of_all() -> None:
    server, fast, slow = FakeServer(), Recorder(), Recorder(delay=1)
    for number in range(5):
        server.put(f"p{number}")
    async with informing(server) as pods:
        first, second = pods.add_event_handler(**fast.handlers()), pods.add_event_handler(**slow.handlers())
        assert not first.has_synced
        await pods.wait_synced()
        assert (first.has_synced, second.has_synced) == (True, False)
        await advance(4.5)
        assert not second.has_synced
        await advance(1)
        assert second.has_synced


@virtual_time
async def test_an_empty_collection_syncs() -> None:
    async with informing(FakeServer()) as pods:
        registration = pods.add_event_handler()
        await pods.wait_synced()
        assert registration.has_synced


@virtual_time
async def test_a_failing_handler_harms_nobody_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    server, other = FakeServer(), Recorder()

    def bad(*_: Any) -> None:
        raise ZeroDivisionError

    async def worse(*_: Any) -> None:
        raise ZeroDivisionError

    for number in range(3):
        server.put(f"p{number}")
    with caplog.at_level(logging.ERROR):
        async with informing(server) as pods:
            one = pods.add_event_handler(on_add=bad, on_update=bad, name="bad one")
            two = pods.add_event_handler(on_add=worse, on_update=worse)
            pods.add_event_handler(**other.handlers())
            await pods.wait_synced()
            await wait_all_tasks_blocked()
            server.put("p1")
            await wait_all_tasks_blocked()
            assert one.failures == two.failures == 4
            assert one.has_synced
            assert two.has_synced
    assert other.calls == ["list p0", "list p1", "list p2", "update p1"]
    assert "bad one" in caplog.text
    assert "worse" in caplog.text


@virtual_time
async def test_a_slow_handler_gets_the_newest_state_and_its_mailbox_one_entry_per_object() -> None:
    server, fast, slow = FakeServer(), Recorder(), Recorder(delay=0.001)
    async with informing(server) as pods:
        versions: list[str] = []
        slow.gate.clear()
        registration = pods.add_event_handler(**slow.handlers())
        pods.add_event_handler(**fast.handlers())
        pods.add_event_handler(on_update=lambda old, new: versions.append(new.resource_version))
        await pods.wait_synced()
        for number in range(200):
            server.put(f"p{number % 10}")
            await wait_all_tasks_blocked()
            if number % 40 == 39:
                server.put("comes-and-goes")
                await wait_all_tasks_blocked()
                server.delete("comes-and-goes")
                await wait_all_tasks_blocked()
        assert registration.queued <= 11
        assert len(fast.calls) == 210
        slow.gate.set()
        await advance(1)
        assert registration.queued == 0
    assert slow.calls == ["add p0"] + [f"add p{n}" for n in range(1, 10)] + ["update p0"] or len(slow.calls) == 11


@virtual_time
async def test_removal_waits_for_the_call_that_is_under_way_and_no_call_follows() -> None:
    server, slow = FakeServer(), Recorder(delay=5)
    server.put("a")
    server.put("b")
    async with informing(server) as pods:
        registration = pods.add_event_handler(**slow.handlers())
        await pods.wait_synced()
        await advance(1)
        removal = asyncio.create_task(registration.remove())
        await advance(3)
        assert not removal.done()
        await advance(2)
        assert removal.done()
        assert slow.calls == ["list a"]
        server.put("a")
        await advance(20)
        assert slow.calls == ["list a"]
        await registration.remove()
        assert registration not in pods.shared.registrations


@virtual_time
async def test_a_handler_can_remove_itself() -> None:
    server, calls = FakeServer(), []
    server.put("a")
    server.put("b")
    async with informing(server) as pods:

        async def once(head: Head, initial: bool) -> None:
            calls.append(head.name)
            await registration.remove()

        registration = pods.add_event_handler(on_add=once)
        await pods.wait_synced()
        await advance(1)
    assert calls == ["a"]


@virtual_time
async def test_the_same_functions_registered_twice_are_called_twice_and_removed_one_by_one() -> None:
    server, recorder = FakeServer(), Recorder()
    async with informing(server) as pods:
        one = pods.add_event_handler(**recorder.handlers())
        pods.add_event_handler(**recorder.handlers())
        await pods.wait_synced()
        server.put("a")
        await wait_all_tasks_blocked()
        assert recorder.calls == ["add a"] * 2
        await one.remove()
        server.put("a")
        await wait_all_tasks_blocked()
        assert recorder.calls == ["add a", "add a", "update a"]


@virtual_time
async def test_nothing_can_be_added_to_what_has_stopped_but_all_can_be_removed() -> None:
    server = FakeServer()
    async with InformerFactory(server, random=Random(1)) as factory:
        pods = factory.informer(Pod)
        registration = pods.add_event_handler()
        await pods.wait_synced()
        assert not pods.is_stopped
    assert pods.is_stopped
    await registration.remove()
    with pytest.raises(InformerStopped):
        pods.add_event_handler()
    with pytest.raises(InformerStopped):
        pods.add_index("x", lambda head: [head.name])
    with pytest.raises(InformerStopped):
        factory.informer(Pod)


@virtual_time
async def test_hundreds_of_handlers_come_and_go() -> None:
    server, draw = FakeServer(), Random(1)
    async with informing(server) as pods:

        async def abuse(number: int) -> None:
            for _ in range(5):
                recorder = Recorder(delay=draw.choice([0, 0.01]))
                registration = pods.add_event_handler(**recorder.handlers())
                await asyncio.sleep(draw.random())
                await registration.remove()

        async with asyncio.TaskGroup() as tasks:
            for number in range(100):
                tasks.create_task(abuse(number))
            for number in range(50):
                server.put(f"p{number % 7}")
                await asyncio.sleep(0.05)
        assert pods.shared.registrations == []
        await wait_all_tasks_blocked()
        assert not [task for task in asyncio.all_tasks() if "test_handlers" in task.get_name()]


# -- resync ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_each_handler_is_resynced_at_its_own_period() -> None:
    server, never, two, three = FakeServer(), Recorder(), Recorder(), Recorder()
    server.put("a")
    async with informing(server) as pods:
        for recorder, period in ((never, 0), (two, 2), (three, 3)):
            pods.add_event_handler(**recorder.handlers(), resync=period)
        await pods.wait_synced()
        for recorder in (never, two, three):
            recorder.calls.clear()
        await advance(2.5)
        assert (never.calls, two.calls, three.calls) == ([], ["sync a"], [])
        await advance(1)
        assert (never.calls, two.calls, three.calls) == ([], ["sync a"], ["sync a"])
        late = Recorder()
        pods.add_event_handler(**late.handlers(), resync=0.1)
        await advance(2.9)
        assert late.calls == ["list a", "sync a", "sync a"], "the shortest period is a second"


@virtual_time
async def test_heads_on_demand_are_the_same_heads_and_say_whether_owners_changed_without_a_look() -> None:
    def owned(name: str, controller: bool) -> dict[str, Any]:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": controller}
        return {"metadata": {"ownerReferences": [reference]}}

    server = FakeServer()
    server.put("a", **owned("x", True))
    given: list[tuple[Head, Head]] = []
    asked: list[tuple[Head, Head]] = []
    messages: list[tuple[bool, bool]] = []

    def on_change(heads: HeadUpdate) -> None:
        assert heads.same_object
        messages.append((heads.same_owners, heads.same_version))
        asked.append((heads.old, heads.new))

    async with informing(server) as pods:
        pods.add_event_handler(on_update=lambda old, new: given.append((old, new)), resync=60)
        pods.add_event_handler(on_change=on_change, resync=60)
        with pytest.raises(TypeError, match="not both"):
            pods.add_event_handler(on_change=on_change, on_update=lambda old, new: None)
        await pods.wait_synced()
        server.put("a", phase="Failed", **owned("x", True))
        await wait_all_tasks_blocked()
        server.put("a", **owned("x", False))
        await wait_all_tasks_blocked()
        server.put("a", **owned("renamed", False))
        await wait_all_tasks_blocked()
        await advance(61)
        assert messages == [(True, False), (False, False), (False, False), (True, True)]
        assert asked == given
        messages.clear()
        pods.add_index("phase", lambda head: [head.name])
        server.put("a", **owned("renamed", False))
        await wait_all_tasks_blocked()
        assert messages == [(False, False)], "where it can't tell, it says no"
        assert asked == given


@virtual_time
async def test_the_factorys_resync_is_the_default_and_a_slow_handler_is_not_flooded_by_it() -> None:
    server, slow = FakeServer(), Recorder(delay=10)
    for name in "abc":
        server.put(name)
    async with informing(server, resync=1) as pods:
        registration = pods.add_event_handler(**slow.handlers())
        await pods.wait_synced()
        for _ in range(100):
            await advance(1)
            assert registration.queued <= 3


# -- filters ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_filter_turns_updates_into_adds_and_deletes() -> None:
    server, recorder = FakeServer(), Recorder()
    async with informing(server) as pods:
        pods.add_event_handler(**recorder.handlers(), filter=lambda head: head.labels.get("app") == "web")
        await pods.wait_synced()
        for labels in ({}, {"app": "web"}, {"app": "web"}, {"app": "db"}, {"app": "web"}):
            server.put("a", labels=labels)
        server.delete("a")
        server.put("b")
        server.delete("b")
        await wait_all_tasks_blocked()
    assert recorder.calls == ["add a", "update a", "delete a", "add a", "delete a"]


@virtual_time
async def test_a_filtered_delete_is_not_lost_when_the_last_state_no_longer_passes() -> None:
    server, slow = FakeServer(), Recorder(delay=5)
    async with informing(server) as pods:
        pods.add_event_handler(**slow.handlers(), filter=lambda head: head.labels.get("app") == "web")
        await pods.wait_synced()
        server.put("a", labels={"app": "web"})
        await advance(6)
        server.put("b", labels={"app": "web"})
        await wait_all_tasks_blocked()
        server.put("a", labels={"app": "db"})
        server.delete("a")
        await advance(30)
    assert slow.calls == ["add a", "add b", "delete a"]


@virtual_time
async def test_handlers_have_readable_names() -> None:
    server, recorder = FakeServer(), Recorder()
    async with informing(server) as pods:
        names = [
            pods.add_event_handler(on_add=recorder.add).name,
            pods.add_event_handler(on_update=partial(recorder.update)).name,
            pods.add_event_handler(on_delete=lambda head, unknown: None).name,
            pods.add_event_handler().name,
            pods.add_event_handler(name="mine").name,
        ]
    assert [name.rpartition("test_handlers.")[2] for name in names[:2]] == ["Recorder.add", "Recorder.update"]
    assert "lambda" in names[2]
    assert names[3:] == ["handler", "mine"]


# -- the ordering, against every interleaving ------------------------------------------------------------------------

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "wait", "drop", "forget", "bookmark"]),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=40,
)


class Judge:
    """Fails when a handler is told anything that breaks a promise."""

    def __init__(self, delay: float) -> None:
        self.alive: dict[str, tuple[str, int]] = {}
        self.ended: set[str] = set()
        self.delay = delay

    async def on_add(self, head: Head, initial: bool) -> None:
        assert head.name not in self.alive
        assert head.uid not in self.ended
        self.alive[head.name] = (head.uid, int(head.resource_version))
        await asyncio.sleep(self.delay)

    async def on_update(self, old: Head, new: Head) -> None:
        uid, version = self.alive[new.name]
        assert old.uid == new.uid == uid
        assert int(old.resource_version) == version < int(new.resource_version)
        self.alive[new.name] = (uid, int(new.resource_version))
        await asyncio.sleep(self.delay)

    async def on_delete(self, head: Head, unknown: bool) -> None:
        uid, version = self.alive.pop(head.name)
        assert uid == head.uid
        assert int(head.resource_version) >= version
        self.ended.add(uid)
        await asyncio.sleep(self.delay)


@settings(max_examples=80, deadline=None)
@given(actions=ACTIONS, delays=st.lists(st.sampled_from([0, 0.3, 7]), min_size=1, max_size=3), streams=st.booleans())
@virtual_time
async def test_no_handler_ever_sees_an_object_go_back_in_time(
    actions: list[tuple[str, str]], delays: list[float], streams: bool
) -> None:
    server, judges = FakeServer(window=6, streams_lists=streams), []
    async with informing(server) as pods:
        for place, (action, name) in enumerate(actions):
            if place % max(len(actions) // len(delays), 1) == 0 and len(judges) < len(delays):
                judges.append(judge := Judge(delays[len(judges)]))
                pods.add_event_handler(on_add=judge.on_add, on_update=judge.on_update, on_delete=judge.on_delete)
            match action:
                case "put":
                    server.put(name)
                case "delete" if f"default/{name}" in server.objects:
                    server.delete(name)
                case "wait":
                    await advance(1)
                case "drop":
                    server.drop_watches(broken())
                case "forget":
                    server.forget()
                case "bookmark":
                    server.bookmark_all()
        await advance(1000)
        truth = {key: int(obj["metadata"]["resourceVersion"]) for key, obj in server.objects.items()}
        assert {key: pods.store.resource_version(key) for key in pods.store} == truth
        for judge in judges:
            assert {f"default/{name}": version for name, (_, version) in judge.alive.items()} == truth


@virtual_time
async def test_a_handler_that_awaits_something_cancelled_goes_on_with_the_next_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = FakeServer()
    seen: list[str] = []

    async def on_add(head: Head, initial: bool) -> None:
        if head.name == "a":
            other = asyncio.ensure_future(asyncio.sleep(1))
            other.cancel()
            await other
        seen.append(head.name)

    async with informing(server) as pods:
        registration = pods.add_event_handler(on_add=on_add)
        await pods.wait_synced()
        server.put("a")
        server.put("b")
        await wait_all_tasks_blocked()
        assert (seen, registration.failures, registration.queued) == (["b"], 1, 0)
        await registration.remove()
    assert "handler" in caplog.text


@virtual_time
async def test_an_object_that_the_transform_fails_for_is_skipped_and_the_others_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def transform(document: dict[str, Any]) -> dict[str, Any]:
        if document["metadata"]["name"] == "bad":
            raise KeyError("spec")
        return document

    server, recorder = FakeServer(), Recorder()
    server.put("bad")
    server.put("good")
    async with InformerFactory(server, random=Random(1)) as factory:
        pods = factory.informer(Pod, transform=transform)
        pods.add_event_handler(**recorder.handlers())
        await factory.wait_for_cache_sync()
        server.put("bad")
        server.put("better")
        await wait_all_tasks_blocked()
        assert recorder.calls == ["list good", "add better"]
        assert pods.shared.skipped == 2
    assert "the transform failed for Pod default/bad: KeyError('spec')" in caplog.text


# -- the end, from within ----------------------------------------------------------------------------------------------


async def _at_once(informer: Informer[Pod]) -> None:
    await informer.close()


async def _in_a_group(informer: Informer[Pod]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(informer.close())


async def _twice_at_once(informer: Informer[Pod]) -> None:
    await asyncio.gather(informer.close(), informer.close())


@pytest.mark.parametrize("close", [_at_once, _in_a_group, _twice_at_once])
@virtual_time
async def test_a_coroutine_handler_may_close_its_own_informer_and_is_called_to_its_end(close: Any) -> None:
    server = FakeServer()
    server.put("a")
    server.put("b")
    calls: list[str] = []
    async with InformerFactory(server, random=Random(1)) as factory:
        informer = factory.informer(Pod)

        async def on_add(head: Head, initial: bool) -> None:
            calls.append(f"{head.name} begins")
            async with asyncio.timeout(10):
                await close(informer)
            await asyncio.sleep(5)
            calls.append(f"{head.name} ends")

        registration = informer.add_event_handler(on_add=on_add)
        await advance(3)
        assert factory.informers == []
        assert informer.is_stopped
        again = factory.informer(Pod)
        await again.wait_synced()
        assert len(again.store) == 2
        await registration.remove()
        assert calls == ["a begins", "a ends"]
        await advance(60)
        assert calls == ["a begins", "a ends"]
    assert {task for task in asyncio.all_tasks() if not task.done()} == {asyncio.current_task()}


@virtual_time
async def test_a_handler_that_hangs_after_it_closed_its_informer_ends_with_the_factory() -> None:
    server = FakeServer()
    server.put("a")
    ends: list[str] = []
    async with InformerFactory(server, random=Random(1)) as factory:
        informer = factory.informer(Pod)

        async def on_add(head: Head, initial: bool) -> None:
            await informer.close()
            try:
                await asyncio.Event().wait()
            finally:
                ends.append(head.name)

        informer.add_event_handler(on_add=on_add)
        await advance(3)
    assert ends == ["a"]


@virtual_time
async def test_a_close_that_is_cancelled_while_a_handler_runs_releases_the_informer() -> None:
    server = FakeServer()
    server.put("a")
    async with InformerFactory(server, random=Random(1)) as factory:
        informer = factory.informer(Pod)

        async def on_add(head: Head, initial: bool) -> None:
            await asyncio.Event().wait()

        informer.add_event_handler(on_add=on_add)
        await advance(3)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await informer.close()
        assert factory.informers == []
        assert informer.is_stopped


@virtual_time
async def test_a_handler_that_leaves_its_factory_gets_an_error_instead_of_waiting_for_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = FakeServer()
    server.put("a")
    stack = AsyncExitStack()
    factory = await stack.enter_async_context(InformerFactory(server, random=Random(1)))

    async def on_add(head: Head, initial: bool) -> None:
        await factory.__aexit__(None, None, None)

    informer = factory.informer(Pod)
    registration = informer.add_event_handler(on_add=on_add)
    await advance(3)
    assert registration.failures == 1
    assert "an event handler can't end the factory that calls it" in caplog.text
    await stack.aclose()


@virtual_time
async def test_a_task_that_outlives_the_handler_that_started_it_waits_for_the_end_like_any_other() -> None:
    server = FakeServer()
    server.put("a")
    ends: list[str] = []
    stack = AsyncExitStack()
    factory = await stack.enter_async_context(InformerFactory(server, random=Random(1)))
    informer = factory.informer(Pod)
    started: list[asyncio.Task[None]] = []

    async def service() -> None:
        await asyncio.sleep(10)
        await informer.close()
        ends.append("closed")
        await stack.aclose()
        ends.append("left")

    async def on_add(head: Head, initial: bool) -> None:
        if head.name == "a":
            started.append(asyncio.ensure_future(service()))
        else:
            await asyncio.sleep(10)
            ends.append(f"added {head.name}")

    informer.add_event_handler(on_add=on_add)
    await advance(8)
    server.put("b")
    await started[0]
    assert ends == ["added b", "closed", "left"]
