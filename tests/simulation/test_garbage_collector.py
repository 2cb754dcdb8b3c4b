"""The embedded control plane's garbage collector survives what controllers have to. It is a runnable beside a
controller that has nothing to do. The full search takes minutes (``make corpus``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.simulation.kinds import App
from tests.simulation.test_control_plane import STREAMED

import setpoint as sp
from setpoint.client import Propagation
from setpoint.cluster import GarbageCollector
from setpoint.cluster.served_resources import ServedResources
from setpoint.meta import Object, OwnerReference
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Budget, check

ORPHANS = "what lost its owner stays, and users who ask for it at once name an owner that does not exist"


def of(owner: Object, child: Object) -> Object:
    """The child with a reference to its owner, which waits for the child if it is deleted in the foreground."""
    assert owner.uid
    reference = OwnerReference(
        api_version="v1", kind="ConfigMap", name=owner.name, uid=owner.uid, block_owner_deletion=True
    )
    child.metadata.owner_references = [reference]
    return child


async def family(cluster: sp.testing.Cluster, name: str) -> Object:
    """Creates an owner, two children and a grandchild; returns the owner."""
    owner = await cluster.create(ConfigMap.named(name, "default"))
    await cluster.create(of(owner, Secret.named(f"{name}-a", "default")))
    child = await cluster.create(of(owner, ConfigMap.named(f"{name}-b", "default")))
    await cluster.create(of(child, ConfigMap.named(f"{name}-c", "default")))
    await cluster.settle()
    return owner


async def families(cluster: sp.testing.Cluster) -> None:
    async def left(name: str) -> dict[str, list[OwnerReference]]:
        result = [*await cluster.list(ConfigMap), *await cluster.list(Secret)]
        return {item.name: item.metadata.owner_references for item in result if item.name.startswith(name)}

    async def deleted(name: str, policy: Propagation) -> None:
        await cluster.client.delete(await family(cluster, name), propagation=policy)

    async def no_one() -> bool:
        return not await left("cascade")

    async def orphans() -> bool:
        current_result = await left("orphan")
        return (
            list(current_result) == ["orphan-b", "orphan-c", "orphan-a"]
            and not current_result["orphan-a"]
            and not current_result["orphan-b"]
        )

    for policy in ("Background", "Foreground"):
        await deleted("cascade", policy)
        await cluster.until(no_one)
        await cluster.settle()
    await deleted("orphan", "Orphan")
    await cluster.until(orphans)
    await cluster.settle()


async def nothing(_app: App, _ctx: sp.Context) -> None:
    pass


@asynccontextmanager
async def collecting(manager: sp.Manager) -> AsyncIterator[None]:
    manager.add(GarbageCollector(manager.client, manager.factory, ServedResources()))
    yield


@pytest.mark.parametrize("runs", [25, pytest.param(2500, marks=pytest.mark.long)])
def test_the_garbage_collector_survives(runs: int) -> None:
    options: dict[str, Any] = {"off": {**STREAMED, "paths": ORPHANS}, "budget": Budget(runs=runs)}
    plane = ("*", "-garbage-collector-controller")
    report = check(families, lambda: [sp.Controller(App, nothing)], lifespan=collecting, control_plane=plane, **options)
    assert report.runs
