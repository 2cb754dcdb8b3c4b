"""Deleting: finalizers, grace, propagation, preconditions, whole collections, namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import DEPLOYMENTS, MAPS, PODS, Api, config_map, deployment, pod, serving

from setpoint.apiserver.errors import ApiStatusError

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


async def test_a_deletion_answers_with_a_status_that_names_the_object(api: Api) -> None:
    uid = (await api.post(MAPS, config_map())).ok()["metadata"]["uid"]
    status = (await api.delete(f"{MAPS}/web")).ok()
    assert status["status"] == "Success"
    assert status["details"] == {"name": "web", "kind": "configmaps", "uid": uid}
    (await api.delete(f"{MAPS}/web")).failed(404, "NotFound")


async def test_finalizers_hold_an_object_until_the_last_is_removed(api: Api) -> None:
    await api.post(MAPS, config_map(metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    held = (await api.delete(f"{MAPS}/web")).ok()
    assert held["metadata"]["deletionTimestamp"] == "2026-01-31T12:00:00Z"
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    version = held["metadata"]["resourceVersion"]
    assert (await api.delete(f"{MAPS}/web")).ok()["metadata"]["resourceVersion"] == version  # again changes nothing
    held["metadata"]["finalizers"] = ["example.com/b"]
    held = (await api.put(f"{MAPS}/web", held)).ok()
    adding = held | {"metadata": held["metadata"] | {"finalizers": ["example.com/b", "example.com/c"]}}
    (await api.put(f"{MAPS}/web", adding)).failed(422, "Invalid", "no new finalizers can be added")
    async with api.watch(MAPS, resourceVersion=held["metadata"]["resourceVersion"]) as events:
        (await api.patch(f"{MAPS}/web", {"metadata": {"finalizers": None}})).ok()
        type_, last = await events.next()
    assert type_ == "DELETED"
    assert last["metadata"]["resourceVersion"] == str(api.revision)
    (await api.get(f"{MAPS}/web")).failed(404, "NotFound")


async def test_the_object_that_is_deleted_can_be_named_exactly(api: Api) -> None:
    metadata = (await api.post(MAPS, config_map())).ok()["metadata"]
    (await api.delete(f"{MAPS}/web", {"preconditions": {"uid": "other"}})).failed(
        409, "Conflict", "the UID in the precondition (other) does not match the UID in record"
    )
    (await api.delete(f"{MAPS}/web", {"preconditions": {"resourceVersion": "1"}})).failed(
        409, "Conflict", "the ResourceVersion in the precondition (1) does not match"
    )
    for collection in (f"{MAPS}/web", MAPS):  # without a body, they are parameters
        (await api.delete(collection, resourceVersion="1")).failed(409, "Conflict", "in the precondition (1) does not")
    (await api.delete(f"{MAPS}/web", uid="other")).failed(409, "Conflict", "the UID in the precondition (other)")
    exact = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    (await api.delete(f"{MAPS}/web", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": exact})).ok()


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
        ({"propagationPolicy": "Background"}, None),
        ({}, None),
    ],
)
async def test_propagation_policies_become_finalizers(
    api: Api, options: dict[str, Any], finalizers: list[str] | None
) -> None:
    await api.post(DEPLOYMENTS, deployment())
    left = (await api.delete(f"{DEPLOYMENTS}/web", options)).ok()
    if finalizers is None:
        assert left["kind"] == "Status"
        (await api.get(f"{DEPLOYMENTS}/web")).failed(404, "NotFound")
    else:
        assert left["metadata"]["finalizers"] == finalizers
        assert left["metadata"]["generation"] == 2
        assert left["metadata"]["deletionTimestamp"]


async def test_policies_come_by_query_too_and_contradictions_are_refused(api: Api) -> None:
    await api.post(DEPLOYMENTS, deployment())
    (await api.delete(f"{DEPLOYMENTS}/web", propagationPolicy="Sideways")).failed(
        422, "Invalid", 'propagationPolicy: Unsupported value: "Sideways"'
    )
    both = {"propagationPolicy": "Orphan", "orphanDependents": False}
    (await api.delete(f"{DEPLOYMENTS}/web", both)).failed(422, "Invalid", "cannot be both set")
    left = (await api.delete(f"{DEPLOYMENTS}/web", propagationPolicy="Foreground")).ok()
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_pod_without_node_goes_at_once(api: Api) -> None:
    await api.post(PODS, pod())
    gone = (await api.delete(f"{PODS}/web")).ok()
    assert gone["kind"] == "Pod"  # pods are answered with, even when they are gone
    (await api.get(f"{PODS}/web")).failed(404, "NotFound")


async def test_a_pod_on_a_node_waits_for_its_kubelet(api: Api) -> None:
    await api.post(PODS, pod(spec={"nodeName": "n1"}))
    waiting = (await api.delete(f"{PODS}/web")).ok()["metadata"]
    assert waiting["deletionTimestamp"] == "2026-01-31T12:00:30Z"
    assert waiting["deletionGracePeriodSeconds"] == 30
    version = waiting["resourceVersion"]
    assert (await api.delete(f"{PODS}/web", gracePeriodSeconds=60)).ok()["metadata"]["resourceVersion"] == version
    shorter = (await api.delete(f"{PODS}/web", gracePeriodSeconds=5)).ok()["metadata"]
    assert shorter["deletionTimestamp"] == "2026-01-31T12:00:05Z"
    assert shorter["deletionGracePeriodSeconds"] == 5
    (await api.delete(f"{PODS}/web", gracePeriodSeconds=0)).ok()
    (await api.get(f"{PODS}/web")).failed(404, "NotFound")


@pytest.mark.parametrize("node", ["", "n1"])
async def test_watches_see_the_mark_of_a_pods_deletion_before_the_pod_goes(api: Api, node: str) -> None:
    await api.post(PODS, pod(spec={"nodeName": node} if node else {}))
    async with api.watch(PODS, resourceVersion=str(api.revision)) as events:
        answer = (await api.delete(f"{PODS}/web", gracePeriodSeconds=0)).ok()
        (modified, marked), (deleted, last) = await events.take(2)
    assert (modified, deleted) == ("MODIFIED", "DELETED")
    for seen in (marked, last, answer):
        assert seen["metadata"]["deletionTimestamp"] == "2026-01-31T12:00:00Z"
        assert seen["metadata"]["deletionGracePeriodSeconds"] == 0
    assert last["metadata"]["resourceVersion"] == str(api.revision)


@pytest.mark.parametrize("by", ["collection", "eviction"])
async def test_watches_see_the_mark_whichever_request_deletes_the_pod(api: Api, by: str) -> None:
    await api.post(PODS, pod(spec={"nodeName": "n1"}))
    async with api.watch(PODS, resourceVersion=str(api.revision)) as events:
        if by == "collection":
            (await api.delete(PODS, gracePeriodSeconds=0)).ok()
        else:
            options = {"deleteOptions": {"gracePeriodSeconds": 0}}
            (await api.post(f"{PODS}/web/eviction", {"metadata": {"name": "web"}, **options})).ok()
        seen = await events.take(2)
    assert [type_ for type_, _ in seen][-2:] == ["MODIFIED", "DELETED"]
    for _, result in seen[-2:]:
        assert result["metadata"]["deletionGracePeriodSeconds"] == 0


@pytest.mark.parametrize("patched", [False, True])
async def test_an_update_that_sends_another_time_of_deletion_changes_only_the_rest(api: Api, patched: bool) -> None:
    await api.post(MAPS, config_map(metadata={"finalizers": ["example.com/a"]}))
    held = (await api.delete(f"{MAPS}/web")).ok()
    other = {"deletionTimestamp": "2020-01-01T00:00:00Z", "labels": {"a": "b"}}
    sent = held | {"metadata": held["metadata"] | other}
    changed = (await (api.patch(f"{MAPS}/web", {"metadata": other}) if patched else api.put(f"{MAPS}/web", sent))).ok()[
        "metadata"
    ]
    assert (changed["labels"], changed["deletionTimestamp"]) == ({"a": "b"}, held["metadata"]["deletionTimestamp"])
    longer = {"metadata": {"deletionGracePeriodSeconds": 5}}
    (await api.patch(f"{MAPS}/web", longer)).failed(
        422, "Invalid", "metadata.deletionGracePeriodSeconds: Invalid value"
    )


async def test_each_shorter_grace_period_of_a_pod_is_an_event(api: Api) -> None:
    await api.post(PODS, pod(spec={"nodeName": "n1"}))
    async with api.watch(PODS, resourceVersion=str(api.revision)) as events:
        for seconds in (5, 1, 0):
            (await api.delete(f"{PODS}/web", gracePeriodSeconds=seconds)).ok()
        seen = await events.take(4)
    periods = [(type_, result["metadata"]["deletionGracePeriodSeconds"]) for type_, result in seen]
    assert periods == [("MODIFIED", 5), ("MODIFIED", 1), ("MODIFIED", 0), ("DELETED", 0)]


async def test_a_namespace_that_is_being_deleted_has_no_grace_period(api: Api) -> None:
    (await api.post(NAMESPACES, {"metadata": {"name": "x", "finalizers": ["example.com/f"]}})).ok()
    marked = (await api.delete(f"{NAMESPACES}/x")).ok()["metadata"]
    assert "deletionTimestamp" in marked
    assert "deletionGracePeriodSeconds" not in marked
    again = (await api.delete(f"{NAMESPACES}/x", propagationPolicy="Foreground")).ok()["metadata"]
    assert again == marked


async def test_a_dry_run_of_a_pods_deletion_marks_nothing(api: Api) -> None:
    await api.post(PODS, pod())
    before = api.revision
    (await api.delete(f"{PODS}/web", dryRun="All")).ok()
    assert api.revision == before


async def test_a_pod_with_node_and_finalizer_needs_both_to_let_go(api: Api) -> None:
    await api.post(PODS, pod(spec={"nodeName": "n1"}, metadata={"finalizers": ["example.com/a"]}))
    await api.delete(f"{PODS}/web")
    await api.delete(f"{PODS}/web", gracePeriodSeconds=0)
    held = (await api.get(f"{PODS}/web")).ok()
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    (await api.patch(f"{PODS}/web", {"metadata": {"finalizers": []}})).ok()
    (await api.get(f"{PODS}/web")).failed(404, "NotFound")


async def test_an_eviction_deletes(api: Api) -> None:
    await api.post(PODS, pod())
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
    assert (await api.post(f"{PODS}/web/eviction", eviction)).status == 201
    (await api.get(f"{PODS}/web")).failed(404, "NotFound")


async def test_collections_are_deleted_by_selector_and_namespace(api: Api) -> None:
    for name in "abc":
        await api.post(MAPS, config_map(name, metadata={"labels": {"odd": str(name != "b").lower()}}))
    gone = (await api.delete(MAPS, labelSelector="odd=true")).ok()
    assert gone["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in (await api.get(MAPS)).ok()["items"]] == ["b"]
    (await api.delete("/api/v1/configmaps")).failed(405, "MethodNotAllowed")


async def test_a_namespace_is_terminating_until_it_is_finalized(api: Api) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    maps = "/api/v1/namespaces/team/configmaps"
    assert (await api.post(maps, config_map())).status == 201
    terminating = (await api.delete(f"{NAMESPACES}/team")).ok()
    assert terminating["status"]["phase"] == "Terminating"
    assert terminating["metadata"]["deletionTimestamp"]
    status = (await api.post(maps, config_map("late"))).failed(
        403, "Forbidden", "unable to create new content in namespace team because it is being terminated"
    )
    assert status["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert (await api.get(f"{maps}/web")).status == 200
    terminating["spec"] = {}
    (await api.put(f"{NAMESPACES}/team/finalize", terminating)).ok()
    (await api.get(f"{NAMESPACES}/team")).failed(404, "NotFound")


async def test_nothing_is_created_in_a_namespace_that_is_not_there(api: Api) -> None:
    (await api.post("/api/v1/namespaces/nowhere/configmaps", config_map())).failed(
        404, "NotFound", 'namespaces "nowhere" not found'
    )


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_the_systems_namespaces_stay(api: Api, name: str) -> None:
    (await api.delete(f"{NAMESPACES}/{name}")).failed(403, "Forbidden", "this namespace may not be deleted")


async def test_every_namespace_is_labelled_with_its_name_and_active(api: Api) -> None:
    result = (await api.get(f"{NAMESPACES}/kube-node-lease")).ok()
    assert result["metadata"]["labels"] == {"kubernetes.io/metadata.name": "kube-node-lease"}
    assert (result["spec"], result["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


async def test_other_requests_run_while_a_collection_is_deleted(api: Api) -> None:
    for number in range(50):
        (await api.post(MAPS, config_map(f"m{number}"))).ok()
    deleting = asyncio.ensure_future(api.delete(MAPS))
    left = []
    while not deleting.done():
        left.append(len((await api.get(MAPS)).ok()["items"]))
        await asyncio.sleep(0)
    assert len((await deleting).ok()["items"]) == 50
    assert left == sorted(left, reverse=True)
    assert len(set(left)) > 10
    assert (await api.get(MAPS)).ok()["items"] == []


async def test_what_is_deleted_before_another_deletion_is_refused_stays_deleted(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (await api.post(MAPS, config_map(name))).ok()
    served = api.server.registry.find("", "v1", "configmaps")
    assert served is not None

    def check(_call: Any, obj: Any) -> None:
        if obj["metadata"]["name"] == "b":
            raise ApiStatusError(403, "Forbidden", "b stays")

    monkeypatch.setattr(served.strategy, "check_delete", check)
    (await api.delete(MAPS)).failed(403, "Forbidden", "b stays")
    assert [item["metadata"]["name"] for item in (await api.get(MAPS)).ok()["items"]] == ["b", "c"]
