"""The Common Expression Language (CEL), as API servers implement it: types are checked against schemas, and the cost of
an expression is estimated before its evaluation and counted during it.

    checked = compile_expression("self.replicas <= self.most", environment)
    Program(checked).evaluate({"self": value_of(document, schema)}, limit=1_000_000)

`setpoint.cel.rules` contains the rules of custom resources (``x-kubernetes-validations``).

Language: https://github.com/google/cel-spec; functions and limits:
https://kubernetes.io/docs/reference/using-api/cel/
"""

from __future__ import annotations

from setpoint.cel.cost_estimate import estimate_cost
from setpoint.cel.declarations import Environment
from setpoint.cel.errors import CompileError, CostExceeded, EvaluationError
from setpoint.cel.expression import compile_expression
from setpoint.cel.library import SERVER
from setpoint.cel.program import Program, Result
from setpoint.cel.schema_values import plain_of, value_of, value_without_schema
from setpoint.cel.state import Lazy

__all__ = [
    "SERVER",
    "CompileError",
    "CostExceeded",
    "Environment",
    "EvaluationError",
    "Lazy",
    "Program",
    "Result",
    "compile_expression",
    "estimate_cost",
    "plain_of",
    "value_of",
    "value_without_schema",
]
