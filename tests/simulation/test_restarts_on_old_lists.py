"""Restarts on old lists: only what such a view leads to is held against a controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.simulation.corpus import PAIRS
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller.predicates import objects_where
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Fault, Plan, Setup, check
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.monitor import Monitor
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.search.virtual_time_runner import VirtualTimeRunner
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.result import Options, Result
from setpoint.simulation.trace.trace import Trace
from setpoint.testing import virtual_time


def test_a_deletion_that_the_undisturbed_run_has_in_the_same_step_is_no_loss() -> None:
    """The twin deletes and creates anew when the size grows: before the restart, and with every view."""
    pair = next(pair for pair in PAIRS if pair.name == "recreated-for-stale-smaller-size")
    old = (("behind", "MODIFIED stores.strange.example.com default/main #2"),)
    travel = Plan((Fault("restart", "step 3", old),))
    pair.check_correct(Budget(runs=1), replay=travel.token(), workers=0)


def test_a_deletion_that_the_undisturbed_run_has_later_for_the_same_wish_is_no_loss() -> None:
    """The twin waits five seconds after a decommissioning; on a view of the past it finds that this is done already."""
    pair = next(pair for pair in PAIRS if pair.name == "empty-membership-answer-trusted")
    old = (("behind", "MODIFIED mongos.corpus.example.com default/db #2"),)
    travel = Plan((Fault("restart", "step 2", old),))
    pair.check_correct(Budget(runs=1), replay=travel.token(), workers=0)


@virtual_time
async def test_only_deletions_after_a_restart_on_old_lists_are_wrong_ones() -> None:
    history = History(lambda: 0.0)
    run = SimpleNamespace(
        setup=SimpleNamespace(off={}, predicates=(), externals=()), history=history, trace=Trace(lambda: 0.0),
        expected_counts=[{"configmaps default/one": 1}], resting=False, options=Options(),
    )  # fmt: skip
    monitor = Monitor(cast("Any", run))
    server = ApiServer(storage=history)
    async with server, Client(InProcessTransport(server.handle), namespace="default") as client:
        history.restart(lambda: 0.0)
        history.watchers.append(monitor.changed)

        async def create_and_delete() -> None:
            await client.create(ConfigMap.named("one"))
            await client.delete(ConfigMap, "one")

        process = Actor("controller/1", "controller")
        await process.start(create_and_delete())
        assert not monitor.wrong_deletions
        monitor.begin_old_lists(lambda: None)
        await process.start(create_and_delete())
    assert monitor.wrong_deletions == {"configmaps default/one": 1}


class Sweep(sp.CustomResource, group="test.example.com", version="v1"):
    """Asks for a removal of what belongs to no object any more."""


async def reconcile(app: App, ctx: sp.Context) -> None:
    """It writes nothing for a change of labels, so that settling does not wait for that."""


async def finalize(app: App, ctx: sp.Context) -> None:
    """There is nothing to clean up; an object stays until this was called."""


def is_mine(head: sp.Head) -> bool:
    return head.labels.get("mine") == "yes"


async def leave_one_alone(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default", {"mine": "yes"}))
    await cluster.apply(App.named("two", "default"))
    await cluster.settle()


def test_objects_that_a_predicate_excludes_are_not_looked_at_again() -> None:
    """Else they would get the finalizer then, and the controller be accused of it."""
    setup = Setup(
        scenario=leave_one_alone,
        factory=lambda: sp.Controller(App, reconcile, predicates=[objects_where(is_mine)]).finalize(finalize),
    )
    result = run_in_process(setup, Plan((Fault("resync", "step 1"),)), Options())
    assert [finding for finding in result.findings if finding.oracle == "quiet"] == []
    assert result.end["apps.test.example.com default/one"][0]["metadata"].get("finalizers")
    assert not result.end["apps.test.example.com default/two"][0]["metadata"].get("finalizers")


async def change_and_delete(cluster: sp.testing.Cluster) -> None:
    for team in ("a", "b"):
        await cluster.apply(App.named("one", "default", {"team": team}))
        await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    assert await cluster.list(App) == []


def test_users_wait_for_the_watches_of_a_process_that_has_begun_with_a_list() -> None:
    """Its caches have synced before; what users do between list and watch would pass it by until the next step."""
    old = (("behind", "MODIFIED apps.test.example.com default/one #2"), ("kinds", "all"))
    travel = Plan((Fault("restart", "step 2", old),))
    check(change_and_delete, lambda: sp.Controller(App, reconcile).finalize(finalize), replay=travel.token(), workers=0)


def test_what_has_to_stay_is_what_stays_until_users_act_again() -> None:
    there = [{"pods a": 2}, {"pods a": 1}, {"pods a": 1, "pods b": 1}, {"pods b": 1}]
    reference = Reference(Result(object_counts=there, active_steps=[0, 2]), [])
    assert reference.stays == ({"pods a": 1}, {"pods a": 1}, {"pods a": 0, "pods b": 1}, {"pods b": 1})


OWNER = "test.example.com/owner"


async def make_home(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"home-{app.name}", labels={OWNER: app.name}), controlled=False)


async def remove_homes_without_owner(sweep: Sweep, ctx: sp.Context) -> None:
    """Reads the owners from the server, so the age of a cache's list does not matter."""
    owners = {app.name for app in await ctx.client.list(App, namespace=sweep.namespace)}
    for home in await ctx.list(ConfigMap, selector=OWNER):
        if home.labels[OWNER] not in owners:
            await ctx.delete(home)


async def make_home_for_large_ones(app: App, ctx: sp.Context) -> None:
    """Deletes the home if the size was reduced, or if an old list shows a size of before: that is the bug."""
    if app.spec.size > 1:
        await make_home(app, ctx)
    elif home := await ctx.get(ConfigMap, f"home-{app.name}"):
        await ctx.delete(home)


async def sweep_after_a_deletion(cluster: sp.testing.Cluster) -> None:
    for name in ("one", "two"):
        await cluster.apply(App.named(name, "default"))
    await cluster.settle()
    for name in ("one", "two"):
        await cluster.apply(App.named(name, "default", spec=AppSpec(size=2)))
    await cluster.settle()
    await cluster.apply(Sweep.named("all", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(App, "one"))
    await cluster.settle()
    await cluster.apply(Sweep.named("all", "default", {"again": "yes"}))
    await cluster.settle()


@pytest.mark.parametrize(("make", "is_due"), [(make_home, False), (make_home_for_large_ones, True)])
def test_what_a_new_process_also_deletes_with_lists_of_today_is_not_due_to_old_ones(
    make: Callable[[App, sp.Context], Awaitable[None]], is_due: bool
) -> None:
    setup = Setup(
        scenario=sweep_after_a_deletion,
        factory=lambda: [
            sp.Controller(App, make),
            sp.Controller(Sweep, remove_homes_without_owner).reads(ConfigMap).needs(App, "list"),
        ],
    )
    old = (("behind", "ADDED apps.test.example.com default/two #1"), ("kinds", "all"))
    travel = Plan((Fault("restart", "step 4", old),))
    with VirtualTimeRunner(setup, seed=0, workers=0) as runner:
        reference = runner.reference()
        findings = [f for f in reference.judge(travel, runner.run(travel)) if f.oracle == "destroyed"]
        assert "configmaps default/home-one" in {finding.subject for finding in findings}
        confirmed = runner.confirm(travel, findings)
    assert any(finding.oracle == "destroyed" for finding in (confirmed.findings if confirmed else ())) == is_due
