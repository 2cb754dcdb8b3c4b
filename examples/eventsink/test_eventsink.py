"""The tests of eventsink.py: its collector is a system outside of the cluster, which fails as such systems do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from functools import partial
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from eventsink import EventSink, EventSinkSpec, controller
from posting import Answer, Collector, NotServed

import setpoint as sp
from setpoint.client import Invalid
from setpoint.meta import MicroTime
from setpoint.models.core_v1 import Namespace, ObjectReference
from setpoint.models.events_v1 import Event, EventSeries

TAKEN = Answer(202)


class Fake(sp.simulation.External, Collector):
    """A collector that remembers what it took. ``answers`` are the next ones; then all is taken."""

    def __init__(self, *answers: Answer | OSError) -> None:
        self.batches: list[list[tuple[str, str]]] = []
        """The id and the note of each Event, by batch."""
        self._answers = list(answers)
        self.most = 1000

    def state(self) -> dict[str, Any]:
        """The notes that came; their number and their requests depend on the faults."""
        return {"notes": sorted({note for batch in self.batches for _, note in batch if note.startswith("told")})}

    @sp.simulation.call
    async def post(self, url: str, batch: bytes) -> Answer:
        answer = self._answers.pop(0) if self._answers else TAKEN
        if isinstance(answer, OSError):
            raise answer
        events = json.loads(batch)
        if len(events) > self.most:
            return Answer(413)
        if answer == TAKEN:
            self.batches.append([(event["id"], event["data"].get("note", "")) for event in events])
        return answer

    def has(self, notes: set[str]) -> bool:
        return notes <= {*self.notes}

    @property
    def notes(self) -> list[str]:
        return [note for batch in self.batches for _, note in batch]


def using(collector: Collector) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Collector]:
        yield collector

    return lifespan


def running(collector: Collector, *objects: sp.Object) -> AbstractAsyncContextManager[sp.testing.Cluster]:
    return sp.testing.cluster(controller, objects=objects, control_plane=False, lifespan=using(collector))


def sink(batch: int = 200, gather: float = 1.0, url: str = "https://collector.example.net/events") -> EventSink:
    return EventSink.named("main", spec=EventSinkSpec(url=url, batch=batch, gather=sp.Duration(seconds=gather)))


def event(name: str, namespace: str = "default") -> Event:
    about = ObjectReference(api_version="v1", kind="Pod", name="web", namespace=namespace)
    event_ = Event.named(name, namespace, event_time=MicroTime(2026, 5, 1, tzinfo=UTC))
    event_.reason, event_.action, event_.type, event_.note = "Told", "Tell", "Normal", f"told {name}"
    event_.regarding, event_.reporting_controller, event_.reporting_instance = about, "example.com/test", "test-1"
    return event_


async def tell(cluster: sp.testing.Cluster, *names: str, namespace: str = "default") -> list[str]:
    """Makes an Event of each name; returns their notes."""
    return [str((await cluster.create(event(name, namespace))).note) for name in names]


def delivering(sink: EventSink) -> tuple[str, str]:
    (condition,) = [condition_ for condition_ in sink.status.conditions if condition_.type == "Delivering"]
    return condition.status, condition.reason


@sp.testing.virtual_time
async def test_the_events_of_all_namespaces_come_once_in_their_order_and_changes_of_them_come_too() -> None:
    collector = Fake()
    async with running(collector, Namespace.named("red")) as cluster:
        expected = await tell(cluster, "a", "b") + await tell(cluster, "c", namespace="red")
        await cluster.create(sink())
        await cluster.settle()
        assert collector.notes == expected
        again = await cluster.get(Event, "a")
        again.series = EventSeries(count=2, last_observed_time=again.event_time)
        await cluster.update(again)
        await sp.testing.advance(5)
        assert collector.notes == [*expected, "told a"]
        ids = [uid for batch in collector.batches for uid, _ in batch]
        assert ids[-1] == f"{again.uid}/{(await cluster.get(Event, 'a')).metadata.resource_version}"
        assert len(set(ids)) == 4
        current = await cluster.get(EventSink, "main")
        assert current.status.forwarded == 4
        assert delivering(current) == ("True", "Taken")


@sp.testing.virtual_time
async def test_events_are_gathered_and_no_batch_is_larger_than_it_may_be() -> None:
    collector = Fake()
    async with running(collector, sink(batch=3, gather=10)) as cluster:
        expected = await tell(cluster, "first")
        await cluster.settle()
        for name in "abcdefg":
            expected += await tell(cluster, name)
            await sp.testing.advance(0.5)
        assert collector.notes == ["told first"], "while Events are gathered, nothing is sent"
        await sp.testing.advance(10)
        assert collector.notes == expected
        assert [len(batch) for batch in collector.batches] == [1, 3, 3, 1]


@sp.testing.virtual_time
async def test_a_collector_that_is_away_is_asked_ever_less_often_and_gets_all_when_it_is_back() -> None:
    away = [ConnectionRefusedError("refused") for _ in range(8)]
    collector = Fake(*away)
    async with running(collector, sink()) as cluster:
        expected = await tell(cluster, "a")
        await sp.testing.advance(2)
        current = await cluster.get(EventSink, "main")
        assert delivering(current) == ("False", "NoAnswer")
        for number in range(20):  # each of them wakes the operator, and none of them shortens its patience
            expected += await tell(cluster, f"b{number}")
            await sp.testing.advance(1)
        assert (await cluster.get(EventSink, "main")).status.failures == 5
        await sp.testing.advance(300)
        assert collector.notes == expected
        assert delivering(await cluster.get(EventSink, "main")) == ("True", "Taken")
        assert (await cluster.get(EventSink, "main")).status.failures == 0


@sp.testing.virtual_time
async def test_a_busy_collector_says_how_long_to_wait_and_one_that_refuses_loses_nothing() -> None:
    collector = Fake(Answer(503, 30.0), Answer(401))
    async with running(collector, sink()) as cluster:
        expected = await tell(cluster, "a")
        await sp.testing.advance(29)
        assert delivering(await cluster.get(EventSink, "main")) == ("False", "Busy")
        await sp.testing.advance(2)
        assert delivering(await cluster.get(EventSink, "main")) == ("False", "Refused")
        await sp.testing.advance(10)
        assert collector.notes == expected


@sp.testing.virtual_time
async def test_a_collector_without_statuses_is_told_in_its_own_words() -> None:
    async with running(Fake(Answer(503, 30.0, "OOM command not allowed")), sink()) as cluster:
        await tell(cluster, "a")
        await sp.testing.advance(2)
        (condition,) = (await cluster.get(EventSink, "main")).status.conditions
        assert (condition.reason, condition.message) == ("Busy", "the collector answers: OOM command not allowed")


@sp.testing.virtual_time
async def test_batches_that_are_too_large_are_halved_and_grow_again() -> None:
    collector = Fake()
    collector.most = 2
    async with running(collector) as cluster:
        expected = await tell(cluster, *"abcdefgh")
        await cluster.create(sink(batch=8))
        await cluster.settle()
        assert collector.notes == expected
        collector.most = 1000
        expected += await tell(cluster, *(f"again-{name}" for name in "abcdefghijklmnop"))
        await sp.testing.advance(60)
        assert collector.notes == expected
        assert len(collector.batches[-1]) >= 2
        assert (await cluster.get(EventSink, "main")).status.limit == 0


@sp.testing.virtual_time
async def test_one_event_that_is_too_large_for_the_collector_holds_up_no_other() -> None:
    collector = Fake(Answer(413))
    async with running(collector) as cluster:
        await tell(cluster, "large")
        await cluster.create(sink(batch=1))
        expected = await tell(cluster, "a")
        await cluster.settle()
        assert collector.notes == expected
        assert (await cluster.get(EventSink, "main")).status.too_large == 1


@sp.testing.virtual_time
async def test_a_new_process_goes_on_where_the_last_one_ended() -> None:
    collector = Fake()
    async with sp.testing.cluster(crds=[EventSink], objects=[sink()], control_plane=False) as cluster:
        expected = await tell(cluster, "before")
        for number in range(3):
            options = sp.ManagerOptions(now=cluster.now, random=cluster.random)
            async with sp.Manager(cluster.client, controllers=[controller], lifespan=using(collector), options=options):
                expected += await tell(cluster, f"during-{number}")
                await sp.testing.advance(10)
                assert collector.notes == expected
            expected += await tell(cluster, f"after-{number}")


@sp.testing.virtual_time
async def test_a_url_that_is_none_is_refused_with_its_field() -> None:
    async with running(Fake()) as cluster:
        with pytest.raises(Invalid, match=r"spec\.url"):
            await cluster.create(sink(url="collector.example.net"))
        with pytest.raises(Invalid, match=r"spec\.url"):
            await cluster.create(sink(url="redis://without.a.stream.example.net"))
        with pytest.raises(Invalid, match=r"spec\.batch"):
            await cluster.create(sink(batch=0))
        with pytest.raises(Invalid, match=r"spec\.gather.*0s to 5m"):
            await cluster.create(sink(gather=3600))


async def test_a_collector_over_http_gets_cloud_events_with_the_token_of_the_file(tmp_path: Any) -> None:
    requests: list[tuple[str, str, bytes]] = []

    async def take(request: web.Request) -> web.Response:
        requests.append((request.content_type, request.headers["Authorization"], await request.read()))
        return web.Response(status=503, headers={"Retry-After": "7"})

    app = web.Application()
    app.router.add_post("/events", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    (tmp_path / "token").write_text("secret\n")
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/events"
    async with aiohttp.ClientSession() as session:
        collector = Collector(session, str(tmp_path / "token"))
        assert await collector.post(url, b"[]") == Answer(503, 7.0)
        assert requests == [("application/cloudevents-batch+json", "Bearer secret", b"[]")]
        await runner.cleanup()
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            await collector.post(url, b"[]")
        with pytest.raises(NotServed, match="--streams"):
            await collector.post("redis://127.0.0.1/events", b"[]")


@sp.testing.virtual_time
async def test_a_sink_that_the_program_has_no_client_for_is_told_so_and_not_that_the_collector_is_silent() -> None:
    async with aiohttp.ClientSession() as session, running(Collector(session)) as cluster:
        await tell(cluster, "a")
        await cluster.create(sink(url="redis://queue.example.net/events"))
        await cluster.settle()
        current = await cluster.get(EventSink, "main")
        assert delivering(current) == ("False", "NotServed")
        assert "--streams" in current.status.conditions[0].message


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    collector = Fake()

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(sink(batch=2))
        for names in ("abc", "d", "ef"):
            notes = {*await tell(cluster, *names)}
            await cluster.until(partial(collector.has, notes))

    def is_in_order(objects: sp.simulation.Objects) -> bool:
        first = [int(batch[0][0].rpartition("/")[2]) for batch in collector.batches]
        return first == sorted(first)

    def is_counted(objects: sp.simulation.Objects) -> bool:
        """No Event is left out or counted twice."""
        (main,) = objects.list(EventSink)
        states = {state for batch in collector.batches for state, _ in batch}
        return len(objects.list(Event)) <= main.status.forwarded <= len(states)

    return sp.simulation.check(
        scenario,
        lambda: [controller],
        control_plane=False,
        lifespan=using(collector),
        externals=[collector],
        predicates=[
            sp.simulation.always(is_in_order, "nothing comes again but the last batch"),
            sp.simulation.eventually(is_counted),
        ],
        ignore={"eventsinks.events.example.com status.forwarded": "Events about faults are forwarded, too"},
        budget=budget,
        **options,
    )
