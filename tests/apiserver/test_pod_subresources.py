"""Writes of parts of a pod are judged as API servers of 1.37 do, whose answers these are: resize, ephemeralcontainers,
status."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

from setpoint.apiserver import Response

PODS = "/api/v1/namespaces/default/pods"
FORBIDDEN = "cannot be set for an Ephemeral Container"
ONLY = "spec: Forbidden: only cpu and memory resources are mutable"
R: dict[str, str] = {"cpu": "100m", "memory": "64Mi"}
L: dict[str, str] = {"cpu": "200m", "memory": "128Mi"}


def container(name: str, requests: Any = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    given = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": name, "image": "i", "resources": given, **fields}


def pod(**spec: Any) -> dict[str, Any]:
    inits = [container("i", {"cpu": "10m"}), container("s", {"cpu": "10m"}, restartPolicy="Always")]
    result = {"containers": [container("a", R, L), container("b")], "initContainers": inits}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": result | spec}


async def written(api: Api, part: str, change: Any, values: dict[str, Any] | None = None) -> Response:
    obj = (await api.post(PODS, values or pod())).ok()
    change(obj)
    return await api.send("PUT", f"{PODS}/p/{part}", obj)


def errors(answer: Response) -> list[str]:
    """The causes of a refusal."""
    details = answer.json["details"]
    return [f"{cause['field']}: {cause['message']}" for cause in details["causes"]]


def resources(index: int, requests: Any, limits: Any, key: str = "containers") -> Any:
    def change(obj: dict[str, Any]) -> None:
        obj["spec"][key][index]["resources"] = container("", requests, limits)["resources"]

    return change


def edited(index: int, **fields: Any) -> Any:
    return lambda obj: obj["spec"]["containers"][index].update(fields)


REFUSED_SIZES: dict[str, tuple[Any, list[str]]] = {
    "negative": (
        resources(0, R | {"cpu": "-1"}, L),
        ['spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "more than the limit": (
        resources(0, R | {"cpu": "500m"}, L),
        [
            'spec.containers[0].resources.requests: Invalid value: "500m": '
            "must be less than or equal to cpu limit of " + L["cpu"]
        ],
    ),
    "a limit removed": (
        resources(0, R, {"memory": "128Mi"}),
        ["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"],
    ),
    "another quality of service": (
        lambda obj: [resources(index, L, L, key)(obj) for index in (0, 1) for key in ("containers", "initContainers")],
        ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
    ),
    "other resources": (resources(0, R | {"ephemeral-storage": "1Gi"}, L), [ONLY]),
    "an extended resource": (resources(0, R, L | {"example.com/gpu": "1"}), [ONLY]),
    "a policy": (edited(0, resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]), [ONLY]),
    "a policy that is not known": (
        edited(0, resizePolicy=[{"resourceName": "gpu", "restartPolicy": "NotRequired"}]),
        ['spec.containers[0].resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"', ONLY],
    ),
    "another order": (
        lambda obj: obj["spec"]["containers"].reverse(),
        [
            f"spec.containers[{index}].name: Forbidden: containers may not be renamed or reordered on resize"
            for index in (0, 1)
        ],
    ),
    "a container less": (
        lambda obj: obj["spec"]["containers"].pop(),
        ["spec.containers: Forbidden: containers may not be added or removed on resize"],
    ),
    "a container more": (
        lambda obj: obj["spec"]["containers"].append(container("z", {"cpu": "1"})),
        ["spec.containers: Forbidden: containers may not be added or removed on resize"],
    ),
}


@pytest.mark.parametrize("case", REFUSED_SIZES)
async def test_a_size_that_no_pod_may_have_is_refused(case: str) -> None:
    change, told = REFUSED_SIZES[case]
    async with serving() as api:
        answer = await written(api, "resize", change)
        assert answer.status == 422
        assert errors(answer) == told


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        (resources(0, {"cpu": "150m", "memory": "64Mi"}, {"cpu": "300m", "memory": "100Mi"}), 2),
        (resources(1, {"cpu": "1"}, None), 2),
        (resources(0, {"cpu": "20m"}, None, "initContainers"), 2),
        (resources(0, None, L), 2),
        (edited(0, image="other"), 1),
        (lambda obj: obj["metadata"].update(labels={"a": "b"}), 1),
        (lambda obj: obj["metadata"].update(labels={"a b": "b"}), 1),
        (lambda obj: obj["spec"].update(tolerations=[{"key": "k", "operator": "Exists"}]), 1),
    ],
)
async def test_a_resize_changes_resources_and_nothing_else(change: Any, generation: int) -> None:
    async with serving() as api:
        answer = (await written(api, "resize", change)).json
        assert answer["metadata"].get("labels") is None
        assert answer["metadata"]["generation"] == generation
        assert {one["image"] for one in answer["spec"]["containers"]} == {"i"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {
                "metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}},
                "spec": pod(nodeName="n")["spec"],
            },
            "static pods",
        ),
        ({"spec": pod(os={"name": "windows"})["spec"]}, "windows pods"),
    ],
)
async def test_pods_that_cant_be_resized_are_refused(fields: dict[str, Any], message: str) -> None:
    async with serving() as api:
        answer = await written(api, "resize", resources(1, {"cpu": "1"}, None), pod() | fields)
        assert errors(answer) == [f"[]: Forbidden: {message} cannot be resized"]


REFUSED_EPHEMERALS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "twice": ([{"name": "d", "image": "i"}] * 2, ['[1].name: Duplicate value: "d"']),
    "a container's name": ([{"name": "a", "image": "i"}], ['[0].name: Duplicate value: "a"']),
    "no image": ([{"name": "d"}], ["[0].image: Required value"]),
    "ports": ([{"name": "d", "image": "i", "ports": [{"containerPort": 80}]}], [f"[0].ports: Forbidden: {FORBIDDEN}"]),
    "resources": (
        [{"name": "d", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        [f"[0].resources: Forbidden: {FORBIDDEN}"],
    ),
    "an unknown target": (
        [{"name": "d", "image": "i", "targetContainerName": "nope"}],
        ['[0].targetContainerName: Not found: "nope"'],
    ),
    "an unknown volume": (
        [{"name": "d", "image": "i", "volumeMounts": [{"name": "nope", "mountPath": "/x"}]}],
        ['[0].volumeMounts[0].name: Not found: "nope"'],
    ),
}


@pytest.mark.parametrize("case", REFUSED_EPHEMERALS)
async def test_an_ephemeral_container_that_no_pod_may_have_is_refused(case: str) -> None:
    containers, told = REFUSED_EPHEMERALS[case]
    async with serving() as api:
        answer = await written(
            api, "ephemeralcontainers", lambda obj: obj["spec"].update(ephemeralContainers=containers)
        )
        assert answer.status == 422
        assert errors(answer) == [f"spec.ephemeralContainers{text}" for text in told]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda containers: containers.pop(), 'existing ephemeral containers "e" may not be removed\n'),
        (lambda containers: containers[0].update(image="j"), 'existing ephemeral containers "d" may not be changed\n'),
        (lambda containers: containers.reverse(), ""),
    ],
)
async def test_ephemeral_containers_stay_as_they_are(change: Any, message: str) -> None:
    async with serving() as api:
        containers = [{"name": "d", "image": "i"}, {"name": "e", "image": "i"}]
        obj = (
            await written(api, "ephemeralcontainers", lambda obj: obj["spec"].update(ephemeralContainers=containers))
        ).json
        change(obj["spec"]["ephemeralContainers"])
        answer = await api.send("PUT", f"{PODS}/p/ephemeralcontainers", obj)
        assert (errors(answer) if message else answer.status) == (
            [f"spec.ephemeralContainers: Forbidden: {message}"] if message else 200
        )


REFUSED_STATUSES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "quality of service": (
        {"qosClass": "Guaranteed"},
        ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    ),
    "an address": (
        {"podIP": "x"},
        ['status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ),
    "two of one family": (
        {"podIPs": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}]},
        [
            'status.podIPs: Invalid value: [{"IP":"1.2.3.4"},{"IP":"1.2.3.5"}]: '
            "may specify no more than one IP for each IP family"
        ],
    ),
    "another host": (
        {"hostIP": "1.2.3.4", "hostIPs": [{"ip": "1.2.3.5"}]},
        ['status.hostIPs[0].ip: Invalid value: "1.2.3.5": must be equal to `hostIP`'],
    ),
    "a host that is not an address": (
        {"hostIP": "x", "hostIPs": [{"ip": "x"}]},
        ['status.hostIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ),
    "claims": (
        {"resourceClaimStatuses": [{"name": "x"}, {"name": "x"}]},
        [
            'status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in '
            "`spec.resourceClaims`",
            'status.resourceClaimStatuses[1].name: Invalid value: "x": must match the name of an entry in '
            "`spec.resourceClaims`",
            'status.resourceClaimStatuses[1].name: Duplicate value: "x"',
        ],
    ),
    "generation": (
        {"observedGeneration": -1},
        ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
    ),
}


@pytest.mark.parametrize("case", REFUSED_STATUSES)
async def test_a_status_that_no_pod_may_have_is_refused(case: str) -> None:
    fields, told = REFUSED_STATUSES[case]
    async with serving() as api:
        answer = await written(api, "status", lambda obj: obj["status"].update(fields))
        assert answer.status == 422
        assert errors(answer) == told


@pytest.mark.parametrize(
    ("fields", "addresses"),
    [
        ({"podIP": "1.2.3.4"}, ("1.2.3.4", ["1.2.3.4"])),
        ({"podIPs": [{"ip": "1.2.3.4"}, {"ip": "::1"}]}, ("1.2.3.4", ["1.2.3.4", "::1"])),
        ({"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.5"}]}, ("1.2.3.4", ["1.2.3.4"])),
    ],
)
async def test_a_pods_address_is_the_first_of_its_addresses(fields: Any, addresses: tuple[str, list[str]]) -> None:
    async with serving() as api:
        status = (await written(api, "status", lambda obj: obj["status"].update(fields))).json["status"]
        assert (status["podIP"], [item["ip"] for item in status["podIPs"]]) == addresses


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Never", 0, False), ("Never", 1, False), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Always", 0, True)],
)
async def test_a_container_that_has_ended_for_good_does_not_run_again(policy: str, code: int, again: bool) -> None:
    def reported(state: dict[str, Any]) -> Any:
        one = {"name": "a", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        return lambda obj: obj["status"].update(containerStatuses=[one])

    async with serving() as api:
        obj = (
            await written(api, "status", reported({"terminated": {"exitCode": code}}), pod(restartPolicy=policy))
        ).json
        reported({"running": {}})(obj)
        answer = await api.send("PUT", f"{PODS}/p/status", obj)
        text = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
        assert (answer.status == 200) if again else (errors(answer) == [text])
