"""The page of an embedded cluster and what it asks: every object with its state, its history, and no secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from setpoint.apiserver import ApiServer, MemoryStorage
from setpoint.client import Client, InProcessTransport, Patch, PatchType
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.object_browser.inventory import Inventory
from setpoint.cluster.object_browser.json_endpoints import ClusterPages
from setpoint.cluster.object_browser.object_history import History, compared
from setpoint.cluster.server_security import Security
from setpoint.manager.http_server import Answer
from setpoint.meta.object_status import standing
from setpoint.models.core_v1 import ConfigMap, Pod, Secret
from setpoint.models.events_v1 import Event
from setpoint.testing import virtual_time

from .workloads import template

HUSH = "aHVzaC1odXNo"
"""hush-hush, as it is stored."""


@asynccontextmanager
async def looked_at(**options: Any) -> AsyncIterator[tuple[Client, ClusterPages]]:
    async with ApiServer(**options) as server, Client(InProcessTransport(server.handle)) as client:
        yield client, ClusterPages(server)


async def asked(pages: ClusterPages, path: str, controllers: Callable[[], Any] = dict, **query: str) -> Any:
    result = pages.pages(controllers)[f"/debug/{path}"]("", {name: [value] for name, value in query.items()}, {})
    answer = result if isinstance(result, Answer) else await result
    return json.loads(answer.body)


def owned_by(owner: Any, kind: str) -> list[Any]:
    from setpoint.meta import OwnerReference

    version = "v1" if kind == "ConfigMap" else "apps/v1"
    return [OwnerReference(api_version=version, kind=kind, name=owner.name, uid=owner.uid)]


@virtual_time
async def test_the_objects_that_are_not_as_wanted_come_first_with_the_reason() -> None:
    async with looked_at() as (client, pages):
        pod = await client.create(Pod.named("stuck", "default", spec=template().spec))
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes fit"}
        status = {"phase": "Pending", "conditions": [condition]}
        await client.patch(Pod, "stuck", {"status": status}, namespace="default", subresource="status")
        listing = await asked(pages, "named", find="DEFAULT stuck")
        assert [(obj["controller"], obj["key"], obj["state"], obj["text"]) for obj in listing["objects"]] == [
            ("pods", "default/stuck", "stuck", "no node fits it: 0/1 nodes fit")
        ]
        (by_reason,) = (await asked(pages, "named", find="nodes fit"))["objects"]
        assert by_reason["key"] == "default/stuck"
        assert (await asked(pages, "named", state="failed"))["objects"] == []
        assert (await asked(pages, "named", kind="pods"))["counts"] == {"stuck": 1}
        kinds = await asked(pages, "kinds")
        assert (kinds[0]["name"], kinds[0]["objects"], kinds[0]["attention"]) == ("pods", 1, 1)

        await client.delete(pod, grace_period_seconds=0)
        assert (await asked(pages, "named", kind="pods"))["matched"] == 0
        for path, query, words in (
            ("named", {"kind": "nones"}, "there is no resource 'nones'; available: "),
            ("named", {"state": "sad"}, "there is no state 'sad'; available: being deleted, current"),
            ("named", {"limit": "501"}, "limit must be a number from 0 to 500"),
            ("stored", {"kind": "nones", "key": "a"}, "there is no resource 'nones'"),
        ):
            assert (await asked(pages, path, dict, **query))["error"].startswith(words)


@virtual_time
async def test_objects_that_every_cluster_has_are_listed_after_those_of_users() -> None:
    async with looked_at(default_objects=True) as (client, pages):
        await client.create(Secret.named("zebra", "default"))
        listing = await asked(pages, "named", limit="3")
        assert listing["matched"] > 100
        assert "default/zebra" in [obj["key"] for obj in listing["objects"]]


@virtual_time
async def test_what_a_secret_holds_is_shown_nowhere_and_that_it_changed_is() -> None:
    async with looked_at() as (client, pages):
        notes = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"key":"{HUSH}"}}}}'}
        new_secret = Secret.named("key", "default", string_data={"key": "hush-hush"}, annotations=notes)
        await client.create(new_secret)
        await client.patch(Secret, "key", {"data": {"key": "b3RoZXI=", "new": HUSH}}, namespace="default")
        await client.patch(Secret, "key", {"metadata": {"annotations": {"copy": HUSH}}}, namespace="default")
        answer = await asked(pages, "stored", kind="secrets", key="default/key")
        assert 'key: "(hidden)"' in answer["yaml"]
        assert "the content of a Secret" in answer["hidden"]
        changes = [
            (one["path"], one["before"], one["after"]) for version in answer["versions"] for one in version["changes"]
        ]
        assert changes == [
            ("metadata.annotations.copy", None, "(hidden)"),
            ("data.key", "(hidden)", "(hidden)"),
            ("data.new", None, "(hidden)"),
        ]
        await client.delete(Secret, "key", namespace="default")
        everything = json.dumps([answer, await asked(pages, "stored", kind="secrets", key="default/key")])
        everything += json.dumps([await asked(pages, "named"), await asked(pages, "kinds")])
        for secret in (HUSH, "hush-hush", "b3RoZXI="):
            assert secret not in everything


@virtual_time
async def test_the_last_versions_say_who_changed_which_fields() -> None:
    async with looked_at() as (client, pages):
        await client.create(ConfigMap.named("many", "default", data={"a.b": "1", "gone": "x"}))
        for number in range(25):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.b": str(number + 2)}}
            applied = Patch(body, PatchType.APPLY, force=True)
            await client.patch(ConfigMap, "many", applied, namespace="default", field_manager="jane")
        await client.patch(ConfigMap, "many", {"data": {"gone": None}}, namespace="default")
        answer = await asked(pages, "stored", kind="configmaps", key="default/many")
        newest, before = answer["versions"][:2]
        assert [(one["path"], one["before"], one["after"]) for one in newest["changes"]] == [("data.gone", '"x"', None)]
        assert before["by"] == ["jane"]
        assert before["changes"] == [{"path": "data[a.b]", "before": '"25"', "after": '"26"'}]
        assert len(answer["versions"]) == 20, "the newest ones"
        assert 'a.b: "26"' in answer["yaml"]
        assert "managedFields" not in answer["yaml"]

        await client.delete(ConfigMap, "many", namespace="default")
        answer = await asked(pages, "stored", kind="configmaps", key="default/many")
        assert (answer["state"], answer["versions"][0]["type"]) == ("deleted", "DELETED")
        assert "a.b" in answer["yaml"], "the last version of an object that is gone"
        answer = await asked(pages, "stored", kind="configmaps", key="default/never")
        assert (answer["state"], answer["yaml"], answer["versions"]) == ("unknown", "", [])


@virtual_time
async def test_a_history_that_the_storage_has_forgotten_is_shorter_and_no_error() -> None:
    storage = MemoryStorage(max_events=3)
    async with looked_at(storage=storage) as (client, _):
        for number in range(6):
            await client.create(ConfigMap.named(f"other-{number}", "default"))
            await client.apply(ConfigMap.named("kept", "default", data={"n": str(number)}))
        versions, last = await History(storage).of("configmaps", "default", "kept")
        assert 0 < len(versions) < 3
        assert last is not None
        storage.compact(storage.revision)
        versions, last = await History(storage).of("configmaps", "default", "kept")
        assert versions == []
        assert last is not None, "the object is there, whatever is known of its past"


@virtual_time
async def test_owners_and_owned_objects_are_a_tree_and_events_are_told() -> None:
    async with looked_at() as (client, pages):
        top = await client.create(ConfigMap.named("top", "default"))
        child = ConfigMap.named("child", "default")
        child.metadata.owner_references = owned_by(top, "ConfigMap")
        child = await client.create(child)
        leaf = Secret.named("leaf", "default")
        leaf.metadata.owner_references = owned_by(child, "ConfigMap")
        await client.create(leaf)
        answer = await asked(pages, "stored", kind="configmaps", key="default/top")
        (link,) = answer["owned"]
        assert (link["resource"], link["key"], link["owns"][0]["key"]) == (
            "configmaps",
            "default/child",
            "default/leaf",
        )
        answer = await asked(pages, "stored", kind="secrets", key="default/leaf")
        assert [[item["key"] for item in level] for level in answer["owners"]] == [["default/child"], ["default/top"]]
        # A circle of owners is shown once.
        await client.patch(
            ConfigMap,
            "top",
            {
                "metadata": {
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "leaf", "uid": child.uid}]
                }
            },
            namespace="default",
        )
        answer = await asked(pages, "stored", kind="configmaps", key="default/top")
        assert [item["key"] for item in answer["owned"][0]["owns"]] == ["default/leaf"]

        about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "top", "namespace": "default", "uid": top.uid}
        event = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "eventTime": "2026-01-02T03:04:05.000000Z", "reason": "Looked", "note": "a person has looked",
            "type": "Normal", "regarding": about, "action": "Look",
            "reportingController": "t", "reportingInstance": "t",
        }  # fmt: skip
        await client.patch(Event, "e", event, namespace="default", type=PatchType.APPLY, field_manager="t")
        answer = await asked(pages, "stored", kind="configmaps", key="default/top")
        assert [(event["reason"], event["note"]) for event in answer["events"]] == [("Looked", "a person has looked")]
        assert "events" not in {obj["controller"] for obj in (await asked(pages, "named"))["objects"]}


@virtual_time
async def test_an_object_is_read_once_a_version_however_often_the_page_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    from setpoint.cluster.object_browser import inventory

    def counted(obj: Mapping[str, Any]) -> Any:
        reads.append(obj["metadata"]["name"])
        return standing(obj)

    monkeypatch.setattr(inventory, "standing", counted)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        for number in range(450):
            await client.create(ConfigMap.named(f"a-{number}", "default"))
        looked = Inventory(server)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        await looked.refresh()
        beside.cancel()
        assert turns >= 2, "others have their turn meanwhile"
        first = len(reads)
        await looked.refresh()
        await client.patch(ConfigMap, "a-7", {"data": {"x": "y"}}, namespace="default")
        await looked.refresh()
        assert reads[first:] == ["a-7"]


@pytest.mark.parametrize(
    ("obj", "state", "text"),
    [
        ({}, "current", ""),
        ({"status": "what", "metadata": None, "spec": []}, "current", ""),
        ({"status": {"conditions": [None, {"type": 7}], "containerStatuses": 3}}, "current", ""),
        (
            {"metadata": {"deletionTimestamp": "T", "finalizers": ["a/b"]}},
            "being deleted",
            "waits for the finalizer a/b",
        ),
        (
            {"metadata": {"generation": 3}, "status": {"observedGeneration": 2}},
            "in progress",
            "its controller has not processed the last change of its spec yet (generation 3; it has seen 2)",
        ),
        (
            {"apiVersion": "apps/v1", "spec": {"replicas": 2}, "status": {"replicas": 2}},
            "in progress",
            "0 of 2 ready",
        ),
        ({"apiVersion": "a.example.com/v1", "spec": {"replicas": 2}, "status": {}}, "current", ""),
        (
            {"kind": "Pod", "status": {"phase": "Running", "containerStatuses": [
                {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}]}},
            "failed",
            "container c keeps ending (CrashLoopBackOff); back-off 10s; kubectl logs --previous shows its log",
        ),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, "failed", "Failed: Evicted"),
        (
            {"status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}},
            "current",
            "complete",
        ),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Silent"}]}},
            "in progress",
            "its condition Ready is Unknown (Silent)",
        ),
        (
            {"kind": "Deployment",
             "status": {"conditions": [{"type": "Progressing", "status": "False", "reason": "Deadline"}]}},
            "failed",
            "its rollout makes no progress (Deadline)",
        ),
        (
            {"kind": "Rollout",
             "status": {"conditions": [{"type": "Progressing", "status": "False",
                                        "reason": "ProgressDeadlineExceeded"}]}},
            "failed",
            "its rollout makes no progress (ProgressDeadlineExceeded)",
        ),
        (  # the conditions of a healthy operator in OpenShift
            {"kind": "Ingress", "status": {"conditions": [
                {"type": "Available", "status": "True"}, {"type": "Degraded", "status": "False"},
                {"type": "Progressing", "status": "False", "reason": "AsExpected"}]}},
            "current",
            "Available=True",
        ),
        (
            {"apiVersion": "v1", "kind": "ResourceQuota", "status": {"hard": {"cpu": "2", "pods": "4"},
                                                                     "used": {"cpu": "1"}}},
            "current",
            "1 of 2 cpu used, 0 of 4 pods used",
        ),
        ({"kind": "Job", "status": {"active": 1}}, "in progress", "pods running: 1"),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 1}, "status": {"failed": 2}},
            "in progress",
            "0 of 1 complete, 2 failed, none running",
        ),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 1, "suspend": True}}, "paused",
         "it is suspended (spec.suspend)"),
        ({"kind": "Deployment", "spec": {"paused": True, "replicas": 2}}, "paused", "it is paused (spec.paused)"),
        ({"spec": {"paused": "no"}}, "current", ""),
        ({"spec": {"size": 3}, "status": {"size": 1}}, "in progress", "size: 3 wanted, 1 present"),
        ({"spec": {"replicas": 3}, "status": {"updatedReplicas": 1}}, "in progress", "1 of 3 updated"),
        (
            {"kind": "Service", "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}},
            "in progress",
            "its load balancer has no address yet",
        ),
    ],
)  # fmt: skip
def test_a_standing_says_the_reason_whatever_an_object_holds(obj: dict[str, Any], state: str, text: str) -> None:
    assert standing(obj)[:2] == (state, text)


def test_items_of_lists_are_told_apart_by_their_names_where_they_have_some() -> None:
    before = {"a": [{"name": "x", "v": 1}, {"name": "y", "v": 2}], "b": [1, 2], "c": True}
    after = {"a": [{"name": "y", "v": 3}], "b": [1, 3], "c": 1}
    paths = [path for path, _, _ in compared(before, after)]
    assert paths == [("a", "[x]"), ("a", "[y]", "v"), ("b", "[1]"), ("c",)]


async def test_a_cluster_serves_its_page_only_where_it_is_asked_to_and_only_for_this_machine() -> None:
    async with EmbeddedCluster(control_plane=False) as cluster:
        assert cluster.page_url == ""
    for address in (":8080", "0.0.0.0:8080", "192.0.2.1:80"):
        with pytest.raises(ValueError, match="the page can't listen at"):
            EmbeddedCluster(ui=address)
    with pytest.raises(ValueError, match="not of the form HOST:PORT"):
        EmbeddedCluster(ui="nowhere")
    async with EmbeddedCluster(control_plane=["namespace"], nodes=0, ui="localhost:0") as cluster:
        debug = cluster.page_url.replace("/ui/", "/debug/")
        async with aiohttp.ClientSession() as session:
            async with session.get(cluster.page_url) as answer:
                assert (answer.status, answer.content_type) == (200, "text/html")
            async with session.get(f"{debug}manager") as answer:
                assert (await answer.json())["cluster"] is True
            async with session.get(f"{debug}controllers") as answer:
                assert "namespace-lifecycle" in [item["name"] for item in await answer.json()]
            async with session.get(f"{debug}stored?kind=namespaces&key=default") as answer:
                told = await answer.json()
            assert [controller["controller"] for controller in told["controllers"]] == ["namespace-lifecycle"]
            for path in ("named", "kinds", "stored?kind=namespaces&key=default"):
                async with session.get(debug + path, headers={"host": "evil.example.com"}) as answer:
                    assert answer.status == 401, "another name that leads here (DNS rebinding)"


async def test_a_cluster_with_users_shows_nothing_without_a_token_that_allows_it() -> None:
    security = Security(auth=True)
    async with EmbeddedCluster(control_plane=False, ui="127.0.0.1:0", security=security) as cluster:
        debug = cluster.page_url.replace("/ui/", "/debug/")
        credentials = cluster.config().credentials
        assert credentials is not None
        admin = credentials.ready()
        async with aiohttp.ClientSession() as session:
            async with session.get(cluster.page_url) as answer:
                assert answer.status == 200, "the page asks for the token"
            for path in ("named", "kinds", "stored?kind=namespaces&key=default", "manager", "controllers", "objects"):
                async with session.get(debug + path) as answer:
                    assert answer.status == 401
                async with session.get(debug + path, headers={"authorization": admin}) as answer:
                    assert answer.status == 200
