"""Runs controllers in virtual time under the faults that can occur in a real cluster, and reports the promises that the
controllers break.
"""

from __future__ import annotations

from setpoint.simulation.check import check
from setpoint.simulation.counterexample import Counterexample
from setpoint.simulation.externals import External, ExternalError, call
from setpoint.simulation.faults import ORACLES, SWITCHES
from setpoint.simulation.plan import Fault, Plan, PlanError
from setpoint.simulation.predicates import Objects, Predicate, always, eventually, never
from setpoint.simulation.recording import Recording, RecordingError
from setpoint.simulation.report import Report
from setpoint.simulation.result import Finding
from setpoint.simulation.search import Budget, Search
from setpoint.simulation.setup import Setup
from setpoint.simulation.worker import SetupFailed

__all__ = [
    "ORACLES",
    "SWITCHES",
    "Budget",
    "Counterexample",
    "External",
    "ExternalError",
    "Fault",
    "Finding",
    "Objects",
    "Plan",
    "PlanError",
    "Predicate",
    "Recording",
    "RecordingError",
    "Report",
    "Search",
    "Setup",
    "SetupFailed",
    "always",
    "call",
    "check",
    "eventually",
    "never",
]
