"""From client-side to server-side apply: who owns which fields afterwards, and what an apply then removes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport, NotFound
from setpoint.meta import ObjectKey, plain, raw_of
from setpoint.models.core_v1 import ConfigMap
from setpoint.patch.managed_fields_migration import migrated, migration_patch
from setpoint.testing import cluster, virtual_time

KUBECTL = "kubectl-client-side-apply"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def entry(manager: str, operation: str, fields: Any, *, api: str = "v1", subresource: str = "") -> dict[str, Any]:
    result = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**result, "subresource": subresource} if subresource else result


def data(*names: str) -> dict[str, Any]:
    return {"f:data": {f"f:{name}": {} for name in names}}


def told(entries: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    return [(entry["manager"], entry["operation"], sorted(entry["fieldsV1"].get("f:data", {}))) for entry in entries]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([entry("old", "Update", data("a"))], [("new", "Apply", ["f:a"])]),
        (
            [entry("new", "Apply", data("b")), entry("old", "Update", data("a"))],
            [("new", "Apply", ["f:a", "f:b"])],
        ),
        (
            [
                entry("other", "Update", data("x")),
                entry("old", "Update", data("a")),
                entry("third", "Apply", data("y")),
            ],
            [("other", "Update", ["f:x"]), ("new", "Apply", ["f:a"]), ("third", "Apply", ["f:y"])],
        ),
        (
            [entry("old", "Update", data("a")), entry("older", "Update", data("b"))],
            [("new", "Apply", ["f:a", "f:b"])],
        ),
        (
            [entry("old", "Update", data("a"), subresource="status")],
            [("old", "Update", ["f:a"])],
        ),
        ([entry("old", "Apply", data("a"))], [("old", "Apply", ["f:a"])]),
        (
            [entry("new", "Apply", data("b"), api="v2"), entry("old", "Update", data("a"))],
            [("new", "Apply", ["f:b"])],
        ),
        ([], []),
    ],
)
def test_fields_of_updates_become_those_of_the_manager_that_applies(before: Any, after: Any) -> None:
    result = migrated(before, ("old", "older"), "new")
    assert told(result) == after
    assert migrated(result, ("old", "older"), "new") == result
    patch = migration_patch({"metadata": {"managedFields": before, "resourceVersion": "7"}}, ("old", "older"), "new")
    if told(before) == after:
        assert patch is None
    else:
        assert patch is not None
        assert patch[0]["value"] == result
        assert patch[1] == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_the_annotation_of_client_side_apply_is_not_taken_over() -> None:
    annotations = {"f:metadata": {"f:annotations": {".": {}, f"f:{LAST}": {}, "f:mine": {}}}}
    (result,) = migrated([entry(KUBECTL, "Update", annotations)], [KUBECTL], "new")
    assert result["fieldsV1"] == {"f:metadata": {"f:annotations": {".": {}, "f:mine": {}}}}


def test_a_string_is_not_a_collection_of_managers() -> None:
    with pytest.raises(ValueError, match=r"such as \('old',\)"):
        migrated([], "old", "new")


@virtual_time
async def test_after_taking_over_an_apply_removes_what_it_no_longer_names() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle), namespace="default") as client:
        config_map = await client.create(ConfigMap.named("a", data={"keep": "1", "drop": "2"}), field_manager=KUBECTL)
        await client.patch(ConfigMap, "a", {"data": {"others": "3"}}, field_manager="somebody-else")
        wanted = ConfigMap.named("a", "default", data={"keep": "1"})
        untouched = await client.apply(wanted, field_manager="new")
        assert set(untouched.data) == {"keep", "drop", "others"}, "what this is about"
        result = await client.take_over(config_map, [KUBECTL], field_manager="new")
        managers = [
            (managed_field["manager"], managed_field["operation"])
            for managed_field in plain(raw_of(result) or b"")["metadata"]["managedFields"]
        ]
        assert sorted(managers) == [("new", "Apply"), ("somebody-else", "Update")]
        again = await client.take_over(config_map, [KUBECTL], field_manager="new")
        assert again.metadata.resource_version == result.metadata.resource_version, "nothing is left to do"
        assert set((await client.apply(wanted, field_manager="new")).data) == {"keep", "others"}
        with pytest.raises(NotFound):
            await client.take_over(ConfigMap.named("absent"), [KUBECTL])


@virtual_time
async def test_a_context_takes_over_what_an_earlier_version_of_its_program_updated() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        child = ConfigMap.named("child", data={"keep": "1"})
        await ctx.apply(child, takes_over=["earlier"])

    controller = sp.Controller(ConfigMap, reconcile, field_selector={"metadata.name": "a"}, name="it")
    async with cluster(controller, control_plane=False) as world:
        await world.client.create(ConfigMap.named("child", data={"keep": "0", "drop": "2"}), field_manager="earlier")
        await world.create(ConfigMap.named("a"))
        await world.settle()
        assert (await world.get(ConfigMap, "child")).data == {"keep": "1"}
        gets = world.manager.client.answers["GET", "200"]
        await world.client.patch(ConfigMap, "a", {"data": {"x": "y"}})
        await world.settle()
        assert world.running("it").memory.has_taken_over(
            ObjectKey("default/a"), (ConfigMap.resource.gvr, ObjectKey("default/child"))
        )
        assert world.manager.client.answers["GET", "200"] - gets <= 1
        await asyncio.sleep(0)


def test_the_order_in_which_managers_are_named_decides_nothing() -> None:
    entries = [entry("y", "Update", data("a"), api="v1"), entry("x", "Update", data("b"), api="v2")]
    for managers in (("x", "y"), ("y", "x"), {"x", "y"}):
        (left,) = migrated(entries, managers, "new")
        assert (left["operation"], left["apiVersion"]) == ("Apply", "v1"), "the first entry becomes that of the apply"


def test_an_entry_that_stays_does_not_decide_which_entry_becomes_that_of_the_apply() -> None:
    entries = [
        entry("a", "Update", data("s"), subresource="status"),
        entry("b", "Update", data("b"), api="v1"),
        entry("a", "Update", data("a"), api="v1beta1"),
    ]
    stays, result = migrated(entries, {"a", "b"}, "new")
    assert stays == entries[0]
    assert (result["operation"], result["apiVersion"]) == ("Apply", "v1")
