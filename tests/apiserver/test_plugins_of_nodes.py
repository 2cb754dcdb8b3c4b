"""Admission plugins that look at the node of a pod: PodTopologyLabels, NodeDeclaredFeatureValidator and
PodResizeValidator.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import PODS, Answer, Api, pod, serving

NODES = "/api/v1/nodes"
STRATEGIC = "application/strategic-merge-patch+json"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
THERE = {"cpu": "2", "memory": "1Gi"}
OF_PODS, OF_INITS = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"
SIZES: dict[str, Any] = {
    "containers": [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
    "initContainers": [
        {"name": "i", "image": "i", "resources": {"requests": {"cpu": "10m"}}},
        {"name": "s", "image": "i", "resources": {"requests": {"cpu": "10m"}}, "restartPolicy": "Always"},
    ],
}


async def node(api: Api, name: str, labels: dict[str, str], **status: Any) -> None:
    new_node = (await api.post(NODES, {"metadata": {"name": name, "labels": labels}})).ok()
    (await api.send("PUT", f"{NODES}/{name}/status", {**new_node, "status": status})).ok()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        await node(api, "zoned", {ZONE: "z1", REGION: "r1", "other": "x"}, allocatable=THERE)
        await node(api, "windows", {"kubernetes.io/os": "windows"}, allocatable=THERE)
        await node(api, "able", {"kubernetes.io/os": "linux"}, allocatable=THERE, declaredFeatures=[OF_PODS, OF_INITS])
        await node(api, "bare", {})
        yield api


def requests(holder: str, name: str, **wanted: str) -> dict[str, Any]:
    return {"spec": {holder: [{"name": name, "resources": {"requests": wanted}}]}}


def whole(cpu: str) -> dict[str, Any]:
    return {"spec": {"resources": {"requests": {"cpu": cpu}}}}


async def resized(api: Api, where: str, change: dict[str, Any], **spec: Any) -> Answer:
    (await api.post(PODS, pod("p", spec={**SIZES, "nodeName": where, **spec}))).ok()
    return await api.send("PATCH", f"{PODS}/p/resize", change, content_type=STRATEGIC)


@pytest.mark.parametrize(
    ("where", "labels"),
    [
        ("zoned", {"a": "b", ZONE: "z1", REGION: "r1"}),
        ("able", {"a": "b", ZONE: "mine"}),
        ("gone", {"a": "b", ZONE: "mine"}),
    ],
)
async def test_a_pod_has_the_zone_and_the_region_of_its_node(api: Api, where: str, labels: dict[str, str]) -> None:
    mine = {"labels": {"a": "b", ZONE: "mine"}}
    assert (await api.post(PODS, pod("named", metadata=mine, spec={"nodeName": where}))).ok()["metadata"][
        "labels"
    ] == labels
    (await api.post(PODS, pod("bound", metadata=mine))).ok()
    binding = {"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": where}}
    (await api.post(f"{PODS}/bound/binding", binding)).ok()
    assert (await api.get(f"{PODS}/bound")).ok()["metadata"]["labels"] == labels


async def test_a_binding_that_leaves_out_the_kind_or_is_of_the_older_form_copies_no_labels(api: Api) -> None:
    for name, path, target in (
        ("kindless", f"{PODS}/kindless/binding", {"name": "zoned"}),
        ("older", "/api/v1/namespaces/default/bindings", {"kind": "Node", "name": "zoned"}),
    ):
        (await api.post(PODS, pod(name))).ok()
        (await api.post(path, {"metadata": {"name": name}, "target": target})).ok()
        result = (await api.get(f"{PODS}/{name}")).ok()
        assert result["spec"]["nodeName"] == "zoned"
        assert "labels" not in result["metadata"]


@pytest.mark.parametrize(
    ("where", "change", "why", "causes"),
    [
        (
            "zoned",
            requests("containers", "a", cpu="2001m", memory="1025Mi"),
            "node didn't have enough allocatable resources: cpu, requested: 2011, allocatable: 2000; "
            "memory, requested: 1074790400, allocatable: 1073741824",
            [{"reason": "NodeCapacity"}],
        ),
        (
            "bare",
            requests("containers", "a", cpu="0"),
            "node didn't have enough allocatable resources: cpu, requested: 10, allocatable: 0; "
            "memory, requested: 67108864, allocatable: 0",
            [{"reason": "NodeCapacity"}],
        ),
        (
            "windows",
            requests("containers", "a", cpu="200m"),
            'pod resize is only supported on linux nodes, node "windows" is "windows"',
            [{"reason": "UnsupportedPlatform"}],
        ),
        ("gone", requests("containers", "a", cpu="200m"), 'node "gone" not found', None),
        (
            "zoned",
            requests("initContainers", "i", cpu="20m"),
            f'pod update requires features {OF_INITS} which are not available on node "zoned"',
            None,
        ),
        (
            "windows",
            whole("1"),
            f'pod update requires features {OF_PODS} which are not available on node "windows"',
            None,
        ),
        (
            "able",
            whole("2500m"),
            "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000",
            [{"reason": "NodeCapacity"}],
        ),
    ],
)
async def test_a_resize_that_the_pods_node_cant_do_is_refused(
    api: Api, where: str, change: dict[str, Any], why: str, causes: list[Any] | None
) -> None:
    answer = await resized(api, where, change)
    assert answer.status == 403
    assert answer.json["message"] == f'pods "p" is forbidden: {why}'
    assert answer.json["details"].get("causes") == causes


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("zoned", requests("containers", "a", cpu="1990m", memory="1Gi")),
        ("zoned", requests("initContainers", "s", cpu="20m")),
        ("able", requests("initContainers", "i", cpu="20m")),
        ("able", whole("2")),
        ("bare", requests("containers", "a", cpu="100m")),
        ("gone", requests("containers", "a", cpu="100m")),
        ("", requests("containers", "a", cpu="500")),
    ],
)
async def test_a_resize_that_fits_or_changes_nothing_is_allowed(api: Api, where: str, change: dict[str, Any]) -> None:
    (await resized(api, where, change)).ok()


async def test_a_binding_is_for_the_pod_that_it_was_made_for(api: Api) -> None:
    metadata = (await api.post(PODS, pod("p"))).ok()["metadata"]
    target = {"kind": "Node", "name": "able"}
    for key, field in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        answer = await api.post(f"{PODS}/p/binding", {"metadata": {"name": "p", key: "1"}, "target": target})
        assert answer.status == 409
        assert f"{field} in precondition: 1, {field} in object meta: {metadata[key]}" in answer.json["message"]
    (await api.post(f"{PODS}/p/binding", {"metadata": metadata, "target": target})).ok()


async def test_a_pod_with_scheduling_gates_is_not_bound(api: Api) -> None:
    (await api.post(PODS, pod("p", spec={"schedulingGates": [{"name": "example.com/g"}]}))).ok()
    answer = await api.post(
        f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "able"}}
    )
    assert answer.status == 409
    assert answer.json["message"].endswith("pod p has non-empty .spec.schedulingGates")
    assert "nodeName" not in (await api.get(f"{PODS}/p")).ok()["spec"]
