"""However large a request is, it gives others their turn after a bounded number of steps of the interpreter.

The steps are calls of functions, counted by the interpreter's profiler: the same ones on each machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

import pytest
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

from setpoint.apiserver import Request, Response
from setpoint.testing import virtual_time

pytest.importorskip("greenlet", reason="without it, work is done in one slice")

LIMIT: Final = 80_000
"""Calls between two turns: some hundredths of a second."""
NAMED = [{"name": f"a{n}", "uid": f"b{n}", "key": f"c{n}"} for n in range(5_000)]
FIELDS = {f"a{n}": "b" for n in range(20_000)}
DEFINITION = f"{CRDS}/mykinds.grp.example.com"
DEPLOYMENT = f"{DEPLOYMENTS}/web"
TEMPLATE = deployment()["spec"]["template"]
POD = pod(
    "big", spec={"containers": [{"name": "main", "image": "a", "env": [{"name": f"A{n}"} for n in range(5_000)]}]}
)
NESTED = mykind("big", spec={"free": {"x": [[[f"x{n}" for n in range(20)] for _ in range(30)] for _ in range(30)]}})
PROPERTIES = {f"p{n}": {"type": "string", "maxLength": 10} for n in range(4_000)}
FORCE = {"fieldManager": "me", "force": "true"}


def definition(properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    return crd(versions=[crd_version(schema={"openAPIV3Schema": schema}, subresources={})])


def templated(**fields: Any) -> dict[str, Any]:
    return deployment(template={**TEMPLATE, **fields})


def spec(**fields: Any) -> dict[str, Any]:
    return templated(spec={**TEMPLATE["spec"], **fields})


class Calls:
    """An awaitable that counts the calls of functions between two waits. ``most``: the largest count."""

    def __init__(self, work: Any) -> None:
        self._work = work
        self._count = 0
        self.most = 0

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        self._count += event in ("call", "c_call")

    def __await__(self) -> Generator[Any, None, Response]:
        steps = self._work.__await__()
        while True:
            self._count = 0
            before: Callable[..., Any] | None = sys.getprofile()
            sys.setprofile(self._note)
            try:
                pending = next(steps)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            finally:
                sys.setprofile(before)
                self.most = max(self.most, self._count)
            yield pending


def patch(path: str, body: Any, kind: str) -> tuple[str, str, Any, str, dict[str, str], Any]:
    return "PATCH", path, body, kind, FORCE if kind == APPLY else {}, None


def on(
    made: tuple[str, Any], method: str, path: str, body: Any = None, kind: str = "application/json", **query: str
) -> Any:
    return method, path, body, kind, query, made


BIG = f"{PODS}/big"
ROWS: dict[str, Any] = {
    "many labels of a selector, strategic": patch(DEPLOYMENT, deployment(selector={"matchLabels": FIELDS}), STRATEGIC),
    "many labels of a selector, applied": patch(DEPLOYMENT, deployment(selector={"matchLabels": FIELDS}), APPLY),
    "many labels of a selector, status": patch(
        f"{DEPLOYMENT}/status", deployment(selector={"matchLabels": FIELDS}), STRATEGIC
    ),
    "many labels of nodes": patch(DEPLOYMENT, spec(nodeSelector=FIELDS), APPLY),
    "many containers, strategic": patch(DEPLOYMENT, spec(containers=NAMED), STRATEGIC),
    "many containers, applied": patch(DEPLOYMENT, spec(containers=NAMED), APPLY),
    "many containers in a status": patch(f"{DEPLOYMENT}/status", spec(containers=NAMED), STRATEGIC),
    "fields that a container has not": patch(DEPLOYMENT, spec(containers=[FIELDS]), APPLY),
    "a map for a name": patch(DEPLOYMENT, spec(containers=[{"name": FIELDS}]), APPLY),
    "many annotations of a template": patch(DEPLOYMENT, templated(metadata={"annotations": FIELDS}), STRATEGIC),
    "many finalizers": patch(f"{PODS}/web", {"metadata": {"finalizers": list(FIELDS)}}, STRATEGIC),
    "many operations": patch(
        f"{MYKINDS}/one", [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}] * 9_999, JSON_PATCH
    ),
    "a list for a number": patch(f"{MYKINDS}/one", mykind(spec={"numpods": NAMED}), APPLY),
    "a large schema": patch(DEFINITION, definition(PROPERTIES), APPLY),
    "a large schema, merged": patch(DEFINITION, definition(PROPERTIES), MERGE),
    "a large schema, strategic": patch(DEFINITION, definition(PROPERTIES), STRATEGIC),
    "properties that are texts": patch(DEFINITION, definition(FIELDS), APPLY),
    "a default of another type": patch(DEFINITION, definition({"a": {"type": "integer", "default": NAMED}}), APPLY),
    "many keys": patch(f"{MAPS}/web", config_map(data=FIELDS), STRATEGIC),
    "many keys, tried": on(("", None), "POST", MAPS, config_map("big", data=FIELDS), dryRun="All"),
    "a value of a megabyte": on((MAPS, config_map("big", data={"a": "b" * (1 << 20)})), "GET", f"{MAPS}/big"),
    "a secret": on(
        ("", None),
        "POST",
        "/api/v1/namespaces/default/secrets",
        {"metadata": {"name": "big"}, "data": dict.fromkeys(FIELDS, "YWJj")},
    ),
    "many variables": on(("", None), "POST", PODS, POD),
    "many variables, strategic": on((PODS, POD), "PATCH", BIG, POD, STRATEGIC),
    "many variables, replaced": on((PODS, POD), "PUT", BIG, {**POD, "metadata": {"name": "big", "labels": {"a": "b"}}}),
    "many variables, status": on((PODS, POD), "PATCH", f"{BIG}/status", {"status": {"phase": "Running"}}, MERGE),
    "many variables, deleted": on((PODS, POD), "DELETE", PODS),
    "nested lists": on(("", None), "POST", MYKINDS, NESTED),
    "nested lists, scaled": on((MYKINDS, NESTED), "PATCH", f"{MYKINDS}/big/scale", {"spec": {"replicas": 4}}, MERGE),
}


COUNT: Final = 10_000
LISTS: Final[dict[str, Any]] = {
    "volumes": [{"name": f"a{n}", "emptyDir": {}} for n in range(COUNT)],
    "tolerations": [{"key": f"a{n}", "operator": "Exists"} for n in range(COUNT)],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": [f"a{n}"]} for n in range(COUNT)],
    "readinessGates": [{"conditionType": f"a{n}"} for n in range(COUNT)],
    "schedulingGates": [{"name": f"a{n}"} for n in range(COUNT)],
    "resourceClaims": [{"name": f"a{n}", "resourceClaimName": "b"} for n in range(COUNT)],
    "imagePullSecrets": [{"name": f"a{n}"} for n in range(COUNT)],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": f"a{n}", "whenUnsatisfiable": "DoNotSchedule"} for n in range(COUNT)
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In", "values": [f"a{n}" for n in range(COUNT)]}]}
                ]
            }
        }
    },
    "initContainers": [{"name": f"a{n}", "image": "a"} for n in range(COUNT)],
}
"""Long lists of a pod's spec."""
for _name, _value in LISTS.items():
    ROWS[f"many {_name} of a pod"] = on(("", None), "POST", PODS, pod("big", spec={**pod()["spec"], _name: _value}))
    ROWS[f"many {_name} of a pod, added"] = on((PODS, pod("big")), "PATCH", BIG, {"spec": {_name: _value}}, STRATEGIC)
ROWS["many ports of a service"] = on(
    ("", None),
    "POST",
    "/api/v1/namespaces/default/services",
    {"metadata": {"name": "big"}, "spec": {"ports": [{"name": f"a{n}", "port": n + 1} for n in range(COUNT)]}},
)
_POLICIES: Final = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
_PEERS: Final = [{"ipBlock": {"cidr": f"10.{n >> 8}.{n & 255}.0/24"}} for n in range(COUNT)]
_POLICY: Final = {"metadata": {"name": "big"}, "spec": {"podSelector": {}, "ingress": [{"from": _PEERS}]}}
ROWS["many peers of a policy, with a label"] = on(
    (_POLICIES, _POLICY), "PATCH", f"{_POLICIES}/big", {"metadata": {"labels": {"a": "b"}}}, MERGE
)
ROWS["many capacities of a volume"] = on(
    ("", None),
    "POST",
    "/api/v1/persistentvolumes",
    {"metadata": {"name": "big"}, "spec": {"capacity": {f"a{n}": "1" for n in range(COUNT)}}},
)


async def most_calls(row: Any, **headers: str) -> int:
    method, path, body, kind, query, made = row
    async with serving() as api:
        for collection, one in (
            (CRDS, crd()),
            (MAPS, config_map(data={"a": "b"})),
            (PODS, pod()),
            (DEPLOYMENTS, deployment()),
            (MYKINDS, mykind(spec={"numpods": 3})),
            made or ("", None),
        ):
            if collection:
                (await api.post(collection, one)).ok()
        raw = None if body is None else json.dumps(body).encode()
        headers = {"content-type": kind, **headers} if raw is not None else headers
        work = Calls(api.server.handle(Request(method, path, tuple(query.items()), headers, raw)))
        response = await work
        assert response.status in (200, 201, 400, 422), response.body
    return work.most


@pytest.mark.parametrize("name", ROWS)
@virtual_time
async def test_no_request_goes_far_between_two_turns(name: str) -> None:
    assert await most_calls(ROWS[name]) < LIMIT


@pytest.mark.parametrize("media", ["vnd.kubernetes.protobuf", "yaml", "json;as=Table;v=v1;g=meta.k8s.io"])
@virtual_time
async def test_no_answer_of_a_large_object_takes_many_steps_between_two_turns(media: str) -> None:
    assert await most_calls(on((PODS, POD), "GET", PODS), accept=f"application/{media}") < LIMIT
