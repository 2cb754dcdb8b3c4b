"""The work of a request is linear in the size of what was sent: twice as many items take about twice as many steps.

Steps are calls of functions, counted by the interpreter's profiler: the same ones on each machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest
import yaml
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
    config_map,
    crd,
    crd_version,
    deployment,
    mykind,
    pod,
    serving,
)

from setpoint.apiserver import Request
from setpoint.testing import virtual_time

COUNT: Final = 500
MOST: Final = 2.2
"""The steps for twice as many items, as a multiple of the steps for `COUNT`."""
DEFINITION: Final = f"{CRDS}/mykinds.grp.example.com"
DEPLOYMENT: Final = f"{DEPLOYMENTS}/web"
BIG: Final = f"{PODS}/big"
TEMPLATE: Final = deployment()["spec"]["template"]
POLICIES: Final = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
FORCE: Final = {"fieldManager": "me", "force": "true"}

Row = tuple[tuple[str, Any] | None, str, str, Any, str, dict[str, str]]
"""The object to create first (its collection, itself), method, path, body, content type, query."""
Rows = dict[str, Callable[[int], Row]]


def named(count: int) -> list[dict[str, str]]:
    return [{"name": f"a{n}", "uid": f"b{n}", "key": f"c{n}"} for n in range(count)]


def fields(count: int) -> dict[str, str]:
    return {f"a{n}": "b" for n in range(count)}


def definition(properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    return crd(versions=[crd_version(schema={"openAPIV3Schema": schema}, subresources={})])


def templated(**parts: Any) -> dict[str, Any]:
    return deployment(template={**TEMPLATE, **parts})


def spec(**parts: Any) -> dict[str, Any]:
    return templated(spec={**TEMPLATE["spec"], **parts})


def variables(count: int) -> dict[str, Any]:
    container = {"name": "main", "image": "a", "env": [{"name": f"A{n}"} for n in range(count)]}
    return pod("big", spec={"containers": [container]})


def patch(path: str, body: Any, kind: str, result: tuple[str, Any] | None = None) -> Row:
    return result, "PATCH", path, body, kind, FORCE if kind == APPLY else {}


def post(path: str, body: Any, kind: str = "application/json", **query: str) -> Row:
    return None, "POST", path, body, kind, query


def labeled(count: int) -> dict[str, Any]:
    return deployment(selector={"matchLabels": fields(count)})


def properties(count: int) -> dict[str, Any]:
    return {f"p{n}": {"type": "string", "maxLength": 10} for n in range(count)}


def policy(count: int) -> dict[str, Any]:
    peers = [{"ipBlock": {"cidr": f"10.{n >> 8}.{n & 255}.0/24"}} for n in range(count)]
    return {"metadata": {"name": "big"}, "spec": {"podSelector": {}, "ingress": [{"from": peers}]}}


def nested(count: int) -> dict[str, Any]:
    return mykind(
        "big", spec={"free": {"x": [[[f"x{n}" for n in range(10)] for _ in range(10)] for _ in range(count)]}}
    )


ROWS: Final[Rows] = {
    "labels of a selector, strategic": lambda n: patch(DEPLOYMENT, labeled(n), STRATEGIC),
    "labels of a selector, applied": lambda n: patch(DEPLOYMENT, labeled(n), APPLY),
    "labels of a selector, status": lambda n: patch(f"{DEPLOYMENT}/status", labeled(n), STRATEGIC),
    "labels of nodes": lambda n: patch(DEPLOYMENT, spec(nodeSelector=fields(n)), APPLY),
    "containers, strategic": lambda n: patch(DEPLOYMENT, spec(containers=named(n)), STRATEGIC),
    "containers, applied": lambda n: patch(DEPLOYMENT, spec(containers=named(n)), APPLY),
    "containers in a status": lambda n: patch(f"{DEPLOYMENT}/status", spec(containers=named(n)), STRATEGIC),
    "containers that are all wrong": lambda n: post(
        PODS, {"metadata": {"name": "x"}, "spec": {"containers": named(n)}}
    ),
    "fields that a container does not have": lambda n: patch(DEPLOYMENT, spec(containers=[fields(n)]), APPLY),
    "a map for a name": lambda n: patch(DEPLOYMENT, spec(containers=[{"name": fields(n)}]), APPLY),
    "annotations of a template": lambda n: patch(DEPLOYMENT, templated(metadata={"annotations": fields(n)}), STRATEGIC),
    "finalizers": lambda n: patch(f"{PODS}/web", {"metadata": {"finalizers": list(fields(n))}}, STRATEGIC),
    "operations": lambda n: patch(
        f"{MYKINDS}/one",
        [{"op": "add", "path": f"/metadata/annotations/a{k}", "value": "b"} for k in range(n)],
        JSON_PATCH,
    ),
    "a list for a number": lambda n: patch(f"{MYKINDS}/one", mykind(spec={"numpods": named(n)}), APPLY),
    "a schema": lambda n: patch(DEFINITION, definition(properties(n)), APPLY),
    "a schema, merged": lambda n: patch(DEFINITION, definition(properties(n)), MERGE),
    "a schema, strategic": lambda n: patch(DEFINITION, definition(properties(n)), STRATEGIC),
    "properties that are texts": lambda n: patch(DEFINITION, definition(fields(n)), APPLY),
    "a default of another type": lambda n: patch(
        DEFINITION, definition({"a": {"type": "integer", "default": named(n)}}), APPLY
    ),
    "keys": lambda n: patch(f"{MAPS}/web", config_map(data=fields(n)), STRATEGIC),
    "keys, tried": lambda n: post(MAPS, config_map("big", data=fields(n)), dryRun="All"),
    "keys in YAML": lambda n: post(MAPS, config_map("big", data=fields(n)), "application/yaml"),
    "keys of a secret": lambda n: post(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "big"}, "data": dict.fromkeys(fields(n), "YWJj")}
    ),
    "variables": lambda n: post(PODS, variables(n)),
    "variables, strategic": lambda n: patch(BIG, variables(n), STRATEGIC, (PODS, variables(n))),
    "variables, replaced": lambda n: (
        (PODS, variables(n)),
        "PUT",
        BIG,
        {**variables(n), "metadata": {"name": "big", "labels": {"a": "b"}}},
        "application/json",
        {},
    ),
    "variables, status": lambda n: patch(
        f"{BIG}/status", {"status": {"phase": "Running"}}, MERGE, (PODS, variables(n))
    ),
    "variables, deleted": lambda n: ((PODS, variables(n)), "DELETE", PODS, None, "application/json", {}),
    "lists in lists": lambda n: post(MYKINDS, nested(n // 10)),
    "lists in lists, scaled": lambda n: patch(
        f"{MYKINDS}/big/scale", {"spec": {"replicas": 4}}, MERGE, (MYKINDS, nested(n // 10))
    ),
    "ports of a service": lambda n: post(
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "big"}, "spec": {"ports": [{"name": f"a{k}", "port": k + 1} for k in range(n)]}},
    ),
    "peers of a policy, with a label": lambda n: patch(
        f"{POLICIES}/big", {"metadata": {"labels": {"a": "b"}}}, MERGE, (POLICIES, policy(n))
    ),
    "capacities of a volume": lambda n: post(
        "/api/v1/persistentvolumes",
        {"metadata": {"name": "big"}, "spec": {"capacity": {f"a{k}": "1" for k in range(n)}}},
    ),
    "addresses in a status": lambda n: patch(
        "/api/v1/nodes/n/status",
        {"status": {"addresses": [{"type": "InternalIP", "address": f"10.0.{k >> 8}.{k & 255}"} for k in range(n)]}},
        MERGE,
        ("/api/v1/nodes", {"metadata": {"name": "n"}}),
    ),
}
LISTS: Final[dict[str, Callable[[int], Any]]] = {
    "volumes": lambda n: [{"name": f"a{k}", "emptyDir": {}} for k in range(n)],
    "tolerations": lambda n: [{"key": f"a{k}", "operator": "Exists"} for k in range(n)],
    "hostAliases": lambda n: [{"ip": "1.2.3.4", "hostnames": [f"a{k}"]} for k in range(n)],
    "readinessGates": lambda n: [{"conditionType": f"a{k}"} for k in range(n)],
    "schedulingGates": lambda n: [{"name": f"a{k}"} for k in range(n)],
    "resourceClaims": lambda n: [{"name": f"a{k}", "resourceClaimName": "b"} for k in range(n)],
    "imagePullSecrets": lambda n: [{"name": f"a{k}"} for k in range(n)],
    "topologySpreadConstraints": lambda n: [
        {"maxSkew": 1, "topologyKey": f"a{k}", "whenUnsatisfiable": "DoNotSchedule"} for k in range(n)
    ],
    "affinity": lambda n: {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In", "values": [f"a{k}" for k in range(n)]}]}
                ]
            }
        }
    },
    "initContainers": lambda n: [{"name": f"a{k}", "image": "a"} for k in range(n)],
}
"""Long lists of a pod's spec."""


def _lists() -> Rows:
    rows: Rows = {}
    for key, list_request in LISTS.items():

        def created(count: int, key: str = key, value: Callable[[int], Any] = list_request) -> Row:
            return post(PODS, pod("big", spec={**pod()["spec"], key: value(count)}))

        def added(count: int, key: str = key, new_value: Callable[[int], Any] = list_request) -> Row:
            return patch(BIG, {"spec": {key: new_value(count)}}, STRATEGIC, (PODS, pod("big")))

        rows[f"{key} of a pod"], rows[f"{key} of a pod, added"] = created, added
    return rows


def _metadata() -> Rows:
    rows: Rows = {}
    for sort, value in (("list", named), ("map", fields)):
        for field in ("name", "managedFields", "creationTimestamp", "ownerReferences", "finalizers"):

            def builtin(count: int, field: str = field, value: Callable[[int], Any] = value) -> Row:
                return post(MAPS, {"metadata": {"name": "x", field: value(count)}})

            def custom(count: int, field: str = field, value: Callable[[int], Any] = value) -> Row:
                return post(MYKINDS, mykind("x", metadata={"name": "x", field: value(count)}))

            rows[f"a {sort} for {field}"], rows[f"a {sort} for {field} of a custom object"] = builtin, custom
    return rows


ROWS |= _lists() | _metadata()


async def steps(row: Row, **headers: str) -> int:
    """The number of calls that the request takes."""
    result, method, path, body, kind, query = row
    async with serving() as api:
        for collection, one in (
            (CRDS, crd()),
            (MAPS, config_map(data={"a": "b"})),
            (PODS, pod()),
            (DEPLOYMENTS, deployment()),
            (MYKINDS, mykind(spec={"numpods": 3}, metadata={"name": "one", "annotations": {"a": "b"}})),
            *([result] if result else []),
        ):
            (await api.post(collection, one)).ok()
        text = yaml.safe_dump(body) if kind == "application/yaml" else json.dumps(body)
        raw = None if body is None else text.encode()
        headers = {"content-type": kind, **headers} if raw is not None else headers
        count = 0

        def note(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        before: Any = sys.getprofile()
        sys.setprofile(note)
        try:
            response = await api.server.handle(Request(method, path, tuple(query.items()), headers, raw))
        finally:
            sys.setprofile(before)
        assert response.status in (200, 201, 400, 422), response.body
    return count


async def check(row: Callable[[int], Row], **headers: str) -> None:
    await steps(row(10), **headers)  # what is computed once is there
    few, many = [await steps(row(count), **headers) for count in (COUNT, 2 * COUNT)]
    assert many < MOST * few


@pytest.mark.parametrize("name", ROWS)
@virtual_time
async def test_twice_as_many_items_take_twice_as_many_steps(name: str) -> None:
    await check(ROWS[name])


@pytest.mark.parametrize("media", ["vnd.kubernetes.protobuf", "yaml", "json;as=Table;v=v1;g=meta.k8s.io"])
@virtual_time
async def test_an_answer_with_twice_as_much_takes_twice_as_many_steps(media: str) -> None:
    def row(count: int) -> Row:
        return (PODS, variables(count)), "GET", PODS, None, "application/json", {}

    await check(row, accept=f"application/{media}")
