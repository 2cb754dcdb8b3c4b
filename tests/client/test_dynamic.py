"""Kinds without classes, metadata alone, and how a server's resources become known."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from setpoint.client import (
    AmbiguousMatchError,
    ApiError,
    Client,
    DynamicObject,
    InProcessTransport,
    NoMatchError,
    NotFound,
    PartialObjectMetadata,
    Request,
    TransportError,
    dynamic,
    metadata_only,
)
from setpoint.meta import GroupKind, GroupVersion, GroupVersionKind, Resource, to_wire
from setpoint.testing import virtual_time

from .conftest import Answer, Connect, Server, Thing, answer, failure

WIDGETS = Resource(group="x.example.com", version="v1", kind="Widget", plural="widgets")
Widget = dynamic(WIDGETS)
WIDGET = {
    "apiVersion": "x.example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "3", "future": 1},
    "spec": {"size": 1, "parts": [{"name": "p", "q": None}]},
    "other": [1],
}


def test_one_class_a_resource() -> None:
    assert dynamic(WIDGETS) is Widget
    assert metadata_only(Thing) is metadata_only(Thing.resource)
    assert Widget.__name__ == "Widget"


async def test_a_dynamic_object_is_changed_like_json_and_updated_like_any(connect: Connect) -> None:
    async with connect(lambda request: answer(WIDGET)) as (client, server):
        widget = await client.get(Widget, "a")
        assert isinstance(widget, DynamicObject)
        assert (widget.uid, widget["spec"]["size"], "other" in widget, list(widget)) == (
            "u",
            1,
            True,
            ["spec", "other"],
        )
        widget["spec"]["parts"][0]["new"] = True
        del widget["other"]
        widget.labels["l"] = "v"
        await client.update(widget)
    patch = json.loads(server.requests[1].body or b"")  # a merge patch could not keep the null in the list
    assert sorted(patch, key=lambda operation: str(operation["path"])) == [
        {"op": "add", "path": "/metadata/labels", "value": {"l": "v"}},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "3"},
        {"op": "remove", "path": "/other"},
        {"op": "add", "path": "/spec/parts/0/new", "value": True},
    ]


async def test_a_dynamic_object_made_by_hand_says_its_document() -> None:
    widget = Widget.of({"metadata": {"name": "n"}, "spec": {"size": 2}})
    assert widget.key == "n"
    assert to_wire(widget) == {
        "apiVersion": "x.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "n"},
        "spec": {"size": 2},
    }
    with pytest.raises(ValueError, match="is a v1 Pod, not a"):
        Widget.of({"apiVersion": "v1", "kind": "Pod"})
    with pytest.raises(KeyError, match="metadata is typed"):
        widget["metadata"] = {}


async def test_metadata_only_asks_for_metadata_only(connect: Connect) -> None:
    kind = metadata_only(Thing)

    def behave(request: Request) -> Answer:
        partial = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": WIDGET["metadata"]}
        return answer({"metadata": {}, "items": [partial]} if request.path.endswith("things") else partial)

    async with connect(behave) as (client, server):
        thing = await client.get(kind, "a")
        (listed,) = await client.list(kind)
        thing.labels["l"] = "v"
        await client.update(thing)
    assert isinstance(thing, PartialObjectMetadata)
    assert listed.uid == "u"
    forms = [request.headers["accept"].split(",")[0] for request in server.requests]
    assert forms[0] == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert forms[1] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert json.loads(server.requests[2].body or b"")["metadata"]["labels"] == {"l": "v"}


# -- discovery --------------------------------------------------------------------------------------------------------


def aggregated_resource(plural: str, kind: str, *, group: str = "", version: str = "v1", **more: Any) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "scope": "Namespaced",
        "singularResource": kind.lower(),
        "verbs": ["get", "list"],
        **more,
    }


CORE = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        aggregated_resource(
                            "pods",
                            "Pod",
                            shortNames=["po"],
                            categories=["all"],
                            subresources=[
                                {"subresource": "log", "responseKind": {"kind": "Pod"}},
                                {
                                    "subresource": "eviction",
                                    "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
                                },
                            ],
                        ),
                        aggregated_resource("events", "Event", shortNames=["ev"]),
                        aggregated_resource("nodes", "Node", scope="Cluster"),
                    ],
                }
            ]
        }
    ],
}
GROUPS = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "events.k8s.io"},
            "versions": [
                {"version": "v1", "resources": [aggregated_resource("events", "Event", group="events.k8s.io")]},
            ],
        },
        {
            "metadata": {"name": "apps"},
            "versions": [
                {
                    "version": "v2",
                    "resources": [
                        aggregated_resource("deployments", "Deployment", shortNames=["deploy"], categories=["all"])
                    ],
                },
                {"version": "v1", "resources": [aggregated_resource("deployments", "Deployment", categories=["all"])]},
            ],
        },
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
    ],
}


def aggregated(request: Request) -> Answer:
    assert "APIGroupDiscoveryList" in request.headers["accept"]
    return answer(CORE if request.path == "/api" else GROUPS)


def legacy(request: Request) -> Answer:
    def listed(*resources: dict[str, Any]) -> Answer:
        return answer({"kind": "APIResourceList", "resources": list(resources)})

    match request.path:
        case "/api":
            return answer({"kind": "APIVersions", "versions": ["v1"]})
        case "/apis":
            versions = [{"groupVersion": f"apps/{version}", "version": version} for version in ("v1", "v2")]
            down = {"name": "metrics.k8s.io", "versions": [{"groupVersion": "metrics.k8s.io/v1", "version": "v1"}]}
            return answer(
                {
                    "kind": "APIGroupList",
                    "groups": [{"name": "apps", "versions": versions, "preferredVersion": versions[1]}, down],
                }
            )
        case "/api/v1":
            pod = {"name": "pods", "kind": "Pod", "namespaced": True, "shortNames": ["po"], "verbs": ["get"]}
            eviction = {"name": "pods/eviction", "kind": "Eviction", "group": "policy", "version": "v1"}
            return listed(pod, eviction, {"name": "nodes", "kind": "Node", "namespaced": False})
        case "/apis/apps/v1" | "/apis/apps/v2":
            return listed({"name": "deployments", "kind": "Deployment", "namespaced": True})
    return failure(503, "ServiceUnavailable", "down")


async def test_aggregated_discovery_takes_two_requests(connect: Connect) -> None:
    async with connect(aggregated) as (client, server):
        resources = await client.discovery.resources()
    assert len(server.requests) == 2
    pods = resources.resources[0]
    assert (pods.plural, pods.kind, pods.namespaced, pods.short_names) == ("pods", "Pod", True, ("po",))
    assert pods.subresources == {
        "log": GroupVersionKind("", "v1", "Pod"),
        "eviction": GroupVersionKind("policy", "v1", "Eviction"),
    }
    assert not resources.resources[2].namespaced
    assert list(resources.failed) == [GroupVersion("metrics.k8s.io", "v1beta1")]


async def test_a_server_without_aggregation_is_asked_group_by_group_and_one_that_fails_is_tolerated(
    connect: Connect,
) -> None:
    async with connect(legacy) as (client, _):
        resources = await client.discovery.resources()
        assert (await client.rest_mapper.resource("deployments")).version == "v2"
    assert [f"{entry.api_version}, Resource={entry.plural}" for entry in resources.resources] == [
        "v1, Resource=pods",
        "v1, Resource=nodes",
        "apps/v2, Resource=deployments",
        "apps/v1, Resource=deployments",
    ]
    assert resources.resources[0].subresources == {"eviction": GroupVersionKind("policy", "v1", "Eviction")}
    assert "down" in resources.failed[GroupVersion("metrics.k8s.io", "v1")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("po", "v1 pods"),
        ("Pod", "v1 pods"),
        ("pods", "v1 pods"),
        ("events", "v1 events"),
        ("ev", "v1 events"),
        ("events.events.k8s.io", "events.k8s.io/v1 events"),
        ("deploy", "apps/v2 deployments"),
        ("deployments.apps", "apps/v2 deployments"),
        ("deployment.v1.apps", "apps/v1 deployments"),
    ],
)
@virtual_time
async def test_names_are_found_as_kubectl_finds_them(name: str, expected: str) -> None:
    async with Client(InProcessTransport(Server(aggregated).handle)) as client:
        resource = await client.rest_mapper.resource(name)
    assert f"{resource.api_version} {resource.plural}" == expected


def _behind(group: str, plural: str, kind: str) -> dict[str, Any]:
    return {
        "metadata": {"name": group},
        "versions": [{"version": "v1", "resources": [aggregated_resource(plural, kind, group=group)]}],
    }


@virtual_time
async def test_a_name_that_several_custom_groups_have_is_ambiguous_and_one_of_kubernetes_own_wins() -> None:
    more = [
        _behind("a.example.com", "databases", "Database"),
        _behind("b.example.com", "databases", "Database"),
        _behind("c.example.com", "deployments", "Deployment"),
        _behind("d.example.com", "pods", "Pod"),
    ]
    groups = {"kind": "APIGroupDiscoveryList", "items": [*more, *GROUPS["items"]]}
    server = Server(lambda request: answer(CORE if request.path == "/api" else groups))
    async with Client(InProcessTransport(server.handle)) as client:
        resource = client.rest_mapper.resource
        text = "several resources 'database': use databases.a.example.com or databases.b.example.com"
        with pytest.raises(AmbiguousMatchError, match=text):
            await resource("database")
        assert (await resource("databases.b.example.com")).group == "b.example.com"
        assert (await resource("Database.v1.a.example.com")).group == "a.example.com"
        assert (await resource("deployments")).group == "apps"
        assert (await resource("deployments.c.example.com")).group == "c.example.com"
        assert (await resource("po")).group == ""
        assert (await resource("pods")).group == ""


@pytest.mark.parametrize(
    ("name", "meant"), [("podz", "pods"), ("deploments", "deployments"), ("deployment.app", "deployments.apps")]
)
@virtual_time
async def test_a_misspelt_name_is_answered_with_the_one_that_is_meant(name: str, meant: str) -> None:
    groups = {"kind": "APIGroupDiscoveryList", "items": GROUPS["items"]}
    server = Server(lambda request: answer(CORE if request.path == "/api" else groups))
    async with Client(InProcessTransport(server.handle)) as client:
        with pytest.raises(NoMatchError, match=rf"no resource '{name}' \(is {meant} meant\?\)"):
            await client.rest_mapper.resource(name)


@virtual_time
async def test_kinds_and_categories() -> None:
    async with Client(InProcessTransport(Server(aggregated).handle)) as client:
        mapper = client.rest_mapper
        assert (await mapper.for_kind(GroupKind("apps", "Deployment"))).version == "v2"
        assert (await mapper.for_kind(GroupVersionKind("apps", "v1", "Deployment"))).version == "v1"
        assert [entry.plural for entry in await mapper.category("all")] == ["pods", "deployments"]
        with pytest.raises(
            NoMatchError, match=r"no resource 'gone'; the discovery of these groups failed: metrics.k8s.io/v1beta1"
        ):
            await mapper.resource("gone")


@virtual_time
async def test_a_new_crd_is_found_and_many_who_ask_cause_one_discovery() -> None:
    groups = {"kind": "APIGroupDiscoveryList", "items": list(GROUPS["items"])}
    server = Server(lambda request: answer(CORE if request.path == "/api" else groups))
    async with Client(InProcessTransport(server.handle)) as client:
        mapper = client.rest_mapper
        await asyncio.gather(*(mapper.resource("po") for _ in range(20)))
        assert len(server.requests) == 2
        with pytest.raises(NoMatchError):
            await mapper.resource("widgets")
        assert len(server.requests) == 4, "a name is absent only after a discovery that began after the look-up"
        assert asyncio.get_running_loop().time() == pytest.approx(1), "discoveries begin a second apart"
        await asyncio.sleep(5)
        widgets = aggregated_resource("widgets", "Widget", group="x.example.com")
        groups["items"].append(
            {"metadata": {"name": "x.example.com"}, "versions": [{"version": "v1", "resources": [widgets]}]}
        )
        result = await asyncio.gather(*(mapper.resource("widgets") for _ in range(20)))
        assert {entry.kind for entry in result} == {"Widget"}
        assert len(server.requests) == 6


@virtual_time
async def test_definitions_that_are_installed_within_a_second_are_all_found() -> None:
    groups = {"kind": "APIGroupDiscoveryList", "items": list(GROUPS["items"])}
    server = Server(lambda request: answer(CORE if request.path == "/api" else groups))

    def install(number: int) -> None:
        entry = aggregated_resource(f"widget{number}s", f"Widget{number}", group=f"x{number}.example.com")
        groups["items"].append(
            {"metadata": {"name": f"x{number}.example.com"}, "versions": [{"version": "v1", "resources": [entry]}]}
        )

    async with Client(InProcessTransport(server.handle)) as client:
        for number in range(5):
            install(number)
            assert (await client.rest_mapper.resource(f"widget{number}s")).kind == f"Widget{number}"
            await asyncio.sleep(0.1)
        install(5)
        install(6)
        result = await asyncio.gather(*(client.rest_mapper.resource(f"widget{number}s") for number in (5, 6)))
        assert [entry.kind for entry in result] == ["Widget5", "Widget6"]


def versions(*names: str) -> dict[str, Any]:
    served = [
        {"version": name, "resources": [aggregated_resource("widgets", "Widget", group="x.example.com", version=name)]}
        for name in names
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "items": [{"metadata": {"name": "x.example.com"}, "versions": served}],
    }


@virtual_time
async def test_a_version_that_is_no_longer_served_is_dropped_by_its_first_404_and_in_any_case_after_a_while() -> None:
    groups = versions("v1beta1", "v1")

    def behave(request: Request) -> Answer:
        if request.path in ("/api", "/apis"):
            return answer(CORE if request.path == "/api" else groups)
        if any(request.path.startswith(f"/apis/x.example.com/{entry['version']}/") for entry in served()):
            return answer({**WIDGET, "apiVersion": "x.example.com/v1"})
        return Answer(404, {}, b"404 page not found\n")

    def served() -> list[dict[str, Any]]:
        current_versions: list[dict[str, Any]] = groups["items"][0]["versions"]
        return current_versions

    server = Server(behave)
    async with Client(InProcessTransport(server.handle)) as client:
        assert (await client.rest_mapper.resource("widgets")).version == "v1beta1"
        await asyncio.sleep(2)
        groups = versions("v1")
        with pytest.raises(NotFound, match=r"does not serve widgets of x.example.com/v1beta1"):
            await client.get("widgets", "a")
        assert (await client.get("widgets", "a")).api_version == "x.example.com/v1"
        groups = versions("v2")
        await asyncio.sleep(31)
        assert (await client.rest_mapper.resource("widgets")).version == "v2"
        groups = versions()
        await asyncio.sleep(31)
        with pytest.raises(NoMatchError):
            await client.rest_mapper.resource("widgets")


@virtual_time
async def test_while_discovery_fails_the_last_result_is_used() -> None:
    up = True

    def behave(request: Request) -> Answer:
        return aggregated(request) if up else failure(500, "InternalError")

    async with Client(InProcessTransport(Server(behave).handle)) as client:
        assert (await client.rest_mapper.resource("po")).kind == "Pod"
        up = False
        await asyncio.sleep(40)
        assert (await client.rest_mapper.resource("po")).kind == "Pod"
        with pytest.raises(ApiError):
            await client.rest_mapper.resource("widgets")


@virtual_time
async def test_a_status_with_the_code_200_is_no_discovery_and_the_last_result_is_used() -> None:
    up = True

    def behave(request: Request) -> Answer:
        return aggregated(request) if up else answer({"kind": "Status", "apiVersion": "v1", "status": "Failure"})

    async with Client(InProcessTransport(Server(behave).handle)) as client:
        assert (await client.rest_mapper.resource("po")).kind == "Pod"
        up = False
        await asyncio.sleep(40)
        assert (await client.rest_mapper.resource("po")).kind == "Pod"
        with pytest.raises(TransportError, match="not a discovery document: it is a Status"):
            await client.rest_mapper.refresh()


@virtual_time
async def test_the_resources_of_a_group_stay_while_only_its_own_discovery_fails() -> None:
    up = True

    def behave(request: Request) -> Answer:
        if request.path == "/apis/apps/v2" and not up:
            return failure(503, "ServiceUnavailable")
        return legacy(request)

    async with Client(InProcessTransport(Server(behave).handle)) as client:
        before = await client.rest_mapper.refresh()
        up = False
        assert {str(entry.gvk) for entry in (await client.rest_mapper.refresh()).resources} == {
            str(entry.gvk) for entry in before.resources
        }
