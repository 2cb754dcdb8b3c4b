"""Rules for the amounts that requests may take from the capacities of a shared device."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, forbidden, invalid, required

Errors = list[FieldError]


def request_policy_errors(policy: JsonObject, whole: str, path: str) -> Errors:
    """The errors in a ``requestPolicy``, which says how much of a device's capacity a request may take. ``whole`` is
    the whole capacity, as a quantity.
    """
    values, span, standard = policy.get("validValues") or [], policy.get("validRange"), policy.get("default")
    if values and span is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(path, text)]
    if standard is None and (values or span is not None):
        kind = "validValues" if values else "validRange"
        return [required(f"{path}.default", f"required when {kind} is defined")]
    errors: Errors = []
    for index, (before, value) in enumerate(pairwise(values), 1):
        if Quantity(before) > Quantity(value):
            errors.append(invalid(f"{path}.validValues[{index}]", value, "values must be sorted in ascending order"))
    again = set(repeats(values))
    for index, value in enumerate(values):
        if index in again:
            errors.append(duplicate(f"{path}.validValues[{index}]", value))
        if Quantity(value) > Quantity(whole):
            text = f"option is larger than capacity value: {whole}"
            errors.append(invalid(f"{path}.validValues[{index}]", value, text))
    if values and standard not in values:
        errors.append(
            invalid(f"{path}.validValues", standard, "default value is not valid according to the requestPolicy")
        )
    return errors + (_range(span, standard, whole, f"{path}.validRange") if span is not None else [])


def _range(span: JsonObject, standard: Any, whole: str, path: str) -> Errors:
    least, most, step = span.get("min"), span.get("max"), span.get("step")
    if least is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    errors: Errors = []
    if Quantity(standard) < Quantity(least):
        errors.append(invalid(f"{path}.default", standard, f"default is less than min: {least}"))
    if most is not None and Quantity(standard) > Quantity(most):
        errors.append(invalid(f"{path}.default", standard, f"default is more than max: {most}"))
    if Quantity(least) > Quantity(whole):
        errors.append(invalid(f"{path}.min", least, f"min is larger than capacity value: {whole}"))
    if most is not None and Quantity(least) > Quantity(most):
        errors.append(invalid(f"{path}.max", least, f"min is larger than max: {most}"))
    if most is not None and Quantity(most) > Quantity(whole):
        errors.append(invalid(f"{path}.max", most, f"max is larger than capacity value: {whole}"))
    measured: list[Any] = [value for value in (standard, most) if value and step is not None]
    for value in measured:
        distance = float(Quantity(value)) - float(Quantity(least))
        if distance % (float(Quantity(step or "1")) or 1):
            text = f"value is not a multiple of a given step ({step}) from ({least})"
            errors.append(invalid(f"{path}.step", value, text))
    return errors
