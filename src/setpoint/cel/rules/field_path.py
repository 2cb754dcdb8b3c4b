"""The field path of a rule's error: ``.spec.ports``, ``.labels['app']``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from setpoint.cel.schema_types import Definition

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def field_path(text: str, definition: Definition) -> str | None:
    """The path in the form that errors show; None if it does not lead to a field of the schema."""
    try:
        return resolve_path(text, definition)[0]
    except ValueError:
        return None


def resolve_path(text: str, definition: Definition) -> tuple[str, Definition]:
    """The path in the form that errors show, and the schema of its field. Raises ValueError with the reason, in Go's
    words, if the path does not lead to a field of ``definition``.
    """
    position = 0
    resolved = ""
    node: Mapping[str, Any] = definition
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            rest = text[position:]
            if rest[0] in ".[":
                raise ValueError(
                    "unexpected end of JSON path" if rest == rest[0] else "does not refer to a valid field"
                )
            raise ValueError(f"expected [ or . but got: {re.split('[.[]', rest)[0] or rest[0]}")
        name = step[1]
        if name is None:
            if any(char not in _SIMPLE for char in re.findall(r"\\(.)", step[2])):
                raise ValueError("invalid string literal")
            name = re.sub(r"\\(.)", lambda match: _SIMPLE[match[1]], step[2])
        position = step.end()
        properties, additional = node.get("properties"), node.get("additionalProperties")
        if properties:
            if name not in properties:
                raise ValueError("does not refer to a valid field")
            resolved += f".{name}" if resolved else name
            node = properties[name]
        elif isinstance(additional, Mapping):
            resolved += f"[{name}]"
            node = additional
        else:
            raise ValueError("does not refer to a valid field")
    return resolved, node
