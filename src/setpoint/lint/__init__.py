"""Static checks of programs, for mistakes that need no run to be seen. Sources are read, and not imported."""

from setpoint.lint.module import Mistake, Module
from setpoint.lint.rules import RULES, Rule, lint

__all__ = ["RULES", "Mistake", "Module", "Rule", "lint"]
