"""Chronos, which logs every Pod event: the first controller anybody writes, and a complete program."""

from setpoint.apps.chronos.controller import Chronos
from setpoint.apps.chronos.entry import Entry, PodState
from setpoint.apps.chronos.program import main

__all__ = ["Chronos", "Entry", "PodState", "main"]
