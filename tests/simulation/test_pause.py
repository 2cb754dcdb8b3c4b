"""Pauses under faults: nothing is written for a paused object, and what was put off happens after its end."""

from __future__ import annotations

from contextlib import suppress

import pytest
from tests.simulation.apps import controllers
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import NotFound
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, check

PAUSED = "test.example.com/paused"


async def annotate(cluster: sp.testing.Cluster, value: str | None, name: str = PAUSED) -> None:
    patch = {"metadata": {"annotations": {name: value}}}
    with suppress(NotFound):  # it went without a finalizer
        await cluster.client.patch(App, "one", patch, namespace="default")
    await cluster.settle()


async def children(cluster: sp.testing.Cluster) -> int:
    return len([config_map for config_map in await cluster.list(ConfigMap) if config_map.name.startswith("one-")])


async def incident(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
    await cluster.settle()
    await annotate(cluster, "an incident at night")
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=3)))
    await cluster.settle()
    assert await children(cluster) <= 2, "a paused object gets no third child"
    await annotate(cluster, None)
    await annotate(cluster, "true")
    app = await cluster.get(App, "one")
    await cluster.delete(app)
    await cluster.settle()
    assert not app.metadata.finalizers or await cluster.find(App, "one"), "the deletion waits"
    await annotate(cluster, None)


async def requests(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
    await cluster.settle()
    for value in ("first", "second"):
        await annotate(cluster, value, "test.example.com/reconcile-at")


async def switched(cluster: sp.testing.Cluster, reason: str | None) -> None:
    await cluster.client.patch(ConfigMap, "switch", {"data": {"app": reason}}, namespace="default")
    await cluster.settle()


async def night(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
    await cluster.settle()
    await switched(cluster, "an incident at night")
    await cluster.apply(App.named("one", "default", spec=AppSpec(size=3)))
    await cluster.apply(App.named("two", "default", spec=AppSpec(size=1)))
    await cluster.settle()
    await switched(cluster, None)


def test_no_fault_loses_what_a_paused_controller_has_put_off() -> None:
    switch = ConfigMap.named("switch", "default")
    check(night, controllers, objects=[switch], pause_switch="switch", budget=Budget(runs=10))


def test_no_fault_loses_a_request_for_a_reconcile_or_its_acknowledgement() -> None:
    check(requests, controllers, budget=Budget(runs=12))


@pytest.mark.parametrize("elects", [False, True])
def test_no_fault_leads_to_a_write_during_a_pause_or_loses_what_was_put_off(elects: bool) -> None:
    check(incident, controllers, leader_election=elects, budget=Budget(runs=12))
