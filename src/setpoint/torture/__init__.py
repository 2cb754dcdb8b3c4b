"""The simulation's faults for programs in any language: at the edge of an embedded server, in real time."""

from __future__ import annotations

from setpoint.torture.scenario import ScenarioError
from setpoint.torture.search import Search
from setpoint.torture.setup import Setup
from setpoint.torture.trial import ProgramError

__all__ = ["ProgramError", "ScenarioError", "Search", "Setup"]
