"""Admission expressions: the match conditions of webhooks, and the expressions and variables of admission policies."""

from __future__ import annotations

from setpoint.cel.admission.environment import admission_environment
from setpoint.cel.admission.expression import BudgetSpent, Evaluation, Expression, Variables, compile_admission
from setpoint.cel.admission.patches import JsonPatchOperation, PatchObject, PatchTypes, patch_value

__all__ = [
    "BudgetSpent",
    "Evaluation",
    "Expression",
    "JsonPatchOperation",
    "PatchObject",
    "PatchTypes",
    "Variables",
    "admission_environment",
    "compile_admission",
    "patch_value",
]
