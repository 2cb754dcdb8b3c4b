"""Names of built-in kinds: each kind has a rule of its own, and generated names have another one in some."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import PODS, Api, pod, serving

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
NETWORK = "/apis/networking.k8s.io/v1"
LABELS = {"a": "b"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SET = {"serviceName": "s", "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
EVENT = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "r", "message": "m"}
NEW_EVENT = {
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    "reason": "r",
    "note": "m",
    "action": "a",
    "type": "Normal",
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
}
BUDGET = {"spec": {"minAvailable": 1}}
OBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "StatefulSet": (f"{APPS}/statefulsets", {"spec": SET}),
    "Event": (f"{CORE}/events", EVENT),
    "new Event": ("/apis/events.k8s.io/v1/namespaces/default/events", NEW_EVENT),
    "PodDisruptionBudget": ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", BUDGET),
    "IPAddress": (f"{NETWORK}/ipaddresses", {"spec": {"parentRef": {"resource": "services", "name": "b"}}}),
    "ReplicationController": (f"{CORE}/replicationcontrollers", {"spec": {"selector": LABELS, "template": TEMPLATE}}),
    "DeviceClass": ("/apis/resource.k8s.io/v1/deviceclasses", {"spec": {}}),
}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("StatefulSet", "a.b", "must not contain dots"),
        ("StatefulSet", "x" * 64, "must be no more than 63 characters"),
        ("StatefulSet", "a-b", ""),
        ("Event", "A_b:c", ""),
        ("Event", "a%b", "may not contain '%'"),
        ("new Event", "A", "a lowercase RFC 1123 subdomain must consist of"),
        ("PodDisruptionBudget", "A:b", ""),
        ("PodDisruptionBudget", "..", "may not be '..'"),
        ("IPAddress", "a", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("IPAddress", "fe80::0001", 'must be in canonical form ("fe80::1")'),
        ("IPAddress", "fe80::1", ""),
        ("ReplicationController", "x" * 254, "must be no more than 253 bytes"),
        ("DeviceClass", "x" * 254, "must be no more than 253 bytes"),
    ],
)
async def test_each_kind_has_its_own_rule_of_names(api: Api, kind: str, name: str, words: str) -> None:
    path, body = OBJECTS[kind]
    answer = await api.post(path, {"metadata": {"name": name}, **body})
    if words:
        answer.failed(422, "Invalid", "metadata.name: Invalid value", words)
    else:
        assert answer.ok()["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "prefix", "words"),
    [
        ("StatefulSet", "a.", "metadata.generateName: Invalid value"),
        ("PodDisruptionBudget", "..", ""),
        ("ReplicationController", "x" * 254, ""),
        ("ReplicationController", "A", "metadata.name: Invalid value"),
        ("DeviceClass", "x" * 254, ""),
        ("IPAddress", "192.0.2.1", ""),
    ],
)
async def test_generated_names_have_rules_of_their_own(api: Api, kind: str, prefix: str, words: str) -> None:
    path, body = OBJECTS[kind]
    answer = await api.post(path, {"metadata": {"generateName": prefix}, **body})
    if words:
        refused = answer.failed(422, "Invalid", words)
        fields = [cause["field"] for cause in refused["details"]["causes"]]
        assert ("metadata.generateName" in fields) is (kind == "StatefulSet")
    else:
        assert answer.ok()["metadata"]["name"].startswith(prefix[:50])


async def test_the_name_of_an_address_is_never_drawn(api: Api) -> None:
    path, body = OBJECTS["IPAddress"]
    result = (await api.post(path, {"metadata": {"generateName": "192.0.2.1"}, **body})).ok()
    assert result["metadata"]["name"] == "192.0.2.1"
    assert (await api.post(PODS, {**pod(), "metadata": {"generateName": "a"}})).ok()["metadata"]["name"] != "a"
