"""The field path of a rule's error: ``.spec.ports``, ``.labels['app']``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from setpoint.cel.schema_types import Definition

__all__ = ["field_path"]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def field_path(text: str, definition: Definition) -> str | None:
    """The path in the form that errors show; None if it does not lead to a field of the schema."""
    position = 0
    made = ""
    node: Mapping[str, Any] = definition
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            return None
        name = step[1]
        if name is None:
            if any(char not in _SIMPLE for char in re.findall(r"\\(.)", step[2])):
                return None
            name = re.sub(r"\\(.)", lambda match: _SIMPLE[match[1]], step[2])
        position = step.end()
        properties, additional = node.get("properties"), node.get("additionalProperties")
        if properties:
            if name not in properties:
                return None
            made += f".{name}" if made else name
            node = properties[name]
        elif isinstance(additional, Mapping):
            made += f"[{name}]"
            node = additional
        else:
            return None
    return made
