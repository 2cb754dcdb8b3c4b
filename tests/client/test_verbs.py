"""The requests of each verb and the results from their answers, over both transports."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest
from tests.tasks import stop

from setpoint.client import (
    Conflict,
    Expired,
    NotFound,
    PatchType,
    Request,
    TransportError,
)
from setpoint.meta import DecodeError, Object, ObjectMeta, Resource, Status, decode, raw_of
from setpoint.meta.shard_ranges import ShardRanges

from .conftest import Answer, Connect, Globe, Thing, ThingSpec, answer, echo, failure

THING = {
    "apiVersion": "v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "ns", "uid": "u1", "resourceVersion": "7"},
    "spec": {"containers": [{"name": "c", "image": "i", "new": 1}], "replicas": 1, "future": {"x": [None]}},
}


async def test_get_sends_path_and_accept_and_gives_the_object(connect: Connect) -> None:
    async with connect(lambda request: answer(THING)) as (client, server):
        thing = await client.get(Thing, "a", namespace="ns", resource_version="5")
    assert thing.spec.containers[0].image == "i"
    assert json.loads(raw_of(thing) or b"") == THING
    (sent,) = server.requests
    assert (sent.method, sent.path, sent.query) == (
        "GET",
        "/api/v1/namespaces/ns/things/a",
        (("resourceVersion", "5"),),
    )
    assert sent.headers["accept"] == "application/json"


async def test_lists_and_watches_ask_for_ranges_of_a_shard_and_deletions_refuse_them(connect: Connect) -> None:
    shard = ShardRanges("uid", [(0, 1 << 63)])
    async with connect(lambda request: answer({"items": []})) as (client, server):
        await client.list(Thing, field_selector=shard)
        assert [thing async for thing in client.pages(Thing, field_selector=shard)] == []
        async with client.watch(Thing, field_selector=shard) as watch:
            with pytest.raises(TransportError):
                await anext(watch)
        with pytest.raises(TypeError, match="would delete all objects"):
            await client.delete_all(Thing, field_selector=shard)
    selector = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    assert [dict(request.query)["shardSelector"] for request in server.requests] == [selector] * 3


async def test_namespace_of_the_client_counts_where_none_is_given(connect: Connect) -> None:
    globe = {"apiVersion": "x.example.com/v1beta1", "kind": "Globe"}

    def behave(request: Request) -> Answer:
        if request.path.endswith("/things") and request.method == "GET":
            return answer({"items": []})
        return echo(globe if "globes" in request.path else THING, request)

    async with connect(behave, namespace="home") as (client, server):
        await client.get(Thing, "a")
        await client.get(Globe, "earth")
        await client.list(Thing)
        await client.create(Thing(metadata=ObjectMeta(name="a")))
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/home/things/a",
        "/apis/x.example.com/v1beta1/globes/earth",
        "/api/v1/things",
        "/api/v1/namespaces/home/things",
    ]
    assert json.loads(server.requests[3].body or b"")["metadata"] == {"name": "a", "namespace": "home"}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
async def test_a_name_that_would_address_something_else_is_refused(connect: Connect, name: str) -> None:
    async with connect(lambda request: answer(THING)) as (client, server):
        with pytest.raises(ValueError, match="name of the Thing"):
            await client.get(Thing, name)
        with pytest.raises(ValueError, match="name of the Thing"):
            await client.delete(Thing, name)
        if name:
            with pytest.raises(ValueError, match="namespace"):
                await client.list(Thing, namespace=name)
    assert server.requests == []


async def test_names_with_colons_and_other_letters_arrive_as_they_are(connect: Connect) -> None:
    def behave(request: Request) -> Answer:
        return answer({"metadata": {"name": "system:node é+?#&"}, "items": []})

    async with connect(behave) as (client, server):
        await client.get(Globe, "system:node é+?#&")
        await client.list(Thing, selector={"app": "web"}, field_selector="metadata.name!=a b&c")
    assert server.requests[0].path.endswith("/globes/system:node é+?#&")
    assert dict(server.requests[1].query) == {"labelSelector": "app=web", "fieldSelector": "metadata.name!=a b&c"}


async def test_list_gives_typed_objects_that_remember_their_json(connect: Connect) -> None:
    document = {"kind": "ThingList", "metadata": {"resourceVersion": "9", "continue": "tok"}, "items": [THING, THING]}
    async with connect(lambda request: answer(document)) as (client, _):
        things = await client.list(Thing, namespace="ns", limit=2)
    assert [thing.key for thing in things] == ["ns/a", "ns/a"]
    assert (things.metadata.resource_version, things.metadata.continue_) == ("9", "tok")
    assert json.loads(raw_of(things[0]) or b"") == THING


async def test_null_items_are_an_empty_list(connect: Connect) -> None:
    async with connect(lambda request: answer({"metadata": {}, "items": None})) as (client, _):
        assert len(await client.list(Thing)) == 0


async def test_one_bad_item_does_not_fail_the_list(connect: Connect) -> None:
    bad = {"metadata": {"name": "bad", "namespace": "ns"}, "spec": {"replicas": "many"}}
    async with connect(lambda request: answer({"metadata": {}, "items": [bad, THING]})) as (client, _):
        things = await client.list(Thing)
    assert [thing.name for thing in things] == [thing.name for thing in things.items] == ["a"]
    assert "ns/bad" in str(things.broken[0])
    assert (len(things), things[1].name, things[-1].name) == (2, "a", "a")
    with pytest.raises(DecodeError, match="ns/bad"):
        things[0]


async def test_an_object_of_a_list_is_decoded_when_it_is_looked_at_and_stays_the_same(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []

    def counting(kind: type[Thing], raw: bytes) -> Thing:
        document = decode(kind, raw)
        decoded.append(document.name)
        return document

    monkeypatch.setattr("setpoint.client.object_list.decode", counting)
    items = [{**THING, "metadata": {"name": name, "labels": {"app": name}}} for name in "abc"]
    async with connect(lambda request: answer({"metadata": {}, "items": items})) as (client, _):
        things = await client.list(Thing)
    assert len(things) == 3
    assert [head.name for head in things.heads] == ["a", "b", "c"]
    assert decoded == []
    second = things[1]
    second.labels["mine"] = "yes"
    assert (second.name, decoded) == ("b", ["b"])
    assert things[-2] is second
    assert list(things)[1] is second
    assert things[1:] == [second, things[2]]
    assert sorted(decoded) == ["a", "b", "c"]
    assert "mine" not in things.heads[1].labels  # heads say what the server sent
    with pytest.raises(IndexError):
        things[3]


async def test_metadata_that_cant_be_read_spoils_no_other_head(connect: Connect) -> None:
    bad = {"metadata": {"name": "bad", "labels": 7}}
    nulls = {"metadata": {"name": "nulls", "labels": None}}
    async with connect(lambda request: answer({"metadata": {}, "items": [bad, nulls, THING]})) as (client, _):
        things = await client.list(Thing)
    assert [head.name for head in things.heads] == ["", "nulls", "a"]
    assert len(things.broken) == 1
    assert [thing.name for thing in things] == ["nulls", "a"]


def paged(request: Request) -> Answer:
    token = dict(request.query).get("continue", "")
    start = int(token or 0)
    limit = int(dict(request.query).get("limit", 100))
    names = [f"n{i}" for i in range(start, min(start + limit, 5))]
    more = str(start + limit) if start + limit < 5 else ""
    # The first two are computed, as metrics are, and have no uid.
    items = [{"metadata": {"name": name, **({"uid": name} if name > "n1" else {})}} for name in names]
    return answer({"metadata": {"continue": more}, "items": items})


async def test_pages_follow_the_tokens(connect: Connect) -> None:
    async with connect(paged) as (client, server):
        assert [thing.name async for thing in client.pages(Thing, limit=2)] == ["n0", "n1", "n2", "n3", "n4"]
    assert len(server.requests) == 3


async def test_pages_go_on_with_a_full_list_when_the_token_has_expired(connect: Connect) -> None:
    def behave(request: Request) -> Answer:
        if dict(request.query).get("continue") == "4":
            return failure(410, "Expired", "too old")
        return paged(request)

    async with connect(behave) as (client, _):
        assert [thing.name async for thing in client.pages(Thing, limit=2)] == ["n0", "n1", "n2", "n3", "n4"]
    async with connect(lambda request: failure(410, "Expired")) as (client, _):
        with pytest.raises(Expired):
            [thing async for thing in client.pages(Thing)]


async def test_update_sends_a_patch_of_what_was_changed_under_the_version_that_was_read(connect: Connect) -> None:
    def behave(request: Request) -> Answer:
        return echo(THING, request)

    async with connect(behave) as (client, server):
        thing = await client.get(Thing, "a", namespace="ns")
        thing.spec.replicas = 3
        thing.spec.containers[0].image = "j"
        await client.update(thing)
        await client.update_status(await client.get(Thing, "a", namespace="ns"))
    sent = server.requests[1]
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/ns/things/a")
    assert sent.headers["content-type"] == "application/merge-patch+json"
    assert json.loads(sent.body or b"") == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"replicas": 3, "containers": [{"name": "c", "image": "j", "new": 1}]},
    }
    assert len(server.requests) == 3, "an update that changes nothing is not sent"


async def test_update_of_an_object_made_by_hand_says_what_to_use(connect: Connect) -> None:
    async with connect(lambda request: echo(THING, request)) as (client, _):
        with pytest.raises(ValueError, match=r"apply\(\), create\(\) or replace\(\)"):
            await client.update(Thing.named("a"))


async def test_replace_puts_the_typed_object(connect: Connect) -> None:
    async with connect(lambda request: echo(THING, request)) as (client, server):
        await client.replace(await client.get(Thing, "a", namespace="ns"), dry_run=True, field_validation="Strict")
    sent = server.requests[1]
    assert sent.method == "PUT"
    assert sent.query == (("dryRun", "All"), ("fieldManager", "setpoint"), ("fieldValidation", "Strict"))
    assert "future" not in json.loads(sent.body or b"")["spec"]


async def test_apply_leaves_out_what_only_the_server_may_say(connect: Connect) -> None:
    async with connect(lambda request: echo({**THING, "status": {"phase": "x"}}, request)) as (client, server):
        thing = await client.get(Thing, "a", namespace="ns")
        await client.apply(thing)
        await client.apply(thing, subresource="status", force=False, field_manager="other")
    main, status = server.requests[1:]
    assert (main.method, main.path) == ("PATCH", "/api/v1/namespaces/ns/things/a")
    assert main.headers["content-type"] == "application/apply-patch+yaml"
    assert dict(main.query) == {"fieldManager": "setpoint", "force": "true"}
    document = json.loads(main.body or b"")
    assert document["metadata"] == {"name": "a", "namespace": "ns"}
    assert document["apiVersion"] == "v1"
    assert document["kind"] == "Thing"
    assert "status" not in document
    assert dict(status.query) == {"fieldManager": "other"}
    assert status.path.endswith("/status")
    assert json.loads(status.body or b"")["status"] == {"phase": "x"}


async def test_delete_of_an_object_hits_no_newer_one_of_its_name(connect: Connect) -> None:
    async with connect(lambda request: echo(THING, request)) as (client, server):
        gone = await client.delete(
            await client.get(Thing, "a", namespace="ns"), propagation="Foreground", grace_period_seconds=0
        )
    assert isinstance(gone, Thing)
    assert json.loads(server.requests[1].body or b"") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u1"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
    }


async def test_delete_gives_the_status_where_the_server_answers_one(connect: Connect) -> None:
    done = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"uid": "u1"}}
    async with connect(lambda request: answer(done)) as (client, server):
        status = await client.delete(Thing, "a", namespace="ns")
        await client.delete_all(Thing, selector="app=web")
    assert isinstance(status, Status)
    assert status.status == "Success"
    assert not server.requests[0].body
    assert (server.requests[1].method, server.requests[1].path) == ("DELETE", "/api/v1/namespaces/default/things")


async def test_patch_sends_any_type(connect: Connect) -> None:
    async with connect(lambda request: echo(THING, request)) as (client, server):
        await client.patch(Thing, "a", [{"op": "remove", "path": "/x"}], type=PatchType.JSON, subresource="status")
    assert server.requests[0].path.endswith("/things/a/status")
    assert server.requests[0].headers["content-type"] == "application/json-patch+json"


async def test_a_list_of_operations_is_a_json_patch_and_all_else_a_merge_patch_unless_the_caller_says(
    connect: Connect,
) -> None:
    async with connect(lambda request: echo(THING, request)) as (client, server):
        await client.patch(Thing, "a", [{"op": "remove", "path": "/x"}])
        await client.patch(Thing, "a", {"x": None})
        await client.patch(Thing, "a", b'{"x": null}')
        await client.patch(Thing, "a", b"[]", type=PatchType.JSON)
    kinds = [request.headers["content-type"].partition("-patch")[0] for request in server.requests]
    assert kinds == ["application/json", "application/merge", "application/merge", "application/json"]


async def test_observers_hear_of_writes_that_succeeded(connect: Connect) -> None:
    events: list[tuple[str, ...]] = []

    def behave(request: Request) -> Answer:
        return failure(409, "Conflict") if request.method == "PUT" else echo(THING, request)

    async with connect(behave) as (client, _):
        stop = client.on_write(
            lambda item: events.append(
                (str(item.resource), item.key, item.uid, item.version, item.verb, item.content_type)
            )
        )
        thing = await client.create(Thing.named("a", spec=ThingSpec(replicas=1)))
        await client.patch(Thing, "a", {})
        await client.create(thing, dry_run=True)
        with pytest.raises(Conflict):
            await client.replace(thing)
        await client.delete(thing)
        stop()
        await client.apply(thing)
    assert events == [
        ("things", "default/a", "u1", "7", "create", "application/json"),
        ("things", "default/a", "u1", "7", "patch", "application/merge-patch+json"),
        ("things", "default/a", "u1", "7", "delete", ""),
    ]


async def test_watch_gives_events_and_lets_bookmarks_and_errors_through_undecoded(connect: Connect) -> None:
    async def stream() -> AsyncIterator[bytes]:
        lines = [
            {"type": "ADDED", "object": THING},
            {"type": "BOOKMARK", "object": {"kind": "Thing", "metadata": {"resourceVersion": "12"}}},
            {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}},
        ]
        text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        for start in range(0, len(text), 7):
            yield text[start : start + 7]

    async with (
        connect(lambda request: Answer(body=stream())) as (client, server),
        client.watch(Thing, namespace="ns", resource_version="3", selector="a=b") as events,
    ):
        added, bookmark, error = [event async for event in events]
    assert isinstance(added.object, Thing)
    assert added.object.key == "ns/a"
    assert (bookmark.type, bookmark.resource_version) == ("BOOKMARK", "12")
    assert isinstance(error.object, Status)
    assert isinstance(error.error, Expired)
    assert dict(server.requests[0].query) == {
        "watch": "true",
        "resourceVersion": "3",
        "labelSelector": "a=b",
        "allowWatchBookmarks": "true",
    }


async def test_a_stream_that_ends_within_a_line_is_an_error(connect: Connect) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b'{"type": "ADDED", "obj'

    async with connect(lambda request: Answer(body=stream())) as (client, _):
        with pytest.raises(TransportError, match="within a line"):
            [event async for event in client.watch(Thing)]


async def test_a_watch_that_is_cancelled_or_left_is_closed_at_once(connect: Connect) -> None:
    closed = asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            yield json.dumps({"type": "ADDED", "object": THING}).encode() + b"\n"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with connect(lambda request: Answer(body=stream())) as (client, _):
        started = asyncio.Event()

        async def follow() -> None:
            async for _ in client.watch(Thing):
                started.set()

        task = asyncio.create_task(follow())
        await started.wait()
        await stop(task)
        if client.config is None and not hasattr(client.transport, "config"):
            assert closed.is_set()
        closed.clear()
        async with client.watch(Thing) as events:
            await anext(events)
        if not hasattr(client.transport, "config"):
            assert closed.is_set()


async def test_closing_the_client_ends_streams_with_an_error(connect: Connect) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield json.dumps({"type": "ADDED", "object": THING}).encode() + b"\n"
        await asyncio.Event().wait()

    async with connect(lambda request: Answer(body=stream())) as (client, _):
        started = asyncio.Event()

        async def follow() -> None:
            async for _ in client.watch(Thing):
                started.set()

        task = asyncio.create_task(follow())
        await started.wait()
        await client.close()
        with pytest.raises(TransportError, match="closed"):
            await task
        with pytest.raises(TransportError, match="closed"):
            await client.get(Thing, "a")


async def test_errors_say_what_was_asked_of_whom(connect: Connect) -> None:
    async with connect(lambda request: failure(404, "NotFound", 'things "a" not found')) as (client, _):
        with pytest.raises(NotFound, match=r'^get things ns/a: NotFound \(404\): things "a" not found$') as caught:
            await client.get(Thing, "a", namespace="ns")
        assert (caught.value.verb, caught.value.resource, caught.value.key) == ("get", "things", "ns/a")
        with pytest.raises(NotFound, match=r"^list globes.x.example.com: "):
            await client.list(Globe)
        with pytest.raises(NotFound, match=r"^watch things ns/: "):
            async for _ in client.watch(Thing, namespace="ns"):
                pass


@pytest.mark.usefixtures("nothing_frozen")
async def test_a_long_list_leaves_the_garbage_collector_as_it_was(connect: Connect) -> None:
    document = {"metadata": {}, "items": [THING] * 300}
    async with connect(lambda request: answer(document)) as (client, _):
        for collecting in (True, False):
            try:
                if not collecting:
                    gc.disable()
                things = await client.list(Thing)
                assert len(things.heads) == len(things.items) == 300
                assert gc.isenabled() is collecting
                assert gc.get_freeze_count() == 0
            finally:
                gc.enable()


@pytest.mark.usefixtures("nothing_frozen")
async def test_lists_do_not_hide_garbage_from_the_collector(connect: Connect) -> None:
    class Ring:
        """A piece of cyclic garbage."""

        def __init__(self) -> None:
            self.itself = self

    documents = [{"metadata": {}, "items": [THING] * length} for length in (1, 300)]
    for document in documents:
        async with connect(lambda request, document=document: answer(document)) as (client, _):
            rings = []
            for _round in range(3):
                rings.append(weakref.ref(Ring()))
                assert len((await client.list(Thing)).items) == len(document["items"])
                gc.collect(1)  # what the lists moved to the oldest generation would survive this
            assert [ring() for ring in rings] == [None] * 3


class Verdict(Object, omit_defaults=True):
    resource: ClassVar[Resource] = Resource(group="court.example.com", version="v1", kind="Status", plural="statuses")


async def test_an_object_of_a_kind_called_status_that_is_being_deleted_is_an_object(connect: Connect) -> None:
    held = {
        "apiVersion": "court.example.com/v1",
        "kind": "Status",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    }
    async with connect(lambda request: answer(held)) as (client, _):
        gone = await client.delete(Verdict, "a", namespace="ns")
    assert isinstance(gone, Verdict)
    assert gone.is_deleting
