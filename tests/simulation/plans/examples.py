"""The setups that plans are drawn for: every example with a controller, as its own complete search has it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Setup
from setpoint.simulation.setup import tuples

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
sys.path[:0] = [str(_EXAMPLES), *(str(folder) for folder in sorted(_EXAMPLES.iterdir()) if folder.is_dir())]

import mykind  # noqa: E402
import test_acme  # noqa: E402
import test_autoscaler  # noqa: E402
import test_backups  # noqa: E402
import test_bluegreen  # noqa: E402
import test_catset  # noqa: E402
import test_certificates  # noqa: E402
import test_clustercopies  # noqa: E402
import test_copies  # noqa: E402
import test_database  # noqa: E402
import test_databases  # noqa: E402
import test_dns  # noqa: E402
import test_eventsink  # noqa: E402
import test_failover  # noqa: E402
import test_jobqueue  # noqa: E402
import test_machines  # noqa: E402
import test_mykind  # noqa: E402
import test_mykinds  # noqa: E402
import test_notifier  # noqa: E402
import test_reloader  # noqa: E402
import test_router  # noqa: E402

OF_CHECK = frozenset({"budget", "seed", "workers", "replay", "debug", "directory", "progress"})
"""The arguments of `check` that say how to search, and not what."""


def checked_by(test: Callable[[], object]) -> Setup:
    """The setup that a test gives to `check`."""
    found: list[Setup] = []

    def check(scenario: Any, factory: Any, **options: Any) -> sp.simulation.Report:
        several = {name: options.pop(name, None) for name in ("objects", "crds", "webhooks", "externals", "predicates")}
        made = tuples(**{name: value for name, value in several.items() if value is not None})
        rest = {name: value for name, value in options.items() if name not in OF_CHECK}
        found.append(Setup(scenario=scenario, factory=factory, **made, **rest))
        return sp.simulation.Report(seed=0, off={}, ignore={})

    with mock.patch.object(sp.simulation, "check", check):
        test()
    (setup,) = found
    return setup


async def let_go(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for each in await ctx.list(ConfigMap, selector={"claim": claim.uid}):
        await ctx.delete(each)


async def hold_on(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for number in range(claim.spec.numpods):
        held = ConfigMap.named(f"{claim.name}-{claim.uid[:8]}-{number}", labels={"claim": claim.uid})
        await ctx.apply(held, controlled=False)
    claim.status.ready = claim.spec.numpods


def setups() -> dict[str, Setup]:
    """By their names, the cheapest first."""
    plain = lambda: mykind.controller  # noqa: E731
    finalizer = sp.Controller(mykind.Mykind, hold_on).reads(ConfigMap).finalize(let_go)
    return {
        "notifier": checked_by(test_notifier.test_it_survives_every_single_fault),
        "copies": checked_by(test_copies.test_it_survives_every_single_fault),
        "clustercopies": checked_by(test_clustercopies.test_it_survives_every_single_fault_in_two_clusters),
        "dns": checked_by(test_dns.test_it_survives_every_single_fault),
        "machines": checked_by(test_machines.test_it_survives_every_single_fault),
        "databases": checked_by(test_databases.test_it_survives_every_single_fault),
        "backups": checked_by(test_backups.test_it_survives_every_single_fault),
        "mykind": checked_by(test_mykind.test_it_survives_every_single_fault),
        "mykinds": checked_by(test_mykinds.test_it_survives_every_single_fault),
        "a finalizer": Setup(scenario=test_mykind.scenario, factory=lambda: finalizer),
        "router": checked_by(test_router.test_it_survives_every_single_fault),
        "eventsink": checked_by(test_eventsink.test_it_survives_every_single_fault),
        "autoscaler": checked_by(test_autoscaler.test_it_survives_every_single_fault),
        "bluegreen": checked_by(test_bluegreen.test_it_survives_every_single_fault),
        "jobqueue": checked_by(test_jobqueue.test_it_survives_every_single_fault),
        "catset": checked_by(test_catset.test_it_survives_every_single_fault),
        "reloader": checked_by(test_reloader.test_it_survives_every_single_fault),
        "mykind, elected": Setup(scenario=test_mykind.scenario, factory=plain, leader_election=True),
        "database": checked_by(test_database.test_it_survives_every_single_fault),
        "database, failover": checked_by(test_failover.test_it_survives_every_single_fault),
        "certificates": checked_by(test_certificates.test_it_survives_every_single_fault),
        "certificates, acme": checked_by(test_acme.test_it_survives_every_single_fault),
    }
