"""Pods that are refused: ReplicaSets and their Deployments say so, try again, and forget it when it is over."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from tests.cluster.test_deployments import deployment
from tests.cluster.test_resource_quotas import quota
from tests.cluster.workloads import template

import setpoint as sp
from setpoint.models.apps_v1 import Deployment, ReplicaSet
from setpoint.models.core_v1 import Namespace, Pod, ReplicationController, ReplicationControllerSpec, ResourceQuota
from setpoint.models.events_v1 import Event
from setpoint.testing import Cluster, advance, cluster, virtual_time

REFUSED = "is forbidden: exceeded quota: most, requested: pods=1, used: pods=1, limited: pods=1"


async def failure(world: Cluster, kind: Any) -> Any:
    """The condition of the only object of a kind."""
    (result,) = await world.list(kind)
    return next((condition for condition in result.status.conditions if condition.type == "ReplicaFailure"), None)


@virtual_time
async def test_pods_beyond_a_quota_are_a_condition_of_replica_set_and_deployment_until_there_is_room() -> None:
    async with cluster(objects=[quota(pods="1")]) as world:
        await world.create(deployment(3))
        await world.settle()
        (replica_set,) = await world.list(ReplicaSet)
        said = await failure(world, ReplicaSet)
        assert (said.status, said.reason) == ("True", "FailedCreate")
        assert REFUSED in said.message
        mirrored = await failure(world, Deployment)
        assert (mirrored.status, mirrored.reason, mirrored.message) == ("True", "FailedCreate", said.message)
        assert mirrored.last_update_time == said.last_transition_time
        assert (replica_set.status.replicas, replica_set.status.ready_replicas) == (1, 1), "what is there is counted"
        assert replica_set.status.observed_generation == replica_set.metadata.generation, "clients wait for it"
        events = [event for event in await world.list(Event) if event.reason == "FailedCreate"]
        assert events
        assert all("Error creating: pods " in (event.note or "") for event in events)
        assert all(event.regarding and event.regarding.name == replica_set.name for event in events)

        await world.client.patch(ResourceQuota, "most", {"spec": {"hard": {"pods": "9"}}})
        await advance(1000)  # the longest back-off
        await world.settle()
        assert len(await world.list(Pod)) == 3
        assert await failure(world, ReplicaSet) is None
        assert await failure(world, Deployment) is None


@virtual_time
async def test_while_pods_are_refused_there_are_ever_fewer_requests() -> None:
    refused: list[float] = []

    async def refuse(_pod: Pod, review: sp.Review[Pod]) -> None:
        refused.append(asyncio.get_running_loop().time())
        review.forbidden("spec", "not today")

    async with cluster(webhooks=[sp.Admission(Pod).validates(refuse, on=("create",))]) as world:
        await world.create(deployment(500))
        await advance(2000)
        assert len(refused) < 25, "one request for each try, not one for each pod"
        waits = [after - before for before, after in itertools.pairwise(refused)]
        assert waits == sorted(waits)
        assert 600 < waits[-1] <= 1000
        assert "not today" in (await failure(world, ReplicaSet)).message


@virtual_time
async def test_a_replication_controller_says_so_too() -> None:
    async with cluster(objects=[quota(pods="1")]) as world:
        spec = ReplicationControllerSpec(replicas=2, selector={"app": "web"}, template=template())
        await world.create(ReplicationController.named("web", "default", spec=spec))
        await world.settle(failing=True)
        assert REFUSED in (await failure(world, ReplicationController)).message
        refused = await world.get(ReplicationController, "web")
        assert refused.status.observed_generation == refused.metadata.generation
        await world.client.patch(ReplicationController, "web", {"spec": {"replicas": 1}})
        await world.settle()
        assert await failure(world, ReplicationController) is None, "it has what it wants"


@virtual_time
async def test_in_a_namespace_that_is_being_deleted_nothing_is_said_of_it() -> None:
    async with cluster(objects=[Namespace.named("going")]) as world:
        new_deployment = deployment(2)
        new_deployment.metadata.namespace = "going"
        new_deployment.spec.template.metadata.annotations = {"hollow.setpoint.io/stop-seconds": "20"}
        await world.create(new_deployment)
        await world.settle()
        await world.delete(await world.get(Namespace, "going"))
        await advance(5)
        assert all(pod.is_deleting for pod in await world.list(Pod)), "pods end first, ReplicaSets come later"
        assert await failure(world, ReplicaSet) is None
        await world.settle()
        assert await world.find(Namespace, "going") is None
