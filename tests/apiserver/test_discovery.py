from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pytest

from setpoint.apiserver.discovery import groups as discovery
from setpoint.meta import GroupVersionKind, Resource
from setpoint.models import BUILTIN


@dataclass
class Served:
    resource: Resource
    custom: bool = False
    stored: Served | None = None

    @property
    def stored_as(self) -> Served:
        return self.stored or self


def custom(version: str) -> Served:
    return Served(
        Resource(
            group="grp.example.com",
            version=version,
            kind="Mykind",
            plural="mykinds",
            singular="mykind",
            list_kind="MykindList",
            short_names=("mk",),
            categories=("all",),
            subresources={"status": GroupVersionKind("grp.example.com", version, "Mykind")},
        ),
        custom=True,
    )


REGISTRY = [*map(Served, BUILTIN), *map(custom, ("v1alpha1", "v1", "v1beta2", "other", "v1beta10"))]
AGGREGATED_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL = f"{AGGREGATED_V2},application/json"


def ask(path: str, accept: str = "application/json") -> tuple[dict[str, Any], str]:
    answer = discovery.respond(path, REGISTRY, accept)
    assert answer is not None, f"no answer for {path}"
    assert (answer.status, type(answer.body)) == (200, bytes)
    return json.loads(cast("bytes", answer.body)), answer.headers["content-type"]


def test_the_core_group_has_only_versions() -> None:
    document, content_type = ask("/api")
    assert (document["kind"], document["versions"], content_type) == ("APIVersions", ["v1"], "application/json")


def test_groups_list_their_versions_with_the_preferred_one_first() -> None:
    document, _ = ask("/apis")
    assert document["kind"] == "APIGroupList"
    groups = {group["name"]: group for group in document["groups"]}
    assert "" not in groups
    assert [version["version"] for version in groups["grp.example.com"]["versions"]] == [
        "v1", "v1beta10", "v1beta2", "v1alpha1", "other",
    ]  # fmt: skip
    assert groups["autoscaling"]["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}


def test_one_group_is_answered_alone() -> None:
    document, _ = ask("/apis/apps")
    assert document == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


def test_the_hash_of_a_resource_is_that_of_the_version_in_which_it_is_stored() -> None:
    resource = Resource(group="ex.example.com", version="v1", kind="Foo", plural="foos")
    stored = Served(resource, custom=True)
    other = Served(msgspec.structs.replace(resource, version="v2"), custom=True, stored=stored)
    for version in ("v1", "v2"):
        document = discovery.resource_list([stored, other], "ex.example.com", version)
        assert document is not None
        assert document["resources"][0]["storageVersionHash"] == "LHPT2NKY1go="


def test_a_resource_that_is_not_stored_has_no_hash_and_no_watch() -> None:
    document, _ = ask("/api/v1")
    statuses = next(entry for entry in document["resources"] if entry["name"] == "componentstatuses")
    assert statuses["verbs"] == ["get", "list"]
    assert "storageVersionHash" not in statuses


def test_a_version_lists_resources_and_subresources_with_all_their_names() -> None:
    document, _ = ask("/apis/apps/v1")
    assert (document["kind"], document["groupVersion"]) == ("APIResourceList", "apps/v1")
    resources = {entry["name"]: entry for entry in document["resources"]}
    deployments = resources["deployments"]
    assert deployments.pop("storageVersionHash")
    assert deployments == {
        "name": "deployments",
        "singularName": "deployment",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["deploy"],
        "categories": ["all"],
    }
    assert resources["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }
    assert "group" not in resources["deployments/status"]


def test_the_core_version_is_named_without_a_group() -> None:
    document, _ = ask("/api/v1")
    assert document["groupVersion"] == "v1"
    resources = {entry["name"]: entry for entry in document["resources"]}
    assert resources["pods/eviction"]["verbs"] == ["create"]
    assert resources["pods/log"]["verbs"] == ["get"]
    assert resources["bindings"]["verbs"] == ["create"]


def test_clients_that_can_get_everything_in_two_answers() -> None:
    document, content_type = ask("/apis", KUBECTL)
    assert content_type == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    groups = {group["metadata"]["name"]: group for group in document["items"]}
    assert len(groups) == len(document["items"])
    newest = groups["grp.example.com"]["versions"][0]
    kind = {"group": "grp.example.com", "version": "v1", "kind": "Mykind"}
    assert newest == {
        "version": "v1",
        "freshness": "Current",
        "resources": [
            {
                "resource": "mykinds",
                "responseKind": kind,
                "scope": "Namespaced",
                "singularResource": "mykind",
                "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
                "shortNames": ["mk"],
                "categories": ["all"],
                "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"]}],
            }
        ],
    }


def test_the_core_group_is_aggregated_apart() -> None:
    document, _ = ask("/api", KUBECTL)
    (core,) = document["items"]
    assert "name" not in core["metadata"]
    assert [version["version"] for version in core["versions"]] == ["v1"]
    scopes = {resource["resource"]: resource["scope"] for resource in core["versions"][0]["resources"]}
    assert (scopes["pods"], scopes["nodes"]) == ("Namespaced", "Cluster")
    kinds = {resource["resource"]: resource["responseKind"] for resource in core["versions"][0]["resources"]}
    assert kinds["pods"] == {"group": "", "version": "", "kind": "Pod"}


def test_groups_come_in_the_order_of_upstreams_priorities() -> None:
    for accept, key in (("application/json", "groups"), (KUBECTL, "items")):
        document, _ = ask("/apis", accept)
        names = [group.get("name") or group["metadata"]["name"] for group in document[key]]
        assert names[:4] == ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"]
        assert names.index("storagemigration.k8s.io") < names.index("grp.example.com")


def test_the_core_version_has_no_api_version_of_its_own() -> None:
    assert "apiVersion" not in ask("/api/v1")[0]
    assert ask("/apis/apps/v1")[0]["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        (KUBECTL, True),
        ("application/json, application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", True),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_the_aggregated_form_is_given_to_those_who_ask_for_it(accept: str, aggregated: bool) -> None:
    assert (ask("/apis", accept)[0]["kind"] == "APIGroupDiscoveryList") is aggregated


@pytest.mark.parametrize(
    "path", ["/", "/api/v2", "/apis/none", "/apis/apps/v2", "/api/v1/pods", "/version", "/apis/apps/v1/x"]
)
def test_other_paths_are_not_answered(path: str) -> None:
    assert discovery.respond(path, REGISTRY, "application/json") is None


def test_a_trailing_slash_changes_nothing() -> None:
    assert ask("/apis/")[0] == ask("/apis")[0]
    assert ask("/api/v1/")[0] == ask("/api/v1")[0]


def test_every_served_resource_is_discovered_in_both_forms() -> None:
    wanted = {(served.resource.api_version, served.resource.plural) for served in REGISTRY}
    aggregated = {
        ("/".join(filter(None, (group["metadata"].get("name", ""), version["version"]))), resource["resource"])
        for path in ("/api", "/apis")
        for group in ask(path, KUBECTL)[0]["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    roots = {served.resource.root for served in REGISTRY}
    legacy = {
        (document["groupVersion"], entry["name"])
        for document, _ in map(ask, sorted(roots))
        for entry in document["resources"]
        if "/" not in entry["name"]
    }
    assert aggregated == wanted
    assert legacy == wanted
