"""Disruption budgets say how many pods may go, and evictions are held to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.cluster.workloads import budget, stateful_set

from setpoint.client import TooManyRequests
from setpoint.meta import resource_of
from setpoint.models.core_v1 import Pod
from setpoint.models.policy_v1 import PodDisruptionBudget
from setpoint.testing import advance, cluster, virtual_time


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
        made = stateful_set(3, pod_management_policy="Parallel")
        made.spec.template.metadata.annotations = {"hollow.setpoint.io/ready-seconds": "5"}
        await world.create(made)
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
        await world.create(Pod.named("alone", "default", {"app": "web"}, spec=stateful_set().spec.template.spec))
        await world.create(budget(max_unavailable=1))
        await world.settle()
        status = (await world.get(PodDisruptionBudget, "web")).status
        assert (status.expected_pods, status.disruptions_allowed) == (0, 0)
