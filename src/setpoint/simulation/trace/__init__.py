"""The record of a run: its history, its trace, and its result."""
