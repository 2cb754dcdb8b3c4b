"""The four kinds of patch, and what server-side apply keeps in its books."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.apiserver.harness import (
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MYKINDS,
    PODS,
    STRATEGIC,
    Api,
    config_map,
    crd,
    deployment,
    mykind,
    pod,
    serving,
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


async def test_merge_patches_set_and_remove(api: Api) -> None:
    (await api.post(MAPS, config_map(data={"a": "1", "b": "2"}))).ok()
    assert (await api.patch(f"{MAPS}/web", {"data": {"a": None, "c": "3"}})).ok()["data"] == {"b": "2", "c": "3"}


async def test_json_patches_test_and_set(api: Api) -> None:
    (await api.post(MAPS, config_map(data={"a": "1"}))).ok()
    steps = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "2"}]
    assert (await api.patch(f"{MAPS}/web", steps, JSON_PATCH)).ok()["data"] == {"a": "2"}
    refused = await api.patch(f"{MAPS}/web", steps, JSON_PATCH)
    assert refused.failed(422, "Invalid")["message"] == (
        "the server rejected our request due to an error in our request"
    )


async def test_json_patches_are_applied_as_by_the_library_of_api_servers(api: Api) -> None:
    (await api.post(MAPS, config_map(data={"a": "1", "b": "x&y"}))).ok()
    steps = [
        {"op": "replace", "path": "/data/new", "value": "2"},
        {"op": "copy", "from": "/data/missing", "path": "/data/null"},
        {"op": "add", "path": "/data/none"},
        {"op": "remove", "path": "data/a"},
        {"op": "test", "path": "/data/a"},
    ]
    patched = await api.patch(f"{MAPS}/web", steps, JSON_PATCH)
    assert patched.failed(422, "Invalid")["message"] == (
        "the server rejected our request due to an error in our request"  # without "data", the path has one part
    )
    steps[3]["path"] = "x/data/a"
    assert (await api.patch(f"{MAPS}/web", steps, JSON_PATCH)).ok()["data"] == {
        "b": "x&y",
        "new": "2",
        "none": "",
        "null": "",
    }
    as_go_writes = rb'[{"op": "test", "path": "/data/b", "value": "x\u0026y"}]'
    assert (await api.patch(f"{MAPS}/web", as_go_writes, JSON_PATCH)).ok()
    as_python_writes = [{"op": "test", "path": "/data/b", "value": "x&y"}]
    (await api.patch(f"{MAPS}/web", as_python_writes, JSON_PATCH)).failed(422, "Invalid")


@pytest.mark.parametrize(
    ("patch", "validation", "message"),
    [
        (
            "{}",
            "Warn",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.json",
        ),
        (
            "[1]",
            "Strict",
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.json",
        ),
        (
            '[{"op": "add", "path": 1}]',
            "Warn",
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (
            "{}",
            "Ignore",
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            "[true]",
            "Ignore",
            "json: cannot unmarshal bool into Go value of type jsonpatch.Operation",
        ),
    ],
)
async def test_bodies_that_are_not_json_patches_are_refused(
    api: Api, patch: str, validation: str, message: str
) -> None:
    (await api.post(MAPS, config_map())).ok()
    refused = await api.patch(f"{MAPS}/web", patch.encode(), JSON_PATCH, fieldValidation=validation)
    assert refused.failed(400, "BadRequest")["message"].startswith(message)


async def test_unknown_and_repeated_fields_of_a_json_patch_are_told(api: Api) -> None:
    (await api.post(MAPS, config_map(data={"a": "1"}))).ok()
    patch = b'[{"op": "add", "op": "add", "path": "/data/b", "value": "2", "values": "3"}]'
    answer = await api.patch(f"{MAPS}/web", patch, JSON_PATCH)
    assert answer.ok()["data"] == {"a": "1", "b": "2"}
    assert answer.warnings == (
        r'299 - "json patch duplicate field \"[0].op\"", 299 - "json patch unknown field \"[0].values\""'
    )
    refused = await api.patch(f"{MAPS}/web", patch, JSON_PATCH, fieldValidation="Strict")
    assert refused.failed(422, "Invalid")["message"].endswith(
        'strict decoding error: json patch duplicate field "[0].op", json patch unknown field "[0].values"'
    )


async def test_strategic_patches_merge_lists_by_key(api: Api) -> None:
    (await api.post(DEPLOYMENTS, deployment())).ok()
    change = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "x:1"}]}}}}
    changed = (await api.patch(f"{DEPLOYMENTS}/web", change, STRATEGIC)).ok()
    containers = changed["spec"]["template"]["spec"]["containers"]
    assert {item["name"]: item["image"] for item in containers} == {"main": "nginx:1.27", "side": "x:1"}
    assert changed["metadata"]["generation"] == 2


async def test_a_patch_may_insist_on_a_version(api: Api) -> None:
    metadata = (await api.post(MAPS, config_map())).ok()["metadata"]
    change = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "data": {"a": "b"}}
    (await api.patch(f"{MAPS}/web", change)).ok()
    (await api.patch(f"{MAPS}/web", change | {"data": {"a": "c"}})).failed(409, "Conflict", "has been modified")


async def test_a_patch_that_changes_nothing_is_not_stored(api: Api) -> None:
    (await api.post(DEPLOYMENTS, deployment())).ok()
    before = api.revision
    for kind in (STRATEGIC, "application/merge-patch+json"):
        (await api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 1}}, kind)).ok()
    assert api.revision == before


async def test_the_status_is_patched_at_its_own_address(api: Api) -> None:
    (await api.post(PODS, pod())).ok()
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    (await api.patch(f"{PODS}/web", {"status": status})).ok()
    assert (await api.get(f"{PODS}/web")).ok()["status"]["phase"] == "Pending"
    patched = (await api.patch(f"{PODS}/web/status", {"status": status, "spec": {"nodeName": "x"}}, STRATEGIC)).ok()
    assert (patched["status"]["phase"], "nodeName" in patched["spec"]) == ("Running", False)
    assert patched["metadata"]["managedFields"][-1]["subresource"] == "status"


def configuration(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": data}


async def test_an_apply_creates_what_is_not_there(api: Api) -> None:
    answer = await api.apply(f"{MAPS}/web", configuration(a="1"))
    assert answer.status == 201
    (entry,) = answer.json["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("tester", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}
    before = api.revision
    assert (await api.apply(f"{MAPS}/web", configuration(a="1"))).status == 200
    assert api.revision == before


async def test_an_apply_of_a_zero_that_is_not_kept_is_stored_once() -> None:
    """To the managers it is a change each time; upstream then leaves their times alone."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    applied = deployment()
    applied["spec"]["minReadySeconds"] = 0
    async with serving(now=lambda: now) as api:
        first = (await api.apply(f"{DEPLOYMENTS}/web", applied)).ok()
        before = api.revision
        now += timedelta(hours=1)
        again = (await api.apply(f"{DEPLOYMENTS}/web", applied)).ok()
        assert (api.revision, again) == (before, first)
        applied["spec"]["replicas"] = 5
        later = (await api.apply(f"{DEPLOYMENTS}/web", applied)).ok()
        assert later["metadata"]["managedFields"][0]["time"] == "2026-01-01T01:00:00Z"


async def test_what_is_no_longer_applied_goes(api: Api) -> None:
    await api.apply(f"{MAPS}/web", configuration(a="1", b="2"))
    assert (await api.apply(f"{MAPS}/web", configuration(b="2"))).ok()["data"] == {"b": "2"}


async def test_others_fields_conflict_unless_forced(api: Api) -> None:
    await api.apply(f"{MAPS}/web", configuration(a="1"), "first")
    status = (await api.apply(f"{MAPS}/web", configuration(a="2"), "second")).failed(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "first": .data.a'
    )
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.a"}
    ]
    assert (await api.apply(f"{MAPS}/web", configuration(a="2"), "second", force="true")).ok()["data"] == {"a": "2"}


async def test_an_apply_takes_yaml_and_needs_a_manager(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  day: '2020-01-01'\n"
    assert (await api.apply(f"{MAPS}/web", body)).ok()["data"] == {"day": "2020-01-01"}
    (await api.apply(f"{MAPS}/web", body, "")).failed(422, "Invalid", "fieldManager: Required value")
    (await api.patch(f"{MAPS}/web", {}, force="true")).failed(422, "Invalid", "force: Forbidden")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Pod"}, "invalid object type: /v1, Kind=Pod"),
        ({"apiVersion": "apps/v1"}, "invalid object type: apps/v1, Kind=ConfigMap"),
        ({"metadata": {"name": "other"}}, "does not match the name on the URL"),
        ({"metadata": {"name": "web", "namespace": "other"}}, "does not match the namespace"),
    ],
)
async def test_what_is_applied_must_fit_the_url(api: Api, change: dict[str, Any], words: str) -> None:
    (await api.apply(f"{MAPS}/web", configuration() | change)).failed(400, "BadRequest", words)


async def test_an_apply_with_fields_that_nobody_knows_fails(api: Api) -> None:
    (await api.apply(f"{MAPS}/web", configuration() | {"dat": {}})).failed(
        400, "BadRequest", "failed to create typed patch object", "field not declared in schema"
    )
    assert api.server.storage.get("configmaps", "default", "web") is None


async def test_custom_resources_are_applied_too(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    assert (await api.apply(f"{MYKINDS}/one", mykind(spec={"color": "red"}))).status == 201
    (await api.apply(f"{MYKINDS}/one/status", mykind(status={"ready": 2}), "controller")).ok()
    stored = (await api.get(f"{MYKINDS}/one")).ok()
    assert (stored["spec"], stored["status"]) == ({"color": "red", "numpods": 1}, {"ready": 2})
    owned = {(e["manager"], e.get("subresource", "")): e["fieldsV1"] for e in stored["metadata"]["managedFields"]}
    assert owned["controller", "status"] == {"f:status": {"f:ready": {}}}


async def test_an_apply_to_the_spec_leaves_the_status_alone(api: Api) -> None:
    applied = deployment() | {"status": {"replicas": 7}}
    result = (await api.apply(f"{DEPLOYMENTS}/web", applied)).ok()
    assert result["status"] == {}
    assert "f:status" not in result["metadata"]["managedFields"][0]["fieldsV1"]


async def test_an_apply_for_a_uid_creates_nothing(api: Api) -> None:
    wanted = configuration() | {"metadata": {"name": "web", "uid": "gone"}}
    (await api.apply(f"{MAPS}/web", wanted)).failed(409, "Conflict", "uid mismatch")
