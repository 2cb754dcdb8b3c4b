"""Drawn plans, and that each is the same twice."""
