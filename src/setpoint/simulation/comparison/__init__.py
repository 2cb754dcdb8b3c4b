"""Compares the states of two runs, and tells differences that count from those that any two runs have."""
