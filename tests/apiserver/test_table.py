from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.apiserver.responses.printers import _PRINTERS, printer_of
from setpoint.apiserver.responses.printers.cells import human_duration
from setpoint.apiserver.responses.printers.json_path import JsonPath, JsonPathError
from setpoint.apiserver.responses.printers.printer import description
from setpoint.apiserver.responses.table import table
from setpoint.apiserver.strategies.metrics_usage import served_usage
from setpoint.meta import GroupResource, Resource
from setpoint.models import BUILTIN

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
BORN = "2026-01-31T11:55:30Z"
RESOURCES = {str(resource.group_resource): resource for resource in BUILTIN}
CUSTOM = Resource(group="grp.example.com", version="v1", kind="Mykind", plural="mykinds")


def rows(resource: str, *objects: dict[str, Any]) -> list[list[Any]]:
    new_table = table(RESOURCES[resource], objects, now=NOW)
    width = len(new_table["columnDefinitions"])
    assert all(len(row["cells"]) == width for row in new_table["rows"])
    return [row["cells"] for row in new_table["rows"]]


def row(resource: str, name: str = "x", **fields: Any) -> list[Any]:
    metadata = {"name": name, "creationTimestamp": BORN, **fields.pop("metadata", {})}
    (cells,) = rows(resource, {"metadata": metadata, **fields})
    return cells


def pod_status(**fields: Any) -> Any:
    return row("pods", spec=fields.pop("spec", {"containers": [{"name": "a"}]}), **fields)[1:4]


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (691200, "8d"),
        (62985600, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_ages_are_printed_as_kubectl_prints_them(seconds: float, printed: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == printed


def test_a_running_pod_shows_readiness_restarts_and_where_it_is() -> None:
    container = {
        "name": "a",
        "ready": True,
        "restartCount": 3,
        "state": {"running": {}},
        "lastState": {"terminated": {"finishedAt": "2026-01-31T11:59:00Z"}},
    }
    status = {
        "phase": "Running",
        "podIPs": [{"ip": "10.0.0.7"}],
        "containerStatuses": [container],
        "conditions": [{"type": "gate", "status": "True"}],
    }
    spec = {"containers": [{"name": "a"}], "nodeName": "n1", "readinessGates": [{"conditionType": "gate"}]}
    assert row("pods", "web", spec=spec, status=status) == [
        "web", "1/1", "Running", "3 (60s ago)", "4m30s", "10.0.0.7", "n1", "<none>", "1/1",
    ]  # fmt: skip


def test_a_pod_that_nobody_scheduled_is_pending_with_nothing_known() -> None:
    assert row("pods", spec={"containers": [{"name": "a"}, {"name": "b"}]}, status={"phase": "Pending"}) == [
        "x", "0/2", "Pending", "0", "4m30s", "<none>", "<none>", "<none>", "<none>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "ready", "phase", "expected"),
    [
        ({"waiting": {"reason": "CrashLoopBackOff"}}, False, "Running", "CrashLoopBackOff"),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, False, "Succeeded", "Completed"),
        ({"terminated": {"exitCode": 2}}, False, "Failed", "ExitCode:2"),
        ({"terminated": {"exitCode": 2, "signal": 9}}, False, "Failed", "Signal:9"),
        ({"running": {}}, False, "Running", "Running"),
    ],
)
def test_the_first_containers_state_is_the_pods_status(state: Any, ready: bool, phase: str, expected: str) -> None:
    status = {"phase": phase, "containerStatuses": [{"name": "a", "ready": ready, "state": state}]}
    assert pod_status(status=status)[1] == expected


def test_init_containers_show_their_progress_until_they_are_done() -> None:
    spec = {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]}
    done = {"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 0}}}
    second: dict[str, Any] = {"name": "j", "restartCount": 2, "state": {"running": {}}}
    status: dict[str, Any] = {"phase": "Pending", "initContainerStatuses": [done, second]}
    assert pod_status(spec=spec, status=status) == ["0/1", "Init:1/2", "3"]
    second["state"] = {"waiting": {"reason": "PodInitializing"}}
    assert pod_status(spec=spec, status=status)[1] == "Init:1/2"
    second["state"] = {"waiting": {"reason": "ErrImagePull"}}
    assert pod_status(spec=spec, status=status)[1] == "Init:ErrImagePull"
    second["state"] = {"terminated": {"exitCode": 1}}
    assert pod_status(spec=spec, status=status)[1] == "Init:ExitCode:1"
    second["state"] = {"terminated": {"exitCode": 0}}
    assert pod_status(spec=spec, status=status) == ["0/1", "Pending", "0"]


def test_sidecars_count_among_the_containers() -> None:
    spec = {"containers": [{"name": "a"}], "initContainers": [{"name": "side", "restartPolicy": "Always"}]}
    sidecar = {"name": "side", "started": True, "ready": True, "restartCount": 2, "state": {"running": {}}}
    main = {"name": "a", "ready": True, "restartCount": 1, "state": {"running": {}}}
    status = {"phase": "Running", "initContainerStatuses": [sidecar], "containerStatuses": [main]}
    assert pod_status(spec=spec, status=status) == ["2/2", "Running", "3"]


def test_a_pod_being_deleted_is_terminating_unless_it_had_ended() -> None:
    metadata = {"deletionTimestamp": BORN}
    assert pod_status(metadata=metadata, status={"phase": "Running"})[1] == "Terminating"
    assert pod_status(metadata=metadata, status={"phase": "Succeeded"})[1] == "Succeeded"
    assert pod_status(metadata=metadata, status={"phase": "Running", "reason": "NodeLost"})[1] == "Unknown"


def test_a_pod_with_one_container_ended_and_one_running_runs_if_it_is_ready() -> None:
    ended = {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    running = {"name": "b", "ready": True, "state": {"running": {}}}
    status: dict[str, Any] = {"phase": "Running", "containerStatuses": [ended, running]}
    assert pod_status(status=status)[1] == "NotReady"
    status["conditions"] = [{"type": "Ready", "status": "True"}]
    assert pod_status(status=status)[1] == "Running"


def test_gated_pods_say_so() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert pod_status(status={"phase": "Pending", "conditions": [condition]})[1] == "SchedulingGated"


def test_ended_pods_rows_say_that_they_are_completed() -> None:
    new_table = table(RESOURCES["pods"], [{"metadata": {"name": "x"}, "status": {"phase": "Failed"}}], now=NOW)
    assert new_table["rows"][0]["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]


TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "nginx"}, {"name": "d", "image": "envoy:1"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("resource", "fields", "expected"),
    [
        (
            "deployments.apps",
            {
                "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
                "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
            },
            ["x", "2/3", 3, 1, "4m30s", "c,d", "nginx,envoy:1", "app=web"],
        ),
        (
            "replicasets.apps",
            {"spec": {"replicas": 0, "template": TEMPLATE, "selector": SELECTOR}, "status": {"replicas": 1}},
            ["x", 0, 1, 0, "4m30s", "c,d", "nginx,envoy:1", "app=web"],
        ),
        (
            "statefulsets.apps",
            {"spec": {"template": TEMPLATE}, "status": {"readyReplicas": 1}},
            ["x", "1/1", "4m30s", "c,d", "nginx,envoy:1"],
        ),
        (
            "daemonsets.apps",
            {"spec": {"template": TEMPLATE, "selector": SELECTOR}, "status": {"desiredNumberScheduled": 2}},
            ["x", 2, 0, 0, 0, 0, "<none>", "4m30s", "c,d", "nginx,envoy:1", "app=web"],
        ),
        (
            "jobs.batch",
            {
                "spec": {"completions": 2, "template": TEMPLATE, "selector": SELECTOR},
                "status": {"succeeded": 1, "startTime": "2026-01-31T11:59:50Z"},
            },
            ["x", "Running", "1/2", "10s", "4m30s", "c,d", "nginx,envoy:1", "app=web"],
        ),
        (
            "jobs.batch",
            {"spec": {"parallelism": 3}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
            ["x", "Complete", "0/1 of 3", "", "4m30s", "", "", "<none>"],
        ),
        (
            "cronjobs.batch",
            {"spec": {"schedule": "* * * * *", "suspend": False, "jobTemplate": {"spec": {"template": TEMPLATE}}}},
            ["x", "* * * * *", "<none>", "False", 0, "<none>", "4m30s", "c,d", "nginx,envoy:1", "<none>"],
        ),
        ("configmaps", {"data": {"a": "1"}, "binaryData": {"b": "Yg=="}}, ["x", 2, "4m30s"]),
        ("secrets", {"type": "Opaque", "data": {"a": "YQ=="}}, ["x", "Opaque", 1, "4m30s"]),
        ("serviceaccounts", {}, ["x", "4m30s"]),
        ("namespaces", {"status": {"phase": "Active"}}, ["x", "Active", "4m30s"]),
        ("leases.coordination.k8s.io", {"spec": {"holderIdentity": "me"}}, ["x", "me", "4m30s"]),
        (
            "customresourcedefinitions.apiextensions.k8s.io",
            {
                "spec": {
                    "group": "example.com",
                    "scope": "Namespaced",
                    "names": {"kind": "Foo", "plural": "foos", "shortNames": ["f", "fo"]},
                    "versions": [
                        {"name": "v2", "served": True, "storage": True},
                        {"name": "v1", "served": True},
                        {"name": "v1alpha1", "served": False},
                    ],
                },
                "status": {"conditions": [{"type": "Established", "status": "True"}]},
            },
            ["x", "Namespaced", "v1,v2(storage)", BORN, "example.com", "Foo", "f,fo", True],
        ),
        ("clusterroles.rbac.authorization.k8s.io", {}, ["x", BORN]),
        (
            "rolebindings.rbac.authorization.k8s.io",
            {
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [
                    {"kind": "User", "name": "u"},
                    {"kind": "Group", "name": "g"},
                    {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
                ],
            },
            ["x", "Role/r", "4m30s", "u", "g", "n/s"],
        ),
        (
            "persistentvolumeclaims",
            {
                "spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            },
            ["x", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "4m30s", "Filesystem"],
        ),
        (
            "storageclasses.storage.k8s.io",
            {
                "provisioner": "p",
                "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            },
            ["x", "p", "Delete", "Immediate", False, "4m30s"],
        ),
        (
            "endpointslices.discovery.k8s.io",
            {"addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [{"addresses": ["1.1.1.1"]}] * 5},
            ["x", "IPv4", "80", "1.1.1.1,1.1.1.1,1.1.1.1 + 2 more...", "4m30s"],
        ),
        (
            "poddisruptionbudgets.policy",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            ["x", "50%", "N/A", 1, "4m30s"],
        ),
        (
            "horizontalpodautoscalers.autoscaling",
            {
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "name": "web"},
                    "maxReplicas": 5,
                    "metrics": [
                        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}
                    ],
                }
            },
            ["x", "Deployment/web", "cpu: <unknown>/80%", "<unset>", 5, 0, "4m30s"],
        ),
    ],
)
def test_rows_of_built_in_kinds(resource: str, fields: dict[str, Any], expected: list[Any]) -> None:
    assert row(resource, **fields) == expected


def test_the_taint_of_a_rule_and_the_state_of_a_migration_are_shown() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": BORN}
    assert row("devicetaintrules.resource.k8s.io", spec={"taint": taint}) == [
        "x",
        "k",
        "v",
        "NoSchedule",
        "4m30s",
        "4m30s",
    ]
    migrations, spec = "storageversionmigrations.storagemigration.k8s.io", {"resource": {"group": "g", "resource": "r"}}
    assert row(migrations, spec=spec) == ["x", "r.g", "Unknown"]
    conditions = [{"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"}]
    assert row(migrations, spec=spec, status={"conditions": conditions}) == ["x", "r.g", "Succeeded"]


def test_nodes_show_status_roles_and_machine() -> None:
    node = {
        "metadata": {"labels": {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}},
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.37.0", "osImage": "Linux"},
        },
    }
    assert row("nodes", **node) == [
        "x", "Ready,SchedulingDisabled", "control-plane,edge", "4m30s", "v1.37.0", "10.0.0.1", "<none>", "Linux",
        "<unknown>", "<unknown>",
    ]  # fmt: skip
    assert row("nodes")[1:3] == ["Unknown", "<none>"]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        (
            {"type": "ClusterIP", "clusterIPs": ["10.1.1.1"], "ports": [{"port": 80}]},
            {},
            ["10.1.1.1", "<none>", "80/TCP"],
        ),
        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}, {}, ["<none>", "<none>", "80:30080/TCP"]),
        ({"type": "LoadBalancer"}, {}, ["<none>", "<pending>", "<none>"]),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, ["<none>", "1.2.3.4", "<none>"]),
        ({"type": "ExternalName", "externalName": "a.example"}, {}, ["<none>", "a.example", "<none>"]),
    ],
)
def test_services_show_where_they_are_reached(spec: Any, status: Any, expected: list[str]) -> None:
    assert row("services", spec=spec, status=status)[2:5] == expected


def test_events_of_both_groups_print_alike() -> None:
    old = {
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.x"},
        "firstTimestamp": "2026-01-31T11:00:00Z",
        "lastTimestamp": "2026-01-31T11:59:00Z",
        "count": 7,
        "type": "Warning",
        "reason": "Bad",
        "message": " it broke\n",
        "source": {"component": "kubelet", "host": "n1"},
    }
    expected = ["60s", "Warning", "Bad", "pod/p", "spec.x", "kubelet, n1", "it broke", "60m", 7, "x"]
    assert row("events", **old) == expected
    renamed = {
        "involvedObject": "regarding", "firstTimestamp": "deprecatedFirstTimestamp", "count": "deprecatedCount",
        "lastTimestamp": "deprecatedLastTimestamp", "message": "note", "source": "deprecatedSource",
    }  # fmt: skip
    assert row("events.events.k8s.io", **{renamed.get(key, key): value for key, value in old.items()}) == expected


def test_a_new_style_event_has_only_its_event_time() -> None:
    cells = row(
        "events", eventTime="2026-01-31T11:59:30.000000Z", involvedObject={"kind": "Node"}, reportingComponent="c"
    )
    assert (cells[0], cells[3], cells[5], cells[7], cells[8]) == ("30s", "node", "c", "30s", 1)


def test_every_printer_belongs_to_a_resource_and_describes_its_columns() -> None:
    usage = {str(served.group_resource) for served in served_usage()}
    assert set(_PRINTERS) - {"storageversions.internal.apiserver.k8s.io"} <= set(RESOURCES) | usage
    for name, printer in _PRINTERS.items():
        for column in printer.columns:
            says_nothing = not column.definition()["description"]
            assert says_nothing == (column.name == "Handler"), f"{name}: column {column.name}"  # as in upstream


def test_every_built_in_resource_prints_an_object_that_says_nothing() -> None:
    for name, resource in RESOURCES.items():
        new_table = table(resource, [{"metadata": {"name": "x", "creationTimestamp": BORN}}], now=NOW)
        ageless = name == "ipaddresses.networking.k8s.io"  # whose age has no column in upstream
        assert len(new_table["rows"][0]["cells"]) == len(new_table["columnDefinitions"]) + ageless, name


def test_columns_are_described_by_the_api_documentation() -> None:
    new_table = table(RESOURCES["pods"], [], now=NOW)
    assert new_table["columnDefinitions"][0] == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": description("meta.v1.ObjectMeta.name"),
        "priority": 0,
    }
    assert new_table["columnDefinitions"][0]["description"].startswith("Name must be unique within a namespace.")
    assert [column["priority"] for column in new_table["columnDefinitions"]] == [0] * 5 + [1] * 4


def test_rows_carry_what_was_asked_for() -> None:
    obj = {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}}
    meta_v1 = "meta.k8s.io/v1"
    resource = RESOURCES["configmaps"]
    metadata = {"resourceVersion": "7", "continue": "c"}
    new_table = table(resource, [obj], now=NOW, metadata=metadata)
    assert (new_table["kind"], new_table["apiVersion"], new_table["metadata"]) == ("Table", meta_v1, metadata)
    assert new_table["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": meta_v1,
        "metadata": {"name": "x"},
    }
    assert table(resource, [obj], now=NOW, include="Object")["rows"][0]["object"] == obj
    assert table(resource, [obj], now=NOW, include="None")["rows"][0]["object"] is None
    assert table(resource, [obj], now=NOW, headers=False)["columnDefinitions"] is None


def test_the_scale_subresource_has_columns_of_its_own() -> None:
    scale = {"metadata": {"name": "x", "creationTimestamp": BORN}, "spec": {"replicas": 3}, "status": {"replicas": 2}}
    new_table = table(RESOURCES["deployments.apps"], [scale], now=NOW, subresource="scale")
    assert new_table["rows"][0]["cells"] == ["x", 3, 2, "4m30s"]


def test_custom_resources_print_their_columns() -> None:
    columns = [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".status.since", "description": "since when"},
        {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
        {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
        {"name": "Note", "type": "string", "jsonPath": ".metadata.annotations.example\\.com/note"},
        {"name": "All", "type": "string", "jsonPath": ".spec"},
    ]
    obj = {
        "metadata": {"name": "x", "annotations": {"example.com/note": "hi"}},
        "spec": {"replicas": 3.0, "ratio": 2, "on": True},
        "status": {"since": BORN, "conditions": [{"type": "A", "status": "?"}, {"type": "Ready", "status": "True"}]},
    }
    new_table = table(CUSTOM, [obj, {"metadata": {"name": "y"}}], columns=columns, now=NOW)
    assert new_table["rows"][0]["cells"] == [
        "x",
        3,
        "True",
        "4m30s",
        2.0,
        True,
        "hi",
        '{"replicas":3.0,"ratio":2,"on":true}',
    ]
    assert new_table["rows"][1]["cells"] == ["y", *[None] * 7]
    assert new_table["columnDefinitions"][1]["description"] == (
        "Custom resource definition column (in JSONPath format): .spec.replicas"
    )
    assert new_table["columnDefinitions"][2]["priority"] == 1
    assert new_table["columnDefinitions"][3]["description"] == "since when"


def test_a_value_of_another_type_than_its_column_is_no_cell() -> None:
    types = ("integer", "number", "boolean", "date", "string")
    columns = [{"name": type_, "type": type_, "jsonPath": ".spec.value"} for type_ in types]

    def cells(value: Any) -> list[Any]:
        new_table = table(CUSTOM, [{"metadata": {"name": "x"}, "spec": {"value": value}}], columns=columns, now=NOW)
        return list(new_table["rows"][0]["cells"][1:])

    assert cells("soon") == [None, None, None, "<invalid>", "soon"]
    assert cells(True) == [None, None, True, None, "true"]
    assert cells(1.5) == [1, 1.5, None, None, "1.5"]


def test_custom_resources_without_columns_show_their_age() -> None:
    new_table = table(CUSTOM, [{"metadata": {"name": "x", "creationTimestamp": BORN}}], columns=(), now=NOW)
    assert [column["name"] for column in new_table["columnDefinitions"]] == ["Name", "Age"]
    assert new_table["rows"][0]["cells"] == ["x", "4m30s"]


DOCUMENT = {"a": [{"n": 1, "b": "x"}, {"n": 2, "b": "y"}], "k.l": {"m": 3}, "o": {"p": 4, "q": 5}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".a[0].b", ["x"]),
        (".a[-1].b", ["y"]),
        (".a[7].b", []),
        (".a[*].n", [1, 2]),
        (".k\\.l.m", [3]),
        ("['k.l'].m", [3]),
        ('["k.l"]["m"]', [3]),
        (".o.*", [4, 5]),
        ("{.o.p}", [4]),
        ("$.o.p", [4]),
        (".a[?(@.n>1)].b", ["y"]),
        (".a[?(@.n >= 1)].b", ["x", "y"]),
        (".a[?(@.b=='x')].n", [1]),
        ('.a[?(@.b != "x")].n', [2]),
        (".a[?(@.c)].n", []),
        (".a[?(@.b)].n", [1, 2]),
        ('.a[?(@.n < "1")].n', []),
        (".missing.b", []),
        (".a.b", []),
    ],
)
def test_paths_find_what_kubectl_finds(path: str, expected: list[Any]) -> None:
    assert list(JsonPath(path).find(DOCUMENT)) == expected


@pytest.mark.parametrize("path", [".a[", ".a[?(@.n==)]", ".a[0:2]", "..a", ".a[?(@.n=~'x')]", ".a b"])
def test_a_path_that_cannot_be_read_names_itself(path: str) -> None:
    with pytest.raises(JsonPathError, match=r"JSONPath|filter"):
        JsonPath(path)


KEYS = st.text("abz09./-_:~", min_size=1, max_size=6)


@given(st.lists(KEYS | st.integers(0, 2), min_size=1, max_size=5))
def test_any_place_can_be_named_with_escapes_or_quotes(place: list[str | int]) -> None:
    document: Any = "here"
    for step in reversed(place):
        document = {step: document} if isinstance(step, str) else [None] * step + [document]
    escaped = "".join(f"[{step}]" if isinstance(step, int) else "." + step.replace(".", "\\.") for step in place)
    quoted = "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in place)
    assert list(JsonPath(escaped).find(document)) == ["here"]
    assert list(JsonPath(quoted).find(document)) == ["here"]


def test_printers_are_found_by_group_and_resource() -> None:
    assert printer_of(GroupResource("apps", "deployments")) is not printer_of(GroupResource("other", "deployments"))
