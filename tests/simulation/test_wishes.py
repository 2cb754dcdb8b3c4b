"""Wishes: what users have deleted, and what goes with it, is not wished for any more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.simulation import Budget, check
from setpoint.simulation.wishes import Wishes

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
    wishes = Wishes()
    for name in "abc":
        wishes.wished(f"/api/v1/configmaps/{name}", document(name))
    wishes.taken_back("/api/v1/configmaps/c")
    assert wishes.lost({"uid-a"}) == [{"metadata": {"name": "b"}}]


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
    wishes = Wishes()
    for path in WISHED:
        wishes.wished(path, document(path))
    wishes.taken_back(deleted)
    assert wishes.paths() == sorted(left)


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
    wishes = Wishes()
    nothing = wishes.text()
    wishes.wished(path, {"metadata": theirs})
    wishes.wished(path, {"metadata": both, "data": {}}, {"metadata": both})
    wishes.taken_back(path)
    held = wishes.text()
    assert held != nothing
    assert wishes.paths() == wishes.lost(()) == []
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    wishes.wished(path, {"metadata": {**both, **leaving, "labels": {"a": "b"}}}, {"metadata": both | leaving})
    assert wishes.text() == held
    released = {**both, **leaving, "finalizers": ["controller"]}
    wishes.wished(path, {"metadata": released}, {"metadata": both | leaving})
    assert wishes.text() == nothing


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
