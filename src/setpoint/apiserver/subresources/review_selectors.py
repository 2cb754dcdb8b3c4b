"""Selectors in access reviews, which determine the objects of a list or watch that a review covers.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#authorizing-api-requests-with-field-or-label-selectors
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, required

JsonObject = dict[str, Any]
_NAMES: Final = ("fieldSelector", "labelSelector")
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT: Final = ("Exists", "DoesNotExist")


def selector_errors(attributes: JsonObject, path: str) -> list[FieldError]:
    """The errors in the selectors of ``attributes``."""
    errors: list[FieldError] = []
    for name in _NAMES:
        selector = attributes.get(name)
        if selector is not None:
            errors += _errors(selector, f"{path}.{name}", labels=name == "labelSelector")
    return errors


def _errors(selector: JsonObject, path: str, *, labels: bool) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    if raw and requirements:
        return [invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        return [required(f"{path}.requirements", text)]
    errors: list[FieldError] = []
    for index, item in enumerate(requirements):
        field_path, key = f"{path}.requirements[{index}]", item.get("key", "")
        operator, values = item.get("operator", ""), item.get("values") or []
        if labels:
            errors += [invalid(f"{field_path}.key", key, text) for text in qualified_name(key)]
        elif not key:
            errors.append(required(f"{field_path}.key", "must be specified"))
        if operator in _WITH_VALUES and not values:
            errors.append(required(f"{field_path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        if operator in _WITHOUT and values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{field_path}.values", text))
    return errors


def unused_selectors(attributes: JsonObject, path: str) -> str:
    """A message about the selectors that are ignored because their requirements can't be written as selectors; ``""``
    if there are none.
    """
    messages = []
    for name in _NAMES:
        selector = attributes.get(name) or {}
        if any(not _usable(item, labels=name == "labelSelector") for item in selector.get("requirements") or ()):
            messages.append(f"{path}.{name} ignored due to parse error")
    return ", ".join(messages)


def _usable(requirement: JsonObject, *, labels: bool) -> bool:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if labels:
        return operator in (*_WITH_VALUES, *_WITHOUT)
    return operator in _WITH_VALUES and len(values) == 1  # field selectors compare with one value
