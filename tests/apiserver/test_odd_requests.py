"""Answers of a kube-apiserver 1.37.2 to requests that few clients make."""

from __future__ import annotations

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
    config_map,
    crd,
    deployment,
    pod,
    serving,
)

JsonObject = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ARMOR = "container.apparmor.security.beta.kubernetes.io/main"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/main"


@pytest.mark.parametrize(
    ("annotation", "text", "field", "profile", "wrong"),
    [
        (ARMOR, "runtime/default", "appArmorProfile", {"type": "RuntimeDefault"}, ""),
        (ARMOR, "runtime/default", "appArmorProfile", {"type": "Unconfined"}, "type"),
        (ARMOR, "localhost/a", "appArmorProfile", {"type": "Localhost", "localhostProfile": "b"}, "localhostProfile"),
        (SECCOMP, "docker/default", "seccompProfile", {"type": "RuntimeDefault"}, ""),
        (SECCOMP, "localhost/a", "seccompProfile", {"type": "RuntimeDefault"}, "type"),
        (SECCOMP, "localhost/a", "seccompProfile", {"type": "Localhost", "localhostProfile": "b"}, "localhostProfile"),
    ],
)
async def test_profiles_in_annotations_and_fields_are_the_same(
    annotation: str, text: str, field: str, profile: JsonObject, wrong: str
) -> None:
    metadata = {"name": "p", "annotations": {annotation: text}}
    container = {"name": "main", "image": "i", "securityContext": {field: profile}}
    template = {"metadata": {**metadata, "labels": {"app": "web"}}, "spec": {"containers": [container]}}
    async with serving() as api:
        for start, answer in (
            ("spec", await api.post(PODS, {"metadata": metadata, "spec": {"containers": [container]}})),
            ("spec.template.spec", await api.post(DEPLOYMENTS, deployment(template=template))),
        ):
            if not wrong:
                answer.ok()
                continue
            cause = answer.failed(422, "Invalid", "in annotation and field must match")["details"]["causes"][-1]
            assert cause["field"] == f"{start}.containers[0].securityContext.{field}.{wrong}"


async def test_a_new_pod_has_the_app_armor_profiles_of_its_annotations() -> None:
    async with serving() as api:
        for text, profile in (
            ("unconfined", {"type": "Unconfined"}),
            ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ):
            made = (await api.post(PODS, pod("p", metadata={"annotations": {ARMOR: text}}), dryRun="All")).ok()
            assert made["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
        whole = pod(
            "p",
            metadata={"annotations": {ARMOR: "unconfined"}},
            spec={"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
        )
        made = (await api.post(PODS, whole)).ok()
        assert "securityContext" not in made["spec"]["containers"][0]


async def test_only_objects_that_can_not_be_read_are_deleted_unread() -> None:
    unread = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        words = "unsafe deletion is not allowed because the object is decodable from storage"
        (await api.send("DELETE", f"{MAPS}/web", unread)).failed(409, "Conflict", words)
        answer = await api.send("DELETE", f"{MAPS}/web", {**unread, "gracePeriodSeconds": 0})
        answer.failed(422, "Invalid", "cannot be set together with .gracePeriodSeconds")
        (await api.get(f"{MAPS}/web")).ok()


async def test_a_table_with_an_unknown_part_of_objects_is_refused() -> None:
    table = "Unable to convert to Table as requested: includeObject"
    words = f"{table}: Invalid value: \"odd\": must be 'Metadata', 'Object', 'None', or empty"
    async with serving() as api:
        answer = await api.send("GET", MAPS, accept=TABLE, query={"includeObject": "odd"})
        assert answer.failed(400, "BadRequest", words)["message"] == words


async def test_paths_below_a_custom_group_that_are_not_served_are_no_page() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        group = MYKINDS.split("/namespaces")[0].rpartition("/")[0]
        for path in (f"{group}/v9", f"{group}/v9/mykinds"):
            answer = await api.get(path)
            assert (answer.status, answer.body) == (404, b"404 page not found\n")


async def test_reviews_say_who_wrote_their_fields() -> None:
    async with serving() as api:
        spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
        review = await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec})
        (entry,) = review.ok()["metadata"]["managedFields"]
        fields = {".": {}, "f:resource": {}, "f:verb": {}}
        assert entry["fieldsV1"] == {"f:spec": {"f:resourceAttributes": fields}}


async def test_built_in_kinds_have_no_head() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        assert [(await api.send("HEAD", path)).status for path in (MAPS, f"{PODS}/x", MYKINDS)] == [405, 405, 200]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_paths_of_watches_are_only_read(method: str) -> None:
    async with serving() as api:
        for path in ("/api/v1/watch/namespaces/default/configmaps", "/api/v1/watch/namespaces/default/configmaps/web"):
            (await api.send(method, path, config_map())).failed(405, "MethodNotAllowed")
        assert (await api.get(MAPS)).ok()["items"] == []


async def test_an_apply_to_a_part_of_a_missing_object_is_not_found_whatever_it_says() -> None:
    async with serving() as api:
        for part in ("status", "scale"):
            answer = await api.apply(f"{DEPLOYMENTS}/x/{part}", {"kind": "Odd"}, "m")
            answer.failed(404, "NotFound", 'deployments.apps "x" not found')


async def test_a_dry_run_of_an_eviction_is_asked_for_once_or_twice_alike() -> None:
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}}
    async with serving() as api:
        (await api.post(PODS, pod("p"))).ok()
        answer = await api.post(f"{PODS}/p/eviction", eviction, dryRun=["All", "All"])
        answer.failed(400, "BadRequest", "Non-matching dry-run options in request and content: [All All] and [All]")
        unread = {**eviction, "deleteOptions": {"ignoreStoreReadErrorWithClusterBreakingPotential": True}}
        (await api.post(f"{PODS}/p/eviction", unread)).failed(422, "Invalid", "can not be set for pod eviction")
        (await api.post(f"{PODS}/p/eviction", eviction, dryRun="All")).ok()


@pytest.mark.parametrize("word", ["anyOf", "allOf", "oneOf"])
async def test_additional_properties_in_alternatives_are_only_false(word: str) -> None:
    async with serving() as api:
        for value, refused in (({}, True), (True, True), ({"type": "string"}, True), (False, False)):
            definition = crd()
            schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            schema["properties"]["map"] = {
                "type": "object",
                "additionalProperties": {"type": "string"},
                word: [{"additionalProperties": value}],
            }
            answer = await api.post(CRDS, definition, dryRun="All")
            if refused:
                answer.failed(422, "Invalid", f"{word}[0].additionalProperties: Forbidden: must be undefined to be")
            else:
                answer.ok()


async def test_the_legacy_signer_is_refused() -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {"signerName": "kubernetes.io/legacy-unknown", "request": "", "usages": ["client auth"]}
    async with serving() as api:
        answer = await api.post(path, {"metadata": {"name": "x"}, "spec": spec})
        answer.failed(422, "Invalid", "the legacy signerName is not allowed via this API version")


async def test_a_renamed_container_does_not_hide_another_quality_of_service() -> None:
    container = {"name": "main", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    async with serving() as api:
        (await api.post(PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})).ok()
        renamed = {"spec": {"containers": [{"name": "z", "image": "i"}]}}
        answer = await api.patch(f"{PODS}/p/resize", renamed)
        causes = answer.failed(422, "Invalid", "may not be renamed")["details"]["causes"]
        assert "Pod QOS Class may not change as a result of resizing" in causes[0]["message"]


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/", (200, 200)),
        ("/livez", (200, 200)),
        ("/apis", (200, 200)),
        ("/apis/apps", (200, 200)),
        ("/apis/apps/v1", (405, 405)),
        ("/api/v1", (405, 405)),
        ("/version", (405, 405)),
        ("/apis/nope/v1", (404, 404)),
    ],
)
async def test_only_some_paths_look_at_the_method(path: str, statuses: tuple[int, int]) -> None:
    async with serving() as api:
        assert tuple([(await api.send(method, path)).status for method in ("HEAD", "DELETE")]) == statuses
        assert (await api.get(path)).status in (200, 404)


async def test_only_a_list_of_version_0_has_no_pages() -> None:
    async with serving() as api:
        for name in ("a", "b"):
            (await api.post(MAPS, config_map(name))).ok()
        now = (await api.get(MAPS)).ok()["metadata"]["resourceVersion"]
        for version, match, shown in (("0", "", 2), ("0", "NotOlderThan", 2), (now, "NotOlderThan", 1), (now, "", 1)):
            query = {"resourceVersion": version} | ({"resourceVersionMatch": match} if match else {})
            assert len((await api.get(MAPS, limit=1, **query)).ok()["items"]) == shown


async def test_an_owner_without_uid_in_an_apply_is_refused_as_one_without_uid() -> None:
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "n"}]
    async with serving() as api:
        sent = config_map(metadata={"ownerReferences": owners})
        answer = await api.apply(f"{MAPS}/web", sent, "m")
        answer.failed(422, "Invalid", "metadata.ownerReferences[0].uid: Required value: must not be empty")


async def test_the_storage_class_of_a_claim_s_annotation_stays() -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    annotations = {"volume.beta.kubernetes.io/storage-class": "y"}
    async with serving() as api:
        (await api.post(path, {"metadata": {"name": "c"}, "spec": spec})).ok()
        answer = await api.patch(f"{path}/c", {"metadata": {"annotations": annotations}})
        (cause,) = answer.failed(422, "Invalid", 'Invalid value: "y": field is immutable')["details"]["causes"]
        assert cause["field"] == "metadata.annotations.volume.beta.kubernetes.io/storage-class"


@pytest.mark.parametrize(
    "patch",
    [{"spec": {"$deleteFromPrimitiveList/containers": ["main"]}}, {"metadata": {"finalizers": [5]}}],
)
async def test_lists_that_a_strategic_patch_merges_have_items_of_one_type(patch: JsonObject) -> None:
    async with serving() as api:
        (await api.post(PODS, pod("p", metadata={"finalizers": ["x.io/y"]}))).ok()
        answer = await api.patch(f"{PODS}/p", patch, STRATEGIC)
        answer.failed(400, "BadRequest", "list element types are not identical: [[")


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ({}, "cannot bind token to object of type /, Kind="),
        ({"kind": "Pod", "apiVersion": "v1"}, "Name parameter required."),
        ({"kind": "Odd", "apiVersion": "v1", "name": "x"}, "cannot bind token to object of type /v1, Kind=Odd"),
    ],
)
async def test_a_token_is_bound_to_an_object_that_is_named(bound: JsonObject, words: str) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    async with serving() as api:
        (await api.post(accounts, {"metadata": {"name": "s"}})).ok()
        answer = await api.post(f"{accounts}/s/token", {"spec": {"boundObjectRef": bound}})
        assert answer.failed(400, "BadRequest", words)["message"] == words


@pytest.mark.parametrize(
    ("labels", "shown"),
    [(None, "map[$retainKeys:[l] l:map[]]"), ({"k": "v"}, "map[l:map[]]")],
)
async def test_a_strategic_patch_is_shown_with_the_directives_of_maps_that_it_adds(
    labels: JsonObject | None, shown: str
) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map(metadata={"labels": labels} if labels else {}))).ok()
        patch = {"metadata": {"labels": {"$retainKeys": ["l"], "l": {}}}}
        answer = await api.patch(f"{MAPS}/web", patch, STRATEGIC)
        answer.failed(422, "Invalid", f"map[metadata:map[labels:{shown}]]")


async def test_a_patched_object_is_quoted_with_the_fields_in_the_order_of_their_structs() -> None:
    async with serving() as api:
        (await api.post(DEPLOYMENTS, deployment())).ok()
        patch = [{"op": "replace", "path": "/spec/replicas", "value": "x"}]
        answer = await api.patch(f"{DEPLOYMENTS}/web", patch, JSON_PATCH)
        (cause,) = answer.failed(422, "Invalid", "cannot unmarshal string")["details"]["causes"]
        words = ("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy")
        places = [cause["message"].index(f'"{word}\\":') for word in words]
        assert places == sorted(places)


async def test_a_generate_name_that_an_update_sets_is_checked() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        (await api.post(DEPLOYMENTS, deployment())).ok()
        (await api.post(CRDS, crd())).ok()
        definition = f"{CRDS}/{crd()['metadata']['name']}"
        for path, own in ((f"{MAPS}/web", True), (f"{DEPLOYMENTS}/web", False), (definition, False)):
            for name, words in (("a/b", "may not contain '/'"), ("-1Gi", "a lowercase RFC 1123 subdomain must")):
                answer = await api.patch(path, {"metadata": {"generateName": name}}, dryRun="All")
                if own or "/" in name:
                    answer.failed(422, "Invalid", f'metadata.generateName: Invalid value: "{name}": {words}')
                else:
                    answer.ok()
