"""Whether a schema holds together: its defaults fit it, and an API server would accept it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from setpoint.schema import Schemas, structural, to_aggregate_message, unknown_fields, validate

__all__ = ["default_problem", "place_of", "schema_problems"]

_STEP = re.compile(r"\.?properties\[([^\]]+)\]|\.?(items)\b|\.?(additionalProperties)\b|\.?([^.\[]+(?:\[\d+\])?)")


def default_problem(schema: dict[str, Any]) -> str:
    """What is wrong with the schema's own default, ``""`` if nothing is. CEL rules are not asked."""
    node = Schemas({}).parse(schema)
    if strange := unknown_fields(node, schema["default"]):
        return f"it has unknown fields: {', '.join(strange)}"
    return to_aggregate_message(validate(node, schema["default"], "default"))


def schema_problems(schema: dict[str, Any], *, has_status: bool) -> Iterator[str]:
    """What an API server would refuse, each as ``.spec.field: what``."""
    for error in structural.check(schema, "", status_subresource=has_status):
        yield f"{place_of(error.field)}: an API server would refuse this: {error.message}"


def place_of(path: str) -> str:
    """``.properties[spec].items.pattern`` as ``.spec.[].pattern``."""
    steps = []
    for name, items, values, keyword in _STEP.findall(path):
        steps.append(name or (items and "[]") or (values and "*") or keyword)
    return "".join(f".{step}" for step in steps)
