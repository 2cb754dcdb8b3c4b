"""Slices: long synchronous work that lets other tasks run in between. Depends only on greenlets."""

from setpoint.slices.slicer import Slicer, Work, pace, spend

__all__ = ["Slicer", "Work", "pace", "spend"]
