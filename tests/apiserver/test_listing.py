"""Lists: selectors, pages that belong together, and the rules of resourceVersion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MAPS, MERGE, MYKINDS, PODS, Api, config_map, crd, mykind, pod, serving

from setpoint.testing import virtual_time
from setpoint.testing.virtual_clock import VirtualTimeLoop


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def names(document: Any) -> list[str]:
    return [item["metadata"]["name"] for item in document["items"]]


async def test_a_list_is_ordered_and_says_its_revision(api: Api) -> None:
    for name in "cab":
        (await api.post(MAPS, config_map(name))).ok()
    listed = (await api.get(MAPS)).ok()
    assert names(listed) == ["a", "b", "c"]
    assert listed["metadata"] == {"resourceVersion": str(api.revision)}
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")


async def test_items_of_built_in_kinds_carry_no_kind_and_custom_ones_do(api: Api) -> None:
    (await api.post(MAPS, config_map())).ok()
    assert set((await api.get(MAPS)).ok()["items"][0]) == {"metadata"}
    (await api.post(CRDS, crd())).ok()
    (await api.post(MYKINDS, mykind())).ok()
    assert (await api.get(MYKINDS)).ok()["items"][0]["kind"] == "Mykind"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"labelSelector": "app=a"}, ["a1", "a2"]),
        ({"labelSelector": "app in (a,b),tier!=x"}, ["a2", "b1"]),
        ({"labelSelector": "!app"}, ["c1"]),
        ({"fieldSelector": "metadata.name=a1"}, ["a1"]),
        ({"fieldSelector": "spec.nodeName=n1,metadata.name!=a1"}, ["b1"]),
        ({"fieldSelector": "status.phase=Pending", "labelSelector": "app=b"}, ["b1"]),
        ({"fieldSelector": "metadata.namespace=other"}, []),
    ],
)
async def test_selectors(api: Api, query: dict[str, str], expected: list[str]) -> None:
    for name, labels, node in (
        ("a1", {"app": "a", "tier": "x"}, "n1"),
        ("a2", {"app": "a"}, ""),
        ("b1", {"app": "b"}, "n1"),
        ("c1", {}, ""),
    ):
        (await api.post(PODS, pod(name, metadata={"labels": labels}, spec={"nodeName": node} if node else {}))).ok()
    assert names((await api.get("/api/v1/pods", **query)).ok()) == expected


async def test_pages_are_of_one_moment_whatever_happens_in_between(api: Api) -> None:
    for index in range(7):
        (await api.post(MAPS, config_map(f"m{index}"))).ok()
    first = (await api.get(MAPS, limit=3)).ok()
    assert names(first) == ["m0", "m1", "m2"]
    assert first["metadata"]["remainingItemCount"] == 4
    await api.delete(f"{MAPS}/m4")
    await api.post(MAPS, config_map("m35"))
    await api.patch(f"{MAPS}/m5", {"data": {"a": "b"}})
    second = (await api.get(MAPS, limit=3, **{"continue": first["metadata"]["continue"]})).ok()
    assert names(second) == ["m3", "m4", "m5"]
    assert "data" not in second["items"][2]
    third = (await api.get(MAPS, limit=3, **{"continue": second["metadata"]["continue"]})).ok()
    assert names(third) == ["m6"]
    assert "continue" not in third["metadata"]
    revisions = {page["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(revisions) == 1


async def test_an_expired_page_offers_to_go_on_inconsistently(api: Api) -> None:
    for index in range(5):
        (await api.post(MAPS, config_map(f"m{index}"))).ok()
    first = (await api.get(MAPS, limit=2)).ok()
    await api.post(MAPS, config_map("m9"))
    api.server.storage.compact(api.revision)
    token = first["metadata"]["continue"]
    status = (await api.get(MAPS, limit=2, **{"continue": token})).failed(
        410, "Expired", "The provided continue parameter is too old to display a consistent list result"
    )
    rest = (await api.get(MAPS, **{"continue": status["metadata"]["continue"]})).ok()
    assert names(rest) == ["m2", "m3", "m4", "m9"]
    assert rest["metadata"]["resourceVersion"] == str(api.revision)


@virtual_time
async def test_pages_can_be_read_for_five_to_ten_minutes() -> None:
    async with serving() as api:
        for index in range(5):
            (await api.post(MAPS, config_map(f"m{index}"))).ok()
        first = (await api.get(MAPS, limit=2)).ok()
        token = first["metadata"]["continue"]
        await api.post(MAPS, config_map("m9"))
        for _ in range(3):
            await asyncio.sleep(100 - 1e-3)
            assert names((await api.get(MAPS, **{"continue": token})).ok()) == ["m2", "m3", "m4"]
        await asyncio.sleep(301)
        status = (await api.get(MAPS, limit=2, **{"continue": token})).failed(410, "Expired", "is too old to display")
        rest = (await api.get(MAPS, limit=2, **{"continue": status["metadata"]["continue"]})).ok()
        assert names(rest) == ["m2", "m3"]
        assert rest["metadata"]["resourceVersion"] == str(api.revision)
        last = (await api.get(MAPS, **{"continue": rest["metadata"]["continue"]})).ok()
        assert names(last) == ["m4", "m9"]
        then = first["metadata"]["resourceVersion"]
        (await api.get(MAPS, resourceVersion=then, resourceVersionMatch="Exact")).failed(410, "Expired", "too old")


@virtual_time
async def test_pages_expire_on_a_server_that_was_idle_meanwhile() -> None:
    async with serving() as api:
        for index in range(3):
            (await api.post(MAPS, config_map(f"m{index}"))).ok()
        await asyncio.sleep(299)
        token = (await api.get(MAPS, limit=1)).ok()["metadata"]["continue"]
        (await api.post(MAPS, config_map("m9"))).ok()
        await asyncio.sleep(3600)
        (await api.get(MAPS, **{"continue": token})).failed(410, "Expired")


@virtual_time
async def test_a_list_at_the_newest_revision_never_expires() -> None:
    async with serving() as api:
        for index in range(3):
            (await api.post(MAPS, config_map(f"m{index}"))).ok()
        token = (await api.get(MAPS, limit=1)).ok()["metadata"]["continue"]
        for _ in range(9):
            await asyncio.sleep(300)
            assert names((await api.get(MAPS, **{"continue": token})).ok()) == ["m1", "m2"]


@virtual_time
async def test_watches_begin_at_revisions_that_lists_have_given_up() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map("m0"))).ok()
        then = str(api.revision)
        (await api.post(MAPS, config_map("m1"))).ok()
        for _ in range(3):
            await asyncio.sleep(300)
            (await api.get(MAPS)).ok()
        (await api.get(MAPS, resourceVersion=then, resourceVersionMatch="Exact")).failed(410, "Expired")
        async with api.watch(MAPS, resourceVersion=then) as events:
            ((type_, obj),) = await events.take(1)
        assert (type_, obj["metadata"]["name"]) == ("ADDED", "m1")


@virtual_time
async def test_nothing_wakes_up_for_compaction() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map("m0"))).ok()
        (await api.get(MAPS, limit=1)).ok()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        assert loop.next_timer() is None


async def test_pages_with_a_selector_do_not_count_what_remains(api: Api) -> None:
    for index in range(5):
        (await api.post(MAPS, config_map(f"m{index}", metadata={"labels": {"odd": str(index % 2)}}))).ok()
    page = (await api.get(MAPS, limit=1, labelSelector="odd=1")).ok()
    assert names(page) == ["m1"]
    assert "remainingItemCount" not in page["metadata"]
    rest = (await api.get(MAPS, limit=1, labelSelector="odd=1", **{"continue": page["metadata"]["continue"]})).ok()
    assert names(rest) == ["m3"]
    last = (await api.get(MAPS, limit=1, labelSelector="odd=1", **{"continue": rest["metadata"]["continue"]})).ok()
    assert names(last) == [], "a page is continued if any object follows, as upstream"
    assert "continue" not in last["metadata"]
    assert "continue" not in (await api.get(MAPS, limit=1, fieldSelector="metadata.name=m1")).ok()["metadata"]


async def test_resource_versions_of_lists(api: Api) -> None:
    (await api.post(MAPS, config_map("a"))).ok()
    then = str(api.revision)
    (await api.post(MAPS, config_map("b"))).ok()
    now = str(api.revision)
    for query, result, version in (
        ({}, ["a", "b"], now),
        ({"resourceVersion": "0"}, ["a", "b"], now),
        ({"resourceVersion": then}, ["a", "b"], now),
        ({"resourceVersion": then, "resourceVersionMatch": "NotOlderThan"}, ["a", "b"], now),
        ({"resourceVersion": then, "resourceVersionMatch": "Exact"}, ["a"], then),
        ({"resourceVersion": then, "limit": "5"}, ["a"], then),
    ):
        listed = (await api.get(MAPS, **query)).ok()
        assert (names(listed), listed["metadata"]["resourceVersion"]) == (result, version), query


async def test_a_list_from_the_cache_has_no_pages(api: Api) -> None:
    for name in "abc":
        (await api.post(MAPS, config_map(name))).ok()
    for query in ({"resourceVersion": "0"}, {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"}):
        listed = (await api.get(MAPS, limit=1, **query)).ok()
        assert names(listed) == ["a", "b", "c"]
        assert "continue" not in listed["metadata"]
    token = (await api.get(MAPS, limit=1)).ok()["metadata"]["continue"]
    page = (await api.get(MAPS, limit=1, resourceVersion="0", **{"continue": token})).ok()
    assert names(page) == ["b", "c"]


async def test_a_watch_can_not_continue_a_list(api: Api) -> None:
    text = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
    answer = await api.get(MAPS, watch=1, timeoutSeconds=1, **{"continue": "x"})
    assert (
        answer.failed(422, "Invalid", "forbidden when")["message"] == f'ListOptions.meta.k8s.io "" is invalid: {text}'
    )


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (MAPS, {}),
        (MAPS, {"labelSelector": "odd=1"}),
        (MAPS, {"fieldSelector": "metadata.name!=m03"}),
        ("/api/v1/configmaps", {"labelSelector": "odd=1"}),
        ("/api/v1/namespaces", {}),
    ],
)
async def test_pages_together_are_the_list_at_their_revision(api: Api, path: str, query: dict[str, str]) -> None:
    for number in range(20):
        (await api.post(MAPS, config_map(f"m{number:02}", metadata={"labels": {"odd": str(number % 2)}}))).ok()
    whole = names((await api.get(path, **query)).ok())
    seen: list[str] = []
    more: dict[str, str] = {}
    for number in range(20):
        page = (await api.get(path, limit=3, **query, **more)).ok()
        seen += names(page)
        if "continue" not in page["metadata"]:
            break
        if not query:
            assert page["metadata"]["remainingItemCount"] == len(whole) - len(seen)
        more = {"continue": page["metadata"]["continue"]}
        (await api.delete(f"{MAPS}/m{19 - number:02}")).ok()
        (await api.post(MAPS, config_map(f"m{number:02}x", metadata={"labels": {"odd": "1"}}))).ok()
        (await api.post("/api/v1/namespaces", {"metadata": {"name": f"n{number:02}"}})).ok()
    assert seen == whole


async def test_a_revision_that_has_not_come_is_a_timeout(api: Api) -> None:
    answer = await api.get(MAPS, resourceVersion=api.revision + 10)
    status = answer.failed(504, "Timeout", f"Too large resource version: {api.revision + 10}, current: {api.revision}")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert status["details"]["retryAfterSeconds"] == 1
    assert answer.headers["retry-after"] == "1"
    (await api.get(f"{MAPS}/x", resourceVersion=api.revision + 10)).failed(504, "Timeout")


async def test_a_revision_that_is_forgotten_is_410(api: Api) -> None:
    (await api.post(MAPS, config_map("a"))).ok()
    then = str(api.revision)
    (await api.post(MAPS, config_map("b"))).ok()
    api.server.storage.compact(api.revision)
    (await api.get(MAPS, resourceVersion=then, resourceVersionMatch="Exact")).failed(410, "Expired", "too old")


async def test_metadata_alone_can_be_asked_for(api: Api) -> None:
    (await api.post(MAPS, config_map("a", data={"x": "y"}, metadata={"labels": {"l": "1"}}))).ok()
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    one = (await api.send("GET", f"{MAPS}/a", accept=accept)).ok()
    assert (one["kind"], one["apiVersion"], "data" in one) == ("PartialObjectMetadata", "meta.k8s.io/v1", False)
    assert one["metadata"]["labels"] == {"l": "1"}
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = (await api.send("GET", MAPS, accept=accept)).ok()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["metadata"]["resourceVersion"] == str(api.revision)
    assert set(listed["items"][0]) == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize("kind", ["built-in", "custom"])
async def test_an_answer_without_managed_fields_is_otherwise_the_same(api: Api, kind: str) -> None:
    (await api.post(CRDS, crd())).ok()
    path, obj = (MYKINDS, mykind("a", spec={"free": {"managedFields": [{"x": 1}]}}))
    if kind == "built-in":
        path, obj = MAPS, config_map("a", data={"managedFields": "x"})
    (await api.apply(f"{path}/a", obj)).ok()
    (await api.patch(f"{path}/a", {"metadata": {"labels": {"l": "1"}}})).ok()
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    answers = {}
    tables = []
    for drop in ("", ";drop=metadata.managedFields", ";drop=spec.other+metadata.managedFields", ";drop=spec.other"):
        accept = f"application/json{drop}"
        watch = await api.send("GET", path, query={"watch": "true", "resourceVersion": "0"}, accept=accept)
        answers[drop] = [
            (await api.send("GET", f"{path}/a", accept=accept)).ok(),
            (await api.send("GET", f"{path}/a", accept=partial + drop)).ok(),
            (await api.send("GET", path, accept=accept)).ok()["items"][0],
            (await api.send("PATCH", f"{path}/a", {}, accept=accept, content_type=MERGE)).ok(),
            json.loads(await anext(watch.body))["object"],
        ]
        await watch.body.aclose()
        tables.append((await api.send("GET", path, accept=table + drop)).ok()["rows"])
    assert all(rows == tables[0] for rows in tables)
    whole, dropped, among_others, other = answers.values()
    assert whole == other
    for obj in whole:
        del obj["metadata"]["managedFields"]
    assert whole == dropped == among_others


async def test_tables_can_be_asked_for(api: Api) -> None:
    (await api.post(PODS, pod())).ok()
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = (await api.send("GET", PODS, accept=accept)).ok()
    assert table["kind"] == "Table"
    assert table["metadata"]["resourceVersion"] == str(api.revision)
    assert table["rows"][0]["cells"][0] == "web"
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    whole = (await api.send("GET", f"{PODS}/web", query={"includeObject": "Object"}, accept=accept)).ok()
    assert whole["rows"][0]["object"]["spec"]["containers"]


async def test_answers_can_be_yaml_or_pretty(api: Api) -> None:
    (await api.post(MAPS, config_map(data={"a": "b"}))).ok()
    answer = await api.send("GET", f"{MAPS}/web", accept="application/yaml")
    assert answer.headers["content-type"] == "application/yaml"
    assert b"\ndata:\n  a: b\n" in b"\n" + answer.body
    assert b'\n  "kind": "ConfigMap"' in (await api.get(f"{MAPS}/web", pretty="true")).body


@pytest.mark.parametrize(
    ("path", "empty"),
    [
        (PODS, []),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", None),
        ("/api/v1/namespaces/default/limitranges", None),
        (CRDS, None),
    ],
)
async def test_lists_of_nothing_are_null_where_they_are_upstream(path: str, empty: list[Any] | None) -> None:
    form = "v=v1;g=meta.k8s.io"
    async with serving() as api:
        rows = (await api.send("GET", path, accept=f"application/json;as=Table;{form}")).ok()["rows"]
        assert rows == empty
        metadata = await api.send("GET", path, accept=f"application/json;as=PartialObjectMetadataList;{form}")
        assert metadata.ok()["items"] is None
        assert (await api.get(path)).ok()["items"] == []
