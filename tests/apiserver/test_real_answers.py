"""Answers of a kube-apiserver 1.37.1 to requests that are not everyday ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
    PODS,
    STRATEGIC,
    Api,
    config_map,
    deployment,
    pod,
    serving,
)

JsonObject = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/default"
SERVICES = f"{NAMESPACE}/services"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("accept", ["application/*", "text/html"])
async def test_built_in_kinds_are_only_shown_in_a_type_that_the_client_names(accept: str) -> None:
    async with serving() as api:
        types = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        answer = await api.send("GET", MAPS, accept=accept)
        streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        answer.failed(406, "NotAcceptable", f"Available representations: {types}, {streams}")
        (await api.send("GET", f"{MAPS}/x", accept=accept)).failed(406, "NotAcceptable", types)
        (await api.send("GET", "/version", accept=accept)).failed(406, "NotAcceptable", "application/json")
        assert (await api.send("GET", MAPS, accept=f"{accept},application/json")).status == 200


async def test_the_form_of_a_list_is_chosen_before_its_options_and_numbers_before_selectors() -> None:
    options = {"labelSelector": "=", "limit": "x"}
    async with serving() as api:
        odd = await api.send("GET", MAPS, accept="application/json;as=Odd;v=v1;g=meta.k8s.io", query=options)
        odd.failed(406, "NotAcceptable", "only the following media types are accepted")
        text = 'strconv.ParseInt: parsing "x": invalid syntax'
        for more in ({}, {"watch": "1"}):
            assert (await api.get(MAPS, **options, **more)).failed(400, "BadRequest", text)["message"] == text


@pytest.mark.parametrize(
    ("path", "obj"),
    [
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}},
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {}),
        (f"{NAMESPACE}/events", {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}),
        (MAPS, None),
    ],
)
async def test_kinds_that_are_validated_generically_take_finalizers_without_a_domain(
    path: str, obj: JsonObject | None
) -> None:
    async with serving() as api:
        answer = await api.post(path, {**(obj or {}), "metadata": {"name": "x", "finalizers": ["plain"]}})
        if obj is not None:
            answer.ok()
        else:
            answer.failed(422, "Invalid", "name is neither a standard finalizer name nor is it fully qualified")


async def test_owners_in_a_refusal_have_the_fields_in_the_order_of_their_struct() -> None:
    owners = [{"uid": name, "controller": True, "name": name, "kind": "C", "apiVersion": "v1"} for name in "ab"]
    shown = ",".join(
        f'{{"apiVersion":"v1","kind":"C","name":"{name}","uid":"{name}","controller":true}}' for name in "ab"
    )
    async with serving() as api:
        answer = await api.post(MAPS, config_map("x", metadata={"ownerReferences": owners}))
        answer.failed(422, "Invalid", f"metadata.ownerReferences: Invalid value: [{shown}]: Only one reference")


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": None}}])
async def test_an_apply_without_a_name_makes_no_object_but_changes_one(metadata: JsonObject) -> None:
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, **metadata}
    text = "the name of the object (x based on URL) was undeterminable: name must be provided"
    async with serving() as api:
        answer = await api.patch(f"{MAPS}/x", configuration, APPLY, fieldManager="m")
        answer.failed(400, "BadRequest", text)
        await api.post(MAPS, config_map("x"))
        changed = (await api.patch(f"{MAPS}/x", configuration, APPLY, fieldManager="m")).ok()
        assert changed["data"] == {"a": "b"}


async def test_a_limit_range_without_a_name_is_named_by_a_uid() -> None:
    async with serving() as api:
        created = (await api.post(f"{NAMESPACE}/limitranges", {"spec": {"limits": []}})).ok()
        assert len(created["metadata"]["name"]) == len(created["metadata"]["uid"])


async def test_an_export_is_refused() -> None:
    async with serving() as api:
        await api.post(MAPS, config_map("x"))
        text = "the export parameter, deprecated since v1.14, is no longer supported"
        (await api.get(f"{MAPS}/x", export="true")).failed(400, "BadRequest", text)
        assert (await api.get(f"{MAPS}/x", export="false")).status == 200


async def test_a_deletion_shows_the_object_as_it_was_stored_last() -> None:
    finalizers = ["a.b/c"]
    async with serving() as api:
        await api.post(MAPS, config_map("x", metadata={"finalizers": finalizers}))
        await api.delete(f"{MAPS}/x")
        async with api.watch(MAPS, resourceVersion=str(api.revision)) as events:
            changed = (await api.patch(f"{MAPS}/x", {"metadata": {"finalizers": None}})).ok()
            assert "finalizers" not in changed["metadata"]
            kind, last = await events.next()
        assert (kind, last["metadata"]["finalizers"]) == ("DELETED", finalizers)
        assert last["metadata"]["resourceVersion"] == str(api.revision)


# -- patches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MERGE, JSON_PATCH])
async def test_a_patch_that_removes_the_version_loses_all_fields(kind: str) -> None:
    patch = {"apiVersion": None} if kind == MERGE else [{"op": "remove", "path": "/apiVersion"}]
    async with serving() as api:
        await api.post(MAPS, config_map("x", data={"a": "1"}))
        answer = await api.patch(f"{MAPS}/x", patch, kind)
        text = "the name of the object (x based on URL) was undeterminable: name must be provided"
        answer.failed(400, "BadRequest", text)
        assert answer.warnings == r'299 - "unknown field \"data\"", 299 - "unknown field \"metadata\""'
        answer = await api.patch(f"{MAPS}/x", patch, kind, fieldValidation="Strict")
        answer.failed(422, "Invalid", 'strict decoding error: unknown field "data", unknown field "metadata"')
        assert (await api.patch(f"{MAPS}/x", {"kind": None})).status == 200


async def test_null_is_a_strategic_merge_patch_without_effect() -> None:
    async with serving() as api:
        created = (await api.post(MAPS, config_map("x"))).ok()
        assert (await api.patch(f"{MAPS}/x", b"null", STRATEGIC)).ok() == created
        (await api.patch(f"{MAPS}/x", b"null", MERGE)).failed(400, "BadRequest", "Invalid JSON Patch")
        (await api.patch(f"{MAPS}/x", b"1", STRATEGIC)).failed(400, "BadRequest", "cannot unmarshal number into")


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ({"metadata": {"labels": {"l": "1", "$retainKeys": ["l"]}}}, "unrecognized type: string"),
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": []}, "cannot restore struct from: slice"),
        ({"spec": {"template": {"spec": {"containers": "x"}}}}, "cannot restore slice from string"),
    ],
)
async def test_a_strategic_merge_patch_of_the_wrong_type_is_quoted(patch: JsonObject, problem: str) -> None:
    async with serving() as api:
        await api.post(DEPLOYMENTS, deployment())
        answer = await api.patch(f"{DEPLOYMENTS}/web", patch, STRATEGIC)
        answer.failed(422, "Invalid", 'patch: Invalid value: "map[', problem)


async def test_a_directive_in_a_field_that_is_new_is_an_unknown_field() -> None:
    affinity = {"$retainKeys": ["nodeAffinity"], "nodeAffinity": {}}
    async with serving() as api:
        await api.post(DEPLOYMENTS, deployment())
        patch = {"spec": {"template": {"spec": {"affinity": affinity}}}}
        answer = await api.patch(f"{DEPLOYMENTS}/web", patch, STRATEGIC)
        assert answer.warnings == r'299 - "unknown field \"spec.template.spec.affinity.$retainKeys\""'


async def test_kubectls_server_side_apply_renews_the_annotation_of_its_client_side_apply() -> None:
    before = json.dumps(config_map("x", data={"a": "1", "b": "2"}))
    async with serving() as api:
        obj = config_map("x", metadata={"annotations": {LAST_APPLIED: before}}, data={"a": "1", "b": "2"})
        await api.post(MAPS, obj)
        configuration = config_map("x", data={"a": "<1>"})
        other = (await api.apply(f"{MAPS}/x", configuration, "other", force="true")).ok()
        assert other["metadata"]["annotations"][LAST_APPLIED] == before
        applied = (await api.apply(f"{MAPS}/x", configuration, "kubectl")).ok()
        text = r'{"apiVersion":"v1","data":{"a":"\u003c1\u003e"},"kind":"ConfigMap","metadata":{"name":"x"}}' + "\n"
        assert applied["metadata"]["annotations"][LAST_APPLIED] == text


async def test_an_apply_that_gives_up_the_last_field_of_a_custom_map_leaves_null_and_is_refused() -> None:
    inner = {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}}
    spec = {"type": "object", "properties": {"m": inner, "n": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "kind": "Thing"}
    definition = {"group": "grp.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    where = "/apis/grp.example.com/v1/namespaces/default/things/o"

    def thing(spec: JsonObject) -> JsonObject:
        return {"apiVersion": "grp.example.com/v1", "kind": "Thing", "metadata": {"name": "o"}, "spec": spec}

    async with serving() as api:
        await api.post(CRDS, {"metadata": {"name": "things.grp.example.com"}, "spec": definition})
        await api.post(where.removesuffix("/o"), thing({"m": {"a": {}}, "n": "1"}))
        (await api.apply(where, thing({"m": {"a": {"x": "1"}}}), "b")).ok()
        answer = await api.apply(where, thing({"n": "1"}), "b")
        answer.failed(
            422, "Invalid", 'spec.m.a: Invalid value: "null": spec.m.a in body must be of type object: "null"'
        )


async def test_only_the_order_of_a_map_like_list_is_no_change_for_ratcheting() -> None:
    items = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items}

    def version(**spec: Any) -> JsonObject:
        properties = {"lm": listed, "z": {"type": "string"}}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **spec}}}
        return {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}

    names = {"plural": "rats", "kind": "Rat"}
    definition = {"group": "grp.example.com", "scope": "Namespaced", "names": names, "versions": [version()]}
    rats = "/apis/grp.example.com/v1/namespaces/default/rats"
    one, two = {"k": "a", "v": "1"}, {"k": "b", "v": "2"}
    rat = {"apiVersion": "grp.example.com/v1", "kind": "Rat", "metadata": {"name": "r"}, "spec": {"lm": [one, two]}}
    async with serving() as api:
        await api.post(CRDS, {"metadata": {"name": "rats.grp.example.com"}, "spec": definition})
        (await api.post(rats, rat)).ok()
        (await api.patch(f"{CRDS}/rats.grp.example.com", {"spec": {"versions": [version(required=["z"])]}})).ok()
        assert (await api.patch(f"{rats}/r", {"spec": {"lm": [two, one]}})).status == 200
        changed = await api.patch(f"{rats}/r", {"spec": {"lm": [two, {**one, "v": "3"}]}})
        changed.failed(422, "Invalid", "spec.z: Required value")


# -- kinds -------------------------------------------------------------------------------------------------------------


async def used(api: Api, **hard: str) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard, "scopes": ["Terminating"]}}
    await api.post(f"{NAMESPACE}/resourcequotas", quota)
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    (await api.patch(f"{NAMESPACE}/resourcequotas/q/status", {"status": status})).ok()


async def test_a_pod_that_an_update_moves_into_a_quotas_scope_is_counted_whole() -> None:
    async with serving(plugins_off=()) as api:
        await used(api, pods="1")
        await api.post(PODS, pod("a"))
        (await api.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 100}})).ok()
        assert (await api.get(f"{NAMESPACE}/resourcequotas/q")).ok()["status"]["used"] == {"pods": "1"}
        answer = await api.post(PODS, pod("b", spec={"activeDeadlineSeconds": 5}))
        answer.failed(403, "Forbidden", "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")


async def test_an_eviction_that_uses_up_a_budget_says_so_in_its_condition() -> None:
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    async with serving() as api:
        await api.post(PODS, pod("p", metadata={"labels": {"e": "1"}}, spec={"nodeName": "n"}))
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await api.patch(f"{PODS}/p/status", {"status": status})
        spec = {"minAvailable": 0, "selector": {"matchLabels": {"e": "1"}}}
        await api.post(budgets, {"metadata": {"name": "b"}, "spec": spec})
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        status = (await api.post(f"{PODS}/p/eviction", eviction)).failed(429, "TooManyRequests", "would violate")
        (cause,) = status["details"]["causes"]
        assert cause["message"] == "The disruption budget b is still being processed by the server."
        counts = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0}
        await api.patch(f"{budgets}/b/status", {"status": {**counts, "expectedPods": 1}})
        assert (await api.post(f"{PODS}/p/eviction", eviction)).status == 201
        (condition,) = (await api.get(f"{budgets}/b")).ok()["status"]["conditions"]
        del condition["lastTransitionTime"]
        assert condition == {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": 1,
            "reason": "InsufficientPods",
            "message": "",
        }


async def test_a_put_of_a_missing_services_status_creates_the_service() -> None:
    async with serving() as api:
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        assert (await api.put(f"{SERVICES}/s/status", service)).status == 201
        assert (await api.get(f"{SERVICES}/s")).ok()["spec"]["ports"][0]["port"] == 80


async def test_an_apply_that_gives_up_the_node_ports_may_reorder_the_ports() -> None:
    one, two = {"port": 82, "name": "n82"}, {"port": 80, "name": "n80"}

    def service(**spec: Any) -> JsonObject:
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}

    async with serving() as api:
        (await api.apply(f"{SERVICES}/s", service(ports=[one, two]), "m1")).ok()
        (await api.apply(f"{SERVICES}/s", service(type="NodePort", ports=[one]), "m2")).ok()
        left = (await api.apply(f"{SERVICES}/s", service(ports=[two, one]), "m2")).ok()
        assert left["spec"]["type"] == "ClusterIP"
        assert all("nodePort" not in port for port in left["spec"]["ports"])


async def test_a_new_ingress_has_one_class() -> None:
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    backend = {"service": {"name": "a", "port": {"number": 1}}}
    metadata = {"name": "i", "annotations": {"kubernetes.io/ingress.class": "x"}}
    async with serving() as api:
        spec = {"ingressClassName": "y", "defaultBackend": backend}
        text = (
            'annotations.kubernetes.io/ingress.class: Invalid value: "x": must match `ingressClassName` when both are'
        )
        (await api.post(ingresses, {"metadata": metadata, "spec": spec})).failed(422, "Invalid", text)
        assert (
            await api.post(ingresses, {"metadata": metadata, "spec": {**spec, "ingressClassName": "x"}})
        ).status == 201


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        (
            {"kubernetes.io/config.mirror": "x"},
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror '
            "pod annotation is set",
        ),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "2147483648"},
            'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "2147483648": must be a '
            "32bit integer",
        ),
        (
            {"seccomp.security.alpha.kubernetes.io/pod": "x"},
            'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid '
            "seccomp profile",
        ),
        (
            {"container.apparmor.security.beta.kubernetes.io/other": "x"},
            'metadata.annotations[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "other": '
            "container not found",
        ),
    ],
)
async def test_annotations_of_pods_that_mean_something_are_checked(annotations: dict[str, str], text: str) -> None:
    async with serving() as api:
        answer = await api.post(PODS, pod("p", metadata={"annotations": annotations}))
        answer.failed(422, "Invalid", text)


async def test_a_mirror_pod_stays_one() -> None:
    mirror = {"kubernetes.io/config.mirror": "x"}
    async with serving() as api:
        await api.post(PODS, pod("p", metadata={"annotations": mirror}, spec={"nodeName": "n"}))
        answer = await api.patch(f"{PODS}/p", {"metadata": {"annotations": None}})
        answer.failed(422, "Invalid", "may not remove or update mirror pod annotation")
        await api.post(PODS, pod("q", spec={"nodeName": "n"}))
        answer = await api.patch(f"{PODS}/q", {"metadata": {"annotations": mirror}})
        answer.failed(422, "Invalid", "may not add mirror pod annotation")


@pytest.mark.parametrize(
    ("of_pod", "of_container", "requests", "limits", "quality"),
    [
        ({"cpu": "1"}, {}, {"cpu": "1"}, {"cpu": "1"}, "Burstable"),
        (
            {"cpu": "1", "memory": "1Gi"},
            {"memory": "256Mi"},
            {"cpu": "1", "memory": "256Mi"},
            {"cpu": "1", "memory": "1Gi"},
            "Burstable",
        ),
        (
            {"cpu": "1"},
            {"memory": "256Mi"},
            {"cpu": "1", "memory": "256Mi"},
            {"cpu": "1", "memory": "256Mi"},
            "Guaranteed",
        ),
    ],
)
async def test_the_resources_of_a_whole_pod_are_completed_from_its_containers(
    of_pod: JsonObject, of_container: JsonObject, requests: JsonObject, limits: JsonObject, quality: str
) -> None:
    container = {"name": "c", "image": "x", "resources": {"limits": of_container}}
    async with serving() as api:
        spec = {"resources": {"limits": of_pod}, "containers": [container]}
        created = (await api.post(PODS, pod("p", spec=spec))).ok()
        assert created["spec"]["resources"] == {"limits": limits, "requests": requests}
        assert created["status"]["qosClass"] == quality


async def test_only_a_list_marks_the_default_class_and_only_the_newest() -> None:
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    async with serving() as api:
        for name in ("b", "a", "c"):
            metadata = {"name": name, "annotations": annotations if name != "c" else {}}
            (await api.post(classes, {"metadata": metadata, "provisioner": "x/y"})).ok()
        listed = (await api.send("GET", classes, accept=TABLE)).json
        assert [row["cells"][0] for row in listed["rows"]] == ["a (default)", "b", "c"]
        single = (await api.send("GET", f"{classes}/a", accept=TABLE)).json
        assert single["rows"][0]["cells"][0] == "a"
        accounts = (await api.send("GET", f"{NAMESPACE}/serviceaccounts", accept=TABLE)).json
        assert [column["name"] for column in accounts["columnDefinitions"]] == ["Name", "Age"]


async def test_the_parts_of_a_type_error_are_named_as_go_names_them() -> None:
    async with serving() as api:
        for obj, words in (
            (b'{"metadata":{"creationTimestamp":1}}', "ObjectMeta.metadata.creationTimestamp of type string"),
            (b'{"binaryData":{"a":1}}', "ConfigMap.binaryData of type []uint8"),
        ):
            (await api.post(MAPS, obj)).failed(400, "BadRequest", words)
        limits = b'{"spec":{"limits":[{"type":"Pod","max":{"cpu":{}}}]}}'
        answer = await api.post(f"{NAMESPACE}/limitranges", limits)
        answer.failed(400, "BadRequest", "quantities must match the regular expression")


async def test_the_creator_of_a_daemon_set_owns_its_template_generation() -> None:
    collection = "/apis/apps/v1/namespaces/default/daemonsets"
    spec = {key: value for key, value in deployment()["spec"].items() if key in ("selector", "template")}
    async with serving() as api:
        created = (await api.post(collection, {"metadata": {"name": "d"}, "spec": spec})).ok()
        (owner,) = created["metadata"]["managedFields"]
        annotation = "deprecated.daemonset.template.generation"
        assert owner["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, f"f:{annotation}": {}}}
        assert created["metadata"]["annotations"] == {annotation: "1"}


async def test_data_of_any_form_is_owned_as_one_value() -> None:
    collection = "/apis/apps/v1/namespaces/default/controllerrevisions"
    async with serving() as api:
        revision = {"metadata": {"name": "r"}, "revision": 1, "data": {"a": {"b": 1}}}
        created = (await api.post(collection, revision)).ok()
        assert created["metadata"]["managedFields"][0]["fieldsV1"]["f:data"] == {}


async def test_a_flow_schema_tells_whether_its_priority_level_exists() -> None:
    flows = "/apis/flowcontrol.apiserver.k8s.io/v1"
    subjects = [{"kind": "Group", "group": {"name": "a"}}]
    rules = [{"subjects": subjects, "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]}]
    schema = {"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}, "rules": rules}}
    level = {"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}}

    async def dangling() -> tuple[str, str]:
        (condition,) = (await api.get(f"{flows}/flowschemas/s")).ok()["status"]["conditions"]
        assert condition["type"] == "Dangling"
        return condition["status"], condition["message"].rpartition('"l" ')[2]

    async with serving() as api:
        (await api.post(f"{flows}/flowschemas", schema)).ok()
        assert await dangling() == ("True", "but there is no such object")
        (await api.post(f"{flows}/prioritylevelconfigurations", level)).ok()
        assert await dangling() == ("False", "and it exists")
        revision = api.revision
        (await api.patch(f"{flows}/flowschemas/s", {"metadata": {"labels": {"a": "b"}}})).ok()
        assert api.revision == revision + 1
        (await api.delete(f"{flows}/prioritylevelconfigurations/l")).ok()
        assert await dangling() == ("True", "but there is no such object")


async def test_a_watch_of_tables_ends_its_first_events_with_a_bookmark_that_says_so() -> None:
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    async with serving() as api:
        for name in ("a", "b"):
            await api.post(MAPS, config_map(name))
        for include in ("Metadata", "None"):
            request = {"watch": "true", "includeObject": include, **query}
            answer = await api.send("GET", MAPS, query=request, accept=TABLE)
            events = [json.loads(line) async for line in _lines(answer.body, 3)]
            assert [event["object"]["columnDefinitions"] is None for event in events] == [False, True, True]
            last = events[-1]["object"]["rows"][0]["object"]["metadata"]["annotations"]
            assert (events[-1]["type"], last) == ("BOOKMARK", {"k8s.io/initial-events-end": "true"})


async def _lines(body: Any, count: int) -> Any:
    try:
        while count:
            for line in (await anext(body)).splitlines():
                yield line
                count -= 1
    finally:
        await body.aclose()


@pytest.mark.parametrize("check", ["informer-sync", "poststarthook/bootstrap-controller", "autoregister-completion"])
async def test_readiness_has_the_checks_of_upstream(check: str) -> None:
    async with serving() as api:
        assert f"[+]{check} ok\n" in (await api.get("/readyz", verbose="1")).body.decode()
        assert (await api.get(f"/readyz/{check}")).status == 200


async def test_a_pods_negative_grace_period_is_one_second_in_updates_too() -> None:
    async with serving() as api:
        (await api.post(PODS, pod("a", spec={"terminationGracePeriodSeconds": -1}))).ok()
        answer = (await api.patch(f"{PODS}/a", {"spec": {"terminationGracePeriodSeconds": -1}})).ok()
        assert answer["spec"]["terminationGracePeriodSeconds"] == 1
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {**pod("a")["spec"], "terminationGracePeriodSeconds": -1},
        }
        made = await api.post(f"{NAMESPACE}/podtemplates", {"metadata": {"name": "t"}, "template": template})
        assert made.ok()["template"]["spec"]["terminationGracePeriodSeconds"] == -1, "a template keeps it"


async def test_component_statuses_show_the_storage() -> None:
    """A kube-apiserver also asks a scheduler and a controller manager at fixed ports."""
    path = "/api/v1/componentstatuses"
    item = {"metadata": {"name": "etcd-0"}, "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]}
    async with serving() as api:
        answer = (await api.get(path)).ok()
        assert (answer["kind"], answer["metadata"]) == ("ComponentStatusList", {})
        assert [{name: one[name] for name in item} for one in answer["items"]] == [item]
        assert (await api.get(f"{path}/etcd-0")).ok() == {"kind": "ComponentStatus", "apiVersion": "v1", **item}
        assert (await api.get(path, labelSelector="a=b")).ok()["items"] == []
        missing = await api.get(f"{path}/none")
        assert (
            missing.failed(404, "NotFound", 'componentstatus "none" not found')["details"]["kind"] == "componentstatus"
        )


async def test_metadata_in_a_table_have_the_version_of_the_table() -> None:
    accept = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        for path in (MAPS, f"{MAPS}/web"):
            shown = (await api.send("GET", path, accept=accept)).ok()
            assert (shown["apiVersion"], shown["rows"][0]["object"]["apiVersion"]) == ("meta.k8s.io/v1beta1",) * 2


async def test_unknown_fields_are_named_in_the_order_in_which_upstream_reads_them() -> None:
    body = b'{"zz":1,"metadata":{"name":"w","y":1,"b":2},"aa":1}'
    async with serving() as api:
        words = ", ".join(f'unknown field "{name}"' for name in ("zz", "metadata.y", "metadata.b", "aa"))
        (await api.post(MAPS, body, fieldValidation="Strict")).failed(400, "BadRequest", f"decoding error: {words}")
        (await api.post(MAPS, config_map())).ok()
        words = ", ".join(f'unknown field "{name}"' for name in ("aa", "metadata.b", "metadata.y", "zz"))
        patch = b'{"zz":1,"metadata":{"y":1,"b":2},"aa":1}'
        (await api.patch(f"{MAPS}/web", patch, fieldValidation="Strict")).failed(422, "Invalid", words)
