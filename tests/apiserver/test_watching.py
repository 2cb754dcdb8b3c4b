"""Watches: every change once, in order, from any revision that is remembered."""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.harness import CRDS, MAPS, MYKINDS, PODS, Api, config_map, crd, mykind, pod, serving

from setpoint.apiserver import ApiServer, MemoryStorage, SqliteStorage
from setpoint.testing import advance, now, virtual_time, wait_all_tasks_blocked


def seen(events: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(type_, obj["metadata"]["name"]) for type_, obj in events]


@virtual_time
async def test_changes_come_as_they_happen() -> None:
    async with serving() as api, api.watch(MAPS, resourceVersion=str(api.revision)) as events:
        await api.post(MAPS, config_map("a"))
        await api.patch(f"{MAPS}/a", {"data": {"x": "y"}})
        await api.post("/api/v1/namespaces/kube-system/configmaps", config_map("elsewhere"))
        await api.post(PODS, pod("not-a-map"))
        await api.delete(f"{MAPS}/a")
        result = await events.take(3)
        assert seen(result) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert result[1][1]["data"] == {"x": "y"}
        assert result[2][1]["metadata"]["resourceVersion"] == str(api.revision)
        assert result[0][1]["kind"] == "ConfigMap"


@virtual_time
async def test_without_revision_it_begins_with_what_is_there() -> None:
    async with serving() as api:
        for name in "ba":
            await api.post(MAPS, config_map(name))
        for query in ({}, {"resourceVersion": "0"}):
            async with api.watch(MAPS, **query) as events:
                assert seen(await events.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
                await api.patch(f"{MAPS}/a", {"data": {"x": str(query)}})
                assert seen(await events.take(1)) == [("MODIFIED", "a")]


@virtual_time
async def test_the_past_is_replayed() -> None:
    async with serving() as api:
        start = api.revision
        for name in "abc":
            await api.post(MAPS, config_map(name))
        async with api.watch(MAPS, resourceVersion=start + 1) as events:
            assert seen(await events.take(2)) == [("ADDED", "b"), ("ADDED", "c")]


@virtual_time
async def test_what_begins_to_match_is_added_and_what_ceases_is_deleted() -> None:
    async with serving() as api:
        start = api.revision
        for labels in ({"app": "x"}, {"app": "y"}, {"app": "y", "z": "1"}, {"app": "x"}, {"app": "x", "z": "2"}):
            obj = config_map(metadata={"labels": labels})
            if (await api.post(MAPS, obj)).status != 201:
                (await api.put(f"{MAPS}/web", obj)).ok()
        await api.delete(f"{MAPS}/web")
        async with api.watch(MAPS, resourceVersion=start, labelSelector="app=x") as events:
            result = await events.take(5)
        assert seen(result) == [
            ("ADDED", "web"),
            ("DELETED", "web"),
            ("ADDED", "web"),
            ("MODIFIED", "web"),
            ("DELETED", "web"),
        ]
        assert [obj["metadata"]["resourceVersion"] for _, obj in result] == [str(start + n) for n in (1, 2, 4, 5, 6)]
        assert result[1][1]["metadata"]["labels"] == {"app": "x"}  # as it was when it still matched


@virtual_time
async def test_one_object_can_be_watched_by_field_or_by_the_old_path() -> None:
    async with serving() as api:
        start = str(api.revision)
        for name in "ab":
            await api.post(MAPS, config_map(name))
        async with api.watch(MAPS, resourceVersion=start, fieldSelector="metadata.name=b") as events:
            assert seen(await events.take(1)) == [("ADDED", "b")]
        answer = await api.get("/api/v1/watch/namespaces/default/configmaps/b", resourceVersion=start)
        assert json.loads(await anext(answer.body))["object"]["metadata"]["name"] == "b"
        await answer.body.aclose()


@virtual_time
async def test_bookmarks_come_each_minute_and_at_the_end() -> None:
    async with serving() as api:
        query = {"resourceVersion": str(api.revision), "allowWatchBookmarks": "true", "timeoutSeconds": "150"}
        async with api.watch(MAPS, **query) as events:
            rest = asyncio.create_task(events.rest())
            await advance(30)
            await api.post(PODS, pod())
            await advance(31)
            revision = str(api.revision)
            await advance(90)
            result = await rest
        assert [type_ for type_, _ in result] == ["BOOKMARK"] * 3
        assert [obj["metadata"]["resourceVersion"] for _, obj in result] == [revision] * 3
        assert result[0][1]["kind"] == "ConfigMap"
        assert asyncio.get_running_loop().time() < 152


@virtual_time
async def test_nobody_gets_bookmarks_unasked() -> None:
    async with serving() as api, api.watch(MAPS, resourceVersion=str(api.revision), timeoutSeconds="200") as events:
        assert await events.rest() == []
        assert asyncio.get_running_loop().time() == 200


@virtual_time
async def test_a_watch_without_timeout_ends_after_half_an_hour_or_more() -> None:
    async with serving() as api, api.watch(MAPS, resourceVersion=str(api.revision)) as events:
        assert await events.rest() == []
        assert 1800 <= asyncio.get_running_loop().time() <= 3600


@virtual_time
async def test_a_streaming_list_ends_with_its_bookmark() -> None:
    async with serving() as api:
        await api.post(MAPS, config_map("a"))
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        revision = str(api.revision)
        async with api.watch(MAPS, **query) as events:
            await api.post(MAPS, config_map("later"))
            (first, mark, later) = await events.take(3)
        assert (first[0], first[1]["metadata"]["name"]) == ("ADDED", "a")
        assert mark[0] == "BOOKMARK"
        annotations = {"k8s.io/initial-events-end": "true"}
        assert mark[1]["metadata"] == {"resourceVersion": revision, "annotations": annotations}
        assert seen([later]) == [("ADDED", "later")]


@virtual_time
async def test_a_revision_that_is_forgotten_is_410_at_once() -> None:
    async with serving() as api:
        start = api.revision
        await api.post(MAPS, config_map("a"))
        api.server.storage.compact(api.revision)
        answer = await api.get(MAPS, watch="true", resourceVersion=str(start))
        answer.failed(410, "Expired", f"too old resource version: {start} ({api.revision})")


@virtual_time
async def test_a_slow_watcher_is_told_to_start_again_and_holds_nothing() -> None:
    async with serving(MemoryStorage(max_events=20)) as api:
        async with api.watch(MAPS, resourceVersion=str(api.revision)) as events:
            for index in range(50):
                (await api.post(MAPS, config_map(f"m{index}"))).ok()
            ((type_, status),) = await events.rest()
        assert type_ == "ERROR"
        assert (status["code"], status["reason"]) == (410, "Expired")


@virtual_time
async def test_a_server_that_closes_ends_its_watches() -> None:
    server = ApiServer(now=now, random=Random(1))
    await server.start()
    api = Api(server)
    async with api.watch(MAPS, resourceVersion=str(api.revision)) as events:
        rest = asyncio.create_task(events.rest())
        await wait_all_tasks_blocked()
        await server.close()
        assert await rest == []
    assert not server.watches
    (await api.get(MAPS)).failed(503, "ServiceUnavailable")


@virtual_time
async def test_a_watch_that_nobody_reads_can_be_closed() -> None:
    async with serving() as api:
        answer = await api.get(MAPS, watch="true")
        assert len(api.server.watches) == 1
        await answer.body.aclose()
        assert not api.server.watches


@virtual_time
async def test_watches_on_a_crd_that_goes_end() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        async with api.watch(MYKINDS, resourceVersion=str(api.revision)) as events:
            (await api.delete(f"{CRDS}/mykinds.grp.example.com")).ok()
            assert seen(await events.rest()) == [("DELETED", "one")]


@virtual_time
async def test_events_can_be_tables_with_headers_only_in_the_first() -> None:
    async with serving() as api:
        start = str(api.revision)
        for name in "ab":
            await api.post(PODS, pod(name))
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        answer = await api.send("GET", PODS, query={"watch": "1", "resourceVersion": start}, accept=accept)
        tables = [json.loads(line)["object"] for line in (await anext(answer.body)).splitlines()]
        await answer.body.aclose()
        assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]
        assert tables[0]["columnDefinitions"]
        assert not tables[1]["columnDefinitions"]


STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["set", "unset", "delete"]), st.integers(0, 3)), max_size=25
)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, cuts=st.lists(st.integers(0, 25), max_size=3), selector=st.sampled_from(["", "on=yes"]))
def test_a_watch_resumed_anywhere_ends_up_where_a_list_is(
    steps: list[tuple[str, str, int]], cuts: list[int], selector: str
) -> None:
    @virtual_time
    async def run() -> None:
        async with serving() as api:
            listed = (await api.get(MAPS, labelSelector=selector)).ok()
            version, expected = listed["metadata"]["resourceVersion"], dict[str, Any]()
            for index, (name, what, value) in enumerate(steps):
                obj = config_map(
                    name, metadata={"labels": {"on": "yes"} if what == "set" else {}}, data={"v": str(value)}
                )
                if what == "delete":
                    await api.delete(f"{MAPS}/{name}")
                elif (await api.post(MAPS, obj)).status != 201:
                    (await api.put(f"{MAPS}/{name}", obj)).ok()
                if index in cuts:
                    version = await follow(api, version, expected)
            await follow(api, version, expected)
            final = (await api.get(MAPS, labelSelector=selector)).ok()
            wanted = {item["metadata"]["name"]: item for item in final["items"]}
            assert {name: {**obj, "kind": None, "apiVersion": None} for name, obj in expected.items()} == {
                name: {**obj, "kind": None, "apiVersion": None} for name, obj in wanted.items()
            }

    async def follow(api: Api, version: str, known: dict[str, Any]) -> str:
        query = {"resourceVersion": version, "labelSelector": selector, "timeoutSeconds": "1"}
        async with api.watch(MAPS, **query) as events:
            for type_, obj in await events.rest():
                name = obj["metadata"]["name"]
                assert int(obj["metadata"]["resourceVersion"]) > int(version)
                version = obj["metadata"]["resourceVersion"]
                assert (type_ == "ADDED") == (name not in known)
                if type_ == "DELETED":
                    del known[name]
                else:
                    known[name] = obj
        return version

    run()


@virtual_time
async def test_a_watch_goes_on_after_a_restart_of_the_server() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with serving(SqliteStorage(directory), now=now) as api:
            await api.post(MAPS, config_map("a"))
            version = str(api.revision)
            await api.post(MAPS, config_map("b"))
        async with serving(SqliteStorage(directory), now=lambda: now() + timedelta(days=1)) as api:
            await api.post(MAPS, config_map("c"))
            async with api.watch(MAPS, resourceVersion=version) as events:
                assert seen(await events.take(2)) == [("ADDED", "b"), ("ADDED", "c")]
            lost = await api.get(MAPS, watch="1", resourceVersion=str(int(version) + 5))
            lost.failed(410, "Expired")
