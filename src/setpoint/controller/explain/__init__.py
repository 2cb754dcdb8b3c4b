"""The reasons for the states of objects, for people and programs."""

from setpoint.controller.explain.explanation import Explanation, explain, outdated, summary

__all__ = ["Explanation", "explain", "outdated", "summary"]
