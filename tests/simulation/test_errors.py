"""Mistakes of the program are findings; what the world refuses, and what a program raises on purpose, are not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.result import Finding, Options


async def create_one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle(failing=True)


def findings(reconcile: Any) -> list[Finding]:
    setup = Setup(scenario=create_one, factory=lambda: [sp.Controller(App, reconcile)])
    current_findings = run_in_process(setup, Plan(), Options(quiet=False)).findings
    return [current_finding for current_finding in current_findings if current_finding.oracle == "error"]


async def attribute_of_none(app: App, ctx: sp.Context) -> None:
    nothing: Any = None
    if not ctx.failures:
        nothing.data.clear()


async def on_purpose(app: App, ctx: sp.Context) -> None:
    if not ctx.failures:
        raise LookupError("the settings are not there yet")


async def refused(app: App, ctx: sp.Context) -> None:
    if not ctx.failures:
        await ctx.client.get(App, "another", namespace="default")


def test_a_mistake_is_found_though_the_next_try_succeeds() -> None:
    (result,) = findings(attribute_of_none)
    assert "AttributeError" in result.message
    assert "test_errors.py:" in result.message


@pytest.mark.parametrize("reconcile", [on_purpose, refused])
def test_what_is_raised_on_purpose_is_no_mistake(reconcile: Any) -> None:
    assert findings(reconcile) == []


def test_a_mistake_in_a_mapping_is_found_though_it_is_only_logged() -> None:
    def wrong(head: sp.Head) -> list[sp.ObjectKey]:
        settings: Any = None
        return [settings.key]

    setup = Setup(scenario=create_one, factory=lambda: sp.Controller(App, refused).watches(ConfigMap, wrong))
    findings = run_in_process(setup, Plan(), Options(quiet=False)).findings
    assert any("AttributeError" in finding.message and "handler" in finding.message for finding in findings)


async def waits_without_waiting(app: App, ctx: sp.Context) -> None:
    while not app.status.ready:  # noqa: ASYNC110 - that is the mistake
        await asyncio.sleep(0)


def test_a_reconcile_that_lets_no_time_pass_is_a_finding_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.simulation.sandbox.event_loop.NEVER_TURNS", 3000)
    setup = Setup(scenario=create_one, factory=lambda: [sp.Controller(App, waits_without_waiting)])
    (result,) = run_in_process(setup, Plan(), Options(quiet=False)).findings
    assert result.oracle == "hang"
    assert "without ever waiting" in result.message
    assert "tasks" not in result.message, "there are hundreds, of all actors"
    logger = logging.getLogger("setpoint")
    assert logger.isEnabledFor(logging.ERROR)
    assert logger.propagate, "what the run suppressed is logged again"


def test_a_process_whose_controllers_never_start_is_found() -> None:
    @asynccontextmanager
    async def waits_for_an_informer(manager: sp.Manager) -> AsyncGenerator[None]:
        await manager.factory.informer(ConfigMap).wait_synced()
        yield

    setup = Setup(scenario=create_one, factory=lambda: [sp.Controller(App, on_purpose)], lifespan=waits_for_an_informer)
    (result,) = run_in_process(setup, Plan(), Options(quiet=False)).findings
    assert result.oracle == "hang"
    assert "its lifespan has not yielded" in result.message


async def nothing(app: App, ctx: sp.Context) -> None:
    """It writes nothing."""


def test_the_end_of_a_run_in_this_process_is_not_an_end_of_the_program() -> None:
    setup = Setup(scenario=create_one, factory=lambda: [sp.Controller(App, nothing)])
    result = run_in_process(setup, Plan(), Options(trace=True, quiet=False))
    assert [line.text for line in result.trace if line.kind in ("ended", "finding")] == []


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ([sp.Controller(App, nothing)], "must be a function that creates new controllers for every process"),
        (lambda: None, "must return controllers, at least one; it returned None"),
        (lambda: [nothing], "must return controllers, at least one"),
    ],
    ids=["list", "None", "function"],
)
def test_a_factory_that_makes_no_controllers_is_refused_with_what_is_expected(factory: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Setup(scenario=create_one, factory=factory).controllers()
