"""The desired state: objects that users have deleted, and those that go with them, are not in it any more."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.simulation import Budget, Counterexample, check
from setpoint.simulation.scenario.desired_state import DesiredState

TEAM = "/api/v1/namespaces/team"
WIDGETS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
WISHED = (
    TEAM,
    f"{TEAM}/configmaps/one",
    "/apis/example.com/v1/namespaces/team/widgets/two",
    "/apis/example.com/v1/namespaces/teams/widgets/three",
    "/apis/example.com/v1/namespaces/teams/gadgets/four",
    "/apis/other.example.com/v1/namespaces/teams/widgets/five",
    WIDGETS,
)


def document(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}}


def test_an_object_is_lost_if_it_is_gone_and_users_have_not_deleted_it() -> None:
    desired = DesiredState()
    for name in "abc":
        desired.record(f"/api/v1/configmaps/{name}", document(name))
    desired.withdraw("/api/v1/configmaps/c")
    assert desired.missing({"uid-a"}) == [{"metadata": {"name": "b"}}]


@pytest.mark.parametrize(
    ("deleted", "left"),
    [
        (TEAM, WISHED[3:]),
        (WIDGETS, (*WISHED[:2], *WISHED[4:6])),
        (f"{TEAM}/configmaps/one", (WISHED[0], *WISHED[2:])),
        ("/api/v1/namespaces/teams", (*WISHED[:3], WISHED[6])),
        ("/apis/example.com/v1/namespaces/team/widgets/other", WISHED),
    ],
)
def test_a_namespace_goes_with_its_content_and_a_definition_with_its_objects(
    deleted: str, left: tuple[str, ...]
) -> None:
    desired = DesiredState()
    for path in WISHED:
        desired.record(path, document(path))
    desired.withdraw(deleted)
    assert desired.paths() == sorted(left)


async def keeps_config(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"{app.name}-made", app.namespace, data={"size": f"{app.spec.size}"}))


def controllers() -> list[sp.Controller[Any]]:
    return [sp.Controller(App, keeps_config).owns(ConfigMap)]


async def a_namespace_comes_again(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Namespace.named("team"))
    await cluster.apply(App.named("one", "team", spec=AppSpec()))
    await cluster.settle()
    await cluster.delete(await cluster.get(Namespace, "team"))

    async def is_gone() -> bool:
        return await cluster.find(Namespace, "team") is None

    await cluster.until(is_gone)
    await cluster.settle()
    for _ in range(2):
        await cluster.apply(Namespace.named("team"))
        await cluster.settle()
        await cluster.apply(App.named("one", "team", spec=AppSpec()))
        await cluster.settle()


async def a_collection_goes(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", spec=AppSpec()))
    await cluster.settle()
    for name in ("two", "three"):
        await cluster.apply(App.named(name, spec=AppSpec()))
    await cluster.settle()
    for kept in ("one", "three"):
        await cluster.client.delete_all(App, namespace="default", field_selector=f"metadata.name!={kept}")
        await cluster.settle()
        await cluster.apply(App.named("one", spec=AppSpec()))
        await cluster.settle()


@pytest.mark.parametrize("scenario", [a_namespace_comes_again, a_collection_goes])
def test_what_went_with_something_else_does_not_have_to_be_there_again(scenario: Any) -> None:
    check(scenario, controllers, budget=Budget(runs=10))


def test_a_deleted_object_that_users_hold_is_there_because_of_them() -> None:
    path, metadata = f"{TEAM}/configmaps/one", {"name": "one", "uid": "1"}
    theirs, both = {**metadata, "finalizers": ["user"]}, {**metadata, "finalizers": ["user", "controller"]}
    desired = DesiredState()
    nothing = desired.text({"1"})
    desired.record(path, {"metadata": theirs}, request_body=b'{"finalizers":["user"]}')
    desired.record(path, {"metadata": both, "data": {}}, {"metadata": both})
    desired.withdraw(path)
    held = desired.text({"1"})
    assert held != nothing
    assert desired.text(()) == nothing, "it has gone"
    assert desired.paths() == desired.missing(()) == []
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    desired.record(path, {"metadata": {**both, **leaving, "labels": {"a": "b"}}}, {"metadata": both | leaving})
    assert desired.text({"1"}) == held
    released = {**both, **leaving, "finalizers": ["controller"]}
    desired.record(path, {"metadata": released}, {"metadata": both | leaving})
    assert desired.text({"1"}) == nothing


def test_a_finalizer_that_the_server_has_set_does_not_hold_an_object_for_users() -> None:
    path, metadata = f"{TEAM}/persistentvolumeclaims/one", {"name": "one", "uid": "1", "finalizers": ["protection"]}
    desired = DesiredState()
    nothing = desired.text({"1"})
    desired.record(path, {"metadata": metadata}, request_body=b'{"metadata":{"name":"one"}}')
    desired.withdraw(path)
    assert desired.text({"1"}) == nothing


async def held_for_a_while(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", spec=AppSpec()))
    await cluster.settle()
    held = App.named("two", spec=AppSpec())
    held.metadata.finalizers = ["example.com/hold"]
    for _ in range(2):
        await cluster.create(held)
        await cluster.settle()
        await cluster.delete(await cluster.get(App, "two"))
        await cluster.settle()
        await cluster.client.patch(App, "two", {"metadata": {"finalizers": None}})
        await cluster.settle()


def test_an_object_that_users_hold_and_let_go_is_no_trace() -> None:
    check(held_for_a_while, controllers, budget=Budget(runs=10))


async def held_to_the_end(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", spec=AppSpec()))
    await cluster.settle()
    held = App.named("two", spec=AppSpec())
    held.metadata.finalizers = ["example.com/hold"]
    await cluster.create(held)
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "two"))
    await cluster.settle()
    await cluster.apply(App.named("three", spec=AppSpec()))
    await cluster.settle()


def test_an_object_that_users_hold_to_the_end_is_no_trace() -> None:
    check(held_to_the_end, controllers, budget=Budget(runs=8))


async def keeps_what_it_made(app: App, ctx: sp.Context) -> None:
    with suppress(AlreadyExists):
        await ctx.client.create(ConfigMap.named(f"of-{app.name}", "default"))


async def forgets(_app: App, _ctx: sp.Context) -> None:
    pass


async def with_the_controllers_finalizer(cluster: sp.testing.Cluster) -> None:
    app = App.named("one", spec=AppSpec())
    app.metadata.finalizers = ["example.com/clean"]
    await cluster.settle()
    await cluster.create(app)
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()


def test_what_is_left_behind_is_found_though_users_name_the_finalizer_of_the_controller() -> None:
    def program() -> list[sp.Controller[Any]]:
        return [sp.Controller(App, keeps_what_it_made).finalize(forgets, name="example.com/clean")]

    with pytest.raises(Counterexample, match=r"\[paths\].*configmaps default/of-one was <absent>.*and is present"):
        check(with_the_controllers_finalizer, program, budget=Budget(runs=10))


PLAINS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "plains.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Plain", "plural": "plains"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""A kind without a status subresource."""


async def statuses_without_a_subresource(cluster: sp.testing.Cluster) -> None:
    path = "/apis/example.com/v1/namespaces/default/plains/one"
    apply, query = "application/apply-patch+yaml", [("fieldManager", "users"), ("force", "true")]
    for status in ("{phase: A}", "{phase: B}", "A", "[1]"):
        body = f"apiVersion: example.com/v1\nkind: Plain\nmetadata: {{name: one}}\nstatus: {status}\n"
        await cluster.client.request("PATCH", path, query=query, body=body.encode(), content_type=apply)
        await cluster.settle()
        await cluster.apply(App.named("one", spec=AppSpec(size=2)))
        await cluster.settle()


async def dry_runs(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", spec=AppSpec()))
    await cluster.settle()
    await cluster.apply(App.named("two", spec=AppSpec()))
    await cluster.settle()
    await cluster.client.delete(await cluster.get(App, "two"), dry_run=True)
    await cluster.client.create(App.named("three", spec=AppSpec()), dry_run=True)
    await cluster.settle()
    await cluster.apply(App.named("one", spec=AppSpec(size=2)))
    await cluster.settle()


async def writes_into_a_namespace_that_goes(cluster: sp.testing.Cluster) -> None:
    async def is_gone() -> bool:
        return await cluster.find(Namespace, "team") is None

    for _ in range(2):
        await cluster.apply(Namespace.named("team"))
        await cluster.settle()
        await cluster.apply(App.named("one", "team", spec=AppSpec()))
        await cluster.settle()
        await cluster.client.patch(App, "one", {"metadata": {"labels": {"a": "b"}}}, namespace="team")
        await cluster.settle()
        await cluster.delete(await cluster.get(Namespace, "team"))
        await cluster.client.patch(App, "one", {"metadata": {"labels": {"a": "b"}}}, namespace="team")
        await cluster.until(is_gone)
        await cluster.settle()


async def comes_again_at_once(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", spec=AppSpec()))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.apply(App.named("one", spec=AppSpec(size=2)))
    await cluster.settle()


@pytest.mark.parametrize(
    "scenario",
    [statuses_without_a_subresource, dry_runs, writes_into_a_namespace_that_goes, comes_again_at_once],
)
def test_scenarios_of_users_lead_to_no_alarm(scenario: Any) -> None:
    async def clean(app: App, ctx: sp.Context) -> None:
        for config_map in await ctx.list(ConfigMap):
            if config_map.name == f"{app.name}-made":
                await ctx.delete(config_map)

    def program() -> list[sp.Controller[Any]]:
        return [sp.Controller(App, keeps_config).owns(ConfigMap).finalize(clean)]

    check(scenario, program, crds=[App, PLAINS], budget=Budget(runs=20))


def test_an_annotation_that_a_controller_writes_on_a_users_object_is_not_desired() -> None:
    desired, path = DesiredState(), "/api/v1/configmaps/one"
    theirs = {"metadata": {"name": "one", "annotations": {"colour": "red"}}}
    noted = {"metadata": {"name": "one", "annotations": {"colour": "red", "state": "done"}}}
    desired.record(path, theirs)
    first = desired.text(())
    desired.record(path, noted, noted, request_body=b'{"metadata":{"name":"one"}}')
    assert desired.text(()) == first
    green = {"metadata": {"name": "one", "annotations": {"colour": "green", "state": "done", "size": "1"}}}
    desired.record(path, green, noted)
    (document,) = desired.documents()
    assert document["metadata"]["annotations"] == {"colour": "green", "size": "1"}
    desired.record(path, {"metadata": {"name": "one", "annotations": {"state": "done"}}}, green)
    assert desired.documents() == [{"metadata": {"name": "one"}}]
