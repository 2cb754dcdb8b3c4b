"""Small kinds refuse what a kube-apiserver refuses, in its words, and take what it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

from setpoint.apiserver.strategies.job_indexes import count_indexes

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def fields(status: Any) -> list[str]:
    return [cause["field"] for cause in status["details"]["causes"]]


async def test_the_metadata_of_a_budget_is_looked_at_last(api: Api) -> None:
    budget = {"metadata": {"name": "a%", "finalizers": ["plain"]}, "spec": {"maxUnavailable": "x", "selector": {}}}
    assert fields((await api.post(BUDGETS, budget)).json) == ["spec.maxUnavailable"]
    budget["spec"]["maxUnavailable"] = 1
    assert fields((await api.post(BUDGETS, budget)).json) == ["metadata.name"]
    budget["metadata"]["name"] = "a"
    assert (await api.post(BUDGETS, budget)).ok()["metadata"]["finalizers"] == ["plain"]


async def test_the_name_of_a_signing_request_is_looked_at_last(api: Api) -> None:
    request = {"metadata": {"name": "a%", "labels": {"-": "b"}}, "spec": {"request": "", "signerName": "a.b/c"}}
    assert "metadata.name" not in fields((await api.post(REQUESTS, request)).json)
    assert "metadata.labels" in fields((await api.post(REQUESTS, request)).json)


async def test_the_beginning_of_a_drawn_name_of_an_api_service_is_checked_even_if_it_has_a_name(api: Api) -> None:
    spec = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15}
    service = {"metadata": {"name": "v1.a.b", "generateName": "v1.a.b-"}, "spec": spec}
    assert fields((await api.post(SERVICES, service)).json) == ["metadata.generateName"]
    service["metadata"]["generateName"] = "v1.a.b"
    (await api.post(SERVICES, service)).ok()


async def test_the_controller_of_an_ingress_class_is_a_domain_and_a_path_of_250_bytes_at_most(api: Api) -> None:
    async def refused(controller: str) -> list[str]:
        answer = await api.post(CLASSES, {"metadata": {"name": "one"}, "spec": {"controller": controller}})
        return [cause["message"].partition(": ")[0] for cause in answer.json["details"]["causes"]]

    assert await refused("a.b/ x") == ["Invalid value"]
    assert await refused("a.b/" + "é" * 126) == ["Too long", "Invalid value"]
    assert await refused("x" * 251) == ["Too long", "Invalid value"]


async def test_a_volume_within_an_attachment_has_files_and_its_class_is_not_looked_at(api: Api) -> None:
    volume = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}, "volumeMode": "Block"}
    spec = {"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": volume}}
    refused = await api.post(ATTACHMENTS, {"metadata": {"name": "one"}, "spec": spec})
    assert fields(refused.json) == ["spec.source.inlineVolumeSpec.volumeMode"]
    volume |= {"volumeMode": "Filesystem", "volumeAttributesClassName": ""}
    (await api.post(ATTACHMENTS, {"metadata": {"name": "one"}, "spec": spec})).ok()


async def test_a_volume_with_a_class_of_attributes_has_to_be_a_csi_drivers(api: Api) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "volumeAttributesClassName": ""}
    refused = await api.post(VOLUMES, {"metadata": {"name": "one"}, "spec": spec})
    assert fields(refused.json) == ["spec", "spec.volumeAttributesClassName", "spec.csi"]


async def test_limits_are_in_bytes(api: Api) -> None:
    wanted = {"metadata": {"name": "one"}, "provisioner": "a.b/c", "parameters": {"é": "é" * (128 * 1024)}}
    words = "parameters: Too long: may not be more than 262144 bytes"
    (await api.post("/apis/storage.k8s.io/v1/storageclasses", wanted)).failed(422, "Invalid", words)
    event = {
        "metadata": {"name": "one"},
        "regarding": {"namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "a.b/c",
        "reportingInstance": "i",
        "action": "a",
        "type": "Normal",
    }
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    (await api.post(path, {**event, "reason": "é" * 65})).failed(422, "Invalid", "can have at most 128 characters")
    (await api.post(path, {**event, "reason": "é" * 64})).ok()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000000000000000000000001,+03-0000000000000000000000000004", (3, "")),
        ("9223372036854775807", (0, 'too large index: "9223372036854775807"')),
        ("9223372036854775808", (0, 'cannot convert string to integer for index: "9223372036854775808"')),
        ("0" * 5000 + "7", (0, f'too large index: "{"0" * 5000}7"')),
        ("", (0, "")),
        ("+", (0, 'cannot convert string to integer for index: "+"')),
        ("0" * 5000 + "x", (0, f'cannot convert string to integer for index: "{"0" * 5000}x"')),
        ("٣", (0, 'cannot convert string to integer for index: "٣"')),
    ],
)
def test_indexes_of_jobs_are_read_as_go_reads_them(text: str, expected: tuple[int, str]) -> None:
    assert count_indexes(text, 7) == expected


async def test_a_claim_with_a_source_in_a_group_is_not_asked_for_a_valid_group_again(api: Api) -> None:
    source = {"apiGroup": "a.b", "kind": "K", "name": "n"}
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "dataSourceRef": source}
    claim = (await api.post(CLAIMS, {"metadata": {"name": "one"}, "spec": spec})).ok()
    claim["spec"]["dataSourceRef"]["apiGroup"] = "*"
    assert "spec.dataSourceRef.apiGroup" not in fields((await api.put(f"{CLAIMS}/one", claim)).json)
    refused = await api.post(
        CLAIMS, {"metadata": {"name": "two"}, "spec": {**spec, "dataSourceRef": {**source, "apiGroup": "*"}}}
    )
    assert "spec.dataSourceRef.apiGroup" in fields(refused.json)


async def test_an_empty_failure_policy_is_a_value_that_is_not_known(api: Api) -> None:
    refused = await api.post(POLICIES, {"metadata": {"name": "one"}, "spec": {"failurePolicy": ""}})
    words = 'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'
    refused.failed(422, "Invalid", words)


async def test_a_drawn_name_that_is_not_valid_is_refused_once(api: Api) -> None:
    refused = await api.post("/api/v1/namespaces", {"metadata": {"generateName": "a b"}})
    assert fields(refused.json) == ["metadata.generateName", "metadata.name"]


async def test_credentials_are_read_even_if_another_key_is_wrong(api: Api) -> None:
    data = {".dockerconfigjson": "500m", "150%": "YQ=="}
    secret = {"metadata": {"name": "one"}, "type": "kubernetes.io/dockerconfigjson", "data": data}
    assert fields((await api.post(SECRETS, secret)).json) == ["data[150%]", "data[.dockerconfigjson]"]


LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        (
            {"type": "x", "limited": {"limitResponse": {}}},
            ["spec.type", "spec.limited", "spec.limited.limitResponse.type"],
        ),
        (
            {"type": "x", "limited": {"lendablePercent": 900, "limitResponse": {"type": "y"}}},
            ["spec.type", "spec.limited"],
        ),
        (
            {"limited": {"limitResponse": {"type": "y", "queuing": {}}}},
            ["spec.type", "spec.limited", "spec.limited.limitResponse.queuing"],
        ),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "y", "queuing": {}}}},
            ["spec.limited.limitResponse.type", "spec.limited.limitResponse.queuing"],
        ),
        ({"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}, ["spec.limited.limitResponse.queuing"]),
    ],
)
async def test_whether_a_priority_levels_response_fits_is_said_of_every_type(
    api: Api, spec: Any, wrong: list[str]
) -> None:
    refused = await api.post(LEVELS, {"metadata": {"name": "one"}, "spec": spec})
    assert fields(refused.json) == wrong


async def test_the_exempt_priority_level_lends_no_more_than_it_has() -> None:
    async with serving(default_objects=True) as api:
        level = (await api.get(f"{LEVELS}/exempt")).ok()
        level["spec"]["exempt"]["lendablePercent"] = 101
        assert fields((await api.put(f"{LEVELS}/exempt", level)).json) == ["spec.exempt.lendablePercent"]


async def test_a_claim_that_asks_for_too_much_is_told_what_else_is_wrong(api: Api) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "150%", "allocationMode": "All", "adminAccess": True}}
    claim = {"metadata": {"name": "one"}, "spec": {"devices": {"requests": [request]}}}
    refused = await api.post("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", claim)
    where = "spec.devices.requests[0]"
    assert fields(refused.json) == [f"{where}.adminAccess", f"{where}.exactly.deviceClassName"]


async def test_the_length_of_a_bundle_that_a_local_api_service_may_not_have_is_shown(api: Api) -> None:
    spec = {"version": "v1", "group": "a.b", "groupPriorityMinimum": 1, "versionPriority": 1, "caBundle": "/abs"}
    refused = await api.post(SERVICES, {"metadata": {"name": "v1.a.b"}, "spec": spec})
    refused.failed(422, "Invalid", 'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle')
