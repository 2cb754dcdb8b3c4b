"""Rules of schemas (``x-kubernetes-validations``): whether a server would take them, and whether objects keep them."""

from __future__ import annotations

from setpoint.cel.rules.check import rule_errors
from setpoint.cel.rules.defaults import default_errors
from setpoint.cel.rules.validate import RuleValidator

__all__ = ["RuleValidator", "default_errors", "rule_errors"]
