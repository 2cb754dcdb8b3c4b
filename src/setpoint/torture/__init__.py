"""The simulation's faults for programs in any language, in real time. They strike at the edge of an embedded server."""

from __future__ import annotations

from setpoint.torture.lives import ProgramError
from setpoint.torture.scenario import ScenarioError
from setpoint.torture.search import Search
from setpoint.torture.setup import Setup

__all__ = ["ProgramError", "ScenarioError", "Search", "Setup"]
