"""Every verb against a whole API server."""

from __future__ import annotations

import asyncio
import base64

import pytest

from setpoint.client import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Client,
    Conflict,
    Invalid,
    NoMatchError,
    NotFound,
    PatchType,
    dynamic,
    metadata_only,
    retry_on_conflict,
)
from setpoint.meta import GroupKind, LabelSelector, ObjectMeta, Status
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec, ServiceAccount


def config_map(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def pod(name: str, namespace: str) -> Pod:
    spec = PodSpec(containers=[Container(name="main", image="registry.k8s.io/pause:3.9")])
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels={"app": "x"}), spec=spec)


async def test_an_object_is_created_read_changed_and_deleted(client: Client, namespace: str) -> None:
    new_config_map = await client.create(config_map("a", namespace, k="v"))
    assert new_config_map.uid
    assert (await client.get(ConfigMap, "a", namespace=namespace)).data == {"k": "v"}
    new_config_map.data["k"] = "w"
    changed = await client.update(new_config_map)
    assert changed.data == {"k": "w"}
    assert changed.metadata.resource_version != new_config_map.metadata.resource_version
    gone = await client.delete(changed)
    assert isinstance(gone, Status) or gone.uid == new_config_map.uid
    with pytest.raises(NotFound, match=rf'get configmaps {namespace}/a: NotFound \(404\): configmaps "a" not found'):
        await client.get(ConfigMap, "a", namespace=namespace)


async def test_an_update_of_what_somebody_else_changed_is_a_conflict_and_can_be_retried(
    client: Client, namespace: str
) -> None:
    mine = await client.create(config_map("a", namespace, k="v"))
    await client.patch(ConfigMap, "a", {"data": {"other": "x"}}, namespace=namespace)
    mine.data["k"] = "w"
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update(mine)
    with pytest.raises(Conflict):
        await client.replace(mine)

    async def attempt() -> ConfigMap:
        fresh = await client.get(ConfigMap, "a", namespace=namespace)
        fresh.data["k"] = "w"
        return await client.update(fresh)

    assert (await retry_on_conflict(attempt)).data == {"k": "w", "other": "x"}


async def test_a_name_that_is_taken_and_an_object_that_is_invalid(client: Client, namespace: str) -> None:
    await client.create(config_map("a", namespace))
    with pytest.raises(AlreadyExists, match=r'create configmaps .*: configmaps "a" already exists'):
        await client.create(config_map("a", namespace))
    bad = pod("p", namespace)
    bad.spec.containers[0].name = "Not Valid"
    with pytest.raises(Invalid) as caught:
        await client.create(bad)
    assert [cause.field for cause in caught.value.causes] == ["spec.containers[0].name"]


async def test_what_the_model_does_not_know_survives_an_update(client: Client, namespace: str) -> None:
    kind = dynamic(ConfigMap.resource)
    result = await client.create(kind.of({"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "v"}}))
    small = await client.get(metadata_only(ConfigMap), "a", namespace=namespace)
    small.labels["l"] = "v"
    await client.update(small)
    obj = await client.get(kind, "a", namespace=namespace)
    assert (obj["data"], obj.labels, obj.uid) == ({"k": "v"}, {"l": "v"}, result.uid)


async def test_every_form_of_patch(client: Client, namespace: str) -> None:
    await client.create(pod("p", namespace))
    for kind, patch, labels in (
        (PatchType.MERGE, {"metadata": {"labels": {"a": "1"}}}, {"app": "x", "a": "1"}),
        (PatchType.JSON, [{"op": "remove", "path": "/metadata/labels/a"}], {"app": "x"}),
        (PatchType.STRATEGIC, {"metadata": {"labels": {"b": "2"}}}, {"app": "x", "b": "2"}),
    ):
        patched = await client.patch(Pod, "p", patch, type=kind, namespace=namespace)  # type: ignore[arg-type]
        assert patched.labels == labels
    with pytest.raises(ApiError):
        await client.patch(
            Pod, "p", [{"op": "test", "path": "/kind", "value": "x"}], type=PatchType.JSON, namespace=namespace
        )


async def test_apply_owns_its_fields_and_meets_other_owners(client: Client, namespace: str) -> None:
    await client.apply(config_map("a", namespace, k="v", gone="x"), field_manager="one")
    applied = await client.apply(config_map("a", namespace, k="v"), field_manager="one")
    assert applied.data == {"k": "v"}
    with pytest.raises(Conflict) as caught:
        await client.apply(config_map("a", namespace, k="w"), field_manager="two", force=False)
    (cause,) = caught.value.causes
    assert (cause.reason, cause.field) == ("FieldManagerConflict", ".data.k")
    assert "one" in cause.message
    taken = await client.apply(config_map("a", namespace, k="w"), field_manager="two")
    assert taken.data == {"k": "w"}
    assert {entry.manager for entry in taken.metadata.managed_fields} >= {"two"}


async def test_what_was_read_can_be_applied(client: Client, namespace: str) -> None:
    await client.create(pod("p", namespace))
    read = await client.get(Pod, "p", namespace=namespace)
    read.annotations["a"] = "b"
    assert (await client.apply(read)).annotations["a"] == "b"


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    events: list[str] = []
    client.on_write(lambda record: events.append(record.verb))
    await client.create(config_map("a", namespace), dry_run=True)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a", namespace=namespace)
    assert events == []


async def test_a_field_that_does_not_exist_is_refused_when_asked_to(
    client: Client, namespace: str, version: tuple[int, int]
) -> None:
    if version < (1, 25):
        pytest.skip(f"field validation came with 1.25, this is {version[0]}.{version[1]}")
    kind = dynamic(ConfigMap.resource)
    wrong = kind.of({"metadata": {"name": "a", "namespace": namespace}, "dta": {}})
    with pytest.raises(BadRequest, match='unknown field "dta"'):
        await client.create(wrong, field_validation="Strict")


async def test_a_delete_by_an_old_uid_does_not_hit_the_new_object(client: Client, namespace: str) -> None:
    old = await client.create(config_map("a", namespace))
    await client.delete(old)
    new = await client.create(config_map("a", namespace))
    with pytest.raises(Conflict, match="UID in the precondition"):
        await client.delete(old)
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, "a", namespace=namespace, resource_version="1")
    await client.delete(ConfigMap, "a", namespace=namespace, uid=new.uid)


async def test_lists_select_and_page_and_are_deleted_together(client: Client, namespace: str) -> None:
    for number in range(7):
        new_config_map = config_map(f"c{number}", namespace)
        new_config_map.labels["parity"] = "even" if number % 2 == 0 else "odd"
        await client.create(new_config_map)
    even = await client.list(ConfigMap, namespace=namespace, selector="parity=even")
    assert [entry.name for entry in even] == ["c0", "c2", "c4", "c6"]
    (one,) = await client.list(ConfigMap, namespace=namespace, field_selector={"metadata.name": "c3"})
    assert one.name == "c3"
    page = await client.list(ConfigMap, namespace=namespace, selector="parity", limit=3)
    assert (len(page), bool(page.metadata.continue_), page.metadata.remaining_item_count) in (
        (3, True, None),
        (3, True, 4),
    )
    paged = [entry.name async for entry in client.pages(ConfigMap, namespace=namespace, selector="parity", limit=2)]
    assert paged == [f"c{number}" for number in range(7)]
    partial = [entry async for entry in client.pages(metadata_only(ConfigMap), namespace=namespace, selector="parity")]
    assert len(partial) == 7
    await client.delete_all(ConfigMap, namespace=namespace, selector="parity=odd")
    assert len(await client.list(ConfigMap, namespace=namespace, selector="parity")) == 4


async def test_a_watch_goes_on_where_the_list_ended(client: Client, namespace: str) -> None:
    start = (await client.list(ConfigMap, namespace=namespace)).metadata.resource_version
    async with client.watch(ConfigMap, namespace=namespace, resource_version=start, selector="w") as events:
        new_config_map = config_map("a", namespace)
        new_config_map.labels["w"] = "1"
        new_config_map = await client.create(new_config_map)
        new_config_map.data["k"] = "v"
        await client.update(new_config_map)
        await client.delete(ConfigMap, "a", namespace=namespace)
        seen = []
        async with asyncio.timeout(60):
            async for event in events:
                if event.type != "BOOKMARK":
                    assert isinstance(event.object, ConfigMap)
                    seen.append((event.type, event.object.name, event.object.data.get("k")))
                if len(seen) == 3:
                    break
    assert seen == [("ADDED", "a", None), ("MODIFIED", "a", "v"), ("DELETED", "a", "v")]


async def test_a_deployment_is_scaled(client: Client, namespace: str) -> None:
    labels = {"app": "d"}
    spec = DeploymentSpec(
        replicas=1,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod("x", namespace).spec),
    )
    await client.create(Deployment(metadata=ObjectMeta(name="d", namespace=namespace), spec=spec))
    scale = await client.get_scale(Deployment, "d", namespace=namespace)
    assert scale.spec.replicas == 1
    scaled = await client.patch_scale(Deployment, "d", 0, namespace=namespace)
    assert not scaled.spec.replicas
    assert (await client.get(Deployment, "d", namespace=namespace)).spec.replicas == 0


async def test_status_and_spec_are_written_apart(client: Client, namespace: str) -> None:
    new_pod = await client.create(pod("p", namespace))
    new_pod.status.message = "hello"
    new_pod.labels["not"] = "this"
    written = await retry_on_conflict(lambda: _set_message(client, namespace))
    assert written.status.message == "hello"


async def _set_message(client: Client, namespace: str) -> Pod:
    fresh = await client.get(Pod, "p", namespace=namespace)
    fresh.status.message = "hello"
    return await client.update_status(fresh)


async def test_a_pod_is_evicted(client: Client, namespace: str) -> None:
    new_pod = await client.create(pod("p", namespace))
    assert (await client.evict(new_pod, grace_period_seconds=0)).status == "Success"


async def test_a_service_account_gets_a_token(client: Client, namespace: str) -> None:
    await client.create(ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    token = await client.create_token("robot", namespace=namespace, expiration_seconds=600)
    payload = (token.status.token or "").split(".")[1]
    assert b"robot" in base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


async def test_resources_are_found_by_every_name(client: Client) -> None:
    mapper = client.rest_mapper
    assert (await mapper.resource("po")).kind == "Pod"
    assert (await mapper.resource("deployments.apps")).version == "v1"
    assert (await mapper.for_kind(GroupKind("apps", "Deployment"))).plural == "deployments"
    assert "pods" in [entry.plural for entry in await mapper.category("all")]
    assert "status" in (await mapper.resource("pods")).subresources
    with pytest.raises(NoMatchError):
        await mapper.resource("nosuchthings")


async def test_a_kind_that_was_defined_a_moment_ago_can_be_used(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    crds = dynamic(await client.rest_mapper.resource("customresourcedefinitions"))
    definition = await client.create(
        crds.of(
            {
                "metadata": {"name": f"gizmos.{group}"},
                "spec": {
                    "group": group,
                    "scope": "Namespaced",
                    "names": {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"},
                    "versions": [
                        {
                            "name": "v1",
                            "served": True,
                            "storage": True,
                            "schema": {
                                "openAPIV3Schema": {
                                    "type": "object",
                                    "properties": {
                                        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}
                                    },
                                }
                            },
                        }
                    ],
                },
            }
        )
    )
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    gizmos = dynamic(await client.rest_mapper.resource(f"gizmos.{group}"))
                    result = await client.create(
                        gizmos.of({"metadata": {"name": "g", "namespace": namespace}, "spec": {"size": 1, "pruned": 2}})
                    )
                    break
                except (NoMatchError, NotFound):
                    await asyncio.sleep(0.3)
        assert result["spec"] == {"size": 1}
        result["spec"]["size"] = 2
        assert (await client.update(result))["spec"] == {"size": 2}
        (listed,) = await client.list(gizmos, namespace=namespace)
        assert listed.kind == "Gizmo"
    finally:
        await client.delete(definition)


async def test_deadlines_hold_against_a_real_server_too(client: Client, namespace: str) -> None:
    async with client.watch(ConfigMap, namespace=namespace, resource_version="0", timeout_seconds=1) as events:
        async with asyncio.timeout(60):
            kinds = {event.type async for event in events}
    assert kinds <= {"ADDED", "BOOKMARK"}
