"""The processes of a simulation: each run is made in one that was forked for it, on every Python."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup
from setpoint.simulation.execution.worker_handle import SetupFailed, Worker
from setpoint.simulation.execution.worker_pool import WorkerPool, default_workers
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.trace.result import Options, Result


async def reconcile(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(app.name))


def factory() -> list[sp.Controller[App]]:
    return [sp.Controller(App, reconcile).owns(ConfigMap)]


async def one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


def test_a_run_begins_where_a_forked_process_has_forgotten_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.fork

    def fork() -> int:
        pid = really()
        if pid == 0 and sys.version_info < (3, 12):  # later ones forget it themselves
            asyncio.set_event_loop_policy(None)
            asyncio._set_running_loop(None)
        return pid

    monkeypatch.setattr(os, "fork", fork)
    with WorkerPool(Setup(scenario=one, factory=factory), 1) as pool:
        results = [result for _, _, result in pool.results([(Plan(), Options()), (Plan(), Options(since=2))])]
    assert [result.findings for result in results] == [[], []]


def test_a_pool_whose_workers_are_all_busy_refuses_a_further_run() -> None:
    with WorkerPool(Setup(scenario=one, factory=factory), 1) as pool:
        results = pool.results([(Plan(), Options())] * 3)
        next(results)
        with pytest.raises(RuntimeError, match="all workers are busy"):
            pool.run(Plan(), Options())
        assert len(list(results)) == 2
        assert pool.run(Plan(), Options()).findings == []


def test_ctrl_c_ends_a_search_though_it_ends_the_workers_too() -> None:
    with WorkerPool(Setup(scenario=one, factory=factory), 1) as pool:
        (worker,) = pool._workers
        results = pool.results([(Plan(), Options())] * 2)
        next(results)
        os.kill(worker.pid, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            results.throw(KeyboardInterrupt)


def test_an_error_of_the_simulation_itself_names_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_self: Worker) -> Result:
        raise SetupFailed("OverflowError: date value out of range")

    monkeypatch.setattr(Worker, "receive", fails)
    plan = Plan((fault("resync", "step 1"),))
    setup = Setup(scenario=one, factory=factory)
    with WorkerPool(setup, 1) as pool, pytest.raises(SetupFailed, match="OverflowError") as raised:
        pool.run(plan, Options())
    assert plan.token() in str(raised.value)


def test_searches_in_the_workers_of_a_test_run_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    for test_workers, processes in ((None, 8), ("2", 4), ("3", 2), ("9", 1)):
        monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
        if test_workers is not None:
            monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", test_workers)
        assert default_workers() == processes
