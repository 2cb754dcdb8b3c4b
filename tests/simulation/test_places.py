"""Places with names, as the page on counting has them: an object has one, whatever becomes free."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.docs.test_how_to import module_of
from tools.docs.navigation import DOCS

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup, always
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.scenario.temporal_properties import Objects
from setpoint.simulation.trace.result import Options


def one_place_for_an_object(objects: Objects) -> bool:
    owners = [(place.data or {}).get("by") for place in objects.list(ConfigMap, namespace="default")]
    return len(owners) == len(set(owners))


def setup_of(page: ModuleType) -> Setup:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        exports = [await cluster.apply(page.Export.named(f"export-{number}", "default")) for number in range(3)]
        await cluster.settle()
        await cluster.delete(exports[0])
        await cluster.settle()

    async def reconcile(export: Any, ctx: sp.Context) -> sp.Outcome | None:
        return None if await page.take_a_place(export, ctx) else sp.after(30)

    return Setup(
        scenario=scenario,
        factory=lambda: sp.Controller(page.Export, reconcile),
        predicates=[always(one_place_for_an_object)],
    )


def test_an_object_that_has_a_place_takes_no_other_one_that_becomes_free(tmp_path: Path) -> None:
    try:
        page = module_of(DOCS / "howto" / "counting.md", tmp_path)
        setattr(page, "LIMIT", 2)  # noqa: B010 - a module of no known attributes
        plan = Plan((fault("resync", "step 2"),))
        result = run_in_process(setup_of(page), plan, Options(quiet=False))
        assert result.injected == [0]
        assert result.findings == []
    finally:
        sys.modules.pop("page_counting", None)
