"""Slices: long synchronous work that gives others their turn. Knows nothing but greenlets."""

from setpoint.slices.slicer import Slicer, Work, pace, spend

__all__ = ["Slicer", "Work", "pace", "spend"]
