"""A quota that refuses a child is named in the condition of its owner, with what is missing."""

from __future__ import annotations

import pytest

import setpoint as sp
from setpoint.models.core_v1 import (
    Container,
    Pod,
    PodSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)


class Worker(sp.CustomResource, group="quota.example.com", version="v1"):
    status: sp.ConditionedStatus = sp.ConditionedStatus()


def controller_of(memory: str) -> sp.Controller[Worker]:
    """A controller whose pods request this much memory, or nothing."""

    async def reconcile(worker: Worker, ctx: sp.Context) -> None:
        resources = ResourceRequirements(requests={"memory": memory} if memory else {})
        main = Container(name="main", image="busybox", resources=resources)
        await ctx.keep(Pod, [Pod.named(f"{worker.name}-0", spec=PodSpec(containers=[main]))])

    return sp.Controller(Worker, reconcile).owns(Pod)


@pytest.mark.parametrize(
    ("memory", "reason"),
    [
        ("", "failed quota: team: must specify memory for: main"),
        ("2Gi", "exceeded quota: team, requested: memory=2Gi, used: memory=0, limited: memory=1Gi"),
    ],
    ids=["no request", "too much"],
)
@sp.testing.virtual_time
async def test_a_condition_names_the_quota_and_what_is_missing(memory: str, reason: str) -> None:
    async with sp.testing.cluster(controller_of(memory)) as cluster:
        await cluster.create(ResourceQuota.named("team", "default", spec=ResourceQuotaSpec(hard={"memory": "1Gi"})))
        await cluster.settle(failing=True)
        await cluster.create(Worker.named("w", "default"))
        await cluster.settle(failing=True)
        worker = await cluster.get(Worker, "w")
        messages = [condition.message for condition in worker.status.conditions]
        assert any(f'pods "w-0" is forbidden: {reason}' in message for message in messages), messages
