"""Pods and what makes them are refused, and taken, as by a kube-apiserver: with its fields, reasons and words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import DEPLOYMENTS, PODS, Api, serving

from setpoint.apiserver.requests import type_errors
from setpoint.apiserver.strategies.disabled_features import disabled_fields

JOBS = "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def workload(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": "one"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


def causes(status: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]


ROLLBACK = "deprecated.deployment.rollback.to"
GENERATION = "deprecated.daemonset.template.generation"


def annotated(name: str, value: str) -> dict[str, Any]:
    return {**workload(), "metadata": {"name": "one", "annotations": {name: value}}}


async def test_annotations_that_stand_for_fields_are_numbers(api: Api) -> None:
    daemons = "/apis/apps/v1/namespaces/default/daemonsets"
    refused = await api.post(daemons, annotated(GENERATION, "x"))
    refused.failed(400, "BadRequest", 'cannot be handled as a DaemonSet: strconv.ParseInt: parsing "x": invalid syntax')
    refused = await api.post(DEPLOYMENTS, annotated(ROLLBACK, "x"))
    refused.failed(400, "BadRequest", f"failed to parse annotation[{ROLLBACK}]=x as int64: strconv.ParseInt")
    deployment = (await api.post(DEPLOYMENTS, annotated(ROLLBACK, "+03"))).ok()
    assert deployment["metadata"]["annotations"] == {ROLLBACK: "3"}
    refused = await api.put(f"{DEPLOYMENTS}/one", annotated(ROLLBACK, "-3"))
    status = refused.failed(422, "Invalid")
    assert causes(status) == [("spec.rollback.version", "Invalid value: -3: must be greater than or equal to 0")]
    patch = {"metadata": {"annotations": {ROLLBACK: "x"}}}
    (await api.patch(f"{DEPLOYMENTS}/one", patch)).failed(422, "Invalid", "strconv.ParseInt")


async def test_annotations_of_a_deployment_count_as_changes_of_what_is_wanted(api: Api) -> None:
    generations = []
    (await api.post(DEPLOYMENTS, workload())).ok()
    for path, patch in (
        ("", {"metadata": {"annotations": {"a": "b"}}}),
        ("", {"metadata": {"labels": {"a": "b"}}}),
        ("/status", {"metadata": {"annotations": {"c": "d"}}, "status": {"replicas": 1}}),
    ):
        result = (await api.patch(f"{DEPLOYMENTS}/one{path}", patch)).ok()
        generations.append(result["metadata"]["generation"])
    assert generations == [2, 2, 2]
    assert result["metadata"]["annotations"] == {"a": "b", "c": "d"}


async def test_a_daemon_set_without_a_selector_fits_no_template(api: Api) -> None:
    refused = await api.post("/apis/apps/v1/namespaces/default/daemonsets", workload(selector=None))
    assert causes(refused.failed(422, "Invalid")) == [
        ("spec.template.metadata.labels", 'Invalid value: {"a":"b"}: `selector` does not match template `labels`')
    ]


def template(**metadata: Any) -> dict[str, Any]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": metadata, "spec": claim}}}


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "x"}, "name"),
        ({"finalizers": []}, "finalizers"),
        ({"managedFields": []}, "managedFields"),
        ({"ownerReferences": []}, "ownerReferences"),
        ({"labels": {}, "annotations": {}, "creationTimestamp": None}, ""),
    ],
)
async def test_templates_of_claims_have_labels_and_annotations_only(
    api: Api, metadata: dict[str, Any], field: str
) -> None:
    answer = await api.post(PODS, pod(volumes=[template(**metadata)]))
    if field:
        path = f"spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.{field}"
        assert causes(answer.failed(422, "Invalid")) == [(path, "Forbidden: cannot be set")]
    else:
        answer.ok()
    spec = {"metadata": metadata, "spec": {"devices": {"requests": []}}}
    result = await api.post(f"{TEMPLATES}", {"metadata": {"name": "one"}, "spec": spec})
    if field:
        assert (f"spec.metadata.{field}", "Forbidden: cannot be set") in causes(result.failed(422, "Invalid"))
    else:
        result.ok()


async def test_claims_are_not_for_whole_pods_even_where_there_are_none(api: Api) -> None:
    refused = (await api.post(PODS, pod(resources={"claims": []}))).failed(422, "Invalid")
    assert ("spec.resources.claims", "Forbidden: claims may not be set for Resources at pod-level") in causes(refused)
    container = {"name": "c", "image": "i", "resources": {"claims": []}}
    new_pod = (await api.post(PODS, pod(containers=[container]))).ok()
    assert new_pod["spec"]["containers"][0]["resources"] == {}


async def test_a_volume_has_one_source_whose_rules_hold(api: Api) -> None:
    volumes = [{"name": "v", "secret": {"secretName": "s"}, "nfs": {"server": "s", "path": "p"}}]
    refused = (await api.post(PODS, pod(volumes=volumes))).failed(422, "Invalid")
    assert causes(refused) == [("spec.volumes[0].nfs", "Forbidden: may not specify more than 1 volume type")]
    volumes = [{"name": "v", "nfs": {"server": "s", "path": "p"}}]
    refused = (await api.post(PODS, pod(volumes=volumes))).failed(422, "Invalid")
    assert causes(refused) == [("spec.volumes[0].nfs.path", 'Invalid value: "p": must be an absolute path')]


async def test_a_wrong_volume_can_not_be_mounted(api: Api) -> None:
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    wrong = pod(volumes=[{"name": "v", "persistentVolumeClaim": {}}], containers=[container])
    refused = (await api.post(PODS, wrong)).failed(422, "Invalid")
    assert causes(refused) == [
        ("spec.volumes[0].persistentVolumeClaim.claimName", "Required value"),
        ("spec.containers[0].volumeMounts[0].name", 'Not found: "v"'),
    ]


async def test_an_init_container_that_ends_has_no_probes(api: Api) -> None:
    first = {"name": "first", "image": "i", "livenessProbe": {"tcpSocket": {"port": 80}}}
    refused = (await api.post(PODS, pod(initContainers=[first]))).failed(422, "Invalid")
    text = "Forbidden: may not be set for init containers without restartPolicy=Always"
    assert causes(refused) == [("spec.initContainers[0].livenessProbe", text)]
    (await api.post(PODS, pod(initContainers=[{**first, "restartPolicy": "Always"}]))).ok()


async def test_what_is_required_is_said_in_the_words_of_the_rules(api: Api) -> None:
    constraint = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    refused = (await api.post(PODS, pod(topologySpreadConstraints=[constraint]))).failed(422, "Invalid")
    assert causes(refused) == [
        ("spec.topologySpreadConstraints[0].maxSkew", "Invalid value: 0: must be greater than zero")
    ]


async def test_a_stateful_set_mounts_its_claims(api: Api) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    new_workload = workload(volumeClaimTemplates=[claim])
    new_workload["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    new_workload = (await api.post(SETS, new_workload)).ok()
    new_workload["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"] = {"a": "b"}
    refused = (await api.put(f"{SETS}/one", new_workload)).failed(422, "Invalid")
    ((field, message),) = causes(refused)
    assert field == "spec.volumeClaimTemplates"
    assert message.startswith(
        'Invalid value: [{"name":"data","labels":{"a":"b"},"Spec":{"AccessModes":["ReadWriteOnce"]'
    )
    assert message.endswith("field is immutable")


async def test_the_template_of_a_job_never_changes_and_is_shown_as_go_shows_it(api: Api) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = (await api.post(JOBS, {"metadata": {"name": "one"}, "spec": {"template": template}})).ok()
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "j"
    refused = (await api.put(f"{JOBS}/one", job)).failed(422, "Invalid")
    ((field, message),) = causes(refused)
    assert field == "spec.template"
    assert (
        '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"j","Command":null' in message
    )


async def test_a_job_says_what_its_policies_lack(api: Api) -> None:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template, "podFailurePolicy": {"rules": [{"action": "Ignore"}]}, "backoffLimitPerIndex": 1}
    refused = (await api.post(JOBS, {"metadata": {"name": "one"}, "spec": spec})).failed(422, "Invalid")
    assert causes(refused) == [
        ("spec.backoffLimitPerIndex", "Invalid value: 1: requires indexed completion mode"),
        (
            "spec.podFailurePolicy.rules[0]",
            "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ),
        (
            "spec.template.spec.restartPolicy",
            'Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
        ),
    ]


async def test_a_deadline_belongs_to_pods_and_jobs(api: Api) -> None:
    new_workload = workload()
    new_workload["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 5
    refused = (await api.post(DEPLOYMENTS, new_workload)).failed(422, "Invalid")
    text = "Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"
    assert causes(refused) == [("spec.template.spec.activeDeadlineSeconds", text)]


async def test_fields_of_features_that_are_off_are_dropped(api: Api) -> None:
    new_workload = workload()
    new_workload["spec"]["template"]["spec"] |= {"schedulingGroup": {"podGroupName": "g"}}
    new_workload["spec"]["template"]["spec"]["containers"][0]["lifecycle"] = {"stopSignal": "SIGTERM"}
    kept = (await api.post(DEPLOYMENTS, new_workload)).ok()["spec"]["template"]["spec"]
    assert "schedulingGroup" not in kept
    assert "lifecycle" not in kept["containers"][0]


def test_each_field_that_is_dropped_is_listed_once() -> None:
    listed = [(resource, path) for resource, paths in disabled_fields() for path in paths]
    assert len(listed) == len(set(listed))
    assert {("pods", "spec.schedulingGroup"), ("pods", "status.volumeHealth"), ("jobs.batch", "spec.scheduling")} <= {
        *listed
    }


async def test_ports_of_pods_on_the_network_of_their_node_are_its_ports(api: Api) -> None:
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    new_pod = (await api.post(PODS, pod(hostNetwork=True, containers=[container]))).ok()
    assert new_pod["spec"]["containers"][0]["ports"] == [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]


async def test_times_of_leases_have_six_digits_of_a_second(api: Api) -> None:
    lease = {"metadata": {"name": "one"}, "spec": {"renewTime": "2026-01-01T00:00:00Z"}}
    (await api.post(LEASES, lease)).failed(400, "BadRequest", 'cannot parse "Z" as ".000000"')
    lease["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"
    (await api.post(LEASES, lease)).ok()


async def test_a_class_of_devices_chooses_by_expressions_that_compile(api: Api) -> None:
    def chosen(text: str) -> dict[str, Any]:
        return {"metadata": {"name": "one"}, "spec": {"selectors": [{"cel": {"expression": text}}]}}

    refused = (await api.post(CLASSES, chosen("a.b"))).failed(422, "Invalid", "undeclared reference to 'a'")
    assert causes(refused)[0][0] == "spec.selectors[0].cel.expression"
    (await api.post(CLASSES, chosen("1"))).failed(422, "Invalid", "must evaluate to bool or the unknown type, not int")
    (await api.post(CLASSES, chosen('device.driver == "d.example.com"'))).ok()


async def test_a_metric_has_the_source_of_its_type(api: Api) -> None:
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "metrics": [{"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Value", "value": "1"}}}],
    }
    refused = (await api.post(AUTOSCALERS, {"metadata": {"name": "one"}, "spec": spec})).failed(422, "Invalid")
    assert causes(refused) == [
        (
            "spec.metrics[0].resource.target.averageUtilization",
            "Required value: must set either a target raw value or a target utilization",
        ),
        ("spec.metrics[0].pods", "Required value: must populate information for the given metric source"),
    ]


async def test_what_the_server_answered_is_read_back_the_fast_way(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    new_pod = (await api.post(PODS, pod())).ok()
    assert new_pod["metadata"]["managedFields"]
    new_pod["metadata"]["labels"] = {"a": "b"}
    new_pod["metadata"]["resourceVersion"] = "0"

    def slow(*_: Any) -> Any:
        raise AssertionError("the schema was asked about an object that the model takes")

    monkeypatch.setattr(type_errors, "validate", slow)
    (await api.put(f"{PODS}/one", new_pod)).ok()


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Europe/Berlin", []),
        ("UTC", []),
        ("", ["timeZone must be nil or non-empty string"]),
        ("x", ["unknown time zone x"]),
        ("../x", ["unknown time zone ../x"]),
        ("/etc/localtime", ["unknown time zone /etc/localtime"]),
        ("a" * 15, [f"unknown time zone {'a' * 15}"]),
        ("Local", ["timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"]),
        ("America", ["unknown time zone America"]),
    ],
)
async def test_a_cron_job_names_a_time_zone_that_there_is(api: Api, zone: str, words: list[str]) -> None:
    cron_jobs = "/apis/batch/v1/namespaces/default/cronjobs"
    job = {"spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}}
    spec = {"schedule": "@daily", "timeZone": zone, "jobTemplate": job}
    answer = await api.post(cron_jobs, {"metadata": {"name": "one"}, "spec": spec})
    if not words:
        answer.ok()
        return
    shown = json.dumps(zone)
    current_causes = causes(answer.failed(422, "Invalid"))
    assert current_causes == [("spec.timeZone", f"Invalid value: {shown}: {text}") for text in words]


async def test_a_field_that_is_dropped_counts_in_the_generation_of_a_slice(api: Api) -> None:
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    pool = {"name": "p", "resourceSliceCount": 1}
    device: dict[str, Any] = {"name": "d", "attributes": {"a": {"string": "s"}}}
    spec = {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": [device]}
    (await api.post(slices, {"metadata": {"name": "one"}, "spec": spec})).ok()
    device["attributes"]["a"]["ints"] = [1]
    result = (await api.put(f"{slices}/one", {"metadata": {"name": "one"}, "spec": spec})).ok()
    assert result["metadata"]["generation"] == 2
    assert result["spec"]["devices"][0]["attributes"] == {"a": {"string": "s"}}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/apis/storage.k8s.io/v1/csidrivers", {"spec": {"fsGroupPolicy": ""}}, "spec.fsGroupPolicy"),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"], "hostname": ""}]},
            "endpoints[0].hostname",
        ),
        (
            AUTOSCALERS,
            {
                "spec": {
                    "maxReplicas": 2,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
                    "behavior": {
                        "scaleUp": {"selectPolicy": "", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 5}]}
                    },
                }
            },
            "spec.behavior.scaleUp.selectPolicy",
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            {
                "spec": {
                    "ingressClassName": "",
                    "defaultBackend": {"service": {"name": "a", "port": {"number": 80}}},
                }
            },
            "spec.ingressClassName",
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            {
                "spec": {
                    "tls": [{"hosts": [""]}],
                    "defaultBackend": {"service": {"name": "a", "port": {"number": 80}}},
                }
            },
            "spec.tls[0].hosts[0]",
        ),
        (
            "/api/v1/namespaces/default/services",
            {"spec": {"type": "ExternalName", "externalName": "a.b", "ipFamilyPolicy": ""}},
            "spec.ipFamilyPolicy",
        ),
        (PODS, {"spec": {**pod()["spec"], "nodeName": "n", "schedulingGates": [{"name": "a"}]}}, "spec.nodeName"),
    ],
)
async def test_an_empty_text_is_not_a_missing_one_where_upstream_tells_them_apart(
    api: Api, path: str, body: dict[str, Any], field: str
) -> None:
    refused = (await api.post(path, {"metadata": {"name": "one"}, **body})).failed(422, "Invalid")
    assert field in [where for where, _ in causes(refused)]


@pytest.mark.parametrize(
    ("own", "template", "kept"),
    [(None, None, False), (None, {"a": "b"}, False), ({"a": "b"}, {"a": "b"}, True), ({"a": "b"}, None, True)],
)
async def test_a_job_has_its_templates_labels_only_if_it_has_none_of_its_own(
    own: dict[str, str] | None, template: dict[str, str] | None, kept: bool
) -> None:
    spec = {
        "template": {
            "metadata": {"labels": template},
            "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
        }
    }
    async with serving() as api:
        body = {"metadata": {"name": "j", "labels": own}, "spec": spec}
        job = (await api.post(JOBS, body)).ok()
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["job-name"] == "j"
    assert job["metadata"]["labels"] == (own if kept else labels)


async def test_a_name_that_no_label_may_have_is_named_where_the_job_has_that_label() -> None:
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}
    async with serving() as api:
        answer = await api.post(JOBS, {"metadata": {"name": "150%"}, "spec": spec})
    assert [cause["field"] for cause in answer.json["details"]["causes"]] == ["metadata.name", "spec.template.labels"]


@pytest.mark.parametrize("key", ["apiVersion", "kind"])
@pytest.mark.parametrize("wrong", [5, [], [{}], {}])
async def test_the_kind_of_a_claim_template_is_a_text(key: str, wrong: object) -> None:
    claim: dict[str, Any] = {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    claims = [{**claim, key: wrong}]
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "volumeClaimTemplates": claims}
    async with serving() as api:
        answer = await api.post(SETS, {"metadata": {"name": "s"}, "spec": spec})
    assert answer.status == 400
    assert answer.json["message"].endswith(f".{key} of type string")


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("i", "Always"),
        ("x" * 247, "Always"),
        ("x" * 248, "IfNotPresent"),  # with library/ before it, the repository is too long
        ("y.z/" + "x" * 255, "Always"),
        ("y.z/" + "x" * 256, "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),  # the identifier of an image, which is not a name
        ("Foo", "IfNotPresent"),
        ("Foo/bar", "Always"),  # an upper case letter makes a host of it
        ("[a]/x", "IfNotPresent"),
        ("[::1]/x", "Always"),
        ("index.docker.io/" + "x" * 250, "IfNotPresent"),
        ("i:latest@sha256:" + "a" * 64, "Always"),
        ("i:latest@sha256:" + "A" * 64, "IfNotPresent"),
    ],
)
async def test_images_are_pulled_always_if_their_name_is_valid_and_means_the_latest(
    api: Api, image: str, policy: str
) -> None:
    new_pod = (await api.post(PODS, pod(containers=[{"name": "c", "image": image}]))).ok()
    assert new_pod["spec"]["containers"][0]["imagePullPolicy"] == policy


async def test_keys_of_files_are_needed_unless_something_else_is_said(api: Api) -> None:
    env = [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}}]
    wanted = pod(containers=[{"name": "c", "image": "i", "env": env}], volumes=[{"name": "v", "emptyDir": {}}])
    new_pod = (await api.post(PODS, wanted)).ok()
    assert new_pod["spec"]["containers"][0]["env"][0]["valueFrom"]["fileKeyRef"]["optional"] is False


async def test_ephemeral_containers_have_no_restart_policy_not_even_an_empty_one(api: Api) -> None:
    new_pod = (await api.post(PODS, pod())).ok()
    new_pod["spec"]["ephemeralContainers"] = [{"name": "e", "image": "i", "restartPolicy": ""}]
    refused = await api.put(f"{PODS}/one/ephemeralcontainers", new_pod)
    refused.failed(422, "Invalid", "spec.ephemeralContainers[0].restartPolicy: Forbidden")


async def test_what_is_said_to_a_signer_has_keys_with_a_domain(api: Api) -> None:
    request = {"keyType": "ED25519", "signerName": "example.com/x", "keyPath": "k", "userAnnotations": {"150%": "x"}}
    wanted = pod(volumes=[{"name": "v", "projected": {"sources": [{"podCertificate": request}]}}])
    path = "spec.volumes[0].projected.sources[0].podCertificate.userAnnotations"
    (await api.post(PODS, wanted)).failed(422, "Invalid", f'{path}: Invalid value: "150%": name part must')
    request["userAnnotations"] = {"plain": "x"}
    (await api.post(PODS, wanted)).failed(422, "Invalid", 'must be a domain-prefixed key (such as "acme.io/foo")')
    request["userAnnotations"] = {"Example.com/A": "x"}
    (await api.post(PODS, wanted)).ok()


@pytest.mark.parametrize(
    ("signer", "most"),
    [
        ("kubernetes.io/x", 86400),
        ("a.kubernetes.io/x", 86400),
        ("evilkubernetes.io/x", 7862400),
        ("example.com/x", 7862400),
    ],
)
async def test_certificates_of_kubernetes_own_signers_last_a_day_at_most(api: Api, signer: str, most: int) -> None:
    request = {"keyType": "ED25519", "signerName": signer, "keyPath": "k", "maxExpirationSeconds": most + 1}
    wanted = pod(volumes=[{"name": "v", "projected": {"sources": [{"podCertificate": request}]}}])
    words = f"if provided, maxExpirationSeconds must be <= {most}"
    (await api.post(PODS, wanted)).failed(422, "Invalid", words)
    request["maxExpirationSeconds"] = most
    (await api.post(PODS, wanted)).ok()


async def test_a_templates_false_values_are_shown_in_refusals(api: Api) -> None:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    job = (await api.post(JOBS, {"metadata": {"name": "one"}, "spec": spec})).ok()
    owner = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": False}
    job["spec"]["template"]["metadata"]["ownerReferences"] = [owner]
    (await api.put(f"{JOBS}/one", job)).failed(422, "Invalid", '"uid":"u","controller":false}')


async def test_a_text_that_is_a_number_counts_as_one_beside_what_is_wrong_with_it(api: Api) -> None:
    daemons = workload(
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "-1"}}
    )
    refused = await api.post("/apis/apps/v1/namespaces/default/daemonsets", daemons)
    assert "may not be set when maxUnavailable is non-zero" in [
        text.partition(": ")[2].partition(": ")[2] for _, text in causes(refused.json)
    ]
