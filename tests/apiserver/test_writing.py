"""Creating and updating: what the server fills in, what it keeps, and what it refuses."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from tests.apiserver.harness import (
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
    NOW,
    PODS,
    STRATEGIC,
    Api,
    config_map,
    deployment,
    pod,
    serving,
)

from setpoint.testing import EPOCH
from setpoint.webhook.certificate_authority import make_authority


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


async def test_a_new_object_gets_its_system_fields(api: Api) -> None:
    sent = pod(metadata={"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7})
    sent["status"] = {"phase": "Running"}
    new_pod = (await api.post(PODS, sent)).ok()
    metadata = new_pod["metadata"]
    assert metadata["uid"] != "mine"
    assert len(metadata["uid"]) == 36
    assert metadata["creationTimestamp"] == "2026-01-31T12:00:00Z"
    assert metadata["generation"] == 1
    assert metadata["namespace"] == "default"
    assert metadata["resourceVersion"] == str(api.revision)
    assert new_pod["status"]["phase"] == "Pending"
    assert (await api.get(f"{PODS}/web")).json == new_pod


async def test_a_pod_gets_the_defaults_that_kubectl_users_see(api: Api) -> None:
    spec = (await api.post(PODS, pod())).ok()["spec"]
    assert (spec["restartPolicy"], spec["dnsPolicy"], spec["schedulerName"]) == (
        "Always",
        "ClusterFirst",
        "default-scheduler",
    )
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    tagged = pod(
        "tagged", spec={"containers": [{"name": "a", "image": "host:5000/x:v1", "ports": [{"containerPort": 1}]}]}
    )
    container = (await api.post(PODS, tagged)).ok()["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["ports"][0]["protocol"] == "TCP"


async def test_quantities_have_one_form_and_requests_default_to_limits(api: Api) -> None:
    resources = {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"memory": "0.5Gi"}}
    sent = pod(spec={"containers": [{"name": "a", "image": "b", "resources": resources}]})
    new_pod = (await api.post(PODS, sent)).ok()
    assert new_pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "512Mi"},
    }
    assert new_pod["status"]["qosClass"] == "Burstable"
    resources["requests"]["memory"] = "1Gx"
    (await api.post(PODS, sent)).failed(400, "BadRequest", "quantities must match")
    for amount, words in (
        ("-1", "greater than or equal to 0"),
        ("2Gi", "limit of 1Gi"),
    ):
        resources["requests"]["memory"] = amount
        (await api.post(PODS, sent)).failed(422, "Invalid", "spec.containers[0].resources.requests", words)


async def test_a_deployment_gets_its_defaults(api: Api) -> None:
    spec = (await api.post(DEPLOYMENTS, deployment())).ok()["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }


async def test_generated_names_have_five_more_characters(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map(metadata={"name": "", "generateName": "web-"}))).ok()
    name = new_config_map["metadata"]["name"]
    assert name.startswith("web-")
    assert len(name) == 9
    assert set(name[4:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert new_config_map["metadata"]["generateName"] == "web-"


async def test_long_bases_of_generated_names_are_cut(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map(metadata={"name": "", "generateName": "x" * 100}))).ok()
    assert len(new_config_map["metadata"]["name"]) == 63


async def test_a_name_is_taken_once(api: Api) -> None:
    assert (await api.post(MAPS, config_map())).status == 201
    status = (await api.post(MAPS, config_map())).failed(409, "AlreadyExists", 'configmaps "web" already exists')
    assert status["details"] == {"name": "web", "kind": "configmaps"}


async def test_dry_run_stores_nothing(api: Api) -> None:
    before = api.revision
    new_config_map = await api.post(MAPS, config_map(), dryRun="All")
    assert new_config_map.status == 201
    assert "resourceVersion" not in new_config_map.json["metadata"]
    (await api.get(f"{MAPS}/web")).failed(404, "NotFound")
    await api.post(MAPS, config_map())
    before = api.revision
    changed = (await api.put(f"{MAPS}/web", config_map(data={"a": "b"}), dryRun="All")).ok()
    assert changed["data"] == {"a": "b"}
    (await api.delete(f"{MAPS}/web", dryRun="All")).ok()
    assert "data" not in (await api.get(f"{MAPS}/web")).ok()
    assert api.revision == before


async def test_an_update_with_the_current_version_wins_and_a_stale_one_conflicts(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map())).ok()
    first = (await api.put(f"{MAPS}/web", new_config_map | {"data": {"a": "1"}})).ok()
    assert first["data"] == {"a": "1"}
    status = (await api.put(f"{MAPS}/web", new_config_map | {"data": {"a": "2"}})).failed(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "web": the object has been modified; please apply your changes to '
        "the latest version and try again",
    )
    assert status["details"] == {"name": "web", "kind": "configmaps"}


async def test_an_update_without_version_is_unconditional_where_the_kind_allows_it(api: Api) -> None:
    await api.post(MAPS, config_map())
    assert (await api.put(f"{MAPS}/web", config_map(data={"a": "b"}))).status == 200
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": {}}
    assert (await api.put(f"{leases}/x", lease)).status == 201  # leases may be created by an update
    message = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    (await api.put(f"{leases}/x", lease)).failed(422, "Invalid", message)
    taken_away = {"metadata": {"resourceVersion": None, "labels": {"a": "b"}}}
    removed = [{"op": "remove", "path": "/metadata/resourceVersion"}]
    for patch, kind in ((taken_away, MERGE), (removed, JSON_PATCH)):
        (await api.patch(f"{leases}/x", patch, kind)).failed(422, "Invalid", message)
        (await api.patch(f"{MAPS}/web", patch, kind)).ok()


async def test_an_update_of_what_is_not_there_is_404(api: Api) -> None:
    (await api.put(f"{MAPS}/web", config_map())).failed(404, "NotFound", 'configmaps "web" not found')


async def test_an_update_for_another_uid_conflicts(api: Api) -> None:
    await api.post(MAPS, config_map())
    other = config_map(metadata={"uid": "other"})
    (await api.put(f"{MAPS}/web", other)).failed(409, "Conflict", "Precondition failed: UID in precondition: other")


async def test_an_update_that_changes_nothing_is_not_stored(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map(data={"a": "b", "c": "d"}))).ok()
    before = api.revision
    same = new_config_map | {"data": {"c": "d", "a": "b"}}
    assert (await api.put(f"{MAPS}/web", same)).ok()["metadata"]["resourceVersion"] == new_config_map["metadata"][
        "resourceVersion"
    ]
    assert api.revision == before


async def test_system_fields_can_not_be_changed(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map())).ok()
    sent = new_config_map | {
        "metadata": new_config_map["metadata"] | {"creationTimestamp": None, "generation": 9, "labels": {"a": "b"}}
    }
    changed = (await api.put(f"{MAPS}/web", sent)).ok()["metadata"]
    assert changed["creationTimestamp"] == new_config_map["metadata"]["creationTimestamp"]
    assert "generation" not in changed
    for field, value in (("deletionTimestamp", "2020-01-01T00:00:00Z"), ("deletionGracePeriodSeconds", 5)):
        sent["metadata"] = {"name": "web", field: value}
        refused = await api.put(f"{MAPS}/web", sent)
        refused.failed(422, "Invalid", f"metadata.{field}: Invalid value", "field is immutable")


async def test_generation_counts_changes_of_the_spec_only(api: Api) -> None:
    new_deployment = (await api.post(DEPLOYMENTS, deployment())).ok()
    new_deployment["metadata"]["labels"] = {"a": "b"}
    new_deployment["status"] = {"replicas": 5}
    labelled = (await api.put(f"{DEPLOYMENTS}/web", new_deployment)).ok()
    assert labelled["metadata"]["generation"] == 1
    assert labelled["status"] == {}
    labelled["spec"]["replicas"] = 3
    scaled = (await api.put(f"{DEPLOYMENTS}/web", labelled)).ok()
    assert scaled["metadata"]["generation"] == 2
    scaled["status"] = {"replicas": 3, "observedGeneration": 2}
    scaled["spec"]["replicas"] = 9
    shown = (await api.put(f"{DEPLOYMENTS}/web/status", scaled)).ok()
    assert shown["status"]["replicas"] == 3
    assert shown["spec"]["replicas"] == 3
    assert shown["metadata"]["generation"] == 2


async def test_scale_reads_and_sets_replicas(api: Api) -> None:
    await api.post(DEPLOYMENTS, deployment(replicas=2))
    scale = (await api.get(f"{DEPLOYMENTS}/web/scale")).ok()
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 0, "selector": "app=web"},
    )
    scale["spec"]["replicas"] = 5
    assert (await api.put(f"{DEPLOYMENTS}/web/scale", scale)).ok()["spec"]["replicas"] == 5
    stored = (await api.get(f"{DEPLOYMENTS}/web")).ok()
    assert stored["spec"]["replicas"] == 5
    assert [entry["subresource"] for entry in stored["metadata"]["managedFields"] if "subresource" in entry] == [
        "scale"
    ]
    (await api.put(f"{DEPLOYMENTS}/web/scale", scale)).failed(409, "Conflict")
    (await api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 0}})).ok()
    assert (await api.get(f"{DEPLOYMENTS}/web/scale")).ok()["spec"] == {}


async def test_selectors_of_workloads_are_immutable(api: Api) -> None:
    new_deployment = (await api.post(DEPLOYMENTS, deployment())).ok()
    new_deployment["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    new_deployment["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    (await api.put(f"{DEPLOYMENTS}/web", new_deployment)).failed(422, "Invalid", "spec.selector", "field is immutable")


async def test_a_running_pods_image_may_change_and_little_else(api: Api) -> None:
    new_pod = (await api.post(PODS, pod())).ok()
    new_pod["spec"]["containers"][0]["image"] = "busybox:2"
    changed = (await api.put(f"{PODS}/web", new_pod)).ok()
    assert changed["metadata"]["generation"] == 2
    changed["spec"]["restartPolicy"] = "Never"
    (await api.put(f"{PODS}/web", changed)).failed(422, "Invalid", "pod updates may not change fields other than")


async def test_secrets_take_text_and_keep_base64(api: Api) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    sent = {"metadata": {"name": "s"}, "stringData": {"a": "hello"}, "data": {"b": "aGk="}}
    new_secrets = (await api.post(secrets, sent)).ok()
    assert new_secrets["data"] == {"a": "aGVsbG8=", "b": "aGk="}
    assert new_secrets["type"] == "Opaque"
    assert "stringData" not in new_secrets


async def test_immutable_maps_stay_as_they_are(api: Api) -> None:
    new_config_map = (await api.post(MAPS, config_map(data={"a": "b"}, immutable=True))).ok()
    (await api.put(f"{MAPS}/web", new_config_map | {"data": {"a": "c"}})).failed(
        422, "Invalid", "data: Forbidden: field is immutable when `immutable` is set"
    )
    (await api.put(f"{MAPS}/web", new_config_map | {"immutable": False})).failed(422, "Invalid", "immutable: Forbidden")


async def test_the_manager_is_the_one_named_or_the_user_agent(api: Api) -> None:
    await api.send("POST", MAPS, config_map(data={"a": "b"}), user_agent="kubectl/v1.37 (linux)")
    named = (await api.patch(f"{MAPS}/web", {"data": {"c": "d"}}, fieldManager="me")).ok()
    managers = {entry["manager"]: entry["fieldsV1"] for entry in named["metadata"]["managedFields"]}
    assert managers["kubectl"] == {"f:data": {".": {}, "f:a": {}}}
    assert managers["me"] == {"f:data": {"f:c": {}}}


async def test_a_pod_is_bound_once(api: Api) -> None:
    await api.post(PODS, pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert (await api.post(f"{PODS}/web/binding", binding)).status == 201
    stored = (await api.get(f"{PODS}/web")).ok()
    assert stored["spec"]["nodeName"] == "n1"
    assert stored["status"]["conditions"][0]["type"] == "PodScheduled"
    (await api.post(f"{PODS}/web/binding", binding)).failed(409, "Conflict", 'already assigned to node "n1"')


async def test_events_have_two_names(api: Api) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
        "reason": "Started",
        "message": "it began",
        "type": "Normal",
    }
    result = (await api.post("/api/v1/namespaces/default/events", event)).ok()
    other = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events/e")).ok()
    assert (other["apiVersion"], other["regarding"], other["note"]) == (
        "events.k8s.io/v1",
        result["involvedObject"],
        "it began",
    )
    listed = (await api.get("/apis/events.k8s.io/v1/events")).ok()
    assert [item["note"] for item in listed["items"]] == ["it began"]
    core = (await api.get("/api/v1/events", fieldSelector="involvedObject.name=web")).ok()
    assert [item["message"] for item in core["items"]] == ["it began"]


async def test_autoscalers_are_the_same_in_both_versions(api: Api) -> None:
    v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    v2 = v1.replace("/v1/", "/v2/")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
    result = (await api.post(v1, {"metadata": {"name": "a"}, "spec": spec})).ok()
    assert result["spec"] == {**spec, "minReplicas": 1}
    newer = (await api.get(f"{v2}/a")).ok()
    assert newer["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
    ]
    amount = {"type": "AverageValue", "averageValue": "1"}
    newer["spec"]["metrics"].append({"type": "Pods", "pods": {"metric": {"name": "x"}, "target": amount}})
    newer["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 5}}
    (await api.put(f"{v2}/a", newer)).ok()
    older = (await api.get(f"{v1}/a")).ok()
    assert older["spec"] == result["spec"]
    older["spec"]["targetCPUUtilizationPercentage"] = 70
    (await api.put(f"{v1}/a", older)).ok()
    newest = (await api.get(f"{v2}/a")).ok()
    assert [metric["type"] for metric in newest["spec"]["metrics"]] == ["Pods", "Resource"]
    assert newest["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 5
    assert "annotations" not in newest["metadata"]


async def test_a_signing_request_is_approved_at_its_own_address(api: Api) -> None:
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    key = Ed25519PrivateKey.generate()
    signed = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, None)
    request = b64encode(signed.public_bytes(Encoding.PEM)).decode()
    spec = {"request": request, "signerName": "example.com/x", "usages": ["client auth"], "username": "mallory"}
    new_requests = (await api.post(requests, {"metadata": {"name": "a"}, "spec": spec})).ok()
    assert new_requests["spec"]["username"] == "system:admin"
    lasts = timedelta(days=1)
    issued = b64encode(make_authority("a", now=EPOCH, lifetime=lasts).certificate).decode()
    new_requests["status"] = {"conditions": [{"type": "Approved", "status": "True"}], "certificate": issued}
    approved = (await api.put(f"{requests}/a/approval", new_requests)).ok()
    (condition,) = approved["status"].pop("conditions")
    assert approved["status"] == {}
    assert condition.pop("lastUpdateTime") == condition.pop("lastTransitionTime") != ""
    assert condition == {"type": "Approved", "status": "True"}
    builder = x509.CertificateBuilder().subject_name(signed.subject).issuer_name(signed.subject)
    builder = builder.public_key(key.public_key()).serial_number(1)
    issued = builder.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1)).sign(key, None)
    certificate = b64encode(issued.public_bytes(Encoding.PEM)).decode()
    approved["status"] = {"certificate": certificate, "conditions": [condition]}
    given = (await api.put(f"{requests}/a/status", approved)).ok()
    assert given["status"]["certificate"] == certificate
    assert [item["type"] for item in given["status"]["conditions"]] == ["Approved"]
    given["status"]["conditions"] = []
    problem = 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    (await api.put(f"{requests}/a/approval", given)).failed(422, "Invalid", problem)


async def test_a_running_pod_gets_ephemeral_containers_at_their_own_address(api: Api) -> None:
    (await api.post(PODS, pod())).ok()
    debugger = {"name": "debug", "image": "busybox"}
    change = {"spec": {"ephemeralContainers": [debugger]}}
    changed = (await api.patch(f"{PODS}/web/ephemeralcontainers", change)).ok()
    assert changed["spec"]["ephemeralContainers"][0]["name"] == "debug"
    assert changed["metadata"]["generation"] == 2
    (await api.patch(f"{PODS}/web/ephemeralcontainers", {"spec": {"ephemeralContainers": []}})).failed(422, "Invalid")


async def test_a_pod_is_resized_at_its_own_address(api: Api) -> None:
    new_pod = pod()
    new_pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    (await api.post(PODS, new_pod)).ok()
    container = {"name": "main", "image": "other", "resources": {"requests": {"cpu": "2"}}}
    changed = (await api.patch(f"{PODS}/web/resize", {"spec": {"containers": [container]}}, STRATEGIC)).ok()
    assert changed["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert changed["spec"]["containers"][0]["image"] == "busybox"


async def test_requests_can_be_made_in_anothers_name(api: Api) -> None:
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await api.send("POST", reviews, {}, impersonate_user="jane", impersonate_group="devs")
    assert answer.ok()["status"]["userInfo"] == {"username": "jane", "groups": ["devs", "system:authenticated"]}
    access = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    request = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert (await api.post(access, request)).ok()["status"]["allowed"] is True


async def test_a_revisions_data_has_the_bytes_that_go_clients_compare(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    data = {"a": "<b>&c\u2028\u2029é", "d": ["<"]}
    body = {"metadata": {"name": "r"}, "revision": 1, "data": data}
    written = b'{"a":"\\u003cb\\u003e\\u0026c\\u2028\\u2029\xc3\xa9","d":["\\u003c"]}'
    result = await api.post(path, body)
    assert result.ok()["data"] == data
    current_result = await api.get(f"{path}/r")
    assert written in result.body
    assert written in current_result.body
    assert written in (await api.get(path)).body
    assert written in (await api.send("GET", f"{path}/r", accept="application/vnd.kubernetes.protobuf")).body
    changed = await api.patch(f"{path}/r", {"revision": 2})
    assert written in changed.body
