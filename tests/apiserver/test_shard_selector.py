"""Shards of lists and watches (KEP-5866). ``observed_shard_selectors.json`` is what the parser and the hash of
``k8s.io/apiserver`` 0.37.2 returned: an expression, the selector as it is printed, the error.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.harness import CRDS, MAPS, MYKINDS, Api, config_map, crd, mykind, serving

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.requests.shard_selector import parse_shards
from setpoint.meta.shard_ranges import HASHES, ShardRanges, hash_of
from setpoint.testing import virtual_time

OBSERVED = json.loads((Path(__file__).parent / "observed_shard_selectors.json").read_text())
HALF = HASHES // 2
HALVES = [str(ShardRanges("uid", [part])) for part in ((0, HALF), (HALF, HASHES))]
ALL_MAPS = "/api/v1/configmaps"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def uids(document: Any) -> list[str]:
    return [item["metadata"]["uid"] for item in document["items"]]


def half_of(uid: str) -> int:
    return int(hash_of(uid) >= HALF)


@pytest.mark.parametrize(("value", "observed"), OBSERVED["hashes"].items())
def test_a_hash_is_that_of_upstream(value: str, observed: str) -> None:
    assert f"{hash_of(value):016x}" == observed


@pytest.mark.parametrize(("text", "selector", "error"), OBSERVED["selectors"])
def test_a_selector_is_parsed_and_refused_in_the_words_of_upstream(text: str, selector: str, error: str) -> None:
    if not error:
        assert str(parse_shards(text)) == selector
        return
    with pytest.raises(ApiStatusError) as problem:
        parse_shards(text)
    assert (problem.value.code, problem.value.reason) == (400, "BadRequest")
    assert str(problem.value) == f"invalid shard selector: {error}"


@given(st.lists(st.integers(0, HASHES), min_size=2, max_size=9, unique=True), st.text())
def test_every_value_is_in_one_of_the_ranges_that_divide_all_hashes(cuts: list[int], value: str) -> None:
    ends = sorted({0, HASHES, *cuts})
    parts = [ShardRanges("namespace", [part]) for part in pairwise(ends)]
    assert sum(part.has(value) for part in parts) == 1
    assert [parse_shards(str(part)) for part in parts] == parts


async def test_two_halves_are_the_whole_list_and_say_which_half_they_are(api: Api) -> None:
    for number in range(20):
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    whole = uids((await api.get(ALL_MAPS)).ok())
    for number, selector in enumerate(HALVES):
        listed = (await api.get(ALL_MAPS, shardSelector=f" {selector} ")).ok()
        assert uids(listed) == [uid for uid in whole if half_of(uid) == number]
        assert listed["metadata"] == {"resourceVersion": str(api.revision), "shardInfo": {"selector": selector}}
    both = (await api.get(ALL_MAPS, shardSelector=" || ".join(HALVES))).ok()
    assert uids(both) == whole


async def test_pages_and_old_revisions_of_a_half_have_its_objects_only(api: Api) -> None:
    for number in range(20):
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    revision, wanted = api.revision, [uid for uid in uids((await api.get(MAPS)).ok()) if half_of(uid) == 1]
    (await api.delete(MAPS)).ok()
    pages: list[str] = []
    query: dict[str, Any] = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
    while query:
        page = (await api.get(MAPS, limit=3, shardSelector=HALVES[1], **query)).ok()
        assert len(page["items"]) <= 3
        assert "remainingItemCount" not in page["metadata"]
        assert page["metadata"]["shardInfo"] == {"selector": HALVES[1]}
        pages += uids(page)
        token = page["metadata"].get("continue")
        query = {"continue": token} if token else {}
    assert pages == wanted


async def test_a_namespace_is_in_one_half_as_a_whole(api: Api) -> None:
    names = ["billing", "cache", "orders", "queue", "search", "users"]
    for name in names:
        (await api.post("/api/v1/namespaces", {"metadata": {"name": name}})).ok()
        for number in range(2):
            (await api.post(f"/api/v1/namespaces/{name}/configmaps", config_map(f"m{number}"))).ok()
    listed = (await api.get(ALL_MAPS, shardSelector=HALVES[0].replace("uid", "namespace"))).ok()
    spaces = [item["metadata"]["namespace"] for item in listed["items"]]
    assert spaces == [name for name in names if half_of(name) == 0 for _ in range(2)]
    assert 0 < len(spaces) < 12


async def test_selectors_of_labels_and_shards_are_combined(api: Api) -> None:
    for number in range(20):
        labels = {"even": str(number % 2 == 0)}
        (await api.post(MAPS, config_map(f"m{number}", metadata={"name": f"m{number}", "labels": labels}))).ok()
    even = uids((await api.get(MAPS, labelSelector="even=True")).ok())
    listed = (await api.get(MAPS, labelSelector="even=True", shardSelector=HALVES[0])).ok()
    assert uids(listed) == [uid for uid in even if half_of(uid) == 0]


async def test_custom_resources_tables_and_metadata_are_divided_without_saying_so(api: Api) -> None:
    """As upstream before 1.38: lists of these have no place for ``shardInfo``."""
    (await api.post(CRDS, crd())).ok()
    for number in range(10):
        (await api.post(MYKINDS, mykind(f"m{number}"))).ok()
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    listed = (await api.get(MYKINDS, shardSelector=HALVES[0])).ok()
    assert {half_of(uid) for uid in uids(listed)} == {0}
    assert "shardInfo" not in listed["metadata"]
    for form in ("Table", "PartialObjectMetadataList"):
        accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
        answer = (await api.send("GET", MAPS, query={"shardSelector": HALVES[0]}, accept=accept)).ok()
        rows = [row["object"] for row in answer["rows"]] if form == "Table" else answer["items"]
        assert {half_of(row["metadata"]["uid"]) for row in rows} == {0}
        assert "shardInfo" not in answer["metadata"]


async def test_the_usage_of_nodes_is_not_divided_as_by_metrics_server(api: Api) -> None:
    kubelets: Any = object()
    api.server.kubelets = kubelets
    for number in range(10):
        (await api.post("/api/v1/nodes", {"metadata": {"name": f"n{number}"}})).ok()
    listed = (await api.get("/apis/metrics.k8s.io/v1beta1/nodes", shardSelector=HALVES[0])).ok()
    assert len(listed["items"]) == 10


async def test_a_half_of_a_collection_can_be_deleted(api: Api) -> None:
    for number in range(20):
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    answer = (await api.delete(MAPS, shardSelector=HALVES[0])).ok()
    assert answer["metadata"]["shardInfo"] == {"selector": HALVES[0]}
    assert {half_of(uid) for uid in uids((await api.get(MAPS)).ok())} == {1}


@virtual_time
async def test_a_watch_of_a_half_has_its_first_objects_changes_and_deletions_and_its_bookmarks() -> None:
    async with serving() as api:
        await api.post(MAPS, config_map("first"))
        initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        async with api.watch(MAPS, shardSelector=HALVES[0], **initial) as events:
            for number in range(9):
                await api.post(MAPS, config_map(f"m{number}"))
                await api.patch(f"{MAPS}/m{number}", {"data": {"a": "b"}})
                await api.delete(f"{MAPS}/m{number}")
            listed = uids((await api.get(MAPS, shardSelector=HALVES[0])).ok())
            types: dict[str, list[str]] = {}
            while True:
                type, obj = await events.next()
                if type == "BOOKMARK":
                    if obj["metadata"].get("annotations"):
                        assert list(types) == listed
                        continue
                    assert obj["metadata"]["resourceVersion"] == str(api.revision)
                    break
                assert half_of(obj["metadata"]["uid"]) == 0
                types.setdefault(obj["metadata"]["uid"], []).append(type)
        changed = [seen for uid, seen in types.items() if uid not in listed]
        assert changed
        assert all(seen == ["ADDED", "MODIFIED", "DELETED"] for seen in changed)


async def test_a_selector_that_is_not_valid_is_refused_in_lists_watches_and_deletions(api: Api) -> None:
    message = 'invalid shard selector: unsupported function "x"; only shardRange() and || are allowed'
    for answer in (
        await api.get(MAPS, shardSelector="x()"),
        await api.get(MAPS, shardSelector="x()", watch="true"),
        await api.delete(MAPS, shardSelector="x()"),
    ):
        answer.failed(400, "BadRequest", message)


async def test_an_empty_selector_and_one_of_a_server_without_the_gate_select_everything(api: Api) -> None:
    for number in range(5):
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    assert len((await api.get(MAPS, shardSelector="")).ok()["items"]) == 5
    api.server.state.serves_shards = False
    for selector in (HALVES[0], "x()"):
        listed = (await api.get(MAPS, shardSelector=selector)).ok()
        assert len(listed["items"]) == 5
        assert "shardInfo" not in listed["metadata"]
