"""The answer to any request is a success or the client's fault: no input makes the server fail."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
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

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(10**20),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["", "a", "A b", "1", "25%", "\u2028", "x" * 300]),
    st.lists(st.none() | st.integers(0, 1) | st.just("a") | st.just({}), max_size=2),
    st.dictionaries(st.sampled_from(["name", "type", "a/b", ""]), st.none() | st.just("b") | st.just([]), max_size=2),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    result = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        result += places(item, (*path, key))
    return result


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(document)
    node = result
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return result


def rich_pod() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
        "livenessProbe": {"httpGet": {"port": "http"}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    }
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "x"}}]
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}]
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": owners, "finalizers": ["a.b/c"]}
    return pod(metadata=metadata, spec={"containers": [container], "volumes": volumes, "tolerations": [{"key": "k"}]})


def service() -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "x"}], "selector": {"a": "b"}}}


OBJECTS = {
    PODS: rich_pod(),
    DEPLOYMENTS: deployment(strategy={"rollingUpdate": {"maxSurge": 1}}, replicas=2),
    MAPS: config_map(data={"a": "b"}, binaryData={"c": "AAAA"}),
    CRDS: crd(),
    MYKINDS: mykind(spec={"numpods": 1, "free": {"a": [1]}}, status={"ready": 1}),
    "/api/v1/namespaces/default/services": service(),
    "/api/v1/namespaces/default/secrets": {"metadata": {"name": "s"}, "data": {"a": "AAAA"}, "stringData": {"b": "c"}},
    "/api/v1/namespaces": {"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}},
    "/api/v1/namespaces/default/events": {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default"},
        "source": {"component": "x"},
    },
    "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers": {
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "A", "name": "b"}, "maxReplicas": 1, "targetCPUUtilizationPercentage": 5},
    },
    "/apis/apps/v1/namespaces/default/statefulsets": deployment()
    | {"kind": "StatefulSet", "spec": {**deployment()["spec"], "volumeClaimTemplates": [{"metadata": {"name": "x"}}]}},
}


async def harmless(api: Api, method: str, path: str, body: Any, kind: str = "application/json", **query: str) -> Any:
    answer = await api.send(method, path, body, query=query, content_type=kind)
    assert answer.status != 500 or not answer.json.get("reason"), (method, path, body, answer.body)
    return answer


@pytest.mark.parametrize("path", OBJECTS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(data=st.data())
def test_a_value_of_any_type_at_any_place(path: str, data: Any) -> None:
    sent = OBJECTS[path]
    changes = data.draw(st.lists(st.tuples(st.sampled_from(places(sent)), VALUES), min_size=1, max_size=2))
    odd = sent
    for place, value in changes:
        try:
            odd = put(odd, place, value)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # an earlier change took the place away

    async def run() -> None:
        async with serving() as api:
            if path != CRDS:
                (await api.post(CRDS, crd())).ok()
            await harmless(api, "POST", path, odd)
            name = sent["metadata"]["name"]
            await api.post(path, sent)
            one = f"{path}/{name}"
            live = await api.get(one)
            if live.status != 200:
                return
            await harmless(api, "PUT", one, odd)
            for kind in (MERGE, STRATEGIC):
                await harmless(api, "PATCH", one, odd, kind)
                await harmless(api, "PATCH", f"{one}/status", odd, kind)
            await harmless(api, "PATCH", one, odd, APPLY, fieldManager="x", force="true")
            await harmless(api, "PATCH", f"{one}/scale", {"spec": odd.get("spec")}, MERGE)
            pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in changes[0][0])
            await harmless(api, "PATCH", one, [{"op": "add", "path": pointer, "value": changes[0][1]}], JSON_PATCH)
            for accept in ("application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"):
                assert (await api.send("GET", path, accept=accept)).status == 200
            await harmless(api, "DELETE", one, odd)

    asyncio.run(run())


@settings(max_examples=50, deadline=None)
@given(
    body=st.binary(max_size=40) | st.text(max_size=20).map(str.encode) | VALUES.map(lambda v: json.dumps(v).encode())
)
def test_any_body(body: bytes) -> None:
    async def run() -> None:
        async with serving() as api:
            (await api.post(MAPS, config_map())).ok()
            for kind in ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf"):
                await harmless(api, "POST", MAPS, body, kind)
                await harmless(api, "PUT", f"{MAPS}/web", body, kind)
                await harmless(api, "DELETE", f"{MAPS}/nothing", body, kind)
            for kind in (MERGE, STRATEGIC, JSON_PATCH, APPLY):
                await harmless(api, "PATCH", f"{MAPS}/web", body, kind, fieldManager="x")
            for sub in ("binding", "eviction"):
                await harmless(api, "POST", f"{PODS}/web/{sub}", body)
            await harmless(api, "PUT", "/api/v1/namespaces/default/finalize", body)

    asyncio.run(run())


@settings(max_examples=50, deadline=None)
@given(
    path=st.lists(
        st.sampled_from(
            ["api", "apis", "v1", "apps", "namespaces", "default", "pods", "watch", "web", "status", "", "%"]
        ),
        max_size=8,
    ).map(lambda parts: "/" + "/".join(parts)),
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"]),
    query=st.dictionaries(
        st.sampled_from(["limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "timeoutSeconds"]),
        st.sampled_from(["", "0", "-1", "x", "1", "a=b", "=", "!,", "metadata.name=a", "99999999999999999999"]),
        max_size=3,
    ),
)
def test_any_path_and_query(path: str, method: str, query: dict[str, str]) -> None:
    async def run() -> None:
        async with serving() as api:
            answer = await api.send(method, path, b"" if method in ("POST", "PUT", "PATCH") else None, query=query)
            assert answer.status < 500 or answer.status == 504, (method, path, query, answer.body)
            if hasattr(answer.body, "aclose"):
                await answer.body.aclose()

    asyncio.run(run())
