"""Only resources with objects are watched, and no object is missed by a watch that begins late."""

from __future__ import annotations

import asyncio

import setpoint as sp
from setpoint.cluster.first_object_watch import FirstObjects
from setpoint.meta import resource_of
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, LimitRange, ResourceQuota, Secret
from setpoint.testing import Cluster, cluster, virtual_time


def watched(world: Cluster) -> set[str]:
    return {watch.served.resource.plural for watch in world.server.watches}


@virtual_time
async def test_a_resource_is_watched_from_its_first_object_on() -> None:
    async with cluster() as world:
        await world.settle()
        assert "namespaces" in watched(world)
        assert not watched(world) & {"deployments", "ingresses", "limitranges", "podtemplates", "roles"}
        await world.create(LimitRange.named("first"))
        await world.settle()
        assert "limitranges" in watched(world)
        assert "podtemplates" not in watched(world)


@virtual_time
async def test_the_first_dependent_of_a_kind_goes_with_its_owner() -> None:
    async with cluster() as world:
        owner = await world.create(ConfigMap.named("owner"))
        dependent = LimitRange.named("dependent", "default")
        dependent.metadata.owner_references = [owner.owner_reference(block_owner_deletion=True)]
        await world.settle()
        await world.create(dependent)
        await world.client.delete(owner, propagation="Background")
        await world.settle()
        assert await world.find(LimitRange, "dependent") is None


@virtual_time
async def test_an_owner_waits_for_the_first_dependent_of_a_kind() -> None:
    async with cluster() as world:
        owner = await world.create(ConfigMap.named("owner"))
        await world.settle()
        dependent = LimitRange.named("dependent", "default")
        dependent.metadata.finalizers = ["test.example.com/slow"]
        dependent.metadata.owner_references = [owner.owner_reference(block_owner_deletion=True)]
        await world.create(dependent)
        await world.client.delete(owner, propagation="Foreground")
        await world.settle()
        assert await world.find(ConfigMap, "owner") is not None
        await world.client.patch(LimitRange, "dependent", {"metadata": {"finalizers": None}})
        await world.settle()
        assert await world.find(ConfigMap, "owner") is None
        assert await world.find(LimitRange, "dependent") is None


@virtual_time
async def test_dependents_of_kinds_that_appear_together_are_orphaned() -> None:
    async with cluster() as world:
        owner = await world.create(ConfigMap.named("owner"))
        await world.settle()
        for dependent in (Secret.named("secret"), LimitRange.named("limits"), ResourceQuota.named("quota")):
            dependent.metadata.owner_references = [owner.owner_reference()]
            await world.create(dependent)
        await world.client.delete(owner, propagation="Orphan")
        await world.settle()
        assert await world.find(ConfigMap, "owner") is None
        for kind, name in ((Secret, "secret"), (LimitRange, "limits"), (ResourceQuota, "quota")):
            assert not (await world.get(kind, name)).metadata.owner_references


@virtual_time
async def test_an_object_is_expected_once_and_not_after_the_end() -> None:
    async with cluster(control_plane=False) as world:
        calls: list[str] = []
        first_objects = FirstObjects(world.server)
        limits, deployments = resource_of(LimitRange), resource_of(Deployment)
        assert first_objects.expect(limits, lambda: calls.append("limits")) is not None
        end = first_objects.expect(deployments, lambda: calls.append("deployments"))
        assert end is not None
        end()
        for name in ("first", "second"):
            await world.create(LimitRange.named(name))
        assert calls == ["limits"]
        assert first_objects.expect(limits, lambda: calls.append("again")) is None


@virtual_time
async def test_what_the_server_does_not_store_is_not_expected() -> None:
    class Foreign(sp.CustomResource, group="foreign.example.com", version="v1"):
        """A kind that this server does not serve."""

    async with cluster(control_plane=False) as world:
        assert FirstObjects(world.server).expect(resource_of(Foreign), asyncio.Event().set) is None
