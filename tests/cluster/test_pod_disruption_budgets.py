"""Disruption budgets say how many pods may go, and evictions are held to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.cluster.workloads import budget, stateful_set

import setpoint as sp
from setpoint.client import TooManyRequests
from setpoint.meta import Object, OwnerReference, resource_of
from setpoint.models.batch_v1 import Job
from setpoint.models.core_v1 import Event, Pod
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.testing import Cluster, advance, cluster, virtual_time


class Fleet(
    sp.CustomResource,
    group="test.example.com",
    version="v1",
    scale=sp.ScaleSubresource(spec_replicas=".spec.ships", status_replicas=".status.ships"),
):
    """A kind of which the control plane knows nothing but its scale."""

    class Spec(sp.Model):
        ships: int = 1

    class Status(sp.Model):
        ships: int = 0

    spec: Spec = Spec()
    status: Status = Status()


def pod(name: str, *owners: OwnerReference) -> Pod:
    new_pod = Pod.named(name, "default", {"app": "web"}, spec=stateful_set().spec.template.spec)
    new_pod.metadata.owner_references = list(owners)
    return new_pod


async def looked_at(world: Cluster) -> tuple[tuple[int, int, int], tuple[str, str, str | None]]:
    """The expected and needed pods and the allowed disruptions; the condition of the budget."""
    status = (await world.get(PodDisruptionBudget, "web")).status
    (condition,) = status.conditions
    counts = (status.expected_pods, status.desired_healthy, status.disruptions_allowed)
    return counts, (condition.status, condition.reason, condition.message)


async def reasons(world: Cluster) -> set[str | None]:
    return {event.reason for event in await world.list(Event) if event.involved_object.kind == "PodDisruptionBudget"}


async def evict(world: Any, name: str) -> None:
    path = resource_of(Pod).path(namespace="default", name=name, subresource="eviction")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await world.client.request("POST", path, body=msgspec.json.encode(eviction))


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"max_unavailable": 1}, 3),
        ({"max_unavailable": "50%"}, 2),
        ({"min_available": 2}, 2),
        ({"min_available": "30%"}, 2),
    ],
)
@virtual_time
async def test_a_budget_says_how_many_pods_are_needed(spec: dict[str, Any], needed: int) -> None:
    async with cluster() as world:
        await world.create(stateful_set(4, pod_management_policy="Parallel"))
        await world.create(budget(**spec))
        await world.settle()
        status = (await world.get(PodDisruptionBudget, "web")).status
        assert (status.expected_pods, status.current_healthy, status.desired_healthy) == (4, 4, needed)
        assert status.disruptions_allowed == 4 - needed
        (condition,) = status.conditions
        assert (condition.type, condition.status, condition.reason) == ("DisruptionAllowed", "True", "SufficientPods")
        assert status.observed_generation == 1


@virtual_time
async def test_evictions_wait_until_the_pod_before_is_back() -> None:
    async with cluster() as world:
        result = stateful_set(3, pod_management_policy="Parallel")
        result.spec.template.metadata.annotations = {"hollow.setpoint.io/ready-seconds": "5"}
        await world.create(result)
        await world.create(budget(max_unavailable=1))
        await advance(10)
        await evict(world, "web-0")
        with pytest.raises(TooManyRequests):
            await evict(world, "web-1")
        await advance(2)
        status = (await world.get(PodDisruptionBudget, "web")).status
        assert (status.disruptions_allowed, status.current_healthy) == (0, 2)
        assert status.conditions[0].reason == "InsufficientPods"
        await advance(10)
        await evict(world, "web-1")


@virtual_time
async def test_pods_without_a_controller_count_for_nothing_in_shares() -> None:
    async with cluster() as world:
        await world.create(pod("alone"))
        await world.create(budget(max_unavailable=1))
        await world.settle()
        assert await looked_at(world) == ((0, 0, 0), ("False", "InsufficientPods", ""))
        assert await reasons(world) == {"UnmanagedPods"}


@virtual_time
async def test_the_pods_of_a_custom_resource_are_as_many_as_its_scale_says() -> None:
    async with cluster(crds=[Fleet]) as world:
        fleet = await world.create(Fleet.named("fleet", "default", spec=Fleet.Spec(ships=4)))
        for number in range(3):
            await world.create(pod(f"ship-{number}", fleet.owner_reference()))
        await world.create(budget(min_available="50%"))
        await world.settle()
        assert await looked_at(world) == ((4, 2, 1), ("True", "SufficientPods", ""))


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (Job.named("work", "default"), "jobs.batch does not implement the scale subresource"),
        (Fleet.named("fleet", "default"), 'found no controllers for pod "alone"'),
        (None, 'no matches for kind "Fleets" in version "test.example.com/v1"'),
    ],
)
@virtual_time
async def test_nothing_may_go_where_nobody_says_how_many_pods_there_are_to_be(owner: Object | None, why: str) -> None:
    async with cluster(crds=[Fleet], control_plane=["disruption"], nodes=1) as world:
        reference = OwnerReference(api_version="test.example.com/v1", kind="Fleets", name="a", uid="a", controller=True)
        if owner is not None:
            reference = OwnerReference(
                api_version=resource_of(type(owner)).api_version, kind=type(owner).__name__, name=owner.name, uid="a",
                controller=True,
            )  # fmt: skip
        await world.create(pod("alone", reference))
        await world.create(budget(max_unavailable=1))
        await world.settle()
        assert await looked_at(world) == ((0, 0, 0), ("False", "SyncFailed", why))
        assert await reasons(world) == {"CalculateExpectedPodCountFailed"}


@virtual_time
async def test_a_budget_of_no_pods_says_so() -> None:
    async with cluster() as world:
        await world.create(budget(max_unavailable=1))
        await world.settle()
        assert await looked_at(world) == ((0, 0, 0), ("False", "InsufficientPods", ""))
        assert await reasons(world) == {"NoPods"}
