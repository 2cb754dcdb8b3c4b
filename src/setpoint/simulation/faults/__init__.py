"""Faults as values: the kinds that there are, plans of them, and their descriptions."""
