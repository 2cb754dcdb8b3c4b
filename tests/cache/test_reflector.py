"""The reflector's rules, each against a server that follows a script."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from tests.tasks import stop

from setpoint.cache import Reflector, ReflectorBackoff, Scope, WatchOptions
from setpoint.cache.errors import is_too_large
from setpoint.cache.reflector_sink import EventType
from setpoint.client import CredentialsError
from setpoint.models.core_v1 import Pod
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked

from .fakes import (
    ScriptedSource,
    Stream,
    bookmark,
    broken,
    event,
    pod,
    pod_list,
    refusal,
    refused,
    status,
    to_bytes,
)


class RecordingSink:
    """A store of names, and everything that was said to it."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.said: list[Any] = []
        self._listing: set[str] = set()

    def begin(self) -> None:
        self._listing = set()

    def item(self, raw: bytes) -> bool:
        before = len(self._listing)
        self._listing.add(self._name(raw))
        return len(self._listing) > before

    def unlisted(self, raw: bytes) -> None:
        self._listing.discard(self._name(raw))

    def finish(self, resource_version: str) -> None:
        self.names = self._listing
        self.said.append(("replaced", resource_version))

    def event(self, type: EventType, raw: bytes, ordered: bool) -> str:
        name = self._name(raw)
        if type == "DELETED":
            self.names.discard(name)
        else:
            self.names.add(name)
        version: str = msgspec.json.decode(raw)["metadata"]["resourceVersion"]
        self.said.append((type, version))
        return version

    def bookmark(self, resource_version: str) -> None:
        self.said.append(("BOOKMARK", resource_version))

    def flush(self) -> None:
        pass

    @staticmethod
    def _name(raw: bytes) -> str:
        name: str = msgspec.json.decode(raw)["metadata"]["name"]
        return name


class World:
    def __init__(self, source: ScriptedSource, sink: RecordingSink, reflector: Reflector) -> None:
        self.source = source
        self.sink = sink
        self.reflector = reflector
        self.errors: list[Exception] = []


@asynccontextmanager
async def running(
    *script: Exception | bytes | Stream,
    streaming: bool = False,
    random: Random | None = None,
    backoff: ReflectorBackoff | None = None,
    **options: Any,
) -> AsyncIterator[World]:
    source, sink = ScriptedSource(*script), RecordingSink()
    errors: list[Exception] = []
    reflector = Reflector(
        source,
        Scope(Pod.resource),
        sink,
        random=random or Random(1),
        options=WatchOptions(streaming_lists=streaming, **options),
        backoff=backoff,
        on_error=errors.append,
    )
    world = World(source, sink, reflector)
    world.errors = errors
    task = asyncio.create_task(reflector.run())
    try:
        await wait_all_tasks_blocked()
        yield world
    finally:
        await stop(task)
        assert source.open == 0


@virtual_time
async def test_watches_from_the_version_of_the_list() -> None:
    async with running(pod_list([pod("a", version=3)], 10)) as world:
        assert world.sink.names == {"a"}
        first, watch = world.source.requests
        assert first.version == ""
        assert not first.is_watch
        assert watch.is_watch
        assert watch.version == "10"
        assert watch.query["allowWatchBookmarks"] == "true"


@virtual_time
async def test_tells_the_sink_every_version_in_order() -> None:
    stream = Stream(
        event("ADDED", pod("a", version=11)),
        event("MODIFIED", pod("a", version=20)),
        bookmark(30),
        event("DELETED", pod("a", version=40)),
    )
    async with running(pod_list([], 10), stream) as world:
        assert world.sink.said == [
            ("replaced", "10"),
            ("ADDED", "11"),
            ("MODIFIED", "20"),
            ("BOOKMARK", "30"),
            ("DELETED", "40"),
        ]
        assert world.reflector.last_resource_version == "40"
        assert world.sink.names == set()


@virtual_time
async def test_takes_up_a_closed_watch_at_once_where_it_ended() -> None:
    async with running(pod_list([], 10), Stream(event("ADDED", pod("a", version=12)), close=True)) as world:
        assert [watch.version for watch in world.source.watches] == ["10", "12"]
        assert len(world.source.lists) == 1
        assert [request.at for request in world.source.requests] == [0, 0, 0]


@virtual_time
async def test_the_first_list_is_of_the_newest_state_or_of_any_as_asked() -> None:
    async with running(pod_list([], 10)) as world:
        assert [list_request.version for list_request in world.source.lists] == [""]
    async with running(pod_list([], 10), first_list="newest") as world:
        assert [list_request.version for list_request in world.source.lists] == [""]
    async with running(pod_list([], 10), first_list="any") as world:
        assert [list_request.version for list_request in world.source.lists] == ["0"]


@virtual_time
async def test_a_bookmark_moves_the_place_to_go_on_from() -> None:
    async with running(pod_list([], 10), Stream(bookmark(25), bookmark(25), bookmark(""), close=True)) as world:
        assert [watch.version for watch in world.source.watches] == ["10", "25"]


@virtual_time
async def test_a_very_short_watch_is_an_error_and_lists_again_after_a_wait() -> None:
    async with running(pod_list([], 10), Stream(close=True), pod_list([], 11)) as world:
        assert world.reflector.counters.short_watches == 1
        await advance(2)
        assert [list_request.version for list_request in world.source.lists] == ["", "10"]
        assert 0.8 <= world.source.lists[1].at < 1.6


@virtual_time
async def test_relists_at_the_last_version_and_watches_from_there() -> None:
    script = (pod_list([], 10), Stream(event("ERROR", status(500, "InternalError"))), pod_list([], 15))
    async with running(*script) as world:
        await advance(2)
        assert [list_request.version for list_request in world.source.lists] == ["", "10"]
        assert [watch.version for watch in world.source.watches] == ["10", "15"]


@virtual_time
async def test_410_in_a_watch_lists_at_the_last_version_first_and_410_in_that_list_at_the_newest() -> None:
    script = (
        pod_list([pod("a", version=5)], 10),
        Stream(event("ERROR", status(410, "Expired", "too old resource version"))),
        refusal(410, "Expired"),
        pod_list([pod("b", version=18)], 20),
    )
    async with running(*script) as world:
        await advance(2)
        assert [list_request.version for list_request in world.source.lists] == ["", "10", ""]
        assert world.source.lists[1].at == world.source.lists[2].at, "the newest is asked for at once"
        assert world.sink.names == {"b"}
        assert world.reflector.counters.relists == {"expired": 1}


@virtual_time
async def test_410_as_the_answer_to_a_watch_lists_again() -> None:
    async with running(pod_list([], 10), refusal(410, "Gone"), pod_list([], 20)) as world:
        await advance(2)
        assert [list_request.version for list_request in world.source.lists] == ["", "10"]


TOO_LARGE = (
    refusal(504, "Timeout", "x", [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]),
    refusal(504, "Timeout", "x", [{"message": "Too large resource version"}]),
    refusal(500, "InternalError", "Too large resource version: 20, current: 10"),
)


@virtual_time
async def test_too_large_versions_of_every_age_of_server_list_the_newest() -> None:
    script: list[Any] = [pod_list([], 20)]
    for number, problem in enumerate(TOO_LARGE):
        assert is_too_large(problem)
        script += [Stream(event("ERROR", status(500, "InternalError"))), problem, pod_list([], 30 + 10 * number)]
    async with running(*script) as world:
        await advance(30)
        assert [list_request.version for list_request in world.source.lists] == ["", "20", "", "30", "", "40", ""]


@virtual_time
async def test_429_to_a_watch_and_within_it_retries_the_watch_and_never_lists() -> None:
    throttled = refusal(429, "TooManyRequests")
    stream = Stream(event("ADDED", pod("a", version=12)), event("ERROR", status(429, "TooManyRequests")))
    async with running(pod_list([], 10), throttled, stream) as world:
        await advance(60)
        assert len(world.source.lists) == 1
        assert [watch.version for watch in world.source.watches] == ["10", "10", "12"]
        waits = [
            after.at - before.at for before, after in zip(world.source.watches, world.source.watches[1:], strict=False)
        ]
        assert 0.8 <= waits[0] < 1.6
        assert 1.6 <= waits[1] < 3.2


@virtual_time
async def test_a_refused_connection_retries_the_watch_with_growing_waits() -> None:
    async with running(pod_list([], 10), *[refused()] * 9) as world:
        await advance(400)
        assert len(world.source.lists) == 1
        times = [watch.at for watch in world.source.watches]
        waits = [after - before for before, after in pairwise(times)]
        nominal = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]
        assert all(least <= wait < 2 * least for least, wait in zip(nominal, waits, strict=True))


@virtual_time
async def test_backoff_starts_anew_after_two_quiet_minutes() -> None:
    backoff = ReflectorBackoff(Random(3))
    assert [0.8 <= backoff.next(0) < 1.6, 1.6 <= backoff.next(1) < 3.2, 3.2 <= backoff.next(2) < 6.4] == [True] * 3
    assert 6.4 <= backoff.next(122) < 12.8
    assert 0.8 <= backoff.next(242.1) < 1.6


@virtual_time
async def test_other_backoffs_can_be_given() -> None:
    backoff = ReflectorBackoff(Random(1), initial=0.001, maximum=0.05, jitter=0)
    async with running(*[refused()] * 10, pod_list([], 1), backoff=backoff) as world:
        await advance(1)
        assert world.source.watches[0].at == pytest.approx(0.001 + 0.002 + 0.004 + 0.008 + 0.016 + 0.032 + 4 * 0.05)


@virtual_time
async def test_a_watch_asks_to_be_ended_after_five_to_ten_minutes() -> None:
    requests = []
    async with running(pod_list([], 10), *[Stream(bookmark(n), close=True) for n in range(11, 60)]) as world:
        requests = [int(watch.query["timeoutSeconds"]) for watch in world.source.watches]
    assert min(requests) >= 300
    assert max(requests) < 600
    assert max(requests) - min(requests) > 150
    async with running(pod_list([], 10), min_watch_timeout=20) as world:
        assert int(world.source.watches[0].query["timeoutSeconds"]) >= 300
    async with running(pod_list([], 10), min_watch_timeout=1800) as world:
        assert 1800 <= int(world.source.watches[0].query["timeoutSeconds"]) < 3600


@virtual_time
async def test_a_silent_stream_is_dead_after_the_idle_deadline_and_taken_up_again() -> None:
    async with running(pod_list([], 10), idle_timeout=330.0) as world:
        await advance(329)
        assert len(world.source.watches) == 1
        await advance(2)
        assert [watch.version for watch in world.source.watches] == ["10", "10"]
        assert len(world.source.lists) == 1
        assert world.reflector.counters.ends == {"idle": 1}


@virtual_time
async def test_a_silence_of_more_than_two_bookmarks_is_the_end_of_a_watch_where_there_were_any() -> None:
    first, second = Stream(), Stream()
    async with running(pod_list([], 10), first, second, idle_timeout=330.0) as world:
        for version in (11, 12, 13):
            await advance(60)
            first.send(bookmark(version))
        await advance(149)
        assert len(world.source.watches) == 1
        await advance(2)
        assert [watch.version for watch in world.source.watches] == ["10", "13"]
        assert world.reflector.counters.ends == {"idle": 1}
        # it was the server's right to be silent, so this is learned anew
        await advance(328)
        assert len(world.source.watches) == 2
        await advance(2)
        assert len(world.source.watches) == 3


@virtual_time
async def test_what_was_learned_of_bookmarks_holds_for_the_next_watch_and_never_goes_below_a_minute() -> None:
    first, second = Stream(bookmark(11)), Stream()
    async with running(pod_list([], 10), first, second, idle_timeout=330.0) as world:
        await advance(1)
        first.close()
        await advance(59)
        assert [watch.version for watch in world.source.watches] == ["10", "11"]
        await advance(2)
        assert [watch.version for watch in world.source.watches] == ["10", "11", "11"]
        assert world.reflector.counters.ends == {"closed": 1, "idle": 1}


@virtual_time
async def test_a_program_that_waits_for_ever_waits_for_ever() -> None:
    stream = Stream(bookmark(11))
    async with running(pod_list([], 10), stream, idle_timeout=None) as world:
        await advance(10_000)
        assert len(world.source.watches) == 1


@virtual_time
async def test_a_watch_that_breaks_after_it_has_lived_is_taken_up_and_one_that_breaks_at_once_lists_again() -> None:
    lived, stillborn = Stream(event("ADDED", pod("a", version=12))), Stream()
    lived.fail(broken())
    stillborn.fail(broken())
    async with running(pod_list([], 10), lived, stillborn, pod_list([], 20)) as world:
        assert [watch.version for watch in world.source.watches] == ["10", "12"]
        await advance(2)
        assert [list_request.version for list_request in world.source.lists] == ["", "12"]


@virtual_time
async def test_a_server_that_repeats_one_event_and_hangs_up_is_no_hot_loop() -> None:
    again = [Stream(event("ADDED", pod("a", version=10)), close=True) for _ in range(50)]
    async with running(pod_list([pod("a", version=10)], 10), *again) as world:
        await advance(10)
        assert len(world.source.watches) < 6


@virtual_time
async def test_a_line_cut_off_by_the_end_of_the_stream_is_not_taken() -> None:
    whole, cut = event("ADDED", pod("a", version=12)), event("ADDED", pod("b", version=13))[:-40]
    async with running(pod_list([], 10), Stream(whole + cut, close=True)) as world:
        assert world.sink.names == {"a"}
        assert world.source.watches[-1].version == "12"


@virtual_time
async def test_events_split_anywhere_are_put_together() -> None:
    data = b"".join(event("ADDED", pod(f"p{number}", version=11 + number)) for number in range(5))
    for size in (1, 7, 1000):
        stream = Stream(*(data[place : place + size] for place in range(0, len(data), size)))
        async with running(pod_list([], 10), stream) as world:
            assert world.sink.names == {f"p{number}" for number in range(5)}


@virtual_time
async def test_an_event_of_unknown_type_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        stream = Stream(event("SNEEZED", pod("x", version=11)), event("ADDED", pod("a", version=12)))
        async with running(pod_list([], 10), stream) as world:
            assert world.sink.names == {"a"}
    assert "SNEEZED" in caplog.text


@virtual_time
async def test_what_is_no_event_at_all_begins_anew() -> None:
    async with running(pod_list([], 10), Stream(b"<html>502</html>\n"), pod_list([], 11)) as world:
        await advance(2)
        assert len(world.source.lists) == 2
        assert "not a watch event" in str(world.errors[0])


@virtual_time
async def test_pretty_printed_events_are_understood() -> None:
    odd = b'{ "object" : %b , "type" : "ADDED" }\n' % to_bytes(pod("a", version=11))
    async with running(pod_list([], 10), Stream(odd)) as world:
        assert world.sink.names == {"a"}


@virtual_time
async def test_cancelling_closes_the_stream_and_asks_nothing_more() -> None:
    stream = Stream()
    async with running(pod_list([], 10), stream) as world:
        assert not stream.closed_by_client
        count = len(world.source.requests)
    assert stream.closed_by_client
    await advance(100)
    assert len(world.source.requests) == count


@virtual_time
async def test_cancelling_while_waiting_to_retry_ends_at_once() -> None:
    async with running(refused(), refused()):
        await advance(1)
    assert asyncio.get_running_loop().time() < 2


@virtual_time
async def test_an_error_event_closes_its_stream() -> None:
    stream = Stream(event("ERROR", status(500, "InternalError")))
    async with running(pod_list([], 10), stream):
        assert stream.closed_by_client


@virtual_time
async def test_a_failing_list_is_tried_again_for_ever_and_reported() -> None:
    script = [refusal(403, "Forbidden", "pods is forbidden"), refused(), refusal(404, "NotFound"), pod_list([], 3)]
    async with running(*script) as world:
        await advance(60)
        assert [type(error).__name__ for error in world.errors] == ["Forbidden", "TransportError", "NotFound"]
        assert world.source.watches[0].version == "3"
        assert [list_request.version for list_request in world.source.lists] == [""] * 4


@virtual_time
async def test_a_synthetic_stream_from_version_zero_records_no_version_until_a_real_change() -> None:
    stream = Stream(event("ADDED", pod("b", version=9)), event("ADDED", pod("a", version=4)))
    async with running(pod_list([], "0"), stream) as world:
        assert world.reflector.last_resource_version == "0"
        stream.send(event("MODIFIED", pod("a", version=11)))
        await wait_all_tasks_blocked()
        assert world.reflector.last_resource_version == "11"


# -- pages -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_pages_follow_the_continue_token_without_a_version() -> None:
    pages = [
        pod_list([pod(f"a{n}", version=1) for n in range(4)], 10, token="C1"),
        pod_list([pod(f"b{n}", version=1) for n in range(4)], 10, token="C2"),
        pod_list([pod(f"c{n}", version=1) for n in range(2)], 10),
    ]
    async with running(*pages, page_size=4) as world:
        request = [
            (list_request.version, list_request.query.get("limit"), list_request.query.get("continue"))
            for list_request in world.source.lists
        ]
        assert request == [("", "4", None), ("", "4", "C1"), ("", "4", "C2")]
        assert len(world.sink.names) == 10


@virtual_time
async def test_a_relist_at_a_version_is_not_paged() -> None:
    async with running(pod_list([], 10), Stream(close=True), pod_list([], 10)) as world:
        await advance(2)
        assert [list_request.query.get("limit") for list_request in world.source.lists] == ["500", None]


@virtual_time
async def test_relists_are_paged_where_the_server_has_paged_a_list_at_zero() -> None:
    script = [pod_list([], 10, token="C1"), pod_list([], 10), Stream(close=True), pod_list([], 10)]
    async with running(*script, first_list="any") as world:
        await advance(2)
        assert [list_request.query.get("limit") for list_request in world.source.lists] == ["500", "500", "500"]


@virtual_time
async def test_a_page_that_expired_makes_one_full_list_at_the_same_version() -> None:
    script = [
        pod_list([], 10),
        Stream(close=True),
        pod_list([pod("stale", version=1)], 10, token="C1"),
        refusal(410, "Expired"),
        pod_list([pod("a", version=1)], 11),
    ]
    async with running(*script, page_size=4) as world:
        await advance(2)
        request = [(list_request.version, list_request.query.get("limit")) for list_request in world.source.lists]
        assert request == [("", "4"), ("10", "4"), ("", "4"), ("10", None)]
        assert world.sink.names == {"a"}


@virtual_time
async def test_a_list_that_breaks_off_changes_nothing() -> None:
    body = pod_list([pod(f"p{n}", version=1) for n in range(9)], 10)
    script = [pod_list([pod("a", version=1)], 5), Stream(close=True), Stream(body[:-300], close=True)]
    async with running(*script) as world:
        await advance(2)
        assert world.sink.names == {"a"}
        assert "ended in the middle" in str(world.errors[-1])


# -- streamed lists --------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_streamed_list_is_complete_with_its_bookmark_and_goes_on_as_a_watch() -> None:
    stream = Stream(event("ADDED", pod("a", version=2)), event("ADDED", pod("b", version=3)))
    async with running(stream, streaming=True) as world:
        assert world.sink.said == []
        request = world.source.requests[0]
        assert request.query["sendInitialEvents"] == "true"
        assert request.query["resourceVersionMatch"] == "NotOlderThan"
        assert request.version == ""
        stream.send(event("MODIFIED", pod("b", version=4)), event("DELETED", pod("a", version=5)))
        stream.send(bookmark(5), bookmark(7, end=True), event("ADDED", pod("c", version=9)))
        await wait_all_tasks_blocked()
        assert world.sink.said == [("replaced", "7"), ("ADDED", "9")]
        assert world.sink.names == {"b", "c"}
        assert len(world.source.requests) == 1
        stream.close()
        await wait_all_tasks_blocked()
        assert world.source.requests[1].version == "9"
        assert not world.source.requests[1].is_streamed_list


@virtual_time
async def test_the_bookmark_counts_only_with_exactly_true() -> None:
    almost = event(
        "BOOKMARK",
        {"kind": "Pod", "metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "True"}}},
    )
    async with running(Stream(event("ADDED", pod("a", version=2)), almost), streaming=True) as world:
        assert world.sink.said == []


@pytest.mark.parametrize(
    "problem", [refusal(422, "Invalid"), refusal(400, "BadRequest"), refusal(500, "InternalError")]
)
@virtual_time
async def test_a_server_that_refuses_to_stream_is_listed_at_once(problem: Exception) -> None:
    async with running(problem, pod_list([pod("a", version=1)], 10), streaming=True) as world:
        assert world.sink.names == {"a"}
        assert [request.is_watch for request in world.source.requests] == [True, False, True]
        assert world.source.requests[-1].at == 0


@virtual_time
async def test_a_server_that_never_begins_to_stream_is_listed_after_the_deadline() -> None:
    async with running(Stream(), pod_list([pod("a", version=1)], 10), streaming=True) as world:
        await advance(29)
        assert world.sink.names == set()
        await advance(2)
        assert world.sink.names == {"a"}


@virtual_time
async def test_a_slow_streamed_list_has_its_deadline_put_off_by_every_event_and_the_watch_has_none() -> None:
    stream = Stream()
    async with running(stream, streaming=True) as world:
        for number in range(5):
            await advance(20)
            stream.send(event("ADDED", pod(f"p{number}", version=number + 1)))
        await advance(20)
        stream.send(bookmark(9, end=True))
        await advance(200)
        assert len(world.sink.names) == 5
        assert len(world.source.requests) == 1


@virtual_time
async def test_a_streamed_list_is_throttled_and_refused_without_falling_back() -> None:
    stream = Stream(bookmark(9, end=True))
    async with running(refusal(429, "TooManyRequests"), refused(), stream, streaming=True) as world:
        await advance(10)
        assert all(request.is_streamed_list for request in world.source.requests)
        assert world.sink.said == [("replaced", "9")]


@virtual_time
async def test_a_streamed_list_that_ends_early_is_begun_anew() -> None:
    early = Stream(event("ADDED", pod("a", version=2)), close=True)
    whole = Stream(event("ADDED", pod("b", version=3)), bookmark(9, end=True))
    async with running(early, whole, streaming=True) as world:
        await advance(2)
        assert [request.is_streamed_list for request in world.source.requests] == [True, True]
        assert world.sink.names == {"b"}


@virtual_time
async def test_a_streamed_relist_asks_for_the_last_version_and_for_the_newest_when_that_expired() -> None:
    first = Stream(bookmark(9, end=True), event("ERROR", status(410, "Expired")))
    async with running(first, refusal(410, "Expired"), Stream(bookmark(20, end=True)), streaming=True) as world:
        await advance(2)
        assert [request.version for request in world.source.requests] == ["", "9", ""]
        assert world.sink.said[-1] == ("replaced", "20")


@virtual_time
async def test_a_corrupt_object_deleted_unsafely_makes_a_new_list() -> None:
    stream = Stream(event("ERROR", status(500, "StoreReadError", "object could not be read")))
    lists = pod_list([pod("a", version=1), pod("b", version=1)], 10), pod_list([pod("a", version=1)], 12)
    async with running(lists[0], stream, lists[1]) as world:
        await advance(2)
        assert world.sink.names == {"a"}


@virtual_time
async def test_credentials_that_fail_for_a_while_are_an_outage_and_not_the_end() -> None:
    failing = CredentialsError("exec plugin 'login' ended with exit code 1")
    stream = Stream(bookmark(12, end=True))
    async with running(failing, failing, stream, streaming=True) as world:
        await advance(60)
        assert world.reflector.last_resource_version == "12"
        stream.fail(broken())
        world.source.script.append(failing)
        await advance(60)
        assert world.source.watches[-1].version == "12", "the watch goes on where it was"
        assert world.source.lists == []
