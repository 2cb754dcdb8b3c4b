"""A status is judged as API servers of 1.37 do, whose answers these are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import Api, serving
from tests.apiserver.test_pod_parts import errors
from tests.conformance.differential.run import resource_of
from tests.conformance.differential.samples import samples

from setpoint.apiserver import Response

AMONG = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
NAME_PART = (
    f"name part {AMONG} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    "or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CONDITION: dict[str, Any] = {"conditions": [{"type": "-5%", "reason": "1"}]}
NO_CONDITION_TOLD = [
    f'status.conditions[0].type: Invalid value: "-5%": {NAME_PART}',
    "status.conditions[0].status: Required value",
    "status.conditions[0].lastTransitionTime: Required value",
    f'status.conditions[0].reason: Invalid value: "1": {REASON}',
]


async def written(api: Api, kind: str, status: dict[str, Any], **spec: Any) -> Response:
    """The answer to a write of the status of the kind's first sample; ``spec``: what the sample must have."""
    for number, sample in enumerate(item for item in samples() if item["kind"] == kind):
        if any((sample.get("spec") or {}).get(name) != value for name, value in spec.items()):
            continue
        resource = resource_of(sample)
        start = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        path = f"{start}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"
        body = {**sample, "metadata": {"name": f"s{number}", **sample.get("metadata", {})}}
        made = (await api.post(path, body)).ok()
        name = made["metadata"]["name"]
        return await api.send("PUT", f"{path}/{name}/status", {**made, "status": {**made.get("status", {}), **status}})
    raise AssertionError(f"no sample of {kind} has {spec}")


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("DeviceTaintRule", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("ValidatingAdmissionPolicy", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("PodDisruptionBudget", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("StorageVersionMigration", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("FlowSchema", {}, {"conditions": [{}]}, ["status.conditions[0].type: Required value"]),
    (
        "FlowSchema",
        {},
        {"conditions": [{"type": "x"}, {"type": "x"}]},
        ['status.conditions[1].type: Duplicate value: "x"'],
    ),
    (
        "APIService",
        {},
        {"conditions": [{"type": ""}]},
        ['status.conditions[0].status: Unsupported value: "": supported values: "True", "False", "Unknown"'],
    ),
    (
        "CertificateSigningRequest",
        {},
        {"certificate": "aHR0cA=="},
        [
            'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
        ],
    ),
    (
        "StorageVersionMigration",
        {},
        {"resourceVersion": "0"},
        ['status.resourceVersion: Invalid value: "0": resource version is not well formed: 0'],
    ),
    (
        "ReplicaSet",
        {},
        {"replicas": -1},
        [
            "status.replicas: Invalid value: -1: must be greater than or equal to 0",
            *(
                f"status.{name}: Invalid value: 0: cannot be greater than status.replicas"
                for name in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
            ),
        ],
    ),
    (
        "Deployment",
        {},
        {"replicas": -1},
        [
            "status.replicas: Invalid value: -1: must be greater than or equal to 0",
            *(
                f"status.{name}: Invalid value: 0: cannot be greater than status.replicas"
                for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
            ),
        ],
    ),
    (
        "StatefulSet",
        {},
        {"updatedReplicas": 7},
        ["status.updatedReplicas: Invalid value: 7: cannot be greater than status.replicas"],
    ),
    (
        "ReplicationController",
        {},
        {"availableReplicas": 2},
        [
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ],
    ),
    (
        "Service",
        {"type": None},
        {"loadBalancer": {"ingress": [{}]}},
        ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
    ),
    (
        "Service",
        {"type": "LoadBalancer"},
        {"loadBalancer": {"ingress": [{"ipMode": "*"}, {"ip": "*", "ipMode": "Bad"}]}},
        [
            "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
            f'status.loadBalancer.ingress[1].ip: Invalid value: "*": {IP}',
            'status.loadBalancer.ingress[1].ipMode: Unsupported value: "Bad": supported values: "Proxy", "VIP"',
        ],
    ),
    (
        "Ingress",
        {},
        {"loadBalancer": {"ingress": [{"ip": "Bad_Name"}]}},
        [f'status.loadBalancer.ingress[0].ip: Invalid value: "Bad_Name": {IP}'],
    ),
    ("Job", {}, {"active": -1}, ["status.active: Invalid value: -1: must be greater than or equal to 0"]),
    ("Job", {}, {"ready": 100}, ["status.ready: Invalid value: 100: cannot set more ready pods than active"]),
    (
        "Job",
        {},
        {"completionTime": "2026-01-01T00:00:00Z"},
        [
            'status.completionTime: Invalid value: "2026-01-01T00:00:00Z": '
            "cannot set completionTime when there is no Complete=True condition"
        ],
    ),
    (
        "Job",
        {"completionMode": "Indexed"},
        {"completedIndexes": "-a"},
        [
            'status.completedIndexes: Invalid value: "-a": error parsing completedIndexes: '
            'cannot convert string to integer for index: ""'
        ],
    ),
    (
        "Job",
        {"backoffLimitPerIndex": None},
        {"failedIndexes": "x"},
        [
            'status.failedIndexes: Invalid value: "x": '
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        ],
    ),
    (
        "PersistentVolumeClaim",
        {},
        {"allocatedResourceStatuses": {"example.com/x": "/abs"}},
        [
            'status.allocatedResourceStatuses: Unsupported value: "example.com/x": supported values: '
            '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
            '"NodeResizeInfeasible", "NodeResizePending"'
        ],
    ),
]


@pytest.mark.parametrize(("kind", "spec", "status", "told"), REFUSED)
async def test_a_status_that_no_object_may_have_is_refused(
    kind: str, spec: dict[str, Any], status: dict[str, Any], told: list[str]
) -> None:
    async with serving() as api:
        answer = await written(api, kind, status, **spec)
        assert answer.status == 422, answer.json
        assert sorted(errors(answer)) == sorted(told)


async def test_an_address_of_a_load_balancer_is_of_the_mode_that_is_the_default() -> None:
    async with serving() as api:
        status = {"loadBalancer": {"ingress": [{"ip": "10.9.8.7"}]}}
        answer = await written(api, "Service", status, type="LoadBalancer")
        assert answer.ok()["status"]["loadBalancer"]["ingress"] == [{"ip": "10.9.8.7", "ipMode": "VIP"}]


@pytest.mark.parametrize(
    ("kind", "status", "kept"),
    [
        ("Namespace", {"phase": None}, {"phase": "Active"}),
        ("PersistentVolumeClaim", {"phase": None, "healthStatus": {}}, {"phase": "Pending"}),
        ("CSINode", {"storageHealth": [{"name": "x"}]}, {}),
    ],
)
async def test_what_a_status_leaves_out_is_the_default_and_what_is_off_is_dropped(
    kind: str, status: dict[str, Any], kept: dict[str, Any]
) -> None:
    async with serving() as api:
        answer = await written(api, kind, status)
        assert (answer.ok().get("status") or {}) == kept


async def test_a_volume_keeps_the_time_of_its_last_phase() -> None:
    async with serving() as api:
        before = (await written(api, "PersistentVolume", {"message": "x"})).ok()
        answer = await api.send(
            "PUT",
            f"/api/v1/persistentvolumes/{before['metadata']['name']}/status",
            {**before, "status": {"phase": "Pending"}},
        )
        assert answer.ok()["status"]["lastPhaseTransitionTime"] == before["status"]["lastPhaseTransitionTime"]
