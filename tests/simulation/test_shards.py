"""Two processes that share the keys: each key is in one of them, whatever happens to either."""

from __future__ import annotations

import pytest
from tests.simulation.apps import controllers, finalize, reconcile
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.controller.predicates import objects_where
from setpoint.models.core_v1 import ConfigMap, Namespace, Secret
from setpoint.simulation import SWITCHES, Budget, Fault, Plan, Setup, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.trace.result import Options, Result

HAND_OVERS = ("crash", "restart", "down", "pause")
OFF = {name: "this is about keys that change hands" for name in SWITCHES if name not in HAND_OVERS}
NAMES = ("one", "two", "three", "four")


async def lifecycle(cluster: sp.testing.Cluster) -> None:
    for size in (2, 1):
        for name in NAMES:
            await cluster.apply(App.named(name, "default", spec=AppSpec(size=size)))
        await cluster.settle()
    for name in NAMES[:2]:
        await cluster.delete(await cluster.get(App, name))
    await cluster.settle()


SETUP = Setup(scenario=lifecycle, factory=controllers, sharding=True)


def run_of(*faults: Fault) -> Result:
    return run_in_process(SETUP, Plan(faults), Options(trace=True, quiet=False))


def writers(result: Result, name: str) -> set[str]:
    """The processes that have written something of this object."""
    return {line.actor for line in result.trace if line.kind == "writes" and line.point and f"/{name}" in line.point}


def test_keys_change_hands_while_a_process_stands_still_and_come_back() -> None:
    calm = run_of()
    assert calm.findings == []
    assert len(set().union(*(writers(calm, name) for name in NAMES))) == 2, "both of them work"
    assert all(len(writers(calm, name)) == 1 for name in NAMES), "each object is one's alone"
    (frozen,) = writers(calm, "one")
    stopped = run_of(fault("freeze", "patch apps.test.example.com/status default/one #1", seconds=1000.0))
    assert writers(stopped, "one") > {frozen}, "the other process takes over, and gives it back"
    assert Reference(calm, []).judge(Plan(), stopped) == []
    killed = run_of(fault("crash-after", "apply secrets default/of-one #1"))
    assert not writers(killed, "one") <= {frozen}
    assert Reference(calm, []).judge(Plan(), killed) == []


SPACES = ("billing", "cache", "catalog", "mail")


async def lifecycle_in_namespaces(cluster: sp.testing.Cluster) -> None:
    for space in SPACES:
        await cluster.apply(Namespace.named(space))
    for size in (2, 1):
        for space in SPACES:
            await cluster.apply(App.named(space, space, spec=AppSpec(size=size)))
        await cluster.settle()
    await cluster.delete(await cluster.get(App, SPACES[0], namespace=SPACES[0]))
    await cluster.settle()


def test_a_new_owner_of_a_namespace_works_on_what_its_former_owner_has_done() -> None:
    """Its caches did not have the namespace before; a reconcile on an empty cache would differ from the calm run."""
    setup = Setup(scenario=lifecycle_in_namespaces, factory=controllers, sharding="namespace")
    calm = run_in_process(setup, Plan(), Options(trace=True, quiet=False))
    assert calm.findings == []
    owners = {space: writers(calm, space) for space in SPACES}
    assert len(set().union(*owners.values())) == 2, "both of them work"
    assert all(len(names) == 1 for names in owners.values())
    for space in ("cache", "catalog"):
        for name in ("crash-after", "freeze"):
            seconds = {"seconds": 1000.0} if name == "freeze" else {}
            plan = Plan((fault(name, f"apply secrets {space}/of-{space} #1", **seconds),))
            result = run_in_process(setup, plan, Options(trace=True, quiet=False))
            assert result.injected == [0]
            assert not writers(result, space) <= owners[space]
            assert Reference(calm, []).judge(plan, result) == []


@pytest.mark.long
def test_children_statuses_and_clean_ups_survive_every_single_fault_with_two_shards_of_namespaces() -> None:
    check(lifecycle_in_namespaces, controllers, sharding="namespace", budget=Budget(runs=1500))


@pytest.mark.long
def test_children_statuses_and_clean_ups_survive_keys_that_change_hands() -> None:
    report = check(lifecycle, controllers, sharding=True, off=OFF, budget=Budget(runs=150))
    assert report.points["writes"] >= 10


def is_mine(head: sp.Head) -> bool:
    return head.labels.get("mine") == "yes"


async def leave_some_alone(cluster: sp.testing.Cluster) -> None:
    for name in NAMES:
        await cluster.apply(App.named(name, "default", {"mine": "yes" if name == "one" else "no"}))
    await cluster.settle()


def test_objects_that_a_predicate_excludes_are_not_taken_over() -> None:
    """They would get the finalizer of a controller that never looks at them."""

    def mine() -> list[sp.Controller[App]]:
        controller = sp.Controller(App, reconcile, predicates=[objects_where(is_mine)])
        return [controller.owns(ConfigMap).reads(Secret).finalize(finalize)]

    setup = Setup(scenario=leave_some_alone, factory=mine, sharding=True)
    crash = Plan((fault("crash-after", "apply secrets default/of-one #1"),))
    result = run_in_process(setup, crash, Options(quiet=False))
    assert result.injected == [0]
    held = [
        name for name in NAMES if result.end[f"apps.test.example.com default/{name}"][0]["metadata"].get("finalizers")
    ]
    assert held == ["one"]


def test_a_program_has_an_election_or_shards() -> None:
    with pytest.raises(ValueError, match="leader_election, sharding and fleet"):
        check(lifecycle, controllers, leader_election=True, sharding=True)


@pytest.mark.long
def test_children_statuses_and_clean_ups_survive_every_single_fault_with_two_shards() -> None:
    check(lifecycle, controllers, sharding=True, budget=Budget(runs=2500))
