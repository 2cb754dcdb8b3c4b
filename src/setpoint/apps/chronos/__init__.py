"""Chronos, which logs changes to Pods: a typical first controller, and a complete program."""

from setpoint.apps.chronos.controller import Chronos
from setpoint.apps.chronos.entry import Entry, PodState
from setpoint.apps.chronos.program import main

__all__ = ["Chronos", "Entry", "PodState", "main"]
