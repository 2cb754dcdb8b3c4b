"""The setups that plans are drawn for: every example with a controller, as its own complete search has it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
sys.path[:0] = [str(_EXAMPLES), *(str(folder) for folder in sorted(_EXAMPLES.iterdir()) if folder.is_dir())]

import mykind  # noqa: E402
import test_mykind  # noqa: E402
import test_survival  # noqa: E402

OF_CHECK = frozenset({"budget", "seed", "workers", "replay", "debug", "directory", "progress"})
"""The arguments of `check` that say how to search, and not what."""


def setup_of(search: test_survival.Search) -> Setup:
    """The setup that an example gives to `check`."""
    result: list[Setup] = []

    def check(scenario: Any, factory: Any, **options: Any) -> sp.simulation.Report:
        what = {name: value for name, value in options.items() if name not in OF_CHECK}
        result.append(Setup.build(scenario, factory, **what))
        return sp.simulation.Report(seed=0, off={}, ignore={})

    with mock.patch.object(sp.simulation, "check", check):
        search.simulated(sp.simulation.Budget())
    (setup,) = result
    return setup


async def let_go(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for config_map in await ctx.list(ConfigMap, selector={"claim": claim.uid}):
        await ctx.delete(config_map)


async def hold_on(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for number in range(claim.spec.numpods):
        held = ConfigMap.named(f"{claim.name}-{claim.uid[:8]}-{number}", labels={"claim": claim.uid})
        await ctx.apply(held, controlled=False)
    claim.status.ready = claim.spec.numpods


def setups() -> dict[str, Setup]:
    """By their names: the examples, and what they have in other forms."""
    finalizer = sp.Controller(mykind.Mykind, hold_on).reads(ConfigMap).finalize(let_go)
    return {search.name: setup_of(search) for search in test_survival.SEARCHES} | {
        "a finalizer": Setup(scenario=test_mykind.scenario, factory=lambda: finalizer),
        "mykind, elected": Setup(
            scenario=test_mykind.scenario, factory=lambda: mykind.controller, leader_election=True
        ),
    }
