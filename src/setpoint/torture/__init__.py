"""Tests programs in any language with the simulation's faults: a world in real time, in which the faults are injected
between the program and an embedded server.
"""

from __future__ import annotations

from setpoint.torture.documents import ScenarioError
from setpoint.torture.real_time_runner import RealTimeRunner
from setpoint.torture.setup import Setup
from setpoint.torture.supervisor import ProgramError

__all__ = ["ProgramError", "RealTimeRunner", "ScenarioError", "Setup"]
