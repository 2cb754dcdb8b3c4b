"""The documents of an operator: servers take them strictly, names are its own, and it gets the rights that it needs."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.apiserver.harness import serving
from tests.deploy.shop import controller, operator

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cli.resource_measurement import Measuring
from setpoint.client import Client, InProcessTransport
from setpoint.deploy.alerts import prometheus_rule
from setpoint.deploy.container_resources import Measured, Resources, ResourcesError, measured_in
from setpoint.deploy.dashboard import panels
from setpoint.deploy.document_groups import parts
from setpoint.deploy.installation import short_name
from setpoint.deploy.plain_yaml import plain
from setpoint.deploy.workload import grace_seconds
from setpoint.manager import LeaderElection, Manager, Serving
from setpoint.meta.names import label_value
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod, Secret
from setpoint.models.rbac_v1 import PolicyRule
from setpoint.permissions import READ, WRITE, Grant, declared, rules
from setpoint.testing import virtual_time
from setpoint.webhook import WebhookMetrics

Document = dict[str, Any]
FORMS = [
    {},
    {"certificates": "cert-manager"},
    {"watch_namespace": "shops"},
    {"shards": True},
    {"shards": True, "shards_by": "namespace"},
    {"served": ()},
]
_FOREIGN = ("Issuer", "Certificate")


def documents(**changes: Any) -> list[Document]:
    return [
        item
        for part, current_part in parts(operator(**changes)).items()
        if part != "monitoring"
        for item in current_part
    ]


def of_kind(kind: str, **changes: Any) -> list[Document]:
    return [document for document in documents(**changes) if document["kind"] == kind]


def path_of(document: Document) -> str:
    kind = document["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("policy") else f"{kind}s"
    version, metadata = document["apiVersion"], document["metadata"]
    space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{space}/{plural}/{metadata['name']}"


@pytest.mark.parametrize("changes", FORMS, ids=str)
@virtual_time
async def test_a_server_applies_every_document_strictly_and_twice(changes: dict[str, Any]) -> None:
    async with serving() as api:
        for _ in range(2):
            for document in yaml.safe_load_all(plain(operator(**changes))):
                if document["kind"] not in _FOREIGN:
                    (await api.apply(path_of(document), document, fieldValidation="Strict")).ok()


def test_the_same_program_gives_the_same_bytes() -> None:
    assert plain(operator(), monitoring=True) == plain(operator(), monitoring=True)


@pytest.mark.parametrize("changes", FORMS, ids=str)
def test_every_document_has_the_recommended_labels_and_the_pods_are_selected_by_them(changes: dict[str, Any]) -> None:
    current_documents = documents(**changes)
    for document in current_documents:
        labels = document["metadata"]["labels"]
        assert {"name", "instance", "component", "version", "part-of", "managed-by"} <= {
            name.partition("/")[2] for name in labels
        }
        assert not [problem for value in labels.values() for problem in label_value(value)]
    (deployment,) = of_kind("Deployment", **changes)
    pods = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [
        current_document["spec"]["selector"]
        for current_document in current_documents
        if current_document["kind"] == "Service"
    ]
    selectors += [item["spec"]["selector"]["matchLabels"] for item in of_kind("PodDisruptionBudget", **changes)]
    selectors += [item["spec"]["podSelector"]["matchLabels"] for item in of_kind("NetworkPolicy", **changes)]
    selectors.append(deployment["spec"]["selector"]["matchLabels"])
    assert len(selectors) >= 4
    assert all(selector.items() <= pods.items() for selector in selectors)
    assert "app.kubernetes.io/version" not in deployment["spec"]["selector"]["matchLabels"], "it changes"


@pytest.mark.parametrize("changes", FORMS, ids=str)
def test_no_two_documents_have_one_name_and_every_binding_has_its_role_and_account(changes: dict[str, Any]) -> None:
    current_documents = documents(**changes)
    keys = [
        (current_document["kind"], current_document["metadata"].get("namespace"), current_document["metadata"]["name"])
        for current_document in current_documents
    ]
    assert len({*keys}) == len(keys)
    for binding in current_documents:
        if binding["kind"].endswith("Binding"):
            reference, (subject,) = binding["roleRef"], binding["subjects"]
            assert (reference["kind"], binding["metadata"].get("namespace"), reference["name"]) in keys
            assert ("ServiceAccount", subject["namespace"], subject["name"]) in keys


def test_a_program_of_one_namespace_has_no_rights_on_its_kinds_elsewhere() -> None:
    wide = of_kind("ClusterRole", watch_namespace="others")
    bound = {item["roleRef"]["name"] for item in of_kind("ClusterRoleBinding", watch_namespace="others")}
    rights = [rule for role in wide if role["metadata"]["name"] in bound for rule in role["rules"]]
    assert not [rule for rule in rights if "shop.example.com" in rule["apiGroups"]]
    (role,) = [item for item in of_kind("Role", watch_namespace="others") if item["metadata"]["namespace"] == "others"]
    assert any("shops" in rule["resources"] for rule in role["rules"])
    (deployment,) = of_kind("Deployment", watch_namespace="others")
    assert "--namespace=others" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, ["--leader-elect"]),
        ({"shards": True}, ["--shards"]),
        ({"shards": True, "shards_by": "namespace"}, ["--shards", "--shards-by=namespace"]),
    ],
    ids=str,
)
def test_the_replicas_elect_a_leader_or_share_single_objects_or_namespaces(
    changes: dict[str, Any], flags: list[str]
) -> None:
    (deployment,) = of_kind("Deployment", **changes)
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert [word for word in arguments if word.startswith(("--leader", "--shards"))] == flags


def test_status_and_finalizers_of_a_built_in_kind_are_granted_only_where_they_are_needed() -> None:
    async def reconcile(obj: Pod, ctx: sp.Context) -> None: ...

    def subresources(one: sp.Controller[Any]) -> set[str]:
        return {grant.resource for grant in declared([one]) if "/" in grant.resource}

    assert subresources(sp.Controller(Pod, reconcile).watches(ConfigMap, lambda head: [])) == set()
    assert subresources(sp.Controller(Pod, reconcile).owns(ConfigMap)) == {"pods/finalizers"}
    assert subresources(sp.Controller(Pod, reconcile).needs(ConfigMap, "create")) == {"pods/finalizers"}
    assert subresources(sp.Controller(Pod, reconcile).needs(ConfigMap, "delete")) == set()
    assert subresources(sp.Controller(Pod, reconcile, owns_status=True)) == {"pods/status"}
    assert subresources(controller) == {"shops/status", "shops/finalizers"}, "an own kind has both"


def test_a_permission_that_no_other_declaration_implies_is_declared() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    plain_one = sp.Controller(ConfigMap, reconcile)
    assert Grant("", "pods/log", "get") not in declared([plain_one])
    more = sp.Controller(ConfigMap, reconcile).needs(Pod, "get", subresource="log").needs(Pod, "create")
    assert declared([more]) - declared([plain_one]) == {
        Grant("", "pods/log", "get"),
        Grant("", "pods", "create"),
        Grant("", "configmaps/finalizers", "update"),  # a Pod that it creates may have it for an owner
    }
    with pytest.raises(ValueError, match=r"the verbs on Pod are create, .*not 'post'"):
        plain_one.needs(Pod, "post")
    with pytest.raises(ValueError, match="at least one is needed"):
        plain_one.needs(Pod)


def test_names_subresources_of_any_kind_and_urls_are_declared_in_the_terms_of_rbac() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    one = (
        sp.Controller(ConfigMap, reconcile)
        .needs(Secret, "get", "delete", names=["a", "b"])
        .needs(Secret, "patch", names="c")
        .needs(PolicyRule(api_groups=["*"], resources=["*/scale"], verbs=["get", "patch"]))
        .needs(PolicyRule(non_resource_urls=["/metrics", "/debug/*"], verbs=["get"]))
    )
    plain = rules(declared([sp.Controller(ConfigMap, reconcile)]) | {Grant("", "configmaps/finalizers", "update")})
    assert [rule for rule in rules(declared([one])) if rule not in plain] == [
        {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["delete", "get"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["c"], "verbs": ["patch"]},
        {"nonResourceURLs": ["/debug/*", "/metrics"], "verbs": ["get"]},
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (PolicyRule(verbs=[]), "verbs must contain at least one value"),
        (PolicyRule(resources=["pods"], verbs=["get"]), "at least one api group"),
        (PolicyRule(api_groups=[""], verbs=["get"]), "at least one resource"),
        (PolicyRule(api_groups=[""], non_resource_urls=["/a"], verbs=["get"]), "both regular resources and"),
        (PolicyRule(non_resource_urls=["metrics"], verbs=["get"]), "'metrics' must begin with '/'"),
        (PolicyRule(non_resource_urls=["/*/a"], verbs=["get"]), "only at its end"),
        (PolicyRule(api_groups=[""], resources=["pods/*"], verbs=["get"]), "'pods/\\*' allows nothing"),
        (PolicyRule(api_groups=[""], resources=["pods"], resource_names=["a"], verbs=["create"]), "create can't be"),
    ],
)
def test_a_rule_that_a_server_refuses_or_that_allows_nothing_is_refused(rule: PolicyRule, message: str) -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    with pytest.raises(ValueError, match=message):
        sp.Controller(ConfigMap, reconcile).needs(rule)


@pytest.mark.parametrize("names", ["", [""], ["a", ""], [], ()])
def test_names_that_are_empty_do_not_grant_all(names: Any) -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    with pytest.raises(ValueError, match="would grant"):
        sp.Controller(ConfigMap, reconcile).needs(Secret, "get", names=names)
    assert sp.Controller(ConfigMap, reconcile).needs(Secret, "get").needed[0].names == ()
    rule = PolicyRule(api_groups=[""], resources=["secrets"], resource_names=[*names], verbs=["get"])
    if rule.resource_names:
        with pytest.raises(ValueError, match="would grant"):
            sp.Controller(ConfigMap, reconcile).needs(rule)


def test_a_subresource_of_one_object_may_be_created_by_its_name_and_an_object_may_not() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    sp.Controller(ConfigMap, reconcile).needs(Pod, "create", subresource="exec", names=["a"])
    with pytest.raises(ValueError, match="create and deletecollection can't be limited to names"):
        sp.Controller(ConfigMap, reconcile).needs(Pod, "create", "deletecollection", names=["a"])


def test_what_belongs_to_no_namespace_is_granted_by_a_cluster_role_beside_the_role_of_one_namespace() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    one = (
        sp.Controller(ConfigMap, reconcile)
        .reads(Namespace)
        .needs(PolicyRule(non_resource_urls=["/metrics"], verbs=["get"]))
    )
    changes: dict[str, Any] = {"controllers": [one], "served": (), "watch_namespace": "others"}
    (role,) = [item for item in of_kind("Role", **changes) if item["metadata"]["namespace"] == "others"]
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {"configmaps", "events"}
    (binding,) = [
        item for item in of_kind("ClusterRoleBinding", **changes) if "metrics" not in item["metadata"]["name"]
    ]
    assert binding["metadata"]["name"] == binding["roleRef"]["name"]
    (wide,) = [
        item for item in of_kind("ClusterRole", **changes) if item["metadata"]["name"] == binding["roleRef"]["name"]
    ]
    assert wide["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def test_a_role_has_exactly_the_grants_it_was_made_of() -> None:
    grants = declared([controller]) | {Grant("", "secrets", "get", "a"), Grant("", "secrets", "get", "b")}
    current_grants = {
        Grant(group, resource, verb, name)
        for rule in rules(grants)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert current_grants == grants
    assert {Grant("apps", "statefulsets", verb) for verb in (*READ, *WRITE)} <= grants
    assert Grant("", "secrets", "create") in grants


def test_the_container_may_do_nothing_that_it_does_not_need() -> None:
    (deployment,) = of_kind("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    (namespace,) = of_kind("Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@virtual_time
async def test_the_kubelet_waits_for_as_long_as_the_manager_may_stop() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server)) as client:
        assert grace_seconds() > (Manager(client).options.shutdown_timeout or 0) + 10
    (deployment,) = of_kind("Deployment")
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == grace_seconds()


@virtual_time
async def test_every_metric_of_the_dashboard_and_the_alerts_is_one_that_a_program_has() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server)) as client:
        election = LeaderElection(name="shop", identity="me", namespace="default")
        manager = Manager(
            client, controllers=[controller], leader_election=election, serving=Serving(metrics_bind_address=":0")
        )
        assert manager.metrics is not None
        manager.metrics.registry.register(WebhookMetrics())
        names = set()
        for metric in manager.metrics.registry.collect():
            suffix = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(metric.type, ("",))
            names |= {metric.name + item for item in suffix}
    expressions = [query for _, query, _, _ in panels(operator())]
    (group,) = prometheus_rule(operator())["spec"]["groups"]
    expressions += [rule["expr"] for rule in group["rules"]]
    used = {name for expression in expressions for name in re.findall(r"([a-z_]{5,})\{", expression)}
    assert used > {"workqueue_depth", "controller_runtime_reconcile_total"}
    assert not used - names


@pytest.mark.parametrize(
    ("program", "short"),
    [("shop.example.com", "shop"), ("shop", "shop"), ("x" * 60, "x" * 31 + "-"), ("a-b.example.com", "a-b")],
)
def test_a_short_name_leaves_room_for_endings(program: str, short: str) -> None:
    current_short_name = short_name(program)
    assert current_short_name.startswith(short)
    assert len(current_short_name) <= 40


def test_requests_follow_from_a_measured_run(tmp_path: Path) -> None:
    measured = Measured(seconds=60.0, cpu_seconds=3.0, busiest_cpu=0.123, peak_memory=100 << 20)
    result = Resources.of(measured)
    assert (result.cpu, result.memory, result.memory_limit) == ("125m", "128Mi", "208Mi")
    missing = tmp_path / "none.json"
    with pytest.raises(ResourcesError, match=r"none\.json: No such file.*; create it with run --measure .*"):
        measured_in(missing)
    missing.write_text("{}")
    with pytest.raises(ResourcesError, match=r"none\.json: not a file of run --measure: .*seconds"):
        measured_in(missing)
    missing.write_text(json.dumps({"seconds": 1, "cpu_seconds": 1, "busiest_cpu": 0, "peak_memory": 1}))
    assert measured_in(missing).cpu == "10m"


@virtual_time
async def test_a_run_writes_what_it_used_when_it_ends_and_every_ten_seconds(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    task = asyncio.ensure_future(Measuring(path).run())
    await asyncio.sleep(10.5)
    assert measured_in(path).memory_limit.endswith("Mi")
    path.write_text("")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert measured_in(path)
    with pytest.raises(FileNotFoundError):
        Measuring(tmp_path / "no" / "run.json")
