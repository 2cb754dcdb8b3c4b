"""Validation of the label selectors in objects. Selectors in existing objects are checked as strictly as those in new
objects.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta.names import label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def labels_errors(labels: JsonObject | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in (labels or {}).items():
        errors += [invalid(path, key, text) for text in qualified_name(key)]
        errors += [invalid(path, value, text) for text in label_value(value)]
    return errors


def label_selector_errors(selector: Any, path: str) -> list[FieldError]:
    """The errors in a LabelSelector; empty if ``selector`` is not a JSON object."""
    if not isinstance(selector, dict):
        return []
    errors = labels_errors(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        errors += _expression_errors(expression, f"{path}.matchExpressions[{index}]")
    return errors


def _expression_errors(expression: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in _WITH_VALUES:
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT_VALUES:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = expression.get("key", "")
    errors += [invalid(f"{path}.key", key, text) for text in qualified_name(key)]
    for number, value in enumerate(values):
        errors += [invalid(f"{path}.values[{number}]", value, text) for text in label_value(value)]
    return errors
