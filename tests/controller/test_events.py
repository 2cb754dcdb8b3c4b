"""Events: what is sent of what is reported."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random
from types import FrameType
from typing import Any

import pytest
from tests.tasks import stop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import ApiError, Client, InProcessTransport, TransportError
from setpoint.client.errors import error_from_status
from setpoint.controller import events
from setpoint.controller.events import AGGREGATE_AFTER, BURST, CAPACITY, EventRecorder
from setpoint.meta import Status, StatusCause, StatusDetails
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.models.events_v1 import Event
from setpoint.models.rbac_v1 import Role
from setpoint.testing import EPOCH, advance, cluster, virtual_time

from .world import Widget, widget


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class Recording:
    """A recorder that runs, and the server behind it."""

    running: asyncio.Future[None]

    def __init__(self, client: Client) -> None:
        self.client = client
        self.recorder = EventRecorder(client, now=now, random=Random(0), instance="test-1")
        self.problem: Exception | None = None
        self.tries = 0
        self.holds_patches = False
        self.patch_problem: Exception | None = None
        self.patches = 0

    async def events(self) -> list[Event]:
        return (await self.client.list(Event)).items


@asynccontextmanager
async def recording(obj: Any = None) -> AsyncIterator[tuple[Recording, Any]]:
    async with ApiServer(now=now, random=Random(0)) as server:
        inner = InProcessTransport(server.handle)

        class Faulty:
            def send(self, request: Any) -> Any:
                if request.method == "POST" and "events" in request.path:
                    new_recording.tries += 1
                    if new_recording.problem is not None:
                        raise new_recording.problem
                if request.method == "PATCH":
                    new_recording.patches += 1
                    if new_recording.holds_patches:
                        return unanswered()
                    if new_recording.patch_problem is not None:
                        raise new_recording.patch_problem
                return inner.send(request)

            async def close(self) -> None:
                """Nothing to close."""

        new_recording = Recording(Client(Faulty()))
        about = await new_recording.client.create(obj or ConfigMap.named("about", "default"))
        new_recording.running = asyncio.ensure_future(new_recording.recorder.run())
        try:
            yield new_recording, about
        finally:
            await stop(new_recording.running)


@asynccontextmanager
async def unanswered() -> AsyncIterator[Any]:
    """The answer to a request that the server never answers."""
    yield await asyncio.Event().wait()


@virtual_time
async def test_a_report_becomes_an_event_beside_its_object() -> None:
    async with recording() as (new_recording, about):
        new_recording.recorder.event(about, "Warning", "Failed", "no such image", action="Pulling", by="widget")
        await advance(1)
        (event,) = await new_recording.events()
        assert event.regarding is not None
        assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("ConfigMap", "about", about.uid)
        assert (event.namespace, event.type, event.reason, event.note) == (
            "default", "Warning", "Failed", "no such image",
        )  # fmt: skip
        assert (event.action, event.reporting_controller, event.reporting_instance) == ("Pulling", "widget", "test-1")
        assert event.event_time == EPOCH
        assert event.series is None


@virtual_time
async def test_a_report_that_is_not_unicode_is_sent_with_escapes_and_ends_nothing() -> None:
    async with recording() as (new_recording, about):
        new_recording.recorder.event(
            about, "Warning", "Failed", "no such file: caf\udce9", action="Read\udce9", related=about
        )
        new_recording.recorder.event(about, "Normal", "Fine", "all is well")
        await advance(1)
        first, second = sorted(await new_recording.events(), key=lambda event: event.reason or "")
        assert (first.note, first.action) == ("no such file: caf\\udce9", "Read\\udce9")
        assert second.note == "all is well"


@virtual_time
async def test_events_are_listed_in_the_order_of_their_reports() -> None:
    async with recording() as (new_recording, about):
        reasons = ["Scheduled", "Pulled", "Created", "Started", "Killing"]
        for reason in reasons:
            new_recording.recorder.event(
                about, "Normal", reason, "all in one moment" if reason != "Killing" else "later"
            )
            await advance(float(reason == "Started"))
        await advance(1)
        listed = await new_recording.client.list(Event, namespace="default")
        assert [item.reason for item in listed.items] == reasons


@virtual_time
async def test_events_about_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    async with recording(Namespace.named("about")) as (new_recording, about):
        new_recording.recorder.event(about, "Normal", "Seen", "hello")
        await advance(1)
        assert [event.namespace for event in await new_recording.events()] == ["default"]


@virtual_time
async def test_the_same_report_again_is_a_series() -> None:
    async with recording() as (new_recording, about):
        for _ in range(2):
            new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
            await advance(1)
        (event,) = await new_recording.events()
        assert event.series is not None
        assert event.series.count == 2
        for _ in range(5):
            new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(0.1)
        (event,) = await new_recording.events()
        assert event.series is not None
        assert event.series.count == 2, "a growing series is not written for every report"
        await advance(31)
        (event,) = await new_recording.events()
        assert event.series is not None
        assert event.series.count == 7
        assert event.series.last_observed_time > EPOCH


@pytest.mark.parametrize("reports", [1, 3])
def test_a_series_whose_write_is_cancelled_is_written_at_the_end_with_its_exact_count(reports: int) -> None:
    @virtual_time
    async def check() -> None:
        async with recording() as (new_recording, about):
            for _ in range(reports):
                new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
                await advance(1)
            new_recording.holds_patches = True
            new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
            await advance(31)
            await stop(new_recording.running)
            new_recording.holds_patches = False
            await new_recording.recorder.flush()
            (event,) = await new_recording.events()
            assert event.series is not None
            assert event.series.count == reports + 1

    check()


@virtual_time
async def test_an_event_is_remembered_for_six_minutes_though_nothing_else_is_reported() -> None:
    async with recording() as (new_recording, about):
        new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(350)
        assert [event.reason for event, _, _ in new_recording.recorder.about(about.uid)] == ["Scaled"]
        await advance(20)
        assert new_recording.recorder.about(about.uid) == []


@virtual_time
async def test_a_series_that_was_idle_for_six_minutes_is_over() -> None:
    async with recording() as (new_recording, about):
        new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(400)
        new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(1)
        assert len(await new_recording.events()) == 2


@virtual_time
async def test_a_series_whose_event_has_expired_begins_anew() -> None:
    async with recording() as (new_recording, about):
        new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(1)
        (event,) = await new_recording.events()
        await new_recording.client.delete(event)
        new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
        await advance(1)
        assert len(await new_recording.events()) == 1


@virtual_time
async def test_many_similar_reports_are_combined() -> None:
    async with recording() as (new_recording, about):
        for number in range(AGGREGATE_AFTER + 5):
            new_recording.recorder.event(about, "Normal", "Scaled", f"to {number}")
        await advance(60)
        events = await new_recording.events()
        assert len(events) == AGGREGATE_AFTER + 1
        (combined,) = [event for event in events if (event.note or "").startswith("(combined from similar events): ")]
        assert combined.series is not None
        assert combined.series.count == 5


@virtual_time
async def test_similar_reports_that_are_far_apart_are_not_combined() -> None:
    async with recording() as (new_recording, about):
        for number in range(AGGREGATE_AFTER + 5):
            new_recording.recorder.event(about, "Normal", "Scaled", f"to {number}")
            await advance(100)
        assert len(await new_recording.events()) == AGGREGATE_AFTER + 5


@virtual_time
async def test_one_object_can_not_flood_the_server_and_others_are_not_affected() -> None:
    async with recording() as (new_recording, about):
        other = await new_recording.client.create(ConfigMap.named("other", "default"))
        for number in range(BURST + 10):
            new_recording.recorder.event(about, "Normal", f"Reason{number}", "x")
        new_recording.recorder.event(other, "Normal", "Seen", "x")
        await advance(1)
        assert len(await new_recording.events()) == BURST + 1
        assert new_recording.recorder.dropped == 10
        await advance(300)
        new_recording.recorder.event(about, "Normal", "Later", "x")
        new_recording.recorder.event(about, "Normal", "Later2", "x")
        await advance(1)
        assert len(await new_recording.events()) == BURST + 2


@virtual_time
async def test_reporting_never_waits_and_the_queue_is_bounded() -> None:
    async with recording() as (new_recording, _):
        for number in range(CAPACITY + 50):
            new_recording.recorder.event(ConfigMap.named(f"c-{number}", "default"), "Normal", "Seen", "x")
        assert new_recording.recorder.dropped == 50


@virtual_time
async def test_a_server_that_can_not_be_reached_is_tried_for_two_minutes() -> None:
    async with recording() as (new_recording, about):
        new_recording.problem = TransportError("no route", sent=False)
        new_recording.recorder.event(about, "Normal", "Seen", "x")
        await advance(300)
        assert new_recording.tries == 12
        new_recording.problem = None
        new_recording.recorder.event(about, "Normal", "Seen", "x")
        await advance(1)
        assert len(await new_recording.events()) == 1


@pytest.mark.parametrize(("code", "tries"), [(403, 1), (422, 1), (500, 12), (429, 12)])
def test_refusals_are_final_and_a_server_in_trouble_is_not(code: int, tries: int) -> None:
    @virtual_time
    async def check() -> None:
        async with recording() as (new_recording, about):
            new_recording.problem = error_from_status(Status(code=code, reason="x", message="no"))
            assert isinstance(new_recording.problem, ApiError)
            new_recording.recorder.event(about, "Normal", "Seen", "x")
            await advance(300)
            assert new_recording.tries == tries
            assert new_recording.recorder.dropped == 1

    check()


@virtual_time
async def test_a_report_about_an_object_whose_namespace_ends_or_has_gone_is_dropped_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with recording() as (new_recording, about):
        cause = StatusCause(reason="NamespaceTerminating", message="it ends", field="metadata.namespace")
        ending, gone = StatusDetails(causes=[cause]), StatusDetails(kind="namespaces", name="default")
        forbidden, missing = StatusDetails(), StatusDetails(kind="events")
        for code, details, warned in ((403, ending, 0), (404, gone, 0), (403, forbidden, 1), (404, missing, 2)):
            reason = "Forbidden" if code == 403 else "NotFound"
            new_recording.problem = error_from_status(Status(code=code, reason=reason, message="no", details=details))
            new_recording.recorder.event(about, "Normal", "Seen", "x")
            await advance(1)
            assert [record.getMessage() for record in caplog.records] == ["event dropped"] * warned
        assert new_recording.recorder.dropped == 4


@virtual_time
async def test_mistakes_are_raised_where_they_are_made() -> None:
    async with recording() as (new_recording, about):
        with pytest.raises(ValueError, match="Normal or Warning"):
            new_recording.recorder.event(about, "Error", "Seen", "x")
        with pytest.raises(ValueError, match="reason"):
            new_recording.recorder.event(about, "Normal", "", "x")


@virtual_time
async def test_controllers_report_events_and_what_is_left_is_sent_at_the_end() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        ctx.event("Normal", "Made", f"made {obj.spec.size}", related=ConfigMap.named("child", "default"))

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        await world.create(widget(size=3))
        await world.settle()
        world.manager.controllers["widget"].env.event(await world.get(Widget, "a"), "Normal", "Last", "words")
        world.manager.stop()
        await advance(1)
        events = await world.list(Event)
        assert sorted((event.reason, event.reporting_controller) for event in events) == [
            ("Last", "test.example.com/widget"),
            ("Made", "test.example.com/widget"),
        ]


@virtual_time
async def test_a_report_costs_the_same_however_many_series_there_are() -> None:
    lines = 0

    def count(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != events.__file__:
            return None
        lines += event == "line"
        return count

    costs = []
    async with recording() as (new_recording, about):
        for number in (20, 400):
            for index in range(number):
                other = ConfigMap.named(f"other-{number}-{index}", "default")
                new_recording.recorder.event(other, "Normal", "Scaled", "to 3")
            await advance(1)
            before, lines = sys.gettrace(), 0
            sys.settrace(count)
            try:
                new_recording.recorder.event(about, "Normal", f"Scaled{number}", "to 3")
                await advance(1)
            finally:
                sys.settrace(before)
            costs.append(lines)
    assert costs[0] == costs[1] > 10


@pytest.mark.parametrize("code", [403, 422])
def test_a_series_that_the_server_refuses_is_not_sent_again_before_it_is_reported_again(code: int) -> None:
    @virtual_time
    async def check() -> None:
        async with recording() as (new_recording, about):
            new_recording.patch_problem = error_from_status(Status(code=code, reason="x", message="no"))
            for _ in range(2):
                new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
            await advance(300)
            assert new_recording.patches == 1
            new_recording.patch_problem = None
            new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
            await advance(1)
            (event,) = await new_recording.events()
            assert event.series is not None
            assert event.series.count == 3

    check()


@pytest.mark.parametrize("problem", [TransportError("no route", sent=False), 500, 429])
def test_a_series_that_can_not_be_sent_is_tried_until_it_ends_and_then_dropped(problem: Any) -> None:
    @virtual_time
    async def check() -> None:
        async with recording() as (new_recording, about):
            status = Status(code=problem if isinstance(problem, int) else 0, reason="x", message="no")
            new_recording.patch_problem = error_from_status(status) if isinstance(problem, int) else problem
            for _ in range(2):
                new_recording.recorder.event(about, "Normal", "Scaled", "to 3")
            await advance(24 * 3600)
            assert 12 <= new_recording.patches <= 14
            assert new_recording.recorder.dropped == 1

    check()


@pytest.mark.parametrize(
    ("note", "sent"),
    [
        ("x" * 5000, "x" * 1024),
        ("ä" * 600, "ä" * 512),
        ("\N{GRINNING FACE}" * 300, "\N{GRINNING FACE}" * 256),
        ("错误" * 512, ("错误" * 512)[:341]),
        ("a" + "ä" * 600, "a" + "ä" * 511),
        ("\udc80" * 600, ("\\udc80" * 600)[:1024]),
        ("", ""),
    ],
)
def test_texts_are_cut_to_the_bytes_that_servers_allow(note: str, sent: str) -> None:
    @virtual_time
    async def check() -> None:
        async with recording() as (new_recording, about):
            new_recording.recorder.event(about, "Normal", "ä" * 100, note, action="ö" * 100)
            await advance(1)
            (event,) = await new_recording.events()
            assert (event.note or "", event.reason, event.action) == (sent, "ä" * 64, "ö" * 64)

    check()


@virtual_time
async def test_the_name_of_a_process_is_cut_as_well() -> None:
    async with recording() as (new_recording, about):
        recorder = EventRecorder(new_recording.client, now=now, random=Random(0), instance="é" * 100)
        recorder.event(about, "Normal", "Made", "it is there")
        await recorder.flush()
        assert [event.reporting_instance for event in await new_recording.events()] == ["é" * 64]


@virtual_time
async def test_combined_notes_are_cut_to_bytes_too() -> None:
    async with recording() as (new_recording, about):
        for number in range(AGGREGATE_AFTER + 1):
            new_recording.recorder.event(about, "Normal", "Scaled", f"{number}" + "错" * 400)
        await advance(1)
        assert len(await new_recording.events()) == AGGREGATE_AFTER + 1
        assert new_recording.recorder.dropped == 0


NAMES = {
    "an": "an",
    "system:controller:x": "event",
    "A_b": "event",
    "a" * 199 + "-" + "b" * 30: "a" * 199,
    ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 7, "e" * 20)): ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 7)),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_object_of_any_name_has_events(name: str) -> None:
    @virtual_time
    async def check() -> None:
        async with recording(Role.named(name, "default")) as (new_recording, about):
            new_recording.recorder.event(about, "Normal", "Seen", "hello")
            await advance(1)
            (event,) = await new_recording.events()
            assert event.name.rpartition(".")[0] == NAMES[name]
            assert event.regarding is not None
            assert event.regarding.name == name

    check()
