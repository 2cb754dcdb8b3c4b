from __future__ import annotations

import subprocess
import sys

import pytest
from tests.models.catalog import CLASSES, MODULES, objects

from setpoint.meta import GroupVersionKind, Object, resource_of
from setpoint.models import BUILTIN, UnknownKindError, definition_name, kind_for, schemas
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import Pod
from setpoint.schema import Schemas

# Kinds of objects that are served as a subresource only.
NOT_RESOURCES = {
    ("autoscaling", "v1", "Scale"),
    ("authentication.k8s.io", "v1", "TokenRequest"),
    ("policy", "v1", "Eviction"),
}


def test_every_kind_is_a_resource_and_every_resource_has_a_kind() -> None:
    kinds = {kind.resource.gvk for name in MODULES for kind in objects(name)}
    assert kinds - {resource.gvk for resource in BUILTIN} == NOT_RESOURCES
    assert {resource.gvk for resource in BUILTIN} <= kinds
    for resource in BUILTIN:
        assert kind_for(resource.gvk).resource is resource


def test_resources_are_unique() -> None:
    assert len({resource.gvr for resource in BUILTIN}) == len({resource.gvk for resource in BUILTIN}) == len(BUILTIN)


def test_short_names_are_unique_but_for_the_two_kinds_of_events() -> None:
    owners: dict[str, set[str]] = {}
    for resource in BUILTIN:
        for name in (*resource.short_names, resource.plural, resource.singular):
            owners.setdefault(name, set()).add(str(resource.group_resource))
    doubled = {name for name, resources in owners.items() if len(resources) > 1}
    assert doubled == {"ev", "event", "events"}


def test_a_pod_is_served_as_kubernetes_serves_it() -> None:
    pods = resource_of(Pod)
    assert (pods.group, pods.version, pods.kind, pods.plural, pods.singular) == ("", "v1", "Pod", "pods", "pod")
    assert (pods.namespaced, pods.list_kind, pods.short_names, pods.categories) == (True, "PodList", ("po",), ("all",))
    assert set(pods.verbs) == {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
    assert pods.subresources == {
        "attach": GroupVersionKind("", "v1", "PodAttachOptions"),
        "binding": GroupVersionKind("", "v1", "Binding"),
        "ephemeralcontainers": pods.gvk,
        "eviction": GroupVersionKind("policy", "v1", "Eviction"),
        "exec": GroupVersionKind("", "v1", "PodExecOptions"),
        "log": pods.gvk,
        "portforward": GroupVersionKind("", "v1", "PodPortForwardOptions"),
        "resize": pods.gvk,
        "status": pods.gvk,
    }
    assert resource_of(Deployment).subresources["scale"] == GroupVersionKind("autoscaling", "v1", "Scale")


def test_categories_name_what_kubectl_get_all_shows() -> None:
    of = {
        category: {item.plural for item in BUILTIN if category in item.categories}
        for category in ("all", "api-extensions")
    }
    assert of["all"] == {
        "cronjobs",
        "daemonsets",
        "deployments",
        "horizontalpodautoscalers",
        "jobs",
        "pods",
        "replicasets",
        "replicationcontrollers",
        "services",
        "statefulsets",
    }
    assert {"customresourcedefinitions", "apiservices", "validatingwebhookconfigurations"} <= of["api-extensions"]


@pytest.mark.parametrize(
    ("gvk", "message"),
    [
        (GroupVersionKind("", "v1", "Sock"), "v1 has no such kind"),
        (GroupVersionKind("apps", "v7", "Deployment"), "has no version 'v7'"),
        (GroupVersionKind("apps", "v1.evil", "Deployment"), "has no version"),
        (GroupVersionKind("grp.example.com", "v1", "Mykind"), "no group 'grp.example.com'"),
        (GroupVersionKind("", "v1", "PodSpec"), "v1 has no such kind"),
        (GroupVersionKind("", "v1", "Object"), "v1 has no such kind"),
        (GroupVersionKind("apps", "v1", "PodTemplateSpec"), "apps/v1 has no such kind"),
    ],
)
def test_an_unknown_kind_is_said_plainly(gvk: GroupVersionKind, message: str) -> None:
    with pytest.raises(UnknownKindError, match=r"^no model of") as caught:
        kind_for(gvk)
    assert message in str(caught.value)


def test_every_kind_has_a_definition_of_that_name() -> None:
    for definition, kind in CLASSES.items():
        if issubclass(kind, Object):
            assert definition_name(kind.resource.gvk) == definition
            assert kind_for(kind.resource.gvk) is kind


def test_lists_and_shared_kinds_have_definitions_too() -> None:
    assert definition_name(GroupVersionKind("", "v1", "PodList")) == "io.k8s.api.core.v1.PodList"
    shared = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    assert definition_name(GroupVersionKind("apps", "v1", "DeleteOptions")) == shared
    with pytest.raises(UnknownKindError, match="no definition of"):
        definition_name(GroupVersionKind("apps", "v1", "Sock"))


def test_definitions_say_group_version_and_kind_where_they_are_kinds() -> None:
    for resource in BUILTIN:
        wanted = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        assert wanted in schemas()[definition_name(resource.gvk)]["x-kubernetes-group-version-kind"]


def test_schemas_are_narrow_again() -> None:
    def look(value: object) -> None:
        if isinstance(value, dict):
            assert not isinstance(value.get("type"), list)
            if isinstance(value.get("$ref"), str):
                assert value["$ref"] in schemas()
            for item in value.values():
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    look(dict(schemas()))
    pod = schemas()["io.k8s.api.core.v1.Pod"]["properties"]
    assert "enum" not in pod["kind"]
    assert schemas()["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["x-kubernetes-int-or-string"] is True


def test_the_schema_room_reads_all_definitions() -> None:
    read = Schemas(schemas())
    for name in schemas():
        read[name]
    containers = read["io.k8s.api.core.v1.Pod"].at("spec", "containers")
    assert containers is not None
    assert (containers.list_type, containers.list_map_keys, containers.patch_merge_key) == ("map", ("name",), "name")
    assert read.by_kind("apps", "v1", "Deployment") is read["io.k8s.api.apps.v1.Deployment"]


def test_knowing_the_resources_loads_no_model() -> None:
    code = """
import sys
from setpoint.models import BUILTIN
assert len(BUILTIN) > 90
loaded = [name for name in sys.modules if name.startswith("setpoint.models.")]
assert sorted(loaded) == ["setpoint.models._table", "setpoint.models.resources"], loaded
assert "setpoint.zstd" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_loads_only_what_it_refers_to() -> None:
    code = """
import sys
import setpoint.models.apps_v1
import setpoint.models.coordination_v1
loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith("setpoint.models.") and name[-1].isdigit()}
assert loaded == {"apps_v1", "coordination_v1", "core_v1"}, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)
