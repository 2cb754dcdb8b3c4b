"""Tests programs in any language with the simulation's faults, in real time. The faults are injected between the
program and an embedded server.
"""

from __future__ import annotations

from setpoint.torture.lives import ProgramError
from setpoint.torture.scenario import ScenarioError
from setpoint.torture.search import Search
from setpoint.torture.setup import Setup

__all__ = ["ProgramError", "ScenarioError", "Search", "Setup"]
