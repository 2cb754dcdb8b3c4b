"""Runs controllers in virtual time under the faults that can occur in a real cluster, and reports the promises that the
controllers break.
"""

from __future__ import annotations

from setpoint.simulation.check import check
from setpoint.simulation.execution.worker_handle import SetupFailed
from setpoint.simulation.faults.catalog import SWITCHES
from setpoint.simulation.faults.plan import Fault, Plan, PlanError
from setpoint.simulation.oracles.catalog import ORACLES
from setpoint.simulation.report.counterexample import Counterexample
from setpoint.simulation.report.coverage_report import Report
from setpoint.simulation.scenario.externals import External, ExternalError, call
from setpoint.simulation.scenario.recording_replay import Recording, RecordingError
from setpoint.simulation.scenario.simulation_options import Setup, SetupOptions
from setpoint.simulation.scenario.temporal_properties import Objects, Predicate, always, eventually, never
from setpoint.simulation.search.search import Budget, Search
from setpoint.simulation.trace.result import Finding

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
    "SetupOptions",
    "always",
    "call",
    "check",
    "eventually",
    "never",
]
