"""The cache against a server and a network that do everything wrong, for thousands of steps; and an hour of churn."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from setpoint.cache import Head, InformerFactory, WatchOptions
from setpoint.client.transport import Response, TransportError
from setpoint.models.core_v1 import Pod
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked

from .fakes import FakeResponse, FakeServer, Stream, bookmark, broken, event, pod, refusal, refused, status


class FaultyServer(FakeServer):
    """Faults wait in a list for the next stream to be opened, or hit those that are open at once."""

    def __init__(self, *, streams_lists: bool) -> None:
        super().__init__(window=30, streams_lists=streams_lists, answers_pages=not streams_lists)
        self.chunk = 700
        self.faults: list[str] = []
        self.open = 0

    @asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[Response]:
        fault = self.faults.pop(0) if self.faults else ""
        idle_timeout = options.get("idle_timeout")
        match fault:
            case "refuse":
                raise refused()
            case "reset":
                raise broken()
            case "429":
                raise refusal(429, "TooManyRequests")
            case "500":
                raise refusal(500, "InternalError")
            case "410":
                raise refusal(410, "Expired")
            case "slow":
                await asyncio.sleep(20)
            case "silent":
                raise_after = Stream()
                yield FakeResponse(raise_after, idle_timeout)
                return
            case "empty":
                yield FakeResponse(Stream(close=True), idle_timeout)
                return
            case "garbage":
                yield FakeResponse(Stream(b"<html>bad gateway</html>\n", close=True), idle_timeout)
                return
        async with super().stream(method, path, **options) as response:
            self.open += 1
            try:
                yield _Truncated(response) if fault == "truncate" else response
            finally:
                self.open -= 1

    def strike(self, what: str) -> None:
        """A fault in what is open."""
        watchers = list(self.watchers)
        match what:
            case "drop":
                self.drop_watches()
            case "break":
                self.drop_watches(broken())
            case "expire":
                for stream, _ in watchers:
                    stream.send(event("ERROR", status(410, "Expired")))
            case "throttle":
                for stream, _ in watchers:
                    stream.send(event("ERROR", status(429, "TooManyRequests")))
            case "deaf":
                self.watchers.clear()  # half open: the other side is not told
            case "cut":
                for stream, _ in watchers:
                    stream.send(event("MODIFIED", pod("cut", version=1))[:60])
                    stream.close()
                self.watchers.clear()
            case "bookmarks":
                for stream, _ in watchers:
                    stream.send(bookmark(self.version), bookmark(""), bookmark(self.version))
            case "repeat":
                for stream, _ in watchers:
                    for _, type, document in self.log[-3:]:
                        stream.send(event(type, document))
            case "forget":
                self.forget()


class _Truncated(Response):
    """Breaks off after the third piece, in the middle of it."""

    def __init__(self, response: Response) -> None:
        self.status, self.headers = response.status, response.headers
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._response.chunks():
            count += 1
            if count == 3:
                yield chunk[: len(chunk) // 2]
                raise TransportError("broke off", sent=True, reset=True)
            yield chunk


class Judge:
    """Fails when an object's states come out of order; knows what its handler was told."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.alive: dict[str, tuple[str, int]] = {}
        self.dead: dict[str, int] = {}
        self.verdicts: list[str] = []

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.verdicts.append(what)

    def added(self, head: Head, initial: bool) -> Any:
        self.expect(head.name not in self.alive, f"{head.name} added twice")
        self.expect(int(head.resource_version) > self.dead.get(head.name, 0), f"{head.name} risen from the dead")
        self.alive[head.name] = (head.uid, int(head.resource_version))
        return asyncio.sleep(self.delay) if self.delay else None

    def updated(self, old: Head, new: Head) -> Any:
        uid, version = self.alive.get(new.name, ("", 0))
        self.expect(old.uid == new.uid == uid, f"{new.name} changed its uid")
        self.expect(int(old.resource_version) == version, f"{new.name} skipped what it was told")
        self.expect(int(new.resource_version) > version, f"{new.name} went back in time")
        self.alive[new.name] = (uid, int(new.resource_version))
        return asyncio.sleep(self.delay) if self.delay else None

    def deleted(self, head: Head, unknown: bool) -> Any:
        uid, version = self.alive.pop(head.name, ("", 0))
        self.expect(uid == head.uid, f"{head.name} deleted, but another one")
        self.expect(int(head.resource_version) >= version, f"{head.name} deleted in the past")
        self.dead[head.name] = version
        return asyncio.sleep(self.delay) if self.delay else None


FAULTS = ("refuse", "reset", "429", "500", "410", "slow", "silent", "empty", "garbage", "truncate")
STRIKES = ("drop", "break", "expire", "throttle", "deaf", "cut", "bookmarks", "repeat", "forget")
STEPS = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 11)),
    st.tuples(st.just("put"), st.integers(0, 11)),
    st.tuples(st.just("delete"), st.integers(0, 11)),
    st.tuples(st.sampled_from(FAULTS), st.just(0)),
    st.tuples(st.sampled_from(STRIKES), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([0, 0, 0.1, 1, 10, 200])),
    st.tuples(st.just("quiet"), st.just(0)),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    steps=st.lists(STEPS, min_size=100, max_size=110),
    streams=st.booleans(),
    delays=st.tuples(*[st.sampled_from([0, 0, 0.5, 30])] * 2),
)
@virtual_time
async def test_at_every_quiet_point_the_store_equals_the_server(
    steps: list[tuple[str, Any]], streams: bool, delays: tuple[float, float]
) -> None:
    server = FaultyServer(streams_lists=streams)
    judges = [Judge(delay) for delay in delays]
    async with InformerFactory(
        server, random=Random(len(steps)), watch_options=WatchOptions(page_size=None if streams else 5)
    ) as factory:
        pods = factory.informer(Pod)
        for judge in judges:
            pods.add_event_handler(on_add=judge.added, on_update=judge.updated, on_delete=judge.deleted)
        for action, argument in [*steps, ("quiet", 0)]:
            match action:
                case "put":
                    server.put(f"p{argument}", owner=f"o{argument % 3}")
                case "delete":
                    if f"default/p{argument}" in server.objects:
                        server.delete(f"p{argument}")
                case "wait":
                    await (advance(argument) if argument else wait_all_tasks_blocked())
                case "quiet":
                    server.faults.clear()
                    # An idle deadline, the longest back-off, and what the slow ones need.
                    await advance(700 + 50 * max(delays))
                    truth = {key: int(obj["metadata"]["resourceVersion"]) for key, obj in server.objects.items()}
                    assert {key: pods.store.resource_version(key) for key in pods.store} == truth
                    assert set(pods.store.indexed("owner", "o1")) == {
                        key for key in truth if int(key.removeprefix("default/p")) % 3 == 1
                    }
                    for judge in judges:
                        assert judge.verdicts == []
                        assert {f"default/{name}": at for name, (_, at) in judge.alive.items()} == truth
                case _ if action in FAULTS:
                    server.faults.append(action)
                case _:
                    server.strike(action)
    assert server.watchers == []
    assert server.open == 0


@virtual_time
async def test_an_hour_of_churn_grows_nothing() -> None:
    server, draw = FakeServer(window=100), Random(7)
    for number in range(50):
        server.put(f"p{number}")

    async def slow(*_: Any) -> None:
        await asyncio.sleep(5)

    def census() -> dict[str, int]:
        gc.collect()
        return {
            "tasks": len(asyncio.all_tasks()),
            "watchers": len(server.watchers),
            "owners": len(pods.store.index_values("owner")),
            "namespaces": len(list(pods.store.namespace("default"))),
            "snapshots": len(pods.store._snapshots),
            "heads": sum(isinstance(obj, Stream) for obj in gc.get_objects()),
        }

    async with InformerFactory(server, random=Random(1), resync=60) as factory:
        pods = factory.informer(Pod)
        pods.add_event_handler(on_add=slow, on_update=slow, on_delete=slow)
        pods.add_event_handler(on_update=lambda old, new: None)
        await pods.wait_synced()
        before: dict[str, int] = {}
        for minute in range(60):
            for _ in range(60):
                server.put(f"p{draw.randrange(50)}", owner=f"o{draw.randrange(5)}")
                if draw.random() < 0.3:
                    name = f"p{draw.randrange(50)}"
                    server.delete(name) if f"default/{name}" in server.objects else server.put(name)
                await advance(1)
            if minute % 7 == 3:
                server.drop_watches(broken())
            if minute % 20 == 11:
                server.forget()
            async with factory.informer(Pod, namespace="default") as passing:
                await passing.wait_synced()
            with pods.snapshot():
                await wait_all_tasks_blocked()
            if minute == 2:
                before = census()
            assert sum(registration.queued for registration in pods.shared.registrations) <= 110
            assert len(pods.store) == len(server.objects)
        after = census()
        assert after["tasks"] == before["tasks"]
        assert after["watchers"] == before["watchers"] == 1
        assert after["snapshots"] <= 1
        assert after["owners"] <= 5
        assert abs(after["heads"] - before["heads"]) <= 2
        assert pods.store.stored_bytes < 60_000
    assert asyncio.all_tasks() == {asyncio.current_task()}
