"""A status is judged as API servers of 1.37 do, whose answers these are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import Api, serving
from tests.apiserver.test_pod_subresources import errors
from tests.conformance.differential.run import resource_of
from tests.conformance.differential.samples import samples

from setpoint.apiserver import Authentication, MemoryStorage, Rbac, Response, UserInfo

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
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
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
        result = (await api.post(path, body)).ok()
        name = result["metadata"]["name"]
        return await api.send(
            "PUT", f"{path}/{name}/status", {**result, "status": {**result.get("status", {}), **status}}
        )
    raise AssertionError(f"no sample of {kind} has {spec}")


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("DeviceTaintRule", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("ValidatingAdmissionPolicy", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("PodDisruptionBudget", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("StorageVersionMigration", {}, NO_CONDITION, NO_CONDITION_TOLD),
    ("FlowSchema", {}, {"conditions": [{}]}, ["status.conditions[0].type: Required value"]),
    (
        "Pod",
        {},
        {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": -1}]},
        ["status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"],
    ),
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
TRUE = {"status": "True", "lastProbeTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
FEATURE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
CONDITION = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": "m"}
REFUSED += [
    (
        "Job",
        {},
        {"conditions": [{"type": "Complete", **TRUE}]},
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: "
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    ),
    (
        "Job",
        {},
        {
            "conditions": [{"type": "FailureTarget", **TRUE}, {"type": "Failed", **TRUE}],
            "startTime": "2026-01-01T00:00:00Z",
            "active": 1,
            "terminating": 2,
            "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]},
        },
        [
            'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            'status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":["a"]}: '
            "must be empty for finished job",
            "status.terminating: Invalid value: 2: terminating>0 is invalid for finished job",
        ],
    ),
    (
        "Pod",
        {},
        {
            "extendedResourceClaimStatus": {
                "requestMappings": [{"containerName": "x", "resourceName": "y", "requestName": "-"}],
            }
        },
        [
            'status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "x": '
            "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            f'status.extendedResourceClaimStatus.requestName: Invalid value: "-": {LABEL}',
            "status.extendedResourceClaimStatus.resourceClaimName: Required value",
        ],
    ),
    (
        "Pod",
        {},
        {
            "ephemeralContainerStatuses": [
                {
                    "name": "e",
                    "image": "",
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                    "user": {"linux": {"uid": -1, "gid": 0}},
                    "allocatedResourcesStatus": [{"name": "x"}],
                }
            ]
        },
        [
            "status.ephemeralContainerStatuses[0].user.linux.uid: Invalid value: -1: "
            "must be between 0 and 4294967295, inclusive",
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: "
            "must not be specified in container status",
        ],
    ),
    (
        "Node",
        {},
        {"declaredFeatures": ["-", "-"], "capacity": {"cpu": "-1"}},
        [
            *(
                f'status.{part}.cpu: Invalid value: "-1": must be greater than or equal to 0'
                for part in ("capacity", "allocatable")
            ),
            *(
                f'status.declaredFeatures[{index}]: Invalid value: "-": invalid feature name "-": {FEATURE}'
                for index in (0, 1)
            ),
            'status.declaredFeatures[1]: Duplicate value: "-"',
        ],
    ),
    (
        "ResourceQuota",
        {},
        {"used": {"x": "-1"}},
        [
            'status.used[x]: Invalid value: "x": must be a standard resource type or fully qualified',
            'status.used[x]: Invalid value: "x": must be a standard resource for quota',
            'status.used[x]: Invalid value: "-1": must be greater than or equal to 0',
        ],
    ),
    (
        "HorizontalPodAutoscaler",
        {},
        {"desiredReplicas": -2},
        ["status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0"],
    ),
    (
        "VolumeAttachment",
        {},
        {"attachError": {"message": "x" * 1025, "errorCode": -1}},
        [
            "status.attachError.message: Too long: may not be more than 1024 bytes",
            "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    ),
    (
        "ValidatingAdmissionPolicy",
        {},
        {"typeChecking": {"expressionWarnings": [{"fieldRef": " ", "warning": ""}]}},
        [
            "status.typeChecking.expressionWarnings[0].warning: Required value",
            "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
        ],
    ),
    (
        "PersistentVolumeClaim",
        {},
        {"capacity": {"storage": "-1"}, "allocatedResources": {"cpu": "1"}},
        [
            "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
            'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
        ],
    ),
    (
        "CertificateSigningRequest",
        {},
        {"conditions": [{"type": "Failed", "status": "False"}] * 2},
        [
            *(
                f'status.conditions[{index}].status: Unsupported value: "False": supported values: "True"'
                for index in (0, 1)
            ),
            'status.conditions[1].type: Duplicate value: "Failed"',
        ],
    ),
    (
        "StorageVersionMigration",
        {},
        {"conditions": [{"type": "Succeeded", **CONDITION}, {"type": "Failed", **CONDITION}]},
        [
            'status.conditions: Invalid value: [{"type":"Succeeded","status":"True",'
            '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"},{"type":"Failed","status":"True",'
            '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}]: '
            "Both success and failed conditions cannot be true at the same time"
        ],
    ),
]


REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
DEVICE = {"driver": "d.example.com", "pool": "p", "device": "d"}
TOLD_DEVICE = {**DEVICE, "conditions": None}
"""As Go writes it."""
UUID = "must be a lowercase UUID in 8-4-4-4-12 format"


def allocated(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "allocation": {"devices": {"results": [{"request": "r", **DEVICE, **result} for result in results]}, **more}
    }


RESULT = "status.allocation.devices.results[0]"
CLAIMS_REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"reservedFor": [{}]},
        [
            *(f"status.reservedFor[0].{name}: Required value" for name in ("resource", "name", "uid")),
            "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
        ],
    ),
    (
        {
            **allocated({}),
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}, {"resource": "x", "name": "q", "uid": "u"}],
        },
        ['status.reservedFor[1]: Duplicate value: {"resource":"x","name":"q","uid":"u"}'],
    ),
    (
        allocated({"request": "x", "driver": "", "pool": "a//b", "device": "A", "shareID": "1"}),
        [
            f'{RESULT}.request: Invalid value: "x": {REFERENCE}',
            f"{RESULT}.driver: Required value",
            f'{RESULT}.pool: Invalid value: "a//b": segment 1: must not be empty',
            f'{RESULT}.device: Invalid value: "A": {LABEL}',
            f'{RESULT}.shareID: Invalid value: "1": {UUID}',
        ],
    ),
    (
        allocated({"bindingConditions": ["a"]}),
        [
            f"{RESULT}.bindingFailureConditions: Invalid value: null: "
            "bindingFailureConditions are required to use bindingConditions"
        ],
    ),
    (
        allocated({"adminAccess": True}),
        [
            f"{RESULT}.adminAccess: Forbidden: admin access to devices requires the "
            "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
        ],
    ),
    (
        {"allocation": {"devices": {"config": [{"source": "x", "requests": ["r", "r"]}]}}},
        [
            'status.allocation.devices.config[0].source: Unsupported value: "x": '
            'supported values: "FromClaim", "FromClass"',
            'status.allocation.devices.config[0].requests[1]: Duplicate value: "r"',
            "status.allocation.devices.config[0].opaque: Required value",
        ],
    ),
    (
        {"devices": [{**DEVICE, "conditions": NO_CONDITION["conditions"]}]},
        [
            'status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p","Device":"d","ShareID":""}: '
            "must be an allocated device in the claim",
            *(answer.replace("status.", "status.devices[0].", 1) for answer in NO_CONDITION_TOLD),
        ],
    ),
    (
        {**allocated({}), "devices": [{**DEVICE, "networkData": {"ips": ["x", "1.2.3.4", "010.0.0.1/8", "::A/64"]}}]},
        [
            *(
                f'status.devices[0].networkData.ips[{index}]: Invalid value: "{text}": '
                "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
                for index, text in enumerate(("x", "1.2.3.4"))
            ),
            'status.devices[0].networkData.ips[2]: Invalid value: "010.0.0.1/8": '
            'must be in canonical form ("10.0.0.1/8")',
            'status.devices[0].networkData.ips[3]: Invalid value: "::A/64": must be in canonical form ("::a/64")',
        ],
    ),
]


@pytest.mark.parametrize(("status", "messages"), CLAIMS_REFUSED)
async def test_what_no_claim_of_devices_can_be_given_is_refused(status: dict[str, Any], messages: list[str]) -> None:
    async with serving() as api:
        answer = await written(api, "ResourceClaim", status)
        assert answer.status == 422, answer.json
        assert sorted(errors(answer)) == sorted(messages)


CLAIM = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/s0"


async def test_devices_that_are_given_back_leave_nothing_behind_and_can_not_be_exchanged() -> None:
    async with serving() as api:
        claim = (await written(api, "ResourceClaim", {**allocated({}), "devices": [DEVICE]})).ok()
        assert claim["status"]["devices"] == [TOLD_DEVICE]
        answer = await api.put(f"{CLAIM}/status", {**claim, "status": allocated({"device": "e"})})
        assert errors(answer) == ["status.allocation: Invalid value: null: field cannot be modified once set"]
        answer = await api.put(f"{CLAIM}/status", {**claim, "status": {"devices": [DEVICE]}})
        assert "status" not in answer.ok() or not answer.json["status"]


async def test_a_job_takes_nothing_back_that_it_has_said() -> None:
    async with serving() as api:
        first = {"startTime": "2026-01-01T00:00:00Z", "failed": 3, "succeeded": 2}
        job = (await written(api, "Job", first, suspend=None)).ok()
        path = f"/apis/batch/v1/namespaces/default/jobs/{job['metadata']['name']}/status"
        answer = await api.put(path, {**job, "status": {"startTime": "2026-01-02T00:00:00Z", "failed": 2}})
        assert sorted(errors(answer)) == [
            "status.failed: Invalid value: 2: cannot decrease the failed counter",
            'status.startTime: Invalid value: "2026-01-02T00:00:00Z": field is immutable for unsuspended job once set',
            "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        ]
        ends = [{"type": "SuccessCriteriaMet", **TRUE}, {"type": "Complete", **TRUE}]
        done = {**first, "conditions": ends, "completionTime": "2026-01-03T00:00:00Z"}
        job = (await api.put(path, {**job, "status": done})).ok()
        answer = await api.put(path, {**job, "status": {**first, "completionTime": "2026-01-04T00:00:00Z"}})
        assert sorted(errors(answer)) == [
            'status.completionTime: Invalid value: "2026-01-04T00:00:00Z": '
            "cannot set completionTime when there is no Complete=True condition",
            'status.completionTime: Invalid value: "2026-01-04T00:00:00Z": field is immutable',
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
        ]


async def test_an_approval_is_judged_as_the_status_that_it_is_a_part_of() -> None:
    async with serving() as api:
        before = (await written(api, "CertificateSigningRequest", {})).ok()
        path = f"/apis/certificates.k8s.io/v1/certificatesigningrequests/{before['metadata']['name']}/approval"
        answer = await api.put(path, {**before, "status": {"conditions": [{"type": "Approved", "status": "False"}]}})
        assert errors(answer) == ['status.conditions[0].status: Unsupported value: "False": supported values: "True"']


async def test_tolerations_of_an_allocation_have_their_default() -> None:
    async with serving() as api:
        claim = (await written(api, "ResourceClaim", allocated({"tolerations": [{"key": "k"}]}))).ok()
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert result["tolerations"] == [{"key": "k", "operator": "Equal"}]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            [],
            'changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", '
            'verb="update" permission: resourceclaims.resource.k8s.io is forbidden: User "jane" cannot update resource '
            '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
        ),
        (
            [("resourceclaims/binding", ["update"])],
            'changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:update]" '
            'permission: resourceclaims.resource.k8s.io "d.example.com" is forbidden: User "jane" cannot '
            'arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace '
            '"default"',
        ),
        ([("resourceclaims/binding", ["update"]), ("resourceclaims/driver", ["arbitrary-node:update"])], ""),
    ],
)
async def test_who_gives_devices_away_needs_the_right_to(rules: list[tuple[str, list[str]]], message: str) -> None:
    storage = MemoryStorage()
    static = {"abc": UserInfo("jane"), "root": UserInfo("root", groups=("system:masters",))}
    rbac, authentication = Rbac(storage), Authentication(static=static)
    root = {"authorization": "Bearer root"}
    async with serving(storage, authorizer=rbac, authentication=authentication) as api:
        (sample,) = (item for item in samples() if item["kind"] == "ResourceClaim")
        claim = (await api.send("POST", CLAIM.rpartition("/")[0], {**sample, "metadata": {"name": "s0"}}, **root)).ok()
        granted = [("resourceclaims/status", ["update"]), *rules]
        role = {
            "metadata": {"name": "r"},
            "rules": [
                {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs}
                for resource, verbs in granted
            ],
        }
        bound = {
            "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
        }
        start = "/apis/rbac.authorization.k8s.io/v1"
        (await api.send("POST", f"{start}/clusterroles", role, **root)).ok()
        (await api.send("POST", f"{start}/clusterrolebindings", bound, **root)).ok()
        status = {**allocated({}), "devices": [DEVICE]}
        answer = await api.send("PUT", f"{CLAIM}/status", {**claim, "status": status}, authorization="Bearer abc")
        if message:
            assert message in answer.failed(422, "Invalid")["message"]
        else:
            assert answer.ok()["status"]["devices"] == [TOLD_DEVICE]


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("Node", ()),
        ("PersistentVolumeClaim", ()),
        ("ReplicaSet", ()),
        ("Deployment", ("labels",)),
        ("Pod", ("ownerReferences",)),
        ("ResourceClaim", ("annotations", "finalizers", "labels", "ownerReferences")),
        ("ServiceCIDR", ("annotations", "finalizers", "labels", "ownerReferences")),
        ("ValidatingAdmissionPolicy", ("annotations", "finalizers", "labels", "ownerReferences")),
    ],
)
async def test_a_write_of_the_status_changes_the_metadata_that_upstream_lets_it_change(
    kind: str, kept: tuple[str, ...]
) -> None:
    sent = {
        "annotations": {"new": "a"},
        "finalizers": ["x.example.com/f"],
        "labels": {"new": "l"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}],
    }
    async with serving() as api:
        before = (await written(api, kind, {})).ok()
        metadata = before["metadata"]
        resource = next(resource_of(item) for item in samples() if item["kind"] == kind)
        start = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        path = f"{start}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}/{metadata['name']}"
        after = (await api.put(f"{path}/status", {**before, "metadata": {**metadata, **sent}})).ok()["metadata"]
        for name, value in sent.items():
            assert after.get(name) == (before["metadata"].get(name) if name in kept else value), name


async def test_the_number_of_a_daemon_sets_template_outlives_a_status_that_does_not_know_it() -> None:
    async with serving() as api:
        before = (await written(api, "DaemonSet", {})).ok()
        metadata = {**before["metadata"], "annotations": {"new": "a"}}
        path = f"/apis/apps/v1/namespaces/default/daemonsets/{metadata['name']}/status"
        after = (await api.put(path, {**before, "metadata": metadata})).ok()["metadata"]["annotations"]
        assert after == {"deprecated.daemonset.template.generation": "1", "new": "a"}


@pytest.mark.parametrize(("kind", "phase"), [("PersistentVolumeClaim", "Pending"), ("Namespace", "Active")])
async def test_an_object_without_a_status_has_the_default_of_one(kind: str, phase: str) -> None:
    async with serving() as api:
        before = (await written(api, kind, {})).ok()
        plural = "namespaces" if kind == "Namespace" else "namespaces/default/persistentvolumeclaims"
        sent = {name: value for name, value in before.items() if name != "status"}
        after = (await api.put(f"/api/v1/{plural}/{before['metadata']['name']}/status", sent)).ok()
        assert after["status"]["phase"] == phase


@pytest.mark.parametrize(("kind", "spec", "status", "messages"), REFUSED)
async def test_a_status_that_no_object_may_have_is_refused(
    kind: str, spec: dict[str, Any], status: dict[str, Any], messages: list[str]
) -> None:
    async with serving() as api:
        answer = await written(api, kind, status, **spec)
        assert answer.status == 422, answer.json
        assert sorted(errors(answer)) == sorted(messages)


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
