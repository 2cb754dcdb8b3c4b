"""Slices: long synchronous work that lets other tasks run in between. Depends only on greenlets."""

from setpoint.slices.order import in_order
from setpoint.slices.slicer import Slicer, Work, in_slices, pace, spend

__all__ = ["Slicer", "Work", "in_order", "in_slices", "pace", "spend"]
