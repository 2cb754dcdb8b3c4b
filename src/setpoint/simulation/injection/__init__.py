"""Injects the faults of a plan at the points that a run reaches."""
