"""Mykind's tests: a whole cluster inside a test, in virtual time, without a socket."""

from __future__ import annotations

from typing import Any

import pytest
from mykind import Mykind, MykindSpec, controller

import setpoint as sp
from setpoint.client import Invalid
from setpoint.models.core_v1 import Pod


@sp.testing.virtual_time
async def test_as_many_pods_run_as_the_spec_says() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=3)))
        await cluster.settle()
        pods = await cluster.list(Pod)
        assert [pod.name for pod in pods] == ["sample-0", "sample-1", "sample-2"]
        assert (await cluster.get(Mykind, "sample")).status.ready == 3


@sp.testing.virtual_time
async def test_a_deleted_pod_comes_back() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=1)))
        await cluster.settle()
        before = await cluster.get(Pod, "sample-0")
        await cluster.delete(before)
        await cluster.settle()
        after = await cluster.get(Pod, "sample-0")
        assert after.uid != before.uid
        assert after.is_ready


@sp.testing.virtual_time
async def test_fewer_are_wanted_fewer_are_left() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=5)))
        await cluster.settle()
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=2)))
        await cluster.settle()
        assert len(await cluster.list(Pod)) == 2


@sp.testing.virtual_time
async def test_nothing_is_left_behind() -> None:
    async with sp.testing.cluster(controller) as cluster:
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=3)))
        await cluster.settle()
        await cluster.delete(await cluster.get(Mykind, "sample"))
        await cluster.settle()
        assert await cluster.list(Pod) == []


@sp.testing.virtual_time
async def test_the_server_refuses_what_the_class_forbids() -> None:
    async with sp.testing.cluster(controller) as cluster:
        with pytest.raises(Invalid, match=r"spec\.numpods: Invalid value: -1"):
            await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=-1)))


@sp.testing.virtual_time
async def test_ten_mykinds_of_fifty_pods_converge_and_leave_nothing() -> None:
    async with sp.testing.cluster(controller) as cluster:
        for number in range(10):
            await cluster.apply(Mykind.named(f"m{number}", "default", spec=MykindSpec(numpods=50)))
        await cluster.settle()
        assert sum(pod.is_ready for pod in await cluster.list(Pod)) == 500
        assert {mykind.status.ready for mykind in await cluster.list(Mykind)} == {50}
        for mykind in await cluster.list(Mykind):
            await cluster.delete(mykind)
        await cluster.settle()
        assert await cluster.list(Pod) == []


async def scenario(cluster: sp.testing.Cluster) -> None:
    for number in (3, 1, 2):
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=number)))
        await cluster.settle()
    await cluster.delete(await cluster.get(Mykind, "sample"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(scenario, lambda: [controller], budget=budget, **options)
