"""Versions: resource versions that controllers keep are compared by what they are versions of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.result import Options


def of_name(name: str) -> Callable[[int], bytes]:
    return lambda revision: msgspec.json.encode(
        {"metadata": {"name": name, "uid": f"{name}-uid", "resourceVersion": str(revision)}}
    )


def test_the_version_of_a_list_is_the_same_whether_or_not_a_fault_has_led_to_an_event() -> None:
    texts = []
    for events in (0, 2):
        history = History(lambda: 0.0)
        history.recording = True
        history.put("configmaps", "default", "a", of_name("a"), expected=0)
        for number in range(events):
            history.put("events.events.k8s.io", "default", f"e{number}", of_name(f"e{number}"), expected=0)
        listed = history.revision
        history.put("configmaps", "default", "b", of_name("b"), expected=0)
        texts.append((history.versions()[str(listed)], history.versions()[str(history.revision)]))
    assert texts == [("newest version of configmaps default/a", "newest version of configmaps default/b")] * 2


async def writes_the_version(app: App, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(app.name, data={"version": app.metadata.resource_version}))


async def notes_the_version(app: App, ctx: sp.Context) -> None:
    version = app.metadata.resource_version
    await ctx.apply(ConfigMap.named(app.name, annotations={"version": version}, data={"size": str(app.spec.size)}))


@pytest.mark.parametrize(("reconcile", "messages"), [(writes_the_version, 1), (notes_the_version, 0)])
def test_a_new_version_of_the_same_content_may_be_noted_and_lead_to_no_other_write(
    reconcile: Any, messages: int
) -> None:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()

    setup = Setup(scenario=scenario, factory=lambda: [sp.Controller(App, reconcile, owns_status=False).owns(ConfigMap)])
    quiet = [finding.message for finding in run_in_process(setup, Plan(), Options()).findings]
    assert len(quiet) == messages
    assert all("written when all objects had got new versions with the same content" in message for message in quiet)
