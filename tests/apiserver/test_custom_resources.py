"""CRDs: established in steps, served at once, changed live, and gone with their objects."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MYKINDS, Api, crd, crd_version, mykind, serving

from setpoint.apiserver import SqliteStorage

RESOURCE = {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}
CRD = f"{CRDS}/mykinds.grp.example.com"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


@pytest.fixture
async def served(api: Api) -> Api:
    (await api.post(CRDS, crd())).ok()
    return api


async def test_a_crd_is_established_step_by_step(api: Api) -> None:
    async with api.watch(CRDS, resourceVersion=str(api.revision)) as events:
        new_crd = (await api.post(CRDS, crd())).ok()
        assert new_crd["spec"]["names"] == {
            "plural": "mykinds",
            "singular": "mykind",
            "kind": "Mykind",
            "listKind": "MykindList",
            "shortNames": ["mk"],
        }
        assert "finalizers" not in new_crd["metadata"]
        names = {"plural": "", "kind": ""}
        assert new_crd["status"] == {"conditions": None, "acceptedNames": names, "storedVersions": ["v1"]}
        steps = await events.take(3)
    assert [type_ for type_, _ in steps] == ["ADDED", "MODIFIED", "MODIFIED"]
    states = [{item["type"]: item["status"] for item in (obj["status"]["conditions"] or ())} for _, obj in steps]
    assert states == [{}, {"NamesAccepted": "True"}, {"NamesAccepted": "True", "Established": "True"}]
    status = steps[2][1]["status"]
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"]["kind"] == "Mykind"
    assert steps[2][1]["metadata"]["generation"] == 1
    assert (await api.get(MYKINDS)).ok()["kind"] == "MykindList"


async def test_objects_are_pruned_and_defaulted(served: Api) -> None:
    sent = mykind(spec={"unknown": 1, "free": {"any": ["thing"]}}, status={"ready": 5}, extra=True)
    new_mykind = await served.post(MYKINDS, sent)
    assert new_mykind.ok()["spec"] == {"numpods": 1, "free": {"any": ["thing"]}}
    assert "status" not in new_mykind.ok()
    assert "extra" not in new_mykind.ok()
    assert 'unknown field \\"extra\\"' in new_mykind.warnings
    assert new_mykind.ok()["metadata"]["generation"] == 1


async def test_status_and_spec_have_their_own_addresses(served: Api) -> None:
    new_mykind = (await served.post(MYKINDS, mykind(spec={"numpods": 2}))).ok()
    new_mykind["status"] = {"ready": 1}
    new_mykind["spec"]["numpods"] = 9
    new_mykind["metadata"]["labels"] = {"a": "b"}
    by_status = (await served.put(f"{MYKINDS}/one/status", new_mykind)).ok()
    assert (by_status["spec"]["numpods"], by_status["status"]) == (2, {"ready": 1})
    assert by_status["metadata"]["generation"] == 1
    assert "labels" not in by_status["metadata"]
    by_status["status"] = {"ready": 7}
    by_status["spec"]["numpods"] = 3
    by_spec = (await served.put(f"{MYKINDS}/one", by_status)).ok()
    assert (by_spec["spec"]["numpods"], by_spec["status"]) == (3, {"ready": 1})
    assert by_spec["metadata"]["generation"] == 2


async def test_a_status_that_stays_the_same_is_not_stored(served: Api) -> None:
    new_mykind = (await served.post(MYKINDS, mykind())).ok()
    new_mykind["status"] = {"ready": 1}
    new_mykind = (await served.put(f"{MYKINDS}/one/status", new_mykind)).ok()
    before = served.revision
    (await served.put(f"{MYKINDS}/one/status", new_mykind)).ok()
    # Fields that the definition does not have are dropped, and nothing is left of this change.
    (await served.patch(f"{MYKINDS}/one/status", {"status": {"ready": 1, "unheardOf": 2}})).ok()
    assert served.revision == before


async def test_custom_objects_need_a_version_for_updates(served: Api) -> None:
    await served.post(MYKINDS, mykind())
    (await served.put(f"{MYKINDS}/one", mykind())).failed(422, "Invalid", "must be specified for an update")


async def test_custom_objects_scale(served: Api) -> None:
    await served.post(MYKINDS, mykind(spec={"numpods": 2}))
    await served.patch(f"{MYKINDS}/one/status", {"status": {"ready": 1, "selector": "app=x"}})
    scale = (await served.get(f"{MYKINDS}/one/scale")).ok()
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=x"})
    (await served.patch(f"{MYKINDS}/one/scale", {"spec": {"replicas": 4}})).ok()
    stored = (await served.get(f"{MYKINDS}/one")).ok()
    assert stored["spec"]["numpods"] == 4
    assert stored["metadata"]["generation"] == 2


async def test_versions_differ_in_name_and_schema_only(api: Api) -> None:
    new = crd_version("v2", storage=False)
    new["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["note"] = {"type": "string"}
    hidden = crd_version("v0", storage=False, served=False)
    old = crd_version(deprecated=True)
    (await api.post(CRDS, crd(versions=[old, new, hidden]))).ok()
    new_mykind = await api.post(MYKINDS, mykind(spec={"numpods": 2}))
    assert "grp.example.com/v1 Mykind is deprecated" in new_mykind.warnings
    newer = MYKINDS.replace("/v1/", "/v2/")
    seen = (await api.get(f"{newer}/one")).ok()
    assert seen["apiVersion"] == "grp.example.com/v2"
    assert seen["metadata"] == new_mykind.ok()["metadata"]
    assert [item["apiVersion"] for item in (await api.get(newer)).ok()["items"]] == ["grp.example.com/v2"]
    async with api.watch(newer, resourceVersion=str(api.revision)) as events:
        (await api.patch(f"{MYKINDS}/one", {"spec": {"numpods": 3}})).ok()
        _, changed = await events.next()
    assert (changed["apiVersion"], changed["spec"]["numpods"]) == ("grp.example.com/v2", 3)
    before = api.revision
    (await api.put(f"{newer}/one", (await api.get(f"{newer}/one")).ok())).ok()
    (await api.patch(f"{newer}/one", {"spec": {"numpods": 3}})).ok()
    assert api.revision == before  # changes that change nothing are not stored in any version
    assert (await api.get(MYKINDS.replace("/v1/", "/v0/"))).status == 404
    by_new = (await api.post(newer, mykind("two", "v2", spec={"note": "x"}))).ok()
    assert by_new["apiVersion"] == "grp.example.com/v2"
    assert (await api.get(f"{MYKINDS}/two")).ok()["apiVersion"] == "grp.example.com/v1"


async def test_quotes_in_a_warning_are_escaped_in_every_answer(api: Api) -> None:
    (await api.post(CRDS, crd(versions=[crd_version(deprecated=True, deprecationWarning='use "v2"')]))).ok()
    for query in ({}, {"watch": "true"}):
        answer = await api.get(MYKINDS, **query)
        assert answer.headers["warning"] == '299 - "use \\"v2\\""'
        if query:
            await answer.body.aclose()


async def test_an_apply_where_fields_are_owned_in_a_version_that_was_removed_is_refused(api: Api) -> None:
    (await api.post(CRDS, crd(versions=[crd_version(), crd_version("v2", storage=False)]))).ok()
    (await api.apply(f"{MYKINDS}/one", mykind(spec={"numpods": 2}))).ok()
    definition = (await api.get(CRD)).ok()
    definition["spec"]["versions"] = [crd_version(storage=False), crd_version("v2")]
    definition = (await api.put(CRD, definition)).ok()
    newer = MYKINDS.replace("/v1/", "/v2/")
    (await api.patch(f"{newer}/one", {"metadata": {"labels": {"a": "b"}}})).ok()  # now it is stored as v2
    definition["status"]["storedVersions"] = ["v2"]
    definition = (await api.put(f"{CRD}/status", definition)).ok()
    definition["spec"]["versions"] = [crd_version("v2")]
    (await api.put(CRD, definition)).ok()
    refused = await api.apply(f"{newer}/one", mykind(version="v2", spec={"numpods": 4}), "another")
    refused.failed(500, "", "request to convert CR to an invalid group/version: grp.example.com/v1")
    (await api.patch(f"{newer}/one", {"spec": {"numpods": 5}})).ok()  # as upstream, other writes drop the records
    (await api.apply(f"{newer}/one", mykind(version="v2", spec={"numpods": 5}), "another")).ok()


async def test_a_definition_named_like_a_built_in_kind_does_not_take_its_place(api: Api) -> None:
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    (await api.post(ingresses, {"metadata": {"name": "a"}, "spec": {"defaultBackend": {"resource": RESOURCE}}})).ok()
    definition = crd()
    definition["metadata"] = {
        "name": "ingresses.networking.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental"},
    }
    definition["spec"]["group"] = "networking.k8s.io"
    definition["spec"]["names"] = {"plural": "ingresses", "kind": "Ingress"}
    (await api.post(CRDS, definition)).ok()
    (await api.patch(f"{ingresses}/a", {"metadata": {"labels": {"a": "b"}}})).ok()
    assert (await api.get(f"{ingresses}/a")).ok()["spec"]["defaultBackend"] == {"resource": RESOURCE}
    (await api.delete(f"{CRDS}/ingresses.networking.k8s.io")).ok()
    (await api.get(f"{CRDS}/ingresses.networking.k8s.io")).failed(404, "NotFound")
    assert [item["metadata"]["name"] for item in (await api.get(ingresses)).ok()["items"]] == ["a"]


async def test_other_kinds_in_a_version_of_a_built_in_group_are_not_served(api: Api) -> None:
    definition = crd(versions=[crd_version(), crd_version("v7", storage=False)])
    definition["metadata"] = {
        "name": "mykinds.networking.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental"},
    }
    definition["spec"]["group"] = "networking.k8s.io"
    (await api.post(CRDS, definition)).ok()
    (await api.get("/apis/networking.k8s.io/v1/namespaces/default/mykinds")).failed(404, "NotFound")
    (await api.get("/apis/networking.k8s.io/v7/namespaces/default/mykinds")).ok()


async def test_a_changed_schema_holds_from_then_on(served: Api) -> None:
    definition = (await served.get(CRD)).ok()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["note"] = {"type": "string", "default": "none"}
    changed = (await served.put(CRD, definition)).ok()
    assert changed["metadata"]["generation"] == 2
    assert (await served.post(MYKINDS, mykind(spec={}))).ok()["spec"] == {"numpods": 1, "note": "none"}


async def test_names_belong_to_whoever_had_them_first(served: Api) -> None:
    second = crd(names={"plural": "others", "kind": "Mykind"})
    second["metadata"]["name"] = "others.grp.example.com"
    (await served.post(CRDS, second)).ok()
    status = (await served.get(f"{CRDS}/others.grp.example.com")).ok()["status"]
    conditions = {item["type"]: (item["status"], item["reason"]) for item in status["conditions"]}
    assert conditions == {"NamesAccepted": ("False", "ListKindConflict"), "Established": ("False", "NotAccepted")}
    assert (await served.get("/apis/grp.example.com/v1/others")).status == 404


async def test_group_scope_and_kind_stay(served: Api) -> None:
    definition = (await served.get(CRD)).ok()
    for field, value in (("scope", "Cluster"), ("group", "other.example.com")):
        changed = copy.deepcopy(definition)
        changed["spec"][field] = value
        (await served.put(CRD, changed)).failed(422, "Invalid", f"spec.{field}", "field is immutable")


async def test_a_deleted_crd_takes_its_objects_along(served: Api) -> None:
    for name in "ab":
        (await served.post(MYKINDS, mykind(name))).ok()
    await served.delete(CRD)
    assert (await served.get(MYKINDS)).status == 404
    assert served.server.storage.scan("mykinds.grp.example.com") == []
    (await served.post(CRDS, crd())).ok()
    assert (await served.get(MYKINDS)).ok()["items"] == []


@pytest.mark.parametrize(
    ("options", "status"), [({}, 200), ({"orphanDependents": False}, 202), ({"dryRun": ["All"]}, 200)]
)
async def test_the_answer_to_the_deletion_of_a_crd_is_the_crd_that_waits_for_its_cleanup(
    served: Api, options: dict[str, Any], status: int
) -> None:
    """Even if it has no objects: in upstream, controllers finish the deletion after the answer."""
    answer = await served.delete(CRD, body=options)
    assert (answer.status, answer.json["kind"]) == (status, "CustomResourceDefinition")
    assert answer.json["metadata"]["deletionTimestamp"]
    assert answer.json["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    [*_, condition] = answer.json["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Terminating", "True")
    assert condition["reason"] == "InstanceDeletionPending"
    assert condition["lastTransitionTime"]
    assert (await served.get(CRD)).status == (200 if "dryRun" in options else 404)


async def test_a_deleted_crd_waits_for_objects_with_finalizers(served: Api) -> None:
    (await served.post(MYKINDS, mykind(metadata={"name": "one", "finalizers": ["example.com/x"]}))).ok()
    waiting = (await served.delete(CRD)).ok()
    assert waiting["metadata"]["deletionTimestamp"]
    assert {item["type"]: item["status"] for item in waiting["status"]["conditions"]}["Terminating"] == "True"
    (await served.post(MYKINDS, mykind("late"))).failed(405, "MethodNotAllowed", "create not allowed while")
    assert (await served.get(f"{MYKINDS}/one")).ok()["metadata"]["deletionTimestamp"]
    (await served.patch(f"{MYKINDS}/one", {"metadata": {"finalizers": None}})).ok()
    (await served.get(CRD)).failed(404, "NotFound")
    assert (await served.get(MYKINDS)).status == 404


async def test_custom_resources_are_served_after_a_restart() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with serving(SqliteStorage(directory)) as api:
            (await api.post(CRDS, crd())).ok()
            (await api.post(MYKINDS, mykind(spec={}))).ok()
        async with serving(SqliteStorage(directory)) as api:
            assert (await api.get(f"{MYKINDS}/one")).ok()["spec"] == {"numpods": 1}


async def test_fields_of_custom_resources_can_be_selected_by(api: Api) -> None:
    version = crd_version(selectableFields=[{"jsonPath": ".spec.color"}])
    (await api.post(CRDS, crd(versions=[version]))).ok()
    for name, color in (("a", "red"), ("b", "green")):
        (await api.post(MYKINDS, mykind(name, spec={"color": color}))).ok()
    current_mykind = (await api.get(MYKINDS, fieldSelector="spec.color=red")).ok()
    assert [item["metadata"]["name"] for item in current_mykind["items"]] == ["a"]
    (await api.get(MYKINDS, fieldSelector="spec.numpods=1")).failed(400, "BadRequest", "field label not supported")


async def test_objects_of_before_get_the_defaults_of_now(served: Api) -> None:
    (await served.post(MYKINDS, mykind(spec={}))).ok()
    start = str(served.revision)
    (await served.patch(f"{MYKINDS}/one", {"metadata": {"labels": {"a": "b"}}})).ok()
    definition = (await served.get(CRD)).ok()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["note"] = {"type": "string", "default": "none"}
    (await served.put(CRD, definition)).ok()
    before = served.revision
    wanted = {"numpods": 1, "note": "none"}
    assert (await served.get(f"{MYKINDS}/one")).ok()["spec"] == wanted
    assert (await served.get(MYKINDS)).ok()["items"][0]["spec"] == wanted
    async with served.watch(MYKINDS, resourceVersion=start) as events:
        type_, changed = await events.next()
    assert (type_, changed["spec"]) == ("MODIFIED", wanted)
    assert served.revision == before
    (await served.patch(f"{MYKINDS}/one", {"metadata": {"labels": {"a": "c"}}})).ok()
    stored = served.server.storage.get("mykinds.grp.example.com", "default", "one")
    assert stored is not None
    assert b'"note":"none"' in stored.value


async def test_an_object_of_before_that_does_not_fit_the_schema_of_now_can_go(served: Api) -> None:
    definition = (await served.get(CRD)).ok()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["parts"] = {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    (await served.put(CRD, definition)).ok()
    obj = mykind(spec={"parts": [{"size": 11}]})
    obj["metadata"]["finalizers"] = ["grp.example.com/guard"]
    (await served.post(MYKINDS, obj)).ok()
    definition = (await served.get(CRD)).ok()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["parts"]["items"]["properties"] = {
        "size": {"type": "integer", "maximum": 10},
        "unit": {"type": "string", "default": "m"},
    }
    (await served.put(CRD, definition)).ok()
    deleted = (await served.delete(f"{MYKINDS}/one")).ok()
    assert deleted["spec"]["parts"] == [{"size": 11, "unit": "m"}]
    (await served.patch(f"{MYKINDS}/one", {"metadata": {"labels": {"a": "b"}}})).ok()
    (await served.patch(f"{MYKINDS}/one", {"metadata": {"finalizers": None}})).ok()
    (await served.get(f"{MYKINDS}/one")).failed(404, "NotFound")


async def test_objects_of_before_lose_the_fields_that_the_schema_has_no_more(served: Api) -> None:
    definition = (await served.get(CRD)).ok()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    strict, schema["spec"] = schema["spec"], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    (await served.put(CRD, definition)).ok()
    (await served.post(MYKINDS, mykind(spec={"numpods": 1, "color": {"a": "b"}, "old": [1]}))).ok()
    start = str(served.revision)
    (await served.patch(f"{MYKINDS}/one", {"spec": {"older": 1}})).ok()
    definition = (await served.get(CRD)).ok()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = strict
    (await served.put(CRD, definition)).ok()
    fitted = {"numpods": 1, "color": {}}
    assert (await served.get(f"{MYKINDS}/one")).ok()["spec"] == fitted
    assert (await served.get(MYKINDS)).ok()["items"][0]["spec"] == fitted
    async with served.watch(MYKINDS, resourceVersion=start) as events:
        _, changed = await events.next()
    assert changed["spec"] == fitted
    patched = (await served.patch(f"{MYKINDS}/one", {"metadata": {"labels": {"a": "b"}}})).ok()
    assert patched["spec"] == fitted, "what is left of an object of another type is not refused when it is left alone"
