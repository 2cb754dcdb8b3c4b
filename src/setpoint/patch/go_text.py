"""JSON values in messages of Go programs: values as ``%v`` shows them, and their types as its decoder names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def go_text(value: Any) -> str:
    """A JSON value in the format of ``%v``: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join([go_text(item) for item in value])}]"
        case _:
            return str(value)


def go_kind(value: Any) -> str:
    """The name of a JSON value's type: ``object``, ``array``, ``string``, ``number``, ``bool`` or ``null``."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case _:
            return "object" if isinstance(value, Mapping) else "array"
