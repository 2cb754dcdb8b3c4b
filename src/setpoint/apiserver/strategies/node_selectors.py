"""Validation of node selectors: in the affinities of pods and volumes, and in resource slices."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta.names import dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required

Errors = list[FieldError]
_OPERATORS: Final = "not a valid selector operator"


def node_selector_errors(selector: JsonObject, path: str) -> Errors:
    terms, path = selector.get("nodeSelectorTerms") or [], f"{path}.nodeSelectorTerms"
    if not terms:
        return [required(path, "must have at least one node selector term")]
    return [error for index, term in enumerate(terms) for error in node_term_errors(term, f"{path}[{index}]")]


def node_term_errors(term: JsonObject, path: str, *, values: bool = True) -> Errors:
    """The errors in a term of a node selector. ``values``: whether the values must be valid label values."""
    errors: Errors = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _node_requirement_errors(requirement, f"{path}.matchExpressions[{index}]", values=values)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += node_field_errors(requirement, f"{path}.matchFields[{index}]")
    return errors


def _node_requirement_errors(requirement: JsonObject, path: str, *, values: bool) -> Errors:
    operator, listed = requirement.get("operator", ""), requirement.get("values") or []
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not listed:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if listed:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(listed) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, _OPERATORS))
    key = requirement.get("key", "")
    errors += [invalid(f"{path}.key", key, text) for text in qualified_name(key)]
    for index, value in enumerate(listed if values else ()):
        errors += [invalid(f"{path}.values[{index}]", value, text) for text in label_value(value)]
    return errors


def node_field_errors(requirement: JsonObject, path: str) -> Errors:
    operator, values, key = requirement.get("operator", ""), requirement.get("values") or [], requirement.get("key", "")
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _OPERATORS))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if key != "metadata.name":
        return [*errors, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, text) for text in dns1123_subdomain(value)]
    return errors
