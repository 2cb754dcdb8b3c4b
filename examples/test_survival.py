"""Every example with a controller survives bad days: each single fault that can make a difference, one at a time.

The scenario and its `simulated` are in the example's own test. A short search runs with all other tests, and the
complete one with ``-m long``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import test_acme
import test_autoscaler
import test_backups
import test_bluegreen
import test_catset
import test_certificates
import test_clustercopies
import test_copies
import test_database
import test_databases
import test_dns
import test_eventsink
import test_failover
import test_jobqueue
import test_machines
import test_mykind
import test_mykinds
import test_notifier
import test_reloader
import test_router

import setpoint as sp


class Search(NamedTuple):
    """The searches of an example."""

    name: str
    simulated: Callable[..., sp.simulation.Report]
    some: int
    """The number of runs of the short search; some five of them are without faults."""
    most: int
    """The number of runs within which the complete search has to end."""


SEARCHES = [
    Search("notifier", test_notifier.simulated, some=12, most=600),
    Search("copies", test_copies.simulated, some=30, most=600),
    Search("clustercopies", test_clustercopies.simulated, some=12, most=900),
    Search("dns", test_dns.simulated, some=30, most=450),
    Search("machines", test_machines.simulated, some=12, most=600),
    Search("databases", test_databases.simulated, some=12, most=600),
    Search("backups", test_backups.simulated, some=12, most=600),
    Search("mykind", test_mykind.simulated, some=12, most=600),
    Search("mykinds", test_mykinds.simulated, some=12, most=600),
    Search("router", test_router.simulated, some=12, most=460),
    Search("eventsink", test_eventsink.simulated, some=20, most=350),
    Search("autoscaler", test_autoscaler.simulated, some=7, most=550),
    Search("bluegreen", test_bluegreen.simulated, some=12, most=900),
    Search("jobqueue", test_jobqueue.simulated, some=12, most=600),
    Search("catset", test_catset.simulated, some=12, most=900),
    Search("reloader", test_reloader.simulated, some=7, most=700),
    Search("database", test_database.simulated, some=7, most=1400),
    Search("database, failover", test_failover.simulated, some=7, most=1050),
    Search("certificates", test_certificates.simulated, some=7, most=1000),
    Search("certificates, acme", test_acme.simulated, some=7, most=1150),
]
"""The cheapest first."""
each_example = pytest.mark.parametrize("search", [pytest.param(search_, id=search_.name) for search_ in SEARCHES])


@each_example
def test_an_example_survives_some_bad_days(search: Search) -> None:
    budget = sp.simulation.Budget(runs=search.some)
    search.simulated(budget, workers=1, off={"hash-seed": "costs a process; the complete search has it"})


@pytest.mark.long
@each_example
def test_an_example_survives_every_single_fault(search: Search) -> None:
    report = search.simulated(sp.simulation.Budget(runs=search.most))
    assert report.complete, report
