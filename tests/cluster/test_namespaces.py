"""Namespaces that are deleted: in which order they are emptied, and what they say meanwhile."""

from __future__ import annotations

from typing import Any

from setpoint.client import Client, Forbidden, InProcessTransport
from setpoint.cluster import ControlPlane
from setpoint.meta import from_wire
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod
from setpoint.testing import Cluster, Faults, advance, cluster, virtual_time


def pod(name: str, namespace: str, **metadata: Any) -> Pod:
    spec = {"containers": [{"name": "main", "image": "web:1"}]}
    return from_wire(Pod, {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": spec})


async def conditions(world: Cluster, name: str) -> dict[str, tuple[str, str | None, str | None]]:
    current_conditions = (await world.get(Namespace, name)).status.conditions
    return {
        current_condition.type: (current_condition.status, current_condition.reason, current_condition.message)
        for current_condition in current_conditions
    }


@virtual_time
async def test_pods_end_before_anything_else_of_a_namespace_goes() -> None:
    notes = {"hollow.setpoint.io/stop-seconds": "20"}
    async with cluster() as world:
        namespace = await world.create(Namespace.named("shop"))
        await world.create(ConfigMap.named("settings", "shop"))
        await world.create(pod("web", "shop", annotations=notes))
        await world.settle()
        await world.delete(namespace)
        await advance(10)
        assert not (await world.get(ConfigMap, "settings", "shop")).is_deleting, "the pod still reads it"
        current_conditions = await conditions(world, "shop")
        message = "Some resources are remaining: pods. has 1 resource instances"
        assert current_conditions["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain", message)
        await advance(15)
        assert await world.find(Namespace, "shop") is None
        assert [config_map for config_map in await world.list(ConfigMap) if config_map.namespace == "shop"] == []


@virtual_time
async def test_a_namespace_says_what_it_waits_for_and_that_the_rest_is_well() -> None:
    async with cluster(nodes=0) as world:
        namespace = await world.create(Namespace.named("shop"))
        for name in ("a", "b"):
            held = ConfigMap.named(name, "shop")
            held.metadata.finalizers = ["example.com/hold", f"example.com/{name}"]
            await world.create(held)
        await world.delete(namespace)
        await advance(5)
        assert await conditions(world, "shop") == {
            "NamespaceDeletionDiscoveryFailure": (
                "False", "ResourcesDiscovered", "All resources successfully discovered",
            ),
            "NamespaceDeletionGroupVersionParsingFailure": (
                "False", "ParsedGroupVersions", "All legacy kube types successfully parsed",
            ),
            "NamespaceDeletionContentFailure": (
                "False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization",
            ),
            "NamespaceContentRemaining": (
                "True", "SomeResourcesRemain", "Some resources are remaining: configmaps. has 2 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True", "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances, "
                "example.com/b in 1 resource instances, example.com/hold in 2 resource instances",
            ),
        }  # fmt: skip
        since = {
            condition.type: condition.last_transition_time
            for condition in (await world.get(Namespace, "shop")).status.conditions
        }
        one = await world.get(ConfigMap, "a", "shop")
        one.metadata.finalizers = []
        await world.update(one)
        await advance(5)
        current_conditions = (await world.get(Namespace, "shop")).status.conditions
        assert {
            current_condition.type: current_condition.last_transition_time for current_condition in current_conditions
        } == since, "no condition became another"
        assert any(
            "configmaps. has 1 resource instances" in (current_condition.message or "")
            for current_condition in current_conditions
        )


@virtual_time
async def test_a_namespace_whose_pods_can_not_be_listed_stays_and_says_so() -> None:
    async with cluster(control_plane=False) as world:
        faults = Faults(InProcessTransport(world.server.handle))
        faults.fail(Pod, Forbidden, verb="list", times=2, message="not today")
        client = Client(faults, random=world.random)
        async with ControlPlane(client, nodes=0, controllers=["namespace"], now=world.now, random=world.random):
            await world.delete(await world.create(Namespace.named("shop")))
            await advance(0.5)
            current_conditions = await conditions(world, "shop")
            message = "Failed to delete all resource types, 1 remaining: not today"
            assert current_conditions["NamespaceDeletionContentFailure"] == ("True", "ContentDeletionFailed", message)
            await advance(10)
            assert await world.find(Namespace, "shop") is None
