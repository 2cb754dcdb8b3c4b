"""Rules of schemas (``x-kubernetes-validations``): checks of the rules themselves, and of objects against them."""

from __future__ import annotations

from setpoint.cel.rules.check import rule_errors
from setpoint.cel.rules.defaults import default_errors
from setpoint.cel.rules.objects import object_errors
from setpoint.cel.rules.validate import RuleValidator

__all__ = ["RuleValidator", "default_errors", "object_errors", "rule_errors"]
