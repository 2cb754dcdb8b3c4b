"""Since when fields and kinds exist."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.apiserver.strategies.disabled_features import disabled_fields
from setpoint.meta import GroupVersionKind, resource_of
from setpoint.models import BUILTIN, UnknownKindError, definition_name, kind_for, schemas
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, Pod
from setpoint.models.history import (
    NEWEST,
    OLDEST,
    VersionError,
    is_known_kind,
    minor_of,
    missing_fields,
    missing_kind,
    newer_fields,
    schemas_of,
)
from setpoint.schema import Schemas


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize(("minor", "clause"), [
    (31, ["spec.resources is not in 1.31 (on by default since 1.34)"]),
    (33, ["spec.resources is alpha, and off by default, in 1.33 (on by default since 1.34)"]),
    (34, []),
    (NEWEST, []),
])  # fmt: skip
def test_a_field_is_named_until_it_is_on_by_default(minor: int, clause: list[str]) -> None:
    # KEP-2837: pod-level resources are alpha in 1.32 and beta in 1.34.
    assert missing_fields(pod(resources={"limits": {"cpu": "1"}}), minor) == clause


def test_fields_in_lists_and_templates_are_named_by_their_path() -> None:
    template = {"spec": pod(containers=[{"name": "a"}, {"name": "b", "restartPolicyRules": []}])["spec"]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}
    assert missing_fields(deployment, 33) == [
        "spec.template.spec.containers[1].restartPolicyRules is not in 1.33 (on by default since 1.35)"
    ]


def test_custom_objects_have_no_newer_fields() -> None:
    assert missing_fields({"apiVersion": "example.com/v1", "kind": "Pod", "spec": {"resources": {}}}, 31) == []


def test_a_kind_is_named_by_the_version_that_added_it_or_as_off_by_default() -> None:
    cidr = GroupVersionKind("networking.k8s.io", "v1", "ServiceCIDR")
    assert missing_kind(cidr, 32) == "is not in 1.32 (since 1.33)"
    assert missing_kind(cidr, 33) == ""
    beta = GroupVersionKind("certificates.k8s.io", "v1beta1", "ClusterTrustBundle")
    assert missing_kind(beta, 33) == "is beta: clusters serve it only if --runtime-config says so"
    assert missing_kind(GroupVersionKind("example.com", "v1beta1", "Shop"), 31) == ""


@pytest.mark.parametrize("text", ["1.30", "1.38", "2.31", "33", "", "1.33-rc", "latest"])
def test_a_version_that_the_table_does_not_know_is_refused_with_those_that_it_knows(text: str) -> None:
    with pytest.raises(VersionError, match=rf"from 1\.{OLDEST} to 1\.{NEWEST}"):
        minor_of(text)


def test_a_version_may_have_a_patch() -> None:
    assert (minor_of("1.33"), minor_of("v1.33.4")) == (33, 33)


def test_the_schemas_of_an_older_version_lack_its_newer_fields_and_those_of_the_newest_are_complete() -> None:
    name = definition_name(resource_of(Pod).gvk)
    assert "resources" not in Schemas(schemas_of(33))[name].properties["spec"].properties
    assert "resources" in Schemas(schemas_of(34))[name].properties["spec"].properties
    assert schemas_of(NEWEST) is schemas()


@pytest.mark.parametrize("minor", range(OLDEST, NEWEST + 1))
def test_every_kind_of_every_version_has_a_schema(minor: int) -> None:
    older = Schemas(schemas_of(minor))
    kinds = [resource.gvk for resource in BUILTIN if is_known_kind(resource.gvk, minor)]
    assert kinds
    for gvk in kinds:
        assert older[definition_name(gvk)].properties["metadata"]


def test_fields_that_the_newest_server_drops_are_off_there_too() -> None:
    # The list of the embedded server was made from kube-apiserver's code, the table from gates and schemas.
    stable = {str(resource.group_resource): resource.gvk for resource in BUILTIN if resource.version == "v1"}
    kept = [
        f"{name}: {path}"
        for name, paths in disabled_fields()
        for path in paths
        if not missing_fields(_document(stable[name], path), NEWEST)
    ]
    # Fields that no version has had on since 1.24 are not the table's.
    assert kept == [
        "endpointslices.discovery.k8s.io: endpoints[].deprecatedTopology",
        "nodes: spec.configSource",
        "nodes: status.config",
    ]


def _document(gvk: GroupVersionKind, path: str) -> dict[str, Any]:
    value: Any = {}
    for part in reversed(path.split(".")):
        name = part.removesuffix("[]")
        value = {name: {"a": value} if name == "attributes" else [value] if part != name else value}
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **value}


def test_newer_fields_of_a_kind_are_those_that_the_newest_version_has_on() -> None:
    fields = newer_fields(resource_of(Deployment).gvk, 33)
    assert "Container.restartPolicyRules" in fields
    assert "PodSpec.evictionResponders" not in fields  # alpha in the newest, too
    assert newer_fields(resource_of(ConfigMap).gvk, OLDEST) == []
    assert newer_fields(resource_of(Deployment).gvk, NEWEST) == []


def test_the_error_about_a_kind_that_older_clusters_have_says_how_to_reach_it() -> None:
    gone = GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1beta3", "FlowSchema")
    with pytest.raises(UnknownKindError, match=r"clusters up to 1\.31 have it: reach it with dynamic\("):
        kind_for(gone)
    with pytest.raises(UnknownKindError) as never:
        kind_for(GroupVersionKind("apps", "v1", "Nothing"))
    assert "clusters up to" not in str(never.value)
