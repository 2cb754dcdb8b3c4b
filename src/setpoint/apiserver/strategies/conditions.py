"""Admission expressions in configurations: checks that they compile and have the required type."""

from __future__ import annotations

from collections.abc import Sequence

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.cel import Environment
from setpoint.cel.admission import Expression, admission_environment, compile_admission
from setpoint.cel.types import BOOL, Type
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, internal_error, invalid, required, too_many

_MOST = 64


def condition_errors(conditions: Sequence[JsonObject], path: str, *, params: bool = False) -> list[FieldError]:
    """The errors in ``matchConditions``. ``params``: whether the expressions may use the variable ``params``."""
    errors: list[FieldError] = []
    if len(conditions) > _MOST:
        errors.append(too_many(path, len(conditions), _MOST))
    environment = admission_environment(params=params)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        field_path = f"{path}[{index}]"
        text = (condition.get("expression") or "").strip()
        if not text:
            errors.append(required(f"{field_path}.expression"))
        else:
            errors += expression_errors(text, environment, (BOOL,), f"{field_path}.expression")[0]
        name = condition.get("name") or ""
        if not name:
            errors.append(required(f"{field_path}.name"))
            continue
        errors += [invalid(f"{field_path}.name", name, problem) for problem in qualified_name(name)]
        if name in names:
            errors.append(duplicate(f"{field_path}.name", name))
        names.add(name)
    return errors


def expression_errors(
    text: str, environment: Environment, types: Sequence[Type], path: str
) -> tuple[list[FieldError], Expression]:
    """The errors in an admission expression, whose result must have one of ``types``, and the compiled expression. An
    invalid expression has one error.
    """
    expression = compile_admission(text, environment, types)
    if not expression.error:
        return [], expression
    if expression.internal:
        return [internal_error(path, expression.error)], expression
    return [invalid(path, text, expression.error)], expression
