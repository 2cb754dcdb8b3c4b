"""A container starts when the Secrets, ConfigMaps and keys that it names are there, and a pod when its volumes are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.nodes.test_pod_lifecycle import look
from tests.cluster.scheduling.pods import events_of, pod

from setpoint.meta import from_wire
from setpoint.models.core_v1 import ConfigMap, Container, Pod, Secret
from setpoint.testing import Cluster, cluster, virtual_time

SECRET = {"secretKeyRef": {"name": "config", "key": "k"}}
MAP = {"configMapKeyRef": {"name": "config", "key": "k"}}
UNCONFIGURED = ("Pending", ["CreateContainerConfigError"])
CREATING = ("Pending", ["ContainerCreating"])
RUNNING = ("Running", ["running"])


def with_container(**fields: Any) -> Pod:
    new_pod = pod("a")
    new_pod.spec.containers = [from_wire(Container, {"name": "main", "image": "web:1", **fields})]
    return new_pod


def with_volume(**volume: Any) -> Pod:
    document = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"volumes": [{"name": "v", **volume}]}}
    pod = from_wire(Pod, document)
    pod.spec.containers = [Container(name="main", image="web:1")]
    return pod


async def provide(world: Cluster, kind: type[Secret | ConfigMap], key: str) -> None:
    encoded = "dg==" if kind is Secret else "v"
    metadata = {"name": "config", "namespace": "default"}
    await world.create(from_wire(kind, {"metadata": metadata, "data": {key: encoded}}))
    await world.settle()


@pytest.mark.parametrize(
    ("container", "kind", "message"),
    [
        ({"env": [{"name": "A", "valueFrom": SECRET}]}, Secret, 'secret "config" not found'),
        ({"env": [{"name": "A", "valueFrom": MAP}]}, ConfigMap, 'configmap "config" not found'),
        ({"envFrom": [{"secretRef": {"name": "config"}}]}, Secret, 'secret "config" not found'),
        ({"envFrom": [{"configMapRef": {"name": "config"}}]}, ConfigMap, 'configmap "config" not found'),
    ],
)
@virtual_time
async def test_a_container_waits_for_what_its_variables_name(
    container: dict[str, Any], kind: type[Secret | ConfigMap], message: str
) -> None:
    async with cluster() as world:
        await world.create(with_container(**container))
        await world.settle()
        assert await look(world) == UNCONFIGURED
        assert [event for event in await events_of(world, "a") if event[1] == "Failed"] == [
            ("Warning", "Failed", f"Error: {message}")
        ]
        await provide(world, kind, "k")
        assert await look(world) == RUNNING


@pytest.mark.parametrize(
    ("value", "kind", "name"), [(SECRET, Secret, "Secret"), (MAP, ConfigMap, "ConfigMap")], ids=["secret", "map"]
)
@virtual_time
async def test_a_container_waits_for_the_key_that_it_names(
    value: dict[str, Any], kind: type[Secret | ConfigMap], name: str
) -> None:
    async with cluster() as world:
        await world.create(with_container(env=[{"name": "A", "valueFrom": value}]))
        await provide(world, kind, "other")
        pod = await world.get(Pod, "a")
        state = pod.status.container_statuses[0].state
        assert state is not None
        assert state.waiting is not None
        assert state.waiting.message == f"couldn't find key k in {name} default/config"
        obj = await world.get(kind, "config")
        await world.client.patch(kind, obj.name, {"data": {"k": "dg=="}}, namespace="default")
        await world.settle()
        assert await look(world) == RUNNING


@pytest.mark.parametrize(
    ("volume", "kind", "problem"),
    [
        ({"secret": {"secretName": "config"}}, Secret, 'secret "config" not found'),
        ({"configMap": {"name": "config"}}, ConfigMap, 'configmap "config" not found'),
        ({"projected": {"sources": [{"secret": {"name": "config"}}]}}, Secret, 'secret "config" not found'),
        ({"projected": {"sources": [{"configMap": {"name": "config"}}]}}, ConfigMap, 'configmap "config" not found'),
    ],
)
@virtual_time
async def test_a_pod_waits_for_its_volumes(
    volume: dict[str, Any], kind: type[Secret | ConfigMap], problem: str
) -> None:
    async with cluster() as world:
        await world.create(with_volume(**volume))
        await world.settle()
        assert await look(world) == CREATING
        assert [event for event in await events_of(world, "a") if event[1] == "FailedMount"] == [
            ("Warning", "FailedMount", f'MountVolume.SetUp failed for volume "v" : {problem}')
        ]
        await provide(world, kind, "k")
        assert await look(world) == RUNNING


@virtual_time
async def test_a_volume_waits_for_the_keys_that_it_names() -> None:
    async with cluster() as world:
        await world.create(with_volume(secret={"secretName": "config", "items": [{"key": "k", "path": "p"}]}))
        await provide(world, Secret, "other")
        assert await look(world) == CREATING
        events = [event[2] for event in await events_of(world, "a") if event[1] == "FailedMount"]
        assert events[-1] == 'MountVolume.SetUp failed for volume "v" : references non-existent secret key: k'


@pytest.mark.parametrize(
    "expected",
    [
        with_container(envFrom=[{"configMapRef": {"name": "config", "optional": True}}]),
        with_container(
            env=[{"name": "A", "valueFrom": {"secretKeyRef": {**SECRET["secretKeyRef"], "optional": True}}}]
        ),
        with_volume(secret={"secretName": "config", "optional": True}),
    ],
    ids=["map", "key", "volume"],
)
@virtual_time
async def test_nothing_waits_for_what_is_optional(expected: Pod) -> None:
    async with cluster() as world:
        await world.create(expected)
        await world.settle()
        assert await look(world) == RUNNING


@virtual_time
async def test_a_pod_that_waits_can_be_deleted_and_is_forgotten() -> None:
    async with cluster() as world:
        await world.delete(await world.create(with_container(envFrom=[{"secretRef": {"name": "config"}}])))
        await world.settle()
        assert await world.find(Pod, "a") is None
        await provide(world, Secret, "k")


@virtual_time
async def test_the_status_says_that_a_deleted_pod_has_ended_before_it_goes() -> None:
    async with cluster() as world:
        new_pod = pod("a")
        new_pod.spec.termination_grace_period_seconds = 30
        new_pod = await world.create(new_pod)
        await world.settle()
        seen = []
        async with world.client.watch(Pod, namespace="default") as events:
            await world.delete(new_pod)
            async for event in events:
                obj = event.object
                ready = next(
                    (condition.status for condition in obj.status.conditions if condition.type == "Ready"), None
                )
                seen.append((event.type, obj.is_deleting, obj.status.phase, ready))
                if event.type == "DELETED":
                    break
        assert ("MODIFIED", True, "Failed", "False") in seen
        assert seen[-1] == ("DELETED", True, "Failed", "False")
