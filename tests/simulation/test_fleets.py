"""A fleet of two clusters: what happens to one is nothing to the other, and each comes to the same end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec
from tests.simulation.test_elections import controllers, lifecycle

import setpoint as sp
from setpoint.client import TransportError
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import SWITCHES, Budget, Counterexample, Fault, Plan, Setup, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.trace.result import Options, Result

ONLY_THE_CLUSTER = {name: "this is about a cluster that is cut off" for name in SWITCHES if name != "cluster"}


def run_of(*faults: Fault) -> Result:
    setup = Setup(scenario=lifecycle, factory=controllers, fleet=True)
    return run_in_process(setup, Plan(faults), Options(trace=True, rest_states=True, quiet=False))


def test_a_cluster_that_is_cut_off_stops_no_other_and_comes_to_the_same_end() -> None:
    calm = run_of()
    assert calm.findings == []
    assert "configmaps@far default/one-0" in calm.end
    assert "configmaps@far default/one-1" in calm.rest_states[1]
    assert "configmaps@far default/one-1" not in calm.end
    cut = run_of(fault("cut-off", "step 1"))
    assert "configmaps default/one-1" in cut.rest_states[1], "the other cluster goes on"
    assert Reference(calm, []).judge(Plan(), cut) == []
    never = run_of(fault("cut-off", "run"))
    assert never.injected == [0]
    assert Reference(calm, []).judge(Plan(), never) == []


async def create_one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def by_key() -> list[sp.Controller[App]]:
    done: set[str] = set()

    async def reconcile(app: App, ctx: sp.Context) -> None:
        if app.key not in done:
            await ctx.apply(ConfigMap.named(app.name))
            done.add(app.key)

    return [sp.Controller(App, reconcile).owns(ConfigMap)]


def test_a_memory_of_keys_that_does_not_tell_clusters_apart_is_found() -> None:
    with pytest.raises(Counterexample) as excinfo:
        check(create_one, by_key, fleet=True, off=ONLY_THE_CLUSTER, budget=Budget(runs=12), workers=0)
    assert "far" in excinfo.value.findings[0].subject


@pytest.mark.long
def test_children_statuses_and_clean_ups_survive_every_single_fault_in_two_clusters() -> None:
    check(lifecycle, controllers, fleet=True, budget=Budget(runs=2500))


def at_home(*, gives_up: bool) -> tuple[list[sp.Controller[App]], sp.Fleet]:
    """A controller at home that writes a ConfigMap for its App in every cluster of its fleet."""
    fleet = sp.Fleet()

    async def reconcile(app: App, ctx: sp.Context) -> sp.Outcome:
        left = list[str]()
        for cluster in fleet:
            try:
                await cluster.client.apply(ConfigMap.named(app.name, app.namespace, data={"size": str(app.spec.size)}))
            except TransportError:
                left.append(cluster.name)
        return sp.retry(", ".join(left)) if left and not gives_up else sp.done()

    return [sp.Controller(App, reconcile)], fleet


async def grow(cluster: sp.testing.Cluster) -> None:
    for size in (1, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def run_at_home(*faults: Fault, gives_up: bool = False) -> Result:
    def factory() -> list[sp.Controller[Any] | sp.Fleet]:
        controllers, fleet = at_home(gives_up=gives_up)
        return [*controllers, fleet]

    return run_in_process(Setup(scenario=grow, factory=factory, fleet=True), Plan(faults), Options())


def test_a_controller_at_home_writes_in_all_clusters_of_its_fleet_and_users_act_at_home() -> None:
    calm = run_at_home()
    assert calm.findings == []
    (there,) = calm.end["configmaps@far default/one"]
    assert there["data"] == {"size": "2"}
    assert "apps.test.example.com default/one" in calm.end
    assert "apps.test.example.com@far default/one" not in calm.end
    cut = run_at_home(fault("cut-off", "step 2"))
    assert cut.injected == [0]
    assert Reference(calm, []).judge(Plan(), cut) == []


def test_a_controller_at_home_that_forgets_the_cluster_that_was_cut_off_is_found() -> None:
    assert run_at_home(gives_up=True).findings == []
    findings = run_at_home(fault("cut-off", "step 2"), gives_up=True).findings
    assert [(finding.oracle, finding.subject) for finding in findings] == [("quiet", "configmaps@far default/one")]


def test_a_fleet_that_is_not_asked_for_is_refused() -> None:
    controllers, fleet = at_home(gives_up=False)
    with pytest.raises(TypeError, match="fleet=True"):
        Setup(scenario=grow, factory=lambda: [*controllers, fleet]).program()
    with pytest.raises(TypeError, match="at least one"):
        Setup(scenario=grow, factory=lambda: [fleet], fleet=True).program()
