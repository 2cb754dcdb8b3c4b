"""Checks that defaults satisfy the rules of their own fields; otherwise, no object without such a field could be
created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from setpoint.cel.rules.validate import RuleValidator
from setpoint.cel.schema_types import Definition
from setpoint.schema import FieldError


def default_errors(definition: Definition, path: str, *, root: bool = False) -> Iterator[FieldError]:
    """The errors that the rules of a schema find in its defaults. Each default is checked as an unchanged value and, if
    this gives no errors, as a new one. Defaults below ``additionalProperties`` are not checked.
    """
    default = definition.get("default")
    if default is not None:
        validator = RuleValidator(definition, root=root or bool(definition.get("x-kubernetes-embedded-resource")))
        if not validator.empty:
            field_path = f"{path}.default"
            errors, _ = validator.validate(default, default, path=field_path)
            yield from errors or validator.validate(default, path=field_path)[0]
    items = definition.get("items")
    if isinstance(items, Mapping):
        yield from default_errors(items, f"{path}.items")
    for name, child in (definition.get("properties") or {}).items():
        yield from default_errors(child, f"{path}.properties[{name}]")
